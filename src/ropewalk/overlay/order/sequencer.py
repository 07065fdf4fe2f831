"""The home of totally ordered topics: gives each letter its number in the term.

An appointed home first takes over (`takeover`), also in a topic's first term: a home that has lost
its disk cannot tell a new appointment from one under which it has numbered before, and its readers
can (they answer `Fenced`: it then waits for a higher term). It numbers while it reaches a majority
of the members and readers have room; else it is not `open`, and letters stay with their origins.

What the agent has to do:
- ask `open(topic)` before it takes a letter out of its lane, then `arrived`; a letter that it does
  not take is not acknowledged;
- send what `arrived` and `take` give to everyone in `audience(topic)`, and call `done` when all of
  them have acknowledged; then, or when `finished(letter)`, the origin's entry is acknowledged;
- let notes and numbered letters out only when the records written before them are safe, or a home
  that crashes in between would use a number twice;
- bring notes that go to this broker itself back to it.
"""

from collections.abc import Callable, Iterable
from typing import Any

from ropewalk.overlay.order.notes import (
    Admitted,
    Begun,
    Excluded,
    Fenced,
    Had,
    Id,
    Join,
    Numbered,
    Opened,
    Stable,
    Steady,
    Tail,
    Token,
    Vouch,
    Vouched,
)
from ropewalk.overlay.order.numbering import Numbering, opening
from ropewalk.overlay.order.takeover import Takeover
from ropewalk.overlay.order.vows import Vouching
from ropewalk.overlay.parts import NEVER, Office
from ropewalk.overlay.words import Letter


