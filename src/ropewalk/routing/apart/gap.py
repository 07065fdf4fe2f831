"""GAP, the geo-aware alternate path of Wang 2015 (5.3.2, figure 5-2).

Links near the primary get a penalty, at first the sum of all weights, and the shortest path is
searched again with a smaller penalty until it keeps to the limits. As printed, the algorithm does
not pass the thesis' own validation (5.4.2): ends of the path count as near, so every first and last
link is penalised, the primary itself is a candidate, and penalties pile up from loop to loop. The
"validated" reading spares the links at the ends as long as their other end is far, takes the
primary's links out, and lets each loop's penalty replace the last; it gives what 5.4.2 prints.
"""

from dataclasses import dataclass
from math import log
from typing import Literal

import numpy as np

from ropewalk.federation.arrays import Floats
from ropewalk.routing.apart.search import shortest
from ropewalk.routing.apart.terrain import Limits, Path, Terrain

Penalty = Literal["div", "log"]
Reading = Literal["validated", "printed"]

USELESS = 1e-6
"""A penalty below this part of the mean link delay changes no path worth having."""


@dataclass(frozen=True, slots=True)
class GapFound:
    """An alternate path, if there is one, and the loops it took."""

    path: Path | None
    loops: int


def gap(
    terrain: Terrain,
    primary: Path,
    *,
    radius_km: float,
    penalty: Penalty = "div",
    divisor: float = 10.0,
    by_distance: bool = False,
    limits: Limits = Limits(),
    reading: Reading = "validated",
) -> GapFound:
    """An alternate for the primary that keeps off what lies within the radius of it.

    `by_distance` scales a penalty by (r - d) / r, so that what is nearer costs more. LOG stops when
    the logarithm of the penalty is of no more use: it turns negative after about five loops.
    """
    share = _share(terrain, primary, radius_km, by_distance, reading)
    weight = terrain.graph.latency_ms.copy()
    if reading == "validated":
        weight[list(primary.links)] = np.inf
    size = float(terrain.graph.latency_ms.sum())
    least = USELESS * size / max(len(weight), 1)
    loops, added = 0, np.zeros_like(weight)
    while size > least:
        loops += 1
        added = share * size + (added if reading == "printed" else 0.0)
        arcs = (weight + added)[terrain.graph.link]
        found = shortest(terrain, arcs, primary.nodes[0], primary.nodes[-1])
        if found is None:
            return GapFound(None, loops)
        if limits.allow(found):
            return GapFound(found, loops)
        size = size / divisor if penalty == "div" else log(size)
    return GapFound(None, loops)


def _share(
    terrain: Terrain, primary: Path, radius_km: float, by_distance: bool, reading: Reading
) -> Floats:
    """How many penalties each link gets: none if it is far from every node of the primary."""
    share = np.zeros(terrain.graph.links)
    for node in primary.nodes:
        far = terrain.distance_km([node])
        if reading == "validated":
            far[[primary.nodes[0], primary.nodes[-1]]] = np.inf
        nearest = np.minimum(*far[terrain.graph.ends.T])
        near = nearest < radius_km
        share += (1 - nearest / radius_km).clip(0) if by_distance else near
    return share if reading == "validated" else share.clip(0,1)
