"""One destination under every scenario: what becomes of each message that is sent to it.

The tree of shortest paths is grown once; a scenario regrows only what it cuts off. Rows with
hand-made entries are judged whole, and only in scenarios that change them.
"""

from typing import Any, NamedTuple

import numpy as np

from ropewalk.federation.arrays import Bools, Ints
from ropewalk.kernels import kernel
from ropewalk.routing.delta import Tree, fail, plant, restore, tree_room
from ropewalk.routing.trees import FAR, Longs, Records
from ropewalk.verify.judge import (
    BLACK_HOLE,
    DELIVERED,
    FATE,
    LOOP,
    UTURN,
    judge,
    mixed,
    take_prints,
)
from ropewalk.verify.rows import changed, compose
from ropewalk.verify.verdicts import Verdict

TOO_LONG, LEAK, CUT = int(Verdict.TOO_LONG), int(Verdict.LEAK), int(Verdict.CUT)
UNTOUCHED, REGION, WHOLE = 0, 1, 2

ASKED = np.dtype(
    [("weight", "i8"), ("scenario", "i4"), ("group", "i4"), ("source", "i4"), ("local", "?")],
    align=True,
)
NOTE = np.dtype(
    [("print", "u8"), ("scenario", "i4"), ("asked", "i4"), ("verdict", "i4")], align=True
)


class Failures(NamedTuple):
    """Scenarios as the kernel takes them, and the other way round: those that a part is down in.

    `meant[w, k]`: entries of `when` w hold in scenario k.
    """

    ends: Ints
    first_link: Ints
    link: Ints
    first_broker: Ints
    broker: Ints
    meant: Bools
    first_of_link: Ints
    of_link: Ints
    first_of_broker: Ints
    of_broker: Ints


class Room(NamedTuple):
    """Scratch of one thread: the tree, a row of fates per group, and those of now."""

    tree: Tree
    fates: Records
    now: Records


class Log(NamedTuple):
    """What went wrong; `length` counts on when the log is full."""

    notes: Records
    length: Longs


def room_for(brokers: int, links: int, groups: int) -> Room:
    """Scratch for so many brokers, links and groups."""
    fates = np.zeros((groups, brokers), FATE)
    return Room(tree_room(brokers, links), fates, np.zeros(brokers, FATE))


@kernel
def _verdict(asked: Any, to: int, most_hops: int, state: Any, fates: Any) -> Any:
    u = asked.source
    if u == to:
        return DELIVERED
    fate = fates[u].fate
    if fate in (LOOP, UTURN):
        return fate  # also where nothing could be delivered: it need not go round for ever
    if state[u].distance >= FAR:
        return CUT
    if fate != DELIVERED:
        return fate
    if fates[u].hops > most_hops:
        return TOO_LONG
    return LEAK if asked.local and not fates[u].within else DELIVERED


@kernel
def _tested(asked: Any, low: int, high: int, to: int, state: Any, fates: Any) -> int:
    """How many paths of a group are no ends of others: what has to be tested (Jia 2014, 5.4)."""
    for u in range(len(state)):
        state[u].covered = False
    for i in range(low, high):
        u = asked[i].source
        if fates[u].fate != DELIVERED or u == to:
            continue
        u = state[u].row
        while u != to and not state[u].covered:
            state[u].covered = True
            u = state[u].row
    tested = 0
    for i in range(low, high):
        u = asked[i].source
        again = i > low and asked[i - 1].source == u
        if u != to and not again and not state[u].covered:
            tested += 1
    return tested


@kernel
def _judge_first(
    net: Any, to: int, rows: Any, meant: Any, asked: Any, first: Any, prints: bool, room: Any
) -> int:
    """Grow the tree and judge every group with nothing failed; returns the paths to be tested."""
    tree = room.tree
    plant(net, to, tree)
    tested = 0
    for group in range(len(rows.first) - 1):
        compose(net, rows, group, 0, meant, tree)
        fates = room.fates[group]
        judge(net, to, tree.state, fates)
        tested += _tested(asked, first[group], first[group + 1], to, tree.state, fates)
        if prints:
            take_prints(net, to, tree.state, fates)
    return tested


