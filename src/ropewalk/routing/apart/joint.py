"""Paths chosen together: each in turn moves to where it is least exposed with the others.

A primary that may be a little longer than the shortest leaves room for an alternate that shares no
region with it; a third path is for what hits the first two.
"""

from collections.abc import Sequence

from ropewalk.routing.apart.exposure import curve, least_exposed
from ropewalk.routing.apart.scene import Scene
from ropewalk.routing.apart.terrain import UNLIMITED, Limits, Path

STARTS = 8
"""Alternates from which a pair is begun; on small maps that finds the best of all pairs."""
LARGE = 500
"""On a network of more nodes only the least exposed of them: each costs milliseconds there."""
ROUNDS = 3


def joint_pair(
    scene: Scene,
    shortest: Path,
    *,
    primary_limits: Limits,
    limits: Limits = UNLIMITED,
) -> tuple[Path, ...] | None:
    """A primary within its limits and an alternate within others, least exposed together.

    It begins with alternates from all along the curve of delay against exposure, finds the best
    primary for each, and lets the two move in turn; last, with the shortest path in the part of the
    alternate, so that the two may change sides. None if there is no alternate at all.
    """
    best: tuple[float, tuple[Path, ...]] | None = None
    tried: set[Path | None] = set()
    for alternate in (*_starts(scene, shortest, limits), shortest):
        primary = least_exposed(scene, [alternate], limits=primary_limits)
        if primary is None or primary in tried or not limits.allow(alternate):
            continue
        tried.add(primary)
        pair = settled(scene, (alternate, primary), limits=(limits, primary_limits))
        exposure = scene.exposure(pair)
        if best is None or exposure < best[0]:
            best = exposure, pair[::-1]
        if exposure == 0:
            break
    return best[1] if best and best[1][0] != best[1][1] else None


def third_path(
    scene: Scene,
    paths: Sequence[Path],
    *,
    limits: Limits = UNLIMITED,
    primary_limits: Limits | None = None,
) -> tuple[Path, ...]:
    """One path more for what hits all of these, and all moved once more.

    Without limits of its own the primary stays where it is.
    """
    another = least_exposed(scene, paths, limits=limits)
    if another is None or another in paths:
        return tuple(paths)
    several = (*paths, another)
    return settled(scene, several, limits=(primary_limits, *[limits] * len(paths)))


def settled(
    scene: Scene, paths: Sequence[Path], *, limits: Sequence[Limits | None], rounds: int = ROUNDS
) -> tuple[Path, ...]:
    """The paths, moved one after the other as long as that helps; one without limits stays."""
    chosen, still, least = list(paths), 0, scene.exposure(paths)
    for turn in range(rounds * len(chosen)):
        if still == len(chosen) or least == 0:
            break
        i = turn % len(chosen)
        within = limits[i]
        others = chosen[:i] + chosen[i + 1 :]
        other = within and least_exposed(scene, others, limits=within, below=least)
        if other:
            chosen[i], least, still = other, scene.exposure((*others, other)), 0
        else:
            still += 1
    return tuple(chosen)


def _starts(scene: Scene, shortest: Path, limits: Limits) -> list[Path]:
    """Alternates for the shortest path, from the least exposed on along the curve."""
    if scene.terrain.graph.brokers > LARGE:
        safest = least_exposed(scene, [shortest], limits=limits)
        return [] if safest is None else [safest]
    paths = [path for path, _ in curve(scene, [shortest], limits=limits)][::-1]
    if len(paths) <= STARTS:
        return paths
    return [paths[i * (len(paths) - 1) // (STARTS - 1)] for i in range(STARTS)]
