"""Regions drawn by hand: polygons of a GeoJSON text.

On the globe coordinates are longitude and latitude (RFC 7946), on a plane x and y in kilometres.
Links are great circles, followed in short steps.
"""

import json
from collections.abc import Iterator
from math import ceil
from typing import Any

import numpy as np
import shapely

from ropewalk.errors import InputError
from ropewalk.federation.arrays import Floats
from ropewalk.federation.places import EARTH_RADIUS_KM
from ropewalk.findings import Finding, Where
from ropewalk.routing.apart.geometry import points
from ropewalk.routing.apart.regions import Regions, listed
from ropewalk.routing.apart.terrain import Terrain

STEP_KM = 25.0
AREAS = ("Polygon", "MultiPolygon")


def polygon_regions(terrain: Terrain, text: str, *, file: str, only_nodes: bool = False) -> Regions:
    """The regions of a GeoJSON text; raises InputError with every fault of it."""
    shapes = _shapes(text, file)
    across = terrain.at[:, ::-1] if terrain.globe else terrain.at
    ways = None if only_nodes else _ways(terrain)
    down = []
    for shape in shapes.values():
        shapely.prepare(shape)
        nodes = shapely.intersects_xy(shape, np.nan_to_num(across, nan=np.inf))
        links = np.zeros(terrain.graph.links, np.bool_)
        if ways is not None:
            links = shapely.intersects(shape, ways)
        down.append(np.concatenate((nodes, links)))
    return listed(terrain, "polygons", tuple(shapes), np.array(down))


def _shapes(text: str, file: str) -> dict[str, Any]:
    """Polygons by name; a feature without a name is known by its number."""
    try:
        document = json.loads(text)
    except ValueError as error:
        raise _refused(file, [f"this is no JSON: {error}"]) from None
    shapes, faults = {}, []
    for i, (name, geometry) in enumerate(_features(document), start=1):
        try:
            shape = shapely.from_geojson(json.dumps(geometry))
        except (shapely.GEOSException, TypeError, ValueError):
            faults.append(f"feature {i} has no geometry that can be read")
            continue
        kind = shape.geom_type if shape is not None else "nothing"
        if kind not in AREAS or shape.is_empty:
            faults.append(f"feature {i} is {kind}: draw a Polygon or MultiPolygon")
        elif not shape.is_valid:
            faults.append(f"feature {i}: {shapely.is_valid_reason(shape).lower()}")
        else:
            shapes[name if name and name not in shapes else f"region {i}"] = shape
    if not shapes and not faults:
        faults.append("there is no polygon in it: write a GeoJSON FeatureCollection")
    if faults:
        raise _refused(file, faults)
    return shapes


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


def _ways(terrain: Terrain) -> Any:
    """A line per link; the step that crosses the date line is left out."""
    places = points(terrain.at, globe=terrain.globe)
    lines = []
    for a, b in terrain.graph.ends.tolist():
        line = _great_circle(places[a], places[b]) if terrain.globe else places[[a, b], :2]
        steps = np.stack((line[:-1], line[1:]), axis=1)
        whole = np.isfinite(steps).all(axis=(1, 2))
        if terrain.globe:
            whole &= np.abs(steps[:, 0, 0] - steps[:, 1, 0]) < 180
        lines.append(shapely.multilinestrings(shapely.linestrings(steps[whole])))
    return np.array(lines)


def _great_circle(a: Floats, b: Floats) -> Floats:
    """Longitudes and latitudes from one unit vector to another, in steps of about STEP_KM."""
    angle = max(1e-9, float(np.arccos(np.clip(a @ b, -1, 1))))
    along = np.linspace(0, 1, ceil(angle * EARTH_RADIUS_KM / STEP_KM) + 1)[:, None]
    line = np.sin((1 - along) * angle) * a + np.sin(along * angle) * b
    line /= np.linalg.norm(line, axis=1, keepdims=True)
    return np.column_stack(
        (np.degrees(np.arctan2(line[:, 1], line[:, 0])), np.degrees(np.arcsin(line[:, 2])))
    )
