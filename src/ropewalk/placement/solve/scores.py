"""What a broker's mean load and variance are worth: its margin, and the objective's share of it."""

import math
from enum import IntEnum

import numpy as np

from ropewalk.kernels import kernel


class Objective(IntEnum):
    """What is made as large as it can be."""

    MARGIN = 0
    """The least margin of a broker: deviations between its mean load and its limit."""
    PRODUCT = 1
    """The probability that no broker is overloaded, as if they were independent (Wang, 4.5.2)."""
    UTILITY = 2
    """Messages carried, less those of a broker times its risk (4.5.2, constant penalty)."""
    EXCESS = 3
    """Messages carried, less those expected above the limit (4.5.2, proportional penalty)."""


class Model(IntEnum):
    """How a broker's load is distributed, given its mean and variance."""

    NORMAL = 0
    LOGNORMAL = 1


FAR = 40.0
"""The margin of a broker that cannot be overloaded; its risk is no number above zero."""
ROOT_HALF = math.sqrt(0.5)
LOW, HIGH, CELLS = -10.0, 10.0, 16384


@kernel
def margin(model: int, limit: float, load: float, variance: float) -> float:
    """How many deviations lie between a load and its limit, on the model's scale."""
    if load <= 0.0 and variance <= 0.0:
        return FAR
    if variance <= 1e-18 * limit * limit:
        return FAR if load <= limit else -FAR
    if model == 1 and load > 1e-9 * limit:  # less is what rounding leaves of an empty broker
        squared = math.log1p(variance / (load * load))
        found = (math.log(limit / load) + squared / 2) / math.sqrt(squared)
    else:
        found = (limit - load) / math.sqrt(variance)
    return min(max(found, -FAR), FAR)


@kernel
def upper_tail(z: float) -> float:
    """The probability of more than z deviations."""
    return 0.5 * math.erfc(z * ROOT_HALF)


@kernel
def log_below(z: float) -> float:
    """The logarithm of the probability of less than z deviations."""
    if z < -30.0:
        return -0.5 * z * z - math.log(-z) - 0.9189385332046727
    return math.log1p(-upper_tail(z)) if z > 0 else math.log(upper_tail(-z))


LOGS = np.array([log_below(LOW + (HIGH - LOW) * i / CELLS) for i in range(CELLS + 2)])
"""A table of logarithms: the search asks for tens of millions a second."""


@kernel
def quick_log_below(z: float) -> float:
    """As `log_below`, from the table: within 1e-6."""
    if z >= HIGH:
        return 0.0
    if z <= LOW:
        return log_below(z)
    place = (z - LOW) * (CELLS / (HIGH - LOW))
    cell = int(place)
    return LOGS[cell] + (place - cell) * (LOGS[cell + 1] - LOGS[cell])  # type: ignore[no-any-return]


@kernel
def score(
    objective: int, z: float, load: float, variance: float, worth: float, limit: float
) -> float:
    """A broker's share of the objective; for MARGIN the margin itself, of which the least counts.

    `worth` is what its items are worth in all: their messages per second.
    """
    if objective == 0:
        return z
    if objective == 1:
        return quick_log_below(z)
    if objective == 2:
        return -worth * upper_tail(z)
    return -worth * above(z, load, variance, limit) / limit


@kernel
def above(z: float, load: float, variance: float, limit: float) -> float:
    """The load that is expected above the limit."""
    if z <= -FAR:
        return max(load - limit, 0.0)  # it hardly varies: all of it that is too much
    density = math.exp(-0.5 * z * z) * 0.3989422804014327
    return math.sqrt(max(variance, 0.0)) * max(density - z * upper_tail(z), 0.0)
