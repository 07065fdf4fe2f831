"""`ropewalk verify`: what a federation's configuration does, under every failure."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ropewalk.cli.contract import Json, contract, finish, progress
from ropewalk.cli.files import PIPE, Source, load_from, write_reports
from ropewalk.errors import UsageError
from ropewalk.report.document import Document

if TYPE_CHECKING:
    from ropewalk.federation import Federation
    from ropewalk.verify import Verification
    from ropewalk.verify.repair import Repaired

Failures = Annotated[
    list[str] | None,
    typer.Option(
        "--failures",
        help="links=K, brokers=K or any=K (every set of up to K), groups, sites, none, or one"
        " failure such as a--b or a--b+c. Joined by commas, or repeated. Default: what the file"
        " requires, else links=1,brokers=1.",
    ),
]
Pairs = Annotated[
    str | None, typer.Option(help="topics, or all pairs of brokers (default without topics).")
]
TableFile = Annotated[
    Path | None, typer.Option("--table", help="The whole routing table, as CSV or Parquet.")
]
Hops = Annotated[int | None, typer.Option(min=1, help="Paths of more hops are findings.")]
Observed = Annotated[
    Path | None,
    typer.Option(help="Test results (CSV: from, to, delivered): tell what failed, instead."),
]
Fix = Annotated[bool, typer.Option("--fix", help="Propose repairs; with -o, write them.")]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="Where --fix writes.")]
Budget = Annotated[
    float | None, typer.Option(min=0, help="Seconds; what is not decided by then is exit 3.")
]
Sarif = Annotated[Path | None, typer.Option(help="Also write a SARIF report.")]
Junit = Annotated[Path | None, typer.Option(help="Also write a JUnit report.")]


def verify(
    path: Source,
    failures: Failures = None,
    pairs: Pairs = None,
    table: TableFile = None,
    most_hops: Hops = None,
    observed: Observed = None,
    fix: Fix = False,
    out: Out = None,
    budget: Budget = None,
    sarif: Sarif = None,
    junit: Junit = None,
    as_json: Json = False,
) -> None:
    """Check a federation: the file, and what becomes of every topic under every failure.

    Every fault of the file is told at once. Then every publisher and subscriber of every topic:
    delivered, in a loop, dropped, sent back, or cut off by a failure that no routing could survive.
    """
    with contract("verify", as_json=as_json):
        start = perf_counter()
        if out is not None and not fix:
            raise UsageError("-o is where --fix writes: add --fix")
        with progress(f"verifying {path}"):
            federation = _loaded(path)
            if observed is not None:
                done, text = _located(federation, observed, table)
            else:
                result = _verified(federation, failures, pairs, table, most_hops, budget)
                done, text = _told(result, fix=fix, out=out)
        done = replace(done, summary={**done.summary, "seconds": round(perf_counter() - start, 3)})
        write_reports(done, sarif=sarif, junit=junit)
        finish(done, as_json=as_json, text=text)


def _loaded(path: Path) -> "Federation":
    from ropewalk.federation.loading import MAX_YAML_MB

    return load_from(path, max_mb=MAX_YAML_MB)


def _verified(
    federation: "Federation",
    failures: list[str] | None,
    pairs: str | None,
    table: Path | None,
    most_hops: int | None,
    budget: float | None,
) -> "Verification":
    from ropewalk.routing import read_table
    from ropewalk.verify import verify as verified

    end = monotonic() + budget if budget is not None else None
    return verified(
        federation,
        failures=split(failures),
        pairs=pairs,  # type: ignore[arg-type]
        table=read_table(table, federation) if table else None,
        most_hops=most_hops,
        late=lambda: end is not None and monotonic() > end,
    )


def split(failures: list[str] | None) -> list[str] | None:
    """Failures as the functions take them: one text each."""
    if failures is None:
        return None
    return [one.strip() for text in failures for one in text.split(",") if one.strip()]


def _told(result: "Verification", *, fix: bool, out: Path | None) -> tuple[Document, str]:
    from ropewalk.report.verification import verification_text

    summary: dict[str, Any] = dict(result.summary)
    text = verification_text(result, summary)
    if fix:
        repaired = _repaired(result, out)
        summary["repairs"] = [one.words for one in repaired.repairs]
        summary["repaired"] = repaired.result.ok
        text = "\n".join([text, *_repair_lines(repaired, out)])
    return Document("verify", result.outcome, summary, result.findings), text


def _repaired(result: "Verification", out: Path | None) -> "Repaired":
    from ropewalk.federation.dump import dump
    from ropewalk.federation.editing import save_edited
    from ropewalk.verify.repair import repair

    if result.check.table is not None:
        raise UsageError("--fix mends a federation's routes; it does not write given tables")
    repaired = repair(result)
    if out == PIPE:
        typer.echo(dump(repaired.federation), err=False)
    elif out is not None:
        save_edited(repaired.federation, result.check.federation, out)
    return repaired


def _repair_lines(repaired: "Repaired", out: Path | None) -> Iterator[str]:
    for one in repaired.repairs:
        left = f"{one.bad_before:,} bad cases, then {one.bad_after:,}"
        yield f"Repair: {one.words} ({left})"
    for fault in repaired.left:
        yield f"No change of entries mends this: {fault}"
    verdict = "everything that can be delivered is" if repaired.result.ok else "not all is mended"
    if repaired.repairs:
        yield f"Verified with the repairs: {verdict}."
    if out is not None and out != PIPE:
        yield f"Wrote {out}."


def _located(federation: "Federation", observed: Path, table: Path | None) -> tuple[Document, str]:
    from ropewalk.findings import Where
    from ropewalk.routing import read_table
    from ropewalk.verify.locate import locate, read_observations

    tests = read_observations(observed, federation)
    given = read_table(table, federation) if table else None
    found = locate(federation, tests, table=given)
    findings = list(found.findings(Where(str(observed))))
    summary = {
        "tests": len(tests),
        "failed": sum(not one.delivered for one in tests),
        "explanations": [str(one) for one in found.explanations],
        "complete": found.complete,
    }
    text = "" if findings else "Every test was delivered: nothing to explain."
    outcome = "findings" if findings else "ok" if found.complete else "undecided"
    return Document("verify", outcome, summary, findings), text  # type: ignore[arg-type]
