"""Placement: how good and how fast, against the paper's genetic algorithm and round robin.

Data: sectors of items that vary with a market and with their sector (A: half of the items against
the market, B: all with it), sizes even or heavy-tailed; and, beside these, uniformly random
correlations repaired to the nearest that can be, of which two thirds of all directions have no
variance at all. Seconds are of this machine, with all its cores; kernels are compiled before.
"""

import json
import math
from dataclasses import replace
from time import perf_counter

import numpy as np

from ropewalk.placement import Objective, Problem, Spread, place, problem
from ropewalk.placement.judge import product_of
from ropewalk.placement.performance import Reals
from ropewalk.placement.policies import policies
from ropewalk.placement.problems import Ints
from ropewalk.placement.repair import nearest_correlation
from ropewalk.placement.risk import margins
from ropewalk.placement.rivals.genetic import genetic
from ropewalk.placement.rivals.round_robin import round_robin
from ropewalk.placement.solve import starts
from ropewalk.placement.solve.bound import even_margin, margin_bound
from ropewalk.placement.solve.ground import ground_of
from ropewalk.placement.solve.search import Effort, effort_for, search, until

CAPACITY = 4688.0
LONG = Effort(20_000_000, 3_000, 6)
"""What the best known value comes from."""


def sectors(
    kind: str, items: int, brokers: int, *, load: float, cv: float, seed: int, heavy: bool = False
) -> Problem:
    rng = np.random.default_rng([seed, items])
    mean = rng.lognormal(0, 0.5, items) if heavy else rng.uniform(0.5, 1.5, items)
    mean *= load * brokers * CAPACITY / mean.sum()
    sector, width = rng.integers(0, 10, items), 11
    loadings = np.zeros((items, width))
    sign = np.where(rng.random(items) < 0.5, -1.0, 1.0) if kind == "A" else np.ones(items)
    loadings[:, 0] = rng.uniform(0.2, 0.6, items) * sign
    loadings[np.arange(items), 1 + sector] = rng.uniform(0.3, 0.7, items)
    deviation = cv * mean
    own = (1 - (loadings**2).sum(1)) * deviation**2
    return _problem(mean, Spread.factors(loadings * deviation[:, None], own), brokers)


def repaired(kind: str, items: int, brokers: int, *, load: float, cv: float, seed: int) -> Problem:
    rng = np.random.default_rng([seed, items])
    drawn = np.triu(rng.uniform(-1 if kind == "A" else 0, 1, (items, items)), 1)
    correlation = nearest_correlation(drawn + drawn.T + np.eye(items))
    mean = rng.uniform(0.5, 1.5, items)
    mean *= load * brokers * CAPACITY / mean.sum()
    deviation = cv * mean
    return _problem(mean, Spread.dense(correlation * np.outer(deviation, deviation)), brokers)


def _problem(mean: Reals, spread: Spread, brokers: int) -> Problem:
    if len(mean) <= 1000:
        spread = Spread.dense(spread.whole())
    return problem(mean, spread, np.full(brokers, CAPACITY))


def from_any_start(found: Problem, name: str) -> dict[str, object]:
    """100 x 3: how far from the best known the search ends, whatever the start, and how soon."""
    best = max(search(found, Objective.PRODUCT, seed=s, effort=LONG).value for s in (901, 902))
    taken, ended = [], []
    for number, begin in enumerate(_begins(found)):
        known = replace(found, rules=replace(found.rules, today=begin))
        start = perf_counter()
        one = search(known, Objective.PRODUCT, seed=number + 1)
        taken.append(perf_counter() - start)
        ended.append(one.value)
    best = max(best, *ended)
    behind = [1 - math.exp(value - best) for value in ended]
    return {
        "test": name,
        "best_known_product": math.exp(best),
        "starts": len(ended),
        "behind_best_percent": {
            "median": 100 * float(np.median(behind)),
            "largest": 100 * max(behind),
        },
        "ms": {"median": 1e3 * float(np.median(taken)), "largest": 1e3 * max(taken)},
    }


def _begins(found: Problem) -> list[Ints]:
    """Round robin of different orders, from good to weak, and random placements."""
    rng = np.random.default_rng(7)
    orders = [rng.permutation(len(found.items)) for _ in range(60)]
    robins = sorted((round_robin(found, one) for one in orders), key=lambda p: product_of(found, p))
    return [robins[-1], robins[30], robins[0], *(starts.random(found, s) for s in range(6))]


def against_genetic(found: Problem, name: str) -> dict[str, object]:
    """Time until the search has what the genetic algorithm ends with, and that one's time."""
    ratios, ended = [], []
    genetic(found, round_robin(found), generations=2)
    for seed, begin in enumerate(_begins(found)[:6], 1):
        start = perf_counter()
        bred = genetic(found, begin, seed=seed)
        bred_s = (perf_counter() - start) * bred.generation / bred.generations
        ratios.append(
            bred_s / float(np.median([_reached(found, begin, bred.value, s) for s in range(1, 8)]))
        )
        ended.append(math.exp(bred.value))
    return {
        "test": name,
        "rival": "the paper's genetic algorithm in numba, 100 placements, 400 generations",
        "rival_product": {"least": min(ended), "largest": max(ended)},
        "times_faster": {
            "least": min(ratios),
            "median": float(np.median(ratios)),
            "largest": max(ratios),
        },
    }


