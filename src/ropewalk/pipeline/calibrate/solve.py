"""Weighted least squares without negative answers, for many weightings at once, made robust.

There are three columns at most, so the answer is found by trying every set of columns that may be
above zero: exact, and the same few steps for all weightings together.
"""

from collections.abc import Callable
from itertools import combinations
from typing import NamedTuple

import numpy as np

from ropewalk.federation.arrays import Floats

HUBER, TUKEY = 1.345, 4.685
"""Residuals, in deviations, from which on they count less, and not at all: both give 95 % of the
precision that least squares has on data without outliers."""
TO_DEVIATION = 1.4826
"""The median of absolute residuals, times this, is the standard deviation of a normal law."""
RIDGE = 1e-10
HUBER_STEPS, TUKEY_STEPS = 20, 20
NEAR = 1e-7
ENOUGH = 1e-9


class Robust(NamedTuple):
    """Costs by column, how much each row counted (0 to 1), and the deviation of a row."""

    costs: Floats
    counted: Floats
    deviation: float


def nonnegative(columns: Floats, answers: Floats, weights: Floats) -> Floats:
    """The best non-negative costs: a row for each row of `weights`, which has one per answer.

    >>> x = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    >>> nonnegative(x, np.array([1.0, 3.0, 5.0]), np.ones((1, 3))).round(6)
    array([[1., 2.]])
    """
    width = columns.shape[1]
    scale = np.sqrt((columns**2).mean(axis=0))
    scaled = columns / np.where(scale > 0, scale, 1.0)
    products = (scaled[:, :, None] * scaled[:, None, :]).reshape(len(columns), -1)
    total = weights.sum(axis=1, keepdims=True)
    gram = (weights @ products / total).reshape(-1, width, width)
    moment = weights @ (scaled * answers[:, None]) / total
    best = np.zeros((len(weights), width))
    least = np.zeros(len(weights))
    for size in range(1, width + 1):
        for chosen in combinations(range(width), size):
            some = list(chosen)
            own = gram[:, some][:, :, some] + RIDGE * np.eye(size)
            found = np.linalg.solve(own, moment[:, some, None])[:, :, 0]
            # Up to a constant, what is left over by a solution is minus half its product.
            left = -np.einsum("bi,bi->b", found, moment[:, some])
            better = (found >= 0).all(axis=1) & (left < least)
            rows = np.flatnonzero(better)
            best[rows] = 0
            best[rows[:, None], some] = found[rows]
            least[rows] = left[rows]
    return best / np.where(scale > 0, scale, 1.0)


def robust(columns: Floats, answers: Floats) -> Robust:
    """Costs that a few wild rows cannot bend: Huber's weights first, then Tukey's.

    All rows must be of the same precision; the scale is the median of absolute residuals.
    """
    once = np.ones((1, len(answers)))
    costs = nonnegative(columns, answers, once)
    for _ in range(HUBER_STEPS):
        before, deviation = costs, scale_of(columns, answers, costs[0])
        costs = _again(columns, answers, once, costs, deviation, huber)
        if _near(costs, before, NEAR):
            break
    deviation = scale_of(columns, answers, costs[0])
    costs = settled(columns, answers, once, costs, deviation, near=NEAR)
    counted = tukey((answers - costs[0] @ columns.T) / deviation)
    return Robust(costs[0], counted, deviation)


def settled(
    columns: Floats,
    answers: Floats,
    times: Floats,
    costs: Floats,
    deviation: float,
    *,
    near: float,
) -> Floats:
    """Costs by Tukey's rule, from some that are near; each row of `times` counts rows anew."""
    costs = np.broadcast_to(costs, (len(times), columns.shape[1]))
    for _ in range(TUKEY_STEPS):
        before = costs
        costs = _again(columns, answers, times, costs, deviation, tukey)
        if _near(costs, before, near):
            break
    return costs


def scale_of(columns: Floats, answers: Floats, costs: Floats) -> float:
    """The deviation of a row; a trace of it where rows fit exactly."""
    rest = float(np.median(np.abs(answers - columns @ costs)))
    size = float(np.median(np.abs(answers)))
    return max(TO_DEVIATION * rest, ENOUGH * size, float(np.finfo(float).tiny))


def huber(residuals: Floats) -> Floats:
    """How much a residual counts, in deviations."""
    return np.asarray(HUBER / np.maximum(np.abs(residuals), HUBER))


def tukey(residuals: Floats) -> Floats:
    """The same by Tukey: from some deviations on, not at all."""
    return np.asarray(np.maximum(1 - (residuals / TUKEY) ** 2, 0) ** 2)


def _again(
    columns: Floats,
    answers: Floats,
    times: Floats,
    costs: Floats,
    deviation: float,
    rule: Callable[[Floats], Floats],
) -> Floats:
    counted = rule((answers - costs @ columns.T) / deviation)
    return nonnegative(columns, answers, times * counted)


def _near(now: Floats, before: Floats, near: float) -> bool:
    return bool((np.abs(now - before).max(axis=0) <= near * np.abs(now).max(axis=0)).all())
