"""Means and covariances of topics: the matrix made on Spark, kept in memory or in a folder.

The sparse grid travels to each task; a task makes blocks of rows of the exact sums of products
and sends them back as whole numbers, one to four bytes each, upper part only. The driver takes
the means off and rounds once. So what crosses is a small part of the matrix.
"""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa

from ropewalk.errors import UsageError
from ropewalk.pipeline.batches import Batches
from ropewalk.pipeline.folders import save_folder
from ropewalk.pipeline.rates.gram import blocks_of, finish, gram_block, products_of
from ropewalk.pipeline.rates.grid import Grid, Numbers, Reals
from ropewalk.pipeline.rates.tally import Longs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Precision = Literal["float32", "float64"]
Part = slice | Numbers | list[int]

BLOCKS = "first int, rows int, width string, content binary"
"""A block of rows of the sums of products, from topic `first` on."""

CODEC = "lz4"

TASK_PRODUCTS = 50e6
"""Products that are worth a task: fewer take less time than a task's start."""

FILES = ("topics.npy", "mean.npy", "covariance.npy", "rates.json")
"""What a folder of a covariance holds."""


@dataclass(frozen=True, slots=True)
class Covariance:
    """Mean messages per window of each topic, and the covariance of each two (unbiased)."""

    topics: Longs
    """Ids, those with most messages first."""
    windows: int
    """How many windows were counted, with those that had no message."""
    mean: Reals
    matrix: Numbers
    about: dict[str, Any] = field(default_factory=dict)
    """What else is known, kept in `rates.json`."""

    def block(self, rows: Part, columns: Part) -> Numbers:
        """Some rows and columns of the matrix, by place."""
        part: Numbers = self.matrix[rows][:, columns]
        return part

    def dense(self) -> Numbers:
        """The whole matrix, in memory."""
        return np.asarray(self.matrix)

    @property
    def variance(self) -> Numbers:
        """The variance of each topic."""
        return np.diagonal(self.matrix)

    def save(self, folder: str | Path) -> None:
        """Write a folder, whole or not at all; raises UsageError if it cannot be written."""
        save_folder(Path(folder), FILES, self.write)

    def write(self, folder: Path) -> None:
        """Write the files into a folder that is there."""
        np.save(folder / "topics.npy", self.topics)
        np.save(folder / "mean.npy", self.mean)
        np.save(folder / "covariance.npy", self.matrix)
        about = {**self.about, "windows": self.windows}
        (folder / "rates.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


def load_covariance(folder: str | Path) -> Covariance:
    """A saved covariance; its matrix stays on disk and is read where it is used."""
    folder = Path(folder)
    if missing := [name for name in FILES if not (folder / name).is_file()]:
        raise UsageError(f"{folder}: holds no rates: {missing[0]} is missing")
    about = json.loads((folder / "rates.json").read_text(encoding="utf-8"))
    return Covariance(
        np.load(folder / "topics.npy"),
        about.pop("windows"),
        np.load(folder / "mean.npy"),
        np.load(folder / "covariance.npy", mmap_mode="r"),
        about,
    )


def covariance_of(
    spark: "SparkSession", grid: Grid, *, precision: Precision = "float32", tasks: int | None = None
) -> Covariance:
    """The covariance of a grid's topics, multiplied by Spark's workers."""
    if precision not in ("float32", "float64"):
        raise UsageError(f"precision {precision!r}: write float32 or float64")
    mean = grid.mean
    matrix = np.empty((len(mean), len(mean)), precision)
    blocks = gram_blocks(spark, grid, tasks).toArrow()
    with ThreadPoolExecutor(2) as pool:
        for done in [
            pool.submit(finish, block, first, mean, grid.windows, matrix)
            for first, block in _unpacked(blocks, len(mean))
        ]:
            done.result()
    np.fill_diagonal(matrix, np.maximum(matrix.diagonal(), 0))  # rounding, of topics that are even
    return Covariance(grid.topics, grid.windows, mean, matrix)


def gram_blocks(spark: "SparkSession", grid: Grid, tasks: int | None = None) -> "DataFrame":
    """The sums of products as rows (BLOCKS): the first block is the widest, the last the narrowest.

    So a task takes every n-th block, alternately from either end.
    """
    blocks = blocks_of(len(grid.topics))
    wanted = tasks or tasks_for(grid)
    dealers = max(min(wanted, len(blocks)), 1)

    def run(batches: Batches) -> Batches:
        products = products_of(grid)
        for batch in batches:
            for task in batch.column("id").to_pylist():
                for first, end in dealt(blocks, task, dealers):
                    yield _packed(first, gram_block(products, first, end))

    return spark.range(0, dealers, 1, dealers).mapInArrow(run, BLOCKS)


def tasks_for(grid: Grid) -> int:
    """How many tasks the products of a grid are worth: at least two."""
    filled = np.diff(grid.starts).astype(np.float64)
    return 2 + int((filled**2).sum() / 2 / TASK_PRODUCTS)


def dealt(blocks: list[tuple[int, int]], task: int, tasks: int) -> list[tuple[int, int]]:
    """The blocks of a task: dealt out to and fro, so that all have about the same to do.

    >>> [dealt([(i, i + 1) for i in range(6)], task, 2) for task in range(2)]
    [[(0, 1), (3, 4), (4, 5)], [(1, 2), (2, 3), (5, 6)]]
    """
    cycle = 2 * tasks
    return [
        block for place, block in enumerate(blocks) if place % cycle in (task, cycle - 1 - task)
    ]


def _packed(first: int, block: Numbers) -> pa.RecordBatch:
    """A block as one row; packed, as many sums are small or zero: that takes less than sending."""
    content = pa.compress(pa.py_buffer(np.ascontiguousarray(block)), CODEC, asbytes=True)
    return pa.RecordBatch.from_arrays(
        [
            pa.array([first], pa.int32()),
            pa.array([len(block)], pa.int32()),
            pa.array([block.dtype.name]),
            pa.array([content], pa.binary()),
        ],
        names=["first", "rows", "width", "content"],
    )


def _unpacked(blocks: pa.Table, topics: int) -> Iterator[tuple[int, Numbers]]:
    for row in blocks.to_pylist():
        shape, width = (row["rows"], topics - row["first"]), np.dtype(row["width"])
        size = shape[0] * shape[1] * width.itemsize
        flat = np.frombuffer(pa.decompress(row["content"], size, CODEC), width)
        yield row["first"], flat.reshape(shape)
