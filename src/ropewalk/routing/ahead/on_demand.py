"""The row of one broker for any failure, when it is needed: for sets that no patch was made for.

A search from each neighbour in the damaged graph; next is the one with the smallest sum, of
several the first. That is the canonical next hop, since costs are the same both ways.

Between few brokers the search is done in Python, in a millisecond or two: an agent that needs such
a row is amid a failure, and to load the kernels would hold it up for a second.
"""

from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import pairwise
from typing import Any

import numpy as np

from ropewalk.federation.arrays import Bools, Ints
from ropewalk.kernels import kernel
from ropewalk.routing.scenarios import Down
from ropewalk.routing.trees import FAR, MOST_BROKERS, NOWHERE, Net, pop, push

FEW = 256
"""So many brokers at most are searched in Python."""


@kernel
def _search(net: Any, start: int, cut: Any, dead: Any, distance: Any, heap: Any) -> None:
    """Distances from a broker over what is up."""
    for u in range(len(distance)):
        distance[u] = FAR
    distance[start] = 0
    length = push(heap, 0, start)
    while length:
        key = pop(heap, length)
        length -= 1
        v = key & (MOST_BROKERS - 1)
        if key >> 20 > distance[v] or (v != start and not net.nodes[v].transit):
            continue
        for arc in range(net.nodes[v].first, net.nodes[v + 1].first):
            u, further = net.arcs[arc].to, distance[v] + net.arcs[arc].cost
            if further < distance[u] and not cut[net.arcs[arc].link] and not dead[u]:
                distance[u] = further
                length = push(heap, length, (further << 20) | u)


@kernel
def _fill(net: Any, at: int, cut: Any, dead: Any, row: Any) -> None:
    brokers = len(row)
    best, distance = np.empty(brokers, np.int64), np.empty(brokers, np.int64)
    heap = np.empty(len(net.arcs) + 2, np.int64)
    for to in range(brokers):
        best[to] = FAR
    for arc in range(net.nodes[at].first, net.nodes[at + 1].first):
        v, cost = net.arcs[arc].to, net.arcs[arc].cost
        if cut[net.arcs[arc].link] or dead[v]:
            continue
        if net.nodes[v].transit:
            _search(net, v, cut, dead, distance, heap)
        for to in range(brokers):
            # What carries no transit is next for nothing but itself.
            through = distance[to] if net.nodes[v].transit else 0 if to == v else FAR
            if through + cost < best[to]:
                best[to] = through + cost
                row[to] = v


def _fill_plainly(net: Net, at: int, cut: Bools, dead: Bools, row: Ints) -> None:
    """`_fill`, in Python."""
    first, transit = net.nodes["first"].tolist(), net.nodes["transit"].tolist()
    arcs, gone, out = net.arcs.tolist(), cut.tolist(), dead.tolist()
    ways = [
        [(to, cost) for to, link, cost in arcs[start:stop] if not gone[link] and not out[to]]
        for start, stop in pairwise(first)
    ]
    best = [FAR] * len(row)
    for v, cost in ways[at]:
        through = _distances(ways, transit, v) if transit[v] else {v: 0}
        for to, further in through.items():
            if further + cost < best[to]:
                best[to] = further + cost
                row[to] = v


def _distances(
    ways: Sequence[Sequence[tuple[int, int]]], transit: Sequence[bool], start: int
) -> dict[int, int]:
    """`_search`, in Python."""
    found: dict[int, int] = {}
    heap = [(0, start)]
    while heap:
        distance, v = heappop(heap)
        if v in found:
            continue
        found[v] = distance
        if v == start or transit[v]:
            for u, cost in ways[v]:
                if u not in found:
                    heappush(heap, (distance + cost, u))
    return found


def row_after(net: Net, links: int, at: int, down: Down) -> Ints:
    """A broker's next hops with these links and brokers down; -1 for nowhere.

    >>> from ropewalk import generate
    >>> from ropewalk.routing.trees import net_of
    >>> graph = generate("six-broker").graph
    >>> row_after(net_of(graph), graph.links, 1, Down(brokers=(3,))).tolist()
    [0, 1, 2, -1, -1, -1]
    """
    cut, dead = np.zeros(links + 1, np.bool_), _marked(len(net.nodes) - 1, down.brokers)
    cut[list(down.links)] = True
    row = np.full(len(dead), NOWHERE, np.int32)
    if not dead[at]:
        fill = _fill_plainly if len(row) <= FEW else _fill
        fill(net, at, cut, dead, row)
        row[at] = at
    return row


def _marked(length: int, numbers: tuple[int, ...]) -> Bools:
    marks = np.zeros(length, np.bool_)
    marks[list(numbers)] = True
    return marks
