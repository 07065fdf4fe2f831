"""What brokers say of links that are not well, and what is down, dead and slow by that.

A link is down if one of its ends says so. A broker is dead while it has said nothing newer than
what a neighbour knew of it when it fell silent. One item changes little of this: only the claims in
it, and whether those against its own broker still hold.
"""

from collections.abc import Callable

from ropewalk.overlay.chart import Away, Chart
from ropewalk.overlay.serial import newer
from ropewalk.overlay.words import Down, Item, Key, LinkStates

NOTHING = LinkStates()
NOBODY: dict[int, Down] = {}

Stamp = tuple[int, int]


class Complaints:
    """The claims of all brokers."""

    def __init__(self, stamp: Callable[[int, int], Stamp]) -> None:
        self._stamp = stamp
        """Of the last that a broker said in the part of its news that a link is in."""
        self._said: dict[Key, LinkStates] = {}
        self._against: dict[int, dict[int, Down]] = {}
        """By broker and link: claims of the other end that it is silent."""
        self._claims: dict[int, int] = {}
        """By link: how many of its ends hold it for down."""
        self.down: frozenset[int] = frozenset()
        self.dead: frozenset[int] = frozenset()
        self.slow: frozenset[int] = frozenset()
        self.away: Away = frozenset()

    def put(self, chart: Chart, item: Item) -> None:
        """What an item says takes the place of what its broker said before."""
        self._replace(chart, item.key, item.body)
        if item.broker in self._against:
            self._judge(chart, item.broker)

    def drop(self, chart: Chart, item: Item) -> None:
        """What it says no longer counts."""
        self._replace(chart, item.key, NOTHING)
        self._judge(chart, item.broker)

    def again(self, chart: Chart) -> None:
        """Reckon everything anew, by another chart."""
        said, self._said = self._said, {}
        self._against, self._claims = {}, {}
        self.down = self.dead = self.slow = frozenset()
        self.away = frozenset()
        for key, states in said.items():
            self._replace(chart, key, states)

    def _replace(self, chart: Chart, key: Key, states: LinkStates) -> None:
        before = self._said.pop(key, NOTHING)
        if states != NOTHING:
            self._said[key] = states
        if states.down != before.down:
            self._accuse(chart, key, before.down, states.down)
        if states.slow != before.slow:
            self.slow = frozenset(e for one in self._said.values() for e in one.slow)
        if states.away != before.away:
            some = ((key[1], b) for key, one in self._said.items() for b in one.away)
            self.away = frozenset(some)

    def _accuse(
        self, chart: Chart, key: Key, before: tuple[Down, ...], now: tuple[Down, ...]
    ) -> None:
        known, claims, touched = chart.own_link, self._claims, set[int]()
        for one in before:
            if one.link in known:
                other = chart.other(one.link, key[1])
                del self._against[other][one.link]
                claims[one.link] -= 1
                if not claims[one.link]:
                    del claims[one.link]
                touched.add(other)
        for one in now:
            if one.link in known:  # else it is of a later chart, or of an earlier one
                other = chart.other(one.link, key[1])
                self._against.setdefault(other, {})[one.link] = one
                claims[one.link] = claims.get(one.link, 0) + 1
                touched.add(other)
        self.down = frozenset(claims)
        for broker in touched:
            self._judge(chart, broker)

    def _judge(self, chart: Chart, broker: int) -> None:
        """Whether a broker is held for dead."""
        guilty = False
        for one in self._against.get(broker, NOBODY).values():
            incarnation, number = self._stamp(broker, one.link)
            if not newer(incarnation, number, one.incarnation, one.number):
                guilty = guilty or chart.hangs(one.link, broker)
        if guilty is not (broker in self.dead):
            self.dead = self.dead ^ {broker}
