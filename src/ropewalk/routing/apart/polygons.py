"""Regions drawn by hand: polygons of a GeoJSON text.

On the globe coordinates are longitude and latitude (RFC 7946), on a plane x and y in kilometres.
Links are great circles, followed in short steps (`ways`).
"""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import shapely

from ropewalk.errors import InputError
from ropewalk.findings import Finding, Where
from ropewalk.routing.apart.regions import Regions, listed
from ropewalk.routing.apart.terrain import Terrain
from ropewalk.routing.apart.ways import ways

FAR = 1e12
"""No coordinate is beyond this; nothing compares with what is no number."""
REASONS = {
    "Self-intersection": "its outline crosses itself",
    "Ring Self-intersection": "its outline touches itself",
    "Too few points in geometry component": "a ring has at least three different points; look",
    "Hole lies outside shell": "a hole lies outside the outline",
}
AREAS = ("Polygon", "MultiPolygon")


def polygon_regions(terrain: Terrain, text: str, *, file: str, only_nodes: bool = False) -> Regions:
    """The regions of a GeoJSON text; raises InputError with every fault of it."""
    shapes = _shapes(text, file, globe=terrain.globe)
    across = terrain.at[:, ::-1] if terrain.globe else terrain.at
    lines = None if only_nodes else _lines(terrain)
    down = []
    for shape in shapes.values():
        shapely.prepare(shape)
        nodes = shapely.intersects_xy(shape, np.nan_to_num(across, nan=np.inf))
        links = np.zeros(terrain.graph.links, np.bool_)
        if lines is not None:
            links = shapely.intersects(shape, lines)
        down.append(np.concatenate((nodes, links)))
    outlines = tuple(shapes.values())
    return listed(terrain, "polygon", tuple(shapes), np.array(down), outlines=outlines)


def _lines(terrain: Terrain) -> Any:
    """A line per link, in one piece or several."""
    return np.array([shapely.MultiLineString(way) for way in ways(terrain)])


def _shapes(text: str, file: str, *, globe: bool) -> dict[str, Any]:
    """Polygons by name; a feature without a name is known by its number."""
    try:
        features = list(_features(json.loads(text)))
    except ValueError as error:
        raise _refused(file, [f"this is no JSON: {error}"]) from None
    except RecursionError:
        raise _refused(file, ["this is no GeoJSON: it is nested too deeply"]) from None
    shapes, faults = {}, []
    for i, (name, geometry) in enumerate(features, start=1):
        fault = _fault(geometry, globe=globe)
        shape = None if fault else shapely.from_geojson(json.dumps(geometry))
        if shape is not None and not shape.is_valid:
            fault = _reason(shape)
        if fault:
            faults.append(f"feature {i}{fault}")
        else:
            shapes[name if name and name not in shapes else f"polygon {i}"] = shape
    if not shapes and not faults:
        faults.append("there is no polygon in it: write a GeoJSON FeatureCollection")
    if faults:
        raise _refused(file, faults)
    return shapes


def _fault(geometry: Any, *, globe: bool) -> str:
    """What is wrong with a geometry, if anything: the first fault of it."""
    kind = geometry.get("type") if isinstance(geometry, dict) else None
    if kind not in AREAS:
        known = kind if isinstance(kind, str) else "without a geometry"
        return f" is {known}: draw a Polygon or MultiPolygon"
    parts = geometry.get("coordinates")
    parts = [parts] if kind == "Polygon" else parts
    if not isinstance(parts, list) or not all(parts) or not parts:
        return ": its coordinates are empty"
    rings = [ring for part in parts for ring in (part if isinstance(part, list) else [None])]
    return next(filter(None, (_ring_fault(ring, globe=globe) for ring in rings)), "")


def _ring_fault(ring: Any, *, globe: bool) -> str:
    if not isinstance(ring, list) or not all(map(_is_point, ring)):
        return ": its coordinates cannot be read: write rings of points [x, y]"
    if not ring:
        return ": its coordinates are empty"
    for x, y, *_ in ring if globe else ():
        if abs(x) > 180 or abs(y) > 90:
            return f": {x:g}, {y:g} is not on the globe: longitude first, up to 180, then latitude"
    if ring[0] != ring[-1]:
        return ": close the ring: repeat its first point"
    return "" if len(ring) > 3 else ": a ring has at least three points, and the first again"


def _is_point(point: Any) -> bool:
    return (
        isinstance(point, list)
        and len(point) > 1
        and all(type(x) in (int, float) and abs(x) < FAR for x in point)
    )


def _reason(shape: Any) -> str:
    """Why a shape is none, in words: `Self-intersection[1 1]` is how the library says it."""
    words, _, place = shapely.is_valid_reason(shape).rstrip("]").partition("[")
    reason = REASONS.get(words, words.lower())
    return f": {reason}" + f" at {', '.join(place.split())}" * bool(place)


def _features(document: Any) -> Iterator[tuple[str, Any]]:
    """Names and geometries of a collection, a single feature, or a bare geometry."""
    if not isinstance(document, dict):
        return
    if document.get("type") == "FeatureCollection":
        features = document.get("features")
        for feature in features if isinstance(features, list) else []:
            yield from _features(feature if isinstance(feature, dict) else {"type": "Feature"})
    elif document.get("type") == "Feature":
        known = document.get("properties")
        name = known.get("name") if isinstance(known, dict) else None
        yield str(name) if name is not None else "", document.get("geometry")
    else:
        yield "", document


def _refused(file: str, faults: list[str]) -> InputError:
    return InputError([Finding("R001", fault, Where(file)) for fault in faults])
