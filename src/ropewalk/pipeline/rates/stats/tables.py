"""Statistics from two CSV files: the means of topics, and their covariance in (msgs/s)^2.

topic,mean_msgs_s,replication,filters,bytes      topic,prices,news
prices,1200,3,3,250                              prices,90000,-1200
news,8.5,40,40,2000                              news,-1200,64
"""

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ropewalk.errors import UsageError
from ropewalk.pipeline.rates.grid import Reals
from ropewalk.pipeline.rates.stats.checks import check_matrix, reading
from ropewalk.pipeline.rates.stats.facts import Stats

MEANS, COVARIANCE = "means.csv", "covariance.csv"
NEEDED = ("topic", "mean_msgs_s")
DEFAULTS: Mapping[str, float] = {"replication": 1.0, "filters": 1.0, "bytes": 0.0}
"""Columns that may be left out, and what then holds."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file: where it is, and its cells."""

    path: Path
    number: int
    cells: Sequence[str]

    def __str__(self) -> str:
        return f"{self.path}:{self.number}"


def stats_of_tables(means: Path, covariance: Path) -> Stats:
    """Statistics from two files; raises UsageError with file and line for what makes no sense."""
    lines, figures = _means(means)
    names = tuple(lines)
    at, matrix = _matrix(covariance, lines)
    check_matrix(lambda row: str(at[row]), matrix, names, "correct it")
    columns = {name: np.array([one[name] for one in figures]) for name in figures[0]}
    return Stats(
        names,
        columns["mean_msgs_s"],
        matrix,
        1.0,
        columns["replication"],
        columns["filters"],
        columns["bytes"],
    )


def _means(path: Path) -> tuple[dict[str, Line], list[dict[str, float]]]:
    """The line of each topic, and its figures."""
    rows = _lines(path, f"write a file with the columns {', '.join((*NEEDED, *DEFAULTS))}")
    header = next(rows, None)
    if header is None:
        raise UsageError(f"{path}: is empty: write a header, {','.join(NEEDED)}, and the topics")
    columns = [cell.strip() for cell in header.cells]
    _check_columns(header, columns)
    lines: dict[str, Line] = {}
    figures: list[dict[str, float]] = []
    for line in rows:
        cells = dict(zip(columns, _cells(line, len(columns)), strict=True))
        name = cells.pop("topic").strip()
        _keep(lines, name, line)
        if not cells["mean_msgs_s"].strip():
            raise UsageError(f"{line}: topic {name} has no rate: write its mean_msgs_s")
        given = {key: _positive(line, key, name, cell) for key, cell in cells.items()}
        figures.append({**DEFAULTS, **given})
    if not lines:
        raise UsageError(f"{path}: has no topic: write a line for each")
    return lines, figures


def _matrix(path: Path, means: Mapping[str, Line]) -> tuple[list[Line], Reals]:
    """The lines and the matrix of the covariance, in the order of the means."""
    rows = _lines(path, "write a file with a row and a column for each topic")
    header = next(rows, None)
    if header is None:
        raise UsageError(f"{path}: is empty: write a header with the names of topics, and rows")
    place: dict[str, int] = {}
    for cell in header.cells[1:]:
        name = cell.strip()
        if name in place:
            raise UsageError(f"{header}: topic {name} has two columns: leave one")
        if name not in means:
            raise UsageError(f"{header}: topic {name} has no rate: add it to the file of means")
        place[name] = len(place)
    lines: dict[str, Line] = {}
    matrix = np.empty((len(place), len(place)))
    for line in rows:
        cells = _cells(line, len(place) + 1)
        name = cells[0].strip()
        if name not in means:
            raise UsageError(f"{line}: topic {name} has no rate: add it to the file of means")
        if name not in place:
            raise UsageError(f"{line}: topic {name} has a row and no column: add it to line 1")
        _keep(lines, name, line)
        matrix[place[name]] = [
            _number(line, f"{name} with {other}", cell)
            for other, cell in zip(place, cells[1:], strict=True)
        ]
    for name, line in means.items():
        if name not in lines:
            what = "no row" if name in place else "no row and no column"
            raise UsageError(
                f"{line}: topic {name} has {what} in {path}: add it, or remove it here"
            )
    order = [place[name] for name in means]
    return [lines[name] for name in means], matrix[np.ix_(order, order)]


def _lines(path: Path, next_step: str) -> Iterator[Line]:
    """Lines that are not empty, with their numbers."""
    with reading(path, next_step):
        if path.is_dir():
            raise UsageError(f"{path}: is a folder: name a CSV file")
        text = path.read_text(encoding="utf-8-sig")
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    while True:
        try:
            cells = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            raise UsageError(f"{path}:{rows.line_num}: {error}: correct the line") from None
        if any(cell.strip() for cell in cells):
            yield Line(path, rows.line_num, cells)


def _check_columns(header: Line, columns: Sequence[str]) -> None:
    if lacking := [name for name in NEEDED if name not in columns]:
        raise UsageError(f"{header}: there is no column {lacking[0]}: write it into the first line")
    known = (*NEEDED, *DEFAULTS)
    for place, name in enumerate(columns):
        if name not in known:
            raise UsageError(f"{header}: column {name!r} is not known: write {', '.join(known)}")
        if name in columns[:place]:
            raise UsageError(f"{header}: column {name} is there twice: leave one")


def _cells(line: Line, wanted: int) -> Sequence[str]:
    if len(line.cells) != wanted:
        raise UsageError(
            f"{line}: has {len(line.cells)} cells, the first line {wanted}: correct it"
        )
    return line.cells


def _keep(lines: dict[str, Line], name: str, line: Line) -> None:
    if not name:
        raise UsageError(f"{line}: a topic without a name: write one")
    if name in lines:
        raise UsageError(f"{line}: topic {name} is in line {lines[name].number} already: leave one")
    lines[name] = line


def _positive(line: Line, column: str, topic: str, cell: str) -> float:
    value = _number(line, f"{column} of {topic}", cell)
    if value < 0:
        raise UsageError(f"{line}: {column} of {topic}, {value:g}, is negative: correct it")
    return value


def _number(line: Line, what: str, cell: str) -> float:
    try:
        value = math.nan if "_" in cell else float(cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UsageError(f"{line}: {what} is {cell.strip()!r}, no number: correct it")
    return value
