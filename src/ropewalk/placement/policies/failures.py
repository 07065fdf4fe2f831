"""Where the items of failed brokers go. Survivors keep what they have: it hardly costs anything.

Each failure is a small problem of its own: the items that have to go, and one fixed item for all
that a survivor has. So a policy costs what its failed items cost, however many others there are.
"""

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from ropewalk.placement.performance import Reals
from ropewalk.placement.problem import Flags, Ints, Problem, Rules, Spread, problem
from ropewalk.placement.risk import risk_of
from ropewalk.placement.solve import starts
from ropewalk.placement.solve.anneal import anneal
from ropewalk.placement.solve.ground import ground_of, state_of
from ropewalk.placement.solve.scores import Model

STEPS = 12_000


@dataclass(frozen=True, slots=True)
class Policy:
    """What to do when these brokers are down."""

    down: tuple[int, ...]
    items: Ints
    """Items that go."""
    to: Ints
    """Where each goes: a survivor, never its own broker."""
    margin: Reals
    """Of each broker afterwards; NaN for those that are down."""
    room: Reals
    """Mean load that each survivor could still take."""
    excess: float
    """By how much rules are broken; 0 if none is."""

    @property
    def least_margin(self) -> float:
        """Of the survivors."""
        return float(np.nanmin(self.margin)) if len(self.margin) > len(self.down) else -np.inf

    @property
    def risk(self) -> Reals:
        """The probability of an overload of each broker; NaN for those that are down."""
        return risk_of(self.margin)


def policies(
    problem: Problem,
    place: Ints,
    failures: Iterable[Sequence[int]] | None = None,
    *,
    at_once: int = 2,
    model: Model = Model.NORMAL,
    steps: int = STEPS,
) -> list[Policy]:
    """Policies for some failures; without any given, for all of up to `at_once` brokers."""
    wanted = (
        [tuple(sorted(one)) for one in failures]
        if failures is not None
        else [
            one
            for number in range(1, min(at_once, len(problem.brokers) - 1) + 1)
            for one in combinations(range(len(problem.brokers)), number)
        ]
    )
    sums = _sums(problem, place)
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return list(
            pool.map(lambda down: _policy(problem, place, down, sums, model, steps), wanted)
        )


def policy(
    problem: Problem, place: Ints, down: Sequence[int], *, model: Model = Model.NORMAL
) -> Policy:
    """The policy for one failure."""
    return policies(problem, place, [down], model=model)[0]


def quiet(
    problem: Problem, place: Ints, least_margin: float, *, model: Model = Model.NORMAL
) -> Policy | None:
    """Brokers that can be switched off in quiet hours, and where their items go; None if none can.

    One after another, the least loaded first, as long as every margin stays above the least and
    no rule is broken. The problem has the rates of the quiet hours.
    """
    best: Policy | None = None
    load = np.bincount(place, problem.load[place, np.arange(len(place))], len(problem.brokers))
    down: tuple[int, ...] = ()
    for b in np.argsort(load, kind="stable").tolist():
        if len(down) + 1 >= len(problem.brokers):
            break
        found = policy(problem, place, (*down, b), model=model)
        if found.excess <= 0 and found.least_margin >= least_margin:
            best, down = found, found.down
    return best


@dataclass(frozen=True, slots=True)
class _Sums:
    """What each broker has in all, as one item."""

    load: Reals
    across: Reals
    """brokers x items: covariance of an item with a broker's work; empty with factors only."""
    factors: Reals
    own: Reals
    rate: Reals
    copies: Reals
    volume: Reals
    count: Ints


