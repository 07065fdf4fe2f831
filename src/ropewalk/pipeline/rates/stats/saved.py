"""Statistics from the folder that the rates job leaves. Nothing in it is believed unseen."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ropewalk.errors import UsageError
from ropewalk.pipeline.rates.grid import Numbers, Reals, sums_by
from ropewalk.pipeline.rates.job import COUNTS_FILE, RATES_FILES
from ropewalk.pipeline.rates.stats.checks import (
    check_distinct,
    check_matrix,
    check_sizes,
    check_values,
    reading,
)
from ropewalk.pipeline.rates.stats.facts import Counts, Stats
from ropewalk.pipeline.rates.tally import Longs

ABOUT = "rates.json"
AGAIN = "run `ropewalk pipeline rates` again"
FIGURES = ("messages", "deliveries", "clients", "bytes")
COUNTED = ("starts", "columns", "counts", "at", "ranges")


@dataclass(frozen=True, slots=True)
class About:
    """What `rates.json` says of the windows."""

    window_s: float
    windows: int


def stats_of_folder(folder: Path) -> Stats:
    """Statistics from a folder of rates; raises UsageError for what is not as the job leaves it."""
    _check_files(folder)
    about = _about(folder / ABOUT)
    ids = _array(folder / "topics.npy", 1, "iu")
    names, figures = _figures(folder / "topics.parquet", ids)
    topics = len(names)
    mean, matrix = _array(folder / "mean.npy", 1), _array(folder / "covariance.npy", 2, mapped=True)
    loadings, own = _array(folder / "loadings.npy", 2), _array(folder / "own.npy", 1)
    for name, values, shape in (
        ("mean.npy", mean, (topics,)),
        ("covariance.npy", matrix, (topics, topics)),
        ("loadings.npy", loadings, (topics, loadings.shape[1])),
        ("own.npy", own, (topics,)),
    ):
        check_sizes(folder / name, values, shape, AGAIN)
    check_values(folder / "mean.npy", "mean rate", mean, names, AGAIN)
    check_values(folder / "own.npy", "own variance", own, names, AGAIN)
    check_values(folder / "loadings.npy", "loading", np.abs(loadings).sum(1), names, AGAIN)
    check_matrix(lambda _: str(folder / "covariance.npy"), matrix, names, AGAIN)
    per_s = 1 / about.window_s
    messages = np.maximum(figures["messages"], 1)
    return Stats(
        names,
        mean * per_s,
        matrix,
        per_s * per_s,
        figures["deliveries"] / messages,
        figures["clients"].astype(np.float64),
        figures["bytes"] / messages,
        about.window_s,
        about.windows,
        loadings * per_s,
        own * per_s * per_s,
        _counts(folder / COUNTS_FILE, mean, about.windows),
    )


def _check_files(folder: Path) -> None:
    missing = [name for name in RATES_FILES if not (folder / name).is_file()]
    if len(missing) == len(RATES_FILES):
        raise UsageError(
            f"{folder}: is no folder of rates: make one with `ropewalk pipeline rates`, or put "
            "means.csv and covariance.csv there"
        )
    if missing:
        raise UsageError(f"{folder / missing[0]}: is missing: {AGAIN}")


def _about(path: Path) -> About:
    with reading(path, AGAIN):
        said: Any = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(said, dict):
        raise UsageError(f"{path}: does not say what was counted: {AGAIN}")
    window_s: Any = said.get("window_s")
    windows: Any = said.get("windows")
    if not _is_number(window_s) or not 1e-9 <= window_s <= 1e9:
        raise UsageError(f"{path}: window_s, the length of a window in seconds, {_told(window_s)}")
    if not _is_number(windows) or windows != int(windows) or windows < 2:
        raise UsageError(f"{path}: windows, how many were counted, {_told(windows)}")
    return About(float(window_s), int(windows))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e18


def _told(value: object) -> str:
    return f"is missing: {AGAIN}" if value is None else f"is {value!r}: {AGAIN}"


def _array(path: Path, dimensions: int, kinds: str = "f", *, mapped: bool = False) -> Numbers:
    """The numbers of a file; never objects, which could run anything."""
    with reading(path, AGAIN):
        values: Any = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
        if not isinstance(values, np.ndarray) or values.dtype.kind not in kinds:
            raise UsageError(f"{path}: does not hold the numbers that it should: {AGAIN}")
    if values.ndim != dimensions:
        raise UsageError(
            f"{path}: has {values.ndim} dimensions, not {dimensions} as it should: {AGAIN}"
        )
    return values


def _figures(path: Path, ids: Numbers) -> tuple[tuple[str, ...], dict[str, Longs]]:
    """Names and figures of the topics with these ids, in their order."""
    with reading(path, AGAIN):
        columns = ["topic", "name", *FIGURES]
        table = pq.ParquetFile(path).read(columns=columns)
        if lacking := [name for name in columns if name not in table.column_names]:
            raise UsageError(f"{path}: has no column {lacking[0]}: {AGAIN}")
        for name in columns:
            if table[name].null_count:
                raise UsageError(f"{path}: column {name} is not filled: {AGAIN}")
        known = _whole(table, "topic")
        names = table["name"].cast(pa.string()).to_pylist()
        figures = {name: _whole(table, name) for name in FIGURES}
    order = np.argsort(known, kind="stable")
    at = np.searchsorted(known[order], ids)
    lost = np.flatnonzero(at >= len(known))
    if not len(lost):
        at = order[at]
        lost = np.flatnonzero(known[at] != ids)
    if len(lost):
        raise UsageError(f"{path}: topic {ids[lost[0]]} of topics.npy is missing: {AGAIN}")
    called = tuple(names[place] for place in at)
    check_distinct(path, called, AGAIN)
    for name, values in figures.items():
        check_values(path, name, values[at], called, AGAIN)
    return called, {name: values[at] for name, values in figures.items()}


def _whole(table: pa.Table, name: str) -> Longs:
    values: Longs = table[name].cast(pa.int64()).to_numpy()
    return values


def _counts(path: Path, mean: Reals, windows: int) -> Counts:
    with (
        reading(path, AGAIN),
        path.open("rb") as file,  # numpy would leave a damaged one open
        np.load(file, allow_pickle=False) as kept,
    ):
        found = [kept[name] for name in COUNTED]
        if any(one.dtype.kind not in "iu" for one in found):
            raise UsageError(f"{path}: holds other things than whole numbers: {AGAIN}")
        made = Counts(*(one.astype(np.int64) for one in found))
    if fault := _fault(made, len(mean), windows):
        raise UsageError(f"{path}: {fault}: {AGAIN}")
    sums = sums_by(made.columns, made.counts, len(mean))
    if not np.allclose(sums, mean * windows, rtol=1e-6, atol=1e-6):
        raise UsageError(f"{path}: other messages than in mean.npy: {AGAIN}")
    return made


def _fault(made: Counts, topics: int, windows: int) -> str | None:
    """What is wrong with the shape of counts."""
    lists = (made.starts, made.columns, made.counts, made.at)
    if any(one.ndim != 1 for one in lists) or made.ranges.shape[1:] != (2,):
        return "lists have other shapes than they should"
    if len(made.starts) != len(made.at) + 1 or len(made.columns) != len(made.counts):
        return "lists have other lengths than they should"
    if made.starts[0] != 0 or made.starts[-1] != len(made.columns):
        return "rows do not cover the counts"
    if (np.diff(made.starts) < 0).any() or (np.diff(made.at) <= 0).any():
        return "rows are not in order"
    if (made.columns < 0).any() or (made.columns >= topics).any() or (made.counts < 0).any():
        return "a count is of no topic, or negative"
    if (np.diff(made.ranges.ravel()) < 0).any() or made.windows != windows:
        return f"{made.windows} windows were chosen, {ABOUT} says {windows}"
    after = np.searchsorted(made.ranges[:, 0], made.at, side="right") - 1
    if (after < 0).any() or (made.at >= made.ranges[after, 1]).any():
        return "a row is of a window that was not chosen"
    return None
