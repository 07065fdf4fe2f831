"""`paths`: a primary path of each pair and alternates that no single disaster takes with it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isqrt
from os import PathLike
from pathlib import Path as File
from typing import TYPE_CHECKING, Any, Literal

from ropewalk.errors import UsageError
from ropewalk.federation.facts import Federation
from ropewalk.federation.sense.fault import did_you_mean
from ropewalk.findings import Finding, Where
from ropewalk.routing.apart.gap import Penalty, Reading
from ropewalk.routing.apart.hazards import RADIUS_KM, Hazard
from ropewalk.routing.apart.notes import notes
from ropewalk.routing.apart.plan import Method, Wishes
from ropewalk.routing.apart.primary import given_path
from ropewalk.routing.apart.promises import findings as broken_promises
from ropewalk.routing.apart.study import Study, study
from ropewalk.routing.apart.terrain import terrain_of
from ropewalk.verify.demand import demand_of

if TYPE_CHECKING:
    import pandas as pd

    from ropewalk.routing.apart.regions import Regions
    from ropewalk.routing.apart.terrain import Path, Terrain

MOST_PAIRS = 200


@dataclass(frozen=True, slots=True)
class AlternatePaths:
    """Paths of each pair, what disasters leave of them, and what is promised beyond that."""

    study: Study
    summary: Mapping[str, Any]
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing that is required is missed."""
        return not self.findings

    @property
    def witness(self) -> object:
        """A region that cuts a pair off, and its paths; None if nothing is missed."""
        return self.findings[0].witness if self.findings else None

    def frame(self) -> "pd.DataFrame":
        """A row per path: its pair, whether it is the primary, and what it costs."""
        import pandas as pd

        rows = [
            {
                "from": pair["from"],
                "to": pair["to"],
                "way": way,
                "path": " > ".join(one["path"]),
                "delay_ms": one["delay_ms"],
                "hops": one["hops"],
                "stretch": one["stretch"],
                "avoidable": pair["avoidable_by_primary" if way == "primary" else "avoidable"],
            }
            for pair in self.study.rows()
            for way, one in _each(pair)
        ]
        return pd.DataFrame(rows)


