"""Clients that move in a simulated world: an agent has them disconnected, they reconnect elsewhere.

To everybody who looks at the run a client stays where it began: deliveries are told under its first
broker, so that what must hold of a subscriber holds across its moves. What is given to a client at
a broker where it is not, is lost (`stray`).
"""

from collections.abc import Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING

from ropewalk.federation.facts import Federation
from ropewalk.overlay.events import (
    Carry,
    Event,
    Happened,
    MoveItem,
    Proposed,
    Subscribed,
    TakeOver,
    Unsubscribed,
)
from ropewalk.overlay.simulate.hosts import Host
from ropewalk.overlay.simulate.plan import Shift, Wish
from ropewalk.placement.policies.cases import Case, CaseBase
from ropewalk.placement.reactive.session import Disconnect, Disconnected

if TYPE_CHECKING:
    from ropewalk.overlay.simulate.world import World

MOST_DELAY_US = 300_000
"""Within this time clients are disconnected, and within this time they are back."""
PROPOSED_US = 1_000_000
"""Until then a master is elected; then it is given the case base, again and again."""


class Movers:
    """Who is where, and who is on the way."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._draw = Random(f"moves {world.plan.seed}")  # noqa: S311  (nothing here is secret)
        self._number = {host.name: host.number for host in world.hosts}
        self._home: dict[str, int] = {}
        """Of clients that have moved: their first broker."""
        self._bound: dict[tuple[int, str], int] = {}
        """By broker and item: where its clients go when they are disconnected."""
        self.away = 0
        """Clients that are connected nowhere."""

    def begin(self) -> None:
        """All moves of the plan."""
        for shift in self._world.plan.moves:
            self._world.at(shift.at_us, self._shift, shift)
        if self._world.plan.mirrors:
            self._world.at(PROPOSED_US, self._propose, cases_of(self._world.federation))

    def _propose(self, base: CaseBase) -> None:
        for host in self._world.hosts:
            self._world.hand(host, Proposed(base.text(), base.version))

    def _shift(self, shift: Shift) -> None:
        source, to = self._number[shift.source], self._number[shift.to]
        self._bound[source, shift.item] = to
        self._world.hand(self._world.hosts[source], MoveItem(shift.item, to, ()))

    def at(self, host: Host, subscriber: str) -> int:
        """Under which broker a client is told of."""
        return self._home.get(subscriber, host.number)

    def strays(self, host: Host, subscriber: str) -> bool:
        """Whether a client that moves is not at this broker."""
        return subscriber in self._home and not any(one == subscriber for one, _ in host.wants)

    def carry(self, host: Host, action: Carry) -> None:
        """An agent wants clients disconnected."""
        if isinstance(action.order, Disconnect):
            self._later(self._disconnect, host, action.order)

    def _later(self, act: object, *facts: object) -> None:
        at_us = self._world.now_us + self._draw.randrange(1, MOST_DELAY_US)
        self._world.at(at_us, act, *facts)  # type: ignore[arg-type]

    def _disconnect(self, host: Host, order: Disconnect) -> None:
        if host.agent is None:
            return  # It asks again when it is back.
        for client in sorted(order.clients):
            wishes = [wish for (one, _), wish in host.wants.items() if one == client]
            if wishes:
                self._part(host, client, wishes)
        self._world.hand(host, Happened(Disconnected(order.id)))

    def _part(self, host: Host, client: str, wishes: list[Wish]) -> None:
        self._home.setdefault(client, host.number)
        self._world.note("part", host.number, client)
        to = self._goal(host, client, wishes)
        for wish in wishes:
            del host.wants[client, wish.pattern]
            self._world.hand(host, Unsubscribed(client, wish.pattern))
        self.away += 1
        self._later(self._connect, to, client, wishes)

    def _goal(self, host: Host, client: str, wishes: list[Wish]) -> int:
        items: Mapping[str, Sequence[str]] = self._world.federation.items
        mine = {item for wish in wishes for item, names in items.items() if wish.pattern in names}
        found = [
            self._bound[host.number, item] for item in mine if (host.number, item) in self._bound
        ]
        return found[0] if found else self._home[client]

    def _connect(self, to: int, client: str, wishes: list[Wish]) -> None:
        host = self._world.hosts[to]
        self.away -= 1
        self._world.note("join", to, client)
        for wish in wishes:
            host.wants[client, wish.pattern] = wish
            event: Event = Subscribed(client, wish.pattern)
            self._world.hand(host, event)

    def died(self, host: Host) -> None:
        """A broker is dead: quick clients go to its mirror before that is decided."""
        plan, federation = self._world.plan, self._world.federation
        if plan.mirrors and plan.quick:
            for item, to in cases_of(federation).advice([host.name]).moves.items():
                mirror = self._world.hosts[self._number[to]]
                self._flee(host, mirror, frozenset(federation.items[item]))

    def taken_over(self, mirror: Host, action: TakeOver) -> None:
        """A mirror carries items of a dead broker: its clients go there, sooner or later."""
        self._world.note("take over", mirror.number, action.items)
        patterns = {p for item in action.items for p in self._world.federation.items[item]}
        for host in self._world.hosts:
            if host.broker_away and host is not mirror:
                self._flee(host, mirror, frozenset(patterns))

    def _flee(self, host: Host, mirror: Host, patterns: frozenset[str]) -> None:
        for client in sorted({one for one, pattern in host.wants if pattern in patterns}):
            wishes = [wish for (one, _), wish in host.wants.items() if one == client]
            self._home.setdefault(client, host.number)
            for wish in wishes:
                del host.wants[client, wish.pattern]
            self.away += 1
            self._later(self._connect, mirror.number, client, wishes)


def cases_of(federation: Federation) -> CaseBase:
    """A case base in which the next broker of the file takes the items of one that is dead."""
    names = tuple(federation.graph.names)
    homes = {item: _home_of(federation, topics) for item, topics in federation.items.items()}
    room = dict.fromkeys(names, 1.0)
    cases = [Case("peak", frozenset(), {}, 1.0, room)]
    for place, name in enumerate(names):
        mirror = names[(place + 1) % len(names)]
        moves = {item: mirror for item, home in homes.items() if home == name}
        cases.append(Case("peak", frozenset({name}), moves, 1.0, room))
    return CaseBase({item: (home, 1.0) for item, home in homes.items()}, names, tuple(cases))


def _home_of(federation: Federation, topics: Sequence[str]) -> str:
    """The broker of an item's first subscriber."""
    some = [one for name in topics for one in federation.topics[name].subscribers]
    first = some[0] if some else federation.graph.names[0]
    return first if isinstance(first, str) else first.broker
