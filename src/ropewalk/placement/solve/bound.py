"""Upper bounds: no placement can be better, so what a search found is within a known gap.

Work of a broker is one unit after division by its speed. A set of items with mean load M, own
variance V and common part F (in the direction of all items' common part) has a margin of z at
capacity C only if M + z sqrt(F^2 + V) <= C. Give item i, with load m, own variance v and common
part f, the price

    m / C + z^2 v / 2C^2 + sqrt(1 - p^2) sqrt(z^2 v m / C + z^4 v^2 / 4C^2) / C + p z f / C.

Then no such set costs more than 1, for any p in [0, 1]. The least share t of a broker per load is
C t = 1 + a / 2 + sqrt(g^2 + a + a^2 / 4), for own variance a and common part g per load (scaled by
C and z). The price per load is the least of t less a tangent in g, which is concave in a, plus
that tangent: so a mixture costs no more than its mean. Summed over all items, with the best p, the
price is the least number of brokers that a margin of z needs: `brokers_needed`. It is all closed
form.

The formula (C - M/k) / sqrt(F^2/k^2 + V/k), which assumes that all brokers are alike, is no bound:
brokers may specialise, some in few loads that vary much and others in many that vary little, and
then all have a larger margin. `even_margin` keeps it, to be compared with.
"""

from dataclasses import dataclass

import numpy as np

from ropewalk.placement.performance import Reals
from ropewalk.placement.problems import Problem, Spread
from ropewalk.placement.repair import is_covariance
from ropewalk.placement.solve.scores import FAR, log_below

ROUNDS = 60
CELLS = 600
GRID = 3000


@dataclass(frozen=True, slots=True)
class Resources:
    """What items need at least, on a broker of speed 1, and what brokers have."""

    load: Reals
    own: Reals
    common: float
    """Of all items together; never below 0."""
    capacity: Reals

    @property
    def brokers(self) -> float:
        """Brokers as large as the largest that have as much capacity as these."""
        return float((self.capacity / self.capacity.max()).sum())


def resources_of(problem: Problem) -> Resources:
    """Resources that every placement needs.

    Where brokers differ in more than speed, an item counts with what it costs where it is
    cheapest; a common part that could be smaller elsewhere, with the least it could be.
    """
    used = problem.rules.allowed.any(1)  # brokers on which nothing may be do not help
    work = problem.work_s[used]
    load = work @ problem.rate_msgs_s
    speed = load / load.max() if load.max() > 0 else np.ones(len(load))
    relative = work / np.where(speed > 0, speed, 1.0)[:, None]
    cheap, dear = relative.min(0), relative.max(0)
    own = own_part(problem.spread)
    shared = problem.spread.times(cheap) - own * cheap
    size = float(np.sqrt(max(cheap @ shared, 0.0)))
    along = shared / size if size > 0 else np.zeros_like(shared)
    common = float(np.where(along > 0, cheap, dear) @ along)
    return Resources(
        cheap * problem.rate_msgs_s,
        cheap**2 * own,
        max(common, 0.0),
        problem.limit[used] / np.where(speed > 0, speed, 1.0),
    )


def own_part(spread: Spread) -> Reals:
    """A diagonal that can be taken from the covariance and leaves one: the larger, the better."""
    if not len(spread.matrix):
        return spread.own
    matrix = spread.whole() if spread.loadings.shape[1] or spread.own.any() else spread.matrix
    variance = matrix.diagonal()
    if (variance <= 0).any():
        return np.zeros(len(variance))
    best = np.zeros(len(variance))
    for shape in (variance, _conditional(matrix)):
        scale = 1 / np.sqrt(shape)
        least = float(np.linalg.eigvalsh(matrix * np.outer(scale, scale))[0]) * (1 - 1e-9) - 1e-12
        if least > 0 and (least * shape).sum() > best.sum():
            best = least * shape
    return best


def _conditional(matrix: Reals) -> Reals:
    """What is left of each variance when all other items are known; else the variance."""
    variance = matrix.diagonal()
    try:
        precision = np.linalg.inv(matrix).diagonal()
    except np.linalg.LinAlgError:
        return variance
    usable = np.isfinite(precision) & (precision > 0)
    return variance if not usable.all() else np.minimum(1 / precision, variance)


def brokers_needed(resources: Resources, z: float) -> float:
    """The least number of brokers, as large as the largest, for margins of z or more."""
    capacity = float(resources.capacity.max())
    load, own = resources.load / capacity, resources.own * (z / capacity) ** 2
    mixed = float(np.sqrt(own * load + own * own / 4).sum())
    common = z * resources.common / capacity
    return float(load.sum() + own.sum() / 2 + np.hypot(mixed, common))


