"""The discrete model: what every hop costs, in slots, for one bound on the time of messages.

A hop is a link with all its repetitions, and the time in the broker it leads to. Where latencies
were measured from broker to broker, that broker's time is in them already.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ropewalk.federation.arrays import Graph, offsets
from ropewalk.federation.facts import Federation, Histogram, Link
from ropewalk.federation.names import link_name
from ropewalk.routing.trees import Longs, Net, net_of
from ropewalk.verify.latency.load import Load
from ropewalk.verify.latency.times import (
    AT_ONCE,
    NS,
    Grid,
    Reals,
    Retry,
    Times,
    after,
    crossing,
    waiting,
)


class Sparse(NamedTuple):
    """Distributions one after the other: slots with something in them, and how much."""

    base_ns: Longs
    first: npt.NDArray[np.int32]
    slot: npt.NDArray[np.int32]
    mass: Reals
    again: Reals
    """The part of each that is tried again, ever again, ..."""
    lag: int
    """... so many slots later."""


@dataclass(frozen=True, eq=False)
class Model:
    """What arcs of the graph and brokers cost a message that has `within_ns`."""

    graph: Graph
    within_ns: int
    grid: Grid
    hop: Sequence[Times]
    """By arc: the link, then the broker it leads to."""
    start: Sequence[Times]
    """By broker: its own time, where a message starts."""
    tried: Sequence[Times]
    """By arc: the hop if only one try counts; the same as `hop` where that has all tries."""
    again: Reals
    """By arc: the loss that is made up for by trying again, for ever; 0 where `tried` has it."""
    lag: int
    """After so many slots."""

    @cached_property
    def net(self) -> Net:
        """The graph as kernels take it."""
        return net_of(self.graph)

    @cached_property
    def arc(self) -> dict[tuple[int, int], int]:
        """The arc from a broker to a neighbour."""
        tail = np.repeat(np.arange(self.graph.brokers), np.diff(self.graph.first)).tolist()
        return {
            pair: i for i, pair in enumerate(zip(tail, self.graph.neighbour.tolist(), strict=True))
        }

    @cached_property
    def packed(self) -> tuple[Sparse, Sparse, Sparse, Sparse]:
        """Hops and starts as kernels take them, each rounded up and rounded down."""
        never = np.zeros(len(self.start))
        ways = ("late", "early")
        hops = [_sparse(self.tried, way, self.again, self.lag) for way in ways]
        starts = [_sparse(self.start, way, never, self.lag) for way in ways]
        return hops[0], hops[1], starts[0], starts[1]

    @property
    def exact(self) -> bool:
        """Whether nothing had to be rounded anywhere."""
        return all(one.exact for some in (self.hop, self.start) for one in some)


def _sparse(times: Sequence[Times], way: str, again: Reals, lag: int) -> Sparse:
    masses: list[Reals] = [getattr(one, way) for one in times]
    kept = [np.flatnonzero(one) for one in masses]
    slot = np.concatenate([np.zeros(0, np.int64), *kept]).astype(np.int32)
    mass = np.concatenate([np.zeros(0), *(m[at] for m, at in zip(masses, kept, strict=True))])
    base = np.array([one.base_ns for one in times], np.int64)
    return Sparse(base, offsets([len(one) for one in kept]), slot, mass, again, lag)


@dataclass(frozen=True, slots=True)
class Ground:
    """What models of all bounds have in common."""

    federation: Federation
    load: Load
    retry: Retry
    measured: Mapping[str, Histogram]
    """Latencies of links by name, which stand in for what the file says.

    What was sent again is in them, so losses are not counted a second time.
    """

    def model(self, within_ns: int, slot_ns: int) -> Model:
        """The model of one bound, in slots of one size."""
        graph = self.federation.graph
        grid = Grid(slot_ns, within_ns // slot_ns)
        start = [self._start(b, grid) for b in range(graph.brokers)]
        links = [self._link(one) for one in self.federation.links]
        over = self._crossings(links, self.retry, grid)
        # Where a retry takes whole slots, trying for ever is a rule, not a list of all tries.
        lag = self.retry.after_ns // slot_ns
        endless = self.retry.most is None and lag * slot_ns == self.retry.after_ns
        once = self._crossings(links, replace(self.retry, most=0), grid) if endless else over
        loss = graph.loss if not self.measured else np.array([one.loss for one in links])
        again = (loss if endless else np.zeros(len(links)))[graph.link]
        hop, tried = (self._arcs(links, some, start, grid) for some in (over, once))
        return Model(graph, within_ns, grid, hop, start, tried, again, lag)

    def _crossings(self, links: Sequence[Link], retry: Retry, grid: Grid) -> list[Times]:
        known: dict[object, Times] = {}
        latency_ns = (round(float(ms) * NS) for ms in self.federation.graph.latency_ms)
        return [
            _once(known, one, ns, retry, grid) for one, ns in zip(links, latency_ns, strict=True)
        ]

    def _arcs(
        self, links: Sequence[Link], over: Sequence[Times], start: Sequence[Times], grid: Grid
    ) -> list[Times]:
        """Each arc's link and the broker it leads to, whose time measured latencies have."""
        graph = self.federation.graph
        sums: dict[tuple[int, int], Times] = {}
        found = []
        for link, broker in zip(graph.link.tolist(), graph.neighbour.tolist(), strict=True):
            then = AT_ONCE if links[link].histogram is not None else start[broker]
            key = id(over[link]), id(then)
            if key not in sums:
                sums[key] = after(over[link], then, grid.last)
            found.append(sums[key])
        return found

    def _start(self, broker: int, grid: Grid) -> Times:
        service, used = self.load.service_ns[broker], self.load.utilisation[broker]
        return waiting(float(service), float(used), grid)

    def _link(self, link: Link) -> Link:
        found = self.measured.get(link_name(*link.between))
        return link if found is None else replace(link, histogram=found, jitter=None, loss=0.0)


def _once(
    known: dict[object, Times], link: Link, latency_ns: int, retry: Retry, grid: Grid
) -> Times:
    """Links that behave alike share their times: most of a federation's do."""
    key = (latency_ns, link.loss, link.jitter, link.histogram)
    if key not in known:
        known[key] = crossing(link, latency_ns, retry, grid)
    return known[key]
