"""An overloaded broker sheds items: which, and where to, is chosen from what the domain has told.

Only brokers that the source's `takeover` names are asked: clients reconnect by their own lists, and
these have to hold the new broker. Source and acceptors need a `capacity` in the federation file, or
nobody knows what a move would bring. The source moves items by itself, one session after the other
(`overlay.council.moving`); the acceptor may still refuse.
"""

from collections.abc import Callable, Mapping
from typing import Any

from ropewalk.agent.lookout import HIGH, LOW
from ropewalk.federation.arrays import broker_of
from ropewalk.federation.facts import Federation
from ropewalk.overlay.council.loads import Load
from ropewalk.overlay.events import MoveItem
from ropewalk.overlay.managing import Managing
from ropewalk.placement.reactive.books import Station, Subscription, TopicLoad, books_of
from ropewalk.placement.reactive.offload import Offload, relieve

AGAIN_S = 30.0
"""Between two choices: a move needs time to show."""


def choose(
    federation: Federation,
    me: str,
    loads: Mapping[str, Load],
    rates: Mapping[str, float],
    carries: Mapping[str, frozenset[str]],
) -> Offload | str:
    """What an overloaded broker sheds, or why nothing can be chosen.

    `rates` are messages per second of its items with clients, `carries` the items that others get
    already.
    """
    source = _station(federation, me, loads, carries)
    if isinstance(source, str):
        return source
    takers = federation.brokers[me].takeover.subscribers
    if not takers:
        return f"{me} has no takeover list: its clients know no other broker"
    found = [_station(federation, one, loads, carries) for one in takers if one != me]
    stations = [one for one in found if isinstance(one, Station)]
    if not stations:
        return "; ".join(one for one in found if isinstance(one, str))
    some = rates.items()
    topics = [TopicLoad(one, rate, published_here=_here(federation, one, me)) for one, rate in some]
    wanted = [Subscription(one, one, rate, _stays(federation, one)) for one, rate in some]
    return relieve(books_of(source, topics, wanted, stations))


def _station(
    federation: Federation,
    name: str,
    loads: Mapping[str, Load],
    carries: Mapping[str, frozenset[str]],
) -> Station | str:
    """A broker as the choice sees it, or why it cannot be."""
    capacity, load = federation.brokers[name].capacity, loads.get(name)
    if capacity is None:
        return f"{name} has no capacity in the federation file"
    if load is None or load.utilisation is None:
        return f"{name} has not said how loaded it is"
    closed = f"{', '.join(load.causes)} too high" if load.causes else ""
    gets = carries.get(name, frozenset())
    return Station(name, load.utilisation, capacity, HIGH, LOW, carries=gets, closed=closed)


def _here(federation: Federation, item: str, me: str) -> bool:
    some = (federation.topics[one] for one in federation.items[item] if one in federation.topics)
    return any(broker_of(one) == me for topic in some for one in topic.publishers)


def _stays(federation: Federation, item: str) -> str:
    for name in federation.items[item]:
        topic = federation.topics.get(name)
        if topic is not None and (topic.contract.order == "total" or topic.scope == "domain"):
            return f"{name} is in total order, or of one domain: its readers stay"
    return ""


class Relief:
    """Sheds items while the broker is overloaded; `look` every second."""

    def __init__(
        self,
        federation: Federation,
        me: str,
        managing: Managing,
        *,
        loads: Callable[[], Mapping[str, Load]],
        hand: Callable[[MoveItem], None],
        tell: Callable[[str, tuple[Any, ...]], None],
    ) -> None:
        self._federation, self._me, self._managing = federation, me, managing
        self._loads, self._hand, self._tell = loads, hand, tell
        self._before: tuple[float, dict[str, int]] = (0.0, {})
        self._again_s = 0.0
        self.rates: dict[str, float] = {}
        """Messages per second of items that have clients here."""

    def look(self, now_s: float) -> None:
        """Count, and shed something if that is needed and nothing moves already."""
        self._count(now_s)
        mine = self._loads().get(self._me)
        if mine is None or not mine.causes or not self.rates or now_s < self._again_s:
            return
        if self._managing.moving.state.session is None:
            self._again_s = now_s + AGAIN_S
            self._shed()

    def _count(self, now_s: float) -> None:
        carrying, (before_s, before) = self._managing.carrying, self._before
        counts = {item: carrying.count(item) for item in carrying.items}
        span_s = now_s - before_s
        self.rates = {
            item: max(0, count - before[item]) / span_s
            for item, count in counts.items()
            if item in before and span_s > 0 and carrying.clients_of(item)
        }
        self._before = now_s, counts

    def _shed(self) -> None:
        chosen = choose(self._federation, self._me, self._loads(), self.rates, self._carries())
        if isinstance(chosen, str):
            self._tell("nothing moves", (chosen,))
            return
        if not chosen.moves:
            why = (*chosen.brokers, *chosen.subscriptions)
            self._tell("nothing moves", ("; ".join(map(str, why[:4])),))
        number = self._managing.moving.names.numbers
        for item, to in chosen.moves.items():
            self._tell("sheds", (item, "to", to))
            self._hand(MoveItem(item, number[to], ()))

    def _carries(self) -> dict[str, frozenset[str]]:
        """By broker: items of which it gets all topics already."""
        carrying, names = self._managing.carrying, self._managing.moving.names.names
        found: dict[str, set[str]] = {}
        for item in carrying.items:
            for broker in carrying.wanted_by(item):
                found.setdefault(names[broker], set()).add(item)
        return {name: frozenset(some) for name, some in found.items()}
