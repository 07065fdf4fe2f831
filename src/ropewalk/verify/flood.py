"""How native bridges spread a message: they do not route, they flood.

The question is over (broker, topic name, hops): a bridge renames topics, and counts hops where it
has a limit. A bridge never sends back what it brought (no-local, as brokers' bridges have it).
Beyond the largest limit hops count no more, so there are finitely many states, and an endless
loop is exactly a cycle of them.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple, get_args

from ropewalk.federation.bridges import BridgeKind
from ropewalk.federation.facts import Federation
from ropewalk.verify.arcs import Arc, Layout, Leaving

GROWN = 40
"""A name that has grown by so many prefixes grows for ever."""
MOST_NAMES = 50
"""A message that could be in more places than under so many names everywhere has too many."""
_ORIGIN = "cluster "
"""Before a cluster's name, where servers are remembered as well."""
SOURCE = -1
"""The bridge that a message has come by before it has crossed any."""
MOST_COUNTED = 20_000
"""Copies that remember where they have been are followed to so many places, then only counted."""
NOWHERE: frozenset[str] = frozenset()

KEPT_FROM: Mapping[str, frozenset[str]] = {
    # NATS: a route is one hop, a gateway leads from the cluster of the publisher to each other one.
    "route": frozenset(("route", "gateway")),
    "gateway": frozenset(("gateway",)),
    "import": frozenset(("route", "gateway")),
}
"""What came by a connection of one kind is not carried on by those kinds."""
COUNTED = frozenset(get_args(BridgeKind)) - {"shovel", "binding"}
"""Crossing a bridge of these kinds is a hop."""


class Place(NamedTuple):
    """Where a copy of a message is: broker, name, the bridge it came by, hops, renamings.

    `seen` are the brokers that it remembers to have crossed (RabbitMQ's `x-received-from`), and
    with NATS the cluster that it came from by a leaf connection: it does not go there again.
    """

    broker: str
    name: str
    bridge: int
    hops: int
    grown: int
    seen: frozenset[str] = NOWHERE


@dataclass(frozen=True)
class Flood:
    """Where a message gets to: how many copies, on which ways, and whether they ever end."""

    copies: Mapping[tuple[str, str], int]
    """By broker and name."""
    came_from: Mapping[Place, Place | None]
    loop: tuple[Place, ...]
    """A cycle of places, if there is one."""
    stopped: frozenset[int]
    """Bridges whose hop limit held a copy back."""
    met: frozenset[str]
    """Brokers that it got to or was sent to: while these are up nothing about it changes."""
    grows: bool = False
    """Whether its name gets longer and longer; then `loop` is the way to where that was seen."""
    partly: bool = False
    """Whether there were too many places to follow all: then there are more copies than these."""

    @cached_property
    def senders(self) -> frozenset[str]:
        """Brokers that carried it on: while these are up others may fail without consequence."""
        return frozenset(place.broker for place in self.came_from.values() if place is not None)

    @cached_property
    def crossed(self) -> frozenset[int]:
        """Bridges that copies came by, and those that held one back."""
        return frozenset(place.bridge for place in self.came_from) - {SOURCE} | self.stopped

    @cached_property
    def brokers(self) -> frozenset[str]:
        """Every broker it gets to."""
        return frozenset(broker for broker, _ in self.copies)

    @cached_property
    def _at(self) -> dict[str, list[tuple[str, int]]]:
        found: dict[str, list[tuple[str, int]]] = {}
        for (broker, name), count in self.copies.items():
            found.setdefault(broker, []).append((name, count))
        return found

    def at(self, broker: str) -> list[tuple[str, int]]:
        """Names and copies at a broker."""
        return self._at.get(broker, [])

    def way(self, place: Place) -> list[Place]:
        """The places from the publisher's to this one."""
        return _way(self.came_from, place)


