"""Rows that are few and large, on their way through Spark: a file or a piece of a table each.

A file may travel as its bytes, or as its path: then the task opens it where it lies, and only the
columns that it asks for are ever read.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ropewalk.errors import UsageError

Batches = Iterator[pa.RecordBatch]

MAGIC = b"PAR1"
"""How every Parquet file begins, and no path."""
BETWEEN = "\n"
"""Between paths that travel together."""


def rows(batches: Batches) -> Iterator[tuple[Any, ...]]:
    """The rows of batches one at a time; bytes are views that are not copied."""
    for batch in batches:
        for at in range(batch.num_rows):
            yield tuple(
                one[at].as_buffer() if pa.types.is_binary(one.type) else one[at].as_py()
                for one in batch.columns
            )


def one_by_one(content: pa.Buffer | bytes) -> Iterator[pa.Buffer | bytes]:
    """A row's files as rows of their own."""
    if memoryview(content)[: len(MAGIC)].tobytes() == MAGIC:
        yield content
    else:
        yield from bytes(content).split(BETWEEN.encode())


def parquet_files(content: pa.Buffer | bytes) -> Iterator[pq.ParquetFile]:
    """The files that a row stands for: one by its bytes, or some by their paths."""
    for one in one_by_one(content):
        if memoryview(one)[: len(MAGIC)].tobytes() == MAGIC:
            yield pq.ParquetFile(pa.BufferReader(one))
            continue
        path = one.decode()
        try:
            file = pq.ParquetFile(path, memory_map=True)
        except (pa.ArrowException, OSError) as error:
            why = str(error).splitlines()[0]
            raise UsageError(
                f"{path}: cannot be read ({why}): remove the store and ingest its traces anew"
            ) from None
        with file:
            yield file


def batch(schema: pa.Schema, row: Sequence[object]) -> pa.RecordBatch:
    """A batch of one row."""
    values = [one.to_pybytes() if isinstance(one, pa.Buffer) else one for one in row]
    columns = [pa.array([value], one.type) for value, one in zip(values, schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