@kernel
def _follow_tree(net: Any, to: int, settled: int, size: int, tree: Any, old: Any, now: Any) -> None:
    """Fates in the regrown region, from the border inwards; the row is the computed one."""
    state = tree.state
    for i in range(size):
        now[tree.region[i]].fate = BLACK_HOLE
    for i in range(settled):
        u = state[i].settled
        v = state[u].hop
        above = now[v] if state[v].inside else old[v]
        now[u].fate = above.fate
        now[u].hops = above.hops + 1
        now[u].within = above.within and net.nodes[u].domain == net.nodes[to].domain
        now[u].print = mixed(above.print, net.nodes[u].name)


@kernel
def _judge_again(
    net: Any, to: int, rows: Any, group: int, k: int, meant: Any, size: int, prints: bool, room: Any
) -> int:
    """Fates of a group in scenario k where they are judged as a whole row, if anything changed."""
    given = len(rows.given) > 0
    if group == 0 and not given:
        return REGION if size else UNTOUCHED
    if not size and not given and not changed(rows, group, k, meant, room.tree):
        return UNTOUCHED
    compose(net, rows, group, k, meant, room.tree)
    judge(net, to, room.tree.state, room.now)
    if prints:
        take_prints(net, to, room.tree.state, room.now)
    return WHOLE


@kernel
def _note(log: Any, k: int, i: int, verdict: int, mark: int, everything: bool) -> None:
    if not everything and (verdict == DELIVERED or (verdict == CUT and k > 0)):
        return
    at = log.length[0]
    log.length[0] += 1
    if at < len(log.notes):
        note = log.notes[at]
        note.scenario, note.asked, note.verdict = k, i, verdict
        note.print = mark if verdict == DELIVERED else 0


@kernel
def _place(values: Any, low: int, high: int, wanted: int) -> int:
    """Where the sources of asked messages, ascending, reach the wanted one."""
    while low < high:
        middle = (low + high) >> 1
        if values[middle].source < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _leave(dead: bool, brokers: Any, asked: Any, first: Any, before: Any, counts: Any) -> None:
    """Do not count what dead brokers' clients send or get: they are gone, or have moved."""
    if dead:
        for i in range(len(before)):
            counts[before[i]] -= asked[i].weight
        return
    for group in range(len(first) - 1):
        low, high = first[group], first[group + 1]
        for b in brokers:
            start = _place(asked, low, high, b)
            for i in range(start, _place(asked, start, high, b + 1)):
                counts[before[i]] -= asked[i].weight


@kernel
def _starts(asked: Any, groups: int, first: Any) -> int:
    """Where each group starts among the messages asked in every scenario; returns their number."""
    stop = 0
    while stop < len(asked) and asked[stop].scenario < 0:
        stop += 1
    at = 0
    for group in range(groups + 1):
        while at < stop and asked[at].group < group:
            at += 1
        first[group] = at
    return stop


@kernel
def _mark(marked: Any, first: Any, scenario: Any, part: int) -> None:
    for i in range(first[part], first[part + 1]):
        marked[scenario[i]] = True


@kernel
def _that_matter(net: Any, to: int, failures: Any, asked: Any, stop: int, state: Any) -> Any:
    """Scenarios with a part on the computed path of anything asked, or with clients that moved.

    Each broker is passed once, so this costs what the paths have in brokers, not the scenarios.
    """
    marked = np.zeros(len(failures.first_link) - 1, np.bool_)
    for u in range(len(state)):
        state[u].covered = False
    _mark(marked, failures.first_of_broker, failures.of_broker, to)
    for i in range(stop):
        u = asked[i].source
        while u != to and not state[u].covered:
            state[u].covered = True
            _mark(marked, failures.first_of_broker, failures.of_broker, u)
            v = state[u].hop
            if v < 0:
                break
            for arc in range(net.nodes[u].first, net.nodes[u + 1].first):
                if net.arcs[arc].to == v:
                    _mark(marked, failures.first_of_link, failures.of_link, net.arcs[arc].link)
            u = v
    for i in range(stop, len(asked)):
        marked[asked[i].scenario] = True
    marked[0] = False
    return np.flatnonzero(marked)


