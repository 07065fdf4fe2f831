"""Two failures at once: the second on top of the tree that the first has left.

Of a pair the one with more brokers below it fails first; the second then changes only what hangs
below it in the tree after the first. That is little, so a pair costs hardly more than it changes.
"""

from typing import Any

import numpy as np

from ropewalk.routing.ahead.patches import (
    PAIR_KINDS,
    add,
    draw,
    hop_of,
    matters,
    size_below,
    slot_of,
    split,
)
from ropewalk.routing.delta import fail, regrow, restore
from ropewalk.routing.kernels import kernel
from ropewalk.routing.trees import FAR, NOWHERE


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
            _second(net, to, asked, room, size, first[0], keys[i] % things, drawn, made)
            i += 1
        _unhang(room, size)
        restore(net, to, room.tree, size, links, brokers)


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
            restore(net, to, room.tree, size, some_links, some_brokers)
    return np.unique(keys[:n])


@kernel
def _pass(
    net: Any, to: int, asked: Any, room: Any, thing: int, size: int, old: bool, keys: Any, n: int
) -> Any:
    """Pair a thing with everything on the paths of the region: on the old, or on the new ones."""
    state, links, things = room.tree.state, len(asked.ends), len(room.first) - 1
    room.clock[0] += 1
    for i in range(size):
        u = np.int64(room.tree.region[i])
        while u != to and room.marks[u].passed != room.clock[0]:
            room.marks[u].passed = room.clock[0]
            v = state[u].old_hop if old else state[u].hop
            if v < 0:
                break
            link = np.int64(net.arcs[net.nodes[u].first + slot_of(net, u, v)].link)
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
    return asked.kinds[PAIR_KINDS + (low >= links) + 2 * (low < links <= high)]


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
def _second(
    net: Any, to: int, asked: Any, room: Any, size: int, first: int, thing: int, drawn: int, made: Any
) -> None:
    """Fail a thing after the first, note what differs from the single patches, put it up again."""
    tree, links = room.tree, len(asked.ends)
    if thing - links == to:
        return
    root = _root(asked, tree.state, thing, to)
    if thing < links:
        tree.cut[thing] = True
    else:
        tree.state[root].dead = True
        tree.through[root] = FAR
    stop = _below(room, root, size) if root >= 0 else size
    _forget(room, size, stop)
    regrow(net, tree, size, stop - size)
    _compare(net, to, asked, room, size, stop, first, thing, drawn, made)
    if thing < links:
        tree.cut[thing] = False
    else:
        tree.state[root].dead = False
    _remember(net, room, size, stop)


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
def _compare(
    net: Any,
    to: int,
    asked: Any,
    room: Any,
    start: int,
    stop: int,
    first: int,
    thing: int,
    drawn: int,
    made: Any,
) -> None:
    """Add what is not as the single patches say: below the second, or where its patch speaks."""
    state, marks, things = room.tree.state, room.marks, len(room.first) - 1
    key = min(first, thing) * things + max(first, thing)
    for i in range(room.first[thing], room.first[thing + 1]):
        word = np.int64(made.singles[i])
        at = word >> 44
        marks[at].hop_over = hop_of(net, at, word & 0xFFFFF)
        marks[at].drawn_over = room.clock[0]
        if marks[at].passed != room.clock[0] and not state[at].dead:
            if state[at].hop != _known(room, at, first < thing, drawn):
                add(net, to, key, at, state[at].hop, made)
    for i in range(start, stop):
        u = room.tree.region[i]
        if not state[u].dead and state[u].hop != _known(room, u, first < thing, drawn):
            add(net, to, key, u, state[u].hop, made)


@kernel
def _known(room: Any, u: int, first_on_top: bool, drawn: int) -> int:
    """The next hop by the single patches: the smaller thing's lies on top."""
    mark = room.marks[u]
    by_first, by_second = mark.drawn == drawn, mark.drawn_over == room.clock[0]
    if by_first and (first_on_top or not by_second):
        return int(mark.hop)
    return int(mark.hop_over) if by_second else int(room.tree.state[u].old_hop)
