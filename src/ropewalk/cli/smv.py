"""`ropewalk smv`: NuSMV models of a federation, for a second opinion."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from ropewalk.cli.contract import Json, contract, finish, progress, say
from ropewalk.cli.files import PIPE, Source, load_from
from ropewalk.cli.verify import Pairs, TableFile, asked_for
from ropewalk.errors import UsageError
from ropewalk.report.document import Document


def smv(
    path: Source,
    model: Annotated[
        Literal["paths", "clients"],
        typer.Option(help="paths: messages following the tables; clients: who takes over whom."),
    ] = "paths",
    failures: Annotated[
        list[str] | None,
        typer.Option("--failures", help="As for verify; a colour for each. Default: none."),
    ] = None,
    pairs: Pairs = None,
    table: TableFile = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="FILE.smv, or - for stdout.")] = PIPE,
    as_json: Json = False,
) -> None:
    """Write a NuSMV model with its specifications.

    With failures, a variable `colour` says which of them has happened; without (the default) the
    model is of the tables with nothing failed.
    """
    with contract("smv", as_json=as_json):
        from ropewalk.federation.loading import MAX_YAML_MB
        from ropewalk.federation.saving import write_text
        from ropewalk.routing import read_table
        from ropewalk.verify import verify
        from ropewalk.verify.smv import clients_model, paths_model

        with progress(f"modelling {path}"):
            federation = load_from(path, max_mb=MAX_YAML_MB)
            if model == "clients" and (failures or pairs or table):
                raise UsageError("--model clients takes no --failures, --pairs or --table")
            if model == "clients":
                text = clients_model(federation)
            else:
                given = read_table(table, federation) if table else None
                asked = asked_for(failures) or ["none"]
                result = verify(federation, failures=asked, pairs=pairs, table=given)  # type: ignore[arg-type]
                text = paths_model(result.check)
        specs = sum("SPEC" in line.split(" ", 1)[0] for line in text.splitlines())
        summary = {"lines": text.count("\n"), "specifications": specs}
        if out == PIPE and not as_json:
            say(text)
            return
        if out == PIPE:
            summary["smv"] = text  # type: ignore[assignment]
        else:
            write_text(out, text)
        told = f"Wrote {out}: {summary['lines']:,} lines, {specs:,} specifications."
        finish(Document("smv", "ok", summary), as_json=as_json, text=told)
