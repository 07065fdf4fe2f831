"""`ropewalk read`: a federation in, the same federation out in the other form."""

from pathlib import Path
from typing import Annotated

import typer

from ropewalk.cli.contract import Json, contract, finish, progress
from ropewalk.report.document import Document


def read(
    path: Annotated[Path, typer.Argument(help="A federation file, or a folder in the large form.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="FILE.yaml, or DIR.parquet (large form).")
    ],
    max_mb: Annotated[float, typer.Option(help="Read YAML up to this size.")] = 64,
    as_json: Json = False,
) -> None:
    """Read a federation and write it as YAML or in the large (Parquet) form."""
    with contract("read", as_json=as_json):
        from ropewalk.federation import load, save
        from ropewalk.report.tables import summary_line, summary_of

        with progress(f"reading {path}"):
            federation = load(path, max_mb=max_mb)
            save(federation, out)
        summary = {**summary_of(federation), "file": str(out)}
        done = Document("read", True, summary)
        finish(done, as_json=as_json, text=f"Wrote {out}: {summary_line(summary)}.")
