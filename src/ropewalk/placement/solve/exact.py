"""Branch and cut for few items (Wang 2015, 4.5.3): the best placement, proven.

Items are given to brokers one after another, the largest first. A branch is cut where even the
best that can become of it is no better than what is known: loads only grow, and the variance of
what a broker has cannot fall below what is left of it when all items still to come are known (the
conditional variance), whichever of them it gets.
"""

from dataclasses import dataclass

import numpy as np

from ropewalk.kernels import kernel
from ropewalk.placement.performance import Reals
from ropewalk.placement.problems import Ints, Problem, alike
from ropewalk.placement.repair import is_covariance
from ropewalk.placement.solve.anneal import whole
from ropewalk.placement.solve.ground import Ground, State, build, ground_of, state_of
from ropewalk.placement.solve.scores import (
    FAR,
    Model,
    Objective,
    above,
    log_below,
    margin,
    upper_tail,
)

MOST_NODES = 50_000_000
MOST_ITEMS = 40


@dataclass(frozen=True, slots=True)
class Exact:
    """The best placement that respects the rules, if there is one; and whether that is proven."""

    place: Ints | None
    value: float
    nodes: int
    proven: bool
    """False if the budget of nodes was used up before the end."""


def exact(
    problem: Problem,
    objective: Objective = Objective.MARGIN,
    *,
    model: Model = Model.NORMAL,
    known: float = -np.inf,
    most_nodes: int = MOST_NODES,
) -> Exact:
    """The best placement; `known` is a value that one is known to have.

    Utility and excess are without the constant part, the messages carried.
    """
    ground = ground_of(problem, objective, model)
    order = np.argsort(-problem.load.max(0), kind="stable")
    whole_matrix = problem.spread.whole()[np.ix_(order, order)]
    left = _left(whole_matrix)
    if not is_covariance(whole_matrix):  # then nothing is known of a variance until the end
        left[: len(order)] = 0.0
    best = np.full(len(order), -1)
    start = known - 1e-9 * max(abs(known), 1.0) if np.isfinite(known) else -np.inf
    state = state_of(ground, np.zeros(len(order), np.int64))
    value, nodes, proven = _search(
        ground, state, order, left, _twins(problem), best, start, most_nodes
    )
    return Exact(best if best[0] >= 0 else None, value, nodes, proven)


def _left(matrix: Reals) -> Reals:
    """For each number of items given: the covariance of these when all others are known."""
    count = len(matrix)
    found = np.zeros((count + 1, count, count))
    for given in range(1, count + 1):
        inside, across = matrix[:given, :given], matrix[:given, given:]
        explained = across @ np.linalg.pinv(matrix[given:, given:], hermitian=True) @ across.T
        found[given, :given, :given] = inside - explained
    return found


def _twins(problem: Problem) -> Ints:
    """Of each broker the first that is like it in every way: empty twins are tried once."""
    if problem.rules.most_moves is not None:
        return np.arange(len(problem.brokers))
    kind = alike(problem)
    return np.array([int((kind == one).argmax()) for one in kind])


@kernel
def _search(
    ground: Ground,
    state: State,
    order: Ints,
    left: Reals,
    twins: Ints,
    best: Ints,
    value: float,
    most_nodes: int,
) -> tuple[float, int, bool]:
    count, width = len(order), len(ground.limit)
    given = np.full(count, -1)
    load = np.zeros((count + 1, width))
    rate = np.zeros((count + 1, width))
    held = np.zeros(width, np.int64)
    depth, nodes = 0, 0
    while depth >= 0:
        item = order[depth]
        old = given[depth]
        if old >= 0:
            held[old] -= 1
        b = old + 1
        while b < width and not _worth_trying(ground, twins, held, item, b):
            b += 1
        given[depth] = b
        if b >= width:
            given[depth] = -1
            depth -= 1
            continue
        nodes += 1
        if nodes > most_nodes:
            return value, nodes, False
        held[b] += 1
        load[depth + 1] = load[depth]
        rate[depth + 1] = rate[depth]
        load[depth + 1, b] += ground.work[item, b] * ground.weights[0, item]
        rate[depth + 1, b] += ground.weights[0, item]
        hope = _hope(ground, order, given, left[depth + 1], depth + 1, load, rate)
        if hope <= value:
            continue
        if depth + 1 < count:
            depth += 1
            continue
        for place in range(count):
            state.place[order[place]] = given[place]
        if ground.ruled:
            build(ground, state)
            if whole(ground, state)[0] > 1e-9:
                continue
        value = hope
        best[:] = state.place
    return value, nodes, True


@kernel
def _worth_trying(ground: Ground, twins: Ints, held: Ints, item: int, b: int) -> bool:
    if not ground.allowed[b, item]:
        return False
    if held[b] == 0:
        for other in range(b):
            if twins[other] == twins[b] and held[other] == 0:
                return False
    return True


@kernel
def _hope(
    ground: Ground, order: Ints, given: Ints, left: Reals, depth: int, load: Reals, rate: Reals
) -> float:
    """The best value that can become of what is given; -inf if a least margin cannot be met."""
    objective = ground.objective
    found = np.inf if objective == 0 else 0.0
    for b in range(len(ground.limit)):
        variance = 0.0
        for p in range(depth):
            if given[p] == b:
                row = 0.0
                for q in range(depth):
                    if given[q] == b:
                        row += left[p, q] * ground.work[order[q], b]
                variance += row * ground.work[order[p], b]
        variance = max(variance, 0.0)
        if ground.model != 0 and depth < len(order):
            z = FAR
        else:
            z = margin(ground.model, ground.limit[b], load[depth, b], variance)
            if z < 0 and depth < len(order):
                z = 0.0  # more variance would bring it nearer to zero
        if z < ground.floor[b]:
            return -np.inf
        if objective == 0:
            found = min(found, z)
        elif objective == 1:
            found += log_below(z)
        elif objective == 2:
            found -= rate[depth, b] * upper_tail(z)
        else:
            over = above(z, load[depth, b], variance, ground.limit[b])
            found -= rate[depth, b] * over / ground.limit[b]
    return found
