"""The tree of shortest paths to a broker, with canonical next hops.

Canonical: the smallest sum of costs, then the neighbour with the smallest number. So the tree is
the same whoever computes it, and a failed link changes only what lies below it in the tree.
Brokers that carry no transit (edges of a domain) start and end paths but are never on the way.
"""

from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ropewalk.errors import UsageError
from ropewalk.federation.arrays import Graph
from ropewalk.kernels import kernel

FAR = np.int64(2**60)
"""The distance of a broker that has no path."""
NOWHERE = -1
"""The next hop where there is none."""
MOST_BROKERS = 2**20
"""A heap entry holds a broker's number in its last 20 bits, and the distance above."""

Longs = npt.NDArray[np.int64]


Records = npt.NDArray[np.void]
"""An array of records: kernels take few arrays, since each costs time at every call."""

NODE = np.dtype([("first", "i4"), ("domain", "i4"), ("name", "u8"), ("transit", "?")], align=True)
ARC = np.dtype([("to", "i4"), ("link", "i4"), ("cost", "i4")], align=True)


class Net(NamedTuple):
    """A graph as the kernels take it: the arcs of u are `arcs[nodes[u].first:nodes[u + 1].first]`.

    There is one node more than there are brokers. A node's `name` depends on its name alone.
    """

    nodes: Records
    arcs: Records
    uniform: bool


STATE = np.dtype(
    [
        ("distance", "i8"),
        ("old_distance", "i8"),
        ("hop", "i4"),
        ("old_hop", "i4"),
        ("place", "i4"),
        ("size", "i4"),
        ("slot", "i4"),
        ("order", "i4"),
        ("settled", "i4"),
        ("row", "i4"),
        ("path", "i4"),
        ("inside", "?"),
        ("dead", "?"),
        ("covered", "?"),
    ],
    align=True,
)
"""What is known of a broker while one destination is looked at.

`slot`, `order`, `settled` and `path` are lists of brokers: they do not belong to the
broker in whose record they stand. `row`, `path` and `covered` are for who needs them.
"""


def net_of(graph: Graph) -> Net:
    """The arrays of a graph in the form that the kernels take."""
    if graph.brokers > MOST_BROKERS:
        raise UsageError(f"{graph.brokers:,} brokers are too many (at most {MOST_BROKERS:,})")
    nodes = np.zeros(graph.brokers + 1, NODE)
    nodes["first"] = graph.first
    nodes["domain"][:-1], nodes["transit"][:-1] = graph.domain, graph.transit
    nodes["name"][:-1] = [_print_of(name) for name in graph.names]
    arcs = np.zeros(len(graph.neighbour), ARC)
    arcs["to"], arcs["link"], arcs["cost"] = graph.neighbour, graph.link, graph.cost[graph.link]
    return Net(nodes, arcs, bool((graph.cost == graph.cost[:1]).all()))


def _print_of(name: str) -> int:
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big")


@kernel
def arc_between(net: Any, u: int, v: int) -> Any:
    """The arc from a broker to a neighbour, or -1 for none."""
    low, high = net.nodes[u].first, net.nodes[u + 1].first
    while low < high:
        middle = (low + high) >> 1
        if net.arcs[middle].to < v:
            low = middle + 1
        else:
            high = middle
    if low < net.nodes[u + 1].first and net.arcs[low].to == v:
        return low
    return NOWHERE


@kernel
def push(heap: Any, length: int, key: int) -> int:
    """Put a key on a binary heap of so many keys; returns how many there are now."""
    at = length
    while at > 0:
        above = (at - 1) >> 1
        if heap[above] <= key:
            break
        heap[at] = heap[above]
        at = above
    heap[at] = key
    return length + 1


@kernel
def pop(heap: Any, length: int) -> Any:
    """Take the smallest key off a heap of so many keys; one fewer is left."""
    smallest, last = heap[0], heap[length - 1]
    length -= 1
    at = 0
    while True:
        below = 2 * at + 1
        if below >= length:
            break
        if below + 1 < length and heap[below + 1] < heap[below]:
            below += 1
        if heap[below] >= last:
            break
        heap[at] = heap[below]
        at = below
    heap[at] = last
    return smallest


@kernel
def grow(net: Any, to: int, state: Any, heap: Any) -> int:
    """Fill in distances and next hops to a broker; returns how many brokers reach it.

    `order` lists them by distance. The broker's own next hop is itself.
    """
    for u in range(len(state)):
        state[u].distance = FAR
        state[u].hop = NOWHERE
    state[to].distance = 0
    state[to].hop = to
    state[0].order = to
    if net.uniform:
        return _grow_by_steps(net, to, state)
    return _grow_by_cost(net, to, state, heap)


