"""`ropewalk pipeline`: traces through Spark: ingest, rates, calibrate, audit and others."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ropewalk.cli import jobs, latencies, spread, stream
from ropewalk.cli.contract import Json, contract, finish, progress
from ropewalk.cli.spark import Master, Remote, started, work_of
from ropewalk.errors import UsageError
from ropewalk.report.document import Document, Outcome

if TYPE_CHECKING:
    from ropewalk.findings import Finding
    from ropewalk.pipeline.folders import Work
    from ropewalk.pipeline.session import SparkSession

app = typer.Typer(
    help="Run traces through Spark: ingest|rates|calibrate|latency|audit|conform|all|stream FOLDER;"
    " survive|tables FILE.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Folder = Annotated[
    Path, typer.Argument(help="A working folder: traces/, federation.yaml, and what jobs make.")
]
Federation = Annotated[
    Path | None,
    typer.Option("--federation", help="The federation file. Default: FOLDER/federation.yaml."),
]
Deadline = Annotated[
    float,
    typer.Option("--deadline-ms", min=0, max=1e12, help="How long a delivery may take at most."),
]
Traces = Annotated[
    list[Path] | None,
    typer.Option("--traces", help="Trace files or folders. Default: FOLDER/traces, or FOLDER."),
]
Window = Annotated[float, typer.Option("--window-s", help="Length of a window, in seconds.")]
Peak = Annotated[
    str,
    typer.Option(
        help="Which windows count: busiest:1 (hours of each day), quantile:0.95, all, or"
        " between:FROM..UNTIL (seconds since 1970)."
    ),
]
Precision = Annotated[
    Literal["float32", "float64"], typer.Option(help="Numbers of the covariance matrix.")
]
FactorCount = Annotated[
    int | None, typer.Option("--factors", min=0, help="How many factors. Default: few enough.")
]


@app.command("ingest")
def ingest_(
    folder: Folder,
    traces: Traces = None,
    buckets: Annotated[int | None, typer.Option(help="Of a new store: a power of two.")] = None,
    master: Master = None,
    remote: Remote = None,
    as_json: Json = False,
) -> None:
    """Take traces into FOLDER/store; bad rows are put aside with file, line and reason."""
    with contract("pipeline ingest", as_json=as_json), started(master, remote, folder) as spark:
        from ropewalk.report.pipeline import ingest_text

        summary = ingested(spark, work_of(folder), traces, buckets)
        _finish("pipeline ingest", "ok", summary, ingest_text(summary), as_json=as_json)


@app.command("rates")
def rates_(
    folder: Folder,
    window_s: Window = 1.0,
    peak: Peak = "busiest:1",
    precision: Precision = "float32",
    factors: FactorCount = None,
    federation: Federation = None,
    master: Master = None,
    remote: Remote = None,
    as_json: Json = False,
) -> None:
    """Count messages per topic and window; means, covariance and factors into FOLDER/rates."""
    with contract("pipeline rates", as_json=as_json), started(master, remote, folder) as spark:
        from ropewalk.report.pipeline import rates_text

        work = work_of(folder)
        summary = rated(spark, work, window_s, peak, precision, factors, federation)
        _finish("pipeline rates", "ok", summary, rates_text(summary), as_json=as_json)


@app.command("calibrate")
def calibrate_(
    folder: Folder,
    runs: Annotated[
        Path | None,
        typer.Option(help="A calibration run instead: FILE.csv or FILE.parquet."),
    ] = None,
    master: Master = None,
    remote: Remote = None,
    as_json: Json = False,
) -> None:
    """Find what a message costs each broker; into FOLDER/capacities.yaml."""
    with contract("pipeline calibrate", as_json=as_json), started(master, remote, folder) as spark:
        from ropewalk.report.pipeline import calibrate_text

        work = work_of(folder)
        summary = _calibrate(spark, work, runs)
        if not summary["calibrated"] + summary["in_part"]:
            why = [
                f"{one['broker']}: {note}" for one in summary["results"] for note in one["notes"]
            ]
            raise UsageError(
                f"{runs or work.store}: no broker can be calibrated, nothing is written: {why[0]}"
            )
        _finish("pipeline calibrate", "ok", summary, calibrate_text(summary), as_json=as_json)


@app.command("audit")
def audit_(
    folder: Folder,
    federation: Federation = None,
    deadline_ms: Deadline = 5000,
    horizon: Annotated[
        int | None,
        typer.Option(
            min=0, help="Nobody is due anything after this time, in ns. Default: the last row's."
        ),
    ] = None,
    master: Master = None,
    remote: Remote = None,
    as_json: Json = False,
) -> None:
    """Hold the stored rows against the contracts; violations into FOLDER/audit."""
    with contract("pipeline audit", as_json=as_json), started(master, remote, folder) as spark:
        from ropewalk.report.pipeline import audit_text

        summary, findings = _audit(spark, work_of(folder), federation, deadline_ms, horizon)
        outcome: Outcome = "findings" if summary["violations"] else "ok"
        _finish("pipeline audit", outcome, summary, audit_text(summary, folder), findings, as_json)


@app.command("conform")
def conform_(
    folder: Folder,
    federation: Federation = None,
    master: Master = None,
    remote: Remote = None,
    as_json: Json = False,
) -> None:
    """Hold conversations alone against their protocols; into FOLDER/conformance."""
    with contract("pipeline conform", as_json=as_json), started(master, remote, folder) as spark:
        from ropewalk.pipeline import jobs
        from ropewalk.report.pipeline import conform_text

        with _step("conform") as timed:
            done = jobs.conform(folder, federation=federation, spark=spark)
        summary = {**done.summary, **timed}
        outcome: Outcome = "ok" if done.ok else "findings"
        text = conform_text(summary, done.folder)
        _finish("pipeline conform", outcome, summary, text, list(done.findings), as_json)


@app.command("all")
def all_(
    folder: Folder,
    traces: Traces = None,
    federation: Federation = None,
    window_s: Window = 1.0,
    peak: Peak = "busiest:1",
    precision: Precision = "float32",
    factors: FactorCount = None,
    deadline_ms: Deadline = 5000,
    master: Master = None,
    remote: Remote = None,
    as_json: Json = False,
) -> None:
    """Ingest, rates, calibrate and audit, one after the other."""
    with contract("pipeline all", as_json=as_json), started(master, remote, folder) as spark:
        from ropewalk.report.pipeline import all_text

        work = work_of(folder)
        summary: dict[str, Any] = {"ingest": ingested(spark, work, traces, None)}
        summary["rates"] = rated(spark, work, window_s, peak, precision, factors, federation)
        summary["calibrate"] = calibrated_if_sampled(spark, work)
        audited, findings = _audit(spark, work, federation, deadline_ms, None)
        summary["audit"] = audited
        summary |= {key: audited[key] for key in ("missed", "spurious") if key in audited}
        outcome: Outcome = "findings" if audited["violations"] else "ok"
        _finish("pipeline all", outcome, summary, all_text(summary, folder), findings, as_json)


app.command("jobs", hidden=True)(jobs.jobs)
app.command("latency")(latencies.latency)
app.command("survive")(spread.survive)
app.command("tables")(spread.tables)
app.command("stream")(stream.stream)


def ingested(
    spark: "SparkSession", work: "Work", traces: list[Path] | None, buckets: int | None
) -> dict[str, Any]:
    """Take traces into the store of a working folder."""
    from ropewalk.pipeline import jobs

    with _step("ingest") as timed:
        done = jobs.ingest(work.folder, traces=traces, buckets=buckets, spark=spark)
    return {**done.summary, **timed}


def rated(
    spark: "SparkSession",
    work: "Work",
    window_s: float,
    peak: str,
    precision: Literal["float32", "float64"],
    factors: int | None,
    federation: Path | None,
) -> dict[str, Any]:
    """Rates of a working folder's store."""
    from ropewalk.pipeline import jobs

    with _step("rates") as timed:
        found = jobs.rates(
            work.folder,
            window_s=window_s,
            peak=peak,
            precision=precision,
            factors=factors,
            federation=federation,
            spark=spark,
        )
    return {**found.summary, **timed}


