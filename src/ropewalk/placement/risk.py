"""The probability that a broker's load is above its limit: from moments, or from what was seen."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from ropewalk.placement.performance import Reals
from ropewalk.placement.problems import Ints, Problem
from ropewalk.placement.solve.scores import FAR, Model


@dataclass(frozen=True, slots=True)
class Peaks:
    """Messages of each item in each window of the peak, in order of time."""

    counts: Reals
    """windows x items."""
    window_s: float


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


def loads_seen(problem: Problem, place: Ints, peaks: Peaks) -> Reals:
    """What each broker's load would have been in the windows of the peak: windows x brokers."""
    work = problem.work_s[place, np.arange(len(place))] * peaks.counts
    member = np.eye(len(problem.brokers))[place]
    found: Reals = work @ member / peaks.window_s
    return found
