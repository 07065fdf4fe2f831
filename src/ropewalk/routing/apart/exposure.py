"""The least exposed path, and the whole curve of delay against exposure.

A path is exposed to the regions that hit it together with all the paths it backs up, although there
is a way round. Regions are sampled; an exposure is the weight of those.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ropewalk.federation.arrays import Floats
from ropewalk.routing.apart.labels import MOST_LABELS, Task, compact, kept_by, label_paths
from ropewalk.routing.apart.regions import Words
from ropewalk.routing.apart.scene import Scene
from ropewalk.routing.apart.search import delays_to
from ropewalk.routing.apart.terrain import Limits, Path

ROUNDING = 1 + 1e-9


def least_exposed(
    scene: Scene,
    others: Sequence[Path],
    *,
    limits: Limits = Limits(),
    floor: Path | None = None,
) -> Path | None:
    """The least exposed path to back up others, or None if there is none within the limits.

    With a `floor`, a path such as GAP's that keeps to the limits, what is found is nowhere worse:
    not more exposed to any kind of region, so nothing is given up at one radius for another.
    """
    floor = floor if floor is not None and limits.allow(floor) else None
    found = _paths(scene, others, limits, floor, curve=False)
    return min(
        [*found, *([floor] if floor else [])],
        key=lambda path: (round(scene.exposure((*others, path)), 12), path.delay_ms),
        default=None,
    )


def curve(
    scene: Scene, others: Sequence[Path], *, limits: Limits = Limits()
) -> list[tuple[Path, float]]:
    """Paths to back up others, from the quickest to the least exposed, with their exposures."""
    safest = least_exposed(scene, others, limits=limits)
    if safest is None:
        return []
    within = replace(limits, delay_ms=safest.delay_ms)  # what is slower is not less exposed
    found = _paths(scene, others, within, None, curve=True)
    rising = sorted([*found, safest], key=lambda one: one.delay_ms)
    points: list[tuple[Path, float]] = []
    for path in rising:
        exposure = scene.exposure((*others, path))
        if not points or exposure < points[-1][1]:
            points.append((path, exposure))
    return points


def _paths(
    scene: Scene, others: Sequence[Path], limits: Limits, floor: Path | None, *, curve: bool
) -> list[Path]:
    terrain, regions = scene.terrain, scene.regions
    asked = scene.left_to_avoid(others)
    words = np.flatnonzero(asked)
    start, end = others[0].nodes[0], others[0].nodes[-1]
    rest = delays_to(terrain.net, terrain.arc_delay_ms, end)
    task = Task(
        rows=compact(regions.link, asked, words),
        weight=regions.weight[words],
        kind=np.repeat(np.arange(len(regions.kinds)), [one.words for one in regions.kinds])[words],
        caps=_caps(scene, asked, floor),
        delay=terrain.arc_delay_ms,
        rest=rest,
        start=start,
        end=end,
        delay_limit=limits.delay_ms * ROUNDING,
        hop_limit=limits.hops,
        tie=_tie(regions.weight, float(rest[start])),
        curve=curve,
    )
    labels, at = label_paths(terrain.net, task, kept_by(len(rest)), MOST_LABELS)
    if at < 0 and len(labels) == MOST_LABELS:
        labels, at = label_paths(terrain.net, task, 1, len(terrain.net.arcs) + 2)
    found = []
    while at >= 0:
        found.append(_walk(scene, labels, at))
        at = int(labels[at]["next"])
    return found


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


def _tie(weight: Floats, quickest_ms: float) -> float:
    """So small that paths a hundred times as long as the quickest do not outweigh a region."""
    return 1e-5 * float(weight.min()) / max(quickest_ms, 1e-9) if len(weight) else 0.0
