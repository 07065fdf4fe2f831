"""A lane: one origin's letters to one destination, numbered, until they are acknowledged."""

from collections import deque
from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from itertools import chain

from msgspec import Struct

from ropewalk.overlay.parts import NEVER
from ropewalk.overlay.words import Address, Letter, Wire

DATA, FREE, HOME, LOCAL, FORWARDED = 0, 1, 2, 3, 4
"""Lanes: of messages in custody, of those without, on the way to a sequencer, in custody without
leaving the domain, and sent on to where their readers have moved."""


class Kept(Wire, frozen=True, tag="ck"):
    """A record: a letter in custody and its place in the lane to each destination."""

    letter: Letter
    to: tuple[Address, ...]
    order: str
    paths: int = 1


class Entry(Struct, frozen=True, gc=False):
    """A letter in a lane."""

    letter: Letter
    after: int
    after_incarnation: int
    order: str
    paths: int
    late: bool = False


class Done(Wire, frozen=True, tag="cd"):
    """A record: what a destination has for good."""

    to: int
    lane: int
    incarnation: int
    upto: int
    extra: tuple[int, ...] = ()


Stream = tuple[str, int]
"""Letters that keep their order: a topic, and the priority where that decides."""


class Lane:
    """One destination's letters, by number."""

    __slots__ = (
        "backoff",
        "base",
        "cut",
        "due_us",
        "entries",
        "flying",
        "incarnation",
        "kind",
        "last",
        "next",
        "origin",
        "since",
        "to",
        "urgent",
        "waiting",
    )

    def __init__(self, origin: int, to: int, kind: int, incarnation: int) -> None:
        self.origin, self.to, self.kind, self.incarnation = origin, to, kind, incarnation
        self.next = self.base = 1
        """The number that is given next, and the lowest that is not acknowledged."""
        self.entries: dict[int, Entry] = {}
        """What is not acknowledged, ascending."""
        self.waiting: deque[int] = deque()
        """Numbers whose turn has not come; some may have gone by `urgent`, or been given up."""
        self.urgent: list[tuple[int, int]] = []
        """Of them those of topics where priority decides: a heap, most urgent first."""
        self.flying: dict[int, int] = {}
        """When each was sent last."""
        self.last: dict[Stream, int] = {}
        self.since = incarnation
        self.due_us = NEVER
        self.backoff = 1
        self.cut = False
        """There was no way to the destination when the colour changed last."""

    def address(self, number: int) -> Address:
        """Where a letter of this lane stands."""
        entry = self.entries[number]
        return Address(
            self.to,
            self.kind,
            number,
            self.base,
            entry.after,
            entry.after_incarnation,
            self.since,
            self.origin,
            self.incarnation,
            entry.late,
        )

    def strike(self, upto: int, extra: Iterable[int]) -> list[Letter]:
        """Take out all up to a number, and some beyond it; returns the letters.

        By numbers: whoever asks a dict that loses its first keys for the first walks over all that
        it has lost. With 500 letters in custody that was 6 of the 15 us that a publication took.
        """
        entries, flying = self.entries, self.flying
        end = min(upto + 1, self.next)
        gone = []
        for number in chain(range(self.base, end), extra):
            entry = entries.pop(number, None)
            if entry is not None:
                gone.append(entry.letter)
                flying.pop(number, None)
        base = max(self.base, end)
        while base < self.next and base not in entries:
            base += 1
        self.base = base
        return gone

    def wait(self, number: int, entry: Entry) -> None:
        """A letter has to wait for its turn."""
        self.waiting.append(number)
        if entry.order == "priority":
            heappush(self.urgent, (-entry.letter.priority, number))

    def take_back(self, numbers: list[int]) -> None:
        """Letters that were on their way wait again, before all others."""
        for number in numbers:
            del self.flying[number]
            entry = self.entries[number]
            if entry.order == "priority":
                heappush(self.urgent, (-entry.letter.priority, number))
        self.waiting.extendleft(reversed(numbers))

    @property
    def idle(self) -> bool:
        """Whether nothing waits."""
        waiting = self.waiting
        while waiting and not self._waits(waiting[0]):
            waiting.popleft()
        return not waiting

    def pop(self, reach: int) -> int:
        """The number to send next; none overtakes more than `reach` others. Not while `idle`."""
        if len(self.urgent) > 2 * len(self.entries) + reach:
            self.urgent = sorted(one for one in self.urgent if self._waits(one[1]))
        while self.urgent and not self._waits(self.urgent[0][1]):
            heappop(self.urgent)
        if self.urgent and self.urgent[0][1] - self.waiting[0] < reach:
            return heappop(self.urgent)[1]
        return self.waiting.popleft()

    def _waits(self, number: int) -> bool:
        return number in self.entries and number not in self.flying


class Taken(Struct, frozen=True, gc=False):
    """A letter that was taken into custody: where it stands, and when its record is safe."""

    letter: Letter
    lanes: Sequence[Lane]
    to: tuple[Address, ...]
    paths: int
    count: int
