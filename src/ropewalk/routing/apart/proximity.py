"""How near two paths lie: Wang's proximity factor (2015, 5.3.1.1)."""

import numpy as np

from ropewalk.federation.places import distance_km
from ropewalk.routing.apart.terrain import Path, Terrain


def proximity_factor(terrain: Terrain, path: Path, primary: Path, *, radius_km: float) -> float:
    """The proportion of a path's nodes that lie within the radius of a node of the primary.

    Figure 5-1 counts pairs of nodes instead, which may exceed 1; the thesis' log (appendix 6.2) and
    5.4.1 have this proportion. Both ends are always near, so the least is 2 of the path's nodes.
    """
    near = terrain.distance_km(primary.nodes)[list(path.nodes)] < radius_km
    return float(np.mean(near))


def proximity_pairs(terrain: Terrain, path: Path, primary: Path, *, radius_km: float) -> float:
    """Figure 5-1 as printed: near pairs of nodes per hop of the primary."""
    own, other = terrain.at[list(path.nodes)], terrain.at[list(primary.nodes)]
    apart = distance_km(own[:, None], other[None], globe=terrain.globe)
    return float((apart < radius_km).sum() / max(primary.hops, 1))
