"""Rates: the covariance of 10,000 topics against scipy alone, and counting against Spark's scan.

    python benchmarks/covariance.py                       # both
    python benchmarks/covariance.py counts 50000000       # counting only, of so many rows
    python benchmarks/covariance.py covariance            # the covariance only
    python benchmarks/covariance.py factors               # the short form of that covariance

Ratios are medians of warm repeats taken in turns, by the wall clock: Spark works in other
processes.
"""

import gc
import pickle
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from scipy.sparse import csr_array

from _measure import peak_memory, report
from ropewalk.pipeline.rates import Grid, counts, covariance_of, factors_of
from ropewalk.pipeline.rates.counts import collected, merged
from ropewalk.pipeline.rates.covariance import gram_blocks
from ropewalk.pipeline.rates.gram import blocks_of, gram_block, products_of
from ropewalk.pipeline.rates.grid import grid_of
from ropewalk.pipeline.rates.tally import NEEDED, TOPIC
from ropewalk.pipeline.session import session
from ropewalk.pipeline.store import Stored, contents
from ropewalk.trace.columns import KIND, stored_schema

REPEATS = 5
SECOND = 1_000_000_000
TOPICS, WINDOWS, NON_ZEROS = 10_000, 3_600, 700_000
BUCKETS = 16


def seconds(call: Callable[[], object]) -> float:
    gc.collect()
    start = perf_counter()
    call()
    return perf_counter() - start


def in_turns(**calls: Callable[[], object]) -> dict[str, float]:
    """Median seconds of each call by the wall clock, after one that does not count."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(REPEATS + 1):
        for name, call in calls.items():
            took = seconds(call)
            print(f"  {name} ({turn} of {REPEATS}): {took:.2f} s", file=sys.stderr)
            taken[name].append(took)
    return {name: round(median(each[1:]), 3) for name, each in taken.items()}


def counted(seed: int = 1) -> Grid:
    """Random counts: heavy-tailed rates, four loads that all topics share in different parts."""
    rng = np.random.default_rng(seed)
    rate = np.minimum(rng.pareto(1.1, TOPICS) + 0.02, 400)
    loads = np.exp(rng.normal(0, 0.4, (WINDOWS, 4)))
    parts = rng.dirichlet([0.3] * 4, TOPICS)
    low, high = 1e-5, 10.0
    typical = rate * (parts @ loads.mean(0))
    for _ in range(40):  # the scale that gives the wanted number of entries
        scale = (low * high) ** 0.5
        fewer = WINDOWS * (1 - np.exp(-scale * typical)).sum() < NON_ZEROS
        low, high = (scale, high) if fewer else (low, scale)
    topics, windows, messages = (
        [np.arange(TOPICS)],
        [np.zeros(TOPICS, int)],
        [np.zeros(TOPICS, int)],
    )
    for window in range(WINDOWS):
        drawn = rng.poisson(scale * rate * (parts @ loads[window]))
        filled = np.flatnonzero(drawn)
        topics.append(filled)
        windows.append(np.full(len(filled), window))
        messages.append(drawn[filled])
    return grid_of(
        np.concatenate(topics), np.concatenate(windows), np.concatenate(messages), WINDOWS
    )


def by_scipy(grid: Grid, precision: str) -> Any:
    """What one process does without us: sparse product, made dense, means taken off."""
    matrix = csr_array(grid.matrix, dtype=precision)
    mean = np.asarray(matrix.sum(0) / WINDOWS)
    dense = (matrix.T @ matrix).toarray()
    dense -= np.outer(WINDOWS * mean, mean)
    dense /= WINDOWS - 1
    return dense


def largest_error(found: Any, truth: Any) -> float:
    """Relative to the deviations of the two topics; those that never vary are left out."""
    deviation = np.sqrt(np.diag(truth))
    varies = deviation > 0
    scale = np.divide(1, deviation, out=np.zeros_like(deviation), where=varies)
    largest = 0.0
    for row in np.flatnonzero(varies):
        wrong = np.abs(found[row] - truth[row]) * scale[row] * scale
        largest = max(largest, float(wrong.max()))
    return largest


def same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What a Spark job costs that does nothing."""
    yield from batches


