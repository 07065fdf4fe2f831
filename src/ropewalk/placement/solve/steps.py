"""Whether a step may be taken by rules on single items, and what it changes over all brokers."""

import numpy as np

from ropewalk.kernels import kernel
from ropewalk.placement.problems import Ints
from ropewalk.placement.solve.ground import Ground, State, Whole


@kernel
def clashes(ground: Ground, place: Ints, item: Whole, b: Whole, leaving: Whole) -> int:
    """Rivals of an item at a broker, without one that leaves it."""
    found = 0
    for at in range(ground.first[item], ground.first[item + 1]):
        other = ground.rivals[at]
        if other != leaving and place[other] == b:
            found += 1
    return found


@kernel
def permitted(ground: Ground, state: State, i: Whole, a: Whole, b: Whole, j: Whole) -> bool:
    """Whether i may go from a to b, and j (or nobody, -1) from b to a, by rules on single items."""
    return strain(ground, state, i, a, b, j) <= 0


@kernel
def strain(ground: Ground, state: State, i: Whole, a: Whole, b: Whole, j: Whole) -> float:
    """How a step changes what is broken over all brokers; infinite if it may not be taken.

    What is broken already may stay broken, but not become worse: so it is 0 or less.
    """
    if not ground.allowed[b, i] or (j >= 0 and not ground.allowed[a, j]):
        return np.inf
    if not ground.ruled:
        return 0.0
    place, today = state.place, ground.today
    found: float = 0.0
    if len(ground.rivals):
        before, after = clashes(ground, place, i, a, -1), clashes(ground, place, i, b, j)
        if j >= 0:
            before += clashes(ground, place, j, b, -1)
            after += clashes(ground, place, j, a, i)
        if after > before:
            return np.inf
        found += after - before
    moved = state.moved[0]
    if today[i] >= 0:
        moved += (today[i] != b) - (today[i] != a)
    if j >= 0 and today[j] >= 0:
        moved += (today[j] != a) - (today[j] != b)
    if moved > ground.most_moves and moved > state.moved[0]:
        return np.inf
    found += max(0, moved - ground.most_moves) - max(0, state.moved[0] - ground.most_moves)
    found += _sites_strain(ground, state, i, a, b, j)
    return found


@kernel
def _sites_strain(ground: Ground, state: State, i: Whole, a: Whole, b: Whole, j: Whole) -> float:
    here, there = ground.site[a], ground.site[b]
    if here == there:
        return 0.0
    found = 0.0
    gain = ground.weights[0, i] - (ground.weights[0, j] if j >= 0 else 0.0)
    more = 0.0 if j >= 0 else 1.0
    for side in range(2):
        s, sign = (there, 1.0) if side else (here, -1.0)
        for what in range(2):
            change = sign * (gain if what else more)
            cap, now = ground.site_caps[s, what], state.at_site[s, what]
            if change > 0 and now + change > cap:
                return np.inf
            if now > cap:
                scale = cap if what else 1.0
                found += (max(now + change, cap) - now) / scale
    return found


@kernel
def note(ground: Ground, state: State, i: Whole, a: Whole, b: Whole, j: Whole) -> None:
    """Count a step, before it is taken, in what is counted over all brokers."""
    for side in range(2 if j >= 0 else 1):
        one, old, new = (j, b, a) if side else (i, a, b)
        here, there = ground.site[old], ground.site[new]
        state.at_site[here, 0] -= 1
        state.at_site[there, 0] += 1
        state.at_site[here, 1] -= ground.weights[0, one]
        state.at_site[there, 1] += ground.weights[0, one]
        if ground.today[one] >= 0:
            state.moved[0] += (ground.today[one] != new) - (ground.today[one] != old)
