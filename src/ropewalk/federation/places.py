"""Where things are: positions, distances, and the underlay node that a broker attaches to.

Positions are degrees on the globe (`at`) or kilometres on a plane (`xy`), one kind per
federation. Distances on the globe are great circles.
"""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from ropewalk.federation.facts import Broker, Federation, Site, UnderlayNode

Floats = npt.NDArray[np.float64]

EARTH_RADIUS_KM = 6371.0088
FIBRE_MS_PER_KM = 0.0049
"""Light in glass takes about 4.9 microseconds per kilometre (refractive index 1.468)."""

_NOWHERE = (np.nan, np.nan)


def on_globe(federation: "Federation") -> bool:
    """Whether positions are degrees; False when they are a plane's or when there are none."""
    placed = (federation.sites, federation.brokers, federation.underlay.nodes)
    return any(one.at is not None for places in placed for one in places.values())


def broker_positions(federation: "Federation") -> Floats:
    """A row per broker: its own position, else its site's, else NaN."""
    return _rows([_position(broker, federation) for broker in federation.brokers.values()])


def node_positions(federation: "Federation") -> Floats:
    """A row per underlay node, NaN where it has no position."""
    return _rows([_own(node) or _NOWHERE for node in federation.underlay.nodes.values()])


def distance_km(a: Floats, b: Floats, *, globe: bool) -> Floats:
    """Distances between rows of positions; NaN where one of them is unknown.

    >>> london, paris = np.array([51.507, -0.128]), np.array([48.857, 2.352])
    >>> round(float(distance_km(london, paris, globe=True)))
    343
    """
    if not globe:
        return np.asarray(np.hypot(a[..., 0] - b[..., 0], a[..., 1] - b[..., 1]))
    a, b = np.radians(a), np.radians(b)
    lat, lon = (b[..., 0] - a[..., 0]) / 2, (b[..., 1] - a[..., 1]) / 2
    half = np.sin(lat) ** 2 + np.cos(a[..., 0]) * np.cos(b[..., 0]) * np.sin(lon) ** 2
    return np.asarray(2 * EARTH_RADIUS_KM * np.arcsin(np.sqrt(np.minimum(half, 1.0))))


def attached_nodes(federation: "Federation") -> npt.NDArray[np.int32]:
    """The underlay node of each broker: the one it names, else the nearest, else -1."""
    number = {name: i for i, name in enumerate(federation.underlay.nodes)}
    nodes, globe = node_positions(federation), on_globe(federation)
    attached = np.full(len(federation.brokers), -1, dtype=np.int32)
    for i, (broker, at) in enumerate(
        zip(federation.brokers.values(), broker_positions(federation), strict=True)
    ):
        if broker.node is not None:
            attached[i] = number.get(broker.node, -1)
        elif len(nodes) and not np.isnan(distances := distance_km(nodes, at, globe=globe)).all():
            attached[i] = np.nanargmin(distances)
    return attached


def link_latency_ms(federation: "Federation", ends: npt.NDArray[np.int32]) -> Floats:
    """Latency of each link: as written, else what light in fibre takes, else 0."""
    written = [link.latency_ms for link in federation.links]
    latency = np.array([np.nan if ms is None else ms for ms in written], dtype=np.float64)
    unknown = np.isnan(latency)
    if unknown.any():
        at = broker_positions(federation)
        a, b = at[ends[unknown, 0]], at[ends[unknown, 1]]
        fibre = FIBRE_MS_PER_KM * distance_km(a, b, globe=on_globe(federation))
        latency[unknown] = np.nan_to_num(fibre, nan=0.0)
    return latency


def _own(place: "Site | Broker | UnderlayNode") -> tuple[float, float] | None:
    return place.at if place.at is not None else place.xy


def _position(broker: "Broker", federation: "Federation") -> tuple[float, float]:
    own = _own(broker)
    if own is None and broker.site is not None:
        site = federation.sites.get(broker.site)
        own = _own(site) if site else None
    return own or _NOWHERE


def _rows(positions: list[tuple[float, float]]) -> Floats:
    return np.array(positions, dtype=np.float64).reshape(-1, 2)
