"""Rules in fractions: whether a demand could be met if a rule may happen half a time.

What cannot be met even so cannot be met at all (Fraca and Haddad 2015; Blondin, Finkel, Haase and
Haddad 2016). Rules are taken away until nothing speaks against the rest: those that no solution of
the equation uses; those that the others do not enable from the start; those from which the others
do not lead on to the demand. One linear program finds all that the equation excludes, since
weights that exclude one rule and weights that exclude another add up.

A demand is for at least so many tokens, so each place has a drain through which tokens may go.
Where weights leave nothing to spare, the drain is taken away: the demand says exactly where those
tokens are.
"""

from typing import Any

import numpy as np

from ropewalk.kernels import kernel
from ropewalk.verify.population.engine.arrays import Rows, rows
from ropewalk.verify.population.engine.equation import TINY, matrix_of, whole
from ropewalk.verify.population.engine.verdict import OMEGA, Fractions
from ropewalk.verify.population.net import Amounts, Net, Rule, amounts

MOST_WEIGHT = 1e4


@kernel
def closure(before: Rows, after: Rows, allowed: Any, marked: Any, able: Any) -> None:
    """Mark what allowed rules mark, were tokens never used up; those that happen are `able`."""
    changed = True
    while changed:
        changed = False
        for rule in range(allowed.shape[0]):
            if able[rule] or not allowed[rule]:
                continue
            ready = True
            for k in range(before.ends[rule], before.ends[rule + 1]):
                if not marked[before.at[k]]:
                    ready = False
                    break
            if ready:
                able[rule] = changed = True
                for k in range(after.ends[rule], after.ends[rule + 1]):
                    marked[after.at[k]] = True


class Continuous:
    """Proofs, for one net without moves and one start."""

    def __init__(self, net: Net, start: np.ndarray) -> None:
        self._rules, self._places = len(net.rules), len(net.places)
        self._free = np.array(start >= OMEGA)
        self._start = np.where(self._free, 0, start).astype(np.int64)
        self._marked = np.array(start > 0)
        self._matrix = matrix_of(self._places, [dict(rule.changes) for rule in net.rules])
        self._before = rows([rule.needs for rule in net.rules])
        self._after = rows([_left_behind(rule) for rule in net.rules])
        self._program: _Program | None = None

    def proof(self, demand: Amounts) -> Fractions | None:
        """Why a demand cannot be met; None if that cannot be shown in fractions."""
        if self._program is None:
            self._program = _Program(self._matrix, self._free)
        rules, drains = np.ones(self._rules, np.bool_), np.ones(self._places, np.bool_)
        asked = np.zeros(self._places, np.int64)
        for place, count in demand:
            asked[place] = count
        lacks = np.where(self._free, 0, asked - self._start)
        steps = list[Amounts]()
        while True:
            if self._signs_exclude(asked > 0, rules, drains):
                return tuple(steps)
            weights = self._program.best(lacks, rules, drains)
            if weights is None:
                return None
            steps.append(amounts(enumerate(weights.tolist())))
            if weights @ lacks > 0:
                return tuple(steps)
            unused, dry = rules & (self._matrix @ weights < 0), drains & (weights > 0)
            if not unused.any() and not dry.any():
                return None
            rules &= ~unused
            drains &= ~dry

    def signs_exclude(self, demand: Amounts) -> bool:
        """Whether the signs alone show that a demand cannot be met."""
        asked = np.zeros(self._places, np.bool_)
        asked[[place for place, _ in demand]] = True
        rules, drains = np.ones(self._rules, np.bool_), np.ones(self._places, np.bool_)
        return self._signs_exclude(asked, rules, drains)

    def _signs_exclude(self, asked: np.ndarray, rules: np.ndarray, drains: np.ndarray) -> bool:
        """Take away what the signs exclude; whether that is the demand itself."""
        marked, able = self._marked.copy(), np.zeros(self._rules, np.bool_)
        closure(self._before, self._after, rules, marked, able)
        if (asked & ~marked).any():
            return True
        drains &= marked
        ends, leading = asked | drains, np.zeros(self._rules, np.bool_)
        closure(self._after, self._before, able, ends, leading)
        rules &= leading
        return False


def _left_behind(rule: Rule) -> Amounts:
    """Where something is after a rule, whatever was there before."""
    after = dict(rule.needs)
    for place, change in rule.changes:
        after[place] = after.get(place, 0) + change
    return amounts(after)


class _Program:
    """Weights that exclude as many rules and drains as can be, or the demand itself.

    Columns: the weights, then for each rule and each drain how clearly it is excluded (up to 1),
    then how clearly the demand is.
    """

    def __init__(self, matrix: Any, free: np.ndarray) -> None:
        import highspy
        from scipy.sparse import bmat, csr_matrix, identity

        rules, places = matrix.shape
        self._rules, self._places, self._matrix = rules, places, matrix
        self._inf, self._lacks = highspy.kHighsInf, np.zeros(places, np.int64)
        zeros = csr_matrix((1, rules + places))
        full = csr_matrix(
            bmat(
                [
                    [matrix, identity(rules), csr_matrix((rules, places)), None],
                    [-identity(places), csr_matrix((places, rules)), identity(places), None],
                    [
                        csr_matrix(np.zeros((1, places))),
                        zeros[:, :rules],
                        zeros[:, rules:],
                        csr_matrix([[1.0]]),
                    ],
                ],
                format="csr",
            )
        )
        columns = places + rules + places + 1
        lp: Any = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = columns, rules + places + 1
        lp.col_cost_ = np.concatenate([np.zeros(places), np.ones(rules + places + 1)])
        lp.col_lower_ = np.zeros(columns)
        self._most = np.where(free, 0.0, MOST_WEIGHT)
        lp.col_upper_ = np.concatenate([self._most, np.ones(rules + places + 1)])
        lp.row_lower_ = np.full(rules + places + 1, -self._inf)
        lp.row_upper_ = np.zeros(rules + places + 1)
        lp.sense_ = highspy.ObjSense.kMaximize
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = full.indptr.astype(np.int32)
        lp.a_matrix_.index_ = full.indices.astype(np.int32)
        lp.a_matrix_.value_ = full.data.astype(np.float64)
        made: Any = highspy.Highs
        self._solver = made()
        self._solver.setOptionValue("output_flag", False)
        self._solver.setOptionValue("threads", 1)
        self._solver.passModel(lp)
        self._optimal = highspy.HighsModelStatus.kOptimal

    def best(self, lacks: np.ndarray, rules: np.ndarray, drains: np.ndarray) -> np.ndarray | None:
        """Whole weights; None if there are none but zeros."""
        upper = np.concatenate([self._most, rules, drains, [1.0]])
        columns = np.arange(len(upper), dtype=np.int32)
        self._solver.changeColsBounds(len(upper), columns, np.zeros(len(upper)), upper)
        every = np.arange(self._rules, dtype=np.int32)
        bounds = np.full(self._rules, -self._inf), np.where(rules, 0.0, self._inf)
        self._solver.changeRowsBounds(self._rules, every, *bounds)
        for place in np.flatnonzero(lacks != self._lacks).tolist():
            self._solver.changeCoeff(self._rules + self._places, place, -float(lacks[place]))
        self._lacks = lacks
        self._solver.run()
        if self._solver.getModelStatus() != self._optimal:
            return None
        found = np.array(self._solver.getSolution().col_value)[: self._places]
        if found.max(initial=0.0) < TINY:
            return None
        for weights in whole(found):
            if weights @ lacks >= 0 and (self._matrix @ weights)[rules].max(initial=0) <= 0:
                return weights
        return None
