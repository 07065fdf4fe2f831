"""What every scheme stands on: distances and canonical next hops of all pairs, nothing failed."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ropewalk.errors import UsageError
from ropewalk.federation.arrays import Graph, Ints
from ropewalk.kernels import kernel
from ropewalk.routing.delta import Tree, fail, restore, tree_room
from ropewalk.routing.trees import FAR, NOWHERE, STATE, Longs, Net, arc_between, grow, net_of
from ropewalk.routing.workers import spread

T = TypeVar("T")

MOST_BROKERS = 5000
"""All pairs are held in memory: 12 bytes each."""
SMALL = 64


class Ground(NamedTuple):
    """Row `to`, column `at`: the distance, and the arc to the next hop (or -1)."""

    net: Net
    ends: Ints
    distance: Longs
    arc: Ints


class Failing(NamedTuple):
    """Room for one failure after another: a tree, what is down, and who has to repair it."""

    tree: Tree
    link: Ints
    broker: Ints
    repairers: Ints


def ground_of(graph: Graph) -> Ground:
    """Distances and next hops of all pairs; UsageError where they would not fit."""
    if graph.brokers > MOST_BROKERS:
        said = f"{graph.brokers:,} brokers are too many to compare schemes on"
        raise UsageError(f"{said} (at most {MOST_BROKERS:,})")
    net, n = net_of(graph), graph.brokers
    ground = Ground(net, graph.ends, np.empty((n, n), np.int64), np.empty((n, n), np.int32))
    by_destination(lambda start, stop: _fill(ground, start, stop), ground)
    return ground


def by_destination(work: Callable[[int, int], T], ground: Ground) -> list[T]:
    """The results of `work(start, stop)` over all brokers; small graphs are not worth a thread."""
    n = len(ground.arc)
    return spread(work, n, parts=1 if n < SMALL else None)


def distances(net: Net, start: int, stop: int) -> Longs:
    """Distances to the brokers `start` to `stop`, a row for each; FAR where there is no way."""
    rows = np.empty((stop - start, len(net.nodes) - 1), np.int64)
    _fill_distances(net, start, rows)
    return rows


def failing_room(ground: Ground) -> Failing:
    """Room to take down one thing at a time."""
    n, links = len(ground.arc), len(ground.ends)
    one = np.zeros(1, np.int32)
    return Failing(tree_room(n, links), one, one.copy(), np.zeros(n, np.int32))


@kernel
def _fill_distances(net: Any, start: int, rows: Any) -> None:
    brokers = rows.shape[1]
    state = np.empty(brokers, STATE)
    heap = np.empty(len(net.arcs) + 2, np.int64)
    for i in range(len(rows)):
        grow(net, start + i, state, heap)
        for u in range(brokers):
            rows[i, u] = state[u].distance


@kernel
def _fill(ground: Any, start: int, stop: int) -> None:
    brokers = len(ground.arc)
    state = np.empty(brokers, STATE)
    heap = np.empty(len(ground.net.arcs) + 2, np.int64)
    for to in range(start, stop):
        grow(ground.net, to, state, heap)
        for u in range(brokers):
            ground.distance[to, u] = state[u].distance
            found = NOWHERE
            if u != to and state[u].hop != NOWHERE:
                found = arc_between(ground.net, u, state[u].hop)
            ground.arc[to, u] = found


@kernel
def through(net: Any, distance: Any, a: int, middle: int, b: int) -> Any:
    """The shortest way from a to b that passes a third broker; FAR if that carries no transit."""
    if not net.nodes[middle].transit:
        return FAR
    return min(distance[a, middle] + distance[middle, b], FAR)


@kernel
def avoids_link(net: Any, distance: Any, a: int, b: int, arc: int, tail: int) -> Any:
    """Whether no shortest way from a to b uses a link: that of `arc`, which leaves `tail`."""
    head, cost = net.arcs[arc].to, net.arcs[arc].cost
    direct = distance[a, b]
    return direct < min(
        _over(net, distance, a, tail, cost, head, b), _over(net, distance, a, head, cost, tail, b)
    )


@kernel
def _over(net: Any, distance: Any, a: int, tail: int, cost: int, head: int, b: int) -> Any:
    if (tail != a and not net.nodes[tail].transit) or (head != b and not net.nodes[head].transit):
        return FAR
    return min(distance[a, tail] + cost + distance[head, b], FAR)


@kernel
def take_down(ground: Any, to: int, v: int, brokers: bool, failing: Any) -> tuple[int, int]:
    """Fail a broker, or the link to its next hop; returns how many have to repair, and a size.

    Who has to repair is who finds its next hop gone: `repairers`. The size is for `put_up`. There
    is nobody, and nothing is failed, where no path to `to` uses it.
    """
    net, count = ground.net, 0
    if ground.arc[to, v] == NOWHERE:
        return 0, 0
    if brokers:
        for arc in range(net.nodes[v].first, net.nodes[v + 1].first):
            x = net.arcs[arc].to
            mine = ground.arc[to, x]
            if mine != NOWHERE and net.arcs[mine].to == v:
                failing.repairers[count] = x
                count += 1
        if count == 0:
            return 0, 0
        failing.broker[0] = v
        size, _ = fail(net, to, failing.tree, ground.ends, failing.link[:0], failing.broker)
        return count, size
    failing.repairers[0] = v
    failing.link[0] = net.arcs[ground.arc[to, v]].link
    size, _ = fail(net, to, failing.tree, ground.ends, failing.link, failing.broker[:0])
    return 1, size


@kernel
def put_up(failing: Any, size: int, brokers: bool) -> None:
    """Undo `take_down`."""
    if brokers:
        restore(failing.tree, size, failing.link[:0], failing.broker)
    else:
        restore(failing.tree, size, failing.link, failing.broker[:0])
