"""Which nodes and links a circle covers: on a plane, or with great circles on the globe.

Points are rows of three numbers: kilometres on a plane and 0, or unit vectors on the globe.
"""

from typing import Any

import numpy as np

from ropewalk.federation.arrays import Floats
from ropewalk.federation.places import EARTH_RADIUS_KM
from ropewalk.kernels import kernel


def points(at: Floats, *, globe: bool) -> Floats:
    """Positions in the form that the kernels take; one that is unknown is near nothing."""
    if not globe:
        return np.column_stack((at, np.zeros(len(at))))
    lat, lon = np.radians(at).T
    return np.column_stack((np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)))


@kernel
def cover(nodes: Any, ends: Any, centres: Any, radius_km: float, kind: Any, bits: Any) -> None:
    """Set bit i of a row of `bits` where circle i covers it: a row per node, then one per link.

    `kind` is (globe, whole): a link is covered if one of its ends is, or, if `whole`, any place on
    the way. On the way it can only be if the sum of the ends' distances allows it.
    """
    globe, whole = kind
    near = np.empty(len(nodes))
    for i in range(len(centres)):
        word, bit = i >> 6, np.uint64(1) << np.uint64(i & 63)
        for u in range(len(nodes)):
            near[u] = _apart_km(nodes[u], centres[i], globe)
            if near[u] <= radius_km:
                bits[u, word] |= bit
        for e in range(len(ends)):
            a, b = ends[e, 0], ends[e, 1]
            inside = near[a] <= radius_km or near[b] <= radius_km
            if whole and not inside:
                length = _apart_km(nodes[a], nodes[b], globe)
                inside = (
                    near[a] + near[b] - length <= 2 * radius_km
                    and beside_km(nodes[a], nodes[b], centres[i], globe) <= radius_km
                )
            if inside:
                bits[len(nodes) + e, word] |= bit


@kernel
def _apart_km(a: Any, b: Any, globe: bool) -> float:
    chord = np.sqrt((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 + (a[2] - b[2]) ** 2)
    return float(2 * EARTH_RADIUS_KM * np.arcsin(min(1.0, chord / 2)) if globe else chord)


@kernel
def beside_km(a: Any, b: Any, c: Any, globe: bool) -> float:
    """How far `c` lies from the way between `a` and `b`; infinite if it is beyond its ends."""
    if globe:
        ab, ac, bc = _dot(a, b), _dot(a, c), _dot(b, c)
        x, y = a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2]
        z = a[0] * b[1] - a[1] * b[0]
        size = np.sqrt(x * x + y * y + z * z)
        if size < 1e-12 or ac < ab * bc or bc < ab * ac:
            return np.inf
        return float(
            EARTH_RADIUS_KM * np.arcsin(min(1.0, abs(x * c[0] + y * c[1] + z * c[2]) / size))
        )
    x, y = b[0] - a[0], b[1] - a[1]
    length = x * x + y * y
    along = (c[0] - a[0]) * x + (c[1] - a[1]) * y
    if length == 0 or along < 0 or along > length:
        return np.inf
    return float(abs((c[0] - a[0]) * y - (c[1] - a[1]) * x) / np.sqrt(length))


@kernel
def _dot(a: Any, b: Any) -> float:
    return float(a[0] * b[0] + a[1] * b[1] + a[2] * b[2])
