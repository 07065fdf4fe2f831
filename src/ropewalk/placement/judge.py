"""What a placement is worth to each broker, and which rules it breaks, with the reason."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ropewalk.placement.performance import delay_s
from ropewalk.placement.problems import Ints, Problem
from ropewalk.placement.risk import margin_for, margins, moments, risk_of
from ropewalk.placement.solve.scores import Model, Objective, above, log_below


@dataclass(frozen=True, slots=True)
class Standing:
    """A broker under a placement, in the peak."""

    broker: str
    items: int
    rate_msgs_s: float
    load: float
    """Mean part of its time."""
    deviation: float
    limit: float
    margin: float
    risk: float
    service_s: float
    delay_s: float
    replication: float
    bytes_s: float


@dataclass(frozen=True, slots=True)
class Rejection:
    """A rule that a placement, or a move, breaks."""

    rule: str
    what: str
    """The broker, item or site."""
    reason: str


def standings(problem: Problem, place: Ints, model: Model = Model.NORMAL) -> list[Standing]:
    """All brokers under a placement."""
    width = len(problem.brokers)
    load, variance = moments(problem, place)
    z = margins(problem, place, model)
    rate = np.bincount(place, problem.rate_msgs_s, width)
    copies = np.bincount(place, problem.rate_msgs_s * problem.replication, width)
    volume = np.bincount(place, problem.rate_msgs_s * problem.bytes_each, width)
    items = np.bincount(place, minlength=width)
    each = np.where(rate > 0, rate, 1.0)
    service, replication = load / each, copies / each
    delay = delay_s(service, load)
    return [
        Standing(
            name,
            int(items[b]),
            float(rate[b]),
            float(load[b]),
            float(np.sqrt(variance[b])),
            float(problem.limit[b]),
            float(z[b]),
            float(risk_of(z[b : b + 1])[0]),
            float(service[b]),
            float(delay[b]),
            float(replication[b]),
            float(volume[b]),
        )
        for b, name in enumerate(problem.brokers)
    ]


def value_of(
    problem: Problem, place: Ints, objective: Objective, model: Model = Model.NORMAL
) -> float:
    """The objective's value: the least margin, the product's logarithm, or messages per second."""
    z = margins(problem, place, model)
    if objective is Objective.MARGIN:
        return float(z.min())
    if objective is Objective.PRODUCT:
        return float(sum(log_below(one) for one in z))
    rate = np.bincount(place, problem.rate_msgs_s, len(problem.brokers))
    if objective is Objective.UTILITY:
        return float(rate.sum() - rate @ risk_of(z))
    load, variance = moments(problem, place)
    over = [above(*one) for one in zip(z, load, variance, problem.limit, strict=True)]
    return float(rate.sum() - rate @ (np.array(over) / problem.limit))


def product_of(problem: Problem, place: Ints, model: Model = Model.NORMAL) -> float:
    """The probability that no broker is overloaded, as if they were independent."""
    return float(np.exp(value_of(problem, place, Objective.PRODUCT, model)))


def rejections(problem: Problem, place: Ints, model: Model = Model.NORMAL) -> list[Rejection]:
    """Every rule that a placement breaks; none if it may be carried out."""
    return [
        *_items(problem, place),
        *_brokers(problem, standings(problem, place, model)),
        *_apart(problem, place),
        *_sites(problem, place),
        *_moves(problem, place),
    ]


def _items(problem: Problem, place: Ints) -> Iterator[Rejection]:
    wrong = ~problem.rules.allowed[place, np.arange(len(place))]
    for i in np.flatnonzero(wrong):
        item, broker = problem.items[i], problem.brokers[place[i]]
        yield Rejection("only", item, f"item {item} must not be on {broker}")


def _brokers(problem: Problem, found: list[Standing]) -> Iterator[Rejection]:
    rules = problem.rules
    for b, one in enumerate(found):
        floor = float(rules.least_margin[b])
        if one.margin < floor - 1e-9:
            cap = float(risk_of(np.array([floor]))[0])
            yield Rejection(
                "risk",
                one.broker,
                f"{one.broker}: risk {percent(one.risk)} is above {percent(cap)}",
            )
        for rule, value, most, scale, unit in (
            ("service_us", one.service_s, rules.most_service_s[b], 1e6, "us of work per message"),
            ("delay_us", one.delay_s, rules.most_delay_s[b], 1e6, "us in the broker"),
            ("replication", one.replication, rules.most_replication[b], 1, "copies of a message"),
            ("items", one.items, rules.most_items[b], 1, "items"),
            ("volume_bytes_s", one.bytes_s, rules.most_bytes_s[b], 1, "bytes/s"),
        ):
            if value > most * (1 + 1e-9):
                text = f"{one.broker}: {value * scale:.4g} {unit}, {most * scale:.4g} are allowed"
                yield Rejection(rule, one.broker, text)


def _apart(problem: Problem, place: Ints) -> Iterator[Rejection]:
    for group in problem.rules.apart:
        brokers = place[list(group)]
        for b in np.unique(brokers):
            together = [problem.items[i] for i in group if place[i] == b]
            if len(together) > 1:
                text = f"{' and '.join(together)} must be apart: both are on {problem.brokers[b]}"
                yield Rejection("apart", together[0], text)


def _sites(problem: Problem, place: Ints) -> Iterator[Rejection]:
    rules = problem.rules
    at = rules.site[place]
    for s, name in enumerate(rules.sites):
        items, rate = int((at == s).sum()), float(problem.rate_msgs_s[at == s].sum())
        if items > rules.most_items_at[s]:
            text = f"site {name}: {items} items, {rules.most_items_at[s]:g} are allowed"
            yield Rejection("site items", name, text)
        if rate > rules.most_rate_at[s] * (1 + 1e-9):
            text = f"site {name}: {rate:.4g} messages/s, {rules.most_rate_at[s]:.4g} are allowed"
            yield Rejection("site rate", name, text)


def _moves(problem: Problem, place: Ints) -> Iterator[Rejection]:
    most, today = problem.rules.most_moves, problem.rules.today
    moved = int(((today >= 0) & (today != place)).sum())
    if most is not None and moved > most:
        yield Rejection("moves", "", f"{moved} items move, {most} may")


def why_not(
    problem: Problem, place: Ints, item: int, broker: int, model: Model = Model.NORMAL
) -> list[Rejection]:
    """Rules that would be broken, and are not now, if one item went to another broker."""
    there = place.copy()
    there[item] = broker
    now = {(one.rule, one.what) for one in rejections(problem, place, model)}
    return [one for one in rejections(problem, there, model) if (one.rule, one.what) not in now]


def floor_of(risk: float | None) -> float:
    """The least margin for a cap of risk; none without a cap."""
    return -np.inf if risk is None else margin_for(risk)


def percent(share: float) -> str:
    """A probability for people.

    >>> percent(0.0123), percent(3e-7), percent(3e-9), percent(0)
    ('1.2 %', '3e-05 %', '<1e-06 %', '0 %')
    """
    share = 100 * float(share)
    if 0 < share < 1e-6:
        return "<1e-06 %"
    return f"{share:.2g} %" if share < 10 else f"{share:.1f} %"


def gap(value: float, bound: float) -> float:
    """How far a value may be from the best, as a part of the bound."""
    return float((bound - value) / abs(bound)) if bound else 0.0
