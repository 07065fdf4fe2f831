"""The least exposed path, and the whole curve of delay against exposure.

A path is exposed to the regions that hit it together with all the paths it backs up, although there
is a way round. Regions are sampled; an exposure is the weight of those. Of paths that are equally
exposed, the one is taken that shares less with the others: links and nodes also fail one by one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from ropewalk.federation.arrays import Bools, Floats
from ropewalk.routing.apart.labels import MOST_LABELS, Task, compact, kept_by, label_paths
from ropewalk.routing.apart.regions import Words
from ropewalk.routing.apart.scene import Scene
from ropewalk.routing.apart.search import delays_to
from ropewalk.routing.apart.terrain import UNLIMITED, Limits, Path, Terrain

ROUNDING = 1 + 1e-9
SMALL = 1e-3
"""What a shared link weighs in terms of a region, and the delay of the quickest path in terms of a
shared link: each matters only where what comes before is equal."""


def least_exposed(
    scene: Scene,
    others: Sequence[Path],
    *,
    limits: Limits = UNLIMITED,
    floor: Path | None = None,
    below: float = inf,
) -> Path | None:
    """The least exposed path to back up others, or None if there is none within the limits.

    One that is not less exposed than `below` is none; knowing that makes the search shorter.
    With a `floor`, a path such as GAP's that keeps to the limits, what is found is nowhere worse:
    not more exposed to any kind of region, so nothing is given up at one radius for another.
    """
    floor = floor if floor is not None and limits.allow(floor) else None
    found = _paths(scene, others, limits, floor, below=below)
    shared = Shared.by(others)
    return min(
        [*found, *([floor] if floor else [])],
        key=lambda path: (
            round(scene.exposure((*others, path)), 12),
            shared.count(path),
            path.delay_ms,
        ),
        default=None,
    )


def curve(
    scene: Scene, others: Sequence[Path], *, limits: Limits = UNLIMITED
) -> list[tuple[Path, float]]:
    """Paths to back up others, from the quickest to the least exposed, with their exposures."""
    safest = least_exposed(scene, others, limits=limits)
    if safest is None:
        return []
    within = replace(limits, delay_ms=safest.delay_ms)  # what is slower is not less exposed
    found = _paths(scene, others, within, curve=True)
    rising = sorted([*found, safest], key=lambda one: one.delay_ms)
    points: list[tuple[Path, float]] = []
    for path in rising:
        exposure = scene.exposure((*others, path))
        if path not in others and (not points or exposure < points[-1][1]):
            points.append((path, exposure))
    return points


@dataclass(frozen=True, slots=True)
class Shared:
    """The links and inner nodes of paths, which another path may share."""

    links: frozenset[int]
    nodes: frozenset[int]

    @classmethod
    def by(cls, paths: Sequence[Path]) -> "Shared":
        """What these paths use."""
        return cls(
            frozenset(link for path in paths for link in path.links),
            frozenset(node for path in paths for node in path.nodes[1:-1]),
        )

    def count(self, path: Path) -> int:
        """How much of it another path uses as well."""
        return len(self.links.intersection(path.links)) + len(self.nodes.intersection(path.nodes))

    def rows(self, terrain: Terrain) -> Words:
        """A bit for each of them: in the rows of the links that use it."""
        rows = np.zeros(
            (terrain.graph.links, -(-(len(self.links) + len(self.nodes)) // 64)), np.uint64
        )
        used = [[link] for link in sorted(self.links)]
        used += [terrain.links_at(node) for node in sorted(self.nodes)]
        for i, links in enumerate(used):
            rows[links, i >> 6] |= np.uint64(1 << (i & 63))
        return rows


def _paths(
    scene: Scene,
    others: Sequence[Path],
    limits: Limits,
    floor: Path | None = None,
    *,
    below: float = inf,
    curve: bool = False,
) -> list[Path]:
    """What the search finds: the least exposed path, or those of a curve."""
    net, task = scene.terrain.net, _task(scene, others, limits, floor, below, curve)
    labels, at = label_paths(net, task, kept_by(len(task.rest)), MOST_LABELS)
    if at < 0 and len(labels) == MOST_LABELS:
        labels, at = label_paths(net, task, 1, len(net.arcs) + 2)
    found = []
    while at >= 0:
        found.append(_walk(scene, labels, at))
        at = int(labels[at]["next"])
    return found


def _task(
    scene: Scene,
    others: Sequence[Path],
    limits: Limits,
    floor: Path | None,
    below: float,
    curve: bool,
) -> Task:
    terrain, regions = scene.terrain, scene.regions
    start, end = others[0].nodes[0], others[0].nodes[-1]
    asked = scene.left_to_avoid(others)
    words = np.flatnonzero(asked)
    kind = np.repeat(np.arange(len(regions.kinds)), [one.words for one in regions.kinds])[words]
    own, small = Shared.by(others).rows(terrain), SMALL * float(regions.weight.min())
    rest = delays_to(terrain, end)
    return Task(
        rows=compact(regions.link, _useful(terrain, start, end, limits), asked, words, own),
        weight=np.append(regions.weight[words], np.full(own.shape[1], small)),
        kind=np.append(kind, np.full(own.shape[1], len(regions.kinds))),
        caps=np.append(_caps(scene, asked, floor), np.inf),
        delay=terrain.arc_delay_ms,
        rest=rest,
        start=start,
        end=end,
        delay_limit=limits.delay_ms * ROUNDING,
        hop_limit=limits.hops,
        below=below,
        tie=SMALL * small / max(float(rest[start]), 1e-9),
        curve=curve,
    )


def _useful(terrain: Terrain, start: int, end: int, limits: Limits) -> Bools:
    """The links over which the end can be reached within the delay that is allowed."""
    here, there = delays_to(terrain, start), delays_to(terrain, end)
    a, b = terrain.graph.ends.T
    least = np.minimum(here[a] + there[b], here[b] + there[a]) + terrain.graph.latency_ms
    return np.asarray(least <= limits.delay_ms * (ROUNDING + 1e-9))


def _walk(scene: Scene, labels: np.ndarray, at: int) -> Path:
    nodes = []
    while at >= 0:
        nodes.append(int(labels[at]["node"]))
        at = int(labels[at]["before"])
    return scene.terrain.path(nodes[::-1])


def _caps(scene: Scene, asked: Words, floor: Path | None) -> Floats:
    """How much of each kind of region a path may meet: what the floor meets, if there is one."""
    if floor is None:
        return np.full(len(scene.regions.kinds), np.inf)
    met = scene.regions.by_kind(scene.regions.hit(floor) & asked)
    return met / len(scene.regions.kinds) * ROUNDING
