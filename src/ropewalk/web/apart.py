"""Two brokers' primary and alternate path, as the console draws them, and what a region does."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ropewalk.errors import UsageError
from ropewalk.federation import Federation
from ropewalk.routing.apart.plan import Wishes
from ropewalk.routing.apart.study import study
from ropewalk.routing.apart.terrain import Path, Terrain, terrain_of

Method = Literal["exposure", "joint", "gap", "eksp", "disjoint"]


@dataclass(frozen=True, slots=True)
class Line:
    """A path: its nodes by name, their places in degrees (none on a plane), delay and hops."""

    kind: Literal["primary", "alternate"]
    nodes: tuple[str, ...]
    places: tuple[tuple[float, float], ...]
    delay_ms: float
    hops: int


@dataclass(frozen=True, slots=True)
class Pair:
    """Both paths, and what becomes of them when regions strike that were drawn for the test."""

    lines: Sequence[Line]
    regions: int
    avoidable_by_primary: int
    avoidable: int

    @property
    def words(self) -> str:
        """What the alternate is worth."""
        if not self.avoidable_by_primary:
            return f"None of {self.regions:,} regions takes the primary where there is a way round."
        saved = 1 - self.avoidable / self.avoidable_by_primary
        return (
            f"{self.avoidable_by_primary:,} of {self.regions:,} regions take the primary, with a"
            f" way round: the alternate avoids {saved:.0%} of these losses."
        )


def pair_of(
    federation: Federation, source: str, to: str, *, radius_km: float, method: Method
) -> Pair:
    """Primary and alternate between two brokers; UsageError where there is no path."""
    terrain = terrain_of(federation)
    found = study(federation, terrain, [(source, to)], Wishes(method=method, radius_km=radius_km))
    if not found.plans:
        raise UsageError(f"{source} and {to} are not joined by any path")
    plan = found.plans[0]
    lines = [_line("primary", plan.primary, terrain)]
    lines += [_line("alternate", path, terrain) for path in plan.alternates]
    return Pair(
        lines,
        found.before.regions,
        int(found.before.avoidable[0]),
        int(found.after.avoidable[0]),
    )


def _line(kind: Literal["primary", "alternate"], path: Path, terrain: Terrain) -> Line:
    at = [terrain.at[node].tolist() for node in path.nodes] if terrain.globe else []
    return Line(
        kind,
        tuple(terrain.named(path)),
        tuple((round(lat, 5), round(lon, 5)) for lat, lon in at),
        path.delay_ms,
        path.hops,
    )
