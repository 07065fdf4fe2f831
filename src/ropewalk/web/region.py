"""What a disaster takes down: brokers inside a circle, and links that come through it."""

import numpy as np

from ropewalk.federation import Federation
from ropewalk.routing.apart.regions import circles_at
from ropewalk.routing.apart.terrain import Terrain, terrain_of
from ropewalk.routing.ground import members_over
from ropewalk.routing.scenarios import Down


def struck(federation: Federation, at: tuple[float, float], radius_km: float) -> Down:
    """Links and brokers that are down when all within a radius of a place is.

    Where there is an underlay, links fall with the physical ways that they take.

    >>> from ropewalk import generate
    >>> germany = generate("topohub", map="sndlib/germany50")
    >>> [germany.graph.names[b] for b in struck(germany, (53.57, 9.99), 50.0).brokers]
    ['Hamburg']
    """
    links, brokers = _hit(terrain_of(federation, brokers_only=True), at, radius_km)
    terrain = terrain_of(federation)
    if terrain.underlay:
        ways, nodes = _hit(terrain, at, radius_km)
        names = terrain.graph.names
        pairs = {federation.underlay.links[way].between for way in ways}
        links, below = members_over(federation, {names[node] for node in nodes}, pairs)
        brokers |= below
    dead = {link for link in links if brokers & set(federation.graph.ends[link].tolist())}
    return Down(tuple(sorted(links - dead)), tuple(sorted(brokers)))


def _hit(terrain: Terrain, at: tuple[float, float], radius_km: float) -> tuple[set[int], set[int]]:
    """Links and nodes that one circle covers."""
    circle = circles_at(terrain, np.array([at]), radius_km)
    nodes = np.flatnonzero(circle.node[:, 0] & np.uint64(1))
    links = np.flatnonzero(circle.link[:, 0] & np.uint64(1))
    return set(links.tolist()), set(nodes.tolist())
