"""A whole table from a CSV or Parquet file, with every fault of it told by its line.

Two forms: a list (`at, to, next`, and `failure` where a row holds in one failure only), or a
square with a row per broker (`at`) and a column per destination.
"""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ropewalk.errors import InputError, UsageError
from ropewalk.federation.arrays import Ints
from ropewalk.federation.facts import Federation
from ropewalk.federation.names import BrokerPatterns
from ropewalk.findings import Finding, Where
from ropewalk.routing.scenarios import resolve
from ropewalk.routing.table import Special, Table, empty_rows
from ropewalk.routing.trees import NOWHERE

LIST = ("at", "to", "next")
MOST_TOLD = 1000
"""Faults of a table beyond these are not listed."""


def read_table(path: str | Path, federation: Federation) -> Table:
    """A table as the user gives it; raises InputError with a finding per fault."""
    path = Path(path)
    if not path.is_file():
        raise UsageError(f"{path}: there is no such file")
    try:
        columns, lines = _columns(path)
    except (pa.ArrowException, UnicodeDecodeError, csv.Error) as error:
        told = (str(error).splitlines() or ["it is empty"])[0]
        raise InputError([_fault("T001", f"no table can be read from it: {told}", path)]) from None
    if not set(LIST) <= set(columns.column_names):
        columns, lines = _unfolded(columns, lines, path)
    elif again := {"at", "to", "next", "failure"} ^ {"failure", *columns.column_names}:
        raise InputError([_fault("T001", f"column {min(again)!r} is not known here", path, 1)])
    return _Reader(path, federation).table(columns, lines)


def _columns(path: Path) -> tuple[pa.Table, Ints]:
    """Every cell as text, since brokers may be called 01 or True, and the line of every row."""
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        read = pq.read_table(path)
        names = [name.strip() for name in read.column_names]
        cells = [pc.cast(column, pa.string()) for column in read.columns]
        return _named(names, cells, path), np.arange(read.num_rows, dtype=np.int32) + 1
    from pyarrow.csv import ConvertOptions, read_csv

    with path.open(newline="", encoding="utf-8-sig") as file:
        header = next(csv.reader(file), [])
    kinds = ConvertOptions(column_types=dict.fromkeys(header, pa.string()))
    _named([name.strip() for name in header], [], path)
    read = read_csv(path, convert_options=kinds)
    names = [name.strip() for name in header]
    return _named(names, read.columns, path), _line_numbers(path, read.num_rows)


def _named(names: list[str], cells: list[Any], path: Path) -> pa.Table:
    again = [name for i, name in enumerate(names) if name in names[:i]]
    if again or not names:
        what = f"column {again[0]!r} stands twice" if again else "it has no columns"
        raise InputError([_fault("T001", what, path, 1)])
    return pa.table(dict(zip(names, cells, strict=True))) if cells else pa.table({})


def _line_numbers(path: Path, rows: int) -> Ints:
    """The lines of the rows: blank ones are skipped; not known where cells span lines."""
    with path.open(encoding="utf-8-sig") as file:
        lines = [number for number, line in enumerate(file, start=1) if line.strip()][1:]
    return np.array(lines if len(lines) == rows else [0] * rows, np.int32)


def _unfolded(columns: pa.Table, lines: Ints, path: Path) -> tuple[pa.Table, Ints]:
    """The square form as a list."""
    names, rows = columns.column_names, columns.num_rows
    list_like = {"to", "next"} & set(names)
    if names[0] != "at" or rows != len(names) - 1 or list_like or not rows:
        what = f"it has {rows} rows and the columns {', '.join(names[:6])}"
        advice = "write at,to,next, or a square: at, then a column per broker, and a row for each"
        raise InputError([_fault("T001", f"{what}: {advice}", path, 1)])
    to = pa.array(np.repeat(names[1:], rows))
    hops = pa.concat_arrays([columns[name].combine_chunks() for name in names[1:]])
    at = pa.concat_arrays([columns["at"].combine_chunks()] * rows)
    own = pc.equal(at, to)  # the diagonal may hold anything: a message that is there has arrived
    keep = pc.invert(pc.fill_null(own, False)).to_numpy(zero_copy_only=False)
    table = pa.table({"at": at, "to": to, "next": hops}).filter(pa.array(keep))
    return table, np.tile(lines, rows)[keep]


