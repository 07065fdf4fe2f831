"""What becomes of paths when regions strike: counts that add up over any split of the regions.

A pure function of arrays, so that chunks of regions can be judged anywhere and added.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ropewalk.routing.apart.scene import Scene
from ropewalk.routing.apart.terrain import Path

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, slots=True)
class Survival:
    """Over so many regions: how many hit all paths of each plan, and how many of them needlessly.

    `avoidable` counts the regions that spare both ends and leave a path between them: what is lost
    to them is lost by the choice of paths alone.
    """

    regions: int
    lost: Counts
    avoidable: Counts

    def __add__(self, other: "Survival") -> "Survival":
        return Survival(
            self.regions + other.regions,
            self.lost + other.lost,
            self.avoidable + other.avoidable,
        )


def survival(scene: Scene, plans: Sequence[Sequence[Path]]) -> Survival:
    """The fate of plans: sets of paths, each between the same two nodes."""
    lost = [scene.lost(plan) for plan in plans]
    avoidable = [
        one & scene.avoidable(plan[0].nodes[0], plan[0].nodes[-1])
        for one, plan in zip(lost, plans, strict=True)
    ]
    regions = sum(kind.count for kind in scene.regions.kinds)
    return Survival(regions, _ones(lost), _ones(avoidable))


def captured(plans: Survival, primaries: Survival) -> float | None:
    """What part of the primaries' avoidable losses the plans avoid; None if there are none.

    It is below 0 for plans without the primary that are worse than it.
    """
    avoidable = int(primaries.avoidable.sum())
    return 1 - int(plans.avoidable.sum()) / avoidable if avoidable else None


def _ones(rows: Sequence[npt.NDArray[np.uint64]]) -> Counts:
    return np.array([np.bitwise_count(row).sum(dtype=np.int64) for row in rows], np.int64)
