"""Sums of products of topics' counts (X'X), block of rows by block of rows, upper part only.

Counts are whole numbers, so these sums are exact: no error arises here, and none depends on the
order of the sums. By the inequality of Cauchy and Schwarz no entry is larger than the root of the
product of its two diagonal entries, so a block's narrowest type is known before it is made; that
makes blocks small: most fit in one or two bytes per entry.

Two ways to multiply. Topics with messages in many windows (`busy`) go through BLAS; every other
pair is scattered: for each window of a topic, its count times the row of that window is added to
one line of sums, which stays in the processor's cache.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csc_array

from ropewalk.kernels import kernel
from ropewalk.pipeline.rates.grid import Grid, Numbers, Reals, width_for
from ropewalk.pipeline.rates.tally import Longs

BLOCK = 256
"""Topics of a block."""

BUSY = 0.25
"""Part of the windows with messages from which BLAS is faster than scattering: a multiplication
costs 0.07 ns there and 1 ns here, and scattering makes only the part BUSY x BUSY of them."""

EXACT_SINGLE = float(2**24)
"""Whole numbers up to this are exact in float32."""


@dataclass(frozen=True, slots=True)
class Products:
    """A grid made ready for multiplication: by rows and by columns, busy topics dense."""

    topics: int
    starts: Longs
    columns: Numbers
    counts: Numbers
    column_starts: Longs
    rows: Numbers
    column_counts: Numbers
    dense: Numbers
    """Counts of the busy topics, which come first."""
    squares: Reals


def products_of(grid: Grid, busy: float = BUSY) -> Products:
    """Make a grid ready; `busy` above 1 leaves BLAS out."""
    shape = (len(grid.starts) - 1, len(grid.topics))
    by_row = grid.matrix
    by_column = csc_array(by_row)
    squares = grid.squares
    head = _busy_topics(np.diff(by_column.indptr), busy * grid.windows)
    largest = squares.max(initial=0)
    dense = by_column[:, :head].toarray()
    width = "uint32" if largest < 2**32 else "int64"
    return Products(
        shape[1],
        grid.starts,
        grid.columns,
        grid.counts.astype(width),
        by_column.indptr.astype(np.int64),
        by_column.indices.astype(np.uint32),
        by_column.data.astype(width),
        dense.astype(np.float32 if largest < EXACT_SINGLE else np.float64),
        squares,
    )


def _busy_topics(filled: Numbers, least: float) -> int:
    """How many topics, from the first on, are busy: all but a tenth of them."""
    share = np.cumsum(filled >= least) / np.arange(1, len(filled) + 1)
    good = np.flatnonzero((share >= 0.9) & (filled >= least))
    return int(good[-1]) + 1 if len(good) else 0


def blocks_of(topics: int) -> list[tuple[int, int]]:
    """First topic and end of each block."""
    return [(first, min(first + BLOCK, topics)) for first in range(0, topics, BLOCK)]


def gram_block(products: Products, first: int, end: int) -> Numbers:
    """Sums of products of topics [first, end) with topics from `first` on.

    Entries left of the diagonal mean nothing.
    """
    own, right = products.squares[first:end].max(), products.squares[first:].max()
    block = np.zeros((end - first, products.topics - first), width_for(np.sqrt(own * right)))
    dense = products.dense
    busy_end = min(end, dense.shape[1])
    if first < busy_end:
        block[: busy_end - first, : dense.shape[1] - first] = (
            dense[:, first:busy_end].T @ dense[:, first:]
        )
    _scatter(
        products.starts,
        products.columns,
        products.counts,
        products.column_starts,
        products.rows,
        products.column_counts,
        first,
        end,
        dense.shape[1],
        block,
    )
    return block


def centre(block: Numbers, first: int, mean: Reals, windows: int) -> Reals:
    """The covariances of a block of sums of products, as float64."""
    rows = len(block)
    centred: Any = block - windows * np.outer(mean[first : first + rows], mean[first:])
    centred /= windows - 1
    return centred  # type: ignore[no-any-return]


@kernel
def _scatter(
    starts: Longs,
    columns: Numbers,
    counts: Numbers,
    column_starts: Longs,
    rows: Numbers,
    column_counts: Numbers,
    first: int,
    end: int,
    head: int,
    block: Numbers,
) -> None:
    """Fill a block but for the pairs of busy topics, those below `head`."""
    topics = len(column_starts) - 1
    begin = np.empty(len(starts) - 1, np.int64)
    for row in range(len(begin)):  # where topics that matter begin in the row
        begin[row] = starts[row] + np.searchsorted(
            columns[starts[row] : starts[row + 1]], max(first, head)
        )
    sums = np.zeros(topics, counts.dtype)
    for topic in range(first, end):
        left = max(topic, head)
        sums[left:] = 0
        for place in range(column_starts[topic], column_starts[topic + 1]):
            row, count = rows[place], column_counts[place]
            while begin[row] < starts[row + 1] and columns[begin[row]] < left:
                begin[row] += 1
            for entry in range(begin[row], starts[row + 1]):
                sums[columns[entry]] += count * counts[entry]
        for other in range(left, topics):
            block[topic - first, other - first] = sums[other]


@kernel
def finish(block: Numbers, first: int, mean: Reals, windows: int, matrix: Numbers) -> None:
    """Write a block's covariances to both sides of the whole matrix, in tiles for the cache."""
    tile = 64
    height, width = block.shape
    for left in range(0, width, tile):
        right = min(left + tile, width)
        for top in range(0, height, tile):
            bottom = min(top + tile, height)
            for i in range(top, bottom):
                scaled = mean[first + i] * windows
                for j in range(max(left, i), right):
                    centred = block[i, j] - scaled * mean[first + j]
                    matrix[first + i, first + j] = centred / (windows - 1)
            for j in range(left, right):
                for i in range(top, min(bottom, j)):
                    matrix[first + j, first + i] = matrix[first + i, first + j]
