"""What an agent owes its domain when something has changed; see `domains`.

A gateway tells its edges whom it cannot reach while another gateway of the domain may. An edge that
is back tells its origins what it has got, since nobody outside the domain heard that it was away.
"""

from collections.abc import Callable, Iterable

from ropewalk.overlay.arrivals import Arrivals
from ropewalk.overlay.chart import NONE, Chart, Row
from ropewalk.overlay.deck import Deck
from ropewalk.overlay.domains import HOME
from ropewalk.overlay.gazette import Gazette
from ropewalk.overlay.liveness import Liveness
from ropewalk.overlay.parts import NEVER
from ropewalk.overlay.shipping import Shipping, View
from ropewalk.overlay.words import LINKS


def cut_off(
    chart: Chart, gateway: int, bad: Iterable[frozenset[int]], row: Callable[[], Row]
) -> tuple[int, ...]:
    """Gateways that one cannot reach, if one of its domain is among them: others may reach them.

    `bad` are links down and brokers dead. Mostly a link within the domain settles it.
    """
    down, dead = bad
    beyond = [
        other
        for other, link in chart.standby(gateway).items()
        if link == NONE or link in down or other in dead
    ]
    if all(row()[other] != NONE for other in beyond):
        return ()
    return tuple(one for one in sorted(chart.transit) if row()[one] == NONE)


class Standby:
    """One agent's duties in its domain."""

    def __init__(
        self,
        deck: Deck,
        gazette: Gazette,
        liveness: Liveness,
        shipping: Shipping,
        arrivals: Arrivals,
    ) -> None:
        self._deck, self._gazette, self._liveness = deck, gazette, liveness
        self._shipping, self._arrivals = shipping, arrivals
        liveness.away = self._cut_off

    def _cut_off(self) -> tuple[int, ...]:
        down, dead, *_ = self._shipping.known or self._shipping.state()
        return cut_off(self._deck.chart, self._deck.me, (down, dead), self._shipping.row)

    def changed(self, before: View | None) -> None:
        """What is down has changed."""
        chart, me = self._deck.chart, self._deck.me
        if not chart.attached:
            return
        known = self._gazette.items.get((LINKS, me, HOME))
        told = known.body.away if known else ()
        if self._liveness.announce_us == NEVER and self._liveness.away() != told:
            self._liveness.announce()
        was, now = (view[0] if view else frozenset() for view in (before, self._shipping.known))
        if any(link in was - now for _, link in chart.attached.get(me, ())):
            self._arrivals.remind()
