"""Rows on their way: cut into pieces by bucket where they are read, put in order where they stay.

A piece is an Arrow table as bytes, so that Spark carries a few large rows and not many small ones.
"""

import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from ropewalk.pipeline.ingest.checking import Checked
from ropewalk.pipeline.ingest.reading import as_text
from ropewalk.trace.columns import COLUMNS, KIND, TABLES, Table, stored_schema

SORTED = ("topic", "node", "incarnation", "li")
KEYS: Mapping[str, Sequence[str]] = MappingProxyType(
    {"events": SORTED, "control": SORTED[1:], "samples": SORTED[1:]}
)
"""By what the rows of a table are in order."""
CONTENT = ("kind", "client", "producer", "pseq", "ts_ns")
"""What two rows with the same place must have in common to be one row seen twice."""
WHENCE = (("source", pa.int32()), ("line", pa.int64()))
"""Where a stored row comes from: the number of its file, and its line."""

NAMES = pa.schema([("id", pa.int64()), ("name", pa.string())])
QUARANTINE = pa.schema(
    [("source", pa.int32()), ("line", pa.int64()), ("reason", pa.string()), ("text", pa.string())]
)
PACKED = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
"""A fifth of the size: what Spark carries, sorts and writes costs more than packing it."""
STATS = b"ropewalk"
"""The key of a file's own figures among its metadata."""

PLAIN = ("li", "ts_ns", "pseq", "line")
"""Columns of numbers that grow: their differences are stored."""

REPEATED = "repeated: the same node, incarnation and li are stored already"
DIFFERENT = "another row has the same node, incarnation and li"


def stored(checked: Checked, source: int) -> dict[Table, pa.Table]:
    """Good rows as the tables of a store, with the file they come from."""
    kind = checked.names["kind"].mapped(lambda name: KIND[name], 0, np.int8)
    columns: dict[str, Any] = {}
    for name, column in COLUMNS.items():
        if name == "kind":
            columns[name] = pa.array(kind)
        elif column.is_name:
            names = checked.names[name]
            columns[name] = pa.array(names.ids()[1], pa.int64(), mask=names.missing)
        elif column.absent is None:
            columns[name] = checked.table[name]
        else:
            absent = pa.scalar(column.absent, pa.int64()).cast(column.type)
            columns[name] = checked.table[name].fill_null(absent)
    columns["source"] = pa.array(np.full(len(kind), source, np.int32))
    columns["line"] = pa.array(checked.lines)
    extras = {name: _plain(checked.table[name]) for name in _extras(checked.table)}
    parts = {
        "control": kind < KIND["publish"],
        "samples": kind == KIND["sample"],
    }
    parts["events"] = ~(parts["control"] | parts["samples"])
    return {
        table: pa.table({name: columns[name] for name in _columns(table)} | extras).filter(
            pa.array(parts[table])
        )
        for table in TABLES
        if parts[table].any()
    }


def _columns(table: Table) -> list[str]:
    return [*stored_schema(table).names, *(name for name, _ in WHENCE)]


def _extras(table: pa.Table) -> list[str]:
    """Columns that its users added; those of ours that hold provenance keep their meaning."""
    ours = {*COLUMNS, *(name for name, _ in WHENCE)}
    return [name for name in table.column_names if name not in ours]


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A user's column as a number, a truth value or text."""
    type = column.type
    if pa.types.is_integer(type):
        return column.cast(pa.int64(), safe=False)
    if pa.types.is_floating(type):
        return column.cast(pa.float64())
    return column if pa.types.is_boolean(type) else as_text(column)


def names_table(checked: Checked, column: str) -> pa.Table:
    """The names of good rows in a column, with their ids."""
    names = checked.names[column]
    used = pa.array([bool(name) for name in names.names], pa.bool_())
    return pa.table([names.ids()[0], names.names], schema=NAMES).filter(used)


def quarantine_table(checked: Checked, source: int) -> pa.Table:
    """Every bad row, with why."""
    bad = checked.bad
    return pa.table(
        [
            pa.array([source] * len(bad), pa.int32()),
            pa.array([one.line for one in bad], pa.int64()),
            [one.reason for one in bad],
            [one.text for one in bad],
        ],
        schema=QUARANTINE,
    )


def scattered(table: pa.Table, buckets: int) -> Iterator[tuple[int, bytes]]:
    """The rows of a table in pieces by the bucket of their topic."""
    bucket = table["topic"].to_numpy() & (buckets - 1)
    order = np.argsort(bucket, kind="stable")
    table = table.take(pa.array(order))
    bounds = np.searchsorted(bucket[order], np.arange(buckets + 1))
    for number in range(buckets):
        low, high = int(bounds[number]), int(bounds[number + 1])
        if low < high:
            yield number, as_bytes(table.slice(low, high - low))


def as_bytes(table: pa.Table) -> bytes:
    """A table as Arrow writes it to a stream, without columns that are null throughout."""
    table = table.select([name for name in table.column_names if _has_values(table[name])])
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema, options=PACKED) as stream:
        stream.write_table(table.combine_chunks())
    return sink.getvalue()


def _has_values(column: pa.ChunkedArray) -> bool:
    return bool(column.null_count < len(column))


def from_bytes(content: bytes) -> pa.Table:
    """A table from its bytes."""
    return pa.ipc.open_stream(pa.BufferReader(content)).read_all()


