"""An invariant, checked on the whole net in whole numbers.

It has to hold at the start, every rule has to keep it, and every target has to break it. Then no
run reaches a target, whatever engine found it.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import comb, prod
from typing import Any

import numpy as np

from ropewalk.verify.population.engine.verdict import OMEGA, Basis, Invariant, Limits
from ropewalk.verify.population.evidence import kernels
from ropewalk.verify.population.evidence.in_fractions import unmeetable
from ropewalk.verify.population.net import LOST, Amounts, Net, Rule

MOST_WAYS = 1_000_000
EXACT = 1 << 62
"""Sums of products stay below it, or they are made of Python's numbers."""


def objection(net: Net, invariant: Invariant) -> str:
    """What is wrong with an invariant; nothing if it shows that no target can be reached."""
    wrong = _misshapen(net, invariant) or _empty(net, invariant.empty)
    if wrong:
        return wrong
    if isinstance(invariant, Limits):
        return _limits(net, invariant)
    return _basis(net, invariant)


def _misshapen(net: Net, invariant: Invariant) -> str:
    """Numbers that mean different things to different readers: none is taken in good faith."""
    places = len(net.places)

    def ordered(some: Sequence[int]) -> bool:
        return all(a < b for a, b in pairwise((-1, *some, places)))

    if not ordered(invariant.empty):
        return "its empty places are not in order, or are none"
    if isinstance(invariant, Limits):
        shape = np.shape(invariant.rows)
        if not ordered(invariant.places) or shape[1:] != (len(invariant.places),):
            return "its limits have not one column for each of their places"
        return ""
    proofs = [one for demand, proof in invariant.excluded for one in (demand, *proof)]
    for some in (*invariant.demands, *invariant.bounds, *proofs):
        if not ordered([place for place, _ in some]) or any(count < 1 for _, count in some):
            return "its amounts are not in order, or not positive"
    return ""


def _empty(net: Net, empty: Sequence[int]) -> str:
    """Places that are said to stay empty: every rule that adds to one needs one of them."""
    never = set(empty)
    for place in never:
        if net.start[place] or place in net.open:
            return f"{net.places[place]} is marked at the start"
    for rule in net.rules:
        if _dead(rule, never):
            continue
        gains = [place for place, change in rule.changes if change > 0]
        gains += [to for place, to in rule.moves if place not in never]
        for place in gains:
            if place in never:
                return f"{rule.name} marks {net.places[place]}"
    return ""


def _dead(rule: Rule, never: set[int]) -> bool:
    """Whether a rule needs, or takes, something where there is never anything."""
    if any(place in never for place, _ in rule.needs):
        return True
    goes = dict(rule.moves)
    for taken, change in rule.changes:
        come = [place for place in (taken, *goes) if goes.get(place, place) == taken]
        if change < 0 and all(place in never for place in come):
            return True
    return False


def _limits(net: Net, invariant: Limits) -> str:
    never = set(invariant.empty)
    rows = np.clip(np.asarray(invariant.rows), 0, OMEGA).astype(np.int64)
    column = {place: i for i, place in enumerate(invariant.places)}
    for target in net.targets:
        if any(place in never for place, _ in target):
            continue
        above = np.ones(len(rows), np.bool_)
        for place, count in target:
            if place in column:
                above &= rows[:, column[place]] >= count
        if above.any():
            return "a limit covers a target"
    start = np.array(
        [OMEGA if place in net.open else net.start[place] for place in invariant.places]
    )
    if not (rows >= start).all(axis=1).any():
        return "the start is below no limit"
    rules = [rule for rule in net.rules if not _dead(rule, never)]
    needs, changes, moves = _packed(rules, column, never)
    at = kernels.not_below(needs, changes, moves, rows)
    return f"{rules[at].name} leads out of the limits" if at >= 0 else ""


