"""The entries that one member has: those decided long ago folded, the others one by one.

Folding keeps what still matters: the newest of each kind, and of case bases the newest that is
whole. It can be done at any time by any member: folding what was folded before together with what
came since gives the same as folding it all.
"""

from collections.abc import Hashable, Iterable, Sequence

from ropewalk.errors import StoryError
from ropewalk.overlay.council.words import (
    Appoint,
    Began,
    Body,
    Cases,
    Entry,
    Folded,
    Opaque,
    Restore,
    Switch,
)

Position = tuple[int, int]
"""Term and number."""


class Shelf:
    """Entries in order, without gaps above `base`."""

    def __init__(self) -> None:
        self.base: Position = (0, 0)
        self.folded: tuple[Entry, ...] = ()
        self.tail: list[Entry] = []
        self.decided = 0
        """All up to this number is decided."""

    @property
    def last(self) -> Position:
        """Of the newest entry."""
        return (self.tail[-1].term, self.tail[-1].number) if self.tail else self.base

    @property
    def committed(self) -> tuple[Entry, ...]:
        """What is decided and still matters, in order."""
        return (*self.folded, *self.tail[: self.decided - self.base[1]])

    def decided_after(self, number: int) -> Entry | None:
        """The next decided entry above a number; None if there is none."""
        folded = self.folded if number < self.base[1] else ()
        if (found := next((one for one in folded if one.number > number), None)) is not None:
            return found
        number = max(number, self.base[1])
        return self.tail[number - self.base[1]] if number < self.decided else None

    def term_at(self, number: int) -> int | None:
        """The term of an entry; None if it is not here one by one."""
        if number == self.base[1]:
            return self.base[0]
        at = number - self.base[1] - 1
        return self.tail[at].term if 0 <= at < len(self.tail) else None

    def follows(self, term: int, number: int) -> bool:
        """The entry that is named is here, so that others can be put after it."""
        return number < self.base[1] or self.term_at(number) == term

    def after(self, number: int) -> Sequence[Entry]:
        """The entries above a number that is not below `base`."""
        return self.tail[number - self.base[1] :]

    def store(self, entries: Iterable[Entry]) -> list[Entry]:
        """Put entries in their places; those that were not here, which void what they contradict.

        What is here and agrees stays, with all that follows: an old note must not undo a newer one.
        """
        new = []
        for one in entries:
            if one.number > self.base[1] and self.term_at(one.number) != one.term:
                self.put(one)
                new.append(one)
        return new

    def put(self, entry: Entry) -> None:
        """At its number, and nothing above it; raises StoryError where that was decided."""
        if entry.number <= self.decided:
            raise StoryError(f"entry {entry.number} was decided otherwise: was a disk lost?", ())
        del self.tail[entry.number - self.base[1] - 1 :]
        self.tail.append(entry)

    def fold(self, group: str) -> Folded:
        """Fold all that is decided."""
        term = self.term_at(self.decided) or 0
        entries = fold(self.committed)
        self.load(Folded(group, term, self.decided, entries))
        return Folded(group, term, self.decided, entries)

    def load(self, found: Folded) -> None:
        """Begin with what another folded, or this member before; keep what agrees above it."""
        agrees = self.term_at(found.number) == found.term
        self.tail = list(self.after(found.number)) if agrees else []
        self.base, self.folded = (found.term, found.number), found.entries
        self.decided = max(self.decided, found.number)


def fold(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """What still matters of decided entries."""
    whole = _whole(entries)
    # Above it: parts of a case base that is not whole yet.
    since = max((one.number for one in whole), default=0)
    kept = {one.number for one in whole} | {
        one.number for one in entries if isinstance(one.body, Cases) and one.number > since
    }
    others = (one for one in entries if not isinstance(one.body, Cases))
    kept |= set({_key(one.body): one.number for one in others}.values())
    return tuple(one for one in entries if one.number in kept)


def _key(body: Body) -> Hashable:
    """Of two with the same key the newer counts."""
    match body:
        case Began():
            return "began"
        case Cases():
            return "cases"
        case Switch() | Restore():
            return "mirrors"  # Each says the whole state.
        case Appoint():
            return "appoint", body.topic
        case Opaque():
            return "opaque", body.name


def _whole(entries: Iterable[Entry]) -> list[Entry]:
    """The parts of the newest case base that is here whole, in order of parts."""
    found: dict[str, dict[int, Entry]] = {}
    whole: list[Entry] = []
    for one in entries:
        if isinstance(one.body, Cases):
            parts = found.setdefault(one.body.version, {})
            parts[one.body.part] = one
            if len(parts) == one.body.parts:
                whole = [parts[part] for part in sorted(parts)]
                # Parts are proposed in a row: what was begun before this is never finished.
                found.clear()
    return whole


def newest_cases(entries: Iterable[Entry]) -> str | None:
    """The text of the newest case base that is whole; None before the first."""
    parts = [one.body.text for one in _whole(entries) if isinstance(one.body, Cases)]
    return "".join(parts) or None


def parts_of(text: str, version: str, most: int) -> list[Cases]:
    """A case base cut into entries that links can carry."""
    cut = [text[at : at + most] for at in range(0, len(text), most)] or [""]
    return [Cases(version, part, len(cut), one) for part, one in enumerate(cut)]
