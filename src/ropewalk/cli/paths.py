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
MOST_HOPS = 1_000_000
MOST_KM = 1e6
MOST_PATHS = 1_000

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
    float | None,
    typer.Option(
        help="An alternate's delay at most, in terms of the primary's; with joint, of the shortest"
        " path's."
    ),
]
Hops = Annotated[
    int | None, typer.Option(min=1, max=MOST_HOPS, help="An alternate's hops at most.")
]
Primary = Annotated[
    str, typer.Option(help="delay, hops, or the path itself: A,n1,B (nodes of the map).")
]
PrimaryStretch = Annotated[
    float | None,
    typer.Option(help="With joint: the primary's delay at most, in terms of the shortest: 1.2."),
]
Three = Annotated[bool, typer.Option("--three", help="Two alternates (exposure and joint).")]
Curve = Annotated[bool, typer.Option("--curve", help="Also all of delay against exposure.")]
Drawing = Annotated[File | None, typer.Option("--map", help="Draw it: FILE.png, .svg or .pdf.")]
Penalty = Annotated[
    Literal["div", "log"] | None, typer.Option(help="With gap: how penalties shrink: div.")
]
ByDistance = Annotated[
    bool, typer.Option("--by-distance", help="With gap: what is nearer is penalised more.")
]
Printed = Annotated[bool, typer.Option("--as-printed", help="With gap: figure 5-2 to the letter.")]
K = Annotated[
    int | None,
    typer.Option("--k", min=2, max=MOST_PATHS, help="With eksp: how many shortest paths: 3."),
]
OnlyNodes = Annotated[
    bool, typer.Option("--only-nodes", help="Links fail only with their ends, as in Wang 2015.")
]
Overlay = Annotated[
    bool, typer.Option("--overlay", help="Brokers and links, even if there is an underlay.")
]
Strict = Annotated[
    bool,
    typer.Option("--strict", help="Findings, and exit code 1, also for what no file requires."),
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
    primary_stretch: PrimaryStretch = None,
    three: Three = False,
    curve: Curve = False,
    map: Drawing = None,
    penalty: Penalty = None,
    by_distance: ByDistance = False,
    as_printed: Printed = False,
    k: K = None,
    only_nodes: OnlyNodes = False,
    overlay: Overlay = False,
    strict: Strict = False,
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
        from ropewalk.findings import Where
        from ropewalk.report.paths import paths_text
        from ropewalk.routing.apart.notes import notes
        from ropewalk.routing.apart.plan import Wishes
        from ropewalk.routing.apart.promises import findings as broken_promises
        from ropewalk.routing.apart.study import study
        from ropewalk.routing.apart.terrain import terrain_of

        _check_effect(
            method,
            {
                "--three": three,
                "--penalty": penalty,
                "--by-distance": by_distance,
                "--as-printed": as_printed,
                "--k": k,
                "--primary-stretch": primary_stretch,
            },
        )
        if map is not None:
            from ropewalk.report.map import check_name, draw_study

            check_name(map)
        federation = load_from(path, max_mb=MAX_YAML_MB)
        terrain = terrain_of(federation, brokers_only=overlay)
        radius, radius_from = _radius(federation, radius_km, hazard, drawn=regions is not None)
        wishes = Wishes(
            method=method,
            radius_km=radius,
            delay_ms=_positive("delay-ms", delay_ms),
            max_stretch=_stretch("max-stretch", max_stretch, default=inf),
            hops=inf if hops is None else hops,
            primary_stretch=_stretch("primary-stretch", primary_stretch, default=1.2),
            three=three,
            penalty=penalty or "div",
            by_distance=by_distance,
            reading="printed" if as_printed else "validated",
            k=k or 3,
        )
        pairs, pairs_in_all = _pairs(federation, pair, most_pairs)
        found = study(
            federation,
            terrain,
            pairs,
            wishes,
            polygons=_drawn(terrain, regions, only_nodes),
            primary=_primary(federation, terrain, primary, pairs, method),
            only_nodes=only_nodes,
            seed=seed,
        )
        summary = _summary(found, radius_from, pairs_in_all, with_curve=curve)
        summary["notes"] = notes(federation, found)
        if map is not None:
            summary["map"] = str(map)
            draw_study(found, map, name=federation.name)
        required = radius_from == "requirements.regions"
        findings = []
        if required or strict:
            where = Where(federation.source.file)
            findings = broken_promises(found, where, circles_only=not strict)
        outcome: Outcome = "findings" if findings else "ok"
        document = Document("paths", outcome, summary, findings)
        finish(document, as_json=as_json, text=paths_text(summary))


GOES_WITH = {
    "--three": ("exposure", "joint"),
    "--penalty": ("gap",),
    "--by-distance": ("gap",),
    "--as-printed": ("gap",),
    "--k": ("eksp",),
    "--primary-stretch": ("joint",),
}


def _check_effect(method: str, given: dict[str, object]) -> None:
    """Refuse options that would change nothing."""
    for option, value in given.items():
        if value and method not in GOES_WITH[option]:
            methods = " or ".join(GOES_WITH[option])
            raise UsageError(f"{option} goes with --method {methods}, not with {method}")


def _radius(
    federation: "Federation", radius_km: float | None, hazard: "Hazard | None", *, drawn: bool
) -> tuple[float | None, str]:
    """The radius, and where it comes from."""
    from ropewalk.routing.apart.hazards import RADIUS_KM

    if radius_km is not None and hazard is not None:
        raise UsageError("--radius-km and --hazard: give one of them")
    if radius_km is not None:
        return _positive("radius-km", radius_km, most=MOST_KM), "--radius-km"
    if hazard is not None:
        return float(RADIUS_KM[hazard]), hazard
    if federation.requirements.regions is not None:
        return federation.requirements.regions.radius_km, "requirements.regions"
    if not drawn:
        raise UsageError("how far does a disaster reach? Give --radius-km, --hazard or --regions")
    return None, "--regions"


def _positive(option: str, value: float | None, *, most: float = 1e9) -> float:
    if value is None:
        return inf
    if not 0 < value <= most:
        bounds = f"above 0 and at most {most:,.0f}"
        raise UsageError(f"--{option} is {value:g}: it must be finite, {bounds}")
    return value


def _stretch(option: str, value: float | None, *, default: float) -> float:
    if value is None:
        return default
    if not 1 <= value < inf:
        raise UsageError(f"--{option} is {value:g}: it must be a finite number of at least 1")
    return value


def _pairs(
    federation: "Federation", asked: list[str] | None, most: int
) -> tuple[list[tuple[str, str]], int]:
    """Pairs of brokers, each once: as asked for, of topics, or all; and how many there are.

    Of too many, as many as allowed are taken, evenly from the list.
    """
    from ropewalk.verify.demand import demand_of

    if asked:
        named = {frozenset(pair): pair for pair in (_named_pair(federation, a) for a in asked)}
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
    federation: "Federation",
    terrain: "Terrain",
    text: str,
    pairs: list[tuple[str, str]],
    method: str,
) -> "Literal['delay', 'hops'] | Path":
    from ropewalk.routing.apart.primary import given_path

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
    from ropewalk.routing.apart.polygons import polygon_regions

    if file is None:
        return None
    text = file.read_text(encoding="utf-8", errors="replace")
    return polygon_regions(terrain, text, file=str(file), only_nodes=only_nodes)


def _summary(
    found: "Study", radius_from: str, pairs_in_all: int, *, with_curve: bool
) -> dict[str, Any]:
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
        "paths": list(found.rows(with_curve=with_curve)),
    }
