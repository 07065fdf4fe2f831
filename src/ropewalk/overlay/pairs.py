"""Second paths for topics that are sent twice: as far from the first as the map allows.

The first path is the one that the tables give. Where the federation has places and a radius of
disasters (`requirements.regions`), the second is the least exposed to a disaster that takes the
first (Wang 2015, chapter 5, see `routing.apart`); else it shares as little as it can with it.
"""

from collections.abc import Iterator

import numpy as np

from ropewalk.federation.arrays import broker_of
from ropewalk.federation.facts import Federation
from ropewalk.overlay.chart import Chart
from ropewalk.routing.apart import Path, Scene, Terrain, Wishes, circles, plan_for, scene_of
from ropewalk.routing.apart.regions import RADII
from ropewalk.routing.apart.search import shortest
from ropewalk.routing.apart.terrain import terrain_of

Routes = dict[int, tuple[int, ...]]
"""By destination: the links of a second path."""


def alternates_of(federation: Federation, chart: Chart) -> dict[int, Routes]:
    """By origin: second paths to the subscribers of its topics with two paths.

    >>> from ropewalk import loads
    >>> square = loads('''
    ... federation: square
    ... brokers: {a: {}, b: {}, c: {}, d: {}}
    ... links: [{between: [a, b]}, {between: [b, d]}, {between: [a, c]}, {between: [c, d]}]
    ... topics: {t: {publishers: [a], subscribers: [d], contract: {paths: 2}}}
    ... ''')
    >>> from ropewalk.overlay.chart import chart_of
    >>> alternates_of(square, chart_of(square))
    {0: {3: (2, 3)}}
    """
    wanted = sorted(set(_pairs(federation)))
    if not wanted:
        return {}
    terrain = terrain_of(federation, brokers_only=True)
    scene = _scene(federation, terrain)
    found: dict[int, Routes] = {}
    for start, end in wanted:
        first = _first(chart, terrain, start, end)
        second = _second(terrain, scene, first) if first else None
        if second is not None:
            found.setdefault(start, {})[end] = tuple(chart.link_number[e] for e in second.links)
    return found


def _pairs(federation: Federation) -> Iterator[tuple[int, int]]:
    number = {name: b for b, name in enumerate(federation.brokers)}
    for topic in federation.topics.values():
        if topic.contract.paths > 1:
            for one in topic.publishers:
                for other in topic.subscribers:
                    ends = number[broker_of(one)], number[broker_of(other)]
                    if ends[0] != ends[1]:
                        yield ends


def _first(chart: Chart, terrain: Terrain, start: int, end: int) -> Path | None:
    """The path by the tables with nothing failed."""
    nodes = [start]
    while nodes[-1] != end:
        hop = int(chart.tables.brokers[nodes[-1]].base_row[end])
        if hop < 0 or len(nodes) > chart.graph.brokers:
            return None
        nodes.append(hop)
    return terrain.path(nodes)


def _scene(federation: Federation, terrain: Terrain) -> Scene | None:
    regions = federation.requirements.regions
    if regions is None or np.isnan(terrain.at).any(axis=1).all():
        return None
    return scene_of(terrain, circles(terrain, [regions.radius_km * part for part in RADII], seed=1))


def _second(terrain: Terrain, scene: Scene | None, first: Path) -> Path | None:
    if scene is not None:
        alternates = plan_for(scene, first, Wishes()).alternates
        if alternates:
            return alternates[0]
    inner = np.zeros(len(terrain.graph.names), np.bool_)
    inner[list(first.nodes[1:-1])] = True
    touching = np.asarray(inner[terrain.graph.ends].any(axis=1))
    touching[list(first.links)] = True
    delay = np.nan_to_num(terrain.graph.latency_ms) + 1.0
    weight = delay + touching * float(delay.sum())
    found = shortest(terrain, weight[terrain.graph.link], first.nodes[0], first.nodes[-1])
    return None if found is None or found == first else found
