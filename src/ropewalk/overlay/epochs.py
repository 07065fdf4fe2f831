"""Brokers and links that join and leave: tables first, the switch after.

A new chart is given to every agent; each says that it has it, and uses it when every agent that it
can reach has said so, or when it sees that others already do. All frames say which epoch they are
of; numbers mean the same in all of them, and what was on its way is in custody: nothing is lost.

A broker that is not on the new chart takes nothing more from its publishers, and says that it has
the chart when it keeps nothing any more: the others wait for that. It stays on the old one until it
is stopped.
"""

from collections.abc import Callable

from ropewalk.overlay.chart import Chart
from ropewalk.overlay.custody import Custody
from ropewalk.overlay.deck import Deck
from ropewalk.overlay.gazette import Gazette
from ropewalk.overlay.lane import DATA, FORWARDED, HOME, LOCAL
from ropewalk.overlay.liveness import Liveness
from ropewalk.overlay.parts import NEVER
from ropewalk.overlay.shipping import Shipping
from ropewalk.overlay.words import CHART

KINDS = (DATA, HOME, LOCAL, FORWARDED)
"""Lanes with custody."""


class Epochs:
    """The charts that an agent has ready."""

    def __init__(
        self,
        deck: Deck,
        gazette: Gazette,
        liveness: Liveness,
        shipping: Shipping,
        custody: Custody,
        reachable: Callable[[], frozenset[int]],
    ) -> None:
        self._deck, self._gazette, self._reachable = deck, gazette, reachable
        self._liveness, self._shipping, self._custody = liveness, shipping, custody
        self.ready: dict[int, Chart] = {}
        self.leaving = 0
        """The epoch that this broker is not part of: it hands out what it has before that."""

    def charted(self, chart: Chart) -> bool:
        """A new chart is here; returns whether it is used at once."""
        if chart.epoch <= self._deck.chart.epoch or chart.epoch in self.ready:
            return False
        if self._deck.me not in chart.members:
            self._deck.tell("leaves", chart.epoch)
            self.leaving = max(self.leaving, chart.epoch)
            return False
        self.ready[chart.epoch], self.leaving = chart, 0
        self._liveness.publish(self._gazette.announce(CHART, "", max(self.ready)))
        return self.consider()

    def drained(self) -> None:
        """A broker that leaves keeps nothing any more: the others need not wait for it."""
        if self._has(self._deck.me) < self.leaving:
            self._liveness.publish(self._gazette.announce(CHART, "", self.leaving))

    def consider(self) -> bool:
        """Use the newest chart that every reachable agent has; returns whether there is one."""
        if not self.ready or self._liveness.announce_us != NEVER:
            return False  # After a start it is not known yet who can be reached.
        others = self._reachable() & self._deck.chart.concerned(self._deck.me) - {self._deck.me}
        agreed = [epoch for epoch in self.ready if all(self._has(one) >= epoch for one in others)]
        return bool(agreed) and self._switch(max(agreed))

    def seen(self, epoch: int) -> bool:
        """Others use a chart: so does this agent, if it has it."""
        return epoch in self.ready and self._switch(epoch)

    def _has(self, broker: int) -> int:
        item = self._gazette.items.get((CHART, broker, ""))
        return int(item.body) if item else 0

    def _switch(self, epoch: int) -> bool:
        self._deck.chart = self.ready[epoch]
        self.ready = {one: chart for one, chart in self.ready.items() if one > epoch}
        gone = self._liveness.open_all()
        self._gazette.reckon()
        self._shipping.on_chart()
        for face in gone:
            self._shipping.lost(face)
        self._shipping.known = None  # Whatever is down, ways have changed.
        self._give_up()
        self._deck.tell("epoch", epoch)
        self._liveness.announce()
        return True

    def _give_up(self) -> None:
        """Nothing reaches a broker that has left: keeping letters for it would fill the log."""
        chart = self._deck.chart
        for to in sorted({lane.to for lane in self._custody.everywhere() if lane.entries}):
            if to in chart.gone:
                for kind in KINDS:
                    if given_up := self._custody.take_out(lambda _letter: True, to=to, kind=kind):
                        self._deck.tell("given up", chart.names[to], len(given_up))
