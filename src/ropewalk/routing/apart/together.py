"""Paths chosen together: each in turn moves to where it is least exposed with the others.

A primary that may be a little longer than the shortest leaves room for an alternate that shares no
region with it; a third path is for what hits the first two.
"""

from collections.abc import Sequence

from ropewalk.routing.apart.exposure import ground_beside, least_exposed
from ropewalk.routing.apart.regions import Regions
from ropewalk.routing.apart.survival import lost_in
from ropewalk.routing.apart.terrain import Limits, Path, Terrain

ROUNDS = 4


def together(
    terrain: Terrain,
    regions: Regions,
    paths: Sequence[Path],
    *,
    limits: Sequence[Limits],
    rounds: int = ROUNDS,
) -> tuple[Path, ...]:
    """The paths, moved one after the other within their limits as long as that helps.

    A path beyond its limits, or with a limit of no delay at all, stays as it is.
    """
    chosen, still = list(paths), 0
    for turn in range(rounds * len(chosen)):
        i = turn % len(chosen)
        others = chosen[:i] + chosen[i + 1 :]
        ground = ground_beside(terrain, regions, others)
        better = least_exposed(ground, limits=limits[i])
        if better is not None and ground.exposure(better) < ground.exposure(chosen[i]):
            chosen[i], still = better, 0
        else:
            still += 1
        if still >= len(chosen):
            break
    return tuple(chosen)


def joint_exposure(regions: Regions, paths: Sequence[Path]) -> float:
    """The weight of the regions that hit all of these paths but neither of their ends."""
    return regions.exposure(lost_in(regions, paths) & regions.sparing(paths[0].nodes[0], paths[0].nodes[-1]))
