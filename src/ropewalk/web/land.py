"""The outline of land below the map, from the package countryinfo; no tiles, no other host.

Its countries are joined to one outline. A few are missing in the package; where they are, coarse
outlines of our own keep the sea out, and what is still a hole is land as well.
"""

import json
from functools import cache
from pathlib import Path

import countryinfo

CASPIAN = (50.5, 42.0)
"""The one sea that is a hole of the land; longitude, latitude."""

HUNGARY_TO_MONTENEGRO = (
    *((18.45, 42.45), (19.0, 42.05), (19.4, 41.85), (20.5, 42.0), (21.5, 42.2), (22.4, 43.0)),
    *((22.7, 44.5), (21.5, 46.0), (22.5, 48.0), (21.0, 48.3), (18.8, 47.8), (17.0, 47.8)),
    *((16.3, 46.9), (18.9, 45.8), (19.2, 44.5), (19.0, 43.3)),
)
MYANMAR = (
    *((92.3, 20.7), (93.5, 19.8), (94.4, 18.0), (94.3, 16.0), (95.3, 15.8), (96.6, 16.6)),
    *((97.6, 16.0), (97.8, 14.5), (98.6, 12.0), (98.6, 10.1), (99.1, 12.0), (98.3, 15.2)),
    *((98.6, 16.2), (97.6, 18.4), (97.9, 19.5), (99.9, 20.4), (101.1, 21.5), (99.5, 22.8)),
    *((97.8, 24.0), (98.6, 25.5), (97.2, 28.2), (94.7, 25.5), (93.4, 24.0), (92.6, 22.0)),
)


@cache
def land_json() -> bytes:
    """Polygons as lists of rings of [latitude, longitude], as JSON."""
    import shapely
    from shapely.geometry import shape

    shapes = [shape(one).buffer(0) for one in _countries()]
    shapes += [shapely.Polygon(one) for one in (HUNGARY_TO_MONTENEGRO, MYANMAR)]
    # A little more than the countries themselves: their borders do not meet to the last digit.
    joined = shapely.unary_union([one.buffer(0.02, 1) for one in shapes if not one.is_empty])
    joined = joined.simplify(0.04)
    land = [_rings(part) for part in getattr(joined, "geoms", [joined])]
    return json.dumps(land, separators=(",", ":")).encode()


def _countries() -> list[dict[str, object]]:
    folder = Path(countryinfo.__file__).parent / "data"
    found = []
    for file in sorted(folder.glob("*.json")):
        outline = json.loads(file.read_text("utf-8")).get("geoJSON") or {}
        found += [one["geometry"] for one in outline.get("features", ())]
    return found


def _rings(part: "object") -> list[list[list[float]]]:
    from shapely import Point, Polygon

    assert isinstance(part, Polygon)  # noqa: S101  (a union of areas has nothing else)
    seas = [hole for hole in part.interiors if Polygon(hole).contains(Point(CASPIAN))]
    return [[[round(y, 2), round(x, 2)] for x, y in ring.coords] for ring in (part.exterior, *seas)]
