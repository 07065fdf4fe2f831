"""Calibration of all brokers on Spark: a group of windows per broker, one fit for each group."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ropewalk.errors import UsageError
from ropewalk.pipeline.calibrate.fit import REPLICATES, Fit, Observations, fit
from ropewalk.pipeline.calibrate.results import Calibrations, named

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OBSERVATIONS = pa.schema(
    [
        ("broker", pa.string()),
        ("filters", pa.float64()),
        ("replication", pa.float64()),
        ("service_us", pa.float64()),
        ("messages", pa.float64()),
    ]
)
"""A window or run: what a message cost on average; null where that is not known."""

COSTS = pa.list_(pa.float64())
FITS = pa.schema(
    [
        ("broker", pa.string()),
        ("windows", pa.int64()),
        ("unusable", pa.int64()),
        ("outliers", pa.int64()),
        ("filters", pa.float64()),
        ("replication", pa.float64()),
        ("costs", COSTS),
        ("low", COSTS),
        ("high", COSTS),
        ("service_us", COSTS),
        ("unseparated", pa.list_(pa.string())),
        ("notes", pa.list_(pa.string())),
    ]
)
"""What `fit` found for each broker."""

RUN_COLUMNS = ("broker", "filters", "replication")
MEASURED = ("service_us", "messages_per_s")


def calibrate(
    samples: "DataFrame",
    *,
    names: Mapping[int, str] | None = None,
    seed: int = 1,
    replicates: int = REPLICATES,
) -> Calibrations:
    """Costs of every broker from the stored table `samples` of a trace.

    `names` gives names to the ids of brokers. Raises UsageError if there are no samples.
    """
    return _collected(fits(sample_observations(samples), seed=seed, replicates=replicates), names)


def calibrate_runs(
    spark: "SparkSession",
    path: str | Path,
    *,
    seed: int = 1,
    replicates: int = REPLICATES,
) -> Calibrations:
    """Costs of every broker from runs that were made to find them: FILE.csv or FILE.parquet.

    Columns: broker, filters, replication, and service_us or messages_per_s (at full load); if there
    is a column messages, runs with more of them count more. Raises UsageError for other files.
    """
    observed = run_observations(read_runs(spark, path), where=str(path))
    return _collected(fits(observed, seed=seed, replicates=replicates), None)


def sample_observations(samples: "DataFrame") -> "DataFrame":
    """Windows as observations: CPU time, copies and filters per message that came in."""
    return samples.selectExpr(
        "cast(node as string) as broker",
        "coalesce(filters, 0d) as filters",  # no make says so by itself: part of receiving then
        "try_divide(messages_out, messages_in) as replication",
        "try_divide(cpu_us, messages_in) as service_us",
        "cast(messages_in as double) as messages",
    )


def run_observations(runs: "DataFrame", *, where: str) -> "DataFrame":
    """Runs as observations; what is no number is null."""
    given = [one for one in MEASURED if one in runs.columns]
    missing = [name for name in RUN_COLUMNS if name not in runs.columns]
    missing += [] if given else [" or ".join(MEASURED)]
    if missing:
        raise UsageError(f"{where}: there is no column {', '.join(missing)}")
    if len(given) > 1:
        raise UsageError(f"{where}: service_us and messages_per_s: give one of these columns")
    taken = f"try_cast({given[0]} as double)"
    messages = "try_cast(messages as double)" if "messages" in runs.columns else "1d"
    return runs.selectExpr(
        "cast(broker as string) as broker",
        "try_cast(filters as double) as filters",
        "try_cast(replication as double) as replication",
        f"{taken if given[0] == 'service_us' else f'try_divide(1e6d, {taken})'} as service_us",
        f"{messages} as messages",
    )


def read_runs(spark: "SparkSession", path: str | Path) -> "DataFrame":
    """A file of runs as it is; UsageError if it is not there or is of another kind."""
    from pyspark.errors import AnalysisException

    suffix = Path(path).suffix
    if suffix not in (".csv", ".parquet"):
        raise UsageError(f"{path}: runs are read from FILE.csv or FILE.parquet")
    try:
        if suffix == ".csv":
            return spark.read.csv(str(path), header=True)
        return spark.read.parquet(str(path))
    except AnalysisException as error:
        told = str(error).strip().partition("\n")[0]
        raise UsageError(f"{path}: cannot be read: {told}") from None


def fits(observed: "DataFrame", *, seed: int = 1, replicates: int = REPLICATES) -> "DataFrame":
    """What `fit` finds for each broker."""
    from pyspark.sql.pandas.types import from_arrow_schema

    grouped = observed.groupBy("broker")
    return grouped.applyInArrow(_fitting(seed, replicates), from_arrow_schema(FITS))


def _fitting(seed: int, replicates: int) -> Callable[[pa.Table], pa.Table]:
    def fit_group(windows: pa.Table) -> pa.Table:
        # Rows come in any order; the bootstrap draws by place.
        ordered = windows.sort_by([(name, "ascending") for name in windows.column_names])
        found = fit(observations_of(ordered), seed=seed, replicates=replicates)
        row = {"broker": ordered["broker"][0].as_py(), **asdict(found)}
        return pa.Table.from_pylist([row], schema=FITS)

    return fit_group


def observations_of(windows: pa.Table) -> Observations:
    """One broker's rows as arrays; null is not a number."""
    return Observations(
        *(
            np.asarray(windows[name].to_numpy(), np.float64)
            for name in ("filters", "replication", "service_us", "messages")
        )
    )


def _collected(found: "DataFrame", names: Mapping[int, str] | None) -> Calibrations:
    rows = found.toArrow().to_pylist()
    if not rows:
        raise UsageError("there is nothing to calibrate from: no samples of any broker")
    return named(((str(row.pop("broker")), _fit(row)) for row in rows), names)


def _fit(row: dict[str, Any]) -> Fit:
    """A row of FITS as the record it was."""
    told: dict[str, Any] = {
        one.name: tuple(row[one.name]) if isinstance(row[one.name], list) else row[one.name]
        for one in fields(Fit)
    }
    return Fit(**told)
