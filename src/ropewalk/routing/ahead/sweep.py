"""Every single failure towards one destination, in a graph whose links all cost the same.

What hangs below a single link or broker is one slice of the tree as it is laid out, so nothing
need be marked; distances are counted in steps, so a queue does instead of a heap; and what is
read most lies in small arrays of its own. For other graphs `patches` does the same by the general
kernel, at half the speed.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ropewalk.federation.arrays import Bools, Graph, Ints
from ropewalk.kernels import kernel
from ropewalk.routing.ahead.patches import AT, THING

FAR = np.int32(2**30)

Indices = npt.NDArray[np.uint32]
"""Unsigned: numba then need not ask at every use whether an index is negative."""


class Sweep(NamedTuple):
    """The graph, and per broker what is known of one destination's tree.

    `through` is the steps of what may be a next hop and is settled, else FAR; `now` those in the
    region after a failure. `seed` and `queue` list brokers that are next, `upto` where the seeds
    of a step end.
    """

    first: Indices
    near: Indices
    link: Indices
    transit: Bools
    steps: Ints
    hop: Ints
    place: Ints
    below: Ints
    slot: Indices
    through: Ints
    now: Ints
    seed: Indices
    queue: Indices
    upto: Ints


def sweep_room(graph: Graph) -> Sweep:
    """Room for the trees of a graph."""

    def ints() -> Ints:
        return np.zeros(graph.brokers + 2, np.int32)

    def indices() -> Indices:
        return np.zeros(graph.brokers + 2, np.uint32)

    return Sweep(
        first=graph.first.view(np.uint32),
        near=graph.neighbour.view(np.uint32),
        link=graph.link.view(np.uint32),
        transit=graph.transit,
        steps=ints(),
        hop=ints(),
        place=ints(),
        below=ints(),
        slot=indices(),
        through=ints(),
        now=ints(),
        seed=indices(),
        queue=indices(),
        upto=ints(),
    )


@kernel
def take_tree(net: Any, to: int, state: Any, sweep: Any) -> None:
    """Copy what is needed of a planted tree."""
    step = net.arcs[0].cost if len(net.arcs) else 1
    for u in range(len(state)):
        reached = state[u].hop >= 0
        sweep.steps[u] = state[u].distance // step if reached else FAR
        sweep.through[u] = sweep.steps[u] if u == to or sweep.transit[u] else FAR
        sweep.hop[u], sweep.below[u] = state[u].hop, state[u].size
        sweep.place[u] = state[u].place if reached else -1
        sweep.slot[u] = state[u].slot


@kernel
def sweep_singles(to: int, asked: Any, sweep: Any, first_change: Any, made: Any) -> None:
    """The changes of every single thing towards a destination, whose tree has been taken.

    One long function: its inner part runs tens of millions of times, where a call with all these
    arrays would cost as much as the work.
    """
    first, near, link, transit = sweep.first, sweep.near, sweep.link, sweep.transit
    through, now, slot, place = sweep.through, sweep.now, sweep.slot, sweep.place
    seed, queue, upto, hop, below = sweep.seed, sweep.queue, sweep.upto, sweep.hop, sweep.below
    words, length, ends, links = made.singles, made.length[0], asked.ends, len(asked.ends)
    begin = 0 if asked.kinds[0] else links
    last = len(first_change) - 1 if asked.kinds[1] else links
    for thing in range(begin):
        first_change[thing] = length
    for thing in range(begin, last):
        first_change[thing] = length
        if thing >= links:
            root = np.int64(thing - links)
            if root == to or below[root] < 2:
                continue
        else:
            root = np.int64(ends[thing, 0])
            above = np.int64(ends[thing, 1])
            if hop[root] != above or root == to:
                root, above = above, root
            if hop[root] != above or root == to:
                continue  # not a link of this tree
        cut, start, stop = thing, place[root], place[root] + below[root]
        if thing >= links:  # the dead broker is the first of its slice; the region comes after
            cut, start = -1, start + 1
        for i in range(place[root], stop):
            through[slot[i]] = FAR
        # Seeds: whoever has a neighbour outside the region, sorted by steps.
        low, high = FAR, np.int32(0)
        for i in range(start, stop):
            u = slot[i]
            best = FAR
            for arc in range(first[u], first[u + 1]):
                there = through[near[arc]]
                if there < best and link[arc] != cut:
                    best = there
            now[u] = best + 1 if best < FAR else FAR
            if best < FAR:
                low, high = min(low, now[u]), max(high, now[u])
                upto[now[u]] += 1
        total = np.int32(0)
        for step in range(low, high + 1):
            total, upto[step] = total + upto[step], total
        for i in range(start, stop):
            u = slot[i]
            if now[u] < FAR:
                seed[upto[now[u]]] = u
                upto[now[u]] += 1
        # Settle step by step: what was found in the step before, then the seeds of this one.
        next_seed, next_found, found, settled = 0, 0, 0, 0
        level: Any = low
        while level <= high or next_found < found:
            last_found, last_seed = found, int(upto[level]) if level <= high else next_seed
            while next_found < last_found or next_seed < last_seed:
                if next_found < last_found:
                    v = queue[next_found]
                    next_found += 1
                else:
                    v = seed[next_seed]
                    next_seed += 1
                    if now[v] != level:
                        continue  # it was found by a shorter way
                settled += 1
                carries, known = transit[v], False
                for arc in range(first[v], first[v + 1]):
                    u = near[arc]
                    there = through[u]
                    if there == level - 1:
                        # Neighbours come in ascending order: the first that fits is canonical.
                        if not known and link[arc] != cut:
                            known = True
                            if u != hop[v]:
                                if length < len(words):
                                    at, way = np.int64(v), arc - first[v]
                                    words[length] = (at << AT) | (thing << THING) | way
                                length += 1
                        continue
                    if there < FAR or not carries or not start <= place[u] < stop:
                        continue
                    if now[u] > level + 1 and link[arc] != cut:
                        now[u] = level + 1
                        queue[found] = u
                        found += 1
                if carries:
                    through[v] = level
            if level <= high:
                upto[level] = 0
            level += 1
        for i in range(place[root], stop):
            u = slot[i]
            if settled < stop - start and i >= start and now[u] == FAR:
                if length < len(words):
                    at, way = np.int64(u), first[u + 1] - first[u]
                    words[length] = (at << AT) | (thing << THING) | way
                length += 1
            through[u] = sweep.steps[u] if transit[u] else FAR
    for thing in range(last, len(first_change)):
        first_change[thing] = length
    made.length[0] = length
