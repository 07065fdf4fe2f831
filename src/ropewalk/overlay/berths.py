"""Where an item's letters lie while its clients move: at the source, and at the target.

`Quay` is the source: what comes for clients that are leaving is held back, then sent on. `Berth` is
the target: letters wait for the clients, without what they got at the source and in the order of
their streams. A letter that only the source has may come after later ones of its stream: these wait
for it, and no longer than a time, should the source have lost it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ropewalk.overlay.council.handover import Delivered, Frontier, LetterId, StreamId
from ropewalk.overlay.parts import NEVER
from ropewalk.overlay.words import Letter, Wire


class Held(Wire, frozen=True, tag="hh"):
    """A record: a letter that waits for clients of an item; at the source for these."""

    item: str
    letter: Letter
    clients: tuple[str, ...] = ()


class Emptied(Wire, frozen=True, tag="he"):
    """A record: nothing of an item that was held before this waits any more."""

    item: str
    leaving: bool
    """At its source, not at its target."""


class Carried(Wire, frozen=True, tag="hc"):
    """A record: these clients of an item are here, and what they had got when they came."""

    item: str
    clients: tuple[str, ...]
    frontier: Frontier


class SentOn(Wire, frozen=True, tag="hs"):
    """A record: what still comes here for an item is sent on; -1 for no longer."""

    item: str
    to: int


@dataclass(slots=True)
class Quay:
    """The source's side of one item."""

    clients: frozenset[str] = frozenset()
    frozen: bool = False
    late: list[Held] = field(default_factory=list)
    to: int = -1
    """Where letters are sent on to."""
    until_us: int = NEVER


class Berth:
    """The target's side of one item."""

    def __init__(self, in_order: Callable[[str], bool], patience_us: int) -> None:
        self._in_order, self._patience_us = in_order, patience_us
        self.clients: frozenset[str] = frozenset()
        self.live: set[str] = set()
        """Clients that get letters as they come."""
        self.open = False
        """Whether letters are kept for clients that are still to come."""
        self.serving = False
        """Whether it is known what clients have got."""
        self.anyone = False
        """Whether all that come are its clients: their broker is dead."""
        self.before: frozenset[str] = frozenset()
        """Clients of this broker that were here before."""
        self.early: dict[str, Frontier] = {}
        """Clients that came before it was decided that their broker is dead: what others had by
        the time that they came,"""
        self._had = Frontier()
        """and what was given here until it was decided."""
        self.frontier = Frontier()
        self.raw: dict[LetterId, Letter] = {}
        """What came before that was known."""
        self.passed: dict[LetterId, Letter] = {}
        """What clients are to get, in order."""
        self._skip, self._seen = Delivered(), Delivered()
        self._next: dict[StreamId, int] = {}
        self._early: dict[StreamId, dict[int, Letter]] = {}
        self.wake_us = self.until_us = NEVER
        """When a gap is left; when nothing more is kept for those who have not come."""

    def board(self, early: dict[str, Frontier], had: Frontier) -> None:
        """Some are here already, and get letters as they come."""
        self.early, self._had = early, had
        self.clients |= early.keys()
        self.live |= early.keys()

    def has(self, client: str, id: LetterId) -> bool:
        """Whether a client that came early got a letter before it was decided."""
        return self._had.covers(id) and not self.early[client].covers(id)

    def serve(self, frontier: Frontier, now_us: int) -> list[Letter]:
        """Clients have got these letters; returns what they are to get of the rest."""
        if self.serving:
            return []
        self.serving, self.frontier = True, frontier
        self._skip.join(frontier)
        self._next = {
            stream: ranges[-1][1] + 1
            for stream, ranges in frontier.streams
            if ranges and self._in_order(stream[2])
        }
        raw, self.raw = self.raw, {}
        for id in sorted(raw):
            self.admit(raw[id], now_us)
        return list(self.passed.values())

    def admit(self, letter: Letter, now_us: int) -> list[Letter]:
        """A letter is here, straight from its origin or by way of the source; returns what goes."""
        if not self.serving:
            self.raw.setdefault(letter.id, letter)
            return []
        if self._skip.covers(letter.id) or self._seen.covers(letter.id):
            return []
        self._seen.add(letter.id)
        stream = letter.id[:3]
        expected = self._next.get(stream)
        if expected is None or letter.number < expected:
            # What lies below the frontier of an ordered stream was given before.
            return self._pass([letter] if expected is None else [])
        self._early.setdefault(stream, {})[letter.number] = letter
        return self._release(stream, now_us)

    def _release(self, stream: StreamId, now_us: int) -> list[Letter]:
        early, going = self._early[stream], []
        while self._next[stream] in early:
            going.append(early.pop(self._next[stream]))
            self._next[stream] += 1
        if not early:
            del self._early[stream]
        elif self.wake_us == NEVER:
            self.wake_us = now_us + self._patience_us
        return self._pass(going)

    def overdue(self) -> list[Letter]:
        """What was waited for does not come: go on without it."""
        self.wake_us = NEVER
        early, self._early, going = self._early, {}, list[Letter]()
        for stream in sorted(early):
            going += (early[stream][number] for number in sorted(early[stream]))
            self._next[stream] = going[-1].number + 1
        return self._pass(going)

    def _pass(self, letters: list[Letter]) -> list[Letter]:
        if self.open:
            self.passed.update({one.id: one for one in letters})
        return letters

    def holds(self, letter: Letter) -> bool:
        """Whether a letter waits here."""
        id = letter.id
        return id in self.raw or id in self.passed or letter.number in self._early.get(id[:3], ())

    @property
    def waiting(self) -> Iterable[Letter]:
        """What has to be in the log."""
        yield from self.raw.values()
        yield from self.passed.values()
        yield from (one for some in self._early.values() for one in some.values())

    def restart(self) -> None:
        """After a restart: what was given since is not known, only that nothing waits."""
        self.raw, self._next, self._early = {}, {}, {}
        self.close()

    def in_turn(self) -> list[Letter]:
        """What clients are to get that come now, each stream in its order."""
        return (
            [self.passed[id] for id in sorted(self.passed)]
            if self.anyone
            else [*self.passed.values()]
        )

    def close(self) -> None:
        """All clients are here."""
        self.open, self.passed, self.until_us = False, {}, NEVER
