"""The search: several starts, each annealed, and few items searched on by tabu; the best of all.

How long is said in steps, not in seconds: the same problem and seed give the same placement on
any machine and any number of cores.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from ropewalk.errors import UsageError
from ropewalk.placement.problems import Ints, Problem
from ropewalk.placement.solve import starts
from ropewalk.placement.solve.anneal import anneal, whole
from ropewalk.placement.solve.ground import Ground, ground_of, state_of
from ropewalk.placement.solve.scores import Model, Objective
from ropewalk.placement.solve.tabu import tabu

SMALL = 160
"""Up to so many items tabu search looks at all moves and swaps."""
MOST_STEPS = 40_000_000
TINY = 24
EVEN = 1e-9
"""Rules that are broken by no more than this are not: it is rounding."""
SLACK = 0.0005
"""What the least margin may lose, of itself, for a better product."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is tried."""

    steps: int
    """Of annealing, from each start."""
    turns: int
    """Of tabu search, after it."""
    starts: int


@dataclass(frozen=True, slots=True)
class Found:
    """A placement, how good it is, and by how much it breaks the rules (0: not at all)."""

    place: Ints
    value: float
    excess: float
    start: str
    steps: int

    @property
    def better_than(self) -> tuple[float, float]:
        """What is compared: fewer rules broken, then a larger value."""
        return (-round(self.excess, 9), self.value)


def effort_for(problem: Problem) -> Effort:
    """What was measured to be enough, and not much more."""
    count, width = len(problem.items), len(problem.brokers)
    if count <= TINY:
        return Effort(30_000, 60, 12)
    if count <= SMALL:
        return Effort(400_000, 50, 4)
    return Effort(min(max(1_500 * count, 40_000 * width, 1_000_000), 3_000_000), 0, 3)


def search(
    problem: Problem,
    objective: Objective = Objective.MARGIN,
    *,
    model: Model = Model.NORMAL,
    seed: int = 1,
    effort: Effort | None = None,
    goal: float = np.inf,
) -> Found:
    """A placement with a large objective that respects the rules, if one is found that does.

    For the margin, the product of all brokers is made larger afterwards, as far as no margin falls
    below the least one found, less a little. Raises UsageError for an objective that the model
    does not have.
    """
    if objective is Objective.EXCESS and model is not Model.NORMAL:
        raise UsageError("messages above a limit are reckoned with the normal model only")
    effort = effort or effort_for(problem)
    ground = ground_of(problem, objective, model, floors=objective is not Objective.MARGIN)
    found = _best(problem, ground, effort, seed, goal)
    found = replace(found, excess=excess_of(problem, found.place, model))
    if objective is not Objective.MARGIN or not np.isfinite(found.value) or found.value >= goal:
        return found
    return _then_product(problem, found, model, effort, seed)


def excess_of(problem: Problem, place: Ints, model: Model = Model.NORMAL) -> float:
    """By how much a placement breaks rules, least margins included; 0 if it breaks none."""
    ground = ground_of(problem, Objective.MARGIN, model)
    return _but_rounding(whole(ground, state_of(ground, place))[0])


def _best(problem: Problem, ground: Ground, effort: Effort, seed: int, goal: float) -> Found:
    begins = _starts(problem, ground, effort.starts, seed)

    def one(number: int) -> Found:
        name, begin = begins[number]
        return improved(ground, begin(), name, effort, (seed * 1000 + number) % 2**32, goal)

    if np.isfinite(goal):  # the first that is good enough will do
        return _first(one, len(begins), goal)
    with ThreadPoolExecutor(min(os.cpu_count() or 1, len(begins))) as pool:
        return max(pool.map(one, range(len(begins))), key=lambda found: found.better_than)


def _first(one: Callable[[int], Found], count: int, goal: float) -> Found:
    best = one(0)
    for number in range(1, count):
        if best.value >= goal and best.excess <= 0:
            break
        best = max(best, one(number), key=lambda found: found.better_than)
    return best


