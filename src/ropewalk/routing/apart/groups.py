"""Shared-risk groups of a federation as regions: all of a group is down at once."""

import numpy as np

from ropewalk.federation.facts import Federation
from ropewalk.routing.apart.regions import Regions, listed
from ropewalk.routing.apart.terrain import Terrain
from ropewalk.routing.ground import members_of_group
from ropewalk.routing.scenarios import groups_of


def group_regions(federation: Federation, terrain: Terrain) -> Regions | None:
    """A region per risk group that takes down something of the network; None without any."""
    down = {name: _down(federation, terrain, name) for name in groups_of(federation)}
    down = {name: what for name, what in down.items() if what.any()}
    if not down:
        return None
    return listed(terrain, "risk group", tuple(down), np.array(list(down.values())))


def _down(federation: Federation, terrain: Terrain, group: str) -> np.ndarray:
    nodes, links = len(terrain.at), terrain.graph.links
    down = np.zeros(nodes + links, np.bool_)
    if terrain.underlay:
        underlay = federation.underlay
        down[:nodes] = [group in one.risk_groups for one in underlay.nodes.values()]
        down[nodes:] = [group in one.risk_groups for one in underlay.links]
        return down
    cut, dead = members_of_group(federation, group)
    down[sorted(dead)] = True
    down[[nodes + e for e in sorted(cut)]] = True
    return down
