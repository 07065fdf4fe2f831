"""Changes of all destinations gathered by broker, in the compact form that a broker keeps."""

from functools import partial
from typing import Any

import numpy as np

from ropewalk.federation.arrays import Graph
from ropewalk.kernels import kernel
from ropewalk.routing.ahead.pairs import pairs
from ropewalk.routing.ahead.patches import (
    AT,
    PAIR_KINDS,
    SET_CHANGE,
    SLOT,
    THING,
    Asked,
    Made,
    Words,
    chosen,
    scratch,
    singles,
)
from ropewalk.routing.ahead.sweep import sweep_room, sweep_singles, take_tree
from ropewalk.routing.delta import plant
from ropewalk.routing.trees import STATE, Longs, Net, Records, grow
from ropewalk.routing.workers import cores, spread

OF, TO = 40, 20
THINGS = (1 << (AT - THING)) - 1
"""By broker, a change is one word again: thing (24 bits), destination (20), slot (20)."""

ROOM = 1 << 22
"""Changes that are first made room for; untouched memory costs nothing."""


@kernel
def mean_hops(net: Any, to: int) -> float:
    """How many hops it takes to a broker, on average over those that reach it."""
    state = np.zeros(len(net.nodes) - 1, STATE)
    heap = np.empty(len(net.arcs) + 2, np.int64)
    reached = grow(net, to, state, heap)
    total = 0
    for i in range(1, reached):
        u = state[i].order
        state[u].size = state[state[u].hop].size + 1
        total += state[u].size
    return total / max(reached - 1, 1)


@kernel
def change(net: Any, start: int, stop: int, asked: Any, room: Any, sweep: Any, made: Any) -> int:
    """Every change towards the brokers from `start` on; returns the first that found no room."""
    twice = asked.kinds[PAIR_KINDS] or asked.kinds[PAIR_KINDS + 1] or asked.kinds[PAIR_KINDS + 2]
    for to in range(start, stop):
        before, sets_before = made.length[0], made.length[1]
        plant(net, to, room.tree)
        if net.uniform:
            take_tree(net, to, room.tree.state, sweep)
            sweep_singles(to, asked, sweep, room.first, made)
        else:
            singles(net, to, asked, room, made)
        if made.length[0] <= len(made.singles):
            if twice:
                pairs(net, to, asked, room, made)
            for k in range(len(asked.first) - 1):
                chosen(net, to, asked, room, k, made)
        if made.length[0] > len(made.singles) or made.length[1] > len(made.sets):
            made.length[0], made.length[1] = before, sets_before
            return to
        made.ends[to] = made.length[0]
    return stop


def all_changes(graph: Graph, net: Net, asked: Asked) -> list[tuple[int, int, Made]]:
    """Every change: runs of destinations, with what is made towards them."""
    runs = spread(partial(changes, graph, net, asked), graph.brokers, parts=4 * cores())
    return [part for run in runs for part in run]


def changes(
    graph: Graph, net: Net, asked: Asked, start: int, stop: int
) -> list[tuple[int, int, Made]]:
    """The changes towards a range of destinations, in runs that found room."""
    room, sweep = scratch(graph.brokers, graph.links), sweep_room(graph)
    parts, want = list[tuple[int, int, Made]](), ROOM
    with_sets = len(asked.first) > 1 or bool(asked.kinds[PAIR_KINDS:].any())
    while start < stop:
        made = Made(
            np.empty(want, np.uint64),
            np.empty(want if with_sets else 0, SET_CHANGE),
            np.zeros(graph.brokers, np.int64),
            np.zeros(2, np.int64),
        )
        done = int(change(net, start, stop, asked, room, sweep, made))
        if done > start:
            parts.append((start, done, made))
        else:
            want *= 4  # one destination alone needs more
        start = done
    return parts


@kernel
def _count(singles: Any, length: int, counts: Any) -> None:
    for i in range(length):
        counts[np.int64(singles[i]) >> AT] += 1


@kernel
def _scatter(singles: Any, ends: Any, start: int, stop: int, place: Any, words: Any) -> None:
    """Changes to their brokers, as thing, destination and slot."""
    i = 0
    for to in range(start, stop):
        while i < ends[to]:
            word = np.int64(singles[i])
            at = word >> AT
            words[place[at]] = (((word >> THING) & THINGS) << OF) | (to << TO) | (word & SLOT)
            place[at] += 1
            i += 1


@kernel
def order(words: Any, things: int, bits: int, first: Any, packed: Any) -> None:
    """One broker's changes by thing, then by destination: they come in the order of these."""
    for word in words:
        first[(np.int64(word) >> OF) + 1] += 1
    for thing in range(things):
        first[thing + 1] += first[thing]
    for word in words:
        number: Any = np.int64(word)
        to, slot = (number >> TO) & SLOT, number & SLOT
        packed[first[number >> OF]] = (to << bits) | slot
        first[number >> OF] += 1
    for thing in range(things, 0, -1):
        first[thing] = first[thing - 1]
    first[0] = 0


def by_broker(parts: list[tuple[int, int, Made]], brokers: int) -> tuple[Longs, Words]:
    """The words of all brokers one after the other, and where each broker's start."""
    counts = np.zeros(brokers + 1, np.int64)
    for _, _, made in parts:
        _count(made.singles, int(made.length[0]), counts[1:])
    first = np.cumsum(counts)
    place, words = first[:-1].copy(), np.empty(int(first[-1]), np.uint64)
    for start, stop, made in parts:
        _scatter(made.singles, made.ends, start, stop, place, words)
    return first, words


def sets_by_broker(parts: list[tuple[int, int, Made]], brokers: int) -> tuple[Longs, Records]:
    """Changes of sets by broker, then by set, then by destination."""
    found = np.concatenate([made.sets[: int(made.length[1])] for _, _, made in parts])
    found = found[np.lexsort((found["key"], found["at"]))]  # destinations come in order already
    return np.searchsorted(found["at"], np.arange(brokers + 1)).astype(np.int64), found
