"""Where a search begins: today's placement, an even one, a specialised one, and random ones."""

import numpy as np

from ropewalk.kernels import kernel
from ropewalk.placement.performance import Reals
from ropewalk.placement.problems import NOWHERE, Flags, Ints, Problem


def today(problem: Problem) -> Ints:
    """Where items are; those that are nowhere, or where they must not be, go where room is most."""
    place = problem.rules.today.copy()
    known = place >= 0
    known[known] = problem.rules.allowed[place[known], np.flatnonzero(known)]
    place[~known] = NOWHERE
    return _filled(problem, place)


def even(problem: Problem) -> Ints:
    """The largest item first, each to the broker with the largest part of its limit left."""
    return _filled(problem, np.full(len(problem.items), NOWHERE))


def specialised(problem: Problem, order: Ints) -> Ints:
    """Items by their variance per load, cut into pieces of equal load: like goes with like."""
    load = problem.rate_msgs_s * problem.work_s.mean(0)
    room = np.where(problem.rules.allowed.any(1), problem.limit, 0.0)
    share = room / room.sum()
    after = np.cumsum(load[order]) - load[order] / 2
    place = np.full(len(load), NOWHERE)
    place[order] = np.searchsorted(np.cumsum(share)[:-1], after / max(load.sum(), 1e-300))
    return _allowed_only(problem, place)


def random(problem: Problem, seed: int) -> Ints:
    """Each item at a random broker of those allowed."""
    rng = np.random.default_rng(seed)
    drawn = np.where(problem.rules.allowed, rng.random(problem.rules.allowed.shape), -1.0)
    place: Ints = drawn.argmax(0)
    return place


def _allowed_only(problem: Problem, place: Ints) -> Ints:
    wrong = ~problem.rules.allowed[place, np.arange(len(place))]
    return _filled(problem, np.where(wrong, NOWHERE, place)) if wrong.any() else place


def _filled(problem: Problem, place: Ints) -> Ints:
    load = problem.load
    order = np.argsort(-load.max(0), kind="stable")
    return _fill(place.copy(), load, problem.limit, problem.rules.allowed, order)


@kernel
def _fill(place: Ints, load: Reals, limit: Reals, allowed: Flags, order: Ints) -> Ints:
    """Items that are nowhere, in order, each where most of the limit is left after it."""
    used = np.zeros(len(limit))
    for i in range(len(place)):
        if place[i] >= 0:
            used[place[i]] += load[place[i], i]
    for i in order:
        if place[i] >= 0:
            continue
        best, left = -1, -np.inf
        for b in range(len(limit)):
            room = 1 - (used[b] + load[b, i]) / limit[b]
            if allowed[b, i] and room > left:
                best, left = b, room
        place[i] = best
        used[best] += load[best, i]
    return place
