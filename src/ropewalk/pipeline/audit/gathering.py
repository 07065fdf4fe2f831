"""Messages of conversations gathered from all buckets, judged, and what is wrong looked up again.

A task tells what it found as a few rows of bytes (`Told`); pieces of conversations go by part to
whoever judges that part, in a second step of the same job.
"""

import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ropewalk.pipeline.audit import conversations, evidence, protocol
from ropewalk.pipeline.batches import Batches, batch, one_by_one, parquet_files, rows
from ropewalk.pipeline.ingest.packing import as_bytes, from_bytes
from ropewalk.pipeline.store import Store, Stored, contents

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TOLD = "part int, what string, content binary"
ARROW_TOLD = pa.schema([("part", pa.int32()), ("what", pa.string()), ("content", pa.binary())])
PARTS = 64
"""Into how many parts conversations are cut."""


class Told(NamedTuple):
    """What a task tells: violations, what it could not check, or messages of conversations."""

    part: int
    what: str
    content: bytes


def rows_until(files: Iterable[bytes], until: int | None) -> Iterator[bytes]:
    """Files without rows of a later time; one that has none is passed on as it is."""
    for content in files if until is None else chain.from_iterable(map(one_by_one, files)):
        if until is None:
            yield content
            continue
        for file in parquet_files(content):
            if _latest(file.metadata) <= until:
                yield content
                continue
            table = file.read(use_threads=False)
            table = table.filter(pc.less_equal(table["ts_ns"], until))
            if len(table):
                sink = io.BytesIO()
                pq.write_table(table, sink, compression="none", use_dictionary=False)
                yield sink.getvalue()


def _latest(file: pq.FileMetaData) -> int:
    """The latest time in a file, by its own statistics."""
    column = file.schema.names.index("ts_ns")
    groups = [file.row_group(at).column(column) for at in range(file.num_row_groups)]
    return max((one.statistics.max for one in groups), default=0)


def gathered(told: "DataFrame", tables: protocol.Tables, nodes: protocol.Nodes) -> "DataFrame":
    """Conversations gathered and judged; all else as it was told."""

    def run(batches: Batches) -> Batches:
        for (part, what), group in groupby(rows(batches), lambda row: (row[0], row[1])):
            contents = [content for _, _, content in group]
            if what == "conversations":
                found = conversations.judge(contents, tables, nodes)
                yield batch(ARROW_TOLD, (part, "counts", as_bytes(found.counts)))
                if len(found.off):
                    yield batch(ARROW_TOLD, (part, "off", as_bytes(found.off)))
                continue
            for content in contents:
                yield batch(ARROW_TOLD, (part, what, content.to_pybytes()))

    # Without a number Spark chooses as few tasks as the conversations need: mostly one a core.
    together = told.repartition("part").sortWithinPartitions("part", "what")
    return together.mapInArrow(run, TOLD)


def looked_up(
    spark: "SparkSession", store: Store, files: Sequence[Stored], off: pa.Table, until: int | None
) -> pa.Table:
    """Violations of conversations, with rows that only the buckets themselves have."""
    places = evidence.wanted(off)
    if not places:
        return evidence.violations(off, [])

    def run(batches: Batches) -> Batches:
        for number, group in groupby(rows(batches), lambda row: row[0]):
            files = list(rows_until((content for _, content in group), until))
            found = evidence.rows_at(number, files, places[number])
            yield batch(ARROW_TOLD, (number, "rows", as_bytes(found)))

    chosen = contents(spark, store.folder, [one for one in files if one.bucket in places])
    return evidence.violations(off, tables_told(chosen.mapInArrow(run, TOLD).toArrow(), "rows"))


def tables_told(told: pa.Table, what: str) -> Iterator[pa.Table]:
    """Tables of one kind that tasks told."""
    for kind, content in zip(told["what"].to_pylist(), told["content"], strict=True):
        if kind == what:
            yield from_bytes(content.as_buffer())
