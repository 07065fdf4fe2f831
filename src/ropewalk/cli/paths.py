"""`ropewalk paths`: a primary path and alternates that no single disaster takes down with it."""

from math import inf
from pathlib import Path as File
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ropewalk.cli.contract import Json, contract, finish, progress
from ropewalk.cli.files import Source, load_from
from ropewalk.errors import UsageError
from ropewalk.report.document import Document, Outcome

if TYPE_CHECKING:
    from ropewalk.federation import Federation
    from ropewalk.routing.apart.hazards import Hazard
    from ropewalk.routing.apart.regions import Regions
    from ropewalk.routing.apart.study import Study
    from ropewalk.routing.apart.terrain import Path, Terrain

MOST_PAIRS = 200

Radius = Annotated[
    float | None,
    typer.Option(
        "--radius-km", help="How far a disaster reaches. Default: requirements.regions of the file."
    ),
]
Feared = Annotated[
    Literal["earthquake", "flood", "power-grid"] | None,
    typer.Option("--hazard", help="A rough radius by what is feared, instead of --radius-km."),
]
How = Annotated[
    Literal["gap", "eksp", "disjoint", "exposure", "joint"],
    typer.Option(
        "--method",
        help="exposure: least exposed to sampled disasters; joint: the primary may move as well;"
        " gap, eksp, disjoint: after Wang 2015.",
    ),
]
Pair = Annotated[
    list[str] | None,
    typer.Option(
        "--pair", help="A,B: two brokers; repeat it. Default: publishers and subscribers, else all."
    ),
]
Drawn = Annotated[
    File | None, typer.Option("--regions", help="GeoJSON file of polygons that fail as a whole.")
]
DelayMs = Annotated[float | None, typer.Option(help="An alternate's delay at most.")]
Stretch = Annotated[
    float | None, typer.Option(help="An alternate's delay at most, in terms of the primary's.")
]
Hops = Annotated[int | None, typer.Option(min=1, help="An alternate's hops at most.")]
Primary = Annotated[
    str, typer.Option(help="delay, hops, or the path itself: A,n1,B (nodes of the map).")
]
PrimaryStretch = Annotated[
    float, typer.Option(min=1, help="With joint: how much longer than the shortest it may be.")
]
Three = Annotated[bool, typer.Option("--three", help="Two alternates (exposure and joint).")]
Curve = Annotated[bool, typer.Option("--curve", help="Also all of delay against exposure.")]
Drawing = Annotated[File | None, typer.Option("--map", help="Draw it: FILE.png, .svg or .pdf.")]
Penalty = Annotated[Literal["div", "log"], typer.Option(help="With gap: how penalties shrink.")]
ByDistance = Annotated[
    bool, typer.Option("--by-distance", help="With gap: what is nearer is penalised more.")
]
Printed = Annotated[bool, typer.Option("--as-printed", help="With gap: figure 5-2 to the letter.")]
K = Annotated[int, typer.Option("--k", min=2, help="With eksp: how many shortest paths.")]
OnlyNodes = Annotated[
    bool, typer.Option("--only-nodes", help="Links fail only with their ends, as in Wang 2015.")
]
Overlay = Annotated[
    bool, typer.Option("--overlay", help="Brokers and links, even if there is an underlay.")
]
Seed = Annotated[int, typer.Option(min=0, help="Of the regions that are drawn.")]
Most = Annotated[int, typer.Option("--most-pairs", min=1, help="No more pairs than this.")]


