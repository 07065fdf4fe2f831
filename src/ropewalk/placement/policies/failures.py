"""Where the items of failed brokers go. Survivors keep what they have: it hardly costs anything.

Each failure is a small problem of its own: the items that have to go, and one fixed item for all
that a survivor has. So a policy costs what its failed items cost, however many others there are.
"""

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ropewalk.errors import UsageError
from ropewalk.placement.performance import Reals
from ropewalk.placement.problems import Flags, Ints, Problem, Rules, Spread, problem
from ropewalk.placement.risk import risk_of
from ropewalk.placement.solve import starts
from ropewalk.placement.solve.anneal import anneal
from ropewalk.placement.solve.ground import ground_of, state_of
from ropewalk.placement.solve.scores import Model
from ropewalk.placement.solve.search import excess_of

STEPS = 40_000


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
    up = np.array([b for b in range(width) if b not in down], np.int64)
    if not len(up):
        raise UsageError("all brokers are down: there is nowhere to go")
    gone = np.flatnonzero(np.isin(place, down))
    margins, room = np.full(width, np.nan), np.full(width, np.nan)
    part, stuck = _part(whole, place, up, gone, sums)
    ground = ground_of(part, 0, model, floors=False)
    start = starts.today(part)
    best = start.copy()
    anneal(ground, state_of(ground, start), best, steps if len(gone) else 0, 1e-2, 1e-5, 1, np.inf)
    state, excess = state_of(ground, best), excess_of(part, best, model)
    margins[up], room[up] = state.margin, part.limit - state.load
    return Policy(down, gone, up[best[: len(gone)]], margins, room, max(excess, 0.0) + len(stuck))


def _part(whole: Problem, place: Ints, up: Ints, gone: Ints, sums: _Sums) -> tuple[Problem, Ints]:
    """The problem of the items that go and of survivors as fixed items; items with no place left.

    A fixed item has the messages of its broker, and their mean work; without any, work 1.
    """
    fixed = np.eye(len(up))
    busy = (sums.rate[up] > 0) & (sums.load[up] > 0)
    rate = np.where(busy, sums.rate[up], 0.0)
    each = np.where(busy, sums.load[up] / np.where(busy, rate, 1.0), 1.0)
    work = np.hstack([whole.work_s[np.ix_(up, gone)], np.tile(each, (len(up), 1))])
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
        across = sums.across[np.ix_(up, gone)] / each[:, None]
        among = np.zeros((len(up), len(up)))
        for row, b in enumerate(up):
            mine = np.where(place == b, whole.work_s[b], 0.0)
            among[:, row] = sums.across[up] @ mine
        among = (among + among.T) / (2 * np.outer(each, each))
        np.fill_diagonal(among, np.maximum(among.diagonal(), 0.0))  # but for rounding, it is
        matrix = np.block([[spread.matrix[np.ix_(gone, gone)], across.T], [across, among]])
    site = rules.site[up]
    held = np.bincount(site, sums.count[up] - 1, len(rules.sites))
    some = np.where(busy, rate, 1.0)
    part = problem(
        np.concatenate([whole.rate_msgs_s[gone], rate]),
        Spread(
            np.ascontiguousarray(matrix),
            np.vstack([spread.loadings[gone], sums.factors[up] / each[:, None]]),
            np.concatenate([spread.own[gone], sums.own[up] / each**2]),
        ),
        whole.limit[up],
        work_s=work,
        replication=np.concatenate([whole.replication[gone], sums.copies[up] / some]),
        bytes_each=np.concatenate([whole.bytes_each[gone], sums.volume[up] / some]),
        rules=Rules(
            np.ascontiguousarray(allowed),
            today,
            apart=tuple(tuple(group) for group in groups if len(set(group)) > 1),
            least_margin=rules.least_margin[up],
            most_service_s=rules.most_service_s[up],
            most_delay_s=rules.most_delay_s[up],
            most_replication=rules.most_replication[up],
            most_bytes_s=rules.most_bytes_s[up],
            site=site,
            sites=rules.sites,
            most_items_at=rules.most_items_at - held,
            most_rate_at=rules.most_rate_at,
            most_items=rules.most_items[up] - sums.count[up] + 1,
        ),
    )
    return part, stuck
