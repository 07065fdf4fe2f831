"""The probability that a broker's load is above its limit: from moments, or from what was seen."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import beta

from ropewalk.placement.performance import Reals
from ropewalk.placement.problem import Ints, Problem
from ropewalk.placement.solve.scores import FAR, Model


@dataclass(frozen=True, slots=True)
class Peaks:
    """Messages of each item in each window of the peak; windows without any are counted only."""

    counts: Reals
    """windows x items."""
    windows: int
    """How many there are, with those without messages."""
    window_s: float


@dataclass(frozen=True, slots=True)
class Seen:
    """In how many windows a broker's load was above its limit, with a 95 % interval."""

    over: int
    windows: int
    low: float
    high: float

    @property
    def share(self) -> float:
        """What part of the windows."""
        return self.over / self.windows if self.windows else 0.0


def risk_of(margins: Reals) -> Reals:
    """The probability of an overload at a margin.

    >>> risk_of(np.array([0.0, 1.6448536])).round(4).tolist()
    [0.5, 0.05]
    """
    found: Reals = ndtr(-np.asarray(margins, np.float64))
    return found


def margin_for(risk: float) -> float:
    """The margin at which the probability of an overload is this."""
    return float(-ndtri(risk))


def moments(problem: Problem, place: Ints) -> tuple[Reals, Reals]:
    """Mean and variance of each broker's load."""
    load, variance = np.zeros(len(problem.brokers)), np.zeros(len(problem.brokers))
    for b in range(len(load)):
        work = np.where(place == b, problem.work_s[b], 0.0)
        load[b], variance[b] = work @ problem.rate_msgs_s, problem.spread.of(work)
    return load, np.maximum(variance, 0.0)


def margins(problem: Problem, place: Ints, model: Model = Model.NORMAL) -> Reals:
    """The margin of each broker: deviations between its load and its limit, on the model's scale.

    The same as the kernels' `margin`, in numpy.
    """
    load, variance = moments(problem, place)
    limit = problem.limit
    varies = variance > 1e-18 * limit * limit
    spread = np.sqrt(np.where(varies, variance, 1.0))
    found = (limit - load) / spread
    if model is Model.LOGNORMAL:
        carried = varies & (load > 0)
        mean = np.where(carried, load, 1.0)
        squared = np.log1p(np.where(carried, variance, 1.0) / mean**2)
        found = np.where(carried, (np.log(limit / mean) + squared / 2) / np.sqrt(squared), found)
    still = np.where(load <= limit, FAR, -FAR)
    return np.clip(np.where(varies, found, still), -FAR, FAR)


def seen(problem: Problem, place: Ints, peaks: Peaks) -> list[Seen]:
    """How often each broker would have been above its limit in the windows of the peak."""
    found = []
    for b in range(len(problem.brokers)):
        work = np.where(place == b, problem.work_s[b], 0.0)
        load = peaks.counts @ work / peaks.window_s
        over = int((load > problem.limit[b]).sum())
        found.append(Seen(over, peaks.windows, *interval(over, peaks.windows)))
    return found


def interval(over: int, windows: int) -> tuple[float, float]:
    """Clopper and Pearson's 95 % interval; windows are taken for independent.

    >>> [round(end, 4) for end in interval(0, 100)]
    [0.0, 0.0362]
    """
    if not windows:
        return 0.0, 1.0
    low = float(beta.ppf(0.025, over, windows - over + 1)) if over else 0.0
    high = float(beta.ppf(0.975, over + 1, windows - over)) if over < windows else 1.0
    return low, high
