"""Two failures at once: the second on top of the tree that the first has left.

Of a pair the one with more brokers below it fails first; the second then changes only what hangs
below it in the tree after the first. That is little, so a pair costs hardly more than it changes.
"""

from typing import Any, NamedTuple

import numpy as np

from ropewalk.kernels import kernel
from ropewalk.routing.ahead.patches import (
    AT,
    PAIR_KINDS,
    SLOT,
    add,
    draw,
    hop_of,
    matters,
    size_below,
    slot_of,
    split,
)
from ropewalk.routing.delta import fail, regrow, restore
from ropewalk.routing.trees import FAR, NOWHERE


class Pair(NamedTuple):
    """Two things in the order in which they fail.

    `drawn` is when the patch of the first was drawn, `size` that of its region.
    """

    first: int
    second: int
    drawn: int
    size: int


@kernel
def pairs(net: Any, to: int, asked: Any, room: Any, made: Any) -> None:
    """What every pair changes beyond its two single patches, towards one destination."""
    things = len(room.first) - 1
    keys = _partners(net, to, asked, room)
    i = 0
    while i < len(keys):
        first = np.array([keys[i] // things])
        links, brokers = split(first, len(asked.ends))
        size, _ = fail(net, to, room.tree, asked.ends, links, brokers)
        _hang(room, size)
        room.clock[0] += 1
        draw(net, room, made, first[0])
        drawn = room.clock[0]
        while i < len(keys) and keys[i] // things == first[0]:
            pair = Pair(first[0], keys[i] % things, drawn, size)
            _second(net, to, asked, room, pair, made)
            i += 1
        _unhang(room, size)
        restore(room.tree, size, links, brokers)


@kernel
def _partners(net: Any, to: int, asked: Any, room: Any) -> Any:
    """Pairs that may change more than their parts do, as `first to fail * things + second`.

    Both lie on one base path, or one lies on a path that the other's failure brings about. With
    any other pair, every path that is taken after one of them failed survives the other.
    """
    links, things = len(asked.ends), len(room.first) - 1
    keys, n = np.empty(4096, np.int64), 0
    thing = np.empty(1, np.int64)
    for number in range(things):
        own = asked.kinds[PAIR_KINDS if number < links else PAIR_KINDS + 1]
        if not (own or asked.kinds[PAIR_KINDS + 2]):
            continue
        if matters(asked, room.tree.state, number, to):
            thing[0] = number
            some_links, some_brokers = split(thing, links)
            size, _ = fail(net, to, room.tree, asked.ends, some_links, some_brokers)
            keys, n = _pass(net, to, asked, room, number, size, True, keys, n)
            keys, n = _pass(net, to, asked, room, number, size, False, keys, n)
            restore(room.tree, size, some_links, some_brokers)
    return np.unique(keys[:n])


@kernel
def _pass(
    net: Any, to: int, asked: Any, room: Any, thing: int, size: int, old: bool, keys: Any, n: int
) -> Any:
    """Pair a thing with everything on the paths of the region: on the old, or on the new ones."""
    state, links, things = room.tree.state, len(asked.ends), len(room.first) - 1
    room.clock[0] += 1
    for i in range(size):
        u: Any = np.int64(room.tree.region[i])
        while u != to and room.marks[u].passed != room.clock[0]:
            room.marks[u].passed = room.clock[0]
            v = state[u].old_hop if old else state[u].hop
            if v < 0:
                break
            link: Any = np.int64(net.arcs[net.nodes[u].first + slot_of(net, u, v)].link)
            for other in (link, links + u):
                if _is_asked(asked, thing, other):
                    if n == len(keys):
                        keys = _longer(keys)
                    keys[n] = _key(asked, state, thing, other, to, things)
                    n += 1
            u = np.int64(v)
    return keys, n


@kernel
def _is_asked(asked: Any, one: int, other: int) -> bool:
    """Whether a pair is of a kind that is asked for; a broker and its own link are none."""
    links, low, high = len(asked.ends), min(one, other), max(one, other)
    if low == high or (low < links <= high and high - links in asked.ends[low]):
        return False
    return bool(asked.kinds[PAIR_KINDS + (low >= links) + 2 * (low < links <= high)])


@kernel
def _key(asked: Any, state: Any, one: int, other: int, to: int, things: int) -> int:
    a, b = size_below(asked, state, one, to), size_below(asked, state, other, to)
    first_is_one = a > b or (a == b and one < other)
    return one * things + other if first_is_one else other * things + one


@kernel
def _longer(keys: Any) -> Any:
    more = np.empty(2 * len(keys), np.int64)
    for i in range(len(keys)):
        more[i] = keys[i]
    return more


@kernel
def _hang(room: Any, size: int) -> None:
    """List the children of every broker that something of the region hangs below now."""
    marks = room.marks
    for i in range(size):
        u = room.tree.region[i]
        above = room.tree.state[u].hop
        if above >= 0:
            marks[u].sibling = marks[above].child
            marks[above].child = u


@kernel
def _unhang(room: Any, size: int) -> None:
    for i in range(size):
        above = room.tree.state[room.tree.region[i]].hop
        if above >= 0:
            room.marks[above].child = NOWHERE


@kernel
def _root(asked: Any, state: Any, thing: int, to: int) -> int:
    """The broker below a thing in the tree as it is now; nowhere for a link that is not in it."""
    links = len(asked.ends)
    if thing >= links:
        return int(thing - links)
    a, b = asked.ends[thing, 0], asked.ends[thing, 1]
    if state[a].hop == b and a != to:
        return int(a)
    return int(b) if state[b].hop == a and b != to else NOWHERE


@kernel
def _below(room: Any, root: int, start: int) -> int:
    """List all that hangs below a broker now, after the first region; returns where it ends."""
    state, region, stop = room.tree.state, room.tree.region, start
    if state[root].inside:
        region[stop] = root
        stop += 1
    else:
        for i in range(state[root].place, state[root].place + state[root].size):
            if not state[state[i].slot].inside:
                region[stop] = state[i].slot
                stop += 1
    at = start
    while at < stop:
        child = room.marks[region[at]].child
        while child >= 0:
            region[stop] = child
            stop += 1
            child = room.marks[child].sibling
        at += 1
    return stop


@kernel
def _second(net: Any, to: int, asked: Any, room: Any, pair: Any, made: Any) -> None:
    """Fail the second thing, note what differs from the single patches, put it up again."""
    tree, thing, start = room.tree, pair.second, pair.size
    broker = thing - len(asked.ends)
    if broker == to:
        return
    root = _root(asked, tree.state, thing, to)
    if broker < 0:
        tree.cut[thing] = True
    else:
        tree.state[broker].dead = True
        tree.through[broker] = FAR
    stop = _below(room, root, start) if root >= 0 else start
    _forget(room, start, stop)
    regrow(net, tree, start, stop - start)
    _compare(net, to, room, pair, stop, made)
    if broker < 0:
        tree.cut[thing] = False
    else:
        tree.state[broker].dead = False
    _remember(net, room, start, stop)


@kernel
def _forget(room: Any, start: int, stop: int) -> None:
    tree, marks = room.tree, room.marks
    room.clock[0] += 1
    for i in range(start, stop):
        u = tree.region[i]
        one = tree.state[u]
        marks[u].distance, marks[u].before, marks[u].inside = one.distance, one.hop, one.inside
        marks[u].passed = room.clock[0]
        one.distance, one.hop, one.inside = FAR, NOWHERE, True
        tree.through[u] = FAR


@kernel
def _remember(net: Any, room: Any, start: int, stop: int) -> None:
    tree, marks = room.tree, room.marks
    for i in range(start, stop):
        u = tree.region[i]
        one = tree.state[u]
        one.distance, one.hop, one.inside = marks[u].distance, marks[u].before, marks[u].inside
        tree.through[u] = one.distance if net.nodes[u].transit else FAR


@kernel
def _compare(net: Any, to: int, room: Any, pair: Any, stop: int, made: Any) -> None:
    """Add what is not as the single patches say: below the second, or where its patch speaks."""
    state, marks, things = room.tree.state, room.marks, len(room.first) - 1
    key = min(pair.first, pair.second) * things + max(pair.first, pair.second)
    for i in range(room.first[pair.second], room.first[pair.second + 1]):
        word: Any = np.int64(made.singles[i])
        at = word >> AT
        marks[at].hop_over = hop_of(net, at, word & SLOT)
        marks[at].drawn_over = room.clock[0]
        elsewhere = marks[at].passed != room.clock[0] and not state[at].dead
        if elsewhere and state[at].hop != _known(room, pair, at):
            add(net, to, key, at, state[at].hop, made)
    for i in range(pair.size, stop):
        u = room.tree.region[i]
        if not state[u].dead and state[u].hop != _known(room, pair, u):
            add(net, to, key, u, state[u].hop, made)


@kernel
def _known(room: Any, pair: Any, u: int) -> int:
    """The next hop by the single patches: the smaller thing's lies on top."""
    mark = room.marks[u]
    by_first, by_second = mark.drawn == pair.drawn, mark.drawn_over == room.clock[0]
    if by_first and (pair.first < pair.second or not by_second):
        return int(mark.hop)
    return int(mark.hop_over) if by_second else int(room.tree.state[u].old_hop)
