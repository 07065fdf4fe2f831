"""Rows that are few and large, on their way through Spark: a file or a piece of a table each."""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

Batches = Iterator[pa.RecordBatch]


def rows(batches: Batches) -> Iterator[tuple[Any, ...]]:
    """The rows of batches one at a time; bytes are views that are not copied."""
    for batch in batches:
        for at in range(batch.num_rows):
            yield tuple(
                one[at].as_buffer() if pa.types.is_binary(one.type) else one[at].as_py()
                for one in batch.columns
            )


def batch(schema: pa.Schema, row: Sequence[object]) -> pa.RecordBatch:
    """A batch of one row."""
    values = [one.to_pybytes() if isinstance(one, pa.Buffer) else one for one in row]
    columns = [pa.array([value], one.type) for value, one in zip(values, schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
