"""Changes of all destinations gathered by broker, in the compact form that a broker keeps."""

from typing import Any

import numpy as np

from ropewalk.federation.arrays import Graph, Ints
from ropewalk.routing.ahead.pairs import pairs
from ropewalk.routing.ahead.patches import (
    PAIR_KINDS,
    SET_CHANGE,
    Asked,
    Made,
    Words,
    chosen,
    scratch,
    singles,
)
from ropewalk.routing.ahead.sweep import sweep_room, sweep_singles, take_tree
from ropewalk.routing.delta import plant
from ropewalk.routing.kernels import kernel
from ropewalk.routing.trees import Longs, Net, Records
from ropewalk.routing.workers import cores, spread

ROOM = 1 << 22
"""Changes that are first made room for; untouched memory costs nothing."""


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

    def some(start: int, stop: int) -> list[tuple[int, int, Made]]:
        room, sweep = scratch(graph.brokers, graph.links), sweep_room(graph)
        parts, want = [], ROOM
        while start < stop:
            made = Made(
                np.empty(want, np.uint64),
                np.empty(want, SET_CHANGE),
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

    runs = spread(some, graph.brokers, parts=4 * cores())
    return [part for run in runs for part in run]


@kernel
def _count(singles: Any, length: int, counts: Any) -> None:
    for i in range(length):
        counts[np.int64(singles[i]) >> 44] += 1


@kernel
def _scatter(singles: Any, ends: Any, start: int, stop: int, place: Any, words: Any) -> None:
    """Changes to their brokers, as thing (24 bits), destination (20), slot (20)."""
    i = 0
    for to in range(start, stop):
        while i < ends[to]:
            word = np.int64(singles[i])
            at = word >> 44
            words[place[at]] = (((word >> 20) & 0xFFFFFF) << 40) | (to << 20) | (word & 0xFFFFF)
            place[at] += 1
            i += 1


@kernel
def order(words: Any, things: int, bits: int, first: Any, packed: Any) -> None:
    """One broker's changes by thing, then by destination: they come in the order of these."""
    for word in words:
        first[(np.int64(word) >> 40) + 1] += 1
    for thing in range(things):
        first[thing + 1] += first[thing]
    for word in words:
        number: Any = np.int64(word)
        to, slot = (number >> 20) & 0xFFFFF, number & 0xFFFFF
        packed[first[number >> 40]] = (to << bits) | slot
        first[number >> 40] += 1
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


def sets_by_broker(parts: list[tuple[int, int, Made]], brokers: int) -> tuple[Ints, Records]:
    """Changes of sets by broker, then by set, then by destination."""
    found = np.concatenate([made.sets[: int(made.length[1])] for _, _, made in parts])
    found = found[np.lexsort((found["key"], found["at"]))]  # destinations come in order already
    return np.searchsorted(found["at"], np.arange(brokers + 1)).astype(np.int64), found
