"""A replayed trace gives each broker exactly the work that its topics had, window by window."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from ropewalk.errors import UsageError
from ropewalk.federation.facts import Performance
from ropewalk.pipeline.generate import generate
from ropewalk.pipeline.ingest.job import ingest
from ropewalk.pipeline.rates import PeakRule, load_stats, rates
from ropewalk.pipeline.rates.grid import Reals
from ropewalk.pipeline.replay import Replay, costs_us, replay
from ropewalk.pipeline.shares import share_of
from ropewalk.pipeline.store import Store, open_store
from ropewalk.trace.columns import KIND

from .rates_events import SECOND, messages_in, random_events

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.timeout(300)

Costs = Mapping[tuple[str, str], float]


def table_of(spark: "SparkSession", events: pd.DataFrame) -> "DataFrame":
    rows = events[["ts_ns", "kind", "topic"]].astype({"kind": "int8"})
    return spark.createDataFrame(rows)


def by_hand(
    messages: pd.DataFrame, placement: Mapping[str, str], work_us: Costs, windows: list[int]
) -> dict[str, Reals]:
    """Seconds of work by broker and window of one second; messages have `name` and `window`."""
    place = {window: at for at, window in enumerate(windows)}
    found = {broker: np.zeros(len(windows)) for broker in {*placement.values()}}
    for name, window in zip(messages.name, messages.window, strict=True):
        if window in place and name in placement:
            broker = placement[name]
            found[broker][place[window]] += work_us[broker, name] / 1e6
    return found


def assert_same(found: Replay, expected: Mapping[str, Reals], limits: Mapping[str, float]) -> None:
    assert [one.broker for one in found.brokers] == sorted(limits)
    for broker, series in expected.items():
        one, limit = found[broker], limits[broker]
        over = series > limit + 1e-12
        assert (one.over.windows, one.over.happened) == (len(series), over.sum())
        assert one.over == share_of(over, series)
        assert one.mean == pytest.approx(series.mean())
        assert one.sd == pytest.approx(series.std(ddof=1))
        assert one.largest == pytest.approx(series.max())


@pytest.fixture(scope="module")
def store(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder = tmp_path_factory.mktemp("replay") / "t"
    generate(spark, folder, events=2e4, faults=[], seed=5, hours=0.5, topics=40)
    ingest(spark, [folder / "traces"], folder / "store")
    return open_store(folder / "store")


@pytest.fixture(scope="module")
def plan(store: Store) -> dict[str, Any]:
    """Topics of the store dealt to three brokers at random, with costs of their own."""
    rng = np.random.default_rng(8)
    brokers = ["lon", "fra", "par"]
    names = sorted(store.names("topic").values())
    placement = {name: brokers[rng.integers(3)] for name in names}
    work_us = {(b, name): float(rng.uniform(100, 4e4)) for name in names for b in brokers}
    return {
        "placement": placement,
        "work_us": work_us,
        "limits": {"lon": 0.3, "fra": 0.25, "par": 0.35},
    }


def test_a_generated_trace_is_replayed_as_by_hand(
    spark: "SparkSession", store: Store, plan: dict[str, Any]
) -> None:
    found = replay(spark, store, **plan, peak=PeakRule("all"))

    columns = ["ts_ns", "kind", "topic"]
    rows = pd.concat(pq.ParquetFile(p).read(columns).to_pandas() for p in store.paths("events"))
    messages = messages_in(rows)
    messages = messages.assign(
        name=messages.topic.map(store.names("topic")), window=messages.ts_ns // SECOND
    )
    windows = list(range(rows.ts_ns.min() // SECOND, rows.ts_ns.max() // SECOND + 1))
    expected = by_hand(messages, plan["placement"], plan["work_us"], windows)
    assert_same(found, expected, plan["limits"])
    assert (found.messages, found.unplaced, found.unplaced_messages) == (len(messages), (), 0)
    assert 0 < sum(one.over.happened for one in found.brokers) < len(windows)
    assert sum(one.topics for one in found.brokers) == messages.name.nunique()

    # A control: one topic on another broker is not the same.
    busiest = messages.name.value_counts().index[0]
    other = next(broker for broker in plan["limits"] if broker != plan["placement"][busiest])
    moved = {**plan, "placement": {**plan["placement"], busiest: other}}
    again = replay(spark, store, **moved, peak=PeakRule("all"))
    assert again[other].mean > found[other].mean
    with pytest.raises(AssertionError):
        assert_same(again, expected, plan["limits"])


def test_means_and_deviations_are_those_of_the_rates(
    spark: "SparkSession", store: Store, plan: dict[str, Any], tmp_path: Path
) -> None:
    """Two ways to count: sums of the rates' means, and of their covariance, over a broker."""
    rule = PeakRule("quantile", quantile=0.5)
    names = store.names("topic")
    made = rates(store.contents(spark), window_s=2, peak=rule, names=names, precision="float64")
    made.save(tmp_path / "rates")
    stats = load_stats(tmp_path / "rates")
    brokers = {
        broker: Performance(receive_us=50, filter_us=0.2, send_us=16) for broker in plan["limits"]
    }
    placement = {name: broker for name, broker in plan["placement"].items() if name in stats.names}
    work_us = costs_us(placement, brokers, stats)
    found = replay(spark, store, placement, work_us, plan["limits"], window_s=2, peak=rule)
    assert found.windows == stats.windows
    for broker in brokers:
        here = [work_us.get((broker, name), 0) / 1e6 for name in stats.names]
        assert found[broker].mean == pytest.approx(here @ stats.mean_msgs_s)
        assert found[broker].sd == pytest.approx(np.sqrt(here @ stats.dense() @ here))


