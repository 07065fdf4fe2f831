"""The journal of a trace: what an agent's loop appends, and how it becomes rows.

A segment is two files. `.text` has lines of JSON, numbered from 0: the head, names, groups of
clients, and whole rows of the rare kinds. `.rows` has 64-bit numbers: blocks of one head and
`WIDTH` numbers for each letter, where a name is the number of its line. So the loop appends
numbers, and rows are made from them by arrays. A segment stands by itself. Lines are written before
the blocks that name them; what is written together is sealed, and what is not is passed over.
"""

import os
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ropewalk.trace.columns import COLUMNS, KIND, KINDS

Longs = npt.NDArray[np.int64]

MARK = 0x52_57_00_00
"""Begins each block; the kind is added to it."""
SEAL = MARK - 1
"""Followed by the checksum of all that was written together."""
HEAD = 8
"""Numbers of a block's head: kind, letters, ts_ns, clock_err_ns, epoch, first li, rows, line of
what only some letters have."""
WIDTH = 7
"""Numbers of a letter: topic, origin, incarnation, number, bytes, priority, and who: a group of
clients, a client, or a link, by kind."""
LINE = KIND["sample"]
"""The kind of a block without letters: its line is a row."""
TEXTS = pa.dictionary(pa.int32(), pa.string())
NO_LINE = 0

ROWS, TEXT = ".rows", ".text"


class Head(msgspec.Struct, frozen=True):
    """The first line of a segment."""

    node: str
    incarnation: int
    brokers: tuple[str, ...]


class Extras(msgspec.Struct, frozen=True, omit_defaults=True):
    """What only some letters have, one of each for every letter of a block."""

    event_id: list[str | None] = []
    rank: list[int | None] = []


class Names(dict[Any, int]):
    """Names and groups by the number of their line; new ones get a line."""

    def __init__(self, head: Head) -> None:
        super().__init__({"": NO_LINE})
        self.lines = [msgspec.json.encode(head)]
        """Lines that are not written yet."""
        self.count = 1

    def __missing__(self, name: Any) -> int:
        self[name] = number = self.line(name)
        return number

    def line(self, value: Any) -> int:
        """Add a line and tell its number."""
        self.lines.append(msgspec.json.encode(value))
        self.count += 1
        return self.count - 1

    def group(self, names: Sequence[str]) -> int:
        """Add a line with several names."""
        return self.line([self[one] for one in names])

    def taken(self) -> bytes:
        """The new lines, to be written."""
        lines, self.lines = self.lines, []
        return b"\n".join([*lines, b""])


