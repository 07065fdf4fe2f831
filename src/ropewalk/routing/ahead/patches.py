"""What each failure changes in every broker's table, and nothing else.

A patch holds the entries whose next hop differs from what is known without it: for a single thing
from the base table; for a set from its single patches laid over each other, the one with the
smallest number on top. So the patch of two links that have nothing to do with each other is
empty, and those of pairs hang below those of their parts, as in a trie.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ropewalk.federation.arrays import Bools, Ints
from ropewalk.kernels import kernel
from ropewalk.routing.delta import Tree, fail, restore, tree_room
from ropewalk.routing.trees import NOWHERE, Longs, Records, arc_between

Words = npt.NDArray[np.uint64]

PAIR_KINDS = 2
"""In `kinds`: single links, single brokers, then pairs of links, of brokers, of one of each."""

AT, THING = 44, 20
SLOT = (1 << THING) - 1
"""A single thing's change is one word: at (20 bits), thing (24), slot (20)."""

SET_CHANGE = np.dtype([("key", "i8"), ("to", "i4"), ("at", "i4"), ("slot", "i4")], align=True)
"""In the failure of the set `key` messages at `at` for `to` go to its neighbour `slot`."""


class Asked(NamedTuple):
    """Which failures: single things by kind, pairs by kinds, and chosen sets of any size.

    The key of a pair is `first * things + second`; those of chosen sets follow after all pairs.
    """

    ends: Ints
    kinds: Bools
    first: Ints
    chosen: Ints


MARKS = np.dtype(
    [
        ("passed", "i8"),
        ("drawn", "i8"),
        ("drawn_over", "i8"),
        ("distance", "i8"),
        ("hop", "i4"),
        ("hop_over", "i4"),
        ("before", "i4"),
        ("child", "i4"),
        ("sibling", "i4"),
        ("inside", "?"),
    ],
    align=True,
)
"""What is noted of a broker. `passed` and `drawn` count only if they bear the time of now, so that
none need be wiped off; `distance`, `before` and `inside` keep what a second failure changes."""


class Scratch(NamedTuple):
    """Room of one thread: the tree, where each thing's changes start, and notes on brokers."""

    tree: Tree
    first: Longs
    marks: Records
    clock: Longs


class Made(NamedTuple):
    """Changes so far; what finds no room is counted only, and is made again with more.

    Those of single things towards one destination stand together: `ends` says where they end.
    """

    singles: Words
    sets: Records
    ends: Longs
    length: Longs


def scratch(brokers: int, links: int) -> Scratch:
    """Room of one thread for a graph of so many brokers and links."""
    marks = np.zeros(brokers, MARKS)
    marks["child"] = NOWHERE
    first = np.zeros(brokers + links + 1, np.int64)
    return Scratch(tree_room(brokers, links), first, marks, np.zeros(1, np.int64))


@kernel
def slot_of(net: Any, at: int, hop: int) -> int:
    """Which neighbour of a broker a next hop is; one past the last for none."""
    arc = arc_between(net, at, hop)
    return int((net.nodes[at + 1].first if arc == NOWHERE else arc) - net.nodes[at].first)


@kernel
def hop_of(net: Any, at: int, slot: int) -> int:
    """The neighbour behind a slot, or nowhere."""
    arc = net.nodes[at].first + slot
    return int(net.arcs[arc].to) if arc < net.nodes[at + 1].first else NOWHERE


@kernel
def split(things: Any, links: int) -> Any:
    """Things as a list of links and a list of brokers."""
    some_links, some_brokers = np.empty(len(things), np.int64), np.empty(len(things), np.int64)
    a = b = 0
    for thing in things:
        if thing < links:
            some_links[a] = thing
            a += 1
        else:
            some_brokers[b] = thing - links
            b += 1
    return some_links[:a], some_brokers[:b]


