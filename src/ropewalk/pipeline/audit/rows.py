"""The stored rows of a bucket as arrays, in the order (topic, node, incarnation, li)."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ropewalk.pipeline.audit.coding import Longs
from ropewalk.pipeline.batches import one_by_one, parquet_files
from ropewalk.trace.columns import KIND

PUBLISH, ACCEPTED = KIND["publish"], KIND["accepted"]
ENQUEUE, DELIVER, ACK = KIND["enqueue"], KIND["deliver"], KIND["ack"]

SORTED = ("topic", "node", "incarnation", "li")
COLUMNS = (
    *SORTED,
    "ts_ns",
    "clock_err_ns",
    "kind",
    "client",
    "producer",
    "pseq",
    "redelivered",
    "priority",
    "rank",
    "conversation",
    "label",
)
NO_RANK = np.iinfo(np.int64).min
NARROW = {"kind": np.int8, "redelivered": np.bool_, "priority": np.int32}
"""Types of columns that are not 64-bit numbers."""

Bytes = npt.NDArray[np.int8]


class Rows(NamedTuple):
    """Columns of a bucket; a missing id or number is 0, a missing rank is NO_RANK."""

    topic: Longs
    node: Longs
    incarnation: Longs
    li: Longs
    ts_ns: Longs
    clock_err_ns: Longs
    kind: Bytes
    client: Longs
    producer: Longs
    pseq: Longs
    redelivered: npt.NDArray[np.bool_]
    priority: npt.NDArray[np.int32]
    rank: Longs
    conversation: Longs
    label: Longs


def read(contents: Iterable[bytes], columns: Sequence[str] = COLUMNS) -> Rows:
    """The rows of a bucket from the bytes of its files; columns not asked for are empty.

    Each file is in order; of several, rows are brought into one order and repeated ones dropped.
    """
    files = [file for one in contents for file in one_by_one(one)]
    if len(files) > 1:
        columns = [*SORTED, *(one for one in columns if one not in SORTED)]
    tables = [_decoded(file, columns) for one in files for file in parquet_files(one)]
    return _rows(_merged(pa.concat_tables(tables)) if len(files) > 1 else tables[0])


def starts(*columns: Longs) -> Longs:
    """Where runs of equal values begin, and the number of rows.

    >>> starts(np.array([4, 4, 9])).tolist(), starts(np.array([], np.int64)).tolist()
    ([0, 2, 3], [0])
    """
    size = len(columns[0])
    if not size:
        return np.zeros(1, np.int64)
    new = np.zeros(size - 1, np.bool_)
    for column in columns:
        new |= column[1:] != column[:-1]
    return np.concatenate(([0], np.flatnonzero(new) + 1, [size])).astype(np.int64)


def _decoded(file: pq.ParquetFile, columns: Sequence[str]) -> pa.Table:
    # `read_table` goes through the dataset layer, which takes almost three times as long.
    return file.read(columns=list(columns), use_threads=False)


def _merged(table: pa.Table) -> pa.Table:
    keys = [table[name].to_numpy() for name in SORTED]
    order = np.lexsort(keys[::-1])
    first = np.ones(len(order), np.bool_)
    first[1:] = False
    for key in keys:
        placed = key[order]
        first[1:] |= placed[1:] != placed[:-1]
    return table.take(pa.array(order[first]))


def _rows(table: pa.Table) -> Rows:
    columns: list[Any] = [_column(table, name) for name in Rows._fields]
    return Rows(*columns)


def _column(table: pa.Table, name: str) -> npt.NDArray[np.generic]:
    """A column as it lies in memory, if it can be; always read-only: one type for all kernels."""
    if name not in table.column_names:
        found: npt.NDArray[Any] = np.zeros(0, NARROW.get(name, np.int64))
    else:
        chunks = table[name]
        column = chunks.chunk(0) if chunks.num_chunks == 1 else chunks.combine_chunks()
        if column.null_count:
            column = pc.fill_null(column, NO_RANK if name == "rank" else _absent(column.type))
        bits = pa.types.is_boolean(column.type)
        found = column.to_numpy(zero_copy_only=not bits)
    found.flags.writeable = False
    return found


def _absent(type: pa.DataType) -> int | bool:
    return False if pa.types.is_boolean(type) else 0