class Segment:
    """A segment that is being written; raises OSError where it cannot be."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        self._text = os.open(path.with_name(path.name + TEXT), flags, 0o640)
        try:
            self._rows = os.open(path.with_name(path.name + ROWS), flags, 0o640)
        except OSError:
            os.close(self._text)
            path.with_name(path.name + TEXT).unlink(missing_ok=True)
            raise

    def append(self, names: Names, numbers: list[int]) -> None:
        """Give lines and blocks to the operating system: a crash of this process is survived."""
        if names.lines:
            _write(self._text, names.taken())
        blocks = array("q", numbers)
        blocks.extend((SEAL, crc32(blocks)))
        _write(self._rows, memoryview(blocks).cast("B"))
        self.size += len(blocks) * blocks.itemsize

    def close(self) -> None:
        """Nothing more comes."""
        os.close(self._text)
        os.close(self._rows)


def _write(file: int, content: bytes | memoryview) -> None:
    if os.write(file, content) != len(content):
        raise OSError("no room for all of it")


class _Blocks(NamedTuple):
    """The blocks of a segment: heads, letters, and lines that are rows."""

    heads: Longs
    letters: Longs
    lines: list[list[int]]


def _starts(numbers: memoryview) -> tuple[list[int], list[int]]:
    """Where sealed blocks begin, and their seals."""
    starts: list[int] = []
    seals: list[int] = []
    at, begin, count, size = 0, 0, 0, len(numbers)
    while at + 2 <= size:
        mark, value = numbers[at : at + 2]
        if mark == SEAL and crc32(numbers[begin:at]) == value:
            seals.append(at)
            at = begin = at + 2
            count = len(starts)
        elif 0 <= mark - MARK < len(KINDS) and value >= 0:
            starts.append(at)
            at += HEAD + value * WIDTH
        else:
            break
    return starts[:count], seals


def _blocks(content: bytes) -> _Blocks:
    """The blocks of a segment."""
    numbers = memoryview(content)[: len(content) // 8 * 8].cast("q")
    starts, seals = (np.array(one, np.int64) for one in _starts(numbers))
    whole = np.frombuffer(content, np.int64, int(seals[-1]) + 2 if len(seals) else 0)
    places = np.add.outer(starts, np.arange(HEAD))
    heads = whole[places]
    heads[:, 0] -= MARK
    of_letters = np.ones(len(whole), np.bool_)
    of_letters[places] = of_letters[seals] = of_letters[seals + 1] = False
    letters = whole[of_letters].reshape(-1, WIDTH)
    lines = heads[:, 0] == LINE
    return _Blocks(heads[~lines], letters, heads[lines].tolist())


def table_of(rows: bytes, text: bytes) -> pa.Table | None:
    """The rows of a segment; None if it has none."""
    lines = text.split(b"\n")[:-1]
    if not lines:
        return None
    head = msgspec.json.decode(lines[0], type=Head)
    blocks = _blocks(rows)
    tables = []
    if len(blocks.letters):
        tables.append(_messages(blocks, lines, head))
    if blocks.lines:
        tables.append(_others(blocks.lines, lines, head))
    if not tables:
        return None
    return pa.concat_tables(tables, promote_options="default").unify_dictionaries()


def _others(found: Sequence[Sequence[int]], lines: Sequence[bytes], head: Head) -> pa.Table:
    """Rows that are lines."""
    rows = []
    for _, _, ts_ns, clock_err_ns, epoch, li, _, line in found:
        if line < len(lines):
            stamp = {"ts_ns": ts_ns, "clock_err_ns": clock_err_ns, "epoch": epoch, "li": li}
            whose = {"node": head.node, "incarnation": head.incarnation}
            rows.append(stamp | whose | msgspec.json.decode(lines[line]))
    columns = dict.fromkeys(name for row in rows for name in row)
    types = {name: COLUMNS[name].type if name in COLUMNS else pa.string() for name in columns}
    schema = pa.schema([(n, TEXTS if t == pa.string() else t) for n, t in types.items()])
    return pa.Table.from_pylist(rows, schema)


def _messages(blocks: _Blocks, lines: Sequence[bytes], head: Head) -> pa.Table:
    """Rows about letters: one for each, and of deliveries one for each client."""
    heads, letters = blocks.heads, blocks.letters
    kind = np.repeat(heads[:, 0], heads[:, 1])
    who, groups = letters[:, 6], kind == KIND["deliver"]
    sizes, members = _members(who, groups, lines)
    place = np.repeat(np.arange(len(letters)), sizes)
    block = np.repeat(np.arange(len(heads)), heads[:, 1])[place]
    starts = np.concatenate(([0], np.cumsum(heads[:, 6])))[:-1]
    topic, _, _, number, size, priority, _ = letters[place].T
    kinds, links = kind[place], kind[place] == KIND["forward"]
    columns: dict[str, Any] = {
        "ts_ns": heads[block, 2],
        "clock_err_ns": heads[block, 3],
        "node": _same(head.node, len(place)),
        "incarnation": np.full(len(place), head.incarnation),
        "epoch": heads[block, 4],
        "li": heads[block, 5] + np.arange(len(place)) - starts[block],
        "kind": pa.DictionaryArray.from_arrays(kinds.astype(np.int32), pa.array(KINDS)),
        "topic": _named(topic, lines),
        "client": _named(np.where(links, NO_LINE, members), lines),
        "producer": _producers(letters, head.brokers).take(place),
        "pseq": number,
        "size_bytes": size,
    }
    if priority.any():
        columns["priority"] = priority.astype(np.int32)
    if links.any():
        columns["link"] = _named(np.where(links, members, NO_LINE), lines)
    if heads[:, 7].any():
        columns |= _extras(heads, place, lines)
    table = pa.table(columns)
    torn = pc.is_null(table["topic"])
    return table.filter(pc.invert(torn)) if table["topic"].null_count else table


def _members(who: Longs, groups: npt.NDArray[np.bool_], lines: Sequence[bytes]) -> tuple[Any, Any]:
    """How many rows each letter makes, and the line of the client (or link) of each row."""
    used = np.unique(who[groups]) if groups.any() else np.zeros(0, np.int64)
    some = [msgspec.json.decode(lines[one]) if one < len(lines) else [] for one in used.tolist()]
    length = np.ones(len(lines) + 1, np.int64)
    first = np.zeros(len(lines) + 1, np.int64)
    counts = np.array([len(one) for one in some], np.int64)
    known = np.minimum(used, len(lines))
    length[known], first[known] = counts, np.concatenate(([0], np.cumsum(counts)))[:-1]
    flat = np.array([0, *(client for one in some for client in one)], np.int64)
    place = np.minimum(who, len(lines))
    sizes = np.where(groups, length[place], 1)
    within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    grouped = np.repeat(groups, sizes)
    at = np.repeat(first[place], sizes) + within + 1
    return sizes, np.where(grouped, flat[np.where(grouped, at, 0)], np.repeat(who, sizes))


def _same(name: str, count: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(np.zeros(count, np.int32), pa.array([name]))


def _named(ids: Longs, lines: Sequence[bytes]) -> pa.DictionaryArray:
    """Numbers of lines as the names there; none where there is no such line."""
    known = (ids > NO_LINE) & (ids < len(lines))
    safe = np.where(known, ids, 0)
    used = np.zeros(len(lines), np.bool_)
    used[safe] = True
    used[0] = False
    codes = (np.cumsum(used) - 1).astype(np.int32)[safe]
    names = [msgspec.json.decode(lines[one], type=str) for one in np.flatnonzero(used).tolist()]
    return pa.DictionaryArray.from_arrays(
        pa.array(codes, mask=None if known.all() else ~known), pa.array(names, pa.string())
    )


def _producers(letters: Longs, brokers: Sequence[str]) -> pa.DictionaryArray:
    """The streams that letters belong to: an origin, and the life in which it took them."""
    lives = pa.array(letters[:, 2]).dictionary_encode()
    wide = int(letters[:, 1].max()) + 1
    key = lives.indices.to_numpy() * np.int64(wide) + letters[:, 1]
    used = np.zeros(len(lives.dictionary) * wide, np.bool_)
    used[key] = True
    codes = (np.cumsum(used) - 1).astype(np.int32)[key]
    incarnations = lives.dictionary.to_pylist()
    names = [
        producer(brokers, one % wide, incarnations[one // wide])
        for one in np.flatnonzero(used).tolist()
    ]
    return pa.DictionaryArray.from_arrays(codes, pa.array(names, pa.string()))


def producer(brokers: Sequence[str], origin: int, incarnation: int) -> str:
    """The stream of an origin in one of its lives: numbers begin again in each.

    >>> producer(["lon", "par"], 1, 7)
    'par~7'
    """
    name = brokers[origin] if origin < len(brokers) else f"#{origin}"
    return f"{name}~{incarnation}"


def _extras(heads: Longs, place: Longs, lines: Sequence[bytes]) -> dict[str, Any]:
    """Columns of which most letters have nothing."""
    types = {"event_id": pa.string(), "rank": pa.int64()}
    chunks: dict[str, list[pa.Array]] = {name: [] for name in types}
    for count, line in heads[:, [1, 7]].tolist():
        there = NO_LINE < line < len(lines)
        extras = msgspec.json.decode(lines[line], type=Extras) if there else Extras()
        for name, type in types.items():
            values = getattr(extras, name)
            chunks[name].append(pa.array(values, type) if values else pa.nulls(count, type))
    columns = {name: pa.chunked_array(some).combine_chunks() for name, some in chunks.items()}
    return {name: one.take(place) for name, one in columns.items() if one.null_count < len(one)}