def _sums(problem: Problem, place: Ints) -> _Sums:
    width, items = len(problem.brokers), np.arange(len(place))
    work = problem.work_s[place, items]
    member = np.zeros((width, len(place)))
    member[place, items] = work
    rate = problem.rate_msgs_s

    def summed(values: Reals) -> Reals:
        return np.bincount(place, values, width).astype(np.float64)

    return _Sums(
        summed(work * rate),
        member @ problem.spread.matrix if len(problem.spread.matrix) else np.zeros((0, 0)),
        member @ problem.spread.loadings,
        member**2 @ problem.spread.own,
        summed(rate),
        summed(rate * problem.replication),
        summed(rate * problem.bytes_each),
        np.bincount(place, minlength=width),
    )


def _policy(
    whole: Problem,
    place: Ints,
    down: tuple[int, ...],
    sums: _Sums,
    model: Model,
    steps: int,
) -> Policy:
    width = len(whole.brokers)
    up = np.array([b for b in range(width) if b not in down])
    gone = np.flatnonzero(np.isin(place, down))
    margins, room = np.full(width, np.nan), np.full(width, np.nan)
    part, stuck = _part(whole, place, up, gone, sums)
    ground = ground_of(part, 0, model)
    start = starts.today(part)
    best = start.copy()
    excess, _, _ = anneal(
        ground, state_of(ground, start), best, steps if len(gone) else 0, 1e-2, 1e-5, 1, np.inf
    )
    state = state_of(ground, best)
    margins[up], room[up] = state.margin, part.limit - state.load
    return Policy(down, gone, up[best[: len(gone)]], margins, room, max(excess, 0.0) + len(stuck))


def _part(whole: Problem, place: Ints, up: Ints, gone: Ints, sums: _Sums) -> tuple[Problem, Ints]:
    """The problem of the items that go and of survivors as fixed items; items with no place left.

    A fixed item has work 1 per second on its broker; its rate is its mean load.
    """
    fixed = np.eye(len(up))
    work = np.hstack([whole.work_s[np.ix_(up, gone)], np.ones((len(up), len(up)))])
    allowed: Flags = np.hstack([whole.rules.allowed[np.ix_(up, gone)], fixed.astype(bool)])
    stuck = np.flatnonzero(~allowed.any(0))
    allowed[:, stuck] = True
    rules = whole.rules
    today = np.concatenate([np.full(len(gone), -1), np.arange(len(up))])
    place_of = {int(i): number for number, i in enumerate(gone)}
    groups = [
        [place_of[i] for i in group if i in place_of]
        + [len(gone) + int(np.flatnonzero(up == place[i])[0]) for i in group if i not in place_of]
        for group in rules.apart
        if any(i in place_of for i in group)
    ]
    spread = whole.spread
    matrix = np.zeros((0, 0))
    if len(spread.matrix):
        across = sums.across[np.ix_(up, gone)]
        among = np.zeros((len(up), len(up)))
        for row, b in enumerate(up):
            mine = np.where(place == b, whole.work_s[b], 0.0)
            among[:, row] = sums.across[up] @ mine
        matrix = np.block([[spread.matrix[np.ix_(gone, gone)], across.T], [across, among]])
    part = problem(
        np.concatenate([whole.rate_msgs_s[gone], sums.load[up]]),
        Spread(
            np.ascontiguousarray(matrix),
            np.vstack([spread.loadings[gone], sums.factors[up]]),
            np.concatenate([spread.own[gone], sums.own[up]]),
        ),
        whole.limit[up],
        work_s=work,
        replication=np.concatenate([whole.replication[gone], np.ones(len(up))]),
        bytes_each=np.concatenate([whole.bytes_each[gone], np.zeros(len(up))]),
        rules=Rules(
            np.ascontiguousarray(allowed),
            today,
            apart=tuple(tuple(group) for group in groups if len(set(group)) > 1),
            least_margin=rules.least_margin[up],
            most_items=rules.most_items[up] - sums.count[up] + 1,
        ),
    )
    return part, stuck


def with_rates(problem: Problem, rate_msgs_s: Reals, spread: Spread) -> Problem:
    """The same problem at other hours."""
    return replace(problem, rate_msgs_s=rate_msgs_s, spread=spread)
