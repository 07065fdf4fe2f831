"""What is drawn of a federation: brokers and links with their places, on the map and on a sheet."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ropewalk.federation import Federation
from ropewalk.federation.arrays import Floats
from ropewalk.federation.places import broker_positions, on_globe
from ropewalk.routing.scenarios import link_names
from ropewalk.web.layout import apart, layout_of

RING = 0.035
"""How far brokers of one site are drawn from it, in terms of the map's width."""


@dataclass(frozen=True, eq=False, slots=True)
class Scene:
    """Brokers by number with their places; `map` is None where the file has no degrees."""

    brokers: tuple[str, ...]
    makes: tuple[str, ...]
    sites: tuple[str, ...]
    links: tuple[str, ...]
    ends: list[list[int]]
    bridges: list[list[int]]
    km: float | None
    """Kilometres of one unit of the sheet, where it is a plane of the file's."""
    map: list[list[float]] | None
    sheet: list[list[float]]

    def as_dict(self) -> dict[str, Any]:
        """What the browser is sent, once for each federation."""
        return {
            "brokers": self.brokers,
            "makes": self.makes,
            "sites": self.sites,
            "links": self.links,
            "ends": self.ends,
            "bridges": self.bridges,
            "km": self.km,
            "map": self.map,
            "sheet": self.sheet,
        }


def scene_of(federation: Federation) -> Scene:
    """What is drawn of a federation.

    >>> from ropewalk import generate
    >>> scene = scene_of(generate("three-broker"))
    >>> scene.links, scene.map
    (('b1--b2', 'b1--b3', 'b2--b3'), None)
    """
    graph = federation.graph
    brokers = federation.brokers.values()
    degrees, (sheet, km) = _degrees(federation), _sheet(federation)
    number = {name: i for i, name in enumerate(graph.names)}
    return Scene(
        brokers=graph.names,
        makes=tuple(one.make for one in brokers),
        sites=tuple(one.site or "" for one in brokers),
        links=tuple(link_names(federation)),
        ends=graph.ends.tolist(),
        bridges=[[number[one.from_], number[one.to]] for one in federation.bridges],
        km=km,
        map=None if degrees is None else np.round(degrees, 5).tolist(),
        sheet=np.round(sheet, 4).tolist(),
    )


def _degrees(federation: Federation) -> Floats | None:
    """Latitudes and longitudes; brokers without any go to the lower edge of what has some."""
    at = broker_positions(federation)
    known = ~np.isnan(at).any(axis=1)
    if not on_globe(federation) or not known.any():
        return None
    low, high = at[known].min(axis=0), at[known].max(axis=0)
    width = max(float((high - low).max()), 0.05)
    lost = np.flatnonzero(~known)
    if len(lost):
        at[lost, 0] = max(low[0] - 0.15 * width, -85)
        at[lost, 1] = low[1] + (np.arange(len(lost)) + 0.5) / len(lost) * (high[1] - low[1])
    return apart(at, RING * width)


def _sheet(federation: Federation) -> tuple[Floats, float | None]:
    """Places on a plane where the file has them, and its scale; else by the links."""
    at = broker_positions(federation)
    if on_globe(federation) or np.isnan(at).any():
        return apart(layout_of(federation.graph), RING), None
    middle = (at.max(axis=0) + at.min(axis=0)) / 2
    reach = max(float(np.abs(at - middle).max()), 1e-9)
    return apart(np.asarray((at - middle) / reach), RING), reach
