"""`ropewalk read`: a federation in, the same federation out in the other form."""

from pathlib import Path
from typing import Annotated

import typer

from ropewalk.cli.contract import Json, contract, progress
from ropewalk.cli.files import PIPE, Source, deliver, load_from
from ropewalk.errors import UsageError


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
        if out != PIPE and out.exists() and path.exists() and out.samefile(path):
            raise UsageError(f"{out} is what is read, and its comments would be lost: name another")
        with progress(f"reading {path}"):
            federation = load_from(path, max_mb=max_mb)
        deliver("read", federation, out, as_json=as_json)
