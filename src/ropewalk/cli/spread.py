"""`ropewalk pipeline survive` and `tables`: the work of `paths` and `route`, spread over Spark."""

from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, Literal

import typer

from ropewalk.cli.contract import Json, contract, finish, progress
from ropewalk.cli.files import Source, load_from
from ropewalk.cli.spark import Master, Remote, started
from ropewalk.cli.verify import asked_for
from ropewalk.report.document import Document


def survive(
    path: Source,
    radius_km: Annotated[float, typer.Option("--radius-km", help="Of the circles that strike.")],
    regions: Annotated[int, typer.Option(help="How many circles.")] = 100_000,
    method: Annotated[
        Literal["exposure", "joint", "gap", "eksp"],
        typer.Option(help="How alternates are chosen: see `ropewalk paths --help`."),
    ] = "exposure",
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same circles.")] = 1,
    tasks: Annotated[int, typer.Option(help="Into how many tasks; the answer is the same.")] = 16,
    master: Master = None,
    remote: Remote = None,
    as_json: Json = False,
) -> None:
    """Judge the path pairs of a federation by many random disasters."""
    with contract("pipeline survive", as_json=as_json), started(master, remote) as spark:
        from ropewalk.federation.loading import MAX_YAML_MB
        from ropewalk.pipeline.survive import survive as judged
        from ropewalk.report.pipeline import survive_text

        begin = perf_counter()
        with progress("survive"):
            study = judged(
                spark,
                load_from(path, max_mb=MAX_YAML_MB),
                radius_km=radius_km,
                regions=regions,
                method=method,
                seed=seed,
                tasks=tasks,
            )
        before, after = study.before, study.after
        summary: dict[str, Any] = {
            "pairs": len(study.pairs),
            "regions": after.regions,
            "radius_km": radius_km,
            "method": method,
            "lost_before": int(before.lost.sum()),
            "lost_after": int(after.lost.sum()),
            "avoidable_before": int(before.avoidable.sum()),
            "avoidable_after": int(after.avoidable.sum()),
            "captured": study.captured,
            "seconds": round(perf_counter() - begin, 3),
        }
        document = Document("pipeline survive", "ok", summary)
        finish(document, as_json=as_json, text=survive_text(summary))


def tables(
    path: Source,
    out: Annotated[Path, typer.Option("--out", "-o", help="A folder: a file per broker.")],
    failures: Annotated[
        list[str] | None, typer.Option("--failures", help="As `ropewalk route` has them.")
    ] = None,
    ranges: Annotated[int, typer.Option(help="Into how many tasks.")] = 16,
    master: Master = None,
    remote: Remote = None,
    as_json: Json = False,
) -> None:
    """Compute the tables of every failure on Spark; the files are those of `ropewalk route`."""
    with contract("pipeline tables", as_json=as_json), started(master, remote) as spark:
        from ropewalk.federation.loading import MAX_YAML_MB
        from ropewalk.pipeline.tables import tables as spread
        from ropewalk.report.routing import tables_summary, tables_text
        from ropewalk.routing.ahead.network import DEFAULT

        begin = perf_counter()
        with progress("tables"):
            federation = load_from(path, max_mb=MAX_YAML_MB)
            made = spread(spark, federation, asked_for(failures) or DEFAULT, out, ranges=ranges)
        summary = {
            "federation": federation.name,
            **tables_summary(made),
            "hand_made_routes": len(federation.routes),
            "folder": str(out),
            "seconds": round(perf_counter() - begin, 3),
        }
        document = Document("pipeline tables", "ok", summary)
        finish(document, as_json=as_json, text=tables_text(summary))
