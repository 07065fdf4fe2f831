"""Which rows of a file may be let in, and why others may not."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ropewalk.federation.topics import is_pattern
from ropewalk.pipeline.ingest.naming import Mask, Names, names_of
from ropewalk.pipeline.ingest.reading import Bad, Parsed
from ropewalk.trace.columns import ALWAYS, COLUMNS, KIND, NEEDS

LATEST_NS = 2**61
"""Sums and differences of smaller times never overflow."""
NOT_NEGATIVE = ("clock_err_ns", "li", "incarnation")


@dataclass(frozen=True, slots=True, eq=False)
class Checked:
    """Good rows: their columns but names, their names, their lines; and all bad ones."""

    table: pa.Table
    names: dict[str, Names]
    lines: npt.NDArray[np.int64]
    bad: list[Bad]

    @property
    def seen(self) -> int:
        """How many rows the file has, good or bad."""
        return len(self.lines) + len(self.bad)


def checked(parsed: Parsed) -> Checked:
    """The good rows of a file, and its bad ones with all others that cannot be let in."""
    table, lines = parsed.table, parsed.lines.to_numpy(zero_copy_only=False)
    for name, column in COLUMNS.items():
        if name not in table.column_names:
            table = table.append_column(name, pa.nulls(len(table), column.type))
    texts = [name for name, column in COLUMNS.items() if column.is_name]
    names = {name: names_of(table[name]) for name in texts}
    table = table.drop_columns(texts)
    good = np.ones(len(table), np.bool_)
    bad = list(parsed.bad)
    for wrong, reason in _faults(table, names):
        bad += [
            Bad(int(lines[at]), _filled_in(reason, names, at))
            for at in np.flatnonzero(good & wrong).tolist()
        ]
        good &= ~wrong
    if not good.all():
        table, lines = table.filter(pa.array(good)), lines[good]
        names = {name: one.chosen(good) for name, one in names.items()}
    return Checked(table, {name: one.in_use() for name, one in names.items()}, lines, bad)


def _faults(table: pa.Table, names: dict[str, Names]) -> Iterator[tuple[Mask, str]]:
    """Rows with a fault, and what it is; the first that a row has is told."""

    @cache
    def missing(name: str) -> Mask:
        return names[name].missing if name in names else _nulls(table[name])

    for name in ALWAYS:
        yield missing(name), f"no {name}"
    kind = names["kind"].mapped(lambda name: KIND.get(name, -1), -1, np.int8)
    yield kind < 0, "unknown kind {kind!r}"
    for name, needed in NEEDS.items():
        of_kind = kind == KIND[name]
        if of_kind.any():
            for column in needed:
                yield of_kind & missing(column), f"{name} without {column}"
    ts = _numbers(table["ts_ns"])
    yield (ts < 0) | (ts >= LATEST_NS), "ts_ns is no time in nanoseconds since 1970"
    for name in NOT_NEGATIVE:
        yield _numbers(table[name]) < 0, f"{name} is negative"
    yield _numbers(table["clock_err_ns"]) >= LATEST_NS, "clock_err_ns is too large"
    of_message = (kind >= KIND["publish"]) & (kind <= KIND["drop"])
    pattern = names["topic"].mapped(is_pattern, False, np.bool_)
    yield of_message & pattern, "a message on the pattern {topic!r}"


def _filled_in(reason: str, names: dict[str, Names], at: int) -> str:
    if "{" not in reason:
        return reason
    return reason.format(**{name: names[name].at(at) for name in ("kind", "topic")})


def _nulls(column: pa.ChunkedArray) -> Mask:
    if not column.null_count:
        return np.zeros(len(column), np.bool_)
    return np.asarray(column.is_null().to_numpy(), np.bool_)


def _numbers(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    column = column.fill_null(0) if column.null_count else column
    found: npt.NDArray[np.int64] = column.to_numpy()
    return found
