"""What a failure changes in a tree of shortest paths, and nothing else.

With canonical next hops a failed link or broker changes the entry of u only if it lies on u's
path in the tree. So only the subtrees below what failed are grown again, from the distances at
their border. The work is the size of those subtrees: over all single links, the sum of the depths.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ropewalk.routing.kernels import kernel
from ropewalk.routing.trees import (
    FAR,
    MOST_BROKERS,
    NOWHERE,
    STATE,
    Longs,
    Records,
    grow,
    lay_out,
    pop,
    push,
)


class Tree(NamedTuple):
    """The tree to one broker, laid out so that subtrees are slices, with room for what changes.

    `state` holds distances and hops after `fail`, until `restore` puts the region back; `cut` says
    which links are down.
    """

    state: Records
    heap: Longs
    cut: npt.NDArray[np.bool_]


def tree_room(brokers: int, links: int) -> Tree:
    """Room for a tree of so many brokers in a graph of so many links."""
    return Tree(
        np.zeros(brokers, STATE),
        np.zeros(2 * links + brokers + 2, np.int64),
        np.zeros(links + 1, np.bool_),
    )


@kernel
def plant(net: Any, to: int, tree: Any) -> None:
    """Grow the tree to a broker with everything up, ready for failures."""
    state = tree.state
    lay_out(state, grow(net, to, state, tree.heap))
    for u in range(len(state)):
        state[u].old_distance = state[u].distance
        state[u].old_hop = state[u].hop


@kernel
def fail(net: Any, to: int, tree: Any, ends: Any, links: Any, brokers: Any) -> tuple[int, int]:
    """Take links and brokers down; returns the sizes of the region and of what is reached in it.

    The region is what lay below them. Afterwards distances and hops are those of the damaged
    graph; `settled` lists what of the region is still connected, by distance.
    """
    state = tree.state
    for e in links:
        tree.cut[e] = True
    for b in brokers:
        state[b].dead = True
    size = _collect(state, to, ends, links, brokers)
    if size == 0:
        return 0, 0
    for i in range(size):
        u = state[i].region
        state[u].distance = FAR
        state[u].hop = NOWHERE
    return size, _regrow(net, to, state, tree.heap, tree.cut, size)


@kernel
def restore(tree: Any, size: int, links: Any, brokers: Any) -> None:
    """Put everything up again."""
    state = tree.state
    for e in links:
        tree.cut[e] = False
    for b in brokers:
        state[b].dead = False
    for i in range(size):
        u = state[i].region
        state[u].distance = state[u].old_distance
        state[u].hop = state[u].old_hop
        state[u].inside = False


@kernel
def _collect(state: Any, to: int, ends: Any, links: Any, brokers: Any) -> int:
    """Everything below the failed parts, as the region."""
    size = 0
    for e in links:
        a, b = ends[e, 0], ends[e, 1]
        if state[a].old_hop == b and a != to:
            size = _take(state, a, size)
        elif state[b].old_hop == a and b != to:
            size = _take(state, b, size)
    for b in brokers:
        if b != to:
            size = _take(state, b, size)
    return size


@kernel
def _take(state: Any, root: int, size: int) -> int:
    start = state[root].place
    for i in range(start, start + state[root].size):
        u = state[i].slot
        if not state[u].inside:
            state[u].inside = True
            state[size].region = u
            size += 1
    return size


@kernel
def _regrow(net: Any, to: int, state: Any, heap: Any, cut: Any, size: int) -> int:
    """Distances inside the region from those at its border, then next hops."""
    length = 0
    for i in range(size):
        u = state[i].region
        if state[u].dead:
            continue
        best = FAR
        for arc in range(net.nodes[u].first, net.nodes[u + 1].first):
            v = net.arcs[arc].to
            if state[v].inside or state[v].dead or cut[net.arcs[arc].link]:
                continue
            if (v == to or net.nodes[v].transit) and state[v].distance < FAR:
                best = min(best, state[v].distance + net.arcs[arc].cost)
        if best < FAR:
            state[u].distance = best
            length = push(heap, length, (best << 20) | u)
    return _settle(net, to, state, heap, cut, length)


@kernel
def _settle(net: Any, to: int, state: Any, heap: Any, cut: Any, length: int) -> int:
    settled = 0
    while length:
        key = pop(heap, length)
        length -= 1
        v = key & (MOST_BROKERS - 1)
        if key >> 20 > state[v].distance:
            continue
        state[settled].settled = v
        settled += 1
        here, carries = state[v].distance, net.nodes[v].transit
        for arc in range(net.nodes[v].first, net.nodes[v + 1].first):
            u = net.arcs[arc].to
            if cut[net.arcs[arc].link] or state[u].dead:
                continue
            there, cost = state[u].distance, net.arcs[arc].cost
            if there + cost == here:
                # Neighbours come in ascending order: the first that fits is the canonical one.
                if state[v].hop == NOWHERE and (u == to or net.nodes[u].transit):
                    state[v].hop = u
            elif carries and state[u].inside and here + cost < there:
                state[u].distance = here + cost
                length = push(heap, length, ((here + cost) << 20) | u)
    return settled
