"""The whole of it: search, bound, as few moves as give most of the gain, their order, policies."""

from dataclasses import dataclass, replace

import numpy as np

from ropewalk.placement.judge import Rejection, rejections
from ropewalk.placement.moves import Way, relabelled, safe_part, settled, way
from ropewalk.placement.policies import CaseBase, Policy, case_base, policies, quiet
from ropewalk.placement.problems import Ints, Problem
from ropewalk.placement.risk import margins
from ropewalk.placement.solve import starts
from ropewalk.placement.solve.bound import margin_bound, product_bound
from ropewalk.placement.solve.exact import exact
from ropewalk.placement.solve.ground import ground_of, state_of
from ropewalk.placement.solve.scores import Model, Objective
from ropewalk.placement.solve.search import Effort, Found, excess_of, search
from ropewalk.placement.solve.stepwise import nearer

GAIN = 0.9
QUIET_MARGIN = 3.0
EXACT_NODES = 300_000
TINY = 14
"""Up to so many items the best placement is proven, if that takes no longer than a moment."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A placement, how it was found and how good it can be at most."""

    problem: Problem
    objective: Objective
    model: Model
    today: Ints | None
    """None if some item is nowhere today."""
    place: Ints
    best: Ints
    """The best placement that was found, whatever moves it takes."""
    bound: float | None
    """Of the least margin, or of the product's logarithm; None where there is none."""
    proven: bool
    """No placement within the rules is better than `best`."""
    way: Way
    cases: CaseBase
    policies: tuple[Policy, ...]
    quiet: Policy | None
    """Brokers that can be switched off in quiet hours, if these were asked about and any can."""
    broken: tuple[Rejection, ...]

    @property
    def moves(self) -> int:
        """Items that are elsewhere than today."""
        return int((self.problem.rules.today != self.place).sum())

    @property
    def best_moves(self) -> int:
        """Items that the best placement would move."""
        return int((self.problem.rules.today != self.best).sum())


def place(
    problem: Problem,
    objective: Objective = Objective.MARGIN,
    *,
    model: Model = Model.NORMAL,
    gain: float = GAIN,
    at_once: int = 2,
    seed: int = 1,
    effort: Effort | None = None,
    quiet_hours: Problem | None = None,
) -> Placed:
    """Place items on brokers.

    From a known placement as few items are moved as give the part `gain` of what the least margin
    can gain. Policies are made for all failures of up to `at_once` brokers, and for the quiet
    hours if there is a problem with their rates.
    """
    found, proven = best_of(problem, objective, model=model, seed=seed, effort=effort)
    best = relabelled(problem, found.place)
    chosen, moves = _safely(problem, _near(problem, best, objective, model, gain), model)
    known = bool((problem.rules.today >= 0).all())
    made = policies(problem, chosen, at_once=at_once, model=model) if at_once else []
    calm = _quiet(quiet_hours, chosen, model) if quiet_hours is not None else None
    return Placed(
        problem,
        objective,
        model,
        problem.rules.today if known else None,
        chosen,
        best,
        _bound(problem, objective, model),
        proven,
        moves,
        case_base(problem, chosen, made, {"quiet": calm} if calm else None),
        tuple(made),
        calm,
        tuple(rejections(problem, chosen, model)),
    )


def _safely(problem: Problem, chosen: Ints, model: Model) -> tuple[Ints, Way]:
    """A placement and the way to it; only part of it if that hurts nobody and gains over half."""
    found = way(problem, chosen, model)
    part = safe_part(problem, chosen, found, model)
    if part is None or excess_of(problem, part, model) > excess_of(problem, chosen, model):
        return chosen, found
    now, after, least = (
        float(margins(problem, one, model).min()) for one in (problem.rules.today, chosen, part)
    )
    short = way(problem, part, model)
    return (part, short) if short.safe and least - now > (after - now) / 2 else (chosen, found)


def _quiet(problem: Problem, chosen: Ints, model: Model) -> Policy | None:
    """With every margin as large as the limits of risk want it, and 3 where there is no limit."""
    floor = float(problem.rules.least_margin.max())
    return quiet(problem, chosen, floor if np.isfinite(floor) else QUIET_MARGIN, model=model)


def best_of(
    problem: Problem,
    objective: Objective,
    *,
    model: Model = Model.NORMAL,
    seed: int = 1,
    effort: Effort | None = None,
) -> tuple[Found, bool]:
    """The best placement that is found; of few items it is also proven to be the best."""
    found = search(problem, objective, model=model, seed=seed, effort=effort)
    if len(problem.items) > TINY:
        return found, False
    value = -np.inf if found.excess > 0 else _value(problem, found.place, objective, model)
    sure = exact(problem, objective, model=model, known=value, most_nodes=EXACT_NODES)
    if sure.place is None:
        return found, sure.proven and found.excess <= 0
    if objective is not Objective.MARGIN:
        return replace(found, place=sure.place, value=sure.value, excess=0.0), sure.proven
    best = _then_product(problem, sure.place, model)
    least = float(margins(problem, best, model).min())
    return replace(found, place=best, value=least, excess=0.0), sure.proven


def _then_product(problem: Problem, where: Ints, model: Model) -> Ints:
    """Of all placements with the same least margin, the one with the largest product."""
    floor = float(margins(problem, where, model).min()) - 1e-9
    rules = replace(problem.rules, least_margin=np.maximum(problem.rules.least_margin, floor))
    known = _value(problem, where, Objective.PRODUCT, model)
    better = exact(
        replace(problem, rules=rules),
        Objective.PRODUCT,
        model=model,
        known=known,
        most_nodes=EXACT_NODES,
    )
    return where if better.place is None else better.place


def _value(problem: Problem, where: Ints, objective: Objective, model: Model) -> float:
    state = state_of(ground_of(problem, objective, model), where)
    return float(state.score.min() if objective is Objective.MARGIN else state.score.sum()) - 1e-5


def _near(problem: Problem, best: Ints, objective: Objective, model: Model, gain: float) -> Ints:
    """A placement nearer to today's that is nearly as good as the best; else the best itself."""
    if objective is not Objective.MARGIN or not (problem.rules.today >= 0).any():
        return best
    start = starts.today(problem)
    ground = ground_of(problem, objective, model, floors=False)
    now, most = (float(margins(problem, one, model).min()) for one in (start, best))
    goal = now + gain * (most - now)
    near = nearer(ground, state_of(ground, start), goal)
    reached = float(margins(problem, near, model).min())
    excess, least = (excess_of(problem, one, model) for one in (near, best))
    all_of_it = settled(problem, best, model, floor=min(goal, most))
    if reached < min(goal, most) - 1e-9 or excess > least + 1e-9:
        return all_of_it
    near = settled(problem, near, model, floor=min(goal, most))
    today = problem.rules.today
    return near if (near != today).sum() < (all_of_it != today).sum() else all_of_it


def _bound(problem: Problem, objective: Objective, model: Model) -> float | None:
    if model is not Model.NORMAL:
        return None
    if objective is Objective.MARGIN:
        return margin_bound(problem)
    floor = float(problem.rules.least_margin.min())
    if objective is Objective.PRODUCT and np.isfinite(floor) and floor >= 0:
        return product_bound(problem, floor)
    return None
