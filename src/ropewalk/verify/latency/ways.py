"""One path, or two at once: the probability that a message arrives in time over them.

Over two paths it is sent twice, and the first copy counts. What both have in common happens once:
given the time spent there, the rest of the one and of the other are independent.
"""

from collections.abc import Sequence
from functools import reduce
from itertools import pairwise

import numpy as np

from ropewalk.verify.latency.model import Model
from ropewalk.verify.latency.times import AT_ONCE, Reals, Times, after

Brokers = tuple[int, ...]
"""A path: brokers in order, from the publisher's to the subscriber's."""
Bounds = tuple[float, float]
"""The lowest and the highest that a probability may be."""
NEVER: Bounds = (0.0, 0.0)


def in_time(model: Model, paths: Sequence[Brokers]) -> Bounds:
    """The probability that a message arrives in time over one path or two; none is never."""
    if not paths:
        return NEVER
    if len(paths) == 1 or paths[0] == paths[1]:
        return alone(model, [model.start[paths[0][0]], *hops(model, paths[0])])
    first, second = ([model.arc[step] for step in pairwise(path)] for path in paths)
    shared = [arc for arc in first if arc in set(second)]
    common = _sum(model, [model.start[paths[0][0]], *(model.hop[arc] for arc in shared)])
    rest = [
        _sum(model, [model.hop[arc] for arc in some if arc not in shared])
        for some in (first, second)
    ]
    return _bounded(
        *(_either(model, common, rest, way) for way in ("late", "early")),
    )


def hops(model: Model, path: Brokers) -> list[Times]:
    """What each hop of a path takes."""
    return [model.hop[model.arc[step]] for step in pairwise(path)]


def alone(model: Model, steps: Sequence[Times]) -> Bounds:
    """The probability that some steps, one after the other, are done in time."""
    whole = _sum(model, steps)
    left = model.within_ns - whole.base_ns
    if left < 0:
        return NEVER
    most = left // model.grid.slot_ns + 1
    return _bounded(float(whole.late[:most].sum()), float(whole.early[:most].sum()))


def _sum(model: Model, steps: Sequence[Times]) -> Times:
    return reduce(lambda a, b: after(a, b, model.grid.last), steps, AT_ONCE)


def _either(model: Model, common: Times, rest: Sequence[Times], way: str) -> float:
    shared: Reals = getattr(common, way)
    late = np.ones(len(shared))
    for one in rest:
        left = model.within_ns - common.base_ns - one.base_ns
        sums = np.cumsum(getattr(one, way))
        most = left // model.grid.slot_ns - np.arange(len(shared))
        late *= 1 - np.where(most >= 0, sums[np.clip(most, 0, len(sums) - 1)], 0.0)
    return float(shared @ (1 - late))


def _bounded(low: float, high: float) -> Bounds:
    """Sums of probabilities, without what rounding put above 1."""
    return min(low, 1.0), min(max(low, high), 1.0)