def joined(pieces: Iterable[bytes], table: Table) -> pa.Table:
    """Pieces as one table; a user's column of different types becomes text.

    In the order of files, not of arrival: of rows that repeat each other the same one stays always.
    """
    whole = pa.schema([*stored_schema(table), *WHENCE])
    arrived = sorted(map(from_bytes, pieces), key=lambda one: int(one["source"][0].as_py()))
    tables = [whole.empty_table(), *arrived]
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.concat_tables([_with_texts(one) for one in tables], promote_options="permissive")


def _with_texts(table: pa.Table) -> pa.Table:
    for at, name in enumerate(table.column_names):
        if name not in COLUMNS and name not in dict(WHENCE):
            table = table.set_column(at, name, as_text(table[name]))
    return table


@dataclass(frozen=True, slots=True)
class Ordered:
    """The rows of a bucket in their order, each once, and those that were there already."""

    table: pa.Table
    repeated: pa.Table


def ordered(table: pa.Table, keys: Sequence[str], old: Iterable[pa.Table] = ()) -> Ordered:
    """Put rows in order and take out those that repeat one, of these or of the store's."""
    told = [*keys, *CONTENT]
    everything = pa.concat_tables([one.select(told) for one in (*old, table)])
    before = len(everything) - len(table)
    columns = {name: everything[name].fill_null(0).to_numpy() for name in told}
    order = np.lexsort([columns[name] for name in keys[::-1]])  # stable: what is stored stays
    same = _repeats([columns[name][order] for name in keys])
    new = order >= before
    kept = table.take(pa.array(order[new & ~same] - before))
    if not same.any():
        return Ordered(kept, QUARANTINE.empty_table())
    equal = _repeats([columns[name][order] for name in CONTENT])
    twice = table.take(pa.array(order[new & same & equal] - before))
    clashing = table.take(pa.array(order[new & same & ~equal] - before))
    aside = [quarantined(twice, REPEATED), quarantined(clashing, DIFFERENT)]
    return Ordered(kept, pa.concat_tables(aside))


def _repeats(columns: Sequence[npt.NDArray[np.int64]]) -> npt.NDArray[np.bool_]:
    """Rows that are in all columns what the one before is."""
    same = np.ones(len(columns[0]), np.bool_)
    same[:1] = False
    for column in columns:
        same[1:] &= column[1:] == column[:-1]
    return same


def quarantined(table: pa.Table, reason: str) -> pa.Table:
    """Rows that are put aside although nothing is wrong with them alone."""
    size = len(table)
    return pa.table(
        [table["source"], table["line"], [reason] * size, [""] * size], schema=QUARANTINE
    )


def as_parquet(table: pa.Table, **stats: Any) -> bytes:
    """A file of the store: small, quick to read, with its own figures."""
    table = table.replace_schema_metadata({STATS: json.dumps(stats).encode()})
    sink = io.BytesIO()
    growing = {name: "DELTA_BINARY_PACKED" for name in PLAIN if name in table.column_names}
    pq.write_table(
        table,
        sink,
        compression="lz4",  # zstd is smaller, but reading is what an audit mostly does
        use_dictionary=[name for name in table.column_names if name not in growing],
        column_encoding=growing,
    )
    return sink.getvalue()


def table_file(table: pa.Table) -> bytes:
    """A file of a table, with the rows of each source and of each node."""
    return as_parquet(table, rows=len(table), by_source=_by_source(table), nodes=coverage(table))


def names_file(pieces: Iterable[bytes]) -> bytes:
    """A file of names, each once."""
    names = pa.concat_tables(map(from_bytes, pieces)).group_by(["id", "name"]).aggregate([])
    return as_parquet(names.sort_by("id"), rows=len(names))


def quarantine_file(table: pa.Table) -> bytes:
    """A file of rows that were put aside."""
    return as_parquet(table, rows=len(table), by_source=_by_source(table))


def account(source: int, digest: str, seen: int) -> bytes:
    """What a task says of a file: how it is recognised, and how many rows it has."""
    return json.dumps([source, digest, seen]).encode()


def accounts_file(accounts: Iterable[bytes]) -> bytes:
    """A file with nothing but what was said of the files of a run."""
    return as_parquet(pa.table({}), sources=[json.loads(bytes(one)) for one in accounts])


def digest_of(content: bytes) -> str:
    """By what a file is recognised under any name."""
    return blake2b(content, digest_size=16).hexdigest()


def stats_of(schema: pa.Schema) -> dict[str, Any]:
    """A file's own figures."""
    stats: dict[str, Any] = json.loads((schema.metadata or {}).get(STATS, b"{}"))
    return stats


def _by_source(table: pa.Table) -> list[list[int]]:
    counts = table["source"].value_counts().to_pylist()
    return [[one["values"], one["counts"]] for one in counts]


def coverage(table: pa.Table) -> list[list[int]]:
    """Of each node and incarnation in a table: first and last li, and the latest time."""
    groups = table.group_by(["node", "incarnation"]).aggregate(
        [("li", "min"), ("li", "max"), ("ts_ns", "max")]
    )
    columns = ("node", "incarnation", "li_min", "li_max", "ts_ns_max")
    return [list(row) for row in zip(*(groups[one].to_pylist() for one in columns), strict=True)]