@kernel
def _grow_by_steps(net: Any, to: int, state: Any) -> int:
    step = net.arcs[0].cost if len(net.arcs) else 1
    reached, at = 1, 0
    while at < reached:
        v = state[at].order
        at += 1
        if v != to and not net.nodes[v].transit:
            continue
        further = state[v].distance + step
        for arc in range(net.nodes[v].first, net.nodes[v + 1].first):
            u = net.arcs[arc].to
            if state[u].distance > further:
                state[u].distance = further
                state[u].hop = v
                state[reached].order = u
                reached += 1
            elif state[u].distance == further and v < state[u].hop:
                state[u].hop = v
    return reached


@kernel
def _grow_by_cost(net: Any, to: int, state: Any, heap: Any) -> int:
    length = push(heap, 0, to)
    reached = 0
    while length:
        key = pop(heap, length)
        length -= 1
        v = key & (MOST_BROKERS - 1)
        if key >> 20 > state[v].distance:
            continue  # a shorter way was found after this one was noted
        state[reached].order = v
        reached += 1
        if v != to and not net.nodes[v].transit:
            continue
        for arc in range(net.nodes[v].first, net.nodes[v + 1].first):
            u = net.arcs[arc].to
            further = state[v].distance + net.arcs[arc].cost
            if further < state[u].distance:
                state[u].distance = further
                state[u].hop = v
                length = push(heap, length, (further << 20) | u)
            elif further == state[u].distance and v < state[u].hop:
                state[u].hop = v
    return reached


@kernel
def fill_rows(net: Any, start: int, stop: int, rows: Any, base: int = 0) -> None:
    """Next hops to the brokers `start` to `stop`, a row for each, counted from `base` on."""
    if net.uniform:
        for block in range(start, stop, 64):
            _fill_by_levels(net, block, min(block + 64, stop), rows, base)
        return
    brokers = len(net.nodes) - 1
    state = np.empty(brokers, STATE)
    heap = np.empty(len(net.arcs) + 2, np.int64)
    for to in range(start, stop):
        grow(net, to, state, heap)
        for u in range(brokers):
            rows[to - base, u] = state[u].hop


_SEQUENCE = 0x03F79D71B4CB0A89
_PLACE = np.zeros(64, np.uint8)
for _bit in range(64):
    _PLACE[((_SEQUENCE << _bit) & (2**64 - 1)) >> 58] = _bit
"""The place of a single bit, by the top six bits of its product with a de Bruijn sequence."""


@kernel
def _fill_by_levels(net: Any, start: int, stop: int, rows: Any, base: int) -> None:
    """Trees to up to 64 brokers at once, a bit for each, level by level.

    A broker's neighbours are asked in ascending order, so the first that has a bit is the canonical
    next hop for it. An arc is looked at once per level, not once per tree.
    """
    brokers = len(net.nodes) - 1
    seen, edge = np.zeros(brokers, np.uint64), np.zeros(brokers, np.uint64)
    fresh = np.zeros(brokers, np.uint64)
    every = np.uint64(0)
    for to in range(start, stop):
        bit = np.uint64(1) << np.uint64(to - start)
        every |= bit
        seen[to] |= bit
        edge[to] |= bit
        rows[to - base, :] = NOWHERE
        rows[to - base, to] = to
    growing = True
    while growing:
        growing = False
        for u in range(brokers):
            wanted = every & ~seen[u]
            fresh[u] = 0
            if wanted == 0:
                continue
            for arc in range(net.nodes[u].first, net.nodes[u + 1].first):
                v = net.arcs[arc].to
                found = edge[v] & wanted
                wanted ^= found
                fresh[u] |= found
                while found:
                    lowest = found & (~found + np.uint64(1))
                    found ^= lowest
                    place = _PLACE[(lowest * np.uint64(_SEQUENCE)) >> np.uint64(58)]
                    rows[start - base + place, u] = v
        for u in range(brokers):
            seen[u] |= fresh[u]
            edge[u] = fresh[u] if net.nodes[u].transit else np.uint64(0)
            growing = growing or edge[u] != 0


@kernel
def lay_out(state: Any, reached: int) -> None:
    """Number a tree so that what lies below a broker is one slice.

    The subtree of u is the `slot` of `place` to `place + size` of u; a broker that is not reached
    has an empty one.
    """
    for u in range(len(state)):
        state[u].size = 0
        state[u].place = 0
    for i in range(reached - 1, -1, -1):
        u = state[i].order
        state[u].size += 1
        if i:
            state[state[u].hop].size += state[u].size
    for i in range(reached):
        u = state[i].order
        if i:
            above = state[u].hop
            state[u].place = state[above].path  # here: the next free place below a broker
            state[above].path += state[u].size
        state[u].path = state[u].place + 1
    for i in range(reached):
        u = state[i].order
        state[state[u].place].slot = u