def _starts(
    problem: Problem, ground: Ground, count: int, seed: int
) -> list[tuple[str, Callable[[], Ints]]]:
    found: list[tuple[str, Callable[[], Ints]]] = []
    if (problem.rules.today >= 0).any():
        found.append(("today", lambda: starts.today(problem)))
    if problem.rules.most_moves is not None and found:
        return found * count
    found += [
        ("specialised", lambda: starts.specialised(problem, ground.order)),
        ("even", lambda: starts.even(problem)),
    ]
    while len(found) < count:
        number = len(found)
        found.append(("random", lambda number=number: starts.random(problem, seed + number)))  # type: ignore[misc]
    return found


def until(ground: Ground, place: Ints, goal: float, *, seed: int = 1, first: int = 2_000) -> Found:
    """A placement that reaches a goal: down hill, then by searches of growing length."""
    hot, cold = _heat(ground, "given")
    best = _annealed(ground, place, "given", first * 4, (cold * 1e-3, cold * 1e-4), seed, goal)
    steps, number = first, 0
    while best.value < goal and steps <= MOST_STEPS:
        number += 1
        one = _annealed(ground, place, "given", steps, (hot, cold), seed * 1000 + number, goal)
        best = max(best, one, key=lambda found: found.better_than)
        steps *= 4
    return best


def improved(
    ground: Ground, place: Ints, start: str, effort: Effort, seed: int, goal: float = np.inf
) -> Found:
    """A placement made better: annealing, then tabu search where there are few items."""
    found = _annealed(ground, place, start, effort.steps, _heat(ground, start), seed, goal)
    if not effort.turns or (found.value >= goal and not found.excess):
        return found
    state, better = state_of(ground, found.place), np.empty_like(place)
    excess, value, turns = tabu(ground, state, better, effort.turns, seed, goal)
    return Found(better, value, _but_rounding(excess), start, found.steps + turns)


def _annealed(
    ground: Ground,
    place: Ints,
    start: str,
    steps: int,
    heat: tuple[float, float],
    seed: int,
    goal: float,
) -> Found:
    state, best = state_of(ground, place), np.empty_like(place)
    excess, value, taken = anneal(ground, state, best, steps, *heat, seed, goal)
    return Found(best, value, _but_rounding(excess), start, taken)


def _but_rounding(excess: float) -> float:
    return excess if excess > EVEN else 0.0


def _heat(ground: Ground, start: str) -> tuple[float, float]:
    """Temperatures in the unit of the objective. A good start for margins is not to be melted."""
    if ground.objective == Objective.MARGIN:
        if len(ground.rank) <= TINY:
            return (0.5, 1e-3)
        gentle = start == "specialised" or len(ground.rank) > SMALL
        return (1e-3, 1e-6) if gentle else (3e-2, 1e-5)
    if ground.objective == Objective.PRODUCT:
        return (5e-3, 1e-5)
    worth = float(ground.weights[0].sum()) or 1.0
    return (5e-3 * worth, 1e-5 * worth)


def _then_product(problem: Problem, found: Found, model: Model, effort: Effort, seed: int) -> Found:
    floor = found.value - SLACK * abs(found.value)
    rules = replace(problem.rules, least_margin=np.maximum(problem.rules.least_margin, floor))
    if found.excess > 0:
        return found
    ground = ground_of(replace(problem, rules=rules), Objective.PRODUCT, model)
    little = Effort(effort.steps // 4, effort.turns // 4, 1)
    state, best = state_of(ground, found.place), np.empty_like(found.place)
    drawn = seed % 2**32
    excess, _, steps = anneal(ground, state, best, little.steps, 1e-6, 1e-8, drawn, np.inf)
    if excess > EVEN:
        return found
    value = float(state_of(ground, best).margin.min())
    return Found(best, value, 0.0, found.start, found.steps + steps)
