"""Plans for the pairs of a federation, and what becomes of them in regions drawn anew."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ropewalk.errors import UsageError
from ropewalk.federation.facts import Federation
from ropewalk.routing.apart.exposure import curve
from ropewalk.routing.apart.groups import group_regions
from ropewalk.routing.apart.plan import Plan, Wishes, plan_for
from ropewalk.routing.apart.primary import Rule, primary_path, stretch
from ropewalk.routing.apart.proximity import proximity_factor
from ropewalk.routing.apart.regions import RADII, Regions, circles, union
from ropewalk.routing.apart.scene import Scene, scene_of
from ropewalk.routing.apart.survival import Survival, captured, survival
from ropewalk.routing.apart.terrain import Path, Terrain

TESTS = 1000
"""Circles of the radius asked for that plans are judged by; none of them was used to choose."""


@dataclass(frozen=True, eq=False, slots=True)
class Study:
    """Plans by pairs of brokers; `before` is the fate of the primaries alone, `after` of plans."""

    scene: Scene
    tests: Scene
    wishes: Wishes
    pairs: Sequence[tuple[str, str]]
    plans: Sequence[Plan]
    before: Survival
    after: Survival
    unjoined: Sequence[tuple[str, str]]

    @property
    def captured(self) -> float | None:
        """What part of all avoidable losses the plans avoid."""
        return captured(self.after, self.before)

    def cut_by(self, plan: Plan) -> list[dict[str, object]]:
        """The polygons and risk groups that cut all paths of a plan; is there a way round?"""
        regions = self.tests.regions
        lost = self.tests.lost(plan.paths) & ~regions.of_circles()
        needless = set(regions.among(lost & self.tests.left_to_avoid(plan.paths)))
        return [
            {**kind.where(number), "avoidable": (kind, number) in needless}
            for kind, number in regions.among(lost)
        ]

    def rows(self, *, with_curve: bool = False) -> Iterator[dict[str, Any]]:
        """A record per pair, as `--json` prints it."""
        for i, ((start, end), plan) in enumerate(zip(self.pairs, self.plans, strict=True)):
            avoidable = int(self.before.avoidable[i])
            row: dict[str, Any] = {
                "from": start,
                "to": end,
                "primary": self._path(plan.primary, plan),
                "alternates": [self._path(path, plan) for path in plan.alternates],
                "exposure": round(self.scene.exposure(plan.paths), 6),
                "lost_by_primary": int(self.before.lost[i]),
                "lost": int(self.after.lost[i]),
                "avoidable_by_primary": avoidable,
                "avoidable": int(self.after.avoidable[i]),
                "captured": _rounded(1 - self.after.avoidable[i] / avoidable)
                if avoidable
                else None,
                "cut_by": self.cut_by(plan),
            }
            if with_curve:
                row["curve"] = self._curve(plan)
            yield row

    def _path(self, path: Path, plan: Plan) -> dict[str, Any]:
        told: dict[str, Any] = {
            "path": self.scene.terrain.named(path),
            "delay_ms": round(path.delay_ms, 4),
            "hops": path.hops,
            "stretch": _rounded(stretch(path, plan.baseline)),
        }
        if path is not plan.primary and (radius := self.wishes.radius_km) is not None:
            factor = proximity_factor(self.scene.terrain, path, plan.primary, radius_km=radius)
            told["proximity_factor"] = _rounded(factor)
        return told

    def _curve(self, plan: Plan) -> list[dict[str, Any]]:
        if not plan.primary.links:
            return []
        limits = self.wishes.limits(plan.baseline)
        points = curve(self.scene, [plan.primary], limits=limits)
        return [{**self._path(path, plan), "exposure": round(x, 6)} for path, x in points]


def study(
    federation: Federation,
    terrain: Terrain,
    pairs: Sequence[tuple[str, str]],
    wishes: Wishes,
    *,
    polygons: Regions | None = None,
    primary: Rule | Path = "delay",
    only_nodes: bool = False,
    seed: int = 1,
) -> Study:
    """Choose a plan for each pair of brokers, and judge it by independent regions.

    Raises UsageError where there is nothing to keep apart from: no radius, polygon or risk group.
    """
    parts = [one for one in (polygons, group_regions(federation, terrain)) if one is not None]
    chosen_by, judged_by = list(parts), list(parts)
    if wishes.radius_km is not None:
        if np.isnan(terrain.at).any(axis=1).all():
            raise UsageError("nothing has a place: give sites, brokers or nodes at or xy")
        radii = [wishes.radius_km * part for part in RADII]
        chosen_by.insert(0, circles(terrain, radii, seed=seed, only_nodes=only_nodes))
        judged_by.insert(0, _tests(terrain, wishes.radius_km, seed, only_nodes))
    if not chosen_by:
        raise UsageError("nothing to keep apart from: give a radius, a hazard or regions")
    scene, tests = scene_of(terrain, union(chosen_by)), scene_of(terrain, union(judged_by))
    joined, primaries = _primaries(federation, terrain, pairs, primary)
    plans = [plan_for(scene, path, wishes) for path in primaries]
    return Study(
        scene,
        tests,
        wishes,
        joined,
        plans,
        survival(tests, [(path,) for path in primaries]),
        survival(tests, [plan.paths for plan in plans]),
        [pair for pair in pairs if pair not in joined],
    )


def _tests(terrain: Terrain, radius_km: float, seed: int, only_nodes: bool) -> Regions:
    return circles(
        terrain, [radius_km], centres=TESTS, seed=seed + 1, only_nodes=only_nodes, evenly=False
    )


def _primaries(
    federation: Federation,
    terrain: Terrain,
    pairs: Sequence[tuple[str, str]],
    primary: Rule | Path,
) -> tuple[list[tuple[str, str]], list[Path]]:
    """The pairs that have a path, and their primaries."""
    number = {name: i for i, name in enumerate(federation.brokers)}
    joined, paths = [], []
    for a, b in pairs:
        start, end = int(terrain.attached[number[a]]), int(terrain.attached[number[b]])
        path = (
            primary if isinstance(primary, Path) else primary_path(terrain, start, end, by=primary)
        )
        if path is not None:
            joined.append((a, b))
            paths.append(path)
    return joined, paths


def _rounded(value: float) -> float | None:
    return round(float(value), 4) if np.isfinite(value) else None
