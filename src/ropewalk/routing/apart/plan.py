"""A plan for a pair: its primary path and what stands by, by the method that is asked for."""

from dataclasses import dataclass
from math import inf
from typing import Literal

from ropewalk.errors import UsageError
from ropewalk.routing.apart.disjoint import maximally_disjoint
from ropewalk.routing.apart.exposure import least_exposed
from ropewalk.routing.apart.gap import Penalty, Reading, gap
from ropewalk.routing.apart.joint import joint_pair, third_path
from ropewalk.routing.apart.ksp import eksp
from ropewalk.routing.apart.scene import Scene
from ropewalk.routing.apart.terrain import Limits, Path, Terrain

Method = Literal["gap", "eksp", "disjoint", "exposure", "joint"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """How alternates are chosen, and what they may cost."""

    method: Method = "exposure"
    radius_km: float | None = None
    """What counts as near, for all methods but those that go by regions alone."""
    delay_ms: float = inf
    max_stretch: float = inf
    """The alternate's delay in terms of the primary's."""
    hops: float = inf
    primary_stretch: float = 1.2
    """How much longer than the shortest a jointly chosen primary may be."""
    three: bool = False
    penalty: Penalty = "div"
    by_distance: bool = False
    reading: Reading = "validated"
    k: int = 3

    def limits(self, primary: Path) -> Limits:
        """What an alternate for this primary may cost."""
        most = min(self.delay_ms, self.max_stretch * primary.delay_ms)
        return Limits(delay_ms=most, hops=self.hops)


@dataclass(frozen=True, slots=True)
class Plan:
    """The paths of a pair; `baseline` is the primary that there would be without the method."""

    baseline: Path
    paths: tuple[Path, ...]

    @property
    def primary(self) -> Path:
        """The path that is taken as long as it is up."""
        return self.paths[0]

    @property
    def alternates(self) -> tuple[Path, ...]:
        """What stands by, in order."""
        return self.paths[1:]


def plan_for(scene: Scene, primary: Path, wishes: Wishes) -> Plan:
    """The plan for a primary; without alternates where there is none within the limits."""
    if not primary.links:
        return Plan(primary, (primary,))
    limits = wishes.limits(primary)
    if wishes.method == "joint":
        own = Limits(delay_ms=wishes.primary_stretch * primary.delay_ms, hops=wishes.hops)
        paths = joint_pair(scene, primary, primary_limits=own, limits=limits)
        if paths and wishes.three:
            paths = third_path(scene, paths, limits=limits, primary_limits=own)
        return Plan(primary, paths or (primary,))
    alternate = _alternate(scene, primary, limits, wishes)
    if alternate is None or alternate == primary:
        return Plan(primary, (primary,))
    if wishes.three:
        return Plan(primary, third_path(scene, (primary, alternate), limits=limits))
    return Plan(primary, (primary, alternate))


def _alternate(scene: Scene, primary: Path, limits: Limits, wishes: Wishes) -> Path | None:
    terrain, radius = scene.terrain, wishes.radius_km
    if wishes.method == "exposure":
        near = None if radius is None else _gap(terrain, primary, limits, wishes)
        return least_exposed(scene, [primary], limits=limits, floor=near)
    if radius is None:
        raise UsageError(f"{wishes.method} needs to know what is near: give a radius")
    if wishes.method == "gap":
        return _gap(terrain, primary, limits, wishes)
    if wishes.method == "eksp":
        return eksp(terrain, primary, radius_km=radius, k=wishes.k, limits=limits)
    return maximally_disjoint(terrain, primary, radius_km=radius, limits=limits)


def _gap(terrain: Terrain, primary: Path, limits: Limits, wishes: Wishes) -> Path | None:
    return gap(
        terrain,
        primary,
        radius_km=wishes.radius_km or 0.0,
        penalty=wishes.penalty,
        by_distance=wishes.by_distance,
        limits=limits,
        reading=wishes.reading,
    ).path