def multiplied(grid: Grid, busy: float) -> int:
    products = products_of(grid, busy)
    return sum(gram_block(products, *one).nbytes for one in blocks_of(len(grid.topics)))


def covariance(spark: SparkSession) -> dict[str, Any]:
    grid = counted()
    memory: dict[str, float] = {}
    for precision in ("float32", "float64"):
        with peak_memory(memory, precision):
            for _ in range(3):
                covariance_of(spark, grid, precision=precision)
    parts = in_turns(
        spark_nothing=lambda: spark.range(0, 2, 1, 2).mapInArrow(same, "id long").toArrow(),
        spark_blocks=lambda: gram_blocks(spark, grid).toArrow(),
        multiply_scatter=lambda: multiplied(grid, 2.0),
        multiply_with_blas=lambda: multiplied(grid, 0.25),
    )
    taken = in_turns(
        spark_float32=lambda: covariance_of(spark, grid),
        spark_float64=lambda: covariance_of(spark, grid, precision="float64"),
        scipy_float64=lambda: by_scipy(grid, "float64"),
        scipy_float32=lambda: by_scipy(grid, "float32"),
    )
    truth = by_scipy(grid, "float64")
    return {
        "topics": len(grid.topics),
        "windows": grid.windows,
        "non_zeros": len(grid.counts),
        "seconds": taken,
        "parts_seconds": parts,
        "ratio_float32": round(taken["spark_float32"] / taken["scipy_float64"], 2),
        "ratio_float64": round(taken["spark_float64"] / taken["scipy_float64"], 2),
        "ratio_float32_to_scipy_float32": round(taken["spark_float32"] / taken["scipy_float32"], 2),
        "error_float32": largest_error(covariance_of(spark, grid).matrix, truth),
        "error_float64": largest_error(
            covariance_of(spark, grid, precision="float64").matrix, truth
        ),
        "error_scipy_float32": largest_error(by_scipy(grid, "float32"), truth),
        "peak_memory_gb": memory,
        "closure_mb": round(len(pickle.dumps(grid)) / 1e6, 2),
        "crossing_mb": round(multiplied(grid, 2.0) / 1e6, 1),
    }


def factored() -> dict[str, Any]:
    grid = counted()
    found = []
    for count in (4, 16):
        start = perf_counter()
        one = factors_of(grid, count=count)
        found.append(
            {
                "factors": count,
                "error": round(one.error, 4),
                "largest_error": round(one.largest_error, 4),
                "seconds": round(perf_counter() - start, 2),
            }
        )
    start = perf_counter()
    auto = factors_of(grid)
    return {
        "given": found,
        "chosen": auto.count,
        "error": round(auto.error, 4),
        "reached": auto.reached,
        "seconds": round(perf_counter() - start, 2),
    }