def margin_bound(problem: Problem) -> float:
    """No placement has a least margin above this, under the normal model.

    Where mean loads alone are too much it is 0. A matrix that is no covariance has no bound: FAR.
    """
    if not is_covariance(problem.spread.matrix):
        return FAR
    resources = resources_of(problem)
    brokers = resources.brokers
    if brokers_needed(resources, 0.0) > brokers:
        return _overfull(resources)
    low, high = 0.0, 1.0
    while brokers_needed(resources, high) < brokers:
        low, high = high, 2 * high
        if high > FAR:
            return FAR
    for _ in range(ROUNDS):
        middle = (low + high) / 2
        low, high = (middle, high) if brokers_needed(resources, middle) < brokers else (low, middle)
    return high


def _overfull(resources: Resources) -> float:
    """The mean load alone is too much: some broker's margin is below 0."""
    return 0.0 if resources.load.sum() > 0 else FAR


def even_margin(problem: Problem) -> float:
    """The margin of brokers that all have the same part of everything. It is no bound."""
    resources = resources_of(problem)
    count = len(resources.capacity)
    room = resources.capacity.mean() - resources.load.sum() / count
    spread = (resources.common / count) ** 2 + resources.own.sum() / count
    return float(room / np.sqrt(spread)) if spread > 0 else FAR


def product_bound(problem: Problem, least_margin: float) -> float:
    """No placement with margins of `least_margin` (0 or more) has a larger log of the product.

    Prices are those of a margin z; a broker at margin t z can take items worth `_most(t)` at most.
    So sum log P(t_b z) + h (sum _most(t_b) - all prices) bounds it for every h >= 0; the smallest
    of some z and h is taken. Cells are rounded upwards: the bound holds whatever their size.
    """
    best = 0.0
    top = margin_bound(problem)
    if top <= 0:
        return float(len(problem.brokers) * log_below(0.0))
    resources = resources_of(problem)
    for share in (0.5, 0.7, 0.85, 0.95, 1.0):
        best = min(best, _product_at(resources, top * share, max(least_margin, 0.0)))
    return best


def _product_at(resources: Resources, z: float, least: float) -> float:
    capacity = float(resources.capacity.max())
    own = resources.own * (z / capacity) ** 2
    load = resources.load / capacity
    mixed = float(np.sqrt(own * load + own * own / 4).sum())
    common = z * resources.common / capacity
    tangent = common / np.hypot(mixed, common) if common > 0 else 0.0
    needed = brokers_needed(resources, z)
    carried = load > 0
    ratios = own[carried] / load[carried]
    ratio = (float(ratios.min(initial=np.inf)), float(ratios.max(initial=0.0)))
    ends = np.linspace(min(least / z, 0.999), 3.0, CELLS + 1)
    most = np.array([_most(t, ratio, tangent) for t in ends[:-1]])
    value = np.array([log_below(t * z) for t in ends[1:]])
    most, value = np.append(most, _most(3.0, ratio, tangent)), np.append(value, 0.0)
    shares = resources.capacity / capacity
    best = 0.0
    for price in np.geomspace(1e-6, 10.0, 60):
        each = (value[:, None] + price * most[:, None] * shares[None, :]).max(0)
        best = min(best, float(each.sum() - price * needed))
    return best


def _most(t: float, ratio: tuple[float, float], tangent: float) -> float:
    """The worth of items, at prices of a margin, that fit a broker at t times that margin.

    The largest of (A + p f) / (B + sqrt(t^2 f^2 + K)) over common parts f is
    A B - sqrt(K) sqrt(A^2 - p^2 / t^2), as B^2 - K = 1; or p / t, far out. Then over own variances
    per load, between the least and the largest: in each cell every term is where it is worst.
    """
    if t <= 0:
        return 1e6
    least = max(ratio[0], 1e-9 * ratio[1], 1e-300)
    own = np.geomspace(least, max(ratio[1], least), GRID)
    own[0] = ratio[0]
    price = 1 + own / 2 + np.sqrt(1 - tangent * tangent) * np.sqrt(own + own * own / 4)
    whole = 1 + t * t * own / 2
    root = t * np.sqrt(own + t * t * own * own / 4)
    left = np.sqrt(np.maximum(price**2 - (tangent / t) ** 2, 0.0))
    inside = price[1:] * whole[1:] - root[:-1] * left[:-1]
    return max(float(inside.max()), tangent / t, 1.0 if t <= 1 else 0.0)