class _Reader:
    """Turns names into numbers, and keeps what is wrong with them."""

    def __init__(self, path: Path, federation: Federation) -> None:
        self.path, self.federation, self.graph = path, federation, federation.graph
        self.faults: list[Finding] = []

    def table(self, entries: pa.Table, lines: Ints) -> Table:
        at, to = (self.numbers(entries[one], one, lines) for one in ("at", "to"))
        hop = self.numbers(entries["next"], "next", lines, empty=("", "-"))
        told = entries["failure"] if "failure" in entries.column_names else None
        failure, names = self.failures(told, lines)
        self.check_hops(at, to, hop, lines)
        self.check_once(at, to, failure, lines)
        if self.faults:
            raise InputError(sorted(self.faults, key=lambda one: one.where.line)[:MOST_TOLD])
        rows = empty_rows(self.graph.brokers)
        rows[:] = NOWHERE
        np.fill_diagonal(rows, np.arange(self.graph.brokers))
        always = failure < 0
        away = always & (at != to)
        rows[to[away], at[away]] = hop[away]
        some = ~always
        special = Special(to[some], at[some], hop[some], failure[some], names, lines[some])
        return Table(self.graph.names, rows, special if some.any() else None, str(self.path))

    def numbers(self, texts: Any, field: str, lines: Ints, empty: tuple[str, ...] = ()) -> Ints:
        texts = pc.utf8_trim_whitespace(pc.fill_null(texts, ""))
        known = pa.array(self.graph.names)
        index = pc.fill_null(pc.index_in(texts, value_set=known), -2)
        found = np.asarray(index).astype(np.int32, copy=True)
        addresses = BrokerPatterns({n: b.address for n, b in self.federation.brokers.items()})
        number = {name: i for i, name in enumerate(self.graph.names)}
        for i in np.flatnonzero(found == -2):
            text = texts[int(i)].as_py()
            named = addresses.match(text) if text and "*" not in text else ()
            if named:
                found[i] = number[named[0]]
            elif text in empty:
                found[i] = NOWHERE
            else:
                self.tell("T002", f"{field}: no broker is called {text!r}", lines[i])
        return found

    def failures(self, texts: Any, lines: Ints) -> tuple[Ints, tuple[str, ...]]:
        if texts is None:
            return np.full(len(lines), -1, np.int32), ()
        number: dict[str, int] = {"": -1}
        found = np.empty(len(lines), np.int32)
        for i, text in enumerate(pc.fill_null(texts, "").to_pylist()):
            text = text.strip()
            if text not in number:
                try:
                    resolve(self.federation, text)
                except UsageError as error:
                    self.tell("T002", str(error), lines[i])
                number[text] = len(number) - 1
            found[i] = number[text]
        return found, tuple(number)[1:]

    def check_hops(self, at: Ints, to: Ints, hop: Ints, lines: Ints) -> None:
        """A next hop is a neighbour."""
        brokers = self.graph.brokers
        tail = np.repeat(np.arange(brokers), np.diff(self.graph.first))
        arcs = tail * np.int64(brokers) + self.graph.neighbour
        asked = at * np.int64(brokers) + hop
        strange = (at >= 0) & (to >= 0) & (hop >= 0) & (at != to) & ~np.isin(asked, arcs)
        for i in np.flatnonzero(strange)[:MOST_TOLD]:
            here, there = self.graph.names[at[i]], self.graph.names[hop[i]]
            what = f"at {here!r} for {self.graph.names[to[i]]!r}: next {there!r} is no neighbour"
            self.tell("T003", what, lines[i])

    def check_once(self, at: Ints, to: Ints, failure: Ints, lines: Ints) -> None:
        """An entry stands once for each failure."""
        good = np.flatnonzero((at >= 0) & (to >= 0))
        key = (failure[good] + np.int64(1)) * self.graph.brokers**2
        key = key + at[good] * np.int64(self.graph.brokers) + to[good]
        order = np.argsort(key, kind="stable")
        again = good[order[1:][key[order[1:]] == key[order[:-1]]]]
        for i in again[:MOST_TOLD]:
            here, there = self.graph.names[at[i]], self.graph.names[to[i]]
            self.tell("T004", f"the entry at {here!r} for {there!r} stands twice", lines[i])

    def tell(self, code: str, message: str, line: int) -> None:
        self.faults.append(_fault(code, message, self.path, int(line)))


def _fault(code: str, message: str, path: Path, line: int = 0) -> Finding:
    return Finding(code, message, Where(str(path), line))
