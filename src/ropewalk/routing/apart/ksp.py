"""EKSP: of the k shortest paths, the one that lies farthest apart (Wang 2015, figure 5-3)."""

from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import yen

from ropewalk.routing.apart.proximity import proximity_factor
from ropewalk.routing.apart.terrain import UNLIMITED, Limits, Path, Terrain


def eksp(
    terrain: Terrain, primary: Path, *, radius_km: float, k: int = 3, limits: Limits = UNLIMITED
) -> Path | None:
    """The path of smallest proximity factor among the k shortest other than the primary."""
    others = (one for one in shortest_paths(terrain, *_ends(primary), k=k) if one != primary)
    allowed = [one for one in others if limits.allow(one)]
    return min(
        allowed,
        key=lambda one: (
            proximity_factor(terrain, one, primary, radius_km=radius_km),
            one.delay_ms,
        ),
        default=None,
    )


def shortest_paths(terrain: Terrain, start: int, end: int, *, k: int) -> Iterator[Path]:
    """Up to k paths without repeated nodes, the shortest first."""
    graph = terrain.graph
    nodes = len(graph.names)
    open_ends = graph.transit.copy()
    open_ends[[start, end]] = True
    used = open_ends[graph.ends].all(axis=1)
    a, b = graph.ends[used].T
    delay = np.maximum(graph.latency_ms[used], 1e-12)  # a delay of nothing is read as no link
    grid = csr_array((delay, (a, b)), shape=(nodes, nodes))
    _, before = yen(grid, start, end, k, directed=False, return_predecessors=True)
    for row in before:
        path = [end]
        while path[-1] != start:
            path.append(int(row[path[-1]]))
        yield terrain.path(path[::-1])


def _ends(path: Path) -> tuple[int, int]:
    return path.nodes[0], path.nodes[-1]