def bucket_table(seed: int, rows: int, topics: int, span_s: float) -> pa.Table:
    """The rows of one bucket: a publish and an accepted row per message, then its deliveries."""
    rng = np.random.default_rng(seed)
    fan_out = 1 + (rng.pareto(1.2, topics) * 1.5).astype(int).clip(0, 20)
    weight = np.arange(1, topics + 1) ** -0.8
    share = weight / (weight * (2 + 2 * fan_out)).sum()
    messages = rng.poisson(share * rows)
    topic = np.repeat(np.arange(topics), messages)
    sent = rng.integers(0, int(span_s * SECOND), len(topic))
    pseq = np.arange(len(topic))
    each = fan_out[topic]
    copy = np.repeat(np.arange(len(topic)), each)
    rank = np.arange(len(copy)) - np.repeat(np.cumsum(each) - each, each)
    origin = np.concatenate([np.arange(len(topic))] * 2 + [copy] * 2)
    kinds = ("publish", "accepted", "deliver", "ack")
    lengths = [len(topic)] * 2 + [len(copy)] * 2
    kind = np.repeat([KIND[name] for name in kinds], lengths)
    late = np.repeat([0, 50_000, 2_000_000, 2_500_000], lengths) + rng.integers(
        0, 40_000, len(kind)
    )
    client = np.concatenate([np.zeros(2 * len(topic), int), rank, rank])
    ids = rng.integers(-(2**62), 2**62, topics)
    names = rng.integers(-(2**62), 2**62, 64)
    columns = {
        "ts_ns": 1_700_000_000 * SECOND + sent[origin] + late,
        "clock_err_ns": np.full(len(kind), 1000),
        "node": names[np.where(client > 0, client % 8, topic[origin] % 8)],
        "incarnation": np.zeros(len(kind), int),
        "epoch": np.ones(len(kind), int),
        "kind": kind,
        "topic": ids[topic[origin]],
        "client": pa.array(names[client], mask=kind < KIND["deliver"]),
        "producer": names[topic[origin] % 64],
        "pseq": pseq[origin],
        "event_id": rng.integers(-(2**62), 2**62, len(topic))[origin],
        "size_bytes": rng.integers(20, 2000, len(topic))[origin],
        "hop": (kind > KIND["accepted"]).astype(int),
    }
    order = np.lexsort((columns["ts_ns"], columns["node"], columns["topic"]))
    columns["li"] = np.argsort(np.argsort(columns["ts_ns"]))
    schema = stored_schema("events")
    arrays = [
        pa.array(columns[one.name]).take(pa.array(order)).cast(one.type)
        if one.name in columns
        else pa.nulls(len(kind), one.type)
        for one in schema
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def counting(spark: SparkSession, rows: int) -> dict[str, Any]:
    folder = Path(tempfile.mkdtemp(prefix="ropewalk-counts-"))
    try:
        for bucket in range(BUCKETS):
            table = bucket_table(bucket, rows // BUCKETS, 1000 // BUCKETS, rows / 10**7 * 600)
            pq.write_table(table, folder / f"{bucket}.parquet", compression="zstd")
        return _counting(spark, folder)
    finally:
        shutil.rmtree(folder)


def files_in(spark: SparkSession, folder: Path) -> DataFrame:
    """The files as a store gives them to its jobs."""
    files = [
        Stored(one.name, "events", int(one.stem), pq.read_metadata(one).num_rows, "run")
        for one in sorted(folder.glob("*.parquet"))
    ]
    return contents(spark, folder, files)


def _counting(spark: SparkSession, folder: Path) -> dict[str, Any]:
    files = files_in(spark, folder)
    memory: dict[str, float] = {}

    def scan() -> Any:
        return spark.read.parquet(str(folder)).agg(*(f.sum(name) for name in NEEDED)).collect()

    def native() -> Any:
        """The same counts in Spark SQL, without distinct clients: what a scan becomes."""
        window = f.floor(f.col("ts_ns") / SECOND).alias("window")
        wanted = spark.read.parquet(str(folder)).where(f.col("kind") == KIND["accepted"])
        return wanted.groupBy("topic", window).count().agg(f.sum("count"), f.count("*")).collect()

    with peak_memory(memory, "counting"):
        found = collected(merged(files, SECOND))
    spark.conf.set("spark.sql.ansi.enabled", "false")  # the scan's sum of ids overflows
    assert native()[0][0] == found.messages.sum()
    taken = in_turns(
        counting=lambda: collected(merged(files, SECOND)),
        counts_as_rows=lambda: counts(files, SECOND).agg(f.sum("messages")).collect(),
        spark_scan=scan,
        spark_sql_counts_only=native,
    )
    return {
        "rows": int(found.figures[:, TOPIC.index("rows")].sum()),
        "file_mb": round(sum(one.stat().st_size for one in folder.iterdir()) / 1e6),
        "cells": len(found.windows),
        "seconds": taken,
        "ratio_to_scan": round(taken["counting"] / taken["spark_scan"], 2),
        "ratio_of_rows_to_scan": round(taken["counts_as_rows"] / taken["spark_scan"], 2),
        "peak_memory_gb": memory["counting"],
    }


def main(which: str = "both", rows: str = "10000000") -> None:
    figures: dict[str, Any] = {}
    if which == "factors":
        report("covariance", factors=factored())
        return
    spark = session(
        master="local[2]",
        **{
            "spark.driver.memory": "2g",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.shuffle.partitions": "4",
        },
    )
    if which in ("both", "covariance"):
        figures["covariance"] = covariance(spark)
    if which in ("both", "counts"):
        figures["counts"] = counting(spark, int(rows))
    spark.stop()
    report("covariance", **figures)


if __name__ == "__main__":
    main(*sys.argv[1:])
