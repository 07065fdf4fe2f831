"""A lane: one origin's letters to one destination, numbered, until they are acknowledged."""

from collections import deque
from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from itertools import repeat

from msgspec import Struct

from ropewalk.overlay.parts import NEVER
from ropewalk.overlay.words import Address, Letter, Run, Wire

DATA, FREE, HOME, LOCAL, FORWARDED = 0, 1, 2, 3, 4
"""Lanes: of messages in custody, of those without, on the way to a sequencer, in custody without
leaving the domain, and sent on to where their readers have moved."""
FIRST, LEAST = 1_024, 256
"""Letters of a lane that may be on their way at once: to begin with, and at least."""


class Kept(Wire, frozen=True, tag="ck"):
    """A record: a letter in custody and its place in the lane to each destination."""

    letter: Letter
    to: tuple[Address, ...]
    order: str
    paths: int = 1


class KeptRun(Wire, frozen=True, tag="cr"):
    """A record: the letters of a run in custody."""

    run: Run
    order: str

    def entry(self, number: int) -> "Entry":
        """What is kept of the letter with that number of the lane."""
        index = number - self.run.to.number
        place, letter = self.run.place_at(index), self.run.letter_at(index)
        return Entry(letter, place.after, place.after_incarnation, self.order, 1, place.late)


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


Struck = tuple[int, Entry | KeptRun]
"""What a lane no longer keeps: its number, and what was kept."""


def _entry(one: Entry | KeptRun, number: int) -> Entry:
    return one if type(one) is Entry else one.entry(number)  # type: ignore[union-attr]


def letters_of(struck: Iterable[Struck]) -> list[Letter]:
    """The letters that a lane no longer keeps."""
    return [_entry(one, number).letter for number, one in struck]


class Lane:
    """One destination's letters, by number."""

    __slots__ = (
        "allowed",
        "backoff",
        "base",
        "cut",
        "due_us",
        "eased_us",
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
        self.entries: dict[int, Entry | KeptRun] = {}
        """What is not acknowledged, ascending; letters that came in a run share its record."""
        self.waiting: deque[int] = deque()
        """Numbers whose turn has not come; some may have gone by `urgent`, or been given up."""
        self.urgent: list[tuple[int, int]] = []
        """Of them those of topics where priority decides: a heap, most urgent first."""
        self.flying: dict[int, int] = {}
        """When each was sent last."""
        self.last: dict[Stream, int] = {}
        self.since = incarnation
        self.allowed, self.eased_us = FIRST, -NEVER
        """How many may be on their way now, and when that was cut down last."""
        self.due_us = NEVER
        self.backoff = 1
        self.cut = False
        """There was no way to the destination when the colour changed last."""

    def entry(self, number: int) -> Entry:
        """What is kept of a letter."""
        return _entry(self.entries[number], number)

    def letters(self) -> list[Letter]:
        """All that are kept, in order."""
        return [_entry(one, number).letter for number, one in self.entries.items()]

    def address(self, number: int) -> Address:
        """Where a letter of this lane stands."""
        entry = self.entry(number)
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

    def strike(self, upto: int, extra: Iterable[int]) -> list[Struck]:
        """Take out all up to a number, and some beyond it; returns them.

        By numbers: whoever asks a dict that loses its first keys for the first walks over all that
        it has lost. With 500 letters in custody that was 6 of the 15 us that a publication took.
        """
        end = min(upto + 1, self.next)
        numbers = [*range(self.base, end), *extra]
        kept = map(self.entries.pop, numbers, repeat(None))
        gone = [(number, one) for number, one in zip(numbers, kept, strict=True) if one is not None]
        deque(map(self.flying.pop, numbers, repeat(None)), 0)
        base = max(self.base, end)
        while base < self.next and base not in self.entries:
            base += 1
        self.base = base
        return gone

    def sent_us(self, now_us: int) -> int:
        """When the lowest was sent that is on its way: receipts for others do not put it off."""
        return self.flying.get(self.base, now_us)

    def ease(self, now_us: int, pause_us: int) -> None:
        """Something may be lost, or too slow: half as many on their way, once in a while."""
        if now_us - self.eased_us > pause_us:
            self.eased_us = now_us
            self.allowed = max(LEAST, self.allowed // 2)

    def wait(self, number: int) -> None:
        """A letter has to wait for its turn."""
        self.waiting.append(number)
        self._hurry(number)

    def _hurry(self, number: int) -> None:
        """Where priority decides, the urgent go first."""
        if self.entries[number].order == "priority":
            heappush(self.urgent, (-self.entry(number).letter.priority, number))

    def take_back(self, numbers: list[int]) -> None:
        """Letters that were on their way wait again, before all others."""
        for number in numbers:
            del self.flying[number]
            self._hurry(number)
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

    def follow(self, number: int, most: int) -> int:
        """Take those out that wait right behind a number, at most so many; returns how many."""
        waiting, count = self.waiting, 0
        while count < most and waiting and waiting[0] == number + count + 1:
            if not self._waits(waiting.popleft()):
                break
            count += 1
        return count

    def _waits(self, number: int) -> bool:
        return number in self.entries and number not in self.flying


class Taken(Struct, frozen=True, gc=False):
    """A letter that was taken into custody: where it stands, and when its record is safe."""

    letter: Letter
    lanes: Sequence[Lane]
    to: tuple[Address, ...]
    paths: int
    count: int
