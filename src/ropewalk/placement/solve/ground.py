"""A problem as the kernels see it: arrays that stay (Ground), and arrays that change (State)."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ropewalk.kernels import inlined, kernel
from ropewalk.placement.performance import Reals
from ropewalk.placement.problems import Ints, Problem
from ropewalk.placement.solve.scores import margin, score

Bytes = npt.NDArray[np.uint8]
Whole = int | np.int64
"""A number of an item or a broker; in a kernel it is a 64-bit one."""

SERVICE, DELAY, COPIES, COUNT, VOLUME = range(5)
"""Columns of caps."""
RATE_OF, COPIES_OF, COUNT_OF, VOLUME_OF = range(4)
"""Rows of weights, and columns of what a broker has."""


class Ground(NamedTuple):
    """What stays."""

    objective: int
    model: int
    ruled: bool
    """Whether there is any rule besides where items are allowed and least margins."""
    floor: Reals
    """Least margins of brokers."""
    limit: Reals
    work: Reals
    """items x brokers: what a step asks for of an item lies together."""
    matrix: Reals
    loadings: Reals
    own: Reals
    weights: Reals
    """4 x items: rate, copies, one, bytes."""
    allowed: Bytes
    caps: Reals
    """brokers x 5."""
    site: Ints
    site_caps: Reals
    """sites x 2: items, rate."""
    first: Ints
    """Of each item, where its rivals begin in `rivals`; and the end."""
    rivals: Ints
    """Items that must not be on the same broker."""
    today: Ints
    most_moves: int
    order: Ints
    """Items by their own variance per load: swaps of neighbours change few things at once."""
    rank: Ints


class State(NamedTuple):
    """What changes with each move; the sums are over the items of a broker."""

    place: Ints
    load: Reals
    dense: Reals
    """The matrix' part of the variance."""
    sums: Reals
    """brokers x items: covariance of each item with a broker's work."""
    factors: Reals
    """brokers x factors."""
    own: Reals
    variance: Reals
    margin: Reals
    score: Reals
    has: Reals
    """brokers x 4: rate, copies, items, bytes."""
    excess: Reals
    """By how much a broker breaks its rules."""
    at_site: Reals
    """sites x 2: items, rate."""
    moved: Ints
    """How many items are not where they are today: one number."""


