"""The least exposed path: as few regions as possible hit it together with the paths it backs up.

The exact problem (the smallest union of regions over a path) is a minimum-colour path, NP-hard in
general. Here an arc weighs the regions that its link adds to those of the node it leaves: exact as
long as a path does not come back into a region it has left. A multiplier on the delay is driven to
the limit (Lagrange relaxation, as in LARAC: Juttner et al. 2001), and every path met on the way is
judged by its true exposure.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from ropewalk.federation.arrays import Floats
from ropewalk.routing.apart.regions import Regions, Words
from ropewalk.routing.apart.search import shortest
from ropewalk.routing.apart.terrain import Limits, Path, Terrain
from ropewalk.routing.kernels import kernel

STEPS = 8
"""How often the multiplier is moved at most; it settles after three to six."""
TIE = 1e-6
"""Of two paths that are equally exposed the quicker is taken."""


@dataclass(frozen=True, eq=False, slots=True)
class Ground:
    """What a path between two nodes is to avoid: an exposure per arc, out of the regions `asked`."""

    terrain: Terrain
    regions: Regions
    asked: Words
    start: int
    end: int
    arc: Floats

    def exposure(self, path: Path) -> float:
        """The true exposure of a path: the weight of the asked regions that hit it."""
        return self.regions.exposure(self.regions.hit(path) & self.asked)

    def by_kind(self, path: Path) -> Floats:
        """The same for each kind of region apart."""
        return self.regions.by_kind(self.regions.hit(path) & self.asked)


def ground_beside(terrain: Terrain, regions: Regions, others: Iterable[Path]) -> Ground:
    """What a path that backs up these others is to avoid: what hits them all but neither end."""
    paths = list(others)
    start, end = paths[0].nodes[0], paths[0].nodes[-1]
    asked = regions.sparing(start, end)
    for path in paths:
        asked &= regions.hit(path)
    arc = np.zeros(len(terrain.net.arcs))
    words = np.flatnonzero(asked)
    _weigh(terrain.net, regions.node, regions.link, asked, words, regions.weight, arc)
    return Ground(terrain, regions, asked, start, end, arc)


def least_exposed(
    ground: Ground, *, limits: Limits = Limits(), also: Iterable[Path] = ()
) -> Path | None:
    """The least exposed path found within the limits; None if there is no path at all.

    Paths given in `also` are candidates, too. The first of them is a floor: what is taken instead
    of it is not more exposed to any kind of region, so nothing is given up at one radius for
    another.
    """
    given = [path for path in also if limits.allow(path)]
    found = [*given, *(path for path in candidates(ground, limits) if limits.allow(path))]
    if given:
        floor = ground.by_kind(given[0])
        found = [path for path in found if (ground.by_kind(path) <= floor).all()]
    return min(found, key=lambda path: (ground.exposure(path), path.delay_ms), default=None)


def candidates(ground: Ground, limits: Limits) -> Iterator[Path]:
    """Paths from the least exposed to the quickest, closing in on the limits from both sides."""
    resource = _resource(ground.terrain, limits)
    safest = _search(ground, ground.arc + TIE * resource)
    if safest is None:
        return
    yield safest
    if limits.allow(safest):
        return
    quickest = _search(ground, resource)
    if quickest is None:
        return
    yield quickest
    low, high = _cost(ground, safest, limits), _cost(ground, quickest, limits)
    for _ in range(STEPS):
        if not low[1] > high[1] or not high[0] > low[0]:
            return
        slope = (high[0] - low[0]) / (low[1] - high[1])
        between = _search(ground, ground.arc + slope * resource)
        if between is None:
            return
        yield between
        cost = _cost(ground, between, limits)
        if cost in (low, high):
            return
        low, high = (low, cost) if limits.allow(between) else (cost, high)


def _search(ground: Ground, weight: Floats) -> Path | None:
    return shortest(ground.terrain, weight, ground.start, ground.end)


def _resource(terrain: Terrain, limits: Limits) -> Floats:
    """What an arc takes of the limits: its part of the delay that is allowed, and of the hops."""
    delay = terrain.arc_delay_ms
    if limits.delay_ms == inf and limits.hops == inf:
        return delay / max(float(delay.sum()), 1e-12)
    return delay / max(limits.delay_ms, 1e-12) + 1 / limits.hops


def _cost(ground: Ground, path: Path, limits: Limits) -> tuple[float, float]:
    resource = path.delay_ms / max(limits.delay_ms, 1e-12) + path.hops / limits.hops
    return _additive(ground, path), resource


def _additive(ground: Ground, path: Path) -> float:
    """The exposure that the search sees: a region counts again when the path comes back to it."""
    total = 0.0
    for u, e in zip(path.nodes, path.links, strict=False):
        added = ground.regions.link[e] & ~ground.regions.node[u] & ground.asked
        total += ground.regions.exposure(added)
    return total


@kernel
def _weigh(net: Any, node: Any, link: Any, asked: Any, words: Any, weight: Any, arc: Any) -> None:
    """The weight of the asked regions that each arc's link adds to those of its first node."""
    for u in range(len(net.nodes) - 1):
        for a in range(net.nodes[u].first, net.nodes[u + 1].first):
            e = net.arcs[a].link
            total = 0.0
            for i in range(len(words)):
                w = words[i]
                total += weight[w] * _ones(link[e, w] & ~node[u, w] & asked[w])
            arc[a] = total


@kernel
def _ones(word: Any) -> Any:
    """How many bits of a word are set."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))
