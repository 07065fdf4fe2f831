import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ropewalk.errors import UsageError
from ropewalk.pipeline.rates import PeakRule, load_covariance, rates
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
