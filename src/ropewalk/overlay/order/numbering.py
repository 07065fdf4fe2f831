"""A home's book of one topic in one term: numbers given, readers admitted, what is stable.

A number is stable when it and all before it are done: every reader has acknowledged them.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from ropewalk.overlay.order.known import Known
from ropewalk.overlay.order.notes import (
    Admitted,
    Ballot,
    Begin,
    Id,
    Numbered,
    Opened,
    Token,
)
from ropewalk.overlay.words import Letter


class Numbering:
    """Made from the record that opens it; the caller writes all later records."""

    def __init__(self, opened: Opened, most: int) -> None:
        self.topic, self.ballot, self.plan = opened.topic, opened.ballot, opened.plan
        self.number, self.stable = opened.number, opened.stable
        self.known = Known(opened.streams)
        self.readers = {reader: (token, first) for reader, token, first in opened.readers}
        self.begun: set[int] = set()
        """Readers that have confirmed their `Begin`."""
        self.told: dict[int, int] = {}
        """Up to where each reader knows what is stable."""
        self.seen: set[int] = set()
        """Readers that the agent has heard of: one that it no longer hears of has left."""
        self._joining = dict(opened.joining)
        self.written = opened.stable
        """Up to where the log knows what is stable."""
        self._pending: dict[int, Letter] = {}
        self._ids: set[Id] = set()
        self._done: set[int] = set()
        self._most = most
        for letter in opened.letters:
            self.count(letter)

    @property
    def full(self) -> bool:
        """Readers keep no more: wait until something is stable."""
        return self.number - self.stable >= self._most

    def give(self, letter: Letter) -> Numbered:
        """The record of a letter with the next number; not yet counted."""
        return Numbered(replace(letter, order=(self.ballot[0], self.number + 1)))

    def count(self, letter: Letter) -> None:
        """A letter has its number."""
        number = letter.order[1] if letter.order else 0
        self.number = max(self.number, number)
        self._pending[number] = letter
        self._ids.add(letter.id)
        self.known.learn(letter)

    def done(self, number: int) -> Id | None:
        """Every reader has it: which letter that is; None if it was done before."""
        letter = self._pending.pop(number, None)
        if letter is None:
            return None
        self._ids.discard(letter.id)
        self._done.add(number)
        while self.stable + 1 in self._done:
            self.stable += 1
            self._done.remove(self.stable)
        return letter.id

    def steady(self, upto: int) -> None:
        """All up to this number was stable before a restart."""
        self.stable = self.written = max(self.stable, upto)
        for number in [one for one in self._pending if one <= upto]:
            self._ids.discard(self._pending.pop(number).id)

    def unfinished(self) -> list[Letter]:
        """Numbered, and not done."""
        return [self._pending[number] for number in sorted(self._pending)]

    def pending(self, letter: Letter) -> bool:
        """Whether a letter is among them."""
        return letter.id in self._ids

    def admission(self, reader: int, token: Token) -> Admitted:
        """The record of a reader that starts with the next number."""
        return Admitted(self.topic, reader, token, self.number + 1)

    def admit(self, record: Admitted) -> None:
        """A reader starts; what it has to know first is what is known now."""
        self.readers[record.reader] = (record.token, record.first)
        self.begun.discard(record.reader)
        self.told.pop(record.reader, None)
        begin = Begin(self.topic, self.ballot, record.token, record.first, (), self.known.streams())
        self._joining[record.reader] = begin

    def begin(self, reader: int) -> Begin:
        """What a reader is told to start with."""
        token, first = self.readers[reader]
        return self._joining.get(reader) or Begin(self.topic, self.ballot, token, first, self.plan)

    def confirmed(self, reader: int, token: Token) -> None:
        """A reader has started."""
        if reader in self.readers and self.readers[reader][0] == token:
            self.begun.add(reader)
            self._joining.pop(reader, None)

    def state(self) -> Opened:
        """All of it in one record."""
        readers = tuple((reader, *entry) for reader, entry in self.readers.items())
        return Opened(
            self.topic,
            self.ballot,
            self.number,
            self.stable,
            letters=tuple(self.unfinished()),
            streams=self.known.streams(),
            readers=readers,
            plan=self.plan,
            joining=tuple(self._joining.items()),
        )


def opening(
    topic: str,
    ballot: Ballot,
    union: list[Letter],
    known: Known,
    tokens: Iterable[tuple[int, Token]],
) -> Opened:
    """The record with which a term begins: the union of the tails has its first numbers."""
    readers = tuple((reader, token, 1) for reader, token in tokens)
    plan = tuple(letter.id for letter in union)
    return Opened(topic, ballot, len(union), 0, tuple(union), known.streams(), readers, plan)
