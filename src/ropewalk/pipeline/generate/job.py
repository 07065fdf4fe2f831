"""`generate`: a trace made on Spark, a slice a task, put in place whole."""

import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from ropewalk.errors import UsageError
from ropewalk.federation.saving import put_folder
from ropewalk.pipeline.generate.federation import write_federation
from ropewalk.pipeline.generate.kernels import compile_all
from ropewalk.pipeline.generate.ledger import Entry
from ropewalk.pipeline.generate.ledger import table_of as ledger_table
from ropewalk.pipeline.generate.plan import AT_DRIVER, START_NS, size_of
from ropewalk.pipeline.generate.rates import OWN_NOISE
from ropewalk.pipeline.generate.samples import NOISE, OUTLIERS
from ropewalk.pipeline.generate.slices import FORMATS, Format, Plan, files_of, plan_of
from ropewalk.pipeline.generate.world import GROUPS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LEDGER = "ledger.parquet"


def generate(
    spark: "SparkSession",
    folder: Path,
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
    format: Format = "parquet",
) -> dict[str, Any]:
    """Write a trace of about so many events, its federation, its ledger and the truth about it.

    `faults` are names of plan.FAULTS, or "all"; `each` is how many of every kind. The same seed
    and options give the same trace on any number of cores. Raises UsageError for options that
    make no sense and for a folder that is there and is no generated trace.
    """
    size = size_of(
        events,
        faults=faults,
        seed=seed,
        each=each,
        hours=hours,
        brokers=brokers,
        topics=topics,
        producers=producers,
        subscriptions=subscriptions,
    )
    if format not in FORMATS:
        raise UsageError(f"no format is called {format!r}: say {', '.join(FORMATS)}")
    folder = Path(folder)
    _refuse_other(folder)
    plan = plan_of(size)
    compile_all()
    with tempfile.TemporaryDirectory(prefix=".ropewalk-", dir=folder.parent) as scratch:
        made = Path(scratch) / "new"
        _run(spark, plan, made, format)
        truth = _gather(plan, made)
        write_federation(plan.world, made)
        put_folder(made, folder, Path(scratch) / "old")
    return {key: truth[key] for key in SUMMARY} | {"folder": str(folder)}


SUMMARY = ("rows", "messages", "files", "bytes", "brokers", "topics", "faults", "violations")
"""What of the truth is told at once."""


def _refuse_other(folder: Path) -> None:
    """Only a generated trace is replaced."""
    if not folder.parent.is_dir():
        raise UsageError(f"{folder}: there is no folder {folder.parent}: make it, or name another")
    if folder.is_file() or (
        folder.is_dir() and any(folder.iterdir()) and not (folder / LEDGER).is_file()
    ):
        raise UsageError(f"{folder}: something else is there: name another folder")


def _run(spark: "SparkSession", plan: Plan, folder: Path, format: Format) -> None:
    """The job: numbers of slices -> files of slices -> the sink."""
    from ropewalk.pipeline.sink import COLUMNS, FORMAT, Files

    columns = pa.schema([("path", pa.string()), ("content", pa.binary())])

    def make(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                paths, contents = zip(*files_of(plan, number, format), strict=True)
                yield pa.RecordBatch.from_arrays(
                    [pa.array(paths, pa.string()), pa.array(contents, pa.binary())], schema=columns
                )

    spark.dataSource.register(Files)
    slices = plan.world.size.slices
    rows = spark.range(0, slices, 1, slices).mapInArrow(make, COLUMNS)
    writer = rows.write.format(FORMAT).option("folder", str(folder.absolute()))
    writer.option("done", str(folder.absolute() / "done.json")).mode("append").save()


def _gather(plan: Plan, folder: Path) -> dict[str, Any]:
    """Slices' parts as one ledger and one truth; the parts are done away with."""
    parts = folder / "parts"
    found = [json.loads(one.read_text()) for one in sorted(parts.glob("*.json"))]
    entries = list(plan.entries)
    for one in sorted(parts.glob("*.parquet")):
        entries += [Entry(**row) for row in pq.read_table(one).to_pylist()]
    ledger = ledger_table(entries)
    pq.write_table(ledger, folder / LEDGER, compression="zstd")
    done = json.loads((folder / "done.json").read_text())
    traces = [one for one in done if one["path"].startswith("traces/")]
    truth = _truth(plan, found) | {
        "files": len(traces),
        "bytes": sum(one["bytes"] for one in traces),
        "violations": dict(sorted(Counter(ledger["code"].to_pylist()).items())),
    }
    (folder / "truth.json").write_text(json.dumps(truth, indent=1) + "\n")
    for one in [*parts.iterdir(), folder / "done.json"]:
        one.unlink()
    parts.rmdir()
    return truth


def _truth(plan: Plan, found: list[dict[str, Any]]) -> dict[str, Any]:
    """What was put in."""
    world, size = plan.world, plan.world.size
    placed: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    for one in found:
        placed.update(one["placed"])
        kinds.update(one["kinds"])
    codes = Counter(one.code for one in plan.entries)
    told = dict(zip(AT_DRIVER, (codes["A011"], codes["A012"]), strict=True))
    return {
        "rows": sum(one["rows"] for one in found),
        "messages": sum(one["messages"] for one in found),
        "seed": size.seed,
        "start_ns": START_NS,
        "hours": size.minutes / 60,
        "brokers": size.brokers,
        "topics": size.topics,
        "faults": {kind: placed[kind] + told.get(kind, 0) for kind in size.faults},
        "kinds": dict(sorted(kinds.items())),
        "performance": _performance(plan),
        "rates": {
            "own_noise": OWN_NOISE,
            "groups": GROUPS,
            "topics": {
                name: {"group": int(group), "loading": float(loading), "share": float(share)}
                for name, group, loading, share in zip(
                    world.topics.names,
                    world.topics.group,
                    world.topics.loading,
                    world.topics.weight,
                    strict=True,
                )
            },
            "factors": world.factors.round(4).tolist(),
        },
    }


def _performance(plan: Plan) -> dict[str, Any]:
    brokers = plan.world.brokers
    costs = zip(brokers.receive_us, brokers.filter_us, brokers.send_us, strict=True)
    return {
        "noise": NOISE,
        "outliers": OUTLIERS,
        "brokers": {
            name: dict(zip(("receive_us", "filter_us", "send_us"), map(float, one), strict=True))
            for name, one in zip(brokers.names, costs, strict=True)
        },
    }
