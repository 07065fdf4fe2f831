"""`ropewalk smv`: NuSMV models of a federation, for a second opinion."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ropewalk.cli.contract import Json, contract, finish, progress, say
from ropewalk.cli.files import PIPE, Source, load_from
from ropewalk.cli.logic import Asked, questions, unreadable, world_for
from ropewalk.cli.verify import (
    Ctl,
    Forwarding,
    Ltl,
    Pairs,
    Property,
    Resend,
    SpecFile,
    TableFile,
    Timing,
    asked_for,
)
from ropewalk.errors import InputError, UsageError
from ropewalk.report.document import Document


def smv(
    path: Source,
    model: Annotated[
        Literal["paths", "clients"],
        typer.Option(help="paths: messages following the tables; clients: who takes over whom."),
    ] = "paths",
    failures: Annotated[
        list[str] | None,
        typer.Option(
            "--failures",
            help="As for verify; a colour for each. Default: none; for properties, as for verify.",
        ),
    ] = None,
    pairs: Pairs = None,
    table: TableFile = None,
    ltl: Ltl = None,
    ctl: Ctl = None,
    spec: SpecFile = None,
    property: Property = None,
    timing: Timing = "free",
    forwarding: Forwarding = "carrying",
    resend: Resend = True,
    out: Annotated[Path, typer.Option("--out", "-o", help="FILE.smv, or - for stdout.")] = PIPE,
    as_json: Json = False,
) -> None:
    """Write a NuSMV model with its specifications.

    With failures, a variable `colour` says which of them has happened; without (the default) the
    model is of the tables with nothing failed. With properties, it is the model that `verify`
    decides them on; where there are several, they are written to FILE-1.smv, FILE-2.smv, ...
    """
    with contract("smv", as_json=as_json):
        asked = Asked(
            ltl or (),
            ctl or (),
            spec,
            property or (),
            asked_for(failures),
            pairs,
            table,
            timing,
            forwarding,
            resend,
        )
        if asked:
            with progress(f"modelling {path}"):
                texts = property_models(path, asked)
            _written(texts, out, as_json=as_json)
            return
        from ropewalk.federation.loading import MAX_YAML_MB
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
                chosen = asked_for(failures) or ["none"]
                result = verify(federation, failures=chosen, pairs=pairs, table=given)  # type: ignore[arg-type]
                text = paths_model(result.check)
        _written([text], out, as_json=as_json)


def property_models(path: Path, asked: Asked) -> list[str]:
    """The models that properties are decided on, with the properties, one after the other."""
    from ropewalk.verify.logic.lexing import FormulaError
    from ropewalk.verify.logic.model import Spec
    from ropewalk.verify.logic.modelling import parts_of
    from ropewalk.verify.smv import smv_text

    world = world_for(path, asked)
    texts = []
    for one in questions(asked, world):
        try:
            parts = list(parts_of(one.formula, world, one.text))
        except FormulaError as error:
            raise InputError([unreadable(error, one.text, one.file, one.line)]) from None
        for part in parts:
            asks = Spec(one.kind, part.formula, one.text)  # type: ignore[arg-type]
            comments = [world.federation.name, one.text, *([part.title] if part.title else [])]
            texts.append(smv_text(replace(part.model, specs=(asks,)), comments=comments))
    return texts


def _written(texts: list[str], out: Path, *, as_json: bool) -> None:
    """Write models to a file each, or to stdout if there is one."""
    from ropewalk.federation.saving import write_text

    lines = sum(text.count("\n") for text in texts)
    specs = sum("SPEC" in line.split(" ", 1)[0] for text in texts for line in text.splitlines())
    summary: dict[str, Any] = {"lines": lines, "specifications": specs, "models": len(texts)}
    if out == PIPE and len(texts) > 1 and not as_json:
        raise UsageError(f"there are {len(texts)} models: name a file with -o FILE.smv")
    if out == PIPE and not as_json:
        say(texts[0])
        return
    if out == PIPE:
        summary["smv"] = texts[0] if len(texts) == 1 else texts
    files = [out] if len(texts) == 1 else _numbered(out, len(texts))
    for file, text in zip(files, texts, strict=True) if out != PIPE else ():
        write_text(file, text)
    to = str(files[0]) if len(files) == 1 else f"{files[0]} to {files[-1].name}"
    ending = "" if specs == 1 else "s"
    told = f"Wrote {to}: {lines:,} lines, {specs:,} specification{ending}."
    finish(Document("smv", "ok", summary), as_json=as_json, text=told)


def _numbered(out: Path, count: int) -> list[Path]:
    return [out.with_name(f"{out.stem}-{k}{out.suffix}") for k in range(1, count + 1)]
