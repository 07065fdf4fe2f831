"""Messages per topic and window, on Spark: from the files of a store to small tables.

Each task decodes whole files and emits one packed row per row group (`tallies`); packed rows of
one bucket then come together, few and small, and are merged (`merged`). No row of an event ever
crosses between Java and Python. A topic must live in one bucket; a bucket may have many files.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ropewalk.errors import UsageError
from ropewalk.pipeline.batches import Batches, parquet_files
from ropewalk.pipeline.rates.peaks import Peak
from ropewalk.pipeline.rates.tally import NEEDED, RUN, TOPIC, Longs, Merged, Tally, merge, tally

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TALLIES = "bucket int, runs binary, windows binary, taken binary, clients binary"
MERGED = "figures binary, windows binary, messages binary"
COUNTS = "topic long, window long, messages long"
TOPICS = ", ".join(f"{name} long" for name in TOPIC[:-1])
LOADS = "window long, messages long"

BATCH_ROWS = 1 << 20

MERGE_TASKS = 2
"""Tasks that merge: Spark's own number, 200 as it comes, would be kept with what is persisted and
start as many tasks for little work, at every use."""


def tallies(files: "DataFrame", window_ns: int) -> "DataFrame":
    """Packed tallies (TALLIES), one row per row group."""

    def run(batches: Batches) -> Batches:
        for batch in batches:
            buckets, contents = batch.column("bucket"), batch.column("content")
            for bucket, content in zip(buckets, contents, strict=True):
                for one in _tallies_of(content.as_buffer(), window_ns):
                    yield _row(bucket.as_py(), one)

    return files.mapInArrow(run, TALLIES)


def merged(files: "DataFrame", window_ns: int, tasks: int = MERGE_TASKS) -> "DataFrame":
    """Packed counts (MERGED) in which every topic is in one row."""

    def run(batches: Batches) -> Batches:
        found = [
            Tally(
                _longs(row["runs"]).reshape(-1, len(RUN)),
                _longs(row["windows"]),
                np.frombuffer(row["taken"], np.uint32).reshape(-1, 2),
                _longs(row["clients"]),
            )
            for batch in batches
            for row in batch.to_pylist()
        ]
        if found:
            yield _packed(merge(found))

    return tallies(files, window_ns).repartition(tasks, "bucket").mapInArrow(run, MERGED)


def counts(files: "DataFrame", window_ns: int) -> "DataFrame":
    """Messages per topic and window (COUNTS), only where there are any.

    A window is `ts_ns // window_ns`.
    """
    return counts_in(merged(files, window_ns))


def counts_in(packed: "DataFrame") -> "DataFrame":
    """COUNTS of MERGED."""

    def run(batches: Batches) -> Batches:
        for one in _merged_in(batches):
            topics = np.repeat(one.figures[:, 0], one.figures[:, TOPIC.index("cells")])
            table = pa.table({"topic": topics, "window": one.windows, "messages": one.messages})
            yield from table.to_batches(BATCH_ROWS)

    return packed.mapInArrow(run, COUNTS)


def topics(files: "DataFrame", window_ns: int = 1_000_000_000) -> "DataFrame":
    """The figures of every topic (TOPICS)."""
    return topics_in(merged(files, window_ns))


def topics_in(packed: "DataFrame") -> "DataFrame":
    """TOPICS of MERGED."""

    def run(batches: Batches) -> Batches:
        for one in _merged_in(batches):
            columns = dict(zip(TOPIC[:-1], one.figures.T, strict=False))
            yield from pa.table(columns).to_batches(BATCH_ROWS)

    return packed.mapInArrow(run, TOPICS)


def loads_in(packed: "DataFrame") -> "DataFrame":
    """Messages of all topics per window (LOADS), of MERGED."""

    def run(batches: Batches) -> Batches:
        for one in _merged_in(batches):
            windows, places = np.unique(one.windows, return_inverse=True)
            sums = np.zeros(len(windows), np.int64)
            np.add.at(sums, places, one.messages)
            table = pa.table({"window": windows, "messages": sums})
            yield from table.to_batches(BATCH_ROWS)

    return (
        packed.mapInArrow(run, LOADS)
        .groupBy("window")
        .sum("messages")
        .toDF("window", "messages")
        .orderBy("window")
    )


def cells_in(packed: "DataFrame", peak: Peak) -> "DataFrame":
    """MERGED of the windows of a peak only."""

    def run(batches: Batches) -> Batches:
        for one in _merged_in(batches):
            inside = peak.holds(one.windows)
            cells = TOPIC.index("cells")
            owner = np.repeat(np.arange(len(one.figures)), one.figures[:, cells])
            figures = one.figures.copy()
            figures[:, cells] = np.bincount(owner[inside], minlength=len(figures))
            yield _packed(Merged(figures, one.windows[inside], one.messages[inside]))

    return packed.mapInArrow(run, MERGED)


def collected(packed: "DataFrame") -> Merged:
    """MERGED on the driver, as one; raises UsageError if a topic is there twice."""
    parts = list(_merged_in(iter(packed.toArrow().to_batches())))
    if not parts:
        return merge([])
    figures = np.concatenate([one.figures for one in parts])
    known, times = np.unique(figures[:, 0], return_counts=True)
    if (times > 1).any():
        raise UsageError(
            f"topic {known[times > 1][0]} is in several buckets: ingest the trace again, so that "
            "every topic is in one"
        )
    return Merged(
        figures,
        np.concatenate([one.windows for one in parts]),
        np.concatenate([one.messages for one in parts]),
    )


def _tallies_of(content: pa.Buffer, window_ns: int) -> Iterator[Tally]:
    """A tally of each row group: memory is bounded by the largest."""
    for file in parquet_files(content):
        for group in range(file.num_row_groups):
            table = file.read_row_group(group, columns=list(NEEDED), use_threads=False)
            if len(table):
                yield tally(table, window_ns)


def _row(bucket: int, one: Tally) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [
            pa.array([bucket], pa.int32()),
            _binary(one.runs),
            _binary(one.windows),
            _binary(one.taken),
            _binary(one.clients),
        ],
        names=["bucket", "runs", "windows", "taken", "clients"],
    )


def _packed(one: Merged) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [_binary(one.figures), _binary(one.windows), _binary(one.messages)],
        names=["figures", "windows", "messages"],
    )


def _merged_in(batches: Batches) -> Iterator[Merged]:
    for batch in batches:
        for row in range(len(batch)):
            figures, windows, messages = (
                _longs(batch.column(name)[row].as_buffer())
                for name in ("figures", "windows", "messages")
            )
            yield Merged(figures.reshape(-1, len(TOPIC)), windows, messages)


def _binary(values: npt.NDArray[np.generic]) -> pa.Array:
    return pa.array([values.tobytes()], pa.binary())


def _longs(data: pa.Buffer | bytes) -> Longs:
    return np.frombuffer(data, np.int64)