@kernel
def examine(
    net: Any,
    to: int,
    rows: Any,
    failures: Any,
    asked: Any,
    most_hops: int,
    prints: bool,
    room: Any,
    counts: Any,
    log: Any,
    halt: Any,
) -> int:
    """Count fates by scenario, and log what goes wrong; returns the number of paths to be tested.

    `counts[k]` gets the difference from scenario 0 for k > 0. With `prints` every message that a
    scenario touches is logged, with the print of its path. Asked messages with a scenario come
    last, by scenario: they are those of clients that moved. When `halt` is set the rest is left.
    """
    tree, state, now, groups = room.tree, room.tree.state, room.now, len(rows.first) - 1
    meant = failures.meant
    first = np.empty(groups + 1, np.int64)
    stop = _starts(asked, groups, first)
    tested = _judge_first(net, to, rows, meant, asked, first, prints, room)
    before = np.empty(stop, np.int8)
    for i in range(stop):
        fates = room.fates[asked[i].group]
        before[i] = _verdict(asked[i], to, most_hops, state, fates)
        counts[0, before[i]] += asked[i].weight
        _note(log, 0, i, before[i], fates[asked[i].source].print, prints)
    source_at = np.empty(len(state) + 1, np.int64)
    for u in range(len(source_at)):
        source_at[u] = _place(asked, source_at[u - 1] if u else 0, first[1], u)
    moved = stop
    # Without entries of any kind a scenario matters only if it cuts a path that is asked after.
    if groups == 1 and len(rows.given) == 0:
        todo = _that_matter(net, to, failures, asked, stop, state)
    else:
        todo = np.arange(1, len(failures.first_link) - 1)
    for k in todo:
        if halt[0]:
            break
        links = failures.link[failures.first_link[k] : failures.first_link[k + 1]]
        brokers = failures.broker[failures.first_broker[k] : failures.first_broker[k + 1]]
        size, settled = fail(net, to, tree, failures.ends, links, brokers)
        if len(brokers):
            _leave(state[to].dead, brokers, asked, first, before, counts[k])
        last = moved
        while last < len(asked) and asked[last].scenario == k:
            last += 1
        for group in range(0 if state[to].dead else groups):
            touch = _judge_again(net, to, rows, group, k, meant, size, prints, room)
            if touch == REGION:
                _follow_tree(net, to, settled, size, tree, room.fates[0], now)
            for step in range(size if touch == REGION else 1 if touch == WHOLE else 0):
                low, high = first[group], first[group + 1]
                if touch == REGION:
                    low, high = source_at[tree.region[step]], source_at[tree.region[step] + 1]
                for i in range(low, high):
                    if not state[asked[i].source].dead:
                        verdict = _verdict(asked[i], to, most_hops, state, now)
                        counts[k, before[i]] -= asked[i].weight
                        counts[k, verdict] += asked[i].weight
                        _note(log, k, i, verdict, now[asked[i].source].print, prints)
            for i in range(moved, last):
                u = asked[i].source
                if asked[i].group == group:
                    new = touch == WHOLE or (touch == REGION and state[u].inside)
                    fates = now if new else room.fates[group]
                    verdict = _verdict(asked[i], to, most_hops, state, fates)
                    counts[k, verdict] += asked[i].weight
                    _note(log, k, i, verdict, fates[u].print, prints)
        moved = last
        restore(tree, size, links, brokers)
    return tested
