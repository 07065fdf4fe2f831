"""What becomes of paths when regions strike: counts that add up over any split of the regions.

A pair that has an end in the region, or that the region separates, no path could save. What is
left is avoidable: it is lost only by the choice of paths.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ropewalk.routing.apart.regions import Regions, Words
from ropewalk.routing.apart.terrain import Path, Terrain
from ropewalk.routing.kernels import kernel

Counts = npt.NDArray[np.int64]
"""A row per plan: how many regions leave no path of it up, and how many of these were avoidable."""

LOST, AVOIDABLE = 0, 1


@dataclass(frozen=True, eq=False, slots=True)
class Survival:
    """The fate of plans (sets of paths for a pair) over so many regions."""

    regions: int
    counts: Counts

    def __add__(self, other: "Survival") -> "Survival":
        return Survival(self.regions + other.regions, self.counts + other.counts)

    def captured(self, plan: int, baseline: int) -> float | None:
        """What part of a baseline's avoidable losses a plan avoids; None if it has none."""
        return captured(self.counts[[plan]], self.counts[[baseline]])


def captured(plans: Counts, baselines: Counts) -> float | None:
    """What part of the baselines' avoidable losses the plans avoid; None if there is none."""
    avoidable = int(baselines[:, AVOIDABLE].sum())
    return 1 - int(plans[:, AVOIDABLE].sum()) / avoidable if avoidable else None


def survival(terrain: Terrain, regions: Regions, plans: Sequence[Sequence[Path]]) -> Survival:
    """How often every path of a plan is hit, over all regions alike."""
    lost = np.array([lost_in(regions, plan) for plan in plans]).reshape(len(plans), -1)
    ends = np.array([(plan[0].nodes[0], plan[0].nodes[-1]) for plan in plans], np.int64)
    counts = np.zeros((len(plans), 2), np.int64)
    if len(plans):
        _count(terrain.net, terrain.graph.ends, regions.node, regions.link, lost, ends, counts)
    return Survival(sum(kind.count for kind in regions.kinds), counts)


def lost_in(regions: Regions, plan: Sequence[Path]) -> Words:
    """The regions that hit every path of a plan."""
    return np.asarray(np.bitwise_and.reduce([regions.hit(path) for path in plan], axis=0))


def avoidable_in(terrain: Terrain, regions: Regions, plan: Sequence[Path]) -> int | None:
    """The first region that hits every path of a plan although another path is left."""
    start, end = plan[0].nodes[0], plan[0].nodes[-1]
    lost = lost_in(regions, plan) & regions.sparing(start, end)
    parts = np.empty(len(terrain.at), np.int64)
    for bit in np.flatnonzero(np.unpackbits(lost.view(np.uint8), bitorder="little")):
        _parts(terrain.net, terrain.graph.ends, regions.node, regions.link, int(bit), parts)
        if _joined(terrain.net, regions.link, parts, start, end, int(bit)):
            return int(bit)
    return None


@kernel
def _count(net: Any, links: Any, node: Any, link: Any, lost: Any, ends: Any, counts: Any) -> None:
    parts = np.empty(len(net.nodes) - 1, np.int64)
    for word in range(lost.shape[1]):
        for place in range(64):
            bit = np.uint64(1) << np.uint64(place)
            known = False
            for i in range(len(lost)):
                if not lost[i, word] & bit:
                    continue
                counts[i, 0] += 1
                start, end = ends[i, 0], ends[i, 1]
                if (node[start, word] | node[end, word]) & bit:
                    continue
                if not known:
                    _parts(net, links, node, link, 64 * word + place, parts)
                    known = True
                if _joined(net, link, parts, start, end, 64 * word + place):
                    counts[i, 1] += 1


@kernel
def _parts(net: Any, links: Any, node: Any, link: Any, region: int, parts: Any) -> None:
    """The connected part of each node that a region leaves, by nodes that carry transit."""
    word, bit = region >> 6, np.uint64(1) << np.uint64(region & 63)
    for u in range(len(parts)):
        parts[u] = u
    for e in range(len(links)):
        a, b = links[e, 0], links[e, 1]
        if link[e, word] & bit or not (net.nodes[a].transit and net.nodes[b].transit):
            continue
        a, b = _root(parts, a), _root(parts, b)
        parts[max(a, b)] = min(a, b)
    for u in range(len(parts)):
        parts[u] = _root(parts, u)


@kernel
def _root(parts: Any, u: int) -> int:
    while parts[u] != u:
        parts[u] = parts[parts[u]]
        u = parts[u]
    return u


@kernel
def _joined(net: Any, link: Any, parts: Any, start: int, end: int, region: int) -> bool:
    """Whether a region leaves a path: the part of one end, or of its neighbours, is the other's."""
    word, bit = region >> 6, np.uint64(1) << np.uint64(region & 63)
    if net.nodes[start].transit and net.nodes[end].transit:
        return bool(parts[start] == parts[end])
    for arc in range(net.nodes[start].first, net.nodes[start + 1].first):
        v = net.arcs[arc].to
        if link[net.arcs[arc].link, word] & bit:
            continue
        if v == end:
            return True
        if net.nodes[start].transit or not net.nodes[v].transit:
            v = start
        for other in range(net.nodes[end].first, net.nodes[end + 1].first):
            w = net.arcs[other].to
            if link[net.arcs[other].link, word] & bit:
                continue
            if net.nodes[end].transit or not net.nodes[w].transit:
                w = end
            if parts[v] == parts[w]:
                return True
    return False
