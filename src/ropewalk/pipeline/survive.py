"""Path pairs in many disasters, spread over Spark.

Disasters come in chunks, each with a seed of its own, and counts add up: any number of tasks gives
what one process gives.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from ropewalk.errors import UsageError
from ropewalk.federation.facts import Federation
from ropewalk.pipeline.batches import Batches
from ropewalk.routing.apart.groups import group_regions
from ropewalk.routing.apart.plan import Method, Wishes
from ropewalk.routing.apart.regions import circles
from ropewalk.routing.apart.scene import Scene, scene_of
from ropewalk.routing.apart.study import Study, study
from ropewalk.routing.apart.survival import Counts, Survival, survival
from ropewalk.routing.apart.terrain import Path as Way
from ropewalk.routing.apart.terrain import Terrain, terrain_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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
    positive(radius_km=radius_km, regions=regions, tasks=tasks)
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


def positive(**numbers: float) -> None:
    """Raise UsageError for a number that is not above 0."""
    for name, value in numbers.items():
        if not 0 < value < 1e12:
            raise UsageError(f"{name} is {value:g}: it must be above 0")
