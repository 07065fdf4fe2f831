"""The shortest path by any weight per arc: the one search that all methods call.

Dijkstra's, on the heap of `trees`: a key is the distance's bits with the node's number in the last
20 of them. Non-negative floats compare as their bits do, so distances are told apart to one part in
2^32.
"""

from functools import lru_cache
from typing import Any

import numpy as np

from ropewalk.federation.arrays import Floats
from ropewalk.kernels import kernel
from ropewalk.routing.apart.terrain import Path, Terrain
from ropewalk.routing.trees import MOST_BROKERS, pop, push

REACHED = np.dtype(
    [("distance", "f8"), ("arc", "i4"), ("before", "i4"), ("settled", "?")], align=True
)
_NODE_BITS = np.int64(MOST_BROKERS - 1)


def shortest(terrain: Terrain, weight: Floats, start: int, end: int) -> Path | None:
    """The path of least weight; None if there is none. Infinite weights are no way at all."""
    if start == end:
        return Path((start,), (), 0.0)
    arcs = _search(terrain.net, weight, start, end)
    if not len(arcs):
        return None
    nodes = (start, *terrain.graph.neighbour[arcs].tolist())
    links = terrain.graph.link[arcs]
    return Path(nodes, tuple(links.tolist()), float(terrain.graph.latency_ms[links].sum()))


@kernel
def key_of(distance: float, number: int) -> Any:
    """A heap's key: a distance, and a number below 2^20 that comes with it."""
    return (np.float64(distance).view(np.int64) & ~_NODE_BITS) | number


@kernel
def _search(net: Any, weight: Any, start: int, end: int) -> Any:
    reached = np.empty(len(net.nodes) - 1, REACHED)
    _reach(net, weight, start, end, reached)
    return _trail(reached, start, end)


@lru_cache(maxsize=256)
def delays_to(terrain: Terrain, end: int) -> Floats:
    """The least delay from every node to the end; infinite where there is no path."""
    return np.asarray(_distances(terrain.net, terrain.arc_delay_ms, end))


@kernel
def _distances(net: Any, delay: Any, end: int) -> Any:
    reached = np.empty(len(net.nodes) - 1, REACHED)
    _reach(net, delay, end, -1, reached)
    delays = np.empty(len(reached))
    for u in range(len(reached)):
        delays[u] = reached[u].distance
    return delays


@kernel
def _reach(net: Any, weight: Any, start: int, end: int, reached: Any) -> None:
    """Fill in how nodes are reached from the start: all of them, or until the end is settled."""
    for u in range(len(reached)):
        reached[u].distance = np.inf
        reached[u].settled = False
    heap = np.empty(len(net.arcs) + 2, np.int64)
    reached[start].distance = 0.0
    length = push(heap, 0, key_of(0.0, start))
    while length and (end < 0 or not reached[end].settled):
        u = pop(heap, length) & _NODE_BITS
        length -= 1
        if reached[u].settled:
            continue
        reached[u].settled = True
        if u != start and not net.nodes[u].transit:
            continue
        for arc in range(net.nodes[u].first, net.nodes[u + 1].first):
            v = net.arcs[arc].to
            further = reached[u].distance + weight[arc]
            if further < reached[v].distance:
                reached[v].distance = further
                reached[v].arc = arc
                reached[v].before = u
                length = push(heap, length, key_of(further, v))


@kernel
def _trail(reached: Any, start: int, end: int) -> Any:
    """The arcs from start to end; none if the end was not reached."""
    if not reached[end].settled:
        return np.empty(0, np.int64)
    hops, at = 0, end
    while at != start:
        at = reached[at].before
        hops += 1
    arcs = np.empty(hops, np.int64)
    at = end
    while at != start:
        hops -= 1
        arcs[hops] = reached[at].arc
        at = reached[at].before
    return arcs