class Bridges:
    """The bridges of a federation while something is other than usual.

    `usual` is the same federation with nothing down: what it has found out is not sought again.
    """

    def __init__(
        self,
        federation: Federation,
        down: Collection[str] = (),
        *,
        limits: bool = True,
        connected: Mapping[int, str] = MappingProxyType({}),
        cut: Collection[int] = (),
        usual: "Bridges | None" = None,
    ) -> None:
        self.down, self.limits = down, limits
        self.layout: Layout = usual.layout if usual is not None else Layout(federation)
        self.connections, self.kinds = self.layout.connections, self.layout.kinds
        before = usual.leaving if usual is not None else None
        self.leaving: Leaving = self.layout.leaving(down, connected, cut, before)
        limited = [one.max_hops for one in federation.bridges if one.max_hops and limits]
        self.most = max(limited, default=0)
        self.most_places = MOST_NAMES * (2 * len(federation.bridges) + 1) * (self.most + 1)
        if self.layout.remembers:
            self.most_places = max(MOST_COUNTED, len(federation.brokers) * 4)

    def steps(self, place: Place, stopped: set[int]) -> Iterator[Place]:
        """Where copies at a place go next.

        RabbitMQ gives a message to each exchange once that bindings lead to, and to each queue
        once: so it is decided for all of them together, where the message comes in.
        """
        bound = self.layout.bound
        routed = place.bridge != SOURCE and bound[place.bridge]
        served: set[tuple[str, str] | int] = set()
        for arc in self.leaving.get(place.broker, ()):
            if not place.name.startswith(arc.near):
                continue  # of thousands of bridges at a hub most are for others
            if bound[arc.number] or (routed and arc.bridge.kind == "shovel"):
                continue
            if step := self._step(place, arc, served, stopped):
                yield step
        for one in self._bound(place, stopped) if self.layout.binds and not routed else ():
            yield one
            for arc in self.leaving[place.broker]:
                if arc.bridge.kind == "shovel" and (step := self._step(one, arc, served, stopped)):
                    yield step

    def _bound(self, place: Place, stopped: set[int]) -> Iterator[Place]:
        """Names of a message in the exchanges of its broker that bindings lead to, each once."""
        arcs = [arc for arc in self.leaving.get(place.broker, ()) if self.layout.bound[arc.number]]
        names = {place.name}
        waiting = [place] if arcs else []
        for one in waiting:
            for arc in arcs:
                step = self._step(one, arc, set(), stopped)
                if step is not None and step.name not in names:
                    names.add(step.name)
                    yield step
                    if step.grown <= GROWN:
                        waiting.append(step)

    def _step(
        self, place: Place, arc: Arc, served: set[tuple[str, str] | int], stopped: set[int]
    ) -> Place | None:
        """What a bridge makes of a copy; `served` are links and queues that have one already."""
        bridge = arc.bridge
        came = self.kinds[place.bridge] if place.bridge != SOURCE else ""
        by = self.connections[place.bridge] if place.bridge != SOURCE else SOURCE
        returns = arc.connection == by and bridge.from_ != bridge.to
        if returns and (arc.outward or not bridge.echoes):
            return None
        if bridge.kind in KEPT_FROM.get(came, ()) or self.stays(place, arc):
            return None
        name = self.layout.name_beyond(arc, place.name)
        # Links to one exchange share its queue; a shovel's queue takes a message once.
        goal = (arc.far, name or "") if bridge.kind == "federation" else arc.connection
        sharing = bridge.kind in ("federation", "shovel")
        if name is None or (sharing and goal in served):
            return None
        hops, seen = place.hops, place.seen
        if bridge.kind == "federation":
            if arc.far in (*seen, place.broker):
                return None
            seen = seen | {place.broker}
        if bridge.kind == "leaf":
            if self._is_origin(arc.far, place) or arc.far in seen:
                return None
            seen = self._left(place)
        if bridge.kind == "gateway":
            seen = _servers(seen)  # gateways do not tell which leaf node's cluster it came from
        if self.limits and bridge.max_hops is not None and hops >= bridge.max_hops:
            stopped.add(arc.number)
            return None
        if sharing:
            served.add(goal)
        if bridge.kind in COUNTED:
            hops = min(hops + 1, self.most)
        grown = place.grown + (len(name) > len(place.name))
        return Place(arc.far, name, arc.number, hops, grown, seen)

    def stays(self, place: Place, arc: Arc) -> bool:
        """Whether a server of NATS leaves it to the others of its cluster to have leaf nodes.

        What came from its hub does not go on by routes, what came by a route does not go up to a
        hub; it goes down to leaf nodes.
        """
        came = self.kinds[place.bridge] if place.bridge != SOURCE else ""
        if (came, arc.bridge.kind) == ("leaf", "route"):
            return self.layout.bridges[place.bridge].from_ == place.broker
        return (came, arc.bridge.kind) == ("route", "leaf") and arc.outward

    def _is_origin(self, far: str, place: Place) -> bool:
        """Whether a leaf node's message would go back into the cluster that it came from last."""
        cluster = self._cluster(far)
        return _ORIGIN + cluster in place.seen or cluster == self._cluster(place.broker)

    def _left(self, place: Place) -> frozenset[str]:
        """What a message remembers that leaves by a leaf connection: servers, and the cluster."""
        here = {place.broker, _ORIGIN + self._cluster(place.broker)}
        return _servers(place.seen) | here

    def _cluster(self, broker: str) -> str:
        known = self.layout.known.get(broker)
        return (known.cluster or broker) if known else broker


