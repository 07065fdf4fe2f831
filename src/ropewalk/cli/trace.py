"""`ropewalk trace`: traces made for tests and benchmarks, and the rows behind a violation."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from ropewalk.cli.contract import Json, contract, finish, progress
from ropewalk.cli.spark import Master, Remote, started, work_of
from ropewalk.errors import UsageError
from ropewalk.findings import rules
from ropewalk.report.document import Document

app = typer.Typer(
    help="Make traces with known faults, and show the rows behind a violation.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("generate")
def generate_(
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder to write.")],
    events: Annotated[float, typer.Option(min=1, help="About how many rows, such as 1e7.")] = 1e6,
    faults: Annotated[
        str, typer.Option(help="Kinds of faults, with commas; all, or none.")
    ] = "none",
    each: Annotated[int | None, typer.Option(min=1, help="How many of every kind.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same trace.")] = 1,
    hours: Annotated[float | None, typer.Option(help="How long the trace lasts.")] = None,
    topics: Annotated[int | None, typer.Option(min=1, help="How many topics.")] = None,
    brokers: Annotated[int | None, typer.Option(min=1, help="How many brokers.")] = None,
    format: Annotated[
        Literal["parquet", "jsonl", "jsonl.gz"], typer.Option(help="Of the trace files.")
    ] = "parquet",
    master: Master = None,
    remote: Remote = None,
    as_json: Json = False,
) -> None:
    """Make a trace on Spark, with its federation, and a ledger of the faults put into it."""
    with contract("trace generate", as_json=as_json), started(master, remote) as spark:
        from ropewalk.pipeline.generate import generate
        from ropewalk.report.pipeline import generate_text

        kinds = [one.strip() for one in faults.split(",") if one.strip() != "none"]
        with progress(f"making {out}"):
            summary = generate(
                spark,
                out,
                events=events,
                faults=kinds,
                seed=seed,
                each=each,
                hours=hours,
                topics=topics,
                brokers=brokers,
                format=format,
            )
        document = Document("trace generate", "ok", summary)
        finish(document, as_json=as_json, text=generate_text(summary))


@app.command("show")
def show(
    folder: Annotated[Path, typer.Argument(help="A working folder that was audited.")],
    number: Annotated[
        int | None, typer.Argument(help="The number of a violation. Default: list them.")
    ] = None,
    code: Annotated[str | None, typer.Option(help="List only violations of this code.")] = None,
    most: Annotated[int, typer.Option(min=1, help="List at most so many.")] = 50,
    master: Master = None,
    remote: Remote = None,
    as_json: Json = False,
) -> None:
    """Show the rows that prove a violation, with the file and line that each comes from."""
    with contract("trace show", as_json=as_json):
        from ropewalk.pipeline.audit.results import read_result
        from ropewalk.report.pipeline import evidence_text, violations_view

        work = work_of(folder)
        result = read_result(work.audit)
        if code is not None and code.upper() not in rules():
            raise UsageError(f"--code {code}: there is no such code: `ropewalk explain` has all")
        code = code.upper() if code else None
        if number is None:
            summary, text = violations_view(result, code, most)
            finish(Document("trace show", "ok", summary), as_json=as_json, text=text)
            return
        if not 1 <= number <= len(result.violations):
            raise UsageError(
                f"{work.audit}: there is no violation {number}: it has {len(result.violations)}"
            )
        violation = result.violations.slice(number - 1, 1).to_pylist()[0]
        keys = [(one["node"], one["incarnation"], one["li"]) for one in violation["evidence"]]
        with started(master, remote) as spark, progress("looking for its rows"):
            from ropewalk.pipeline.show import rows_of
            from ropewalk.pipeline.store import open_store

            rows = rows_of(spark, open_store(work.store), keys)
        violation["evidence"] = rows
        summary = {"number": number, **violation}
        text = evidence_text(number, violation, rows)
        finish(Document("trace show", "ok", summary), as_json=as_json, text=text)
