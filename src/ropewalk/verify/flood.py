"""How native bridges spread a message: they do not route, they flood.

The question is over (broker, topic name, hops): a bridge renames topics, and counts hops where it
has a limit. A bridge never sends back what it brought (no-local, as brokers' bridges have it).
Beyond the largest limit hops count no more, so there are finitely many states, and an endless
loop is exactly a cycle of them.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ropewalk.federation.facts import Bridge, Federation
from ropewalk.federation.topics import common

GROWN = 40
"""A name that has grown by so many prefixes grows for ever."""
MOST_NAMES = 50
"""A message that could be in more places than under so many names everywhere has too many."""
SOURCE = -1
"""The bridge that a message has come by before it has crossed any."""


class Place(NamedTuple):
    """Where a copy of a message is: broker, name, the bridge it came by, hops, renamings."""

    broker: str
    name: str
    bridge: int
    hops: int
    grown: int


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

    @cached_property
    def brokers(self) -> frozenset[str]:
        """Every broker it gets to."""
        return frozenset(broker for broker, _ in self.copies)

    def way(self, place: Place) -> list[Place]:
        """The places from the publisher's to this one."""
        return _way(self.came_from, place)


class Bridges:
    """The bridges of a federation while some brokers are down."""

    def __init__(
        self, federation: Federation, down: Collection[str] = (), *, limits: bool = True
    ) -> None:
        self.down, self.limits = down, limits
        self.known = federation.brokers
        limited = [one.max_hops for one in federation.bridges if one.max_hops and limits]
        self.most = max(limited, default=0)
        self.most_places = MOST_NAMES * (2 * len(federation.bridges) + 1) * (self.most + 1)
        self.ends: dict[str, set[str]] = {}
        self.leaving: dict[str, list[tuple[int, Bridge, str, bool]]] = {}
        for i, bridge in enumerate(federation.bridges):
            ends = (bridge.from_, bridge.to, *bridge.addresses)
            for end in ends:
                self.ends.setdefault(end, set()).update(ends)
            far = self._far_end(bridge)
            if far is None or bridge.from_ in down:
                continue
            if bridge.direction in ("out", "both"):
                self.leaving.setdefault(bridge.from_, []).append((i, bridge, far, True))
            if bridge.direction in ("in", "both"):
                self.leaving.setdefault(far, []).append((i, bridge, bridge.from_, False))

    def _far_end(self, bridge: Bridge) -> str | None:
        """The broker it is connected to: the first of its addresses that is up."""
        ends = (bridge.to, *(one for one in bridge.addresses if one in self.known))
        return next((end for end in ends if end not in self.down and end != bridge.from_), None)

    def parts(self) -> dict[str, str]:
        """Brokers that bridges join, whatever they carry, by one that stands for all of them."""
        part: dict[str, str] = {}
        for near, arcs in self.leaving.items():
            for _, _, far, _ in arcs:
                one, other = part.setdefault(near, near), part.setdefault(far, far)
                part.update({name: one for name, of in part.items() if of == other})
        return part

    def steps(self, place: Place, stopped: set[int]) -> Iterator[Place]:
        """Where copies at a place go next."""
        for i, bridge, far, outward in self.leaving.get(place.broker, ()):
            if i == place.bridge:
                continue
            near_prefix, far_prefix = bridge.prefixes.local, bridge.prefixes.remote
            if not outward:
                near_prefix, far_prefix = far_prefix, near_prefix
            name = renamed(place.name, bridge.patterns, near_prefix, far_prefix)
            if name is None:
                continue
            if self.limits and bridge.max_hops is not None and place.hops >= bridge.max_hops:
                stopped.add(i)
                continue
            grown = place.grown + (len(name) > len(place.name))
            yield Place(far, name, i, min(place.hops + 1, self.most), grown)


def renamed(name: str, patterns: Sequence[str], near: str, far: str) -> str | None:
    """A topic name on the other side of a bridge, or None if the bridge does not carry it.

    >>> renamed("site/prices", ["prices"], "site/", "hub/"), renamed("news", ["prices"], "", "")
    ('hub/prices', None)
    """
    if not name.startswith(near):
        return None
    rest = name[len(near) :]
    return far + rest if any(common(pattern, rest) == rest for pattern in patterns) else None


def flood(bridges: Bridges, broker: str, name: str) -> Flood:
    """Where a message that is published at a broker gets to."""
    start = Place(broker, name, SOURCE, 0, 0)
    came_from: dict[Place, Place | None] = {start: None}
    after: dict[Place, list[Place]] = {}
    stopped: set[int] = set()
    waiting = [start]
    for place in waiting:
        if place.grown > GROWN or len(came_from) > bridges.most_places:
            way = tuple(_way(came_from, place))
            return _flood(bridges, came_from, _count(waiting, {}), way, stopped, grows=True)
        after[place] = [_met(one, came_from) for one in bridges.steps(place, stopped)]
        for one in after[place]:
            if one not in came_from:
                came_from[one] = place
                waiting.append(one)
    loop = _cycle(start, after)
    order = waiting if loop else _in_order(start, after)
    copies = _count(order, {} if loop else after)
    return _flood(bridges, came_from, copies, loop, stopped, grows=False)


def _flood(
    bridges: Bridges,
    came_from: dict[Place, Place | None],
    copies: dict[tuple[str, str], int],
    loop: tuple[Place, ...],
    stopped: set[int],
    *,
    grows: bool,
) -> Flood:
    reached = {broker for broker, _ in copies}
    met = reached.union(*(bridges.ends.get(broker, ()) for broker in reached))
    return Flood(copies, came_from, loop, frozenset(stopped), frozenset(met), grows)


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
