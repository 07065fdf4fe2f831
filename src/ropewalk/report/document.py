"""What a command has to say, as one record: the document that `--json` prints, and its text."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ropewalk.findings import SEVERITIES, Finding

SHOWN_FINDINGS = 50
"""A text names at most so many findings, errors first; the JSON document has them all."""
REPEATED = 3
"""What is said of more places than these, word for word, is said once: a thousand sites may have
copies of one file. Errors are not: each has to be mended."""

Outcome = Literal["ok", "findings", "undecided", "refused"]
"""Clean; something was found; no verdict within the budget; the input could not be used."""


@dataclass(frozen=True, slots=True)
class Document:
    """What a command has to say, and how it went."""

    command: str
    outcome: Outcome
    summary: Mapping[str, Any] = field(default_factory=dict)
    findings: Sequence[Finding] = ()

    def as_dict(self) -> dict[str, Any]:
        """The form that `--json` prints."""
        return {
            "command": self.command,
            "ok": self.outcome == "ok",
            "summary": dict(self.summary),
            "findings": [finding.as_dict() for finding in self.findings],
        }


def findings_text(findings: Sequence[Finding], *, faults: bool = False) -> Iterator[str]:
    """Findings line by line, then how many there are and where to read more.

    `faults`: every error is named, as something has to be done about each before all else.
    """
    findings = sorted(findings, key=lambda one: SEVERITIES.index(one.severity))
    lines = list(_lines(findings))
    errors = sum(one.severity == "error" for one in findings) if faults else 0
    shown = max(SHOWN_FINDINGS, errors)
    yield from lines[:shown]
    if len(lines) > shown:
        yield f"... and {len(lines) - shown} more (--json has them all)"
    if findings:
        kinds = {finding.severity for finding in findings}
        kind = kinds.pop() if kinds in ({"warning"}, {"note"}) else "finding"
        count = f"{len(findings)} {kind}{'s' if len(findings) > 1 else ''}"
        yield f"{count}; `ropewalk explain {findings[0].code}` tells more"


def _lines(findings: Sequence[Finding]) -> Iterator[str]:
    counts = Counter(map(_said, findings))
    told: set[tuple[str, ...]] = set()
    for finding in findings:
        said, line = _said(finding), f"{finding.where}: {': '.join(_said(finding))}"
        if finding.severity == "error" or counts[said] <= REPEATED:
            yield line
        elif said not in told:
            told.add(said)
            yield f"{line} (and at {counts[said] - 1} more places)"


def _said(finding: Finding) -> tuple[str, str]:
    return f"{finding.severity} {finding.code}", finding.message
