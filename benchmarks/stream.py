"""Seconds per micro-batch as a store grows: `python benchmarks/stream.py`.

Each batch brings one second of a made-up trace: messages are published, accepted and delivered.
What a batch costs is told in two parts: to take its rows in, and to judge what it touched.
"""

import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from _measure import report
from ropewalk.federation.facts import Federation
from ropewalk.pipeline.session import session
from ropewalk.pipeline.store import binary_files
from ropewalk.pipeline.stream.step import Plan, take_batch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECOND = 1_000_000_000
TOPICS, NODES = 200, 4
KINDS = np.array(["publish", "accepted", "deliver"])


def subscriptions() -> pa.Table:
    """One client that subscribes to every topic before anything happens."""
    return pa.table(
        {
            "ts_ns": [10] * TOPICS,
            "node": [f"n{one % NODES}" for one in range(TOPICS)],
            "li": range(TOPICS),
            "incarnation": [1] * TOPICS,
            "kind": ["subscribed"] * TOPICS,
            "topic": [f"t/{one}" for one in range(TOPICS)],
            "client": ["k"] * TOPICS,
        }
    )


def second(number: int, rows: int) -> pa.Table:
    """A second of the trace."""
    rng = np.random.default_rng(number)
    messages = rows // 3
    topic = np.sort(rng.integers(0, TOPICS, messages))
    begins = np.searchsorted(topic, np.arange(TOPICS))
    pseq = np.arange(messages) - begins[topic] + number * 10_000_000
    kind = np.tile(np.arange(3), messages)
    ts = np.sort(rng.integers(0, SECOND, messages)) + (number + 1) * SECOND
    return pa.table(
        {
            "ts_ns": np.repeat(ts, 3) + kind * 1000,
            "node": [f"n{one % NODES}" for one in np.repeat(topic, 3)],
            "li": np.arange(3 * messages) + number * 100_000_000,
            "kind": KINDS[kind],
            "topic": [f"t/{one}" for one in np.repeat(topic, 3)],
            "producer": ["p"] * (3 * messages),
            "pseq": np.repeat(pseq, 3),
            "client": pa.array(np.where(kind == 2, "k", ""), mask=kind != 2),
        }
    )


def measure(spark: "SparkSession", rows: int, batches: int) -> dict[str, Any]:
    """Batches of so many rows, one after the other, into one store."""
    marks: dict[str, float] = {}
    taken, judged = [], []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        federation = Federation(name="made-up", brokers={})
        plan = Plan(folder / "store", federation, buckets=16, checkpoint="c", delay_ns=2 * SECOND)
        plan.stage.mkdir(parents=True)
        plan = replace(plan, pause=lambda at: marks.__setitem__(at, time.perf_counter()))
        for number in range(batches + 1):
            path = folder / f"{number}.parquet"
            pq.write_table(second(number, rows) if number else subscriptions(), path)
            start = time.perf_counter()
            take_batch(plan, binary_files(spark, [str(path)]), number)
            taken.append(marks["taken in"] - start)
            judged.append(time.perf_counter() - marks["taken in"])
            print(f"  {rows} rows, batch {number} of {batches}", file=sys.stderr)
    return {
        "batches": batches,
        "take_in_s": round(median(taken[3:]), 2),
        "judge_s": round(median(judged[3:]), 2),
        "last_batch_s": round(taken[-1] + judged[-1], 2),
    }


if __name__ == "__main__":
    started = session("local[2]", **{"spark.sql.shuffle.partitions": "2"})
    sizes = [int(float(one)) for one in sys.argv[1:]] or [3_000, 30_000, 300_000]
    figures = {f"{rows} rows": measure(started, rows, 10) for rows in sizes}
    started.stop()
    report("stream", **figures)
