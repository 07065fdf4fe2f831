"""Tabu search for few items: the best of all moves and swaps, again and again.

What was moved may not go back for some turns (Glover 1989). On small problems with many ups and
downs it ends higher than annealing in the same time, and makes a good end after it.
"""

import numpy as np

from ropewalk.kernels import kernel
from ropewalk.placement.problems import Ints
from ropewalk.placement.solve.anneal import whole
from ropewalk.placement.solve.ground import (
    Ground,
    State,
    Whole,
    build,
    excess_after,
    shift,
    variance_after,
)
from ropewalk.placement.solve.scores import margin, score
from ropewalk.placement.solve.steps import note, strain
from ropewalk.placement.solve.stepwise import resum

LEAST_REST, MORE_REST = 4, 7
"""How many turns an item stays where it came to: at least, and at most so many more."""


@kernel
def tabu(
    ground: Ground, state: State, best: Ints, turns: int, seed: int, goal: float
) -> tuple[float, float, int]:
    """Search from a state; the best placement, its excess and value, and the turns taken."""
    objective, model, ruled, floor = ground.objective, ground.model, ground.ruled, ground.floor
    limit, work, weights = ground.limit, ground.work, ground.weights
    matrix, loadings, own_of = ground.matrix, ground.loadings, ground.own
    allowed = ground.allowed
    place, load, dense, sums = state.place, state.load, state.dense, state.sums
    factors, own, has = state.factors, state.own, state.has
    scores, broken = state.score, state.excess

    np.random.seed(seed)
    count, width = len(place), len(load)
    rests = np.zeros((count, width), np.int64)
    excess, value = whole(ground, state)
    best[:] = place
    turn = 0
    while turn < turns and width > 1:
        turn += 1
        now_excess, now = whole(ground, state)
        chosen: Whole = -1
        with_: Whole = -1
        to: Whole = -1
        fewest, most = np.inf, -np.inf
        for i in range(count):
            a = place[i]
            for other in range(width + count - i - 1):
                if other < width:
                    j, b = np.int64(-1), np.int64(other)
                else:
                    j = np.int64(i + 1 + other - width)
                    b = place[j]
                if b == a or not allowed[b, i] or (j >= 0 and not allowed[a, j]):
                    continue
                change = strain(ground, state, i, a, b, j) if ruled else 0.0
                if change > 0:
                    continue
                more, less = -weights[0, i] * work[i, a], weights[0, i] * work[i, b]
                rate = weights[0, i]
                if j >= 0:
                    more += weights[0, j] * work[j, a]
                    less -= weights[0, j] * work[j, b]
                    rate -= weights[0, j]
                variance_a, _ = variance_after(
                    matrix, loadings, own_of, work, dense, sums, factors, own, a, i, j
                )
                variance_b, _ = variance_after(
                    matrix, loadings, own_of, work, dense, sums, factors, own, b, j, i
                )
                load_a, load_b = load[a] + more, load[b] + less
                z_a = margin(model, limit[a], load_a, variance_a)
                z_b = margin(model, limit[b], load_b, variance_b)
                score_a = score(objective, z_a, load_a, variance_a, has[a, 0] - rate, limit[a])
                score_b = score(objective, z_b, load_b, variance_b, has[b, 0] + rate, limit[b])
                if objective == 0:
                    gain = min(score_a, score_b) - min(scores[a], scores[b])
                else:
                    gain = score_a + score_b - scores[a] - scores[b]
                worse = max(0.0, floor[a] - z_a) + max(0.0, floor[b] - z_b) - broken[a] - broken[b]
                worse += change
                if ruled:
                    worse += excess_after(ground, state, a, i, j, load_a)
                    worse += excess_after(ground, state, b, j, i, load_b)
                if worse > fewest + 1e-12 or (worse > fewest - 1e-12 and gain <= most):
                    continue
                resting = rests[i, b] > turn or (j >= 0 and rests[j, a] > turn)
                if resting and not (
                    now_excess + worse <= excess + 1e-12 and objective > 0 and now + gain > value
                ):
                    continue
                chosen, with_, to, fewest, most = i, j, b, worse, gain
        if chosen < 0:
            break
        a, b = place[chosen], np.int64(to)
        rests[chosen, a] = turn + LEAST_REST + np.random.randint(MORE_REST)
        if with_ >= 0:
            rests[with_, b] = turn + LEAST_REST + np.random.randint(MORE_REST)
        if ruled:
            note(ground, state, chosen, a, b, with_)
        shift(matrix, loadings, own_of, work, weights, place, sums, factors, own, has, chosen, a, b)
        if with_ >= 0:
            shift(
                matrix, loadings, own_of, work, weights, place, sums, factors, own, has, with_, b, a
            )
        resum(ground, state, a)
        resum(ground, state, b)
        if turn % 256 == 0:
            build(ground, state)
        now_excess, now = whole(ground, state)
        if now_excess < excess - 1e-12 or (now_excess <= excess + 1e-12 and now > value):
            excess, value = now_excess, now
            best[:] = place
            if value >= goal and excess <= 1e-12:
                break
    return excess, value, turn
