"""Draining a source: when has it given its clients all that the target will not get by itself?

The source asks every origin how far its lane to it goes. An origin answers once it knows that the
target wants the item, so all letters beyond that mark go to both brokers. When all marks are
reached, what clients have got is the beginning of each stream and nothing lies between. An origin
that is away for long is not waited for: what it has for the source is sent on when it is back.
"""

from collections.abc import Callable, Iterable
from typing import Any

from ropewalk.overlay.arrivals import Arrivals
from ropewalk.overlay.custody import Custody
from ropewalk.overlay.deck import Deck
from ropewalk.overlay.interests import Interests
from ropewalk.overlay.lane import DATA
from ropewalk.overlay.parts import NEVER, Office
from ropewalk.overlay.words import Wire
from ropewalk.placement.reactive.session import SessionId

LOOK_US = 20_000
"""Between two looks whether all marks are reached."""
ABSENT_US = 3_000_000
"""An origin that cannot be reached for so long is not waited for."""


class Mark(Wire, frozen=True, tag="dm"):
    """A note: how far does your lane to me go, if you know that the target wants these?"""

    session: int
    target: int
    patterns: tuple[str, ...]


class Marked(Wire, frozen=True, tag="dM"):
    """The answer: incarnations of the lane, and the last number of each."""

    session: int
    upto: tuple[tuple[int, int], ...]


class Draining:
    """One agent's drain, and its answers to those of others; a `Part`."""

    def __init__(
        self,
        deck: Deck,
        office: Office,
        custody: Custody,
        arrivals: Arrivals,
        interests: Interests,
        done: Callable[[SessionId, str], None],
    ) -> None:
        self._deck, self._office, self._custody = deck, office, custody
        self._arrivals, self._interests, self._done = arrivals, interests, done
        self._on: tuple[SessionId, str, Mark] | None = None
        self._marks: dict[int, tuple[tuple[int, int], ...]] = {}
        self._gone: dict[int, int] = {}
        """Since when some cannot be reached."""
        self.wake_us = NEVER

    def begin(self, id: SessionId, item: str, target: int, patterns: tuple[str, ...]) -> None:
        """Ask all origins that have not answered; the second time as well."""
        if self._on is None or self._on[0] != id:
            self._on, self._marks = (id, item, Mark(id.number, target, patterns)), {}
        for origin in sorted(self._origins() - self._marks.keys()):
            self._office.note(origin, self._on[2])
        self.wake_us = self._deck.now_us + LOOK_US

    def cancel(self, item: str) -> None:
        """It is not to drain any more."""
        if self._on is not None and self._on[1] == item:
            self._on, self.wake_us = None, NEVER

    def heard(self, now_us: int, sender: int, body: Any) -> bool:
        """A question, or an answer."""
        del now_us
        if isinstance(body, Mark):
            self._answer(sender, body)
        elif isinstance(body, Marked):
            if self._on is not None and self._on[0].number == body.session:
                self._marks[sender] = body.upto
        else:
            return False
        return True

    def _answer(self, sender: int, mark: Mark) -> None:
        remote, me = self._interests.remote, self._deck.me
        if me == mark.target or all(mark.target in remote.get(p, ()) for p in mark.patterns):
            self._office.note(sender, Marked(mark.session, self._custody.upto(sender, DATA)))

    def due(self, now_us: int) -> None:
        """Whether all marks are reached."""
        self.wake_us = NEVER
        if self._on is None:
            return
        id, item, _ = self._on
        if all(self._reached(one) for one in self._origins()):
            self._on = None
            self._done(id, item)
        else:
            self.wake_us = now_us + LOOK_US

    def _origins(self) -> frozenset[int]:
        """Who has to answer: also one that has just become unreachable, as it may be back soon."""
        before_us = self._deck.now_us - ABSENT_US
        lost = {one for one, since_us in self._gone.items() if since_us <= before_us}
        return self._deck.chart.members - lost - {self._deck.me}

    def _reached(self, origin: int) -> bool:
        marks = self._marks.get(origin)
        return marks is not None and self._arrivals.settled(origin, DATA, marks)

    def changed(self, now_us: int) -> None:
        """Note since when others cannot be reached."""
        gone = self._deck.chart.members - self._office.reachable()
        self._gone = {one: self._gone.get(one, now_us) for one in gone}

    def recover(self, now_us: int, records: Iterable[Any]) -> None:
        """A drain does not outlive a restart: the session is rolled back."""

    def records(self) -> tuple[Any, ...]:
        """Nothing has to be in the log."""
        return ()
