"""Regions over a network, made ready: for every pair, which regions a path could escape.

A pair that has an end in a region, or that the region separates, no path could save: whatever is
chosen is lost. Only the other regions tell good choices from bad ones.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ropewalk.kernels import kernel
from ropewalk.routing.apart.regions import Regions, Words
from ropewalk.routing.apart.terrain import Path, Terrain

Parts = npt.NDArray[np.unsignedinteger[Any]]


@dataclass(frozen=True, eq=False, slots=True)
class Scene:
    """A network and regions; `parts[u, r]` is the connected part of node u that region r leaves."""

    terrain: Terrain
    regions: Regions
    parts: Parts

    def avoidable(self, start: int, end: int) -> Words:
        """The regions that spare two nodes and leave a path; also the bits beyond the last one."""
        link, graph = self.regions.link, self.terrain.graph
        left = np.zeros(link.shape[1], np.uint64)
        for a, up in self._doors(start):
            for b, also_up in self._doors(end):
                left |= _packed(self.parts[a] == self.parts[b]) & up & also_up
        for arc in range(graph.first[start], graph.first[start + 1]):
            if graph.neighbour[arc] == end:
                left |= ~link[graph.link[arc]]
        return left & self.regions.sparing(start, end)

    def separated(self, start: int, end: int) -> Words:
        """The regions that spare two nodes and leave no path, where there is one without them."""
        return self.regions.sparing(start, end) & ~self.avoidable(start, end)

    def _doors(self, node: int) -> Iterator[tuple[int, Words]]:
        """Where paths to a node enter what carries transit, and the regions that leave the door."""
        graph = self.terrain.graph
        if graph.transit[node]:
            yield node, np.full(self.regions.link.shape[1], ~np.uint64(0))
            return
        for arc in range(graph.first[node], graph.first[node + 1]):
            if graph.transit[graph.neighbour[arc]]:
                yield int(graph.neighbour[arc]), ~self.regions.link[graph.link[arc]]

    def lost(self, paths: Iterable[Path]) -> Words:
        """The regions that hit every one of these paths."""
        return np.asarray(np.bitwise_and.reduce([self.regions.hit(path) for path in paths], axis=0))

    def left_to_avoid(self, paths: Sequence[Path]) -> Words:
        """The regions that hit all of these paths although there is a way round."""
        return self.lost(paths) & self.avoidable(paths[0].nodes[0], paths[0].nodes[-1])

    def exposure(self, paths: Sequence[Path]) -> float:
        """The weight of those regions."""
        return self.regions.exposure(self.left_to_avoid(paths))


def scene_of(terrain: Terrain, regions: Regions) -> Scene:
    """Make a network and its regions ready: once, for any number of pairs."""
    nodes, words = regions.node.shape
    parts = np.empty((nodes, 64 * words), np.min_scalar_type(nodes))
    _fill_parts(terrain.net, terrain.graph.ends, regions.link, parts)
    return Scene(terrain, regions, parts)


def _packed(bits: npt.NDArray[np.bool_]) -> Words:
    return np.packbits(bits, bitorder="little").view("<u8").astype(np.uint64, copy=False)


@kernel
def _fill_parts(net: Any, ends: Any, link: Any, parts: Any) -> None:
    """Connected parts after each region, by links between nodes that carry transit."""
    root = np.empty(len(parts), np.int64)
    for region in range(parts.shape[1]):
        word, bit = region >> 6, np.uint64(1) << np.uint64(region & 63)
        for u in range(len(root)):
            root[u] = u
        for e in range(len(ends)):
            a, b = ends[e, 0], ends[e, 1]
            if not link[e, word] & bit and net.nodes[a].transit and net.nodes[b].transit:
                a, b = _root(root, a), _root(root, b)
                root[max(a, b)] = min(a, b)
        for u in range(len(root)):
            parts[u, region] = _root(root, u)


@kernel
def _root(root: Any, u: int) -> int:
    while root[u] != u:
        root[u] = root[root[u]]
        u = root[u]
    return u
