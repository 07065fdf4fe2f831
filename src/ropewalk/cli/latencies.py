"""`ropewalk pipeline latency`: latencies of links, from traces."""

from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

from ropewalk.cli.contract import Json, contract, finish, progress
from ropewalk.cli.spark import Master, Remote, started, work_of
from ropewalk.errors import UsageError
from ropewalk.report.document import Document

Folder = Annotated[
    Path, typer.Argument(help="A working folder: traces/, federation.yaml, and what jobs make.")
]


def latency(
    folder: Folder, master: Master = None, remote: Remote = None, as_json: Json = False
) -> None:
    """Measure how long messages take over each link; into FOLDER/latencies.yaml."""
    with contract("pipeline latency", as_json=as_json), started(master, remote, folder) as spark:
        from ropewalk.pipeline import latencies as job
        from ropewalk.pipeline.store import open_store

        start, work = perf_counter(), work_of(folder)
        with progress("latency"):
            store = open_store(work.store)
            names = store.names("link")
            links = spark.createDataFrame(job.ends_of(names.values()), job.LINKS)
            rows = job.latencies(store.frame(spark, "events"), links).collect()
            found = job.measured(((r[0], r[1], r[2], r[3]) for r in rows), names)
        if not found.links:
            raise UsageError(
                f"{work.store}: no message was seen on both ends of a link, nothing is written:"
                " let agents write `forward` rows"
            )
        job.write_latencies(found, work.latencies)
        summary: dict[str, Any] = {
            **found.summary,
            "file": str(work.latencies),
            "seconds": round(perf_counter() - start, 3),
        }
        text = (
            f"Wrote {work.latencies}: {summary['links']:,} links, {summary['messages']:,} messages;"
            f" clocks may be off by {summary['error_ms']:g} ms."
        )
        if found.impossible:
            text += f"\n{found.impossible:,} came before they were sent, and are left out."
        finish(Document("pipeline latency", "ok", summary), as_json=as_json, text=text)