def _servers(seen: frozenset[str]) -> frozenset[str]:
    """What a message remembers, without the cluster."""
    return frozenset(one for one in seen if not one.startswith(_ORIGIN))


def flood(bridges: Bridges, broker: str, name: str) -> Flood:
    """Where a message that is published at a broker gets to."""
    start = Place(broker, name, SOURCE, 0, 0)
    came_from: dict[Place, Place | None] = {start: None}
    after: dict[Place, list[Place]] = {}
    stopped: set[int] = set()
    waiting = [start]
    partly = False
    for place in waiting:
        many = len(came_from) > bridges.most_places
        if many and bridges.layout.remembers and place.grown <= GROWN:
            partly = True
            break
        if place.grown > GROWN or many:
            way = tuple(_way(came_from, place))
            return _flood(bridges, came_from, _count(waiting, {}), way, stopped, grows=True)
        after[place] = [_met(one, came_from) for one in bridges.steps(place, stopped)]
        for one in after[place]:
            if one not in came_from:
                came_from[one] = place
                waiting.append(one)
    if partly:
        after = {one: [step for step in steps if step in after] for one, steps in after.items()}
        came_from = {one: came_from[one] for one in after}
        waiting = list(after)
    loop = _cycle(start, after)
    order = waiting if loop else _in_order(start, after)
    copies = _count(order, {} if loop else after)
    return _flood(bridges, came_from, copies, loop, stopped, grows=False, partly=partly)


def _flood(
    bridges: Bridges,
    came_from: dict[Place, Place | None],
    copies: dict[tuple[str, str], int],
    loop: tuple[Place, ...],
    stopped: set[int],
    *,
    grows: bool,
    partly: bool = False,
) -> Flood:
    reached = {broker for broker, _ in copies}
    met = reached.union(*(bridges.layout.ends.get(broker, ()) for broker in reached))
    return Flood(copies, came_from, loop, frozenset(stopped), frozenset(met), grows, partly)


def _way(came_from: Mapping[Place, Place | None], place: Place) -> list[Place]:
    way: list[Place] = []
    step: Place | None = place
    while step is not None:
        way.append(step)
        step = came_from[step]
    return way[::-1]


def _met(place: Place, known: Mapping[Place, Place | None]) -> Place:
    """The same place if it was met before with another count of renamings."""
    for grown in range(place.grown + 1):
        same = place._replace(grown=grown)
        if same in known:
            return same
    return place


def _cycle(start: Place, after: Mapping[Place, list[Place]]) -> tuple[Place, ...]:
    """A cycle that can be reached, each of its places once; empty if there is none."""
    done: set[Place] = set()
    path: list[Place] = []
    on_path: dict[Place, int] = {}
    stack: list[tuple[Place, Iterator[Place]]] = [(start, iter(after[start]))]
    on_path[start] = 0
    path.append(start)
    while stack:
        place, rest = stack[-1]
        step = next(rest, None)
        if step is None:
            stack.pop()
            done.add(path.pop())
            del on_path[place]
        elif step in on_path:
            return tuple(path[on_path[step] :])
        elif step not in done:
            on_path[step] = len(path)
            path.append(step)
            stack.append((step, iter(after[step])))
    return ()


def _in_order(start: Place, after: Mapping[Place, list[Place]]) -> list[Place]:
    """Places such that each comes after all that lead to it; there is no cycle."""
    done: dict[Place, None] = {}
    stack: list[tuple[Place, bool]] = [(start, False)]
    while stack:
        place, left = stack.pop()
        if left:
            done[place] = None
        elif place not in done:
            stack.append((place, True))
            stack += [(step, False) for step in after[place] if step not in done]
    return list(done)[::-1]


def _count(
    order: Sequence[Place], after: Mapping[Place, list[Place]]
) -> dict[tuple[str, str], int]:
    """Copies by broker and name: as many as there are ways to get there."""
    ways = dict.fromkeys(order, 1) if not after else dict.fromkeys(order, 0)
    ways[order[0]] = 1
    copies: dict[tuple[str, str], int] = {}
    for place in order:
        for step in after.get(place, ()):
            ways[step] += ways[place]
        at = (place.broker, place.name)
        copies[at] = copies.get(at, 0) + ways[place]
    return copies