class Sequencer:
    """All topics whose home is this broker; a `Part`."""

    def __init__(
        self,
        office: Office,
        members: Callable[[], frozenset[int]],
        readers: Callable[[str], frozenset[int]],
        *,
        most: int,
        again_us: int,
    ) -> None:
        self.wake_us = NEVER
        self._office, self._members, self._readers = office, members, readers
        self._most, self._again_us = most, again_us
        self._now_us = 0
        self._terms: dict[str, int] = {}
        self._books: dict[str, Numbering] = {}
        self._takeovers: dict[str, Takeover] = {}
        self._excluded: set[int] = set()
        self._joins: dict[tuple[str, int], tuple[Token, Vouching]] = {}
        """Readers that want to join, until a majority of members vouches for them."""
        self._to_send: list[Letter] = []
        self._waits_for: dict[str, set[int]] = {}
        self._majority = True

    def open(self, topic: str) -> bool:
        """Whether a letter of the topic would get its number now."""
        book = self._books.get(topic)
        return book is not None and not book.full and self._has_majority()

    def needs(self, topic: str) -> bool:
        """Whether this broker, the topic's home, cannot number it in the term that holds."""
        return topic not in self._books and topic not in self._takeovers

    def arrived(self, now_us: int, letter: Letter) -> Letter | None:
        """A letter from its origin, with its number; None if it has one or cannot get one now."""
        self._now_us = now_us
        book = self._books.get(letter.topic)
        if book is None or book.known.knows(letter) or not self.open(letter.topic):
            return None
        record = book.give(letter)
        self._office.write(record)
        book.count(record.letter)
        return record.letter

    def finished(self, letter: Letter) -> bool:
        """Whether every reader has a letter, so that its origin may forget it."""
        book = self._books.get(letter.topic)
        return book is not None and book.known.knows(letter) and not book.pending(letter)

    def done(self, topic: str, order: tuple[int, int]) -> Id | None:
        """All of the audience has it: the letter whose origin may forget it."""
        book = self._books.get(topic)
        if book is None or book.ballot[0] != order[0]:
            return None
        id_ = book.done(order[1])
        self._soon()
        if 4 * (book.stable - book.written) >= self._most:
            self._remind(topic, book)  # readers must not fill up before the next time
        return id_

    def take(self) -> list[Letter]:
        """Letters that are to be sent to the audience again, or for the first time in this term."""
        letters, self._to_send = self._to_send, []
        return letters

    def audience(self, topic: str) -> frozenset[int]:
        """Who gets the topic's letters."""
        book = self._books.get(topic)
        if book is None:
            return frozenset()
        existing = self._readers(topic)
        book.seen |= existing
        left = book.seen - existing
        return frozenset(book.readers) - left - self._excluded

    def appointed(self, now_us: int, topic: str, home: int, term: int) -> None:
        """The council has decided who numbers a topic from this term on."""
        self._now_us = now_us
        if term < self._terms.get(topic, 0):
            return
        self._resign(topic, term)
        self._terms[topic] = term
        if home == self._office.me and topic not in self._books and topic not in self._takeovers:
            ballot = (term, self._office.incarnation)
            self._takeovers[topic] = Takeover(topic, ballot, self._excluded)
            self._press_on()

    def exclude(self, now_us: int, reader: int) -> None:
        """The operator gives up a reader for good; to be said to every agent."""
        self._now_us = now_us
        self._office.write(Excluded(reader))
        self._excluded.add(reader)
        self._press_on()

    def close(self, origin: int, since: int) -> None:
        """Incarnations of an origin below this one say nothing more."""
        for book in self._books.values():
            book.known.close(origin, since)

    def heard(self, now_us: int, sender: int, body: Any) -> bool:
        """A note from a reader."""
        self._now_us = now_us
        match body:
            case Tail():
                self._answered(sender, body)
            case Vouched():
                self._vouched(sender, body)
            case Fenced():
                self._fenced(body)
            case Join():
                self._joined(sender, body)
            case Begun():
                if (book := self._books.get(body.topic)) and book.ballot == body.ballot:
                    book.confirmed(sender, body.token)
            case Had():
                if (book := self._books.get(body.topic)) and book.ballot == body.ballot:
                    book.told[sender] = max(body.upto, book.told.get(sender, 0))
            case _:
                return False
        return True

    def due(self, now_us: int) -> None:
        """Say again what was not answered."""
        self._now_us, self.wake_us = now_us, NEVER
        self._press_on()
        for topic, book in self._books.items():
            self._remind(topic, book)
        for _, vouching in self._joins.values():
            self._ask_to_vouch(vouching)

    def changed(self, now_us: int) -> None:
        """Others can be reached, or no longer."""
        self._now_us = now_us
        self._press_on()
        self._watch_majority()

    def recover(self, now_us: int, records: Iterable[Any]) -> None:
        """Go on with the next number after a restart; what is not done is sent again."""
        self._now_us = now_us
        for record in records:
            self._recall(record)
        for topic, book in self._books.items():
            self._terms[topic] = book.ballot[0]
            self._to_send += book.unfinished()
            self._soon()

    def records(self) -> list[Opened | Excluded]:
        """Records that replace all earlier ones."""
        books = [book.state() for book in self._books.values()]
        return [*books, *map(Excluded, sorted(self._excluded))]

    def _recall(self, record: Any) -> None:
        if isinstance(record, Opened):
            self._books[record.topic] = Numbering(record, self._most)
        elif isinstance(record, Numbered) and (book := self._books.get(record.letter.topic)):
            book.count(record.letter)
        elif isinstance(record, Admitted) and (book := self._books.get(record.topic)):
            book.admit(record)
        elif isinstance(record, Steady) and (book := self._books.get(record.topic)):
            book.steady(record.upto)
        elif isinstance(record, Excluded):
            self._excluded.add(record.reader)

    def _has_majority(self) -> bool:
        members = self._members()
        return 2 * len(members & self._office.reachable()) > len(members)

    def _watch_majority(self) -> None:
        if self._books and self._majority != self._has_majority():
            self._majority = not self._majority
            what = "total order goes on" if self._majority else "total order stops: no majority"
            self._office.tell(what, *sorted(self._books))

    def _soon(self) -> None:
        self.wake_us = min(self.wake_us, self._now_us + self._again_us)

    def _resign(self, topic: str, term: int) -> None:
        """Whatever this broker was in an older term is over."""
        if (takeover := self._takeovers.get(topic)) and takeover.ballot[0] < term:
            del self._takeovers[topic]
        if (book := self._books.get(topic)) and book.ballot[0] < term:
            del self._books[topic]
            self._joins = {key: join for key, join in self._joins.items() if key[0] != topic}
            self._to_send = [one for one in self._to_send if one.topic != topic]
            self._office.tell("home resigned", topic, book.ballot[0], term)

    def _fenced(self, note: Fenced) -> None:
        """A reader obeys another ballot: of a higher term, or of this broker before it forgot."""
        takeover = self._takeovers.get(note.topic)
        self._resign(note.topic, note.ballot[0])
        if takeover and note.ballot[0] == takeover.ballot[0] and note.ballot != takeover.ballot:
            del self._takeovers[note.topic]
            self._office.tell("home needs a new term", note.topic, note.ballot[0])

    def _answered(self, reader: int, tail: Tail) -> None:
        takeover = self._takeovers.get(tail.topic)
        if takeover is None:
            return
        takeover.heard(reader, tail)
        missing = takeover.asks(self._readers(tail.topic), self._members())
        if reader in missing:
            self._office.note(reader, missing[reader])
        elif not missing and takeover.vouching is None:
            self._press_on()

    def _vouched(self, member: int, answer: Vouched) -> None:
        takeover = self._takeovers.get(answer.topic)
        if takeover and takeover.vouching:
            takeover.vouching.heard(member, answer)
            if takeover.vouching.enough(self._members()):
                self._press_on()
        for (topic, reader), (token, vouching) in list(self._joins.items()):
            vouching.heard(member, answer)
            if vouching.enough(self._members()):
                del self._joins[topic, reader]
                self._admit(topic, reader, token)

    def _press_on(self) -> None:
        for takeover in list(self._takeovers.values()):
            if takeover.vouching is None:
                self._ask(takeover)
            if takeover.vouching is not None:
                self._ask_to_vouch(takeover.vouching)
                if takeover.vouching.enough(self._members()) and self._has_majority():
                    self._open_term(takeover)

    def _ask(self, takeover: Takeover) -> None:
        topic, readers = takeover.topic, self._readers(takeover.topic)
        asks = takeover.asks(readers, self._members())
        self._complain(topic, takeover.missing(readers) - self._office.reachable())
        for one, ask in asks.items():
            self._office.note(one, ask)
            self._soon()
        if not asks:
            takeover.vouching = Vouching(Vouch(topic, takeover.ballot, tuple(takeover.tokens())))

    def _ask_to_vouch(self, vouching: Vouching) -> None:
        self._soon()
        for member in vouching.missing(self._members()):
            self._office.note(member, vouching.note)

    def _complain(self, topic: str, unreachable: set[int]) -> None:
        if unreachable and unreachable != self._waits_for.get(topic):
            self._office.tell("total order waits for readers", topic, *sorted(unreachable))
        self._waits_for[topic] = unreachable

    def _open_term(self, takeover: Takeover) -> None:
        topic = takeover.topic
        tokens = takeover.tokens().items()
        opened = opening(topic, takeover.ballot, takeover.union(), takeover.known(), tokens)
        self._office.write(opened)
        book = self._books[topic] = Numbering(opened, self._most)
        del self._takeovers[topic]
        self._to_send += book.unfinished()
        self._office.tell("home numbers", topic, takeover.ballot[0], book.number)
        self._remind(topic, book)

    def _remind(self, topic: str, book: Numbering) -> None:
        """Readers that have not begun, or do not know what is stable."""
        if book.stable > book.written:
            self._office.write(Steady(topic, book.stable))
            book.written = book.stable
        for reader in sorted(self.audience(topic)):
            if reader not in book.begun:
                self._office.note(reader, book.begin(reader))
                self._soon()
            elif book.told.get(reader, 0) < book.stable:
                self._office.note(reader, Stable(topic, book.ballot, book.stable))
                self._soon()

    def _joined(self, reader: int, join: Join) -> None:
        book = self._books.get(join.topic)
        if book is None or reader in self._excluded:
            return
        if book.readers.get(reader, (None, 0))[0] == join.token:
            self._office.note(reader, book.begin(reader))
        elif self._joins.get((join.topic, reader), (None,))[0] != join.token:
            vouching = Vouching(Vouch(join.topic, book.ballot, (reader,)))
            self._joins[join.topic, reader] = (join.token, vouching)
            self._ask_to_vouch(vouching)

    def _admit(self, topic: str, reader: int, token: Token) -> None:
        book = self._books[topic]
        record = book.admission(reader, token)
        self._office.write(record)
        book.admit(record)
        self._office.note(reader, book.begin(reader))
        self._soon()
