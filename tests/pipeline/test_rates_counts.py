from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from ropewalk.errors import UsageError
from ropewalk.pipeline.rates import counts, topics
from ropewalk.pipeline.rates.counts import collected, loads_in, merged
from ropewalk.pipeline.rates.tally import NEEDED, TOPIC, merge, tally
from ropewalk.trace.columns import KIND

from .rates_events import SECOND, bytes_of, files_of, messages_in, random_events

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def table_of(events: pd.DataFrame) -> pa.Table:
    import io

    import pyarrow.parquet as pq

    return pq.read_table(io.BytesIO(bytes_of(events)), columns=list(NEEDED))


def counted(events: pd.DataFrame, window_ns: int) -> dict[tuple[int, int], int]:
    messages = messages_in(events)
    pairs = zip(messages.topic.tolist(), (messages.ts_ns // window_ns).tolist(), strict=True)
    return dict(Counter(pairs))


@pytest.mark.parametrize("window_s", [1, 7])
def test_counts_are_those_of_brute_force_over_many_files(
    spark: "SparkSession", window_s: int
) -> None:
    events = random_events(3)
    found = counts(files_of(spark, events), window_s * SECOND).collect()
    assert len({(row.topic, row.window) for row in found}) == len(found)
    assert {(row.topic, row.window): row.messages for row in found} == counted(
        events, window_s * SECOND
    )


def test_every_kind_of_topic_occurs_and_counting_all_publications_gives_more() -> None:
    """A control: rows of both kinds together, or `publish` alone, are other counts."""
    events = random_events(3)
    accepted = events[events.kind == KIND["accepted"]].topic.nunique()
    assert 0 < accepted < events.topic.nunique()
    right = sum(counted(events, SECOND).values())
    assert right != int(events.kind.isin([KIND["accepted"], KIND["publish"]]).sum())
    assert right != int((events.kind == KIND["publish"]).sum())


def test_figures_of_topics_are_those_of_brute_force(spark: "SparkSession") -> None:
    events = random_events(5)
    found = topics(files_of(spark, events)).toPandas().set_index("topic").sort_index()
    messages = messages_in(events)
    met = events[events.kind.isin([KIND["deliver"], KIND["enqueue"]])]
    by_topic = events.groupby("topic")
    expected = pd.DataFrame(
        {
            "messages": messages.groupby("topic").size(),
            "deliveries": events[events.kind == KIND["deliver"]].groupby("topic").size(),
            "clients": met.groupby("topic").client.nunique(),
            "bytes": messages.groupby("topic").size_bytes.sum(),
            "first_ns": by_topic.ts_ns.min(),
            "last_ns": by_topic.ts_ns.max(),
            "rows": by_topic.size(),
            "accepted": by_topic.kind.agg(lambda kinds: int((kinds == KIND["accepted"]).any())),
        },
        index=found.index,
    )
    pd.testing.assert_frame_equal(found, expected.fillna(0).astype("int64"))


def test_clients_of_several_files_are_counted_once(spark: "SparkSession") -> None:
    """A control: sums of the files' own distinct counts are more."""
    events = random_events(5)
    found = topics(files_of(spark, events)).toPandas()
    parts = [topics(files_of(spark, events[events.li % 2 == half])).toPandas() for half in (0, 1)]
    assert found.clients.sum() < sum(part.clients.sum() for part in parts)
    assert found.messages.sum() <= sum(part.messages.sum() for part in parts)


def test_loads_are_the_sums_over_topics(spark: "SparkSession") -> None:
    events = random_events(7)
    found = loads_in(merged(files_of(spark, events), SECOND)).toPandas()
    messages = messages_in(events)
    expected = messages.groupby(messages.ts_ns // SECOND).size()
    assert dict(zip(found.window, found.messages, strict=True)) == expected.to_dict()
    assert found.window.is_monotonic_increasing


def test_a_topic_in_two_buckets_is_refused(spark: "SparkSession") -> None:
    events = random_events(1, rows=200, topics=1)
    content = bytes_of(events)
    files = spark.createDataFrame([(0, content), (1, content)], "bucket int, content binary")
    one_each = merged(files, SECOND).collect()
    if len(one_each) == 1:  # both buckets came to one task: then the topic is merged, and right
        assert collected(merged(files, SECOND)).figures[0, TOPIC.index("rows")] == 400
    else:
        with pytest.raises(UsageError, match="several buckets"):
            collected(merged(files, SECOND))


def test_rows_in_any_order_and_in_any_split_give_the_same() -> None:
    events = random_events(11)
    shuffled = events.sample(frac=1, random_state=1)
    whole = merge([tally(table_of(events), SECOND)])
    parts = merge([tally(table_of(shuffled[i::5]), SECOND) for i in range(5)])
    cells = TOPIC.index("cells")
    assert (whole.figures == parts.figures).all()

    def as_set(one: object) -> set[tuple[int, int, int]]:
        owner = np.repeat(one.figures[:, 0], one.figures[:, cells])  # type: ignore[attr-defined]
        return set(zip(owner, one.windows, one.messages, strict=True))  # type: ignore[attr-defined]

    assert as_set(whole) == as_set(parts)


def test_times_before_1970_and_far_apart_are_counted() -> None:
    events = random_events(2, rows=6, topics=1)
    events["kind"] = KIND["accepted"]
    events["ts_ns"] = [-1, -SECOND, -SECOND - 1, 0, 4 * 10**18, SECOND - 1]
    found = merge([tally(table_of(events), SECOND)])
    assert dict(zip(found.windows.tolist(), found.messages.tolist(), strict=True)) == {
        -1: 2,
        -2: 1,
        0: 2,
        4 * 10**9: 1,
    }


def test_nothing_gives_nothing(spark: "SparkSession") -> None:
    files = spark.createDataFrame([], "bucket int, content binary")
    assert counts(files, SECOND).count() == 0
    assert len(collected(merged(files, SECOND)).figures) == 0
    empty = random_events(1).iloc[:0]
    assert counts(files_of(spark, empty), SECOND).count() == 0
