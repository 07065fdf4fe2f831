"""`ropewalk demo`: a tour on the fifty-broker federation."""

from pathlib import Path
from typing import Annotated

import typer

from ropewalk.cli.contract import Json, contract, finish, program
from ropewalk.report.document import Document


def demo(
    folder: Annotated[Path, typer.Option(help="Where the demo writes its files.")] = Path("demo"),
    as_json: Json = False,
) -> None:
    """Make, load and show the fifty-broker federation."""
    with contract("demo", as_json=as_json):
        from rich.console import Console

        from ropewalk.federation import load, save
        from ropewalk.federation.generators import generate
        from ropewalk.report.tables import broker_table, summary_of

        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "fifty-broker.yaml"
        save(generate("fifty-broker"), file)
        federation = load(file)
        if not as_json:
            Console(highlight=False).print(broker_table(federation))
        done = Document("demo", "ok", {**summary_of(federation), "file": str(file)})
        finish(done, as_json=as_json, text=f"Wrote {file}. Next: {program()} verify {file}")
