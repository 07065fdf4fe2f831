"""Alternate paths that lie apart on the map, so that one disaster does not take both.

Reading order: `terrain` (the network and its places), `search`, `primary`; Wang's methods and their
measure: `proximity`, `gap`, `ksp`, `disjoint`; disasters: `hazards`, `geometry`, `ways`, `regions`,
`polygons`, `groups`, `scene` (who could escape what); better paths: `labels`, `exposure`, `joint`;
`plan` (any of them, for a pair), `survival` (what becomes of plans when regions strike), `study`
(both, for the pairs of a federation), `promises` (what it finds fault with) and `notes`.
"""

from ropewalk.routing.apart.plan import Plan, Wishes, plan_for
from ropewalk.routing.apart.regions import Regions, circles
from ropewalk.routing.apart.scene import Scene, scene_of
from ropewalk.routing.apart.survival import Survival, captured, survival
from ropewalk.routing.apart.terrain import Limits, Path, Terrain, terrain_of

__all__ = [
    "Limits",
    "Path",
    "Plan",
    "Regions",
    "Scene",
    "Survival",
    "Terrain",
    "Wishes",
    "captured",
    "circles",
    "plan_for",
    "scene_of",
    "survival",
    "terrain_of",
]
