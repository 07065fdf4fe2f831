"""Work on a large federation spread over Spark: path pairs in many disasters, tables ahead.

Both give what one process gives: disasters come in chunks, each with a seed of its own, and counts
add up; tables are made by ranges of destinations, then gathered by broker.
"""

import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ropewalk.errors import UsageError
from ropewalk.federation.arrays import Graph
from ropewalk.federation.facts import Federation
from ropewalk.routing.ahead.gathering import ROOM, by_broker, change, sets_by_broker
from ropewalk.routing.ahead.network import DEFAULT, Ahead, ahead_of, network_of
from ropewalk.routing.ahead.patches import PAIR_KINDS, SET_CHANGE, Asked, Made, scratch
from ropewalk.routing.ahead.store import write_tables
from ropewalk.routing.ahead.sweep import sweep_room
from ropewalk.routing.ahead.tables import Tables, _asked, _broker
from ropewalk.routing.apart.groups import group_regions
from ropewalk.routing.apart.plan import Method, Wishes
from ropewalk.routing.apart.regions import circles
from ropewalk.routing.apart.scene import Scene, scene_of
from ropewalk.routing.apart.study import Study, study
from ropewalk.routing.apart.survival import Counts, Survival, survival
from ropewalk.routing.apart.terrain import Path as Way
from ropewalk.routing.apart.terrain import Terrain, terrain_of
from ropewalk.routing.trees import Net, fill_rows
from ropewalk.routing.workers import slices

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Batches = Iterator[pa.RecordBatch]

CHUNK = 1024
"""Regions that are judged at once; what that takes bounds the memory of a task."""
TASKS = 16
FATES = "regions bigint, fates binary"
"""Counts of a task: of primaries and of plans, lost and avoidable, a number for each pair."""


