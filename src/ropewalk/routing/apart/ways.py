"""How links run on the map: straight on a plane, as great circles in short steps on the globe."""

from math import ceil

import numpy as np

from ropewalk.federation.arrays import Floats
from ropewalk.federation.places import EARTH_RADIUS_KM
from ropewalk.routing.apart.geometry import points
from ropewalk.routing.apart.terrain import Terrain

STEP_KM = 25.0


def ways(terrain: Terrain) -> list[list[Floats]]:
    """For each link its pieces, as rows of x and y (on the globe longitude and latitude).

    One that crosses the date line has two, without the step between; an end without a place, none.
    """
    places = points(terrain.at, globe=terrain.globe)
    return [
        _way(places[[a, b]], globe=terrain.globe) if np.isfinite(places[[a, b]]).all() else []
        for a, b in terrain.graph.ends.tolist()
    ]


def _way(ends: Floats, *, globe: bool) -> list[Floats]:
    return _pieces(_great_circle(*ends)) if globe else [ends[:, :2]]


def _pieces(line: Floats) -> list[Floats]:
    """A line without the steps that jump from one edge of the map to the other."""
    jumps = np.flatnonzero(np.abs(np.diff(line[:, 0])) >= 180) + 1
    return [piece for piece in np.split(line, jumps) if len(piece) > 1]


def _great_circle(a: Floats, b: Floats) -> Floats:
    """Longitudes and latitudes from one unit vector to another, in steps of about STEP_KM."""
    angle = max(1e-9, float(np.arccos(np.clip(a @ b, -1, 1))))
    along = np.linspace(0, 1, ceil(angle * EARTH_RADIUS_KM / STEP_KM) + 1)[:, None]
    line = np.sin((1 - along) * angle) * a + np.sin(along * angle) * b
    line /= np.linalg.norm(line, axis=1, keepdims=True)
    return np.column_stack(
        (
            np.degrees(np.arctan2(line[:, 1], line[:, 0])),
            np.degrees(np.arcsin(line[:, 2].clip(-1, 1))),
        )
    )
