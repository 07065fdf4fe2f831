"""Weighted round robin (Wang 2015, 4.5.4): each item in turn to the broker with most reserve."""

import numpy as np

from ropewalk.placement.problems import Ints, Problem


def round_robin(problem: Problem, order: Ints | None = None) -> Ints:
    """Each item, in the given order, where (capacity - load) / capacity is largest before it."""
    used = np.zeros(len(problem.brokers))
    place = np.zeros(len(problem.items), np.int64)
    load, allowed = problem.load, problem.rules.allowed
    for i in np.arange(len(place)) if order is None else order:
        reserve = np.where(allowed[:, i], 1 - used / problem.limit, -np.inf)
        place[i] = int(reserve.argmax())
        used[place[i]] += load[place[i], i]
    return place
