"""Annealing: moves and swaps of random items, each judged in O(1) or O(factors).

For the least margin a step is judged by the lesser margin of the two brokers it touches. That
balances every pair, and needs no temperature to speak of; measured, it ends nearer to the bound
than any smooth stand-in for the minimum. Swaps reach for items of a similar variance per load,
near or far by chance: near ones balance what is shared without mixing large items with small.
"""

import numpy as np

from ropewalk.kernels import kernel
from ropewalk.placement.problems import Ints
from ropewalk.placement.solve.ground import (
    Ground,
    State,
    build,
    excess_after,
    shift,
    variance_after,
)
from ropewalk.placement.solve.scores import margin, score
from ropewalk.placement.solve.steps import note, strain

LOGS = np.log((np.arange(4096) + 0.5) / 4096)
"""Logarithms of random numbers: the threshold of Metropolis' rule."""
ROUNDS = 32
"""How often sums are made anew, at most."""
SWAPS = 717
"""Of 1,024 steps; the others move one item."""


@kernel
def anneal(
    ground: Ground,
    state: State,
    best: Ints,
    steps: int,
    hot: float,
    cold: float,
    seed: int,
    goal: float,
) -> tuple[float, float, int]:
    """Search from a state; the best placement, its excess and its value; and the steps taken.

    A smaller excess is better than any value. Ends early where the value reaches the goal.
    """
    objective, model, ruled, floor = ground.objective, ground.model, ground.ruled, ground.floor
    limit, work, weights = ground.limit, ground.work, ground.weights
    matrix, loadings, own_of = ground.matrix, ground.loadings, ground.own
    allowed, order, rank = ground.allowed, ground.order, ground.rank
    place, load, dense, sums = state.place, state.load, state.dense, state.sums
    factors, own, has = state.factors, state.own, state.has
    scores, margins, variance, broken = state.score, state.margin, state.variance, state.excess

    count, width = len(place), len(load)
    x = np.uint64(seed * 2 + 1) * np.uint64(0x9E3779B97F4A7C15)
    excess, value = whole(ground, state)
    best[:] = place
    if width < 2:
        return excess, value, 0
    block = 512
    reaches = np.array([max(count // 3**near, 4) for near in range(4)])
    turns = max(steps // block, 1)
    taken, anew = 0, max(turns // ROUNDS, 64)
    for turn in range(turns):
        heat = hot * (cold / hot) ** (turn / turns)
        if turn % anew == anew - 1:
            build(ground, state)
        changed = False
        for _ in range(block):
            x ^= x >> np.uint64(12)
            x ^= x << np.uint64(25)
            x ^= x >> np.uint64(27)
            drawn = x * np.uint64(0x2545F4914F6CDD1D)
            x ^= x >> np.uint64(12)
            x ^= x << np.uint64(25)
            x ^= x >> np.uint64(27)
            again = x * np.uint64(0x2545F4914F6CDD1D)
            i = np.int64(((drawn >> np.uint64(40)) * np.uint64(count)) >> np.uint64(24))
            a = place[i]
            if (again & np.uint64(1023)) < np.uint64(SWAPS):
                reach = reaches[np.int64((again >> np.uint64(10)) & np.uint64(3))]
                far = np.int64(
                    ((again >> np.uint64(40)) * np.uint64(2 * reach + 1)) >> np.uint64(24)
                )
                at = rank[i] + far - reach
                if at < 0 or at >= count:
                    continue
                j = order[at]
                b = place[j]
                if b == a or not allowed[a, j]:
                    continue
                more = weights[0, j] * work[j, a] - weights[0, i] * work[i, a]
                less = weights[0, i] * work[i, b] - weights[0, j] * work[j, b]
                rate = weights[0, i] - weights[0, j]
            else:
                j = np.int64(-1)
                b = np.int64(((again >> np.uint64(40)) * np.uint64(width - 1)) >> np.uint64(24))
                if b >= a:
                    b += 1
                more = -weights[0, i] * work[i, a]
                less = weights[0, i] * work[i, b]
                rate = weights[0, i]
            if not allowed[b, i]:
                continue
            change = strain(ground, state, i, a, b, j) if ruled else 0.0
            if change > 0:
                continue
            variance_a, dense_a = variance_after(
                matrix, loadings, own_of, work, dense, sums, factors, own, a, i, j
            )
            variance_b, dense_b = variance_after(
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
            excess_a, excess_b = max(0.0, floor[a] - z_a), max(0.0, floor[b] - z_b)
            if ruled:
                excess_a += excess_after(ground, state, a, i, j, load_a)
                excess_b += excess_after(ground, state, b, j, i, load_b)
            worse = excess_a + excess_b - broken[a] - broken[b] + change
            if worse > 1e-12 or (
                worse > -1e-12 and gain <= heat * LOGS[np.int64(drawn & np.uint64(4095))]
            ):
                continue
            changed = True
            if ruled:
                note(ground, state, i, a, b, j)
            shift(matrix, loadings, own_of, work, weights, place, sums, factors, own, has, i, a, b)
            if j >= 0:
                shift(
                    matrix, loadings, own_of, work, weights, place, sums, factors, own, has, j, b, a
                )
            load[a], load[b], dense[a], dense[b] = load_a, load_b, dense_a, dense_b
            variance[a], variance[b], margins[a], margins[b] = variance_a, variance_b, z_a, z_b
            scores[a], scores[b], broken[a], broken[b] = score_a, score_b, excess_a, excess_b
        taken += block
        if changed:
            now_excess, now = whole(ground, state)
            if now_excess < excess - 1e-12 or (now_excess <= excess + 1e-12 and now > value):
                excess, value = now_excess, now
                best[:] = place
                if value >= goal and excess <= 1e-12:
                    break
    return excess, value, taken


@kernel
def whole(ground: Ground, state: State) -> tuple[float, float]:
    """By how much all rules are broken, and the value of the objective."""
    excess, value = 0.0, 0.0
    for b in range(len(state.excess)):
        excess += state.excess[b]
    if ground.ruled:
        for i in range(len(state.place)):
            for at in range(ground.first[i], ground.first[i + 1]):
                if state.place[ground.rivals[at]] == state.place[i]:
                    excess += 0.5
        excess += max(0, state.moved[0] - ground.most_moves)
        for s in range(len(ground.site_caps)):
            excess += max(0.0, state.at_site[s, 0] - ground.site_caps[s, 0])
            if state.at_site[s, 1] > ground.site_caps[s, 1]:
                excess += state.at_site[s, 1] / ground.site_caps[s, 1] - 1
    if ground.objective == 0:
        value = np.inf
        for b in range(len(state.score)):
            value = min(value, state.score[b])
    else:
        for b in range(len(state.score)):
            value += state.score[b]
    return excess, value
