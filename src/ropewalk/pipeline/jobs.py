"""The jobs of a working folder, one function each: what `ropewalk pipeline` and Python call.

A job takes the Spark session that it is given, else the one that runs, else it starts one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ropewalk.errors import UsageError
from ropewalk.federation.facts import Federation
from ropewalk.federation.opening import opened
from ropewalk.findings import Finding
from ropewalk.pipeline.audit.results import (
    Result,
    against_ledger,
    conformance_of,
    findings_of,
    result_of,
)
from ropewalk.pipeline.calibrate.results import Calibrations, write_capacities
from ropewalk.pipeline.folders import Work
from ropewalk.pipeline.plainly import plainly
from ropewalk.pipeline.rates.peaks import PeakRule
from ropewalk.pipeline.store import open_store

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import SparkSession

    from ropewalk.pipeline.generate.slices import Format
    from ropewalk.pipeline.ingest.job import Ingested
    from ropewalk.pipeline.rates.job import Rates

PathText = str | PathLike[str]
DEADLINE_MS = 5000.0
"""How long a delivery may take at most."""


@dataclass(frozen=True, slots=True)
class Generated:
    """A trace that was made: where it is, and what was put into it."""

    folder: Path
    summary: Mapping[str, Any]

    def frame(self) -> "pd.DataFrame":
        """A row per kind of fault that was put in."""
        import pandas as pd

        return pd.DataFrame(self.summary["faults"].items(), columns=["fault", "times"])


@dataclass(frozen=True)
class Audit:
    """What rows were held against: violations, what could not be checked, and where that is."""

    result: Result
    folder: Path

    @property
    def summary(self) -> dict[str, Any]:
        """Counts, by code."""
        return self.result.summary

    @property
    def ok(self) -> bool:
        """Whether nothing was violated in what could be checked; see `unchecked`."""
        return not self.result.summary["violations"]

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """Violations, some of every code; their place is their number in the table."""
        return tuple(findings_of(self.result, self.folder))

    @property
    def witness(self) -> object:
        """The witness of the first violation, or None."""
        return self.findings[0].witness if self.findings else None

    def frame(self) -> "pd.DataFrame":
        """A row per violation."""
        found: pd.DataFrame = self.result.violations.to_pandas()
        return found

    def unchecked(self) -> "pd.DataFrame":
        """A row per code and reason for which something could not be checked."""
        import pandas as pd

        return pd.DataFrame(self.summary["unchecked"], columns=["code", "reason", "topics"])


@plainly()
def generate_trace(
    folder: PathText,
    *,
    events: float,
    faults: Sequence[str] = ("all",),
    seed: int = 1,
    each: int | None = None,
    hours: float | None = None,
    brokers: int | None = None,
    topics: int | None = None,
    producers: int | None = None,
    subscriptions: int | None = None,
    format: "Format" = "parquet",
    spark: "SparkSession | None" = None,
) -> Generated:
    """Make a trace of about so many events, with known faults, and the truth about it.

    Raises UsageError for options that make no sense, and for a folder that is something else.
    """
    from ropewalk.pipeline.generate import generate

    summary = generate(
        spark or _session(),
        Path(folder),
        events=events,
        faults=faults,
        seed=seed,
        each=each,
        hours=hours,
        brokers=brokers,
        topics=topics,
        producers=producers,
        subscriptions=subscriptions,
        format=format,
    )
    return Generated(Path(folder), summary)


@plainly()
def ingest(
    folder: PathText,
    *,
    traces: Sequence[PathText] | None = None,
    buckets: int | None = None,
    spark: "SparkSession | None" = None,
) -> "Ingested":
    """Take traces into the store of a working folder; bad rows are put aside with the reason."""
    from ropewalk.pipeline.ingest.job import ingest

    work = work_of(folder)
    found = [Path(one) for one in traces] if traces else work.traces
    return ingest(spark or _session(), found, work.store, buckets=buckets)


@plainly()
def rates(
    folder: PathText,
    *,
    window_s: float = 1.0,
    peak: "str | PeakRule" = "busiest:1",
    precision: Literal["float32", "float64"] = "float32",
    factors: int | None = None,
    federation: "PathText | Federation | None" = None,
    spark: "SparkSession | None" = None,
) -> "Rates":
    """Count messages of a working folder's store; means, covariance and factors go beside it."""
    from ropewalk.pipeline.rates.job import rates

    work, rule = work_of(folder), peak_rule(peak) if isinstance(peak, str) else peak
    store = open_store(work.store)
    told = federation is not None or work.federation.exists()
    items = dict(_described(work, federation)[0].items) if told else None
    found = rates(
        store.contents(spark or _session()),
        window_s=window_s,
        peak=rule,
        names=store.names("topic"),
        items=items,
        precision=precision,
        factors=factors,
    )
    found.save(work.rates)
    return found