def paths(
    path: Source,
    radius_km: Radius = None,
    hazard: Feared = None,
    method: How = "exposure",
    pair: Pair = None,
    regions: Drawn = None,
    delay_ms: DelayMs = None,
    max_stretch: Stretch = None,
    hops: Hops = None,
    primary: Primary = "delay",
    primary_stretch: PrimaryStretch = 1.2,
    three: Three = False,
    curve: Curve = False,
    map: Drawing = None,
    penalty: Penalty = "div",
    by_distance: ByDistance = False,
    as_printed: Printed = False,
    k: K = 3,
    only_nodes: OnlyNodes = False,
    overlay: Overlay = False,
    seed: Seed = 1,
    most_pairs: Most = MOST_PAIRS,
    as_json: Json = False,
) -> None:
    """Find alternate paths that lie apart on the map from the primary ones.

    Paths are chosen with one set of regions and judged with another. An avoidable loss is one of a
    pair that the region neither contains an end of nor separates.
    """
    with contract("paths", as_json=as_json), progress(f"finding paths in {path}"):
        from ropewalk.federation.loading import MAX_YAML_MB
        from ropewalk.routing.apart.plan import Wishes
        from ropewalk.routing.apart.study import study
        from ropewalk.routing.apart.terrain import terrain_of

        if three and method not in ("exposure", "joint"):
            raise UsageError(f"--three goes with exposure or joint, not with {method}")
        federation = load_from(path, max_mb=MAX_YAML_MB)
        terrain = terrain_of(federation, brokers_only=overlay)
        radius, radius_from = _radius(federation, radius_km, hazard, drawn=regions is not None)
        wishes = Wishes(
            method=method,
            radius_km=radius,
            delay_ms=_positive("delay-ms", delay_ms),
            max_stretch=_positive("max-stretch", max_stretch),
            hops=inf if hops is None else hops,
            primary_stretch=primary_stretch,
            three=three,
            penalty=penalty,
            by_distance=by_distance,
            reading="printed" if as_printed else "validated",
            k=k,
        )
        pairs, pairs_in_all = _pairs(federation, pair, most_pairs)
        found = study(
            federation,
            terrain,
            pairs,
            wishes,
            polygons=_drawn(terrain, regions, only_nodes),
            primary=_primary(federation, terrain, primary, pairs),
            only_nodes=only_nodes,
            seed=seed,
        )
        summary = _summary(found, radius_from, pairs_in_all, with_curve=curve)
        if map is not None:
            summary["map"] = str(map)
            _draw(found, map, federation.name)
        required = radius_from == "requirements.regions"
        _tell(found, summary, federation, required=required, as_json=as_json)


def _tell(
    found: "Study",
    summary: dict[str, Any],
    federation: "Federation",
    *,
    required: bool,
    as_json: bool,
) -> None:
    from ropewalk.findings import Where
    from ropewalk.report.paths import paths_text

    findings = found.findings(Where(federation.source.file)) if required else []
    outcome: Outcome = "findings" if findings else "ok"
    document = Document("paths", outcome, summary, findings)
    finish(document, as_json=as_json, text=paths_text(summary))


def _radius(
    federation: "Federation", radius_km: float | None, hazard: "Hazard | None", *, drawn: bool
) -> tuple[float | None, str]:
    """The radius, and where it comes from."""
    from ropewalk.routing.apart.hazards import RADIUS_KM

    if radius_km is not None and hazard is not None:
        raise UsageError("--radius-km and --hazard: give one of them")
    if radius_km is not None:
        return _positive("radius-km", radius_km), "--radius-km"
    if hazard is not None:
        return float(RADIUS_KM[hazard]), hazard
    if federation.requirements.regions is not None:
        return federation.requirements.regions.radius_km, "requirements.regions"
    if not drawn:
        raise UsageError("how far does a disaster reach? Give --radius-km, --hazard or --regions")
    return None, "--regions"


def _positive(option: str, value: float | None) -> float:
    if value is None:
        return inf
    if not 0 < value < inf:
        raise UsageError(f"--{option} is {value:g}: it must be above 0")
    return value


def _pairs(
    federation: "Federation", asked: list[str] | None, most: int
) -> tuple[list[tuple[str, str]], int]:
    """Pairs of brokers, each once: as asked for, of topics, or all; and how many there are.

    Of too many, every so manyth is taken.
    """
    from ropewalk.verify.demand import demand_of

    if asked:
        pairs = [_named_pair(federation, text) for text in asked]
        return pairs, len(pairs)
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
    from math import isqrt

    b = (isqrt(8 * i + 1) + 1) // 2
    return i - b * (b - 1) // 2, b


