"""All pairs at once: the probability to arrive in time, along the tree of each destination.

A message at u for d is in time if it crosses the hop to the next broker v in j slots and gets from
there to d in the rest. So the distribution of (u, d) is that of the hop, folded with that of
(v, d), which is known before it when brokers are taken in the order of the tree. Distributions
are kept as sums up to each slot, so that the last step is a look at one of them. Only slots in
which a hop can end are gone through. What is tried again for ever after a loss needs no list of
tries: what is in time at a slot is what the first try brings, and the loss of what was in time a
retry before.
"""

from typing import Any

import numpy as np

from ropewalk.federation.arrays import Ints
from ropewalk.kernels import inlined, kernel
from ropewalk.routing.workers import spread
from ropewalk.verify.latency.model import Model
from ropewalk.verify.latency.times import Reals

UNKNOWN, REACHED, LOST, WALKING = 0, 1, 2, 3


@inlined
def _fold(to: Any, ahead: Any, slots: Any, mass: Any, again: float, lag: int) -> None:
    """The sums of a broker from those of the next one and of the hop between them.

    Four slots of a hop that follow each other are taken at once: reading and writing the sums is
    what takes the time.
    """
    last = len(to)
    for t in range(last):
        to[t] = 0.0
    i, count = 0, len(slots)
    while i < count:
        shift = slots[i]
        if i + 3 < count and slots[i + 3] == shift + 3 and last - shift > 3:
            a, b, c, d = mass[i], mass[i + 1], mass[i + 2], mass[i + 3]
            to[shift] += a * ahead[0]
            to[shift + 1] += a * ahead[1] + b * ahead[0]
            to[shift + 2] += a * ahead[2] + b * ahead[1] + c * ahead[0]
            there = to[shift + 3 :]
            one, two, three, four = ahead[3:], ahead[2:], ahead[1:], ahead
            for t in range(last - shift - 3):
                there[t] += a * one[t] + b * two[t] + c * three[t] + d * four[t]
            i += 4
        else:
            a, there = mass[i], to[shift:]
            for t in range(last - shift):
                there[t] += a * ahead[t]
            i += 1
    if again > 0.0 and lag < last:
        for t in range(last - lag):
            to[t + lag] += again * to[t]


@inlined
def _in_time(sums: Any, u: int, base: int, starts: Any, within: int, slot: int) -> float:
    """The probability of u, with its own time at the start."""
    left, total = within - base - starts.base_ns[u], 0.0
    if left >= 0:
        most = left // slot
        for i in range(starts.first[u], starts.first[u + 1]):
            if starts.slot[i] <= most:
                total += starts.mass[i] * sums[u, most - starts.slot[i]]
    return min(total, 1.0)


@kernel
def _fill(
    net: Any,
    rows: Any,
    to: Any,
    start: int,
    stop: int,
    both: bool,
    late: Any,
    early: Any,
    limits: Any,
    found: Any,
) -> None:
    """Probabilities of all brokers to the destinations of some rows, as low and high bounds."""
    brokers, (within, slot) = rows.shape[1], limits
    last = within // slot + 1
    low, high = np.empty((brokers, last)), np.empty((brokers if both else 0, last))
    fate, base = np.empty(brokers, np.int8), np.empty(brokers, np.int64)
    path = np.empty(brokers, np.int32)
    for r in range(start, stop):
        end = to[r]
        fate[:] = UNKNOWN
        fate[end], base[end] = REACHED, 0
        low[end, :] = 1.0
        if both:
            high[end, :] = 1.0
        for source in range(brokers):
            length, u, lost = 0, source, False
            while fate[u] == UNKNOWN:
                fate[u] = WALKING
                path[length] = u
                length += 1
                v = rows[r, u]
                if v < 0 or (v != end and not net.nodes[v].transit):
                    lost = True
                    break
                u = v
            lost = lost or fate[u] != REACHED
            for i in range(length - 1, -1, -1):
                u = path[i]
                fate[u] = LOST if lost else REACHED
                if lost:
                    continue
                v = rows[r, u]
                arc, high_arc = net.nodes[u].first, net.nodes[u + 1].first
                while arc < high_arc:  # as `arc_between`: a call would cost more than the search
                    middle = (arc + high_arc) >> 1
                    if net.arcs[middle].to < v:
                        arc = middle + 1
                    else:
                        high_arc = middle
                base[u] = base[v] + late[0].base_ns[arc]
                s, e = late[0].first[arc], late[0].first[arc + 1]
                _fold(
                    low[u],
                    low[v],
                    late[0].slot[s:e],
                    late[0].mass[s:e],
                    late[0].again[arc],
                    late[0].lag,
                )
                if both:
                    s, e = early[0].first[arc], early[0].first[arc + 1]
                    _fold(
                        high[u],
                        high[v],
                        early[0].slot[s:e],
                        early[0].mass[s:e],
                        early[0].again[arc],
                        early[0].lag,
                    )
            if fate[source] == LOST:
                found[r, source, 0] = found[r, source, 1] = 0.0
                continue
            found[r, source, 0] = _in_time(low, source, base[source], late[1], within, slot)
            found[r, source, 1] = found[r, source, 0]
            if both:
                found[r, source, 1] = _in_time(high, source, base[source], early[1], within, slot)


def arrivals(model: Model, rows: Ints, to: Ints, *, threads: int | None = None) -> Reals:
    """Low and high probabilities: rows x brokers x 2, of tables to destinations, one a row."""
    found = np.empty((len(rows), model.graph.brokers, 2))
    hops_late, hops_early, starts_late, starts_early = model.packed
    limits = np.array([model.within_ns, model.grid.slot_ns], np.int64)
    fixed = not model.exact

    def some(start: int, stop: int) -> None:
        late, early = (hops_late, starts_late), (hops_early, starts_early)
        _fill(model.net, rows, to, start, stop, fixed, late, early, limits, found)

    spread(some, len(rows), parts=threads)
    return found
