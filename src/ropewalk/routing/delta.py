"""What a failure changes in a tree of shortest paths, and nothing else.

With canonical next hops a failed link or broker changes the entry of u only if it lies on u's
path in the tree. So only the subtrees below what failed are grown again, from the distances at
their border. The work is the size of those subtrees: over all single links, the sum of the depths.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ropewalk.federation.arrays import Ints
from ropewalk.kernels import kernel
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

    `state` holds distances and hops after `fail`, until `restore` puts the region back; `through`
    the distance of whatever may be a next hop and is settled, else FAR: all that its neighbours
    ask for, so that it is kept small and together (`old_through`: with everything up). `region`
    lists what was regrown, with room for a second failure; `cut` says which links are down.
    """

    state: Records
    through: Longs
    old_through: Longs
    region: Ints
    heap: Longs
    cut: npt.NDArray[np.bool_]


def tree_room(brokers: int, links: int) -> Tree:
    """Room for a tree of so many brokers in a graph of so many links."""
    return Tree(
        np.zeros(brokers, STATE),
        np.zeros(brokers, np.int64),
        np.zeros(brokers, np.int64),
        np.zeros(2 * brokers, np.int32),
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
        tree.old_through[u] = state[u].distance if u == to or net.nodes[u].transit else FAR
        tree.through[u] = tree.old_through[u]


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
        tree.through[b] = FAR
    size = _collect(state, to, ends, links, brokers, tree.region)
    for i in range(size):
        u = tree.region[i]
        state[u].distance = FAR
        state[u].hop = NOWHERE
        tree.through[u] = FAR
    return size, regrow(net, tree, 0, size)


@kernel
def restore(tree: Any, size: int, links: Any, brokers: Any) -> None:
    """Put everything up again."""
    state = tree.state
    for e in links:
        tree.cut[e] = False
    for i in range(size):
        u = tree.region[i]
        state[u].distance = state[u].old_distance
        state[u].hop = state[u].old_hop
        state[u].inside = False
        tree.through[u] = tree.old_through[u]
    for b in brokers:
        state[b].dead = False
        tree.through[b] = tree.old_through[b]


@kernel
def _collect(state: Any, to: int, ends: Any, links: Any, brokers: Any, region: Any) -> int:
    """Everything below the failed parts, as the region."""
    size = 0
    for e in links:
        a, b = ends[e, 0], ends[e, 1]
        if state[a].old_hop == b and a != to:
            size = _take(state, a, region, size)
        elif state[b].old_hop == a and b != to:
            size = _take(state, b, region, size)
    for b in brokers:
        if b != to:
            size = _take(state, b, region, size)
    return size


@kernel
def _take(state: Any, root: int, region: Any, size: int) -> int:
    start = state[root].place
    for i in range(start, start + state[root].size):
        u = state[i].slot
        if not state[u].inside:
            state[u].inside = True
            region[size] = u
            size += 1
    return size


@kernel
def regrow(net: Any, tree: Any, start: int, size: int) -> int:
    """Distances inside the region from those at its border, then next hops.

    The region is a part of the list, all of it marked as inside and without distances.
    """
    state, through, cut, length = tree.state, tree.through, tree.cut, 0
    if size == 1:
        return _regrow_one(net, state, through, cut, tree.region[start])
    for i in range(start, start + size):
        u = tree.region[i]
        if state[u].dead:
            continue
        best = FAR
        for arc in range(net.nodes[u].first, net.nodes[u + 1].first):
            further = through[net.arcs[arc].to] + net.arcs[arc].cost
            if further < best and not cut[net.arcs[arc].link]:
                best = further
        if best < FAR:
            state[u].distance = best
            length = push(tree.heap, length, (best << 20) | u)
    return _settle(net, state, through, tree.heap, cut, length)


@kernel
def _regrow_one(net: Any, state: Any, through: Any, cut: Any, u: int) -> int:
    """A region of one broker, which half of all failures leave: its best neighbour is next."""
    best, hop = FAR, NOWHERE
    for arc in range(net.nodes[u].first, net.nodes[u + 1].first):
        further = through[net.arcs[arc].to] + net.arcs[arc].cost
        if further < best and not cut[net.arcs[arc].link]:
            best, hop = further, net.arcs[arc].to
    if hop == NOWHERE or state[u].dead:
        return 0
    state[u].distance, state[u].hop = best, hop
    if net.nodes[u].transit:
        through[u] = best
    state[0].settled = u
    return 1


@kernel
def _settle(net: Any, state: Any, through: Any, heap: Any, cut: Any, length: int) -> int:
    settled = 0
    while length:
        key = pop(heap, length)
        length -= 1
        v = key & (MOST_BROKERS - 1)
        here = key >> 20
        if here > state[v].distance:
            continue
        state[settled].settled = v
        settled += 1
        hop, carries = NOWHERE, net.nodes[v].transit
        for arc in range(net.nodes[v].first, net.nodes[v + 1].first):
            u, cost = net.arcs[arc].to, net.arcs[arc].cost
            there = through[u]
            if there + cost == here:
                # Neighbours come in ascending order: the first that fits is the canonical one.
                if hop == NOWHERE and not cut[net.arcs[arc].link]:
                    hop = u
                continue
            if not carries or there <= here + cost:
                continue  # what is settled lies no further away than this
            open_to = state[u].inside and not state[u].dead and not cut[net.arcs[arc].link]
            if open_to and here + cost < state[u].distance:
                state[u].distance = here + cost
                length = push(heap, length, ((here + cost) << 20) | u)
        state[v].hop = hop
        if carries:
            through[v] = here
    return settled
