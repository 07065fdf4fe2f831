"""The paper's genetic algorithm (Wang 2015, 4.5.5), compiled.

An integer per item; single-point crossover; mutation; fitness is the logarithm of the product
with penalties for a risk above its cap; round robin is one of the first generation. Selection is
by tournament, and the best of parents and children live on: a stronger choice than the paper's.
"""

from dataclasses import dataclass

import numpy as np

from ropewalk.kernels import kernel
from ropewalk.placement.performance import Reals
from ropewalk.placement.problems import Ints, Problem
from ropewalk.placement.solve.ground import Ground, ground_of
from ropewalk.placement.solve.scores import Objective, log_below, margin, upper_tail

OFFSET, PENALTY = 10.0, 10.0


@dataclass(frozen=True, slots=True)
class Bred:
    """The best of all generations, and when it was first there."""

    place: Ints
    value: float
    """The logarithm of the product, without offset."""
    generation: int
    generations: int


def genetic(
    problem: Problem,
    first: Ints,
    *,
    size: int = 100,
    generations: int = 400,
    seed: int = 1,
    risk_cap: float = 1.0,
) -> Bred:
    """Breed placements from one that is given and random ones."""
    ground = ground_of(problem, Objective.PRODUCT)
    best = np.array(first, np.int64)
    value, when = _breed(ground, best, size, generations, seed, risk_cap)
    return Bred(best, value - OFFSET, when, generations)


@kernel
def _breed(
    ground: Ground, best: Ints, size: int, generations: int, seed: int, risk_cap: float
) -> tuple[float, int]:
    np.random.seed(seed)
    count, width = ground.work.shape
    people = np.random.randint(0, width, (2 * size, count))
    people[0] = best
    fitness = np.empty(2 * size)
    for one in range(size):
        fitness[one] = _fitness(ground, people[one], risk_cap)
    top, when = fitness[:size].max(), 0
    best[:] = people[fitness[:size].argmax()]
    rate = 1.5 / count
    for generation in range(1, generations + 1):
        for child in range(size, 2 * size):
            a, b = _parent(fitness, size), _parent(fitness, size)
            cut = np.random.randint(0, count) if np.random.random() < 0.9 else count
            people[child, :cut] = people[a, :cut]
            people[child, cut:] = people[b, cut:]
            for i in range(count):
                if np.random.random() < rate:
                    people[child, i] = np.random.randint(0, width)
            fitness[child] = _fitness(ground, people[child], risk_cap)
        order = np.argsort(-fitness)
        people, fitness = people[order], fitness[order]
        if fitness[0] > top + 1e-12:
            top, when = fitness[0], generation
            best[:] = people[0]
    return top, when


@kernel
def _parent(fitness: Reals, size: int) -> int:
    a, b = np.random.randint(0, size), np.random.randint(0, size)
    return a if fitness[a] > fitness[b] else b


@kernel
def _fitness(ground: Ground, place: Ints, risk_cap: float) -> float:
    count, width = ground.work.shape
    load, variance = np.zeros(width), np.zeros(width)
    factors = np.zeros((width, ground.loadings.shape[1]))
    for i in range(count):
        b = place[i]
        work = ground.work[i, b]
        load[b] += work * ground.weights[0, i]
        variance[b] += work * work * ground.own[i]
        for f in range(ground.loadings.shape[1]):
            factors[b, f] += work * ground.loadings[i, f]
        if len(ground.matrix) > 0:
            row = ground.matrix[i]
            across = 0.0
            for j in range(i):
                if place[j] == b:
                    across += row[j] * ground.work[j, b]
            variance[b] += work * (2 * across + work * row[i])
    found = OFFSET
    for b in range(width):
        for f in range(ground.loadings.shape[1]):
            variance[b] += factors[b, f] ** 2
        z = margin(0, ground.limit[b], load[b], variance[b])
        found += log_below(z) - PENALTY * max(0.0, upper_tail(z) - risk_cap)
        for i in range(count):
            if place[i] == b and not ground.allowed[b, i]:
                found -= PENALTY
    return found
