"""What brokers handed out is their load, wherever a plan had put it."""

import json
from typing import TYPE_CHECKING, Any

import pytest

from ropewalk.pipeline.ingest.job import ingest
from ropewalk.pipeline.observed import observed
from ropewalk.pipeline.rates import PeakRule
from ropewalk.pipeline.store import Store, open_store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NS = 1_000_000_000
START = 1_000 * NS
WORK_US = {(broker, topic): 100_000.0 for broker in ("a", "b") for topic in ("x", "y")}
EVERY = PeakRule("between", from_ns=START, until_ns=START + 4 * NS)


def rows(handed_out: list[tuple[str, str, int, int]]) -> list[dict[str, Any]]:
    """Deliveries as (node, topic, second, how many), and one row before and after them."""
    found = []
    for number, (node, topic, second, count) in enumerate(handed_out):
        found += [
            {
                "ts_ns": START + second * NS + k,
                "node": node,
                "incarnation": 1,
                "li": 1000 * number + k,
                "kind": "deliver",
                "topic": topic,
                "producer": "p",
                "pseq": 1000 * number + k,
                "client": f"{topic}@{node}",
            }
            for k in range(count)
        ]
    return found


@pytest.fixture(scope="module")
def store(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder = tmp_path_factory.mktemp("observed")
    (folder / "traces").mkdir()
    # x was handed out by a, then, when it had moved, by b; z is placed nowhere.
    counts = [("a", "x", 0, 6), ("a", "y", 0, 3), ("a", "x", 1, 9), ("b", "x", 2, 6)]
    counts += [("a", "y", 3, 1), ("a", "z", 3, 5)]
    lines = "".join(json.dumps(one) + "\n" for one in rows(counts))
    (folder / "traces" / "t.jsonl").write_text(lines)
    ingest(spark, [folder / "traces"], folder / "store")
    return open_store(folder / "store")


def test_each_broker_has_the_work_of_what_it_handed_out(
    spark: "SparkSession", store: Store
) -> None:
    limits = {"a": 0.85, "b": 0.5}
    found = observed(spark, store, WORK_US, limits, window_s=1.0, peak=EVERY)
    a, b = found["a"], found["b"]
    assert (a.over.happened, b.over.happened, a.over.windows) == (2, 1, 4)
    assert (a.largest, b.largest) == (0.9, 0.6)
    assert a.mean == pytest.approx((0.9 + 0.9 + 0.1) / 4)
    assert found.anywhere is not None
    assert found.anywhere.happened == 3
    assert (found.messages, found.unplaced_messages) == (30, 5)


def test_only_the_chosen_windows_count(spark: "SparkSession", store: Store) -> None:
    late = PeakRule("between", from_ns=START + 2 * NS, until_ns=START + 4 * NS)
    found = observed(spark, store, WORK_US, {"a": 0.85, "b": 0.5}, window_s=1.0, peak=late)
    assert (found["a"].over.happened, found["b"].over.happened) == (0, 1)
    assert found.windows == 2
