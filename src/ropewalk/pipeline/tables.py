"""Tables of every failure ahead of it, spread over Spark.

They are made by ranges of destinations, then gathered by broker: the same tables, to the byte, that
one process makes.
"""

import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ropewalk.federation.arrays import Graph
from ropewalk.federation.facts import Federation
from ropewalk.pipeline.batches import Batches
from ropewalk.pipeline.survive import TASKS, positive
from ropewalk.routing.ahead.gathering import by_broker, changes, sets_by_broker
from ropewalk.routing.ahead.network import DEFAULT, Ahead, ahead_of, network_of
from ropewalk.routing.ahead.patches import SET_CHANGE, Asked
from ropewalk.routing.ahead.store import write_tables
from ropewalk.routing.ahead.tables import Tables, asked_of, table_of_broker
from ropewalk.routing.table import empty_rows
from ropewalk.routing.trees import Net, fill_rows
from ropewalk.routing.workers import slices

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


PIECES = "block int, start int, counts binary, words binary, sets binary, base binary"
"""What a range of destinations, from `start` on, changes at a block of brokers: how many words
each broker has, the words and sets of all of them, and their next hops with nothing failed."""
BROKERS = "at int, made binary"


def tables(
    spark: "SparkSession",
    federation: Federation,
    failures: str | Iterable[str] = DEFAULT,
    folder: str | Path | None = None,
    *,
    ranges: int = TASKS,
) -> Tables:
    """The tables that `tables_of` makes, by ranges of destinations; to a folder if one is given.

    More ranges need less memory each. Raises UsageError as `tables_of` and `write_tables` do.
    """
    positive(ranges=ranges)
    ahead = ahead_of(federation, failures)
    network = network_of(federation, ahead)
    job = Job(network.graph, network.net, asked_of(network.graph, ahead), ahead)
    rows = gathered(pieces(spark, job, ranges), job, ranges).toArrow()
    # What this reads was pickled by workers of this very session.
    made = {at: pickle.loads(data) for at, data in _pairs(rows)}  # noqa: S301
    found = Tables(network, [made[at] for at in range(network.graph.brokers)])
    if folder is not None:
        write_tables(found, folder)
    return found


@dataclass(frozen=True, eq=False, slots=True)
class Job:
    """The graph as kernels take it, and which failures are asked for."""

    graph: Graph
    net: Net
    asked: Asked
    ahead: Ahead


def pieces(spark: "SparkSession", job: Job, ranges: int) -> "DataFrame":
    """A task for each range of destinations: its changes by blocks of brokers."""
    brokers = job.graph.brokers
    runs = list(slices(brokers, ranges))

    def work(batches: Batches) -> Batches:
        for batch in batches:
            for number in batch["id"].to_pylist():
                for row in range_pieces(job, *runs[number], blocks=runs):
                    yield pa.RecordBatch.from_pylist([row], schema=_PIECES)

    return spark.range(0, len(runs), 1, len(runs)).mapInArrow(work, PIECES)


def gathered(made: "DataFrame", job: Job, ranges: int) -> "DataFrame":
    """A row for each broker: its table, made of the pieces of all ranges."""
    runs = list(slices(job.graph.brokers, ranges))

    def work(block: pa.Table) -> pa.Table:
        rows = sorted(block.to_pylist(), key=_start)
        low, high = runs[rows[0]["block"]]
        found = list(block_tables(job, rows, low, high))
        return pa.table({"at": pa.array(range(low, high), pa.int32()), "made": found})

    return made.groupBy("block").applyInArrow(work, BROKERS)


_PIECES = pa.schema(
    [
        ("block", pa.int32()),
        ("start", pa.int32()),
        *((name, pa.binary()) for name in ("counts", "words", "sets", "base")),
    ]
)


def range_pieces(
    job: Job, start: int, stop: int, *, blocks: Sequence[tuple[int, int]]
) -> Iterator[dict[str, Any]]:
    """The changes towards the brokers from `start` to `stop`, by blocks of brokers."""
    brokers = job.graph.brokers
    parts = changes(job.graph, job.net, job.asked, start, stop)
    first, words = by_broker(parts, brokers)
    first_set, sets = sets_by_broker(parts, brokers)
    # Rows of other ranges are never touched, so they take no memory.
    base = empty_rows(brokers)
    fill_rows(job.net, start, stop, base)
    for block, (low, high) in enumerate(blocks):
        yield {
            "block": block,
            "start": start,
            "counts": np.diff(first[low : high + 1]).tobytes(),
            "words": words[first[low] : first[high]].tobytes(),
            "sets": sets[first_set[low] : first_set[high]].tobytes(),
            "base": base[start:stop, low:high].tobytes(),
        }


def block_tables(job: Job, rows: list[dict[str, Any]], low: int, high: int) -> Iterator[bytes]:
    """The tables of a block of brokers, from the pieces of all ranges in their order."""
    words = [_by_broker(row) for row in rows]
    sets = np.concatenate([np.frombuffer(row["sets"], SET_CHANGE) for row in rows])
    brokers = job.graph.brokers
    base = np.frombuffer(b"".join(row["base"] for row in rows), empty_rows(brokers).dtype)
    columns: Any = Columns(low, base.reshape(brokers, high - low))
    for at in range(low, high):
        own = sets[sets["at"] == at]
        own = own[np.argsort(own["key"], kind="stable")]  # destinations come in order already
        mine = np.concatenate([one[at - low] for one in words])
        yield pickle.dumps(table_of_broker(job.graph, job.ahead, at, columns, mine, own))


@dataclass(frozen=True, eq=False, slots=True)
class Columns:
    """Next hops of all destinations at a block of brokers, found by the brokers' own numbers."""

    low: int
    values: Any

    def __getitem__(self, place: tuple[slice, int]) -> Any:
        return self.values[place[0], place[1] - self.low]


def _by_broker(row: dict[str, Any]) -> list[Any]:
    counts = np.frombuffer(row["counts"], np.int64)
    return np.split(np.frombuffer(row["words"], np.uint64), np.cumsum(counts)[:-1])


def _pairs(rows: pa.Table) -> Iterator[tuple[int, bytes]]:
    return zip(rows["at"].to_pylist(), rows["made"].to_pylist(), strict=True)


def _start(row: dict[str, Any]) -> int:
    return int(row["start"])