@dataclass(frozen=True, eq=False, slots=True)
class Question:
    """All that decides the fate of plans in a chunk of regions."""

    terrain: Terrain
    plans: Sequence[Sequence[Way]]
    radius_km: float
    regions: int
    seed: int
    only_nodes: bool

    def chunks(self) -> int:
        """How many chunks there are."""
        return -(-self.regions // CHUNK)

    def scene(self, chunk: int) -> Scene:
        """The regions of a chunk: the same whoever draws them."""
        many = min(CHUNK, self.regions - chunk * CHUNK)
        seed = np.random.SeedSequence((self.seed, chunk)).generate_state(1, np.uint64)
        drawn = circles(
            self.terrain,
            [self.radius_km],
            centres=many,
            seed=int(seed[0]),
            only_nodes=self.only_nodes,
            evenly=False,
        )
        return scene_of(self.terrain, drawn)


Fates = tuple[Survival, Survival]
"""What became of primaries alone, and of plans."""


def survive(
    spark: "SparkSession | None",
    federation: Federation,
    *,
    radius_km: float,
    regions: int = 100_000,
    pairs: Sequence[tuple[str, str]] | None = None,
    method: Method = "exposure",
    wishes: Wishes | None = None,
    only_nodes: bool = False,
    seed: int = 1,
    tasks: int = TASKS,
) -> Study:
    """Choose paths for pairs of brokers (default: all) and judge them by so many circles.

    The answer does not depend on the number of tasks, nor on Spark: without a session all is done
    in this process. Risk groups of the federation are judged once each, beside the circles.
    Raises UsageError for a number that makes no sense, or a federation without places.
    """
    _positive(radius_km=radius_km, regions=regions, tasks=tasks)
    wishes = replace(wishes or Wishes(method=method), radius_km=radius_km)
    terrain = terrain_of(federation)
    chosen = study(
        federation, terrain, pairs or _all(federation), wishes, only_nodes=only_nodes, seed=seed
    )
    question = Question(
        terrain, [one.paths for one in chosen.plans], radius_km, regions, seed, only_nodes
    )
    primaries = [(one.baseline,) for one in chosen.plans]
    if spark is None:
        fates = judged(question, primaries, range(question.chunks()))
    else:
        fates = _added(fates_of_chunks(spark, question, primaries, tasks).toArrow(), len(primaries))
    groups = group_regions(federation, terrain)
    if groups is not None:
        fates = _both(fates, fate(scene_of(terrain, groups), question, primaries))
    return replace(chosen, before=fates[0], after=fates[1])


def judged(question: Question, primaries: Sequence[Sequence[Way]], chunks: Iterable[int]) -> Fates:
    """The fates of all paths in some chunks of regions, one chunk after the other."""
    none = np.zeros(len(primaries), np.int64)
    nothing = Survival(0, none, none)
    found = (fate(question.scene(chunk), question, primaries) for chunk in chunks)
    return reduce(_both, found, (nothing, nothing))


def fate(scene: Scene, question: Question, primaries: Sequence[Sequence[Way]]) -> Fates:
    """The fates in the regions of one scene."""
    return survival(scene, primaries), survival(scene, question.plans)


def fates_of_chunks(
    spark: "SparkSession", question: Question, primaries: Sequence[Sequence[Way]], tasks: int
) -> "DataFrame":
    """A row of counts for each task, which judges its chunks one after the other."""

    def judge(batches: Batches) -> Batches:
        mine = [int(chunk) for batch in batches for chunk in batch["id"].to_numpy()]
        before, after = judged(question, primaries, mine)
        counts = np.concatenate([before.lost, before.avoidable, after.lost, after.avoidable])
        row = {"regions": [before.regions], "fates": [counts.tobytes()]}
        yield pa.RecordBatch.from_pydict(row)

    chunks = question.chunks()
    return spark.range(0, chunks, 1, min(tasks, chunks)).mapInArrow(judge, FATES)


def _added(rows: pa.Table, pairs: int) -> Fates:
    total = sum(rows["regions"].to_pylist())
    each: list[Counts] = [np.frombuffer(one, np.int64) for one in rows["fates"].to_pylist()]
    counts = reduce(add, each).reshape(4, pairs)
    return Survival(total, counts[0], counts[1]), Survival(total, counts[2], counts[3])


def _both(one: Fates, other: Fates) -> Fates:
    return one[0] + other[0], one[1] + other[1]


def _all(federation: Federation) -> list[tuple[str, str]]:
    names = federation.graph.names
    return [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]


def _positive(**numbers: float) -> None:
    for name, value in numbers.items():
        if not 0 < value < 1e12:
            raise UsageError(f"{name} is {value:g}: it must be above 0")


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
    _positive(ranges=ranges)
    ahead = ahead_of(federation, failures)
    network = network_of(federation, ahead)
    job = Job(network.graph, network.net, _asked(network.graph, ahead), ahead)
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
    parts = changes(job, start, stop)
    first, words = by_broker(parts, brokers)
    first_set, sets = sets_by_broker(parts, brokers)
    # Rows before `start` are never touched, so they take no memory.
    base = np.empty((stop, brokers), np.int32)
    fill_rows(job.net, start, stop, base)
    for block, (low, high) in enumerate(blocks):
        yield {
            "block": block,
            "start": start,
            "counts": np.diff(first[low : high + 1]).tobytes(),
            "words": words[first[low] : first[high]].tobytes(),
            "sets": sets[first_set[low] : first_set[high]].tobytes(),
            "base": base[start:, low:high].tobytes(),
        }


def changes(job: Job, start: int, stop: int) -> list[tuple[int, int, Made]]:
    """Every change towards a range of brokers, in runs that found room."""
    graph, asked = job.graph, job.asked
    room, sweep = scratch(graph.brokers, graph.links), sweep_room(graph)
    with_sets = len(asked.first) > 1 or bool(asked.kinds[PAIR_KINDS:].any())
    parts, want = list[tuple[int, int, Made]](), ROOM
    while start < stop:
        made = Made(
            np.empty(want, np.uint64),
            np.empty(want if with_sets else 0, SET_CHANGE),
            np.zeros(graph.brokers, np.int64),
            np.zeros(2, np.int64),
        )
        done = int(change(job.net, start, stop, asked, room, sweep, made))
        if done > start:
            parts.append((start, done, made))
        else:
            want *= 4  # one destination alone needs more
        start = done
    return parts


def block_tables(job: Job, rows: list[dict[str, Any]], low: int, high: int) -> Iterator[bytes]:
    """The tables of a block of brokers, from the pieces of all ranges in their order."""
    words = [_by_broker(row) for row in rows]
    sets = np.concatenate([np.frombuffer(row["sets"], SET_CHANGE) for row in rows])
    base = np.concatenate([np.frombuffer(row["base"], np.int32) for row in rows])
    columns: Any = Columns(low, base.reshape(job.graph.brokers, high - low))
    for at in range(low, high):
        own = sets[sets["at"] == at]
        own = own[np.argsort(own["key"], kind="stable")]  # destinations come in order already
        mine = np.concatenate([one[at - low] for one in words])
        yield pickle.dumps(_broker(job.graph, job.ahead, at, columns, mine, own))


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
