"""What a report is made of: sections with a verdict, and blocks of figures, tables and drawings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from ropewalk.findings import SEVERITIES, Finding

Status = Literal["findings", "undecided", "ok", "told"]
STATUSES: tuple[Status, ...] = ("findings", "undecided", "ok", "told")
"""The worst first; `told` is what only tells and judges nothing."""
Tone = Literal["", "good", "warn", "bad"]
Chapter = Literal["described", "proved", "routed", "planned", "observed", "besides"]
CHAPTERS: Mapping[Chapter, str] = {
    "described": "What was described",
    "proved": "What was proved",
    "routed": "What was routed",
    "planned": "What was planned",
    "observed": "What was observed",
    "besides": "What was run besides",
}
SHOWN_ROWS = 100
"""A page shows so many rows of a table and says how many there are; the JSON has them all."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A number that stands out, what it is, and whether that is good."""

    label: str
    value: str
    note: str = ""
    tone: Tone = ""


@dataclass(frozen=True, slots=True)
class Figures:
    """Numbers side by side."""

    kind: ClassVar[str] = "figures"
    figures: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell that says whether it is good."""

    text: str
    tone: Tone = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a head; the columns of `words` hold text, all others numbers."""

    kind: ClassVar[str] = "table"
    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str | Cell, ...], ...]
    words: frozenset[int] = frozenset({0})
    note: str = ""
    more: int = 0
    """Rows that are not shown."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture as inline SVG, of which every text is escaped, and what it shows."""

    kind: ClassVar[str] = "drawing"
    markup: str
    caption: str


@dataclass(frozen=True, slots=True)
class Entries:
    """Names and what they stand for."""

    kind: ClassVar[str] = "entries"
    title: str
    entries: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Lines:
    """Text as it was printed, such as a run step by step."""

    kind: ClassVar[str] = "lines"
    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Told:
    """Findings, those of a code together."""

    kind: ClassVar[str] = "told"
    findings: tuple[Finding, ...]


Block = Figures | Table | Drawing | Entries | Lines | Told


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report: its verdict, what it says, what it did not look at, and its data."""

    chapter: Chapter
    title: str
    status: Status
    says: str
    blocks: tuple[Block, ...] = ()
    unchecked: tuple[str, ...] = ()
    """What nothing is said of, in words: it never looks like ok."""
    findings: tuple[Finding, ...] = ()
    glance: tuple[Figure, ...] = ()
    """What of it belongs on the first page."""
    data: Mapping[str, Any] = field(default_factory=dict)
    file: str = ""
    command: str = ""
    """How it was made, if that is known."""

    def as_dict(self) -> dict[str, Any]:
        """For the JSON document; findings are told in one place for all."""
        return {
            "chapter": self.chapter,
            "title": self.title,
            "status": self.status,
            "says": self.says,
            "not_checked": list(self.unchecked),
            "file": self.file or None,
            "command": self.command or None,
            "findings": len(self.findings),
            "data": dict(self.data),
        }


def worst(statuses: Sequence[Status]) -> Status:
    """The status of all together.

    >>> worst(["told", "ok", "undecided"])
    'undecided'
    """
    return min(statuses, key=STATUSES.index, default="told")


def status_of(findings: Sequence[Finding], *, decided: bool = True) -> Status:
    """Errors, or undecided, or ok: warnings alone are ok."""
    if any(one.severity == SEVERITIES[0] for one in findings):
        return "findings"
    return "ok" if decided else "undecided"


def table(
    title: str,
    head: Sequence[str],
    rows: Sequence[Sequence[str | Cell]],
    *,
    words: Sequence[int] = (0,),
    note: str = "",
    most: int = SHOWN_ROWS,
) -> Table:
    """A table of as many rows as a page shows."""
    shown = tuple(tuple(row) for row in rows[:most])
    return Table(title, tuple(head), shown, frozenset(words), note, max(0, len(rows) - most))
