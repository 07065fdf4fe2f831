"""The whole report: every section in its chapter, the verdict over all, the form for programs."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ropewalk.findings import Finding
from ropewalk.report.document import Outcome
from ropewalk.report.filed.blocks import CHAPTERS, Figure, Section, Status, worst
from ropewalk.report.filed.described import described
from ropewalk.report.filed.documents import section_of
from ropewalk.report.filed.facts import Gathered, Input, Making
from ropewalk.report.filed.observed import observed
from ropewalk.report.filed.planned import planned
from ropewalk.report.filed.proved import proved

FORMAT = "ropewalk report 1"
OUTCOMES: Mapping[Status, Outcome] = {
    "findings": "findings",
    "undecided": "undecided",
    "ok": "ok",
    "told": "ok",
}


@dataclass(frozen=True, slots=True)
class Report:
    """A report: its sections, by chapter, and where everything in it comes from."""

    title: str
    federation: str
    sections: tuple[Section, ...]
    making: Making
    inputs: tuple[Input, ...] = ()

    @property
    def status(self) -> Status:
        """The worst of all sections."""
        return worst([one.status for one in self.sections])

    @property
    def outcome(self) -> Outcome:
        """How the exit code has it: what could not be decided is never ok."""
        return OUTCOMES[self.status]

    @property
    def ok(self) -> bool:
        """Whether all was decided and nothing is wrong."""
        return self.outcome == "ok"

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Those of all sections; what several of them tell is told once."""
        told: dict[tuple[str, str, str], Finding] = {}
        for section in self.sections:
            for one in section.findings:
                told.setdefault((one.code, str(one.where), one.message), one)
        return tuple(told.values())

    @property
    def glance(self) -> tuple[tuple[Section, tuple[Figure, ...]], ...]:
        """What belongs on the first page, by section."""
        return tuple((one, one.glance) for one in self.sections if one.glance)

    @property
    def chapters(self) -> list[tuple[str, str, list[Section]]]:
        """Sections by chapter: its key, its title, and what is in it."""
        return [
            (key, title, found)
            for key, title in CHAPTERS.items()
            if (found := [one for one in self.sections if one.chapter == key])
        ]

    def as_dict(self) -> dict[str, Any]:
        """The form for programs; the findings stand beside it in the document."""
        return {
            "report": FORMAT,
            "title": self.title,
            "federation": self.federation,
            "verdict": self.status,
            "made": self.making.made,
            "parts": [one.as_dict() for one in self.sections],
            "provenance": {
                "command": self.making.command,
                "versions": dict(self.making.versions),
                "platform": dict(self.making.platform),
                "inputs": [asdict(one) for one in self.inputs],
            },
        }


def report_of(found: Gathered) -> Report:
    """The report of all that was gathered."""
    proof = proved(found.proof)
    weak = {one["failure"] for one in found.proof.result.cuts(50)}
    sections = [described(found.federation, weak), proof]
    sections += [planned(one) for one in found.plans]
    sections += [observed(one) for one in found.observed]
    sections += _documents(found)
    in_order = list(CHAPTERS)
    sections.sort(key=lambda one: in_order.index(one.chapter))
    sections = list(_told_apart(sections))
    return Report(found.title, found.federation.name, tuple(sections), found.making, found.inputs)


def _told_apart(sections: Sequence[Section]) -> Iterator[Section]:
    """Sections of one title are told apart by the files that they are made of."""
    titles = Counter(one.title for one in sections)
    for one in sections:
        several = titles[one.title] > 1 and one.file
        yield replace(one, title=f"{one.title} ({Path(one.file).name})") if several else one


def _documents(found: Gathered) -> Sequence[Section]:
    """Documents; one of a plan whose file is there as well is not told twice."""
    versions = {str(one.plan.get("version")) for one in found.plans}
    return [
        section_of(one)
        for one in found.documents
        if one.command != "place" or str(one.summary.get("version")) not in versions
    ]
