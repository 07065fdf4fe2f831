"""The maximally disjoint rival of Wang 2015, figure 5-4, with the smallest proximity factor."""

import numpy as np

from ropewalk.routing.apart.exposure import Shared
from ropewalk.routing.apart.gap import USELESS
from ropewalk.routing.apart.proximity import proximity_factor
from ropewalk.routing.apart.search import shortest
from ropewalk.routing.apart.terrain import UNLIMITED, Limits, Path, Terrain


def maximally_disjoint(
    terrain: Terrain,
    primary: Path,
    *,
    radius_km: float,
    near_enough: float = 0.0,
    limits: Limits = UNLIMITED,
) -> Path | None:
    """A path that shares as little as it can with the primary.

    What touches the primary is relaxed tenfold from loop to loop, until a path's proximity factor
    is below `near_enough`; else the smallest is taken. (The figure says the largest: an error, for
    small means far apart.) Of equals the one is taken that shares fewer links and nodes, then the
    quicker.
    """
    touching = _touching(terrain, primary)
    delay = terrain.graph.latency_ms
    size = float(delay.sum())
    least = USELESS * size / max(len(delay), 1)
    shared = Shared.by([primary])
    best: tuple[tuple[float, int, float], Path] | None = None
    while size > least:
        arcs = (delay + size * touching)[terrain.graph.link]
        found = shortest(terrain, arcs, primary.nodes[0], primary.nodes[-1])
        size /= 10
        if found is None or found == primary or not limits.allow(found):
            continue
        factor = proximity_factor(terrain, found, primary, radius_km=radius_km)
        rank = factor, shared.count(found), found.delay_ms
        if best is None or rank < best[0]:
            best = rank, found
        if factor < near_enough:
            break
    return best[1] if best else None


def _touching(terrain: Terrain, primary: Path) -> np.ndarray:
    """1 for links of the primary and links at its inner nodes."""
    inner = np.zeros(len(terrain.graph.names))
    inner[list(primary.nodes[1:-1])] = 1.0
    touching = np.maximum(*inner[terrain.graph.ends.T])
    touching[list(primary.links)] = 1.0
    return np.asarray(touching)