def _calibrate(spark: "SparkSession", work: "Work", runs: Path | None) -> dict[str, Any]:
    from ropewalk.pipeline import jobs

    with _step("calibrate") as timed:
        found = jobs.calibrate(work.folder, runs=runs, spark=spark)
    return {**found.summary, **timed}


def calibrated_if_sampled(spark: "SparkSession", work: "Work") -> dict[str, Any] | None:
    """Calibration, or None where nobody recorded samples."""
    from ropewalk.pipeline.jobs import is_sampled

    return _calibrate(spark, work, None) if is_sampled(work.folder) else None


def _audit(
    spark: "SparkSession",
    work: "Work",
    federation: Path | None,
    deadline_ms: float,
    horizon: int | None,
) -> tuple[dict[str, Any], list["Finding"]]:
    from ropewalk.pipeline import jobs

    with _step("audit") as timed:
        done = jobs.audit(
            work.folder,
            federation=federation,
            deadline_ms=deadline_ms,
            horizon_ns=horizon,
            spark=spark,
        )
    return {**done.summary, **timed}, list(done.findings)


@contextmanager
def _step(name: str) -> Iterator[dict[str, float]]:
    """A step of a command, with how long it took."""
    timed: dict[str, float] = {}
    start = perf_counter()
    with progress(name):
        yield timed
    timed["seconds"] = round(perf_counter() - start, 3)


def _finish(
    command: str,
    outcome: Outcome,
    summary: dict[str, Any],
    text: str,
    findings: list["Finding"] | None = None,
    as_json: bool = False,
) -> None:
    finish(Document(command, outcome, summary, findings or []), as_json=as_json, text=text)