def _reached(found: Problem, begin: Ints, goal: float, seed: int) -> float:
    """Seconds until a goal is reached, all set-up included."""
    start = perf_counter()
    one = until(ground_of(found, Objective.PRODUCT), begin, goal, seed=seed)
    seconds = perf_counter() - start
    assert one.value >= goal, (one.value, goal)
    return seconds


def to_bound(kind: str, items: int, brokers: int, *, load: float, heavy: bool) -> dict[str, object]:
    """The least margin against the bound, and how long it took, set-up included."""
    found = sectors(kind, items, brokers, load=load, cv=0.6, seed=1, heavy=heavy)
    start = perf_counter()
    one = search(found)
    seconds = perf_counter() - start
    start = perf_counter()
    bound = margin_bound(found)
    bound_s = perf_counter() - start
    return {
        "items": items,
        "brokers": brokers,
        "test": kind + (", heavy-tailed sizes" if heavy else ""),
        "least_margin": one.value,
        "bound": bound,
        "gap_percent": 100 * (1 - one.value / bound),
        "of_even_margin": one.value / even_margin(found),
        "round_robin": float(margins(found, round_robin(found)).min()),
        "seconds": seconds,
        "bound_seconds": bound_s,
        "steps": effort_for(found).steps,
    }


def failures() -> dict[str, object]:
    """All single and double failures of 1,000 items on 20 brokers."""
    found = sectors("A", 1000, 20, load=0.7, cv=0.6, seed=1)
    place = search(found).place
    start = perf_counter()
    made = policies(found, place)
    seconds = perf_counter() - start
    return {
        "items": 1000,
        "brokers": 20,
        "policies": len(made),
        "seconds": seconds,
        "least_margin": {
            "none": float(margins(found, place).min()),
            "one": min(one.least_margin for one in made if len(one.down) == 1),
            "two": min(one.least_margin for one in made if len(one.down) == 2),
        },
    }


def few_moves() -> dict[str, object]:
    """From round robin, 1,000 items on 20 brokers: moves that give 90 % of the gain, and all."""
    found = sectors("A", 1000, 20, load=0.78, cv=0.6, seed=1, heavy=True)
    known = replace(found, rules=replace(found.rules, today=round_robin(found)))
    placed = place(known, at_once=0)
    least = [float(margins(known, one).min()) for one in (known.rules.today, placed.place)]
    return {
        "moves": placed.moves,
        "moves_of_the_best": placed.best_moves,
        "least_margin": {
            "today": least[0],
            "after": least[1],
            "best": float(margins(known, placed.best).min()),
        },
        "nobody_worse_off_on_the_way": placed.way.safe,
    }


def beyond_even(items: int, brokers: int, load: float) -> dict[str, object]:
    """Items of many sizes with loadings of their own: specialised brokers beat even ones."""
    rng = np.random.default_rng(0)
    mean = rng.lognormal(0, 0.5, items)
    mean *= load * brokers * CAPACITY / mean.sum()
    loadings, common = rng.normal(size=(items, 8)), rng.uniform(0.2, 0.8, items)
    loadings *= np.sqrt(common / (loadings**2).sum(1))[:, None]
    deviation = 0.6 * mean
    spread = Spread.factors(loadings * deviation[:, None], (1 - common) * deviation**2)
    found = problem(mean, spread, np.full(brokers, CAPACITY))
    one = search(found)
    return {
        "items": items,
        "brokers": brokers,
        "of_even_margin": one.value / even_margin(found),
        "gap_to_bound_percent": 100 * (1 - one.value / margin_bound(found)),
    }


def main() -> None:
    hundred = {
        "A": sectors("A", 100, 3, load=0.84, cv=0.6, seed=1),
        "B": sectors("B", 100, 3, load=0.80, cv=0.5, seed=1),
        "A, random correlations": repaired("A", 100, 3, load=0.93, cv=0.6, seed=1),
        "B, random correlations": repaired("B", 100, 3, load=0.80, cv=0.5, seed=1),
    }
    search(hundred["A"], Objective.PRODUCT)
    large = [
        to_bound(kind, items, brokers, load=load, heavy=heavy)
        for items, brokers, load in ((1000, 10, 0.86), (1000, 10, 0.86), (10_000, 50, 0.9))
        for kind in "AB"
        for heavy in (False, True)
    ][4:]  # the first round compiles
    print(
        json.dumps(
            {
                "from_any_start_100x3": [from_any_start(p, name) for name, p in hundred.items()],
                "against_genetic_100x3": [against_genetic(p, name) for name, p in hundred.items()],
                "to_bound": large,
                "failures": failures(),
                "few_moves": few_moves(),
                "beyond_even": [beyond_even(1000, 10, 0.93), beyond_even(10_000, 50, 0.93)],
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
