"""`ropewalk report`: all that is known of a federation as one page that can be filed."""

import os
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Annotated

import typer

from ropewalk.cli.contract import Json, contract, finish, progress
from ropewalk.cli.files import PIPE, load_from, read_from
from ropewalk.cli.read import Map
from ropewalk.cli.verify import Budget, Failures, Strict, asked_for, verified
from ropewalk.errors import UsageError

if TYPE_CHECKING:
    from ropewalk.federation import Federation
    from ropewalk.report.filed.facts import Proof
    from ropewalk.report.filed.whole import Report

Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE", help="A federation file, or brokers' own files; more documents after it."
    ),
]
Plans = Annotated[
    list[Path] | None,
    typer.Option("--plan", help="A plan that `ropewalk place` wrote; may be repeated."),
]
Works = Annotated[
    list[Path] | None,
    typer.Option("--work", help="A working folder of the pipeline; may be repeated."),
]
Documents = Annotated[
    list[Path] | None,
    typer.Option("--document", help="What a verb printed with --json; may be repeated."),
]
Out = Annotated[
    Path | None, typer.Option("--out", "-o", help="The page, *.html; or the same as data, *.json.")
]


def report(
    files: Files,
    failures: Failures = None,
    plans: Plans = None,
    work: Works = None,
    documents: Documents = None,
    out: Out = None,
    title: Annotated[str | None, typer.Option(help="Its title.")] = None,
    strict: Strict = False,
    budget: Budget = None,
    mapping: Map = None,
    as_json: Json = False,
) -> None:
    """File what was described, proved, planned and observed, as one page or as JSON.

    The federation is verified for it. The page needs no other file and no network. It says of every
    file that went in what its SHA-256 is. SOURCE_DATE_EPOCH, if it is set, is the time it names.
    """
    with contract("report", as_json=as_json):
        from ropewalk.report.filed.told import report_text
        from ropewalk.report.verbs.reporting import Filed, check_out

        if out is not None:
            check_out(out)
        file, others = _sorted_out(files)
        with progress(f"verifying {file}"):
            proof = _proof(file, asked_for(failures), strict, budget, mapping)
        made = Filed(_gathered(proof, plans, work, [*(documents or ()), *others], title))
        if out is not None:
            made.save(out)
        # A person is told of parts: findings stand in the page, with what to do about each.
        document = made.document() if as_json else replace(made.document(), findings=())
        finish(document, as_json=as_json, text=report_text(made.report, out))


def _gathered(
    proof: "Proof",
    plans: list[Path] | None,
    work: list[Path] | None,
    documents: list[Path],
    title: str | None,
) -> "Report":
    from ropewalk.report.filed.gather import gather
    from ropewalk.report.filed.sources import making
    from ropewalk.report.filed.whole import report_of

    how = making(_now(), join(["ropewalk", *sys.argv[1:]]))
    found = gather(
        proof,
        making=how,
        plans=plans or (),
        work=work or (),
        documents=documents,
        title=title,
    )
    return report_of(found)


def _sorted_out(files: list[Path]) -> tuple[Path, list[Path]]:
    """The federation's file, and documents: the shell makes `--document *.json` several words."""
    from ropewalk.report.filed.gather import is_document_file

    documents = [one for one in files if is_document_file(one)]
    others = [one for one in files if one not in documents]
    if PIPE in others:
        raise UsageError("-: name a file: the report says of it what its SHA-256 is")
    if len(others) != 1:
        told = ", ".join(map(str, others)) or "none"
        raise UsageError(f"name one federation file, or one folder of brokers' own files: {told}")
    return others[0], documents


def _proof(
    file: Path,
    failures: list[str] | None,
    strict: bool,
    budget: float | None,
    mapping: Path | None,
) -> "Proof":
    from ropewalk.federation.loading import MAX_YAML_MB
    from ropewalk.report.verbs.reporting import proof

    reading = read_from([file], mapping=mapping)
    federation: Federation = reading.federation if reading else load_from(file, max_mb=MAX_YAML_MB)
    return proof(verified(federation, failures, None, None, None, strict, budget), reading)


def _now() -> str:
    """The time of making, in UTC; one that is set from outside makes the same bytes again."""
    set_ = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        now = datetime.fromtimestamp(int(set_), UTC) if set_ else datetime.now(UTC)
    except (ValueError, OverflowError, OSError):
        raise UsageError(f"SOURCE_DATE_EPOCH={set_}: write seconds since 1970") from None
    return now.strftime("%Y-%m-%d %H:%M:%S UTC")
