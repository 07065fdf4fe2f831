"""Clients of failed brokers: who takes them over, and what that makes of their messages.

A broker's own list decides: the first of it that is up. Where its clients are depends only on
what is down now, so they return when it recovers (Jia 2014, 5.1).
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ropewalk.federation.arrays import Ints
from ropewalk.federation.facts import Federation
from ropewalk.routing.scenarios import Scenarios
from ropewalk.routing.trees import Longs
from ropewalk.verify.demand import Demand

GONE = -1
"""The broker of clients that nobody takes over."""


@dataclass(frozen=True, eq=False, slots=True)
class Moves:
    """Messages of clients that moved, sorted by their new destination and the scenario."""

    scenario: Ints
    source: Ints
    to: Ints
    pair: Ints
    stranded: Longs
    """Pairs of clients in each scenario of which one has no broker left."""
    lost: tuple[Ints, Ints]
    """Those as (scenario, pair)."""


Takers = Sequence[tuple[int, ...]] | Mapping[int, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Homes:
    """Who takes over each broker's publishers and subscribers, in order of preference."""

    publishers: Sequence[tuple[int, ...]]
    subscribers: Sequence[tuple[int, ...]]


def homes_of(federation: Federation) -> Homes:
    """The take-over lists of a federation, by number."""
    number = {name: i for i, name in enumerate(federation.brokers)}
    lists = [broker.takeover for broker in federation.brokers.values()]
    return Homes(
        [tuple(number[name] for name in one.publishers) for one in lists],
        [tuple(number[name] for name in one.subscribers) for one in lists],
    )


def home(broker: int, takers: Takers, down: Collection[int]) -> int:
    """Where clients of a broker are when some brokers are down.

    >>> home(0, [(1, 2), (), ()], down=[0, 1]), home(2, [(1, 2), (), ()], down=[0])
    (2, 2)
    """
    if broker not in down:
        return broker
    return next((taker for taker in takers[broker] if taker not in down), GONE)


def moves_of(demand: Demand, homes: Homes, scenarios: Scenarios) -> Moves:
    """All messages whose publisher or subscriber moves, in every scenario with dead brokers."""
    by_source, by_to = _index(demand.source, demand.brokers), _index(demand.to, demand.brokers)
    stranded = np.zeros(len(scenarios), np.int64)
    found: list[tuple[Ints, ...]] = [(np.zeros(0, np.int32),) * 4]
    lost: list[tuple[Ints, ...]] = [(np.zeros(0, np.int32),) * 2]
    for k in np.flatnonzero(np.diff(scenarios.first_broker)).tolist():
        down = scenarios.down(k).brokers
        pairs = np.unique(np.concatenate([one(b) for b in down for one in (by_source, by_to)]))
        source, to = demand.source[pairs].copy(), demand.to[pairs].copy()
        for b in down:
            source[source == b] = home(b, homes.publishers, down)
            to[to == b] = home(b, homes.subscribers, down)
        kept = (source != GONE) & (to != GONE)
        stranded[k] = demand.weight[pairs[~kept]].sum()
        number = np.full(len(pairs), k, np.int32)
        found.append((number[kept], source[kept], to[kept], pairs[kept]))
        lost.append((number[~kept], pairs[~kept]))
    scenario, source, to, pair = (np.concatenate(column) for column in zip(*found, strict=True))
    order = np.lexsort((scenario, to))
    gone = tuple(np.concatenate(column) for column in zip(*lost, strict=True))
    return Moves(
        scenario[order], source[order], to[order], pair[order], stranded, (gone[0], gone[1])
    )


def _index(values: Ints, brokers: int) -> Callable[[int], Ints]:
    """Where each broker's number stands among the values."""
    order = np.argsort(values, kind="stable").astype(np.int32)
    first = np.searchsorted(values[order], np.arange(brokers + 1))
    return lambda broker: order[first[broker] : first[broker + 1]]
