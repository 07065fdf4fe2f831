"""Brokers and links that join and leave: tables first, the switch after.

A new chart is given to every agent; each says that it has it, and uses it when every agent that it
can reach has said so, or when it sees that others already do. All frames say which epoch they are
of; numbers mean the same in all of them, and what was on its way is in custody: nothing is lost.
"""

from collections.abc import Callable

from ropewalk.overlay.chart import Chart
from ropewalk.overlay.deck import Deck
from ropewalk.overlay.gazette import Gazette
from ropewalk.overlay.liveness import Liveness
from ropewalk.overlay.shipping import Shipping
from ropewalk.overlay.words import CHART


class Epochs:
    """The charts that an agent has ready."""

    def __init__(
        self,
        deck: Deck,
        gazette: Gazette,
        liveness: Liveness,
        shipping: Shipping,
        reachable: Callable[[], frozenset[int]],
    ) -> None:
        self._deck, self._gazette, self._reachable = deck, gazette, reachable
        self._liveness, self._shipping = liveness, shipping
        self.ready: dict[int, Chart] = {}
        self.leaving = 0
        """The epoch that this broker is not part of: it hands out what it has before that."""

    def charted(self, chart: Chart) -> bool:
        """A new chart is here; returns whether it is used at once."""
        if chart.epoch <= self._deck.chart.epoch:
            return False
        if self._deck.me not in chart.members:
            self._deck.tell("leaves", chart.epoch)
            self.leaving = max(self.leaving, chart.epoch)
            return False
        self.ready[chart.epoch], self.leaving = chart, 0
        self._liveness.publish(self._gazette.announce(CHART, "", chart.epoch))
        return self.consider()

    def drained(self) -> None:
        """A broker that leaves keeps nothing any more: the others need not wait for it."""
        if self._has(self._deck.me) < self.leaving:
            self._liveness.publish(self._gazette.announce(CHART, "", self.leaving))

    def consider(self) -> bool:
        """Use the newest chart that every reachable agent has; returns whether there is one."""
        others = self._reachable() & self._deck.chart.concerned(self._deck.me) - {self._deck.me}
        agreed = [epoch for epoch in self.ready if all(self._has(one) >= epoch for one in others)]
        if agreed:
            self._switch(max(agreed))
        return bool(agreed)

    def seen(self, epoch: int) -> bool:
        """Others use a chart: so does this agent, if it has it."""
        if epoch not in self.ready:
            return False
        self._switch(epoch)
        return True

    def _has(self, broker: int) -> int:
        item = self._gazette.items.get((CHART, broker, ""))
        return int(item.body) if item else 0

    def _switch(self, epoch: int) -> None:
        self._deck.chart = self.ready[epoch]
        self.ready = {one: chart for one, chart in self.ready.items() if one > epoch}
        gone = self._liveness.open_all()
        self._gazette.reckon()
        self._shipping.on_chart()
        for face in gone:
            self._shipping.lost(face)
        self._deck.tell("epoch", epoch)
        self._liveness.announce()
