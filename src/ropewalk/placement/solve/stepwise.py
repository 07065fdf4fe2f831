"""From today's placement by the best steps: for plans that move few items.

Each step helps the broker that needs it most: the one that breaks its rules most, else the one
with the least margin. All its items are tried, moved to every other broker or swapped with every
other item; the step after which the lesser margin of the two is largest is taken.
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
    judge,
    shift,
    variance_after,
)
from ropewalk.placement.solve.scores import margin
from ropewalk.placement.solve.steps import note, strain


@kernel
def stepwise(ground: Ground, state: State, goal: float, most_steps: int) -> int:
    """Take steps until the least margin reaches the goal, or no step helps; how many it took."""
    matrix, loadings, own_of, work = ground.matrix, ground.loadings, ground.own, ground.work
    weights, limit, floor = ground.weights, ground.limit, ground.floor
    place, load, dense, sums = state.place, state.load, state.dense, state.sums
    factors, own, has = state.factors, state.own, state.has
    count, width = len(place), len(load)
    for step in range(most_steps):
        a = _neediest(state)
        if state.excess[a] <= 0 and whole(ground, state)[0] <= 0 and state.margin[a] >= goal:
            return step
        chosen: Whole = -1
        partner: Whole = -1
        to: Whole = -1
        fewest, most = -1e-12, state.margin[a] + 1e-9
        for i in range(count):
            if place[i] != a:
                continue
            for other in range(width + count):
                j = np.int64(other - width)
                if other < width:
                    j, b = np.int64(-1), np.int64(other)
                else:
                    b = place[j]
                if b == a:
                    continue
                change = strain(ground, state, i, a, b, j)
                if change > 0:
                    continue
                variance_a, _ = variance_after(
                    matrix, loadings, own_of, work, dense, sums, factors, own, a, i, j
                )
                variance_b, _ = variance_after(
                    matrix, loadings, own_of, work, dense, sums, factors, own, b, j, i
                )
                load_a = load[a] - work[i, a] * weights[0, i]
                load_b = load[b] + work[i, b] * weights[0, i]
                if j >= 0:
                    load_a += work[j, a] * weights[0, j]
                    load_b -= work[j, b] * weights[0, j]
                z_a = margin(ground.model, limit[a], load_a, variance_a)
                z_b = margin(ground.model, limit[b], load_b, variance_b)
                worse = max(0.0, floor[a] - z_a) + max(0.0, floor[b] - z_b)
                if ground.ruled:
                    worse += excess_after(ground, state, a, i, j, load_a)
                    worse += excess_after(ground, state, b, j, i, load_b)
                worse += change - state.excess[a] - state.excess[b]
                value = min(z_a, z_b)
                if j >= 0:
                    value -= 1e-3 * abs(value)  # a swap is two moves: it has to be worth them
                if worse < fewest - 1e-12 or (worse <= fewest + 1e-12 and value > most):
                    chosen, partner, to, fewest, most = i, j, b, min(worse, fewest), value
        if chosen < 0:
            return step
        b = np.int64(to)
        note(ground, state, chosen, a, b, partner)
        shift(matrix, loadings, own_of, work, weights, place, sums, factors, own, has, chosen, a, b)
        if partner >= 0:
            shift(
                matrix,
                loadings,
                own_of,
                work,
                weights,
                place,
                sums,
                factors,
                own,
                has,
                partner,
                b,
                a,
            )
        if step % 64 == 63:
            build(ground, state)
        else:
            resum(ground, state, a)
            resum(ground, state, b)
    return most_steps


@kernel
def _neediest(state: State) -> Whole:
    worst, excess = 0, 0.0
    for b in range(len(state.excess)):
        if state.excess[b] > excess:
            worst, excess = b, state.excess[b]
    if excess <= 0:
        for b in range(len(state.margin)):
            if state.margin[b] < state.margin[worst]:
                worst = b
    return worst


@kernel
def resum(ground: Ground, state: State, b: Whole) -> None:
    """A broker's load, variance, margin, score and excess from its items: O(items)."""
    load, dense, common = 0.0, 0.0, 0.0
    for i in range(len(state.place)):
        if state.place[i] == b:
            load += ground.work[i, b] * ground.weights[0, i]
            if len(ground.matrix) > 0:
                dense += ground.work[i, b] * state.sums[b, i]
    for f in range(ground.loadings.shape[1]):
        common += state.factors[b, f] ** 2
    state.load[b], state.dense[b] = load, dense
    judge(ground, state, b, dense + state.own[b] + common)


def nearer(ground: Ground, state: State, goal: float) -> Ints:
    """The placement that steps from a state lead to."""
    stepwise(ground, state, goal, 4 * len(state.place))
    return state.place
