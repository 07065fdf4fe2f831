"""From today's placement to another: as few moves as will do, in an order that overloads nobody."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import linear_sum_assignment

from ropewalk.kernels import kernel
from ropewalk.placement.performance import Reals
from ropewalk.placement.problems import NOWHERE, Ints, Problem, Rules, alike
from ropewalk.placement.risk import margins as margins_of
from ropewalk.placement.solve.anneal import whole
from ropewalk.placement.solve.ground import (
    Ground,
    State,
    Whole,
    excess_after,
    ground_of,
    judge,
    shift,
    state_of,
    variance_after,
)
from ropewalk.placement.solve.scores import Model, margin
from ropewalk.placement.solve.steps import clashes, note, permitted

KEEP = 0.002
"""What the least margin may lose, of itself, for fewer moves."""


@dataclass(frozen=True, slots=True)
class Move:
    """A step of a plan."""

    item: int
    source: int
    """NOWHERE for an item that is at no broker yet."""
    target: int
    margin_source: float
    margin_target: float
    """Of both brokers after it."""
    least_margin: float
    """Of all brokers after it."""
    on_the_way: bool
    """The item is put aside here to make room, and moves on later."""


@dataclass(frozen=True, slots=True)
class Way:
    """Moves in order, and whether nobody is worse off on the way than the worst at both ends."""

    moves: tuple[Move, ...]
    least_margin: float
    """The least of all brokers at any time, from today on."""
    safe: bool


def relabelled(problem: Problem, place: Ints) -> Ints:
    """The same placement with brokers that are alike exchanged so that fewest items move."""
    today = problem.rules.today
    if not (today >= 0).any():
        return place
    kind = alike(problem)
    new = np.arange(len(problem.brokers))
    for one in np.unique(kind):
        same = np.flatnonzero(kind == one)
        stays = np.array([[((place == a) & (today == b)).sum() for b in same] for a in same])
        rows, columns = linear_sum_assignment(-stays)
        new[same[rows]] = same[columns]
    return new[place]


def settled(
    problem: Problem,
    place: Ints,
    model: Model = Model.NORMAL,
    keep: float = KEEP,
    floor: float = np.inf,
) -> Ints:
    """The same placement without moves that hardly matter: those items stay where they are.

    The least margin stays above its own less a little, or above a floor if that is less.
    """
    ground = ground_of(problem, 0, model)
    state = state_of(ground, place)
    least = float(state.margin.min())
    order = np.argsort(problem.load.max(0), kind="stable")
    _settle(ground, state, order, min(least - keep * abs(least), floor))
    return state.place


@kernel
def _settle(ground: Ground, state: State, order: Ints, floor: float) -> None:
    for i in order:
        a, b = state.place[i], ground.today[i]
        if b < 0 or a == b or not permitted(ground, state, i, a, b, -1):
            continue
        z_a, z_b, excess = _after(ground, state, i, a, b)
        if min(z_a, z_b) >= floor and excess <= state.excess[a] + state.excess[b] + 1e-12:
            _take(ground, state, i, a, b)


def way(problem: Problem, place: Ints, model: Model = Model.NORMAL) -> Way:
    """Moves from today's placement to another, one item at a time.

    No broker's margin falls below that of the worst broker at either end. Where no next move is
    left then, an item is put aside at a third broker that it may be on; where that does not help
    either, the least bad move is made, and `safe` says so. Items that are nowhere yet come where
    they go, last.
    """
    today, nowhere = problem.rules.today, len(problem.brokers)
    known = np.flatnonzero((today >= 0) & (today != place))
    new = np.flatnonzero(today < 0)
    ground = ground_of(_with_nowhere(problem), 0, model)
    state = state_of(ground, np.where(today >= 0, today, nowhere))
    begin = float(state.margin.min())
    worst = min(begin, float(state_of(ground, place).margin.min()))
    floor = np.full(nowhere + 1, worst - 1e-9)
    steps, margins, safe = _order(ground, state, place, known, floor, relief=True)
    if not safe:  # another order may be
        again = state_of(ground, np.where(today >= 0, today, nowhere))
        other = _order(ground, again, place, known, floor, relief=False)
        if other[2]:
            (steps, margins, safe), state = other, again
    moves = [
        Move(int(i), int(a), int(b), float(z[0]), float(z[1]), float(z[2]), bool(aside))
        for (i, a, b, aside), z in zip(steps, margins, strict=True)
    ]
    moves += [
        Move(int(i), NOWHERE, int(place[i]), np.nan, float(z), float(least), False)
        for i, (z, least) in zip(new, _arrive(ground, state, place, new), strict=True)
    ]
    least = min([begin, *(one.least_margin for one in moves)])
    return Way(tuple(moves), least, bool(safe) and least >= worst - 1e-9)


def safe_part(
    problem: Problem, place: Ints, found: Way, model: Model = Model.NORMAL
) -> Ints | None:
    """The placement after those first moves that hurt nobody, where it is best; None if none is.

    A move that cannot be made safely is often one of two that change places: without them the rest
    is nearly as good.
    """
    today = problem.rules.today
    if found.safe or (today < 0).any() or any(one.on_the_way for one in found.moves):
        return None
    floor = min(float(margins_of(problem, one, model).min()) for one in (today, place)) - 1e-9
    least = np.array([one.least_margin for one in found.moves])
    fine = int((least < floor).argmax())
    if not fine:
        return None
    end = int(least[:fine][::-1].argmax())
    part = today.copy()
    for one in found.moves[: fine - end]:
        part[one.item] = one.target
    return part


def _with_nowhere(problem: Problem) -> Problem:
    """With one more broker, where work is nothing: there items are that are nowhere yet.

    Limits do not count on the way, only margins, and where an item may be put aside.
    """
    count, rules = len(problem.items), problem.rules
    return replace(
        problem,
        brokers=(*problem.brokers, ""),
        work_s=np.vstack([problem.work_s, np.zeros(count)]),
        limit=np.append(problem.limit, 1.0),
        rules=Rules(
            np.vstack([rules.allowed, np.zeros(count, np.bool_)]),
            np.full(count, NOWHERE),
            apart=rules.apart,
        ).filled(),
    )


@kernel
def _varied(ground: Ground, state: State, b: Whole, out: Whole, new: Whole) -> tuple[float, float]:
    """`variance_after` of a state as a whole: moves are few, unlike the steps of a search."""
    return variance_after(
        ground.matrix,
        ground.loadings,
        ground.own,
        ground.work,
        state.dense,
        state.sums,
        state.factors,
        state.own,
        b,
        out,
        new,
    )


@kernel
def _after(
    ground: Ground, state: State, i: Whole, a: Whole, b: Whole
) -> tuple[float, float, float]:
    """Margins of both brokers after a move, and by how much they break rules."""
    found = np.zeros(3)
    for side in range(2):
        c = b if side else a
        out, new = (-1, i) if side else (i, -1)
        variance, _ = _varied(ground, state, c, out, new)
        load = state.load[c] + (1 if side else -1) * ground.work[i, c] * ground.weights[0, i]
        found[side] = margin(ground.model, ground.limit[c], load, variance)
        found[2] += max(0.0, ground.floor[c] - found[side])
        if ground.ruled:
            found[2] += excess_after(ground, state, c, out, new, load)
    return found[0], found[1], found[2]


@kernel
def _take(ground: Ground, state: State, i: Whole, a: Whole, b: Whole) -> None:
    variances = np.zeros(2)
    for side in range(2):
        c = b if side else a
        out, new = (-1, i) if side else (i, -1)
        variances[side], dense = _varied(ground, state, c, out, new)
        state.dense[c] = dense
        state.load[c] += (1 if side else -1) * ground.work[i, c] * ground.weights[0, i]
    note(ground, state, i, a, b, -1)
    shift(
        ground.matrix,
        ground.loadings,
        ground.own,
        ground.work,
        ground.weights,
        state.place,
        state.sums,
        state.factors,
        state.own,
        state.has,
        i,
        a,
        b,
    )
    judge(ground, state, a, variances[0])
    judge(ground, state, b, variances[1])


@kernel
def _order(
    ground: Ground, state: State, goal: Ints, pending: Ints, floor: Reals, *, relief: bool
) -> tuple[Ints, Reals, bool]:
    """The next move, of those that hurt nobody, leaves the two brokers best off.

    With `relief`, the broker that needs it most goes first: who stops half-way has gained most.
    """
    most = 3 * len(pending) + 1
    steps, margins = np.zeros((most, 4), np.int64), np.zeros((most, 3))
    taken, left, safe, asides = 0, len(pending), True, 0
    waiting = pending.copy()
    while left > 0:
        best, gain, hurt, spared = -1, -np.inf, -1, -np.inf
        worst = np.inf
        for at in range(left):
            i = waiting[at]
            z_a, z_b, _ = _after(ground, state, i, state.place[i], goal[i])
            room = min(z_a - floor[state.place[i]], z_b - floor[goal[i]])
            needs = state.margin[state.place[i]] if relief else 0.0
            better = needs < worst - 1e-9 or (needs < worst + 1e-9 and min(z_a, z_b) > gain)
            if room >= 0 and better:
                best, gain, worst = at, min(z_a, z_b), needs
            if room > spared:
                hurt, spared = at, room
        target: Whole = -1
        aside = False
        if best < 0 and asides < len(pending):
            best, target = _aside(ground, state, goal, waiting[:left], floor)
            aside = best >= 0
            asides += aside
        if best < 0:
            best, safe = hurt, False
        i = waiting[best]
        a = state.place[i]
        b = target if aside else goal[i]
        _take(ground, state, i, a, b)
        steps[taken, 0], steps[taken, 1], steps[taken, 2] = i, a, b
        steps[taken, 3] = 1 if aside else 0
        margins[taken, 0], margins[taken, 1] = state.margin[a], state.margin[b]
        margins[taken, 2] = whole(ground, state)[1]
        taken += 1
        if not aside:
            waiting[best] = waiting[left - 1]
            left -= 1
    return steps[:taken], margins[:taken], safe


@kernel
def _arrive(ground: Ground, state: State, goal: Ints, new: Ints) -> Reals:
    """Put items that are nowhere where they go; after each, its broker's margin and the least."""
    found = np.zeros((len(new), 2))
    for row in range(len(new)):
        i = new[row]
        b = goal[i]
        _take(ground, state, i, state.place[i], b)
        found[row, 0], found[row, 1] = state.margin[b], whole(ground, state)[1]
    return found


@kernel
def _aside(
    ground: Ground, state: State, goal: Ints, waiting: Ints, floor: Reals
) -> tuple[int, Whole]:
    """An item in the way of another, and a third broker where it hurts nobody; -1 if none."""
    best, where, gain = -1, -1, -np.inf
    for at in range(len(waiting)):
        i = waiting[at]
        a = state.place[i]
        for b in range(len(state.load)):
            if b == a or b == goal[i] or not ground.allowed[b, i]:
                continue
            if clashes(ground, state.place, i, b, -1) > 0:
                continue
            z_a, z_b, _ = _after(ground, state, i, a, b)
            room = min(z_a - floor[a], z_b - floor[b])
            if room >= 0 and room > gain:
                best, where, gain = at, b, room
    return best, where
