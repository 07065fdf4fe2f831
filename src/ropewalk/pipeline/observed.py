"""What each broker really handed to clients in a recorded trace, as load, window by window.

`replay` says what brokers would have had to do under a placement; here the `deliver` rows say which
broker did it, wherever a plan, a failure or the clients themselves had put them. Deliveries that
were made again count: they are work.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from ropewalk.pipeline.rates.job import window_ns_of
from ropewalk.pipeline.rates.peaks import PeakRule
from ropewalk.pipeline.replay import (
    MOST_US,
    PS_PER_US,
    Replay,
    Work,
    chosen_windows,
    loads_of,
    spans_of_topics,
)
from ropewalk.pipeline.shares import LEVEL
from ropewalk.pipeline.store import Store
from ropewalk.trace.columns import KIND
from ropewalk.trace.ids import ids_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COSTS = pa.schema(
    [("node", pa.int64()), ("topic", pa.int64()), ("broker", pa.int32()), ("work_ps", pa.int64())]
)
"""What it costs a broker to hand out one message of a topic."""


def observed(
    spark: "SparkSession",
    store: Store,
    work_us: Work,
    limits: Mapping[str, float],
    *,
    window_s: float,
    peak: PeakRule,
    level: float = LEVEL,
) -> Replay:
    """Utilisation of brokers over the chosen windows, by what they delivered.

    `work_us` is what one delivery costs, by (broker, topic); deliveries without a cost are counted
    as `unplaced`. Raises UsageError for a trace with nothing to count.
    """
    window_ns = window_ns_of(window_s)
    rows, brokers = store.frame(spark, "events"), sorted(limits)
    spans = spans_of_topics(rows)
    costs = spark.createDataFrame(_costs(work_us, brokers))
    work = _by_window(rows, costs, window_ns).persist()
    try:
        chosen = chosen_windows(work, spans, window_ns, peak)
        found = loads_of(spark, work, chosen, brokers, limits, window_s, level)
    finally:
        work.unpersist()
    return found


def _costs(work_us: Work, brokers: list[str]) -> pa.Table:
    number = {broker: place for place, broker in enumerate(brokers)}
    topics = sorted({topic for _, topic in work_us})
    node = dict(zip(brokers, ids_of(brokers).tolist(), strict=True))
    topic_id = dict(zip(topics, ids_of(topics).tolist(), strict=True))
    rows = [
        {
            "node": node[broker],
            "topic": topic_id[topic],
            "broker": number[broker],
            "work_ps": round(min(cost, MOST_US) * PS_PER_US),
        }
        for (broker, topic), cost in work_us.items()
    ]
    return pa.Table.from_pylist(rows, schema=COSTS)


def _by_window(events: "DataFrame", costs: "DataFrame", window_ns: int) -> "DataFrame":
    """Deliveries and their work of each broker and window: broker, window, messages, work_ps."""
    from pyspark.sql import functions as f

    window = f"(ts_ns - pmod(ts_ns, {window_ns})) div {window_ns}"
    return (
        events.where(f.col("kind") == KIND["deliver"])
        .select("node", "topic", f.expr(window).alias("window"))
        .join(f.broadcast(costs), ["node", "topic"], "left")
        .fillna({"broker": -1, "work_ps": 0})
        .groupBy("broker", "window")
        .agg(f.count("*").alias("messages"), f.sum("work_ps").alias("work_ps"))
    )
