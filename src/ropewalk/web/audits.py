"""What the pipeline found, for the console: counts, kinds, and violations with their brokers.

Read from a working folder as the plain files that jobs leave there; Spark is not started.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

from ropewalk.errors import UsageError
from ropewalk.federation import Federation
from ropewalk.federation.facts import Client
from ropewalk.findings import rules
from ropewalk.pipeline.audit.results import SUMMARY, VIOLATIONS, Result, read_result, sentence
from ropewalk.pipeline.folders import Work
from ropewalk.pipeline.store import MANIFEST
from ropewalk.report.filed.gather import observed_in
from ropewalk.report.filed.observed import audit_glance, audit_says, audit_unchecked
from ropewalk.report.pipeline import conversation_lines
from ropewalk.trace.ids import id_of

MOST_OF_A_KIND = 200
"""Violations of each kind that are listed; the folder has them all."""

Stamp = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of violation, and how many there are."""

    code: str
    name: str
    count: int


@dataclass(frozen=True, slots=True)
class Violation:
    """A violation in words, and the brokers that it concerns."""

    number: int
    code: str
    words: str
    brokers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Audited:
    """What is known of a working folder; `fault` where there is nothing to show."""

    folder: str
    words: str = ""
    good: bool = True
    figures: tuple[tuple[str, str, str], ...] = ()
    """Name, value and tone."""
    kinds: tuple[Kind, ...] = ()
    violations: tuple[Violation, ...] = ()
    notes: tuple[str, ...] = ()
    fault: str = ""

    def command(self, number: int) -> str:
        """What shows the rows behind a violation."""
        return f"ropewalk trace show {quote(self.folder)} {number}"


def stamp_of(folder: Path) -> Stamp:
    """Another when a job has written something anew."""
    work = Work(folder)
    files = (work.audit / SUMMARY, work.audit / VIOLATIONS, work.conformance / SUMMARY,
             work.store / MANIFEST)  # fmt: skip
    return tuple(map(changed_at, files))


def changed_at(file: Path) -> tuple[int, int]:
    """When a file was changed, and its size; zeros where there is none."""
    try:
        found = file.stat()
    except (OSError, ValueError):  # a path that can be none: somebody types it into the text
        return 0, 0
    return found.st_mtime_ns, found.st_size


def audited(folder: Path, federation: Federation) -> Audited:
    """What jobs left in a working folder; what cannot be read is told."""
    try:
        observed = observed_in(folder)
        result = read_result(Work(folder).audit) if observed.audit is not None else None
        return _told(str(folder), observed, result, federation)
    except UsageError as error:
        return Audited(str(folder), fault=str(error))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        return Audited(str(folder), fault=f"{folder}: its results cannot be read: {error!r}")


def _told(folder: str, observed: Any, result: Result | None, federation: Federation) -> Audited:
    notes = []
    if observed.taken is not None:
        aside = int(observed.taken["stored"].get("quarantine", 0))
        notes.append(f"{observed.taken['taken']:,} rows taken in, {aside:,} put aside.")
    if observed.conformance is not None and observed.audit is None:
        notes += conversation_lines(observed.conformance.get("conversations", {}))
    if observed.audit is None or result is None:
        fault = f"Delivery was not audited yet: ropewalk pipeline all {quote(folder)}"
        return Audited(folder, notes=tuple(notes), fault=fault)
    audit = observed.audit
    notes += conversation_lines(audit.get("conversations", {}))
    notes += [f"Not checked: {one}" for one in audit_unchecked(audit)]
    if "missed" in audit:
        notes.append(
            f"Against the ledger of what was put in: {audit['missed']:,} missed,"
            f" {audit['spurious']:,} too many."
        )
    return Audited(
        folder,
        audit_says(audit),
        not audit["violations"],
        tuple((one.label, one.value, one.tone) for one in audit_glance(audit)),
        tuple(Kind(code, rules()[code].name, int(n)) for code, n in audit["codes"].items()),
        violations_of(result, federation),
        tuple(notes),
    )


def violations_of(result: Result, federation: Federation) -> tuple[Violation, ...]:
    """The first of every kind, by their numbers."""
    codes = np.array(result.violations["code"].to_pylist(), dtype=object)
    first = [np.flatnonzero(codes == code)[:MOST_OF_A_KIND] for code in sorted(set(codes))]
    places = np.sort(np.concatenate(first)) if first else np.zeros(0, np.int64)
    nodes = {id_of(name): name for name in federation.brokers}
    homes = _homes(federation)
    rows = result.violations.take(places).to_pylist()
    return tuple(
        Violation(int(at) + 1, row["code"], sentence(row), tuple(_brokers(row, nodes, homes)))
        for at, row in zip(places, rows, strict=True)
    )


def _brokers(
    row: Mapping[str, Any], nodes: Mapping[int, str], homes: Mapping[str, str]
) -> Iterable[str]:
    """Where its rows were written, then where its clients are by the federation file."""
    seen = [nodes.get(one["node"]) for one in row["evidence"] or ()]
    named = [row["producer"], row["consumer"], row["other"]]
    found = [*seen, *(homes.get(one) for one in named if one is not None)]
    return dict.fromkeys(one for one in found if one is not None)


def _homes(federation: Federation) -> dict[str, str]:
    """The brokers of clients with a name; a broker stands for itself."""
    homes = {name: name for name in federation.brokers}
    for topic in federation.topics.values():
        for one in (*topic.publishers, *topic.subscribers):
            if isinstance(one, Client):
                homes.setdefault(one.client, one.broker)
    return homes
