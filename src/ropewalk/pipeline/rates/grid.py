"""Messages as a sparse matrix, windows x topics, and what single topics tell: mean and variance."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from ropewalk.errors import UsageError
from ropewalk.pipeline.rates.tally import TOPIC, Longs, Merged

Reals = npt.NDArray[np.float64]
Numbers = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Grid:
    """Counts of windows x topics, row after row; rows without any message are left out.

    Whole numbers in the narrowest type that holds them: the grid travels to every task.
    """

    topics: Longs
    """Ids of the topics, those with most messages first."""
    windows: int
    """How many windows there are, with those that have no message."""
    starts: Longs
    """Where each row begins, and the end."""
    columns: Numbers
    counts: Numbers
    at: Longs
    """The number of each row's window, ascending: which rows are neighbours in time."""

    @property
    def matrix(self) -> Any:
        """The rows that have messages, as a scipy array of float64."""
        shape = (len(self.starts) - 1, len(self.topics))
        columns = self.columns.astype(np.int64)  # scipy takes narrower ones for wider ones
        return csr_array((self.counts.astype(np.float64), columns, self.starts), shape=shape)

    @property
    def sums(self) -> Reals:
        """Messages of each topic."""
        return sums_by(self.columns, self.counts, len(self.topics))

    @property
    def squares(self) -> Reals:
        """The sum of squared counts of each topic."""
        squared = self.counts.astype(np.float64) ** 2
        return sums_by(self.columns, squared, len(self.topics))

    @property
    def mean(self) -> Reals:
        """Messages per window."""
        return self.sums / self.windows

    @property
    def variance(self) -> Reals:
        """Unbiased variance of the messages per window."""
        mean = self.mean
        return (self.squares - self.windows * mean * mean) / (self.windows - 1)

    @property
    def nbytes(self) -> int:
        """How much travels to a task."""
        arrays = (self.starts, self.columns, self.counts, self.at)
        return sum(one.nbytes for one in arrays)


def grid_of(topics: Longs, windows: Longs, messages: Longs, total_windows: int) -> Grid:
    """The grid of cells (topic, window, messages), no two for the same topic and window.

    Topics are ordered by their messages, then by id. Raises UsageError for fewer than two windows.
    """
    if total_windows < 2:
        raise UsageError(
            f"{total_windows} window(s) counted, a covariance needs two: take shorter windows or "
            "another peak rule"
        )
    ids, places = np.unique(topics, return_inverse=True)
    carried = np.zeros(len(ids), np.int64)
    np.add.at(carried, places, messages)
    order = np.argsort(-carried, kind="stable")
    rank = np.empty(len(ids), np.int64)
    rank[order] = np.arange(len(ids))
    filled = messages > 0
    at, rows = np.unique(windows[filled], return_inverse=True)
    entries = messages[filled], (rows, rank[places[filled]])
    matrix = csr_array(entries, shape=(len(at), len(ids)))
    matrix.sort_indices()
    return Grid(
        ids[order],
        total_windows,
        matrix.indptr.astype(np.int64),
        narrow(matrix.indices, max(len(ids) - 1, 0)),
        narrow(matrix.data, int(matrix.data.max(initial=0))),
        at.astype(np.int64),
    )


def grid_of_merged(cells: Merged, windows: int, most_topics: int) -> tuple[Grid, int, int]:
    """The grid of the topics that carry most; how many topics and messages were left out.

    Topics with messages elsewhere only are topics without messages here.
    """
    figures = cells.figures[cells.figures[:, TOPIC.index("messages")] > 0]
    owner = np.repeat(cells.figures[:, 0], cells.figures[:, TOPIC.index("cells")])
    ids = np.sort(figures[:, 0])
    carried = np.zeros(len(ids), np.int64)
    np.add.at(carried, np.searchsorted(ids, owner), cells.messages)
    order = np.argsort(-carried, kind="stable")
    kept = np.sort(ids[order[:most_topics]])
    inside = np.isin(owner, kept)
    grid = grid_of(
        np.r_[owner[inside], kept],
        np.r_[cells.windows[inside], np.full(len(kept), cells.windows.min(initial=0))],
        np.r_[cells.messages[inside], np.zeros(len(kept), np.int64)],
        windows,
    )
    return grid, len(ids) - len(kept), int(carried[order[most_topics:]].sum())


def sums_by(places: Numbers, values: Numbers, length: int) -> Reals:
    """The sum of the values at each place."""
    sums: Any = np.bincount(places, values, minlength=length)
    return sums  # type: ignore[no-any-return]


def narrow(values: npt.NDArray[Any], largest: int) -> Numbers:
    """Whole numbers, not negative, in the narrowest type for the largest.

    >>> narrow(np.array([1, 2]), 300).dtype
    dtype('uint16')
    """
    return values.astype(width_for(largest))


def width_for(largest: float) -> str:
    """The narrowest type of whole numbers up to the largest."""
    for kind in ("uint8", "uint16", "uint32"):
        if largest <= np.iinfo(kind).max:
            return kind
    return "int64"