def ground_of(
    problem: Problem, objective: int = 0, model: int = 0, *, floors: bool = True
) -> Ground:
    """The arrays of a problem.

    Without `floors`, a least margin that is the same for all brokers is left out: to make the
    least margin as large as can be keeps it if that is possible, and else does the least harm. As
    a rule it would count how many brokers are below it, and give one up for the others.
    """
    rules, spread = problem.rules, problem.spread
    weights = np.stack(
        [
            problem.rate_msgs_s,
            problem.rate_msgs_s * problem.replication,
            np.ones(len(problem.items)),
            problem.rate_msgs_s * problem.bytes_each,
        ]
    )
    caps = np.stack(
        [
            rules.most_service_s,
            rules.most_delay_s,
            rules.most_replication,
            rules.most_items,
            rules.most_bytes_s,
        ],
        axis=1,
    )
    site_caps = np.stack([rules.most_items_at, rules.most_rate_at], axis=1)
    first, rivals = _rivals(problem)
    bounded = rules.most_moves is not None and (rules.today >= 0).any()
    ruled = bool(np.isfinite(caps).any() or np.isfinite(site_caps).any() or len(rivals) or bounded)
    free = np.full(len(problem.brokers), -np.inf)
    order = np.argsort(_own_per_load(problem), kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return Ground(
        int(objective),
        int(model),
        ruled,
        rules.least_margin if floors or _differ(rules.least_margin) else free,
        problem.limit,
        np.ascontiguousarray(problem.work_s.T),
        spread.matrix,
        spread.loadings,
        spread.own,
        weights,
        np.ascontiguousarray(rules.allowed).astype(np.uint8),
        caps,
        rules.site,
        site_caps,
        first,
        rivals,
        rules.today,
        rules.most_moves if bounded and rules.most_moves is not None else len(problem.items),
        order,
        rank,
    )


def _differ(values: Reals) -> bool:
    return bool((values != values[0]).any())


def _own_per_load(problem: Problem) -> Reals:
    work, rate = problem.work_s.mean(0), problem.rate_msgs_s
    varying = problem.spread.own if not len(problem.spread.matrix) else problem.spread.variance
    found: Reals = work * varying / np.maximum(rate, 1e-300)
    return found


def _rivals(problem: Problem) -> tuple[Ints, Ints]:
    if not problem.rules.apart:
        return np.zeros(len(problem.items) + 1, np.int64), np.zeros(0, np.int64)
    others: list[set[int]] = [set() for _ in problem.items]
    for group in problem.rules.apart:
        for one in group:
            others[one] |= set(group) - {one}
    first = np.concatenate([[0], np.cumsum([len(one) for one in others])]).astype(np.int64)
    return first, np.array([b for one in others for b in sorted(one)], np.int64)


def state_of(ground: Ground, place: Ints) -> State:
    """The state of a placement."""
    count, width = ground.work.shape
    state = State(
        np.array(place, np.int64),
        np.zeros(width),
        np.zeros(width),
        np.zeros((width, count if len(ground.matrix) else 0)),
        np.zeros((width, ground.loadings.shape[1])),
        np.zeros(width),
        np.zeros(width),
        np.zeros(width),
        np.zeros(width),
        np.zeros((width, 4)),
        np.zeros(width),
        np.zeros((len(ground.site_caps), 2)),
        np.zeros(1, np.int64),
    )
    build(ground, state)
    return state


@kernel
def build(ground: Ground, state: State) -> None:
    """All sums anew: those of many moves gather errors of rounding."""
    place = state.place
    state.load[:] = 0
    state.dense[:] = 0
    state.sums[:] = 0
    state.factors[:] = 0
    state.own[:] = 0
    state.has[:] = 0
    state.at_site[:] = 0
    state.moved[0] = 0
    for i in range(len(place)):
        b = place[i]
        work = ground.work[i, b]
        state.load[b] += work * ground.weights[0, i]
        state.own[b] += work * work * ground.own[i]
        for f in range(ground.loadings.shape[1]):
            state.factors[b, f] += work * ground.loadings[i, f]
        if len(ground.matrix):
            for j in range(len(place)):
                state.sums[b, j] += work * ground.matrix[i, j]
        for w in range(4):
            state.has[b, w] += ground.weights[w, i]
        state.at_site[ground.site[b], 0] += 1
        state.at_site[ground.site[b], 1] += ground.weights[0, i]
        if ground.today[i] >= 0 and ground.today[i] != b:
            state.moved[0] += 1
    if len(ground.matrix):
        for i in range(len(place)):
            state.dense[place[i]] += ground.work[i, place[i]] * state.sums[place[i], i]
    for b in range(len(state.load)):
        variance = state.dense[b] + state.own[b]
        for f in range(ground.loadings.shape[1]):
            variance += state.factors[b, f] ** 2
        judge(ground, state, b, variance)


@kernel
def judge(ground: Ground, state: State, b: Whole, variance: float) -> None:
    """A broker's variance, margin, score and excess, from its sums."""
    state.variance[b] = variance
    z = margin(ground.model, ground.limit[b], state.load[b], variance)
    state.margin[b] = z
    state.score[b] = score(
        ground.objective, z, state.load[b], variance, state.has[b, 0], ground.limit[b]
    )
    state.excess[b] = max(0.0, ground.floor[b] - z)
    if ground.ruled:
        state.excess[b] += excess_after(ground, state, b, -1, -1, state.load[b])


@kernel
def excess(
    ground: Ground,
    b: Whole,
    load: float,
    rate: float,
    copies: float,
    count: float,
    volume: float,
) -> float:
    """By how much a broker with these sums breaks its rules but the least margin."""
    caps, over = ground.caps[b], 0.0
    if count <= 0:
        return over
    if load > caps[0] * rate * (1 + 1e-12):
        over += load / (caps[0] * rate) - 1
    if caps[1] < np.inf:
        free = 1 - load
        if free <= 0:
            over += 10 + load
        elif load > caps[1] * rate * free * (1 + 1e-12):
            over += load / (caps[1] * rate * free) - 1
    if copies > caps[2] * rate * (1 + 1e-12):
        over += copies / (caps[2] * rate) - 1
    if count > caps[3]:
        over += count - caps[3]
    if volume > caps[4] * (1 + 1e-12):
        over += volume / caps[4] - 1
    return over


@inlined
def variance_after(
    matrix: Reals,
    loadings: Reals,
    own_of: Reals,
    work: Reals,
    dense: Reals,
    sums: Reals,
    factors: Reals,
    own: Reals,
    b: Whole,
    out: Whole,
    new: Whole,
) -> tuple[float, float]:
    """The variance of a broker that gives `out` and takes `new`; -1 for none. Also its dense part.

    O(1) with a matrix, as the sums with each broker are kept; O(factors) with factors. Arrays are
    given one by one: to take them out of a record costs more than the sums.
    """
    give = work[out, b] if out >= 0 else 0.0
    take = work[new, b] if new >= 0 else 0.0
    part = dense[b]
    rest = own[b]
    if out >= 0:
        rest -= give * give * own_of[out]
    if new >= 0:
        rest += take * take * own_of[new]
    if len(matrix) > 0:
        if out >= 0:
            part += give * (give * matrix[out, out] - 2 * sums[b, out])
        if new >= 0:
            part += take * (take * matrix[new, new] + 2 * sums[b, new])
        if out >= 0 and new >= 0:
            part -= 2 * give * take * matrix[out, new]
    common = 0.0
    if out >= 0 and new >= 0:
        for f in range(loadings.shape[1]):
            one = factors[b, f] - give * loadings[out, f] + take * loadings[new, f]
            common += one * one
    elif out >= 0:
        for f in range(loadings.shape[1]):
            one = factors[b, f] - give * loadings[out, f]
            common += one * one
    elif new >= 0:
        for f in range(loadings.shape[1]):
            one = factors[b, f] + take * loadings[new, f]
            common += one * one
    return part + rest + common, part


@kernel
def shift(
    matrix: Reals,
    loadings: Reals,
    own_of: Reals,
    work: Reals,
    weights: Reals,
    place: Ints,
    sums: Reals,
    factors: Reals,
    own: Reals,
    has: Reals,
    i: Whole,
    a: Whole,
    b: Whole,
) -> None:
    """Put i from a to b in all sums but the load and the dense part of the variance."""
    give = work[i, a]
    take = work[i, b]
    own[a] -= give * give * own_of[i]
    own[b] += take * take * own_of[i]
    for f in range(loadings.shape[1]):
        factors[a, f] -= give * loadings[i, f]
        factors[b, f] += take * loadings[i, f]
    if len(matrix) > 0:
        for q in range(matrix.shape[1]):
            sums[a, q] -= give * matrix[i, q]
            sums[b, q] += take * matrix[i, q]
    for w in range(4):
        has[a, w] -= weights[w, i]
        has[b, w] += weights[w, i]
    place[i] = b


@kernel
def excess_after(
    ground: Ground, state: State, b: Whole, out: Whole, new: Whole, load: float
) -> float:
    """By how much a broker that gives `out` and takes `new` breaks its rules but the margin."""
    rate, copies, count, volume = (
        state.has[b, 0],
        state.has[b, 1],
        state.has[b, 2],
        state.has[b, 3],
    )
    if out >= 0:
        rate -= ground.weights[0, out]
        copies -= ground.weights[1, out]
        count -= 1
        volume -= ground.weights[3, out]
    if new >= 0:
        rate += ground.weights[0, new]
        copies += ground.weights[1, new]
        count += 1
        volume += ground.weights[3, new]
    return excess(ground, b, load, rate, copies, count, volume)
