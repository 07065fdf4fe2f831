"""What is spread over Spark is what one process gives, whatever the number of tasks."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ropewalk.errors import UsageError
from ropewalk.federation.generators import generate
from ropewalk.pipeline import survive as module
from ropewalk.pipeline.survive import CHUNK, survive
from ropewalk.pipeline.tables import Job, block_tables, range_pieces, tables
from ropewalk.routing.ahead.network import ahead_of, network_of
from ropewalk.routing.ahead.store import read_tables, write_tables
from ropewalk.routing.ahead.tables import asked_of, tables_of
from ropewalk.routing.apart.study import Study
from ropewalk.routing.workers import slices

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REGIONS = 7 * CHUNK + 500


def counts(one: Study) -> list[list[int]]:
    fates = (one.before, one.after)
    return [
        [one.before.regions, one.after.regions],
        *(list(map(int, each)) for fate in fates for each in (fate.lost, fate.avoidable)),
    ]


@pytest.mark.timeout(300)  # kernels may have to be compiled first
def test_the_number_of_tasks_changes_nothing(spark: "SparkSession") -> None:
    federation = generate("gap-validation")
    asked = {"radius_km": 2.0, "regions": REGIONS, "seed": 3}
    here = survive(None, federation, **asked)  # type: ignore[arg-type]
    assert here.before.regions == REGIONS
    assert 0 < here.after.avoidable.sum() < here.before.avoidable.sum()
    for tasks in (1, 7):
        there = survive(spark, federation, **asked, tasks=tasks)  # type: ignore[arg-type]
        assert counts(there) == counts(here)
        assert list(there.rows()) == list(here.rows())


def test_other_seeds_and_more_regions_change_the_counts() -> None:
    """The control: equal counts are no accident."""
    federation = generate("gap-validation")
    first, second = (
        survive(None, federation, radius_km=2.0, regions=2 * CHUNK, seed=seed) for seed in (1, 2)
    )
    assert counts(first) != counts(second)
    assert first.before.lost.sum() == pytest.approx(second.before.lost.sum(), rel=0.2)


def test_chunks_have_regions_of_their_own() -> None:
    """Were they drawn alike, a thousand chunks would tell no more than one."""
    chosen = survive(None, generate("gap-validation"), radius_km=2.0, regions=10)
    question = module.Question(chosen.scene.terrain, [], 2.0, 3 * CHUNK, 1, False)
    first, second = (question.scene(chunk).regions.link for chunk in (0, 1))
    assert not np.array_equal(first, second)
    assert np.array_equal(first, question.scene(0).regions.link)


def test_risk_groups_are_judged_once() -> None:
    federation = generate("gap-validation")
    first, *others = federation.underlay.links
    tunnel = replace(first, risk_groups=("tunnel",))
    grouped = replace(federation, underlay=replace(federation.underlay, links=(tunnel, *others)))
    plain, with_group = (
        survive(None, one, radius_km=2.0, regions=CHUNK) for one in (federation, grouped)
    )
    assert with_group.before.regions == plain.before.regions + 1


@pytest.mark.parametrize("asked", [{"radius_km": 0.0}, {"regions": 0}, {"tasks": -1}])
def test_numbers_that_make_no_sense_are_refused(asked: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="must be above 0"):
        survive(None, generate("gap-validation"), **{"radius_km": 1.0, **asked})  # type: ignore[arg-type]


def contents(folder: Path) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in folder.iterdir()}


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("map_", "failures", "ranges"),
    [
        ("fifty-broker", "links=1,brokers=1", 7),
        ("six-broker", "links=2,brokers=1,b1+b2", 4),
        ("three-broker", "none", 9),
    ],
)
def test_tables_are_those_of_one_process_to_the_byte(
    spark: "SparkSession", tmp_path: Path, map_: str, failures: str, ranges: int
) -> None:
    federation = generate(map_)
    write_tables(tables_of(federation, failures), tmp_path / "one")
    tables(spark, federation, failures, tmp_path / "many", ranges=ranges)
    assert contents(tmp_path / "many") == contents(tmp_path / "one")
    assert read_tables(tmp_path / "many").entries() == tables_of(federation, failures).entries()


def test_pieces_in_the_wrong_order_would_make_other_tables() -> None:
    """The control: the order of ranges is what makes the bytes equal."""
    federation = generate("fifty-broker")
    ahead = ahead_of(federation)
    network = network_of(federation, ahead)
    job = Job(network.graph, network.net, asked_of(network.graph, ahead), ahead)
    blocks = list(slices(network.graph.brokers, 3))
    made = [list(range_pieces(job, *run, blocks=blocks)) for run in blocks]
    right = list(block_tables(job, [one[0] for one in made], *blocks[0]))
    wrong = list(block_tables(job, [one[0] for one in made[::-1]], *blocks[0]))
    assert right != wrong
