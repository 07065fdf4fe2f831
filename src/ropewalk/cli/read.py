"""`ropewalk read`: a federation in, the same federation out in the other form."""

from pathlib import Path
from typing import Annotated

import typer

from ropewalk.cli.contract import Json, contract, finish, progress
from ropewalk.cli.files import PIPE, Source, load_from, save_to
from ropewalk.errors import UsageError
from ropewalk.report.document import Document


def read(
    path: Source,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="FILE.yaml, DIR.parquet (large form), or - for stdout."),
    ],
    max_mb: Annotated[
        float, typer.Option(help="Read YAML up to this size.", min=0.001, max=100_000)
    ] = 64,
    as_json: Json = False,
) -> None:
    """Write a federation in the other form, YAML or Parquet."""
    with contract("read", as_json=as_json):
        from ropewalk.federation.dump import dump
        from ropewalk.report.tables import summary_line, summary_of

        if out != PIPE and out.exists() and path.exists() and out.samefile(path):
            raise UsageError(f"{out} is what is read, and its comments would be lost: name another")
        with progress(f"reading {path}"):
            federation = load_from(path, max_mb=max_mb)
            if out != PIPE:
                save_to(federation, out)
        summary = {**summary_of(federation), "file": str(out)}
        if out == PIPE and not as_json:
            save_to(federation, out)
            return
        if out == PIPE:
            summary["yaml"] = dump(federation)
        done = Document("read", "ok", summary)
        finish(done, as_json=as_json, text=f"Wrote {out}: {summary_line(summary)}.")