def test_windows_without_messages_unplaced_and_silent_topics_are_told(
    spark: "SparkSession",
) -> None:
    """Topics counted by `publish` or `accepted`, two days, the busiest hour of each."""
    events = random_events(21, rows=9_000, span_s=7_000)
    events["ts_ns"] += 76_000 * SECOND * (events.li % 3 == 0)
    names = {topic: f"t/{i}" for i, topic in enumerate(sorted(events.topic.unique()))}
    messages = messages_in(events)
    messages = messages.assign(name=messages.topic.map(names), window=messages.ts_ns // SECOND)
    assert (messages.kind == KIND["publish"]).any()
    assert (messages.kind == KIND["accepted"]).any()
    hours = messages.groupby(messages.ts_ns // (3600 * SECOND)).size()
    chosen = [
        hours[hours.index // 24 == day].idxmax() for day in sorted({h // 24 for h in hours.index})
    ]
    first, last = events.ts_ns.min() // SECOND, events.ts_ns.max() // SECOND
    windows = [w for h in chosen for w in range(h * 3600, (h + 1) * 3600) if first <= w <= last]

    placement = {name: f"b{i % 2}" for i, name in enumerate(names.values()) if i > 1}
    placement["never"] = "b0"
    work_us = {(broker, name): 2e5 for name, broker in placement.items()}
    limits = {"b0": 0.2, "b1": 0.4, "idle": 0.5}
    found = replay(spark, table_of(spark, events), placement, work_us, limits, names=names)
    assert_same(found, by_hand(messages, placement, work_us, windows), limits)
    lost = messages[messages.name.isin(["t/0", "t/1"]) & messages.window.isin(windows)]
    assert found.unplaced == ("t/0", "t/1")
    assert (found.unplaced_messages, found.silent) == (len(lost), ("never",))
    assert found.messages == messages.window.isin(windows).sum()
    idle = found["idle"]
    assert (idle.topics, idle.over.happened, idle.largest) == (0, 0, 0)
    assert found["b0"].over.happened > 0  # one message is at the limit, two are over it
    assert found.frame().set_index("broker").windows_over["b0"] == found["b0"].over.happened

    # A control: one message is exactly the limit, so a little less lets all of them over.
    less = replay(
        spark, table_of(spark, events), placement, work_us, {**limits, "b0": 0.1999}, names=names
    )
    assert less["b0"].over.happened > found["b0"].over.happened


def test_what_cannot_be_replayed_is_refused(
    spark: "SparkSession", store: Store, plan: dict[str, Any]
) -> None:
    topic, broker = next(iter(plan["placement"].items()))
    for other, told in (
        ({"limits": {}}, "and no limit"),
        ({"limits": {**plan["limits"], broker: 0}}, "write a part"),
        ({"work_us": {}}, f"topic {topic} is placed on {broker}"),
        ({"work_us": {**plan["work_us"], (broker, topic): np.nan}}, "write a number from 0"),
        ({"window_s": 0}, "positive number of seconds"),
        ({"window_s": 1e7}, "needs two"),
        ({"level": 95}, "level 95"),
    ):
        with pytest.raises(UsageError, match=told):
            replay(spark, store, **{**plan, **other})
    quiet = random_events(3, rows=50)
    quiet["kind"] = KIND["deliver"]
    with pytest.raises(UsageError, match="no message in the trace"):
        replay(spark, table_of(spark, quiet), **plan)
    with pytest.raises(UsageError, match="no broker 'x'"):
        Replay((), 2, 1.0, "", 0.95, 0, (), 0, ())["x"]
