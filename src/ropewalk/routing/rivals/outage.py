"""How long messages are lost after a link fails: PCRT, plain and carrying, beside OSPF.

Detection is the same for all. Then the news spreads from both ends of the link, a hop in every
`flood_ms`, and a broker uses its new table a fixed time after it has heard: `switch_ms` where the
table is there already, the delay, run and installation of a new calculation where it is not. So at
any moment the brokers up to some number of hops away have switched, and a message gets through or
not by tables of two colours (see `mixed`). What waits in a loop is counted as lost.
"""

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ropewalk.errors import UsageError
from ropewalk.federation.arrays import Graph, Ints
from ropewalk.federation.facts import Federation
from ropewalk.kernels import kernel
from ropewalk.routing.all_pairs import (
    Ground,
    by_destination,
    distances,
    failing_room,
    ground_of,
    put_up,
    take_down,
)
from ropewalk.routing.delta import plant
from ropewalk.routing.mixed.walking import PATH, walk
from ropewalk.routing.trees import FAR, Longs, net_of

if TYPE_CHECKING:
    import pandas as pd

Method = Literal["OSPF", "PCRT", "PCRT carrying"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timers:
    """How long things take. The defaults are those that Jia 2014, 6.1 calls typical of OSPF."""

    hello_ms: float = 10_000
    """Between two hellos, or heartbeats."""
    dead_ms: float = 40_000
    """Without any for so long, the link is dead."""
    flood_ms: float = 10
    """News over one link."""
    spf_delay_ms: float = 5_000
    """OSPF waits so long for more news before it calculates."""
    spf_hold_ms: float = 10_000
    """Between two calculations."""
    spf_us_per_link: float = 1
    fib_us_per_entry: float = 100
    adjacency_ms: float = 40
    """OSPF: from the first hello over a mended link to a full adjacency. PCRT: the link test."""
    switch_ms: float = 0.1
    """PCRT: another colour's table is taken."""

    def __post_init__(self) -> None:
        odd = [name for name, value in asdict(self).items() if not 0 <= value < float("inf")]
        if odd:
            raise UsageError(f"{odd[0]} is {getattr(self, odd[0])}: it must be 0 or more")
        if not 0 < self.hello_ms <= self.dead_ms:
            said = f"hello_ms is {self.hello_ms:g}"
            raise UsageError(
                f"{said}: it must be more than 0 and at most dead_ms, {self.dead_ms:g}"
            )

    @property
    def detect_ms(self) -> float:
        """From a failure to its detection, on average: the last hello was half an interval ago."""
        return self.dead_ms - self.hello_ms / 2

    def react_ms(self, method: Method, graph: Graph) -> float:
        """From hearing of a change to a new table in use."""
        if method != "OSPF":
            return self.switch_ms
        run_us = self.spf_us_per_link * 2 * graph.links
        return self.spf_delay_ms + (run_us + self.fib_us_per_entry * (graph.brokers - 1)) / 1000


@dataclass(frozen=True, slots=True)
class Outage:
    """How long the pairs whose path failed, but whose ends are connected, are without a path.

    None where there are no such pairs.
    """

    method: Method
    cases: int
    mean_ms: float | None
    p95_ms: float | None
    max_ms: float | None
    waiting: float | None
    """The share that is without a path for some time after the ends of the link have switched."""

    def lost(self, rate_msgs_s: float) -> float | None:
        """Messages lost of a stream of this rate, on average."""
        return None if self.mean_ms is None else self.mean_ms / 1000 * rate_msgs_s


@dataclass(frozen=True, eq=False)
class Outages:
    """All methods on one federation."""

    timers: Timers
    rows: tuple[Outage, ...]

    def of(self, method: Method) -> Outage:
        """The row of a method."""
        return next(row for row in self.rows if row.method == method)

    def frame(self) -> "pd.DataFrame":
        """A row per method."""
        import pandas as pd

        return pd.DataFrame(self.rows)


def outages(federation: Federation, timers: Timers | None = None) -> Outages:
    """The outage after every single link's failure, by method.

    >>> from ropewalk.federation.generators import generate
    >>> found = outages(generate("six-node"))
    >>> [round(found.of(method).mean_ms) for method in ("OSPF", "PCRT", "PCRT carrying")]
    [40004, 35003, 35000]
    """
    timers, graph = timers or Timers(), federation.graph
    ground, hops = ground_of(graph), hops_between(graph)
    plain = waits(ground, hops, carrying=False)
    carried = waits(ground, hops, carrying=True)
    methods: list[tuple[Method, Longs]] = [
        ("OSPF", plain),
        ("PCRT", plain),
        ("PCRT carrying", carried),
    ]
    return Outages(timers, tuple(_outage(one, graph, timers, counts) for one, counts in methods))


def _outage(method: Method, graph: Graph, timers: Timers, counts: Longs) -> Outage:
    cases = int(counts.sum())
    before = timers.detect_ms + timers.react_ms(method, graph)
    lengths = before + timers.flood_ms * np.arange(len(counts))
    if not cases:
        return Outage(method, 0, None, None, None, None)
    return Outage(
        method=method,
        cases=cases,
        mean_ms=float(lengths @ counts) / cases,
        p95_ms=float(lengths[np.searchsorted(np.cumsum(counts), 0.95 * cases)]),
        max_ms=float(lengths[np.flatnonzero(counts)[-1]]),
        waiting=1 - int(counts[0]) / cases,
    )


def hops_between(graph: Graph) -> Ints:
    """Hops that news takes between all pairs: over every link, and through every broker."""
    ones, every = np.ones_like(graph.cost), np.ones_like(graph.transit)
    net = net_of(replace(graph, cost=ones, transit=every))
    return np.minimum(distances(net, 0, graph.brokers), graph.brokers).astype(np.int32)


def waits(ground: Ground, hops: Ints, *, carrying: bool) -> Longs:
    """How many cases get no message through while news goes 0, 1, 2, ... hops, by that number."""
    n = len(ground.arc)

    def work(start: int, stop: int) -> Longs:
        counts, path = np.zeros(n + 1, np.int64), np.zeros(PATH * n, np.int32)
        news = (np.zeros(n, np.int32), np.zeros(n, np.int32), np.zeros(n, np.bool_))
        _wait(ground, start, stop, hops, carrying, failing_room(ground), news, path, counts)
        return counts

    total: Longs = np.sum(by_destination(work, ground), axis=0)
    return total[: np.flatnonzero(total)[-1] + 1] if total.any() else total[:1]


@kernel
def _wait(
    ground: Any,
    start: int,
    stop: int,
    hops: Any,
    carrying: bool,
    failing: Any,
    news: Any,
    path: Any,
    counts: Any,
) -> None:
    state = failing.tree.state
    for to in range(start, stop):
        plant(ground.net, to, failing.tree)
        for at in range(len(state)):
            count, size = take_down(ground, to, at, False, failing)
            if count:
                a, b = ground.ends[failing.link[0]]
                _wait_below(state, at, hops[a], hops[b], carrying, news, path, counts)
                put_up(failing, size, False)


@kernel
def _wait_below(
    state: Any, at: int, from_a: Any, from_b: Any, carrying: bool, news: Any, path: Any, counts: Any
) -> None:
    """The waits of all sources below one end of a failed link."""
    first, last, furthest = state[at].place, state[at].place + state[at].size, 0
    hops, waited, knows = news
    for place in range(first, last):
        u = state[place].slot
        hops[u], waited[u] = min(from_a[u], from_b[u]), 0
        furthest = max(furthest, hops[u])
    for gone in range(furthest):
        for place in range(first, last):
            knows[state[place].slot] = hops[state[place].slot] <= gone
        for place in range(first, last):
            u = state[place].slot
            if state[u].distance < FAR:
                waited[u] += walk(state, u, at, knows, False, carrying, path) < 0
    for place in range(first, last):
        u = state[place].slot
        if state[u].distance < FAR:
            counts[waited[u]] += 1
