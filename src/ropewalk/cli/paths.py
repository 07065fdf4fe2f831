"""`ropewalk paths`: a primary path and alternates that no single disaster takes down with it."""

from math import inf
from pathlib import Path as File
from typing import Annotated, Literal

import typer

from ropewalk.cli.contract import Json, contract, finish, progress
from ropewalk.cli.files import Source, load_from
from ropewalk.errors import UsageError
from ropewalk.report.document import Document, Outcome

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
        from ropewalk.report.paths import paths_text
        from ropewalk.report.verbs import pathfinding

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
            from ropewalk.report.map import check_name

            check_name(map)
        federation = load_from(path, max_mb=MAX_YAML_MB)
        found = pathfinding.paths(
            federation,
            _named(pair),
            radius_km=_radius(radius_km),
            hazard=hazard,
            method=method,
            regions=regions,
            delay_ms=_positive("delay-ms", delay_ms),
            max_stretch=_stretch("max-stretch", max_stretch, default=inf),
            hops=inf if hops is None else hops,
            primary=primary,
            primary_stretch=_stretch("primary-stretch", primary_stretch, default=1.2),
            three=three,
            penalty=penalty or "div",
            by_distance=by_distance,
            reading="printed" if as_printed else "validated",
            k=k or 3,
            only_nodes=only_nodes,
            overlay=overlay,
            strict=strict,
            seed=seed,
            most_pairs=most_pairs,
        )
        summary = {**found.summary, "paths": list(found.study.rows(with_curve=curve))}
        summary["notes"] = summary.pop("notes")
        if map is not None:
            from ropewalk.report.map import draw_study

            summary["map"] = str(map)
            draw_study(found.study, map, name=federation.name)
        outcome: Outcome = "ok" if found.ok else "findings"
        document = Document("paths", outcome, summary, found.findings)
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


def _radius(radius_km: float | None) -> float | None:
    return None if radius_km is None else _positive("radius-km", radius_km, most=MOST_KM)


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


def _named(texts: list[str] | None) -> list[tuple[str, str]] | None:
    """Pairs as they were asked for."""
    pairs = []
    for text in texts or ():
        names = text.split(",")
        if len(names) != 2:
            raise UsageError(f"--pair {text}: write two brokers, as --pair A,B")
        pairs.append((names[0], names[1]))
    return pairs or None
