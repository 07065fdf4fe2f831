"""An agent's reading of totally ordered topics: joins them, answers their homes.

Every agent has one, also where nobody reads: members answer new homes and vouch for readers.

What the agent has to do: give every letter that has an `order` to `arrived` before its lane counts
it; if that is None, drop it (the home sends it again). Deliver what `take` gives before what
a later `arrived` gives, once the records written before are safe.
"""

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from ropewalk.overlay.order.notes import (
    Ask,
    Begin,
    Begun,
    Fenced,
    Had,
    Join,
    Kept,
    Left,
    Promised,
    Reading,
    Stable,
    Tail,
    Token,
    Vouch,
    Vowed,
)
from ropewalk.overlay.order.reading import TotalReader
from ropewalk.overlay.order.vows import Vows
from ropewalk.overlay.parts import NEVER, Office
from ropewalk.overlay.words import Letter


class Desk:
    """All totally ordered topics that clients of this broker read; a `Part`."""

    def __init__(self, office: Office, *, most: int, again_us: int) -> None:
        self.wake_us = NEVER
        self._office = office
        self._most, self._again_us = most, again_us
        self._homes: dict[str, tuple[int, int]] = {}
        self._readers: dict[str, TotalReader] = {}
        self._ghosts: dict[str, TotalReader] = {}
        """Readers that have left: others must not get in another order what they have delivered."""
        self._vows: dict[str, Vows] = {}
        self._joins = 0
        self._ready: list[Letter] = []

    def subscribed(self, now_us: int, topic: str) -> None:
        """Clients of this broker want the topic."""
        if topic not in self._readers:
            self._joins += 1
            token = (self._office.incarnation, self._joins)
            self._office.write(Join(topic, token))
            self._readers[topic] = self._new_reader(topic, token)
            self._join(now_us, topic)

    def left(self, topic: str) -> None:
        """They no longer do."""
        if topic in self._readers:
            self._ghosts[topic] = self._readers.pop(topic)
            self._office.write(Left(topic))

    def reader(self, topic: str) -> TotalReader | None:
        """The reader of a topic."""
        return self._readers.get(topic)

    def arrived(self, letter: Letter, sender: int) -> list[Letter] | None:
        """What may be delivered now; None if the letter must not be acknowledged.

        `sender` is the incarnation of the home whose lane it came in.
        A topic that nobody reads here takes its letters and gives none.
        """
        reader = self._readers.get(letter.topic)
        return reader.arrived(letter, sender) if reader else []

    def take(self) -> list[Letter]:
        """What a new term has released; deliver it before anything that arrives later."""
        ready, self._ready = self._ready, []
        return ready

    def appointed(self, now_us: int, topic: str, home: int, term: int) -> None:
        """The council has decided who numbers a topic from this term on."""
        if term >= self._homes.get(topic, (0, 0))[1]:
            self._homes[topic] = (home, term)
            self._soon(now_us)

    def heard(self, now_us: int, sender: int, body: Any) -> bool:
        """A note from a home."""
        match body:
            case Ask():
                self._asked(sender, body)
                self._soon(now_us)
            case Vouch():
                self._office.note(sender, self._vow(body.topic).vouch(body))
            case Begin():
                self._begin(sender, body)
            case Stable():
                reader = self._readers.get(body.topic)
                if reader is None or reader.stable_through(body):
                    self._office.note(sender, Had(body.topic, body.ballot, body.upto))
            case _:
                return False
        return True

    def due(self, now_us: int) -> None:
        """Ask to join where no home has said where to begin."""
        self.wake_us = NEVER
        for topic in self._readers:
            self._join(now_us, topic)

    def changed(self, now_us: int) -> None:
        """Others can be reached, or no longer."""
        self._soon(now_us)

    def recover(self, now_us: int, records: Iterable[Any]) -> None:
        """Go on where the reader was."""
        for record in records:
            self._recall(record)
        self._soon(now_us)

    def records(self) -> list[Vowed | Reading | Left]:
        """Records that replace all earlier ones."""
        vows = [one.state() for one in self._vows.values()]
        ghosts = [one for t, ghost in self._ghosts.items() for one in (ghost.state(), Left(t))]
        return [*vows, *ghosts, *(reader.state() for reader in self._readers.values())]

    def _recall(self, record: Any) -> None:
        if isinstance(record, Left):
            if record.topic in self._readers:
                self._ghosts[record.topic] = self._readers.pop(record.topic)
        elif isinstance(record, Join | Reading):
            reader = self._new_reader(record.topic, record.token)
            reader.restore(record)
            self._readers[record.topic] = reader
        elif isinstance(record, Vowed):
            self._vow(record.topic).restore(record)
        elif isinstance(record, Kept) and record.letter.topic in self._readers:
            self._readers[record.letter.topic].restore(record)
        elif isinstance(record, Begin | Promised | Stable) and record.topic in self._readers:
            self._readers[record.topic].restore(record)

    def _vow(self, topic: str) -> Vows:
        return self._vows.setdefault(topic, Vows(topic, self._office.write))

    def _new_reader(self, topic: str, token: Token) -> TotalReader:
        reader = TotalReader(topic, token, self._most, self._office.write)
        reader.promised = self._vow(topic).ballot
        return reader

    def _asked(self, home: int, ask: Ask) -> None:
        """A new home wants to know what is known here: as a member, and as a reader."""
        vows, reader = self._vow(ask.topic), self._readers.get(ask.topic)
        ghost = self._ghosts.get(ask.topic)
        answer: Tail | Fenced | None = Fenced(ask.topic, vows.ballot)
        if vows.promise(ask.ballot):
            if reader is None and ghost is not None:
                answer = ghost.ask(ask)
                answer = replace(answer, reads=False) if isinstance(answer, Tail) else answer
            else:
                answer = reader.ask(ask) if reader else vows.silent(ask)
        if isinstance(answer, Tail):
            answer = replace(answer, vouched=tuple(sorted(vows.readers)))
        if answer is not None:
            self._office.note(home, answer)

    def _begin(self, home: int, note: Begin) -> None:
        reader = self._readers.get(note.topic)
        ready = reader.begin(note) if reader else None
        if ready is not None:
            self._ready += ready
            self._office.note(home, Begun(note.topic, note.ballot, note.token))

    def _join(self, now_us: int, topic: str) -> None:
        home, term = self._homes.get(topic, (-1, 0))
        if term > self._readers[topic].begun[0]:
            self._office.note(home, Join(topic, self._readers[topic].token))
            self._soon(now_us)

    def _soon(self, now_us: int) -> None:
        self.wake_us = min(self.wake_us, now_us + self._again_us)
