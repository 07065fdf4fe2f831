"""Who owes whom messages in time: pairs of brokers with a bound and a probability."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ropewalk.errors import UsageError
from ropewalk.federation.arrays import Bools, Ints
from ropewalk.federation.facts import Federation
from ropewalk.routing.trees import Longs
from ropewalk.verify.demand import Demand
from ropewalk.verify.latency.times import NS, Reals
from ropewalk.verify.latency.ways import Brokers

WANTED = 0.99
"""The part of messages that has to be in time where nothing else is said."""


@dataclass(frozen=True, eq=False, slots=True)
class Asks:
    """A row per pair of brokers and promise; `topics` that promise it, none if all are asked."""

    source: Ints
    to: Ints
    within_ns: Longs
    wanted: Reals
    dual: Bools
    topics: Sequence[tuple[int, ...]]
    second: dict[tuple[int, int], Brokers] = field(default_factory=dict)
    """Second paths, of pairs with messages over two."""

    def __len__(self) -> int:
        return len(self.source)

    def second_of(self, row: int) -> Brokers:
        """The second path of messages of a row, or nothing."""
        ends = int(self.source[row]), int(self.to[row])
        return self.second.get(ends, ()) if self.dual[row] else ()


def asks_of(
    federation: Federation,
    demand: Demand,
    *,
    everything: bool = False,
    within_ms: float | None = None,
    probability: float | None = None,
) -> Asks:
    """What contracts promise; `within_ms` and `probability` are for those that do not say.

    Where `everything` is asked after, whatever the topics are, they are for all pairs.
    """
    if everything:
        return _every(demand, within_ms, WANTED if probability is None else probability)
    contracts = [one.contract for one in federation.topics.values()]
    number = {name: t for t, name in enumerate(federation.topics)}
    own = [number[name] for name in demand.topic_names]
    promises: dict[tuple[int, int, float, bool], list[int]] = {}
    for pair in range(len(demand.to)):
        for t in dict.fromkeys(demand.topic_numbers(pair)):
            contract = contracts[own[t]]
            bound = contract.within_ms if contract.within_ms is not None else within_ms
            if bound is None:
                continue
            said = contract.within_ms is not None or probability is None
            wanted = contract.probability if said else probability
            key = (pair, round(bound * NS), float(wanted or 0), contract.paths > 1)
            promises.setdefault(key, []).append(own[t])
    rows = list(promises)
    pair_of = np.array([one[0] for one in rows], np.int64)
    return Asks(
        demand.source[pair_of],
        demand.to[pair_of],
        np.array([one[1] for one in rows], np.int64),
        np.array([one[2] for one in rows], np.float64),
        np.array([one[3] for one in rows], np.bool_),
        [tuple(one) for one in promises.values()],
        _seconds(federation) if any(one[3] for one in rows) else {},
    )


def _every(demand: Demand, within_ms: float | None, wanted: float) -> Asks:
    if within_ms is None:
        raise UsageError("no contract says how soon messages arrive: give --within-ms")
    size = len(demand.to)
    bound = np.full(size, round(within_ms * NS), np.int64)
    single = np.zeros(size, np.bool_)
    return Asks(demand.source, demand.to, bound, np.full(size, wanted), single, [()] * size)


def _seconds(federation: Federation) -> dict[tuple[int, int], Brokers]:
    """The second paths that agents send over."""
    from ropewalk.overlay.chart import Chart
    from ropewalk.overlay.pairs import alternates_of
    from ropewalk.routing.ahead import tables_of

    graph, ends = federation.graph, federation.graph.ends.tolist()
    numbers = range(graph.brokers), range(graph.links)
    pairs = tuple((a, b) for a, b in ends)
    chart = Chart(1, graph.names, pairs, tables_of(federation, "none"), *numbers)
    found = {}
    for start, routes in alternates_of(federation, chart).items():
        for end, links in routes.items():
            path = [start]
            for link in links:
                a, b = ends[link]
                path.append(b if path[-1] == a else a)
            found[start, end] = tuple(path)
    return found
