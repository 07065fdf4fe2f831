"""A trace file as a table: JSON lines, also compressed, and Parquet. What cannot be read is told.

A block of lines that does not parse is halved until the bad lines stand alone: good traces are
parsed at full speed, and a bad line costs a few parses of its block.
"""

import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.json as pj
import pyarrow.parquet as pq

from ropewalk.trace.columns import COLUMNS, written_schema

BLOCK = 4 << 20
SHOWN = 200
"""How much of a bad line is kept."""

PARSE = pj.ParseOptions(
    explicit_schema=written_schema(), unexpected_field_behavior="infer", newlines_in_values=False
)
SUFFIXES = (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz", ".parquet")
"""Names of files that are traces."""


def is_trace(path: Path) -> bool:
    """Whether a file is a trace by its name; hidden and unfinished ones are not."""
    return path.name.lower().endswith(SUFFIXES) and not path.name.startswith((".", "_"))


@dataclass(frozen=True, slots=True)
class Bad:
    """A line, or a row of a Parquet file (counted from 1; 0: the file), that is not let in."""

    line: int
    reason: str
    text: str = ""


@dataclass(slots=True)
class Parsed:
    """What a file holds: rows with the numbers of their lines, and what could not be read."""

    table: pa.Table
    lines: pa.Array
    bad: list[Bad] = field(default_factory=list)

    @property
    def seen(self) -> int:
        """How many rows the file has, good or bad; a file that breaks off counts one for that."""
        return len(self.lines) + len(self.bad)


def parsed(path: str, content: bytes) -> Parsed:
    """Read a trace file from its bytes; the name tells how."""
    name = path.lower()
    if name.endswith(".parquet"):
        return _parquet(content)
    bad: list[Bad] = []
    if name.endswith(".gz"):
        content, broken = _unzipped(content)
        if broken:
            bad.append(Bad(content.count(b"\n") + 1, broken))
            content = content[: content.rfind(b"\n") + 1]  # what breaks off is no line
    found = _json_lines(content)
    return Parsed(found.table, found.lines, [*found.bad, *bad])


def _unzipped(content: bytes) -> tuple[bytes, str]:
    """What a gzip file holds as far as it can be read, and why no further."""
    parts: list[bytes] = []
    while content:
        engine = zlib.decompressobj(wbits=31)
        try:
            parts.append(engine.decompress(content))
        except zlib.error as error:
            return b"".join(parts), f"gzip data is damaged here: {error}"
        if not engine.eof:
            return b"".join(parts), "gzip data breaks off here"
        content = engine.unused_data
    return b"".join(parts), ""


def _json_lines(content: bytes) -> Parsed:
    tables: list[pa.Table] = []
    numbers: list[int] = []
    bad: list[Bad] = []
    for first, block in _blocks(content):
        lines = block.split(b"\n")
        for start, stop, table in _attempts(lines, 0, len(lines)):
            if table is None:
                bad.append(_bad_line(first + start, lines[start]))
            else:
                tables.append(table)
                numbers += [first + at for at in range(start, stop) if lines[at].strip()]
    return Parsed(_together(tables), pa.array(numbers, pa.int64()), bad)


def _blocks(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Whole lines, some megabytes at a time, with the number of the first."""
    at, line = 0, 1
    while at < len(content):
        end = content.find(b"\n", at + BLOCK)
        end = len(content) if end < 0 else end
        block = content[at:end]
        yield line, block
        line += block.count(b"\n") + 1
        at = end + 1


def _attempts(lines: list[bytes], start: int, stop: int) -> Iterator[tuple[int, int, pa.Table]]:
    """Runs of lines with their rows, or None for a single line that is bad."""
    rows = sum(1 for line in lines[start:stop] if line.strip())
    if rows == 0:
        return
    try:
        block = b"\n".join(lines[start:stop])
        table = pj.read_json(pa.BufferReader(block), pj.ReadOptions(False, len(block) + 1), PARSE)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        table = None
    if table is not None and len(table) == rows:
        yield start, stop, table
    elif stop - start == 1:
        yield start, stop, None
    else:
        middle = (start + stop) // 2
        yield from _attempts(lines, start, middle)
        yield from _attempts(lines, middle, stop)


def _bad_line(number: int, line: bytes) -> Bad:
    """Why a line is bad, as a person would say it."""
    text = line[:SHOWN].decode("utf-8", "replace")
    try:
        value = json.loads(line)
    except UnicodeDecodeError:
        return Bad(number, "not UTF-8", text)
    except (ValueError, RecursionError):
        return Bad(number, "not JSON", text)
    if not isinstance(value, dict):
        return Bad(number, "not an object", text)
    for name, one in value.items():
        if name in COLUMNS and not _fits(name, one):
            wanted = "text" if COLUMNS[name].is_name else str(COLUMNS[name].type)
            return Bad(number, f"{name} is not {wanted}", text)
    return Bad(number, "not a row", text)


def _fits(name: str, value: object) -> bool:
    """Whether a value of JSON is what a column holds."""
    type = COLUMNS[name].type
    if value is None:
        return True
    if isinstance(value, bool) or pa.types.is_boolean(type):
        return isinstance(value, bool) and bool(pa.types.is_boolean(type))
    if pa.types.is_string(type):
        return isinstance(value, str)
    if pa.types.is_floating(type):
        return isinstance(value, int | float)
    return isinstance(value, int) and -(2 ** (type.bit_width - 1)) <= value < 2 ** (
        type.bit_width - 1
    )


def _parquet(content: bytes) -> Parsed:
    try:
        file = pq.ParquetFile(pa.BufferReader(content))
        table = file.read(use_threads=False)
    except (pa.ArrowException, OSError) as error:
        return _refused(f"not a readable Parquet file: {str(error).splitlines()[0]}")
    for name in table.column_names:
        if name in COLUMNS:
            try:
                column = _cast(table[name], COLUMNS[name].type)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                wanted = "text" if COLUMNS[name].is_name else str(COLUMNS[name].type)
                return _refused(f"column {name} has type {table[name].type}, not {wanted}")
            table = table.set_column(table.column_names.index(name), name, column)
    return Parsed(table, pa.array(np.arange(1, len(table) + 1)))


def _cast(column: pa.ChunkedArray, type: pa.DataType) -> pa.ChunkedArray:
    """A column as traces have it; names may stay in a dictionary."""
    if pa.types.is_dictionary(column.type) and pa.types.is_string(type):
        return column.cast(pa.dictionary(pa.int32(), pa.string()))
    return column.cast(type)


def _refused(reason: str) -> Parsed:
    return Parsed(written_schema().empty_table(), pa.array([], pa.int64()), [Bad(0, reason)])


def _together(tables: list[pa.Table]) -> pa.Table:
    """Tables of blocks as one; a column that differs in type from block to block becomes text."""
    if not tables:
        return written_schema().empty_table()
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.concat_tables([_texts(one) for one in tables], promote_options="permissive")


def _texts(table: pa.Table) -> pa.Table:
    for at, name in enumerate(table.column_names):
        if name not in COLUMNS:
            table = table.set_column(at, name, as_text(table[name]))
    return table


def as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of any type as text; what has parts as JSON."""
    try:
        return column.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        values = [None if one is None else json.dumps(one) for one in column.to_pylist()]
        return pa.chunked_array([pa.array(values, pa.string())])
