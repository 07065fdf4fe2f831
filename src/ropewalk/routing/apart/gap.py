"""GAP, the geo-aware alternate path of Wang 2015 (5.3.2, figure 5-2).

Links near the primary get a penalty, at first the sum of all weights, and the shortest path is
searched again with a smaller penalty until it keeps to the limits. As printed, the algorithm does
not pass the thesis' own validation (5.4.2): both ends count as near, so every first and last link
is penalised, the primary itself is a candidate, and penalties pile up from loop to loop. In the
"validated" reading the two ends are not near anything, the primary's links are out, a loop's
penalty replaces the last, and a link is penalised once for every node of the primary it is near.
That gives what 5.4.2 prints; penalised once only, s-3-4-t would win the third loop from s-2-t.
"""

from dataclasses import dataclass
from math import log
from typing import Literal

import numpy as np

from ropewalk.federation.arrays import Floats
from ropewalk.routing.apart.search import shortest
from ropewalk.routing.apart.terrain import UNLIMITED, Limits, Path, Terrain

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
    limits: Limits = UNLIMITED,
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
    """How many penalties each link gets: one for every node of the primary that it is near."""
    share = np.zeros(terrain.graph.links)
    for node in primary.nodes:
        apart = terrain.distance_km([node])
        if reading == "validated":
            apart[[primary.nodes[0], primary.nodes[-1]]] = np.inf
        nearest = np.minimum(*apart[terrain.graph.ends.T])
        share += (1 - nearest / radius_km).clip(0) if by_distance else nearest < radius_km
    return share if reading == "validated" else np.minimum(share, 1.0)
