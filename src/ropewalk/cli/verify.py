"""`ropewalk verify`: what is wrong with a federation."""

from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer

from ropewalk.cli.contract import Json, contract, finish, progress
from ropewalk.report.document import Document


def verify(
    path: Annotated[Path, typer.Argument(help="A federation file, or a folder in the large form.")],
    as_json: Json = False,
) -> None:
    """Check a federation file: its text, its fields, and that everything it names exists."""
    with contract("verify", as_json=as_json):
        from ropewalk.federation import load
        from ropewalk.report.tables import summary_line, summary_of

        start = perf_counter()
        with progress(f"checking {path}"):
            federation = load(path)
            summary = summary_of(federation)
        summary["seconds"] = round(perf_counter() - start, 3)
        done = Document("verify", True, summary)
        finish(done, as_json=as_json, text=f"{path}: {summary_line(summary)}: the file is sound.")