def _packed(
    rules: Sequence[Rule], column: Mapping[int, int], never: set[int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rules in the limits' columns: (rule, column, number) of needs, changes and moves.

    A place without a column may hold any number: what comes from there is without bound.
    """
    unbounded = 1 << 40
    needs, changes, moves = list[tuple[int, int, int]](), list[tuple[int, int, int]](), []
    for i, rule in enumerate(rules):
        needs += [(i, column[p], count) for p, count in rule.needs if p in column]
        changes += [(i, column[p], change) for p, change in rule.changes if p in column]
        for place, to in rule.moves:
            if place in column:
                moves.append((i, column[place], column.get(to, LOST)))
            elif to in column and place not in never:
                changes.append((i, column[to], unbounded))
    count = len(rules)
    return _by_rule(needs, count), _by_rule(changes, count), _by_rule(moves, count)


def _by_rule(some: list[tuple[int, int, int]], rules: int) -> np.ndarray:
    """A table whose first rows say where each rule's rows begin; the rest are the rows."""
    ends = np.zeros(rules + 1, np.int64)
    for rule, _, _ in some:
        ends[rule + 1] += 1
    starts = np.cumsum(ends) + rules + 1
    table = np.zeros((rules + 1 + len(some), 2), np.int64)
    table[: rules + 1, 0] = starts
    for i, (_, at, by) in enumerate(sorted(some, key=lambda one: one[0])):
        table[rules + 1 + i] = at, by
    return table


def _basis(net: Net, invariant: Basis) -> str:
    wrong = next(_wrong_bounds(net, invariant), "")
    if wrong:
        return wrong
    shut = _Shut(net, invariant)
    start = dict(enumerate(net.start))
    for demand in invariant.demands:
        if all(place in net.open or start[place] >= count for place, count in demand):
            return "the start meets a demand"
    if not all(shut.every([dict(target)]) for target in net.targets):
        return "a target is not excluded"
    adding = _adding(net)
    for demand in invariant.demands:
        wanted = dict(demand)
        helping = {number for place in wanted for number in adding.get(place, ())}
        if sum(_ways(net.rules[number], wanted) for number in helping) > MOST_WAYS:
            return "there are too many ways to a demand to look at"
        before = [one for number in helping for one in _before(net.rules[number], wanted)]
        if not shut.every(before):
            return "a rule leads to a demand from outside"
    return ""


def _wrong_bounds(net: Net, invariant: Basis) -> Iterator[str]:
    never = set(invariant.empty)
    rules = [rule for rule in net.rules if not _dead(rule, never)]
    for weights in invariant.bounds:
        weight = dict(weights)
        if min(weight.values(), default=0) < 0 or any(place in net.open for place in weight):
            yield "weights must not be negative, nor of places with any number at the start"
        for rule in rules:
            if _rises(rule, weight, never):
                yield f"{rule.name} raises a weighted sum"
    for demand, proof in invariant.excluded:
        if not unmeetable(net, demand, proof):
            yield "a proof in fractions does not hold"


def _rises(rule: Rule, weight: Mapping[int, int], never: set[int]) -> bool:
    """Whether a rule may raise a weighted sum: by its changes, and by all that it may move."""
    needs, total = dict(rule.needs), 0
    for place, change in rule.changes:
        total += weight.get(place, 0) * change
    for place, to in rule.moves:
        by = (weight.get(to, 0) if to != LOST else 0) - weight.get(place, 0)
        if by > 0 and place not in never:
            return True
        total += by * needs.get(place, 0)  # at least so many are moved
    return total > 0


class _Shut:
    """What an invariant excludes."""

    def __init__(self, net: Net, invariant: Basis) -> None:
        self._empty = np.zeros(len(net.places), np.bool_)
        self._empty[list(invariant.empty)] = True
        demands = [*invariant.demands, *(demand for demand, _ in invariant.excluded)]
        self._places = len(net.places)
        self._demands = _dense(demands, self._places)
        self._bounds = _dense(invariant.bounds, self._places)
        largest = int(self._bounds.max(initial=0)) * self._places
        self._exactly = object if largest * (1 << 20) >= EXACT else np.int64
        self._sums = self._bounds.astype(object) @ np.array(net.start, object)

    def every(self, some: Sequence[Mapping[int, int]]) -> bool:
        """Whether each of some demands is excluded."""
        return bool(self._which(some).all())

    def _which(self, some: Sequence[Mapping[int, int]]) -> np.ndarray:
        if not some:
            return np.ones(0, np.bool_)
        rows = _dense([tuple(one.items()) for one in some], self._places)
        shut: Any = (rows[:, self._empty] > 0).any(axis=1)
        if len(self._bounds):
            exactly = object if rows.max() >= 1 << 20 else self._exactly
            sums = rows.astype(exactly) @ self._bounds.T.astype(exactly)
            shut |= (sums > self._sums.astype(exactly)).any(axis=1)
        open_ = np.flatnonzero(~shut)
        shut[open_] = [kernels.some_below(self._demands, rows[i]) for i in open_]
        return np.asarray(shut)


def _dense(rows: Sequence[Amounts], places: int) -> np.ndarray:
    found = np.zeros((len(rows), places), np.int64)
    for row, amounts in zip(found, rows, strict=True):
        for place, count in amounts:
            row[place] = count
    return found


def _adding(net: Net) -> dict[int, list[int]]:
    """For each place the rules that add to it; before others, as much is wanted there as after."""
    found: dict[int, list[int]] = {}
    for number, rule in enumerate(net.rules):
        gains = [place for place, change in rule.changes if change > 0]
        for place in {*gains, *(to for _, to in rule.moves)}:
            found.setdefault(place, []).append(number)
    return found


def _ways(rule: Rule, wanted: Mapping[int, int]) -> int:
    """How many markings there may be from which a rule leads to what is wanted."""
    comes = dict.fromkeys(wanted, 1)
    for _, to in rule.moves:
        if to in comes:
            comes[to] += 1
    return prod(comb(count + comes[place] - 1, count) for place, count in wanted.items())


def _before(rule: Rule, wanted: Mapping[int, int]) -> Iterator[dict[int, int]]:
    """Every least marking from which a rule leads to what is wanted."""
    goes = dict(rule.moves)
    changes, needs = dict(rule.changes), dict(rule.needs)
    sources: dict[int, list[int]] = {place: [] for place in {*wanted, *changes}}
    for place in {*sources, *goes}:
        to = goes.get(place, place)
        if to in sources:
            sources[to].append(place)
    found = [dict(needs)]
    for place, come in sources.items():
        missing = wanted.get(place, 0) - changes.get(place, 0)
        missing -= sum(needs.get(source, 0) for source in come)
        for _ in range(missing):
            more = [{**one, source: one.get(source, 0) + 1} for one in found for source in come]
            found = [dict(pairs) for pairs in {tuple(sorted(one.items())) for one in more}]
    yield from found
