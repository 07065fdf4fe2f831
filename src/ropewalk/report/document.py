"""What a command has to say, as one record: the document that `--json` prints, and its text."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ropewalk.findings import Finding

SHOWN_FINDINGS = 50
"""A text names at most so many findings; the JSON document has them all."""


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


def findings_text(findings: Sequence[Finding]) -> Iterator[str]:
    """Findings line by line, then how many there are and where to read more."""
    for finding in findings[:SHOWN_FINDINGS]:
        yield f"{finding.where}: {finding.severity} {finding.code}: {finding.message}"
    if len(findings) > SHOWN_FINDINGS:
        yield f"... and {len(findings) - SHOWN_FINDINGS} more (--json has them all)"
    if findings:
        kinds = {finding.severity for finding in findings}
        kind = kinds.pop() if kinds in ({"warning"}, {"note"}) else "finding"
        count = f"{len(findings)} {kind}{'s' if len(findings) > 1 else ''}"
        yield f"{count}; `ropewalk explain {findings[0].code}` tells more"