def _each(pair: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    return [("primary", pair["primary"]), *(("alternate", one) for one in pair["alternates"])]


def paths(
    federation: Federation,
    pairs: Sequence[tuple[str, str]] | None = None,
    *,
    radius_km: float | None = None,
    hazard: Hazard | None = None,
    method: Method = "exposure",
    regions: str | PathLike[str] | None = None,
    delay_ms: float = inf,
    max_stretch: float = inf,
    hops: float = inf,
    primary: str = "delay",
    primary_stretch: float = 1.2,
    three: bool = False,
    penalty: Penalty = "div",
    by_distance: bool = False,
    reading: Reading = "validated",
    k: int = 3,
    only_nodes: bool = False,
    overlay: bool = False,
    strict: bool = False,
    seed: int = 1,
    most_pairs: int = MOST_PAIRS,
) -> AlternatePaths:
    """Find alternate paths that lie apart on the map from the primary ones.

    `pairs` are publishers and subscribers by default, else all. `regions` is a GeoJSON file.
    `strict`: findings also for what no file requires. Raises UsageError for what cannot be.

    >>> from ropewalk import generate
    >>> found = paths(generate("topohub", map="sndlib/germany50"), [("Hamburg", "Muenchen")],
    ...               radius_km=50)
    >>> found.frame().way.tolist()
    ['primary', 'alternate']
    """
    terrain = terrain_of(federation, brokers_only=overlay)
    radius, radius_from = _radius(federation, radius_km, hazard, drawn=regions is not None)
    wishes = Wishes(
        method=method,
        radius_km=radius,
        delay_ms=delay_ms,
        max_stretch=max_stretch,
        hops=hops,
        primary_stretch=primary_stretch,
        three=three,
        penalty=penalty,
        by_distance=by_distance,
        reading=reading,
        k=k,
    )
    chosen, in_all = _pairs(federation, pairs, most_pairs)
    found = study(
        federation,
        terrain,
        chosen,
        wishes,
        polygons=_drawn(terrain, File(regions) if regions is not None else None, only_nodes),
        primary=_primary(federation, terrain, primary, chosen, method),
        only_nodes=only_nodes,
        seed=seed,
    )
    summary = {**_summary(found, radius_from, in_all), "notes": notes(federation, found)}
    wrong: list[Finding] = []
    if strict or radius_from == "requirements.regions":
        where = Where(federation.source.file)
        wrong = broken_promises(found, where, circles_only=not strict)
    return AlternatePaths(found, summary, tuple(wrong))


def _radius(
    federation: Federation, radius_km: float | None, hazard: Hazard | None, *, drawn: bool
) -> tuple[float | None, str]:
    """The radius, and where it comes from."""
    if radius_km is not None and hazard is not None:
        raise UsageError("--radius-km and --hazard: give one of them")
    if radius_km is not None:
        return radius_km, "--radius-km"
    if hazard is not None:
        return float(RADIUS_KM[hazard]), hazard
    if federation.requirements.regions is not None:
        return federation.requirements.regions.radius_km, "requirements.regions"
    if not drawn:
        raise UsageError("how far does a disaster reach? Give --radius-km, --hazard or --regions")
    return None, "--regions"


def _pairs(
    federation: Federation, asked: Sequence[tuple[str, str]] | None, most: int
) -> tuple[list[tuple[str, str]], int]:
    """Pairs of brokers, each once: as asked for, of topics, or all; and how many there are.

    Of too many, as many as allowed are taken, evenly from the list.
    """
    if asked:
        named = {frozenset(pair): pair for pair in (_known(federation, one) for one in asked)}
        return list(named.values()), len(named)
    names = federation.graph.names
    demand = demand_of(federation)
    owed: dict[frozenset[int], tuple[int, int]] = {}
    for a, b in zip(demand.source.tolist(), demand.to.tolist(), strict=True):
        if a != b:
            owed.setdefault(frozenset((a, b)), (a, b))
    total = len(owed) or len(names) * (len(names) - 1) // 2
    taken = [i * total // most for i in range(most)] if total > most else range(total)
    ends = list(owed.values())
    numbers = [ends[i] if ends else _nth_pair(i) for i in taken]
    return [(names[a], names[b]) for a, b in numbers], total


def _nth_pair(i: int) -> tuple[int, int]:
    """The pairs (0, 1), (0, 2), (1, 2), (0, 3), ... by their place in this list."""
    b = (isqrt(8 * i + 1) + 1) // 2
    return i - b * (b - 1) // 2, b


def _known(federation: Federation, pair: tuple[str, str]) -> tuple[str, str]:
    text = ",".join(pair)
    if pair[0] == pair[1]:
        raise UsageError(f"--pair {text}: write two brokers, as --pair A,B")
    for name in pair:
        if name not in federation.brokers:
            hint = did_you_mean(name, list(federation.brokers))
            raise UsageError(
                f"--pair {text}: there is no broker {name!r}{f': {hint}' * bool(hint)}"
            )
    return pair


def _primary(
    federation: Federation,
    terrain: "Terrain",
    text: str,
    pairs: list[tuple[str, str]],
    method: str,
) -> "Literal['delay', 'hops'] | Path":
    rules: dict[str, Literal["delay", "hops"]] = {"delay": "delay", "hops": "hops"}
    if text in rules:
        return rules[text]
    if len(pairs) != 1 or "," not in text:
        raise UsageError(f"--primary {text}: write delay, hops, or with one --pair its nodes A,n,B")
    if method == "joint":
        raise UsageError("--primary: joint chooses the primary itself: write delay or hops")
    given = given_path(terrain, text.split(","))
    number = [list(federation.brokers).index(name) for name in pairs[0]]
    ends = [int(terrain.attached[i]) for i in number]
    if [given.nodes[0], given.nodes[-1]] != ends:
        first, last = (terrain.graph.names[node] for node in ends)
        raise UsageError(f"--primary {text}: it must go from {first} to {last}")
    return given


def _drawn(terrain: "Terrain", file: File | None, only_nodes: bool) -> "Regions | None":
    if file is None:
        return None
    from ropewalk.routing.apart.polygons import polygon_regions  # shapely is large

    text = file.read_text(encoding="utf-8", errors="replace")
    return polygon_regions(terrain, text, file=str(file), only_nodes=only_nodes)


def _summary(found: Study, radius_from: str, pairs_in_all: int) -> dict[str, Any]:
    from collections import Counter

    import numpy as np

    terrain = found.scene.terrain
    saved = found.captured
    count = Counter({kind.label: kind.count for kind in found.tests.regions.kinds})
    return {
        "network": "underlay" if terrain.underlay else "brokers",
        "nodes": terrain.graph.brokers,
        "links": terrain.graph.links,
        "without_place": int(np.isnan(terrain.at).any(axis=1).sum()),
        "method": found.wishes.method,
        "radius_km": found.wishes.radius_km,
        "radius_from": radius_from,
        "polygons": count["polygon"],
        "risk_groups": count["risk group"],
        "pairs": len(found.pairs),
        "pairs_in_all": pairs_in_all - len(found.unjoined),
        "without_path": [list(pair) for pair in found.unjoined],
        "regions": found.before.regions,
        "captured": None if saved is None else round(saved, 4),
    }