def _named_pair(federation: "Federation", text: str) -> tuple[str, str]:
    from ropewalk.federation.sense.fault import did_you_mean

    names = text.split(",")
    if len(names) != 2 or names[0] == names[1]:
        raise UsageError(f"--pair {text}: write two brokers, as --pair A,B")
    for name in names:
        if name not in federation.brokers:
            hint = did_you_mean(name, list(federation.brokers))
            raise UsageError(
                f"--pair {text}: there is no broker {name!r}{f': {hint}' * bool(hint)}"
            )
    return names[0], names[1]


def _primary(
    federation: "Federation", terrain: "Terrain", text: str, pairs: list[tuple[str, str]]
) -> "Literal['delay', 'hops'] | Path":
    from ropewalk.routing.apart.primary import given_path

    rules: dict[str, Literal["delay", "hops"]] = {"delay": "delay", "hops": "hops"}
    if text in rules:
        return rules[text]
    if len(pairs) != 1 or "," not in text:
        raise UsageError(f"--primary {text}: write delay, hops, or with one --pair its nodes A,n,B")
    given = given_path(terrain, text.split(","))
    number = [list(federation.brokers).index(name) for name in pairs[0]]
    ends = [int(terrain.attached[i]) for i in number]
    if [given.nodes[0], given.nodes[-1]] != ends:
        first, last = (terrain.graph.names[node] for node in ends)
        raise UsageError(f"--primary {text}: it must go from {first} to {last}")
    return given


def _drawn(terrain: "Terrain", file: File | None, only_nodes: bool) -> "Regions | None":
    from ropewalk.routing.apart.polygons import polygon_regions

    if file is None:
        return None
    text = file.read_text(encoding="utf-8", errors="replace")
    return polygon_regions(terrain, text, file=str(file), only_nodes=only_nodes)


def _summary(
    found: "Study", radius_from: str, pairs_in_all: int, *, with_curve: bool
) -> dict[str, Any]:
    import numpy as np

    terrain = found.scene.terrain
    saved = found.captured
    return {
        "network": "underlay" if terrain.underlay else "brokers",
        "nodes": terrain.graph.brokers,
        "links": terrain.graph.links,
        "without_place": int(np.isnan(terrain.at).any(axis=1).sum()),
        "method": found.wishes.method,
        "radius_km": found.wishes.radius_km,
        "radius_from": radius_from,
        "pairs": len(found.pairs),
        "pairs_in_all": pairs_in_all - len(found.unjoined),
        "without_path": [list(pair) for pair in found.unjoined],
        "regions": found.before.regions,
        "captured": None if saved is None else round(saved, 4),
        "paths": list(found.rows(with_curve=with_curve)),
    }


def _draw(found: "Study", file: File, name: str) -> None:
    from ropewalk.report.map import draw_map

    plans = [plan.paths for plan in found.plans]
    only = len(plans) == 1
    title = f"{name}: {' - '.join(found.pairs[0])}" if only else f"{name}: {len(plans)} pairs"
    region, label = _drawn_region(found)
    terrain = found.scene.terrain
    draw_map(terrain, plans, file, title=title, region=region, region_label=label)


def _drawn_region(found: "Study") -> tuple[tuple[tuple[float, float], float] | None, str]:
    """A circle that still cuts a pair off needlessly, else one around the middle of a primary."""
    radius = found.wishes.radius_km
    if radius is None or not found.plans:
        return None, ""
    for _, region in found.exposed():
        centre = region.get("centre")
        if isinstance(centre, list):
            still = f"a region of {radius:g} km that cuts all paths"
            return ((centre[0], centre[1]), radius), still
    nodes = found.plans[0].primary.nodes
    at = found.scene.terrain.at[nodes[len(nodes) // 2]]
    return ((float(at[0]), float(at[1])), radius), f"a region of {radius:g} km"
