"""The outline of land below the map, from the package countryinfo; no tiles, no other host.

Its countries are joined to one outline. A few are missing in the package (Hungary, Serbia,
Montenegro, Myanmar): holes that are inland are closed, so that they are land without a border.
"""

import json
from functools import cache
from pathlib import Path

import countryinfo

CASPIAN = (50.5, 42.0)
"""The one sea that is a hole of the land; longitude, latitude."""


@cache
def land_json() -> bytes:
    """Polygons as lists of rings of [latitude, longitude], as JSON."""
    import shapely
    from shapely.geometry import shape

    shapes = [shape(one).buffer(0) for one in _countries()]
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