@kernel
def size_below(asked: Any, state: Any, thing: int, to: int) -> int:
    """How many brokers send through a thing to a broker; a broker itself is counted in."""
    links = len(asked.ends)
    if thing >= links:
        return int(state[thing - links].size)
    a, b = asked.ends[thing, 0], asked.ends[thing, 1]
    if state[a].old_hop == b and a != to:
        return int(state[a].size)
    return int(state[b].size) if state[b].old_hop == a and b != to else 0


@kernel
def matters(asked: Any, state: Any, thing: int, to: int) -> bool:
    """Whether a thing is on anybody's way to a broker, and is not that broker itself."""
    alone = 0 if thing < len(asked.ends) else 1
    return thing - len(asked.ends) != to and size_below(asked, state, thing, to) > alone


@kernel
def _single(
    net: Any, to: int, asked: Any, room: Any, thing: int, links: Any, brokers: Any, made: Any
) -> None:
    """The changes of one thing, given as a list of links and one of brokers."""
    state, length = room.tree.state, made.length[0]
    size, _ = fail(net, to, room.tree, asked.ends, links, brokers)
    for i in range(size):
        u = room.tree.region[i]
        if state[u].hop != state[u].old_hop and not state[u].dead:
            if length < len(made.singles):
                slot = slot_of(net, u, state[u].hop)
                made.singles[length] = (u << AT) | (thing << THING) | slot
            length += 1
    made.length[0] = length
    restore(room.tree, size, links, brokers)


@kernel
def singles(net: Any, to: int, asked: Any, room: Any, made: Any) -> None:
    """The changes of every single thing towards one destination, whose tree is planted."""
    links, brokers = len(asked.ends), len(room.tree.state)
    one = np.empty(1, np.int64)
    none = one[:0]
    for thing in range(links + brokers):
        room.first[thing] = made.length[0]
        wanted = asked.kinds[0] if thing < links else asked.kinds[1]
        if not wanted or not matters(asked, room.tree.state, thing, to):
            continue
        if thing < links:
            one[0] = thing
            _single(net, to, asked, room, thing, one, none, made)
        else:
            one[0] = thing - links
            _single(net, to, asked, room, thing, none, one, made)
    room.first[links + brokers] = made.length[0]


@kernel
def draw(net: Any, room: Any, made: Any, thing: int) -> None:
    """Lay the patch of a thing over what is drawn."""
    for i in range(room.first[thing], room.first[thing + 1]):
        word: Any = np.int64(made.singles[i])
        at = word >> AT
        room.marks[at].hop = hop_of(net, at, word & SLOT)
        room.marks[at].drawn = room.clock[0]


@kernel
def add(net: Any, to: int, key: int, at: int, hop: int, made: Any) -> None:
    """Note what a set changes."""
    length = made.length[1]
    if length < len(made.sets):
        one = made.sets[length]
        one.key, one.to, one.at, one.slot = key, to, at, slot_of(net, at, hop)
    made.length[1] = length + 1


@kernel
def chosen(net: Any, to: int, asked: Any, room: Any, k: int, made: Any) -> None:
    """What a chosen set changes beyond its single patches."""
    things = asked.chosen[asked.first[k] : asked.first[k + 1]]
    links, brokers = split(things, len(asked.ends))
    for b in brokers:
        if b == to:
            return  # nothing is sent to a dead broker
    room.clock[0] += 1
    for i in range(len(things) - 1, -1, -1):
        draw(net, room, made, things[i])
    state, total = room.tree.state, len(room.first) - 1
    size, _ = fail(net, to, room.tree, asked.ends, links, brokers)
    for i in range(size):
        u = room.tree.region[i]
        drawn = room.marks[u].drawn == room.clock[0]
        known = room.marks[u].hop if drawn else state[u].old_hop
        if state[u].hop != known and not state[u].dead:
            add(net, to, total * total + k, u, state[u].hop, made)
    restore(room.tree, size, links, brokers)
