"""The network that regions cut: places, links with delays, and the node of each broker.

It is the underlay where the federation has one that reaches its brokers; else the brokers and
their links themselves.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import inf

import numpy as np

from ropewalk.errors import UsageError
from ropewalk.federation.arrays import Floats, Graph, Ints, adjacency
from ropewalk.federation.facts import Federation
from ropewalk.federation.places import (
    FIBRE_MS_PER_KM,
    attached_nodes,
    broker_positions,
    distance_km,
    node_positions,
    on_globe,
)
from ropewalk.routing.trees import Net, net_of


@dataclass(frozen=True, slots=True)
class Path:
    """A way through the network: its nodes, the links between them, and its delay."""

    nodes: tuple[int, ...]
    links: tuple[int, ...]
    delay_ms: float

    @property
    def hops(self) -> int:
        """How many links it takes."""
        return len(self.links)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a path may cost at most."""

    delay_ms: float = inf
    hops: float = inf

    def allow(self, path: Path) -> bool:
        """Whether a path keeps to them; a delay that is over by rounding only does."""
        return path.delay_ms <= self.delay_ms * (1 + 1e-9) and path.hops <= self.hops


UNLIMITED = Limits()


@dataclass(frozen=True, eq=False)
class Terrain:
    """A graph on the map: `at` has a row per node, `attached` the node of each broker."""

    graph: Graph
    at: Floats
    globe: bool
    attached: Ints
    underlay: bool = False

    @cached_property
    def net(self) -> Net:
        """The graph as the kernels take it."""
        return net_of(self.graph)

    @cached_property
    def arc_delay_ms(self) -> Floats:
        """The delay of each arc of `net`."""
        return self.graph.latency_ms[self.graph.link]

    @cached_property
    def _link(self) -> dict[tuple[int, int], int]:
        ends = self.graph.ends.tolist()
        return {pair: e for e, (a, b) in enumerate(ends) for pair in ((a, b), (b, a))}

    def path(self, nodes: Sequence[int]) -> Path:
        """The path over these nodes; raises UsageError where two of them are not linked."""
        links = []
        for a, b in pairwise(nodes):
            if (a, b) not in self._link:
                names = self.graph.names
                raise UsageError(f"no path: {names[a]} and {names[b]} are not linked")
            links.append(self._link[a, b])
        return Path(tuple(nodes), tuple(links), float(self.graph.latency_ms[links].sum()))

    def links_at(self, node: int) -> list[int]:
        """The links of a node."""
        return list(map(int, self.graph.link[self.graph.first[node] : self.graph.first[node + 1]]))

    def named(self, path: Path) -> list[str]:
        """The names of a path's nodes."""
        return [self.graph.names[node] for node in path.nodes]

    def distance_km(self, nodes: Sequence[int]) -> Floats:
        """The distance of every node from the nearest of these; infinite if it has no place."""
        from_each = [distance_km(self.at, self.at[node], globe=self.globe) for node in nodes]
        return np.asarray(np.nan_to_num(from_each, nan=np.inf).min(axis=0))

    def number(self, name: str) -> int:
        """The number of a node by its name; raises UsageError if there is none."""
        if name not in self._number:
            raise UsageError(f"there is no node {name!r} on the map")
        return self._number[name]

    @cached_property
    def _number(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.graph.names)}


def terrain_of(federation: Federation, *, brokers_only: bool = False) -> Terrain:
    """The network of a federation that regions cut; without the underlay if so asked.

    >>> from ropewalk import generate
    >>> terrain_of(generate("gap-validation")).graph.links
    12
    """
    if federation.underlay.links and not brokers_only:
        attached = attached_nodes(federation)
        if (attached >= 0).all():
            return _underlay(federation, attached)
    itself = np.arange(len(federation.brokers), dtype=np.int32)
    return Terrain(federation.graph, broker_positions(federation), on_globe(federation), itself)


def _underlay(federation: Federation, attached: Ints) -> Terrain:
    names = tuple(federation.underlay.nodes)
    number = {name: i for i, name in enumerate(names)}
    pairs = [(number[a], number[b]) for a, b in (one.between for one in federation.underlay.links)]
    ends = np.array(pairs, dtype=np.int32)
    at, globe = node_positions(federation), on_globe(federation)
    km = np.array(
        [np.nan if one.length_km is None else one.length_km for one in federation.underlay.links]
    )
    straight = np.nan_to_num(distance_km(at[ends[:, 0]], at[ends[:, 1]], globe=globe), nan=0.0)
    delay_ms = np.where(np.isnan(km), straight, km) * FIBRE_MS_PER_KM
    first, neighbour, link = adjacency(ends, len(names))
    graph = Graph(
        names=names,
        ends=ends,
        cost=np.ones(len(ends), np.int32),
        latency_ms=delay_ms,
        loss=np.zeros(len(ends)),
        first=first,
        neighbour=neighbour,
        link=link,
        domain=np.arange(len(names), dtype=np.int32),
        transit=np.ones(len(names), np.bool_),
    )
    return Terrain(graph, at, globe, attached, underlay=True)
