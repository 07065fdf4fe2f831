"""How loaded the brokers of a domain are: each tells the others, nobody keeps it for long.

A broker that is alone in its domain tells its neighbours.
"""

from collections.abc import Iterable
from typing import Any

from ropewalk.overlay.deck import Deck
from ropewalk.overlay.parts import NEVER, Office
from ropewalk.overlay.words import Wire

FRESH_US = 5_000_000
"""What was told longer ago than this says nothing about now."""


class Load(Wire, frozen=True, tag="council.load"):
    """A note: the sender's broker in the last window."""

    utilisation: float | None
    """Of what it keeps up with; None if that is not known."""
    causes: tuple[str, ...] = ()
    """Figures that have been too high for too long: it is overloaded."""


class Loads:
    """One agent's part in it; a `Part`."""

    def __init__(self, deck: Deck, office: Office) -> None:
        self._deck, self._office = deck, office
        self._of: dict[int, tuple[int, Load]] = {}
        self.wake_us = NEVER

    def share(self, load: Load) -> None:
        """Tell the others of the domain, or the neighbours."""
        self._of[self._deck.me] = self._deck.now_us, load
        for one in sorted(self._near() & self._office.reachable()):
            self._office.note(one, load)

    def known(self) -> dict[int, Load]:
        """What was told a moment ago, by broker, this one included."""
        since_us = self._deck.now_us - FRESH_US
        return {one: load for one, (at_us, load) in self._of.items() if at_us >= since_us}

    def _near(self) -> frozenset[int]:
        chart, me = self._deck.chart, self._deck.me
        mine = chart.domain[me]
        same = frozenset(one for one in chart.members if chart.domain[one] == mine and one != me)
        return same or frozenset(chart.ports(me).values())

    # The part.

    def heard(self, now_us: int, sender: int, body: Any) -> bool:
        """Another's load; False if it is something else."""
        if not isinstance(body, Load):
            return False
        self._of[sender] = now_us, body
        return True

    def due(self, now_us: int) -> None:
        """It waits for nothing."""

    def changed(self, now_us: int) -> None:
        """Who cannot be reached falls silent, and is forgotten."""

    def recover(self, now_us: int, records: Iterable[Any]) -> None:
        """Nothing is left of an earlier life."""

    def records(self) -> tuple[Any, ...]:
        """Nothing has to be in the log."""
        return ()