@plainly()
def calibrate(
    folder: PathText, *, runs: PathText | None = None, spark: "SparkSession | None" = None
) -> Calibrations:
    """Find what a message costs each broker; into the folder's capacities.yaml if any is known."""
    from ropewalk.pipeline.calibrate import calibrate, calibrate_runs

    work, spark = work_of(folder), spark or _session()
    if runs is not None:
        found = calibrate_runs(spark, Path(runs))
    else:
        store = open_store(work.store)
        found = calibrate(store.frame(spark, "samples"), names=store.names("node"))
    if found.capacities()["brokers"]:
        write_capacities(found, work.capacities)
    return found


def is_sampled(folder: PathText) -> bool:
    """Whether brokers recorded samples, so that they can be calibrated."""
    return bool(open_store(work_of(folder).store).paths("samples"))


@plainly()
def audit(
    folder: PathText,
    *,
    federation: "PathText | Federation | None" = None,
    deadline_ms: float = DEADLINE_MS,
    horizon_ns: int | None = None,
    spark: "SparkSession | None" = None,
) -> Audit:
    """Hold the stored rows against the contracts; violations go into the folder's `audit`."""
    from ropewalk.pipeline.audit.job import audit
    from ropewalk.protocol.reading import load_automata

    work = work_of(folder)
    store = open_store(work.store)
    described, beside = _described(work, federation)
    audited = audit(
        spark or _session(),
        store,
        described,
        deadline_ns=round(deadline_ms * 1e6),
        horizon_ns=horizon_ns,
        protocols=load_automata(described.protocols, beside),
    )
    result = result_of(audited, store)
    if work.ledger.exists():
        aside = store.manifest.rows["quarantine"]
        result.summary.update(against_ledger(result.violations, aside, work.ledger))
    result.save(work.audit)
    return Audit(result, work.audit)


@plainly()
def conform(
    folder: PathText,
    *,
    federation: "PathText | Federation | None" = None,
    spark: "SparkSession | None" = None,
) -> Audit:
    """Hold conversations alone against their protocols; into the folder's `conformance`."""
    from ropewalk.pipeline.audit.conform import conformance
    from ropewalk.protocol.reading import load_automata

    work = work_of(folder)
    store = open_store(work.store)
    described, beside = _described(work, federation)
    protocols = load_automata(described.protocols, beside)
    found = conformance(spark or _session(), store, described, protocols)
    result = conformance_of(found, store)
    result.save(work.conformance)
    return Audit(result, work.conformance)


def work_of(folder: PathText) -> Work:
    """The working folder of a job; UsageError if there is none."""
    if not Path(folder).is_dir():
        raise UsageError(f"{folder}: there is no such folder")
    return Work(Path(folder))


def peak_rule(text: str) -> PeakRule:
    """The rule that a text names, such as busiest:1, quantile:0.95, between:FROM..UNTIL or all."""
    kind, _, value = text.partition(":")
    try:
        if kind == "busiest":
            return PeakRule("busiest", hours=int(value or 1))
        if kind == "quantile":
            return PeakRule("quantile", quantile=float(value or 0.95))
        if kind == "between":
            begin, end = (round(float(one) * 1e9) for one in value.split(".."))
            return PeakRule("between", from_ns=begin, until_ns=end)
    except ValueError:
        raise UsageError(f"--peak {text}: {value!r} is not what it takes") from None
    if kind == "all" and not value:
        return PeakRule("all")
    raise UsageError(f"--peak {text}: write busiest:HOURS, quantile:Q, between:FROM..UNTIL or all")


def _described(work: Work, federation: "PathText | Federation | None") -> tuple[Federation, Path]:
    """The federation of a trace, and the folder that its protocols are named from."""
    if isinstance(federation, Federation):
        return federation, Path(federation.source.file).parent
    path = Path(federation) if federation is not None else work.federation
    return opened(path), path.parent


def _session() -> "SparkSession":
    from ropewalk.pipeline.session import session

    return session()
