import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.parquet as pq
import pytest

from ropewalk.errors import UsageError
from ropewalk.pipeline.rates import PeakRule, load_covariance, load_stats, rates
from ropewalk.pipeline.rates.job import RATES_FILES
from ropewalk.trace.columns import KIND

from .rates_events import SECOND, dense_counts, files_of, messages_in, random_events

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_rates_of_a_trace_are_those_of_brute_force(spark: "SparkSession", tmp_path: Path) -> None:
    """A trace over two UTC days, a few minutes each, with the busiest hour of each."""
    events = random_events(21, rows=4_000, span_s=7_000)
    events["ts_ns"] += 76_000 * SECOND * (events.li % 3 == 0)
    names = {topic: f"t/{i}" for i, topic in enumerate(sorted(events.topic.unique()))}
    found = rates(
        files_of(spark, events),
        window_s=10,
        precision="float64",
        factors=2,
        names=names,
        items={"pair": ["t/0", "t/1"]},
    )

    messages = messages_in(events)
    hours = messages.groupby(messages.ts_ns // (3600 * SECOND)).size()
    chosen = [
        hours[hours.index // 24 == day].idxmax() for day in sorted({h // 24 for h in hours.index})
    ]
    first, last = events.ts_ns.min() // (10 * SECOND), events.ts_ns.max() // (10 * SECOND)
    windows = [w for h in chosen for w in range(h * 360, (h + 1) * 360) if first <= w <= last]
    counts = dense_counts(events, found.covariance.topics.tolist(), windows, 10 * SECOND)

    assert len(chosen) > 1
    assert found.covariance.windows == found.peak.windows == len(windows)
    assert np.allclose(found.covariance.mean, counts.mean(0))
    assert np.allclose(found.covariance.dense(), np.cov(counts, rowvar=False))
    assert found.summary["rows"] == len(events)
    assert found.summary["messages"] == len(messages)
    assert found.summary["windows"] == last - first + 1
    assert np.isclose(found.summary["mean_total_rate_msgs_s"], counts.sum() / len(windows) / 10)
    assert found.items is not None
    assert np.isclose(found.items.mean.sum(), counts.sum(1).mean())
    delivered = events[(events.kind == KIND["deliver"])].groupby("topic").size()
    pair = sorted(events.topic.unique())[:2]
    grade = delivered.reindex(pair).sum() / messages.topic.isin(pair).sum()
    assert np.isclose(found.items.grade[0], grade)

    found.save(tmp_path / "rates")
    kept = load_covariance(tmp_path / "rates")
    assert (kept.dense() == found.covariance.dense()).all()
    assert kept.about["peak"] == "the busiest hour of each UTC day"
    assert json.loads((tmp_path / "rates" / "rates.json").read_text())["rows"] == len(events)
    assert {one.name for one in (tmp_path / "rates").iterdir()} == set(RATES_FILES)
    topics = pq.read_table(tmp_path / "rates" / "topics.parquet")
    assert dict(zip(topics["topic"].to_pylist(), topics["name"].to_pylist(), strict=True)) == names

    stats = load_stats(tmp_path / "rates")
    assert stats.names == tuple(names[topic] for topic in found.covariance.topics.tolist())
    assert (stats.window_s, stats.windows) == (10, len(windows))
    assert np.allclose(stats.mean_msgs_s, counts.mean(0) / 10)
    assert np.allclose(stats.dense(), np.cov(counts / 10, rowvar=False))
    assert np.allclose(stats.block([1, 0], slice(2, 5)), stats.dense()[[1, 0], 2:5])
    assert stats.loadings is not None
    assert stats.own is not None
    assert np.allclose((stats.loadings**2).sum(1) + stats.own, stats.variance)
    grades = delivered.reindex(found.covariance.topics).fillna(0).to_numpy()
    carried = messages.groupby("topic").agg(n=("kind", "size"), size=("size_bytes", "sum"))
    carried = carried.reindex(found.covariance.topics)
    assert np.allclose(stats.replication, grades / carried.n)
    assert np.allclose(stats.message_bytes, carried["size"] / carried.n)
    assert stats.counts is not None
    full = np.zeros_like(counts)
    full[found.peak.places(stats.counts.at)] = stats.counts.matrix(len(stats.names)).toarray()
    assert (full == counts).all()
    assert [windows[place] for place in found.peak.places(stats.counts.at)] == list(stats.counts.at)
    assert len(stats.counts.at) < len(windows)  # some had no message, and are known to be there


def test_topics_without_a_name_are_called_by_their_id(spark: "SparkSession") -> None:
    found = rates(files_of(spark, random_events(4)), peak=PeakRule("all"))
    assert found.topics["name"].to_pylist() == list(map(str, found.topics["topic"].to_pylist()))


def test_the_windows_of_a_grid_are_only_those_with_messages(spark: "SparkSession") -> None:
    events = random_events(4)
    found = rates(files_of(spark, events), peak=PeakRule("all"), most_topics=2)
    kept = messages_in(events)
    kept = kept[kept.topic.isin(found.grid.topics)]
    assert found.grid.at.tolist() == sorted((kept.ts_ns // SECOND).unique())
    assert (np.diff(found.grid.starts) > 0).all()


def test_topics_beyond_the_limit_are_left_out_and_counted(spark: "SparkSession") -> None:
    events = random_events(4)
    found = rates(files_of(spark, events), peak=PeakRule("all"), most_topics=5)
    sizes = messages_in(events).groupby("topic").size().sort_values(ascending=False)
    assert found.covariance.topics.tolist() == sizes.index[:5].tolist()
    assert found.summary["topics_left_out"] == len(sizes) - 5
    assert found.summary["messages_left_out"] == sizes.iloc[5:].sum()
    assert found.items is None


def test_what_cannot_be_counted_is_refused(spark: "SparkSession") -> None:
    events = random_events(4, rows=100)
    files = files_of(spark, events, buckets=1, each=1)
    quiet = files_of(spark, events[events.kind == KIND["deliver"]], buckets=1, each=1)
    with pytest.raises(UsageError, match="no message in the trace"):
        rates(quiet)
    with pytest.raises(UsageError, match="a covariance needs two"):
        rates(files, window_s=3600 * 24)
    with pytest.raises(UsageError, match="positive number of seconds"):
        rates(files, window_s=0)
    with pytest.raises(UsageError, match="write 1 or more"):
        rates(files, most_topics=0)
