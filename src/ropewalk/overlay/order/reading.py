"""A reader of a totally ordered topic: delivers by (term, number), keeps what may be asked for.

What comes is kept, and logged, until the home says that every reader has it (`Stable`); so a letter
may be acknowledged once its record is safe, even while it waits for the one before it. At most
`most` numbers beyond the stable point are kept; what lies further is refused and comes again.

A reader starts when a home tells it to `Begin`: at a term and a first number. It obeys one ballot:
after it has given its tail to a new home (`ask`), letters of the old one are refused, which is
what makes its answer final. The plan in a takeover's `Begin` gives every letter it keeps its label
in the new term, so that what is kept always has the labels of one term.
"""

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from ropewalk.overlay.order.known import Known
from ropewalk.overlay.order.notes import (
    NOBODY,
    Ask,
    Ballot,
    Begin,
    Fenced,
    Id,
    Join,
    Kept,
    Promised,
    Reading,
    Stable,
    Tail,
    Token,
)
from ropewalk.overlay.words import Letter

PIECE = 64
"""Letters in one note of a tail."""


class TotalReader:
    """One topic at one destination."""

    def __init__(self, topic: str, token: Token, most: int, write: Callable[[Any], None]) -> None:
        self.topic, self.token = topic, token
        self.promised: Ballot = NOBODY
        self.begun: Ballot = NOBODY
        self.next = 1
        self.stable = 0
        """As its home has said."""
        self.floor = 0
        """Nothing up to here is kept: it is stable, or was before this reader's time."""
        self._most, self._write = most, write
        self._kept: dict[int, Letter] = {}
        self._absent: dict[int, Id] = {}
        self._known = Known()
        """What was delivered here."""
        self._before = Known()
        """Numbered before this reader's time: neither to be delivered nor vouched for."""

    def arrived(self, letter: Letter, sender: int) -> list[Letter] | None:
        """What may be delivered now, in order; None for a letter that must not be acknowledged.

        `sender` is the incarnation of the home that sent this copy: one from before the ballot was
        numbered by a home that has forgotten it since.
        """
        term, number = letter.order or NOBODY
        if term != self.begun[0] or sender < self.begun[1] or self.promised > self.begun:
            return None
        if number > self.floor + self._most:
            return None
        if number < self.next or number in self._kept:
            return []
        self._write(Kept(letter))
        self._kept[number] = letter
        self._absent.pop(number, None)
        return self._in_order()

    def begin(self, note: Begin) -> list[Letter] | None:
        """Start in a term; None if a newer ballot or another time of joining holds."""
        if note.ballot < self.promised or note.ballot < self.begun or note.token != self.token:
            return None
        if note.ballot == self.begun:
            return []
        self._write(note)
        self.promised = self.begun = note.ballot
        self.next, self.floor, self.stable = note.first, note.first - 1, 0
        self._before.join(note.streams)
        self._relabel(note)
        return self._in_order()

    def ask(self, ask: Ask) -> Tail | Fenced | None:
        """A piece of the tail for a new home, or what it has to know instead."""
        same_term = self.begun[0] == ask.ballot[0]
        if ask.ballot < self.promised or (same_term and self.begun != ask.ballot):
            return Fenced(self.topic, self.promised)
        if self.begun == ask.ballot:
            return None
        if ask.ballot > self.promised:
            self._write(Promised(self.topic, ask.ballot))
            self.promised = ask.ballot
        return self._piece(ask)

    def stable_through(self, note: Stable) -> bool:
        """Forget what every reader has; False if that ballot does not hold here."""
        if note.ballot != self.begun:
            return False
        if note.upto > self.stable:
            self._write(note)
            self.stable = note.upto
            self.floor = floor = max(self.floor, min(note.upto, self.next - 1))
            self._kept = {number: one for number, one in self._kept.items() if number > floor}
            self._absent = {number: one for number, one in self._absent.items() if number > floor}
        return True

    def recent(self) -> list[Letter]:
        """Delivered, but not yet stable: a crash may have come between the log and the clients."""
        return [self._kept[number] for number in sorted(self._kept) if number < self.next]

    def close(self, origin: int, since: int) -> None:
        """Incarnations of an origin below this one say nothing more."""
        self._known.close(origin, since)
        self._before.close(origin, since)

    def state(self) -> Reading:
        """A record that replaces all earlier ones of this topic."""
        return Reading(
            self.topic,
            self.token,
            self.promised,
            self.begun,
            self.next,
            self.floor,
            self.stable,
            letters=tuple(self._kept.values()),
            absent=tuple(self._absent.items()),
            streams=self._known.streams(),
            before=self._before.streams(),
        )

    def restore(self, record: Any) -> None:
        """Take a record of this topic; in the order in which they were written."""
        write, self._write = self._write, lambda _: None
        match record:
            case Reading():
                self._resume(record)
            case Kept():
                self.arrived(record.letter, self.begun[1])
            case Begin():
                self.begin(record)
            case Promised():
                self.promised = max(self.promised, record.ballot)
            case Stable():
                self.stable_through(record)
            case Join():
                self.token = record.token
        self._write = write

    def _in_order(self) -> list[Letter]:
        """Letters that were delivered in an older term are passed over."""
        ready = []
        while self.next in self._kept:
            letter = self._kept[self.next]
            self.next += 1
            if not self._known.knows(letter) and not self._before.knows(letter):
                self._known.learn(letter)
                ready.append(letter)
        return ready

    def _relabel(self, note: Begin) -> None:
        here = {letter.id: letter for letter in self._kept.values()}
        self._kept, self._absent = {}, {}
        for number, one in enumerate(note.plan, 1):
            if one in here:
                self._kept[number] = replace(here[one], order=(note.ballot[0], number))
            elif number >= note.first:
                self._absent[number] = one

    def _piece(self, ask: Ask) -> Tail:
        labels = sorted(one for one in self._kept.keys() | self._absent.keys() if one > ask.after)
        piece = labels[:PIECE]
        return Tail(
            self.topic,
            ask.ballot,
            self.token,
            self.begun,
            self.stable,
            ask.after,
            piece[-1] if piece else ask.after,
            last=len(labels) == len(piece),
            letters=tuple(self._kept[one] for one in piece if one in self._kept),
            absent=tuple((one, self._absent[one]) for one in piece if one in self._absent),
            streams=() if ask.after else self._known.streams(),
        )

    def _resume(self, record: Reading) -> None:
        self.token, self.promised, self.begun = record.token, record.promised, record.begun
        self.next, self.floor, self.stable = record.next, record.floor, record.stable
        self._kept = {(one.order or NOBODY)[1]: one for one in record.letters}
        self._absent = dict(record.absent)
        self._known = Known(record.streams)
        self._before = Known(record.before)
