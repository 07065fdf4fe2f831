"""Backwards: the smallest demands from which a target can be reached, pruned by what cannot be.

A demand that no run meets need not be followed. Weights that show it (`equation`) are kept: they
exclude most later demands by one product of matrices, without another linear program. What passes
is tried with rules in fractions (`continuous`), while that pays.
"""

from collections.abc import Iterator
from math import comb, prod

import numpy as np

from ropewalk.verify.population.engine import backward_kernels as kernels
from ropewalk.verify.population.engine.arrays import arrays_of
from ropewalk.verify.population.engine.continuous import Continuous
from ropewalk.verify.population.engine.equation import Equation
from ropewalk.verify.population.engine.moving import demands_before
from ropewalk.verify.population.engine.unfolding import Way
from ropewalk.verify.population.engine.verdict import (
    OMEGA,
    Basis,
    Fractions,
    GaveUp,
    Safe,
)
from ropewalk.verify.population.net import LOST, Amounts, Net, amounts

METHOD = "backward basis"
TRIES = 30
"""So many demands are tried with fractions before it is asked whether that pays."""
PAYS = 0.05
MOST_WAYS = 20_000
"""Ways in which the tokens of one demand may have come together; more are not looked at."""


class Backward:
    """The backward search in a net from a start, in turns."""

    def __init__(
        self, net: Net, start: np.ndarray, *, prune: bool = True, most_bytes: int = 2 << 30
    ) -> None:
        self.net, self.arrays, self._most = net, arrays_of(net), most_bytes
        moved = {place for rule in net.rules for place, _ in rule.moves}
        self._free = np.array(start >= OMEGA)
        self._free[sorted(moved)] = False
        self._start = start
        self._sources: list[set[int]] = [set() for _ in net.places]
        for rule in net.rules:
            for place, to in rule.moves:
                if to != LOST:
                    self._sources[to].add(place)
        self._adding: list[list[int]] = [[] for _ in net.places]
        for number, rule in enumerate(net.rules):
            gains = {place for place, change in rule.changes if change > 0}
            for place in gains | {to for _, to in rule.moves if to != LOST}:
                self._adding[place].append(number)
        self._equation = Equation(net, start) if prune else None
        self._continuous = Continuous(net, start) if prune and not net.moving else None
        self._tried = self._helped = 0
        places = len(net.places)
        self._rows = np.zeros((1024, places), np.int32)
        self._parent = np.zeros(1024, np.int64)
        self._rule = np.zeros(1024, np.int64)
        self._dead = np.zeros(1024, np.bool_)
        self._alive = np.zeros(1024, np.int64)
        self._count = self._living = 0
        self._waiting: dict[int, list[int]] = {}
        self._bounds = np.zeros((0, places), np.int64)
        self._most_sums = np.zeros(0, np.int64)
        self._excluded: list[tuple[Amounts, Fractions]] = []
        self._excluded_rows = np.zeros((0, places), np.int32)
        self._out = np.zeros((len(net.rules) + 1, places), np.int32)
        self._by = np.zeros(len(net.rules) + 1, np.int64)
        self._last = ""
        self._work = self._go()

    @property
    def size(self) -> int:
        """How many demands are smallest."""
        return self._living

    def turn(self, demands: int = 2) -> Safe | Way | GaveUp | None:
        """Look at some new demands; None if there is no answer yet."""
        if self._rows.nbytes > self._most:
            return GaveUp(METHOD, f"more than {self._most >> 20:,} MB of demands")
        for _ in range(demands):
            found = next(self._work, None)
            if found is not None:
                return found
        return None

    def _go(self) -> Iterator[Safe | Way | GaveUp | None]:
        """What has been found after each new demand; the smallest demands are followed first."""
        targets = np.zeros((len(self.net.targets), len(self.net.places)), np.int32)
        for row, target in zip(targets, self.net.targets, strict=True):
            for place, count in target:
                row[place] = 0 if self._free[place] else count
        yield from self._take(targets, -1 - np.arange(len(targets)), -1)
        while (node := self._next()) is not None:
            if self._too_many(node):
                yield GaveUp(METHOD, "there are too many ways to a demand to look at")
            yield from self._take(*self._before(node), node)
            yield None
        yield Safe(METHOD, self._basis())

    def _next(self) -> int | None:
        while self._waiting:
            least = min(self._waiting)
            row = self._waiting[least]
            node = row.pop()
            if not row:
                del self._waiting[least]
            if not self._dead[node]:
                return node
        return None

    def _before(self, node: int) -> tuple[np.ndarray, np.ndarray]:
        """Demands before one, and the rules that lead on from them."""
        if self.net.moving:
            return self._before_moves(self._rows[node])
        count = kernels.before_rules(self.arrays, self._free, self._rows[node], self._out, self._by)
        return self._out[:count], self._by[:count]

    def _too_many(self, node: int) -> bool:
        """Whether tokens may have come from too many places to look at every way of it."""
        demand = self._rows[node]
        ways = prod(
            comb(int(demand[place]) + len(self._sources[place]), int(demand[place]))
            for place in np.flatnonzero(demand).tolist()
        )
        return self.net.moving and ways > MOST_WAYS

    def _before_moves(self, demand: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        wanted = {int(place): int(demand[place]) for place in np.flatnonzero(demand)}
        rows, by = list[np.ndarray](), list[int]()
        for number in sorted({one for place in wanted for one in self._adding[place]}):
            for before in demands_before(self.net.rules[number], wanted):
                row = np.zeros(len(demand), np.int32)
                for place, count in before.items():
                    row[place] = 0 if self._free[place] else count
                rows.append(row)
                by.append(number)
        if not rows:
            return np.zeros((0, len(demand)), np.int32), np.zeros(0, np.int64)
        return np.array(rows), np.array(by)

    def _take(self, some: np.ndarray, by: np.ndarray, parent: int) -> Iterator[Way | None]:
        """Keep those demands that are new and not excluded; the way, if the start meets one."""
        new = kernels.unknown(self._rows, self._alive, self._living, some)
        some, by = some[new], by[new]
        met = np.flatnonzero((some <= self._start).all(axis=1))
        if len(met):
            self._add(some[met[0]], int(by[met[0]]), parent)
            yield self._way(self._count - 1)
            return
        some, by = _chosen(self._possible(some), some, by)
        order = np.argsort(some.sum(axis=1), kind="stable")
        some, by = some[order], by[order]
        left = np.ones(len(some), np.bool_)
        for i in range(len(some)):
            if not left[i] or kernels.known(self._rows, self._alive, self._living, some[i]):
                continue
            if self._excludes(some[i]):
                left[i:] &= self._still_possible(some[i:])
            else:
                self._add(some[i], int(by[i]), parent)
            yield None

    def _possible(self, some: np.ndarray) -> np.ndarray:
        """Which demands nothing that is kept excludes."""
        if len(self._bounds):
            possible = (some @ self._bounds.T <= self._most_sums).all(axis=1)
        else:
            possible = np.ones(len(some), np.bool_)
        for row in self._excluded_rows:
            possible &= (some < row).any(axis=1)
        return np.asarray(possible)

    def _still_possible(self, some: np.ndarray) -> np.ndarray:
        """Which demands what was kept last does not exclude."""
        if self._last == "bound":
            return np.asarray(some @ self._bounds[-1] <= self._most_sums[-1])
        return np.asarray((some < self._excluded_rows[-1]).any(axis=1))

    def _excludes(self, demand: np.ndarray) -> bool:
        """Whether a demand cannot be met, as far as can be told; what shows it is kept."""
        if self._equation is None:
            return False
        weights = self._equation.bound(demand)
        if weights is not None:
            self._bounds = np.vstack([self._bounds, weights])
            most = weights @ np.where(self._free, 0, self._start).astype(np.int64)
            self._most_sums = np.append(self._most_sums, most)
            self._last = "bound"
            return True
        if self._continuous is None or not self._pays():
            return False
        self._tried += 1
        asked = amounts(enumerate(demand.tolist()))
        proof = self._continuous.proof(asked)
        if proof is None:
            return False
        self._helped += 1
        self._excluded.append((asked, proof))
        self._excluded_rows = np.vstack([self._excluded_rows, demand])
        self._last = "excluded"
        return True

    def _pays(self) -> bool:
        return self._tried < TRIES or self._helped > PAYS * self._tried

    def _add(self, demand: np.ndarray, rule: int, parent: int) -> None:
        if self._count == len(self._rows):
            for name in ("_rows", "_parent", "_rule", "_dead", "_alive"):
                array = getattr(self, name)
                setattr(self, name, np.concatenate([array, np.zeros_like(array)]))
        node = self._count
        self._rows[node], self._rule[node], self._parent[node] = demand, rule, parent
        self._living = kernels.smaller_die(
            self._rows, self._alive, self._living, self._dead, demand
        )
        self._alive[self._living] = node
        self._living += 1
        self._count += 1
        self._waiting.setdefault(int(demand.sum()), []).append(node)

    def _way(self, node: int) -> Way:
        steps = list[int]()
        while self._parent[node] != -1:
            steps.append(int(self._rule[node]))
            node = int(self._parent[node])
        return Way(tuple(steps), {}, -1 - int(self._rule[node]))

    def _basis(self) -> Basis:
        rows = self._rows[self._alive[: self._living]]
        return Basis(
            tuple(amounts(enumerate(row.tolist())) for row in rows),
            tuple(amounts(enumerate(row.tolist())) for row in self._bounds),
            tuple(self._excluded),
        )


def _chosen(mask: np.ndarray, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    return tuple(array[mask] for array in arrays)
