"""The equation of a net: linear programs over it, asked again and again with other demands.

A run that covers a demand solves `start + sum of what its rules change >= demand`, were it in
fractions. Both programs here are over weights of places, so that another demand changes only what
is maximised, and the last answer is a place to start from:

- `Equation.bound` looks for weights that no rule increases, and that the demand exceeds: then it
  cannot be covered, and the weights are an invariant that excludes more than this demand;
- `Distance.least` is how many rules have to happen at least (Blondin, Haase and Offtermatt 2021).

The solver computes in floating point: what it finds counts only as whole numbers that fit exactly.
"""

from collections.abc import Iterator
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np

from ropewalk.verify.population.engine.verdict import OMEGA
from ropewalk.verify.population.net import LOST, Amounts, Net, amounts

DENOMINATORS = (1, 2, 12, 60, 2520, 10**6)
TINY = 1e-7
FAR = 1e6
"""A weight as large as this: no number of rules is enough."""
MOST = 1 << 40
"""Whole weights stay below it: sums of products with tokens fit into 64 bits."""


def columns_of(net: Net) -> list[dict[int, int]]:
    """What each rule changes; then, for each of its moves, what one more token moved changes."""
    found, moved = list[dict[int, int]](), set[tuple[int, int]]()
    for rule in net.rules:
        column = dict(rule.changes)
        needs = dict(rule.needs)
        for place, to in rule.moves:
            moved.add((place, to))
            for at, sign in ((place, -1), (to, 1)):
                if at != LOST and place in needs:
                    column[at] = column.get(at, 0) + sign * needs[place]
        found.append(column)
    for place, to in sorted(moved):
        found.append({place: -1} if to == LOST else {place: -1, to: 1})
    return found


class _Program:
    """A linear program: maximise weights times demand, while no column is above a limit."""

    def __init__(
        self, places: int, columns: list[dict[int, int]], limits: list[float], most: np.ndarray
    ) -> None:
        import highspy

        lowest = dict[Amounts, float]()
        for column, limit in zip(map(amounts, columns), limits, strict=True):
            lowest[column] = min(limit, lowest.get(column, limit))
        useful = [one for one in lowest if any(change > 0 for _, change in one)]
        flat = [pair for one in useful for pair in one]
        lp: Any = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = places, len(useful)
        lp.col_cost_ = np.zeros(places)
        lp.col_lower_, lp.col_upper_ = np.zeros(places), most
        lp.row_lower_ = np.full(len(useful), -highspy.kHighsInf)
        lp.row_upper_ = np.array([lowest[one] for one in useful])
        lp.sense_ = highspy.ObjSense.kMaximize
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = np.cumsum([0, *(len(one) for one in useful)])
        lp.a_matrix_.index_ = np.array([place for place, _ in flat], np.int32)
        lp.a_matrix_.value_ = np.array([change for _, change in flat], np.float64)
        made: Any = highspy.Highs
        self._solver = made()
        self._solver.setOptionValue("output_flag", False)
        self._solver.setOptionValue("threads", 1)
        self._solver.setOptionValue("presolve", "off")
        self._solver.passModel(lp)
        self._all = np.arange(places, dtype=np.int32)
        self._optimal = highspy.HighsModelStatus.kOptimal

    def best(self, cost: np.ndarray) -> tuple[float, np.ndarray] | None:
        """The largest sum and the weights for it; None if the solver finds none."""
        self._solver.changeColsCost(len(cost), self._all, cost.astype(np.float64))
        self._solver.run()
        if self._solver.getModelStatus() != self._optimal:
            return None
        weights = np.array(self._solver.getSolution().col_value)
        return float(self._solver.getInfo().objective_function_value), weights


class Equation:
    """Weights that no rule increases; `start` has OMEGA where weights must be zero."""

    def __init__(self, net: Net, start: np.ndarray) -> None:
        self._columns = columns_of(net)
        self._matrix = matrix_of(len(net.places), self._columns)
        self.free = start >= OMEGA
        self._start = np.where(self.free, 0, start).astype(np.int64)
        most = np.where(self.free, 0.0, 1.0)
        limits = [0.0] * len(self._columns)
        self._program = _Program(len(net.places), self._columns, limits, most)

    def bound(self, demand: np.ndarray) -> np.ndarray | None:
        """Whole weights that the demand exceeds and no run does; None if there are none."""
        lacks = np.where(self.free, 0, demand - self._start)
        if not (lacks > 0).any():
            return None
        found = self._program.best(lacks)
        if found is None or found[0] < TINY:
            return None
        return self._exact(found[1], lacks)

    def _exact(self, weights: np.ndarray, lacks: np.ndarray) -> np.ndarray | None:
        for one in whole(weights):
            if one @ lacks > 0 and (self._matrix @ one <= 0).all():
                return one
        return None


class Distance:
    """How many rules have to happen until a demand is covered, at least."""

    def __init__(self, net: Net) -> None:
        places, columns = len(net.places), columns_of(net)
        self.free = _unbounded(net)
        most = np.where(self.free, 0.0, FAR)
        limits = [1.0] * len(net.rules) + [0.0] * (len(columns) - len(net.rules))
        self._program = _Program(places, columns, limits, most)

    def least(self, lacks: np.ndarray) -> tuple[float, np.ndarray]:
        """The number (infinite if no number is enough), and weights that show it."""
        found = self._program.best(np.where(self.free, 0, lacks))
        if found is None:
            return 0.0, np.zeros(len(lacks))
        far = found[0] > 0 and float(found[1].max()) > 0.99 * FAR
        return (float("inf") if far else found[0]), found[1]


def _unbounded(net: Net) -> np.ndarray:
    """Places with any number at the start, and those that such a number may be moved to."""
    found = np.zeros(len(net.places), np.bool_)
    waiting = sorted(net.open)
    while waiting:
        place = waiting.pop()
        if not found[place]:
            found[place] = True
            waiting += [to for rule in net.rules for p, to in rule.moves if p == place != LOST]
            waiting = [one for one in waiting if one != LOST]
    return found


def matrix_of(places: int, columns: list[dict[int, int]]) -> Any:
    """What rules change, a row for each rule."""
    from scipy.sparse import csr_matrix

    rows = [i for i, column in enumerate(columns) for _ in column]
    at = [place for column in columns for place in column]
    by = [change for column in columns for change in column.values()]
    return csr_matrix((np.array(by, np.int64), (rows, at)), shape=(len(columns), places))


def whole(weights: np.ndarray) -> Iterator[np.ndarray]:
    """The weights as whole numbers: fractions with small denominators first."""
    floats = {round(float(weight), 12) for weight in weights}
    for most in DENOMINATORS:
        known = {one: Fraction(one).limit_denominator(most) for one in floats}
        if any(abs(float(fraction) - one) > TINY for one, fraction in known.items()):
            continue
        scale = lcm(*(fraction.denominator for fraction in known.values()))
        exact = [known[round(float(weight), 12)] * scale for weight in weights]
        if scale < MOST and max(exact, default=Fraction(0)) < MOST:
            yield np.array([int(one) for one in exact], np.int64)
