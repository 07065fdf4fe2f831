"""Members of a federation as witnesses: which home they obey, and which readers it has.

A reader that joins an old home while a new one takes over might be asked by nobody. So a home has
readers only after a majority of the members vouch for them, and a new home asks a majority: one
member at least is in both. Either it has vouched first, and tells the new home of the reader, or it
has promised to obey the new home first, and the old one gets no more readers.
"""

from collections.abc import Callable
from typing import Any

from ropewalk.overlay.order.notes import NOBODY, Ask, Ballot, Fenced, Tail, Vouch, Vouched, Vowed


class Vows:
    """What one member has promised about one topic."""

    def __init__(self, topic: str, write: Callable[[Any], None]) -> None:
        self.topic = topic
        self.ballot: Ballot = NOBODY
        self._vouched: Ballot = NOBODY
        self.readers: frozenset[int] = frozenset()
        self._write = write

    def promise(self, ballot: Ballot) -> bool:
        """Obey no older ballot from now on; False if a newer one holds."""
        if ballot > self.ballot:
            self.ballot = ballot
            self._write(self.state())
        return ballot == self.ballot

    def vouch(self, note: Vouch) -> Vouched | Fenced:
        """Know of readers; those of an older home do not count any more."""
        if not self.promise(note.ballot):
            return Fenced(self.topic, self.ballot)
        older = self.readers if self._vouched == note.ballot else frozenset[int]()
        readers = older.union(note.readers)
        if readers != self.readers or self._vouched != note.ballot:
            self._vouched, self.readers = note.ballot, readers
            self._write(self.state())
        return Vouched(note.topic, note.ballot, note.readers)

    def silent(self, ask: Ask) -> Tail:
        """The tail of a member that does not read the topic."""
        return Tail(
            self.topic, ask.ballot, NOBODY, NOBODY, 0, ask.after, ask.after, True, reads=False
        )

    def state(self) -> Vowed:
        """A record that replaces all earlier ones."""
        return Vowed(self.topic, self.ballot, self._vouched, tuple(sorted(self.readers)))

    def restore(self, record: Vowed) -> None:
        """Take a record from before a restart."""
        self.ballot, self._vouched = record.ballot, record.vouched
        self.readers = frozenset(record.readers)


class Vouching:
    """A home's collection of vouchers for some readers."""

    def __init__(self, note: Vouch) -> None:
        self.note = note
        self._from: set[int] = set()

    def heard(self, member: int, answer: Vouched) -> None:
        """A member vouches."""
        if (answer.ballot, answer.readers) == (self.note.ballot, self.note.readers):
            self._from.add(member)

    def enough(self, members: frozenset[int]) -> bool:
        """Whether a majority does."""
        return 2 * len(self._from & members) > len(members)

    def missing(self, members: frozenset[int]) -> list[int]:
        """Who does not yet."""
        return sorted(members - self._from)
