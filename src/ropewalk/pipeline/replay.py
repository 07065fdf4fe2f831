"""Replay: what each broker would have had to do in a recorded trace, had topics been placed so.

Rows are counted by plain Spark DataFrame operations, in another way than the rates job does: so
it is a check of a plan that was made from rates. Windows without messages are zeros and count.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ropewalk.errors import UsageError
from ropewalk.federation.facts import Performance
from ropewalk.pipeline.rates.grid import Reals
from ropewalk.pipeline.rates.job import window_ns_of
from ropewalk.pipeline.rates.peaks import Loads, Peak, PeakRule, peak_of
from ropewalk.pipeline.rates.stats import Stats
from ropewalk.pipeline.rates.tally import Longs
from ropewalk.pipeline.shares import LEVEL, Share, share_of
from ropewalk.pipeline.store import Store
from ropewalk.trace.columns import KIND
from ropewalk.trace.ids import ids_of

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

Placement = Mapping[str, str]
"""The broker of each topic, by names."""
Work = Mapping[tuple[str, str], float]
"""What a message costs, in us: by (broker, topic)."""

PS_PER_US = 1_000_000
PS_PER_S = 1_000_000_000_000
"""Work is summed in whole picoseconds: no order of sums can move a window over its limit."""

MOST_US = 1e6
NOWHERE = -1
"""The broker of topics that are placed on none."""

PLAN = pa.schema(
    [("topic", pa.int64()), ("kind", pa.int8()), ("broker", pa.int32()), ("work_ps", pa.int64())]
)
"""Of each topic: which rows are its messages, where they go, and what one costs there."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """A broker's load: utilisation is the part of a window's time that its messages take."""

    broker: str
    topics: int
    """Topics with messages in the trace that are placed there."""
    limit: float
    over: Share
    """Windows in which the utilisation is above the limit."""
    mean: float
    sd: float
    largest: float

    def row(self) -> dict[str, Any]:
        """A record, as a table has it."""
        told = asdict(self)
        over = told.pop("over")
        return {
            **told,
            "windows": over["windows"],
            "windows_over": over["happened"],
            "share": self.over.share,
            "low": over["low"],
            "high": over["high"],
            "effective_windows": over["effective_windows"],
        }


@dataclass(frozen=True, slots=True)
class Replay:
    """What a trace would have been under a placement."""

    brokers: tuple[Replayed, ...]
    """By name; also those that have no topic."""
    windows: int
    window_s: float
    peak: str
    level: float
    messages: int
    """In the windows that count, with those of topics that are placed nowhere."""
    unplaced: tuple[str, ...] = ()
    """Topics with messages in the trace that are placed nowhere: their work is in no broker's."""
    unplaced_messages: int = 0
    """Their messages in the windows that count."""
    silent: tuple[str, ...] = ()
    """Topics that are placed and have no message in the trace."""
    anywhere: Share | None = None
    """Windows in which at least one broker was above its limit."""

    def __getitem__(self, broker: str) -> Replayed:
        for one in self.brokers:
            if one.broker == broker:
                return one
        raise UsageError(f"there is no broker {broker!r} in the placement, nor a limit for it")

    def frame(self) -> "pd.DataFrame":
        """A row per broker."""
        import pandas as pd

        return pd.DataFrame([one.row() for one in self.brokers])


def replay(
    spark: "SparkSession",
    events: "Store | DataFrame",
    placement: Placement,
    work_us: Work,
    limits: Mapping[str, float],
    *,
    window_s: float = 1.0,
    peak: PeakRule | None = None,
    names: Mapping[int, str] | None = None,
    level: float = LEVEL,
) -> Replay:
    """Utilisation of brokers over the peak windows of a trace, with topics placed so.

    `events` is a store or its table of events; `names` are those of topics by id, by default the
    store's. The windows are those that the rates job takes for the same `window_s` and `peak`.
    Raises UsageError for a placed topic without a cost, a broker without a limit, and a trace
    with nothing to count.
    """
    window_ns = window_ns_of(window_s)
    _check(placement, work_us, limits)
    rows, called = _opened(spark, events, placement, names)
    topics = spans_of_topics(rows)
    brokers = sorted({*placement.values(), *limits})
    plan = _plan(topics, called, placement, work_us, brokers)
    work = work_by_window(rows, spark.createDataFrame(plan), window_ns).persist()
    try:
        chosen = chosen_windows(work, topics, window_ns, peak or PeakRule())
        found = loads_of(spark, work, chosen, brokers, limits, window_s, level)
    finally:
        work.unpersist()
    names_of = [called.get(topic, str(topic)) for topic in plan["topic"].to_pylist()]
    places = plan["broker"].to_numpy()
    lost = tuple(sorted(n for n, at in zip(names_of, places, strict=True) if at == NOWHERE))
    counted = tuple(
        replace(one, topics=int((places == number).sum()))
        for number, one in enumerate(found.brokers)
    )
    silent = tuple(sorted(set(placement) - set(names_of)))
    return replace(found, brokers=counted, unplaced=lost, silent=silent)


def loads_of(
    spark: "SparkSession",
    work: "DataFrame",
    chosen: Peak,
    brokers: Sequence[str],
    limits: Mapping[str, float],
    window_s: float,
    level: float,
) -> Replay:
    """The loads of brokers, which are numbered in this order, over the windows that count."""
    found = _within(spark, work, chosen)
    work_ps = [_series(found, number, chosen) for number in range(len(brokers))]
    loads = tuple(
        _replayed(broker, series, window_s, limits[broker], level)
        for broker, series in zip(brokers, work_ps, strict=True)
    )
    over = [
        series > _most_ps(limits[broker], window_s)
        for broker, series in zip(brokers, work_ps, strict=True)
    ]
    share = np.sum(work_ps, axis=0) / (window_s * PS_PER_S)
    messages, of_broker = found["messages"].to_numpy(), found["broker"].to_numpy()
    return Replay(
        loads,
        chosen.windows,
        window_s,
        chosen.rule.text,
        level,
        int(messages.sum()),
        unplaced_messages=int(messages[of_broker == NOWHERE].sum()),
        anywhere=share_of(np.any(over, axis=0), share, level=LEVEL),
    )


def costs_us(placement: Placement, brokers: Mapping[str, Performance], stats: Stats) -> Work:
    """What a message of each placed topic costs its broker, by what is known of both.

    Raises UsageError for a broker or topic of which nothing is known.
    """
    known = {name: place for place, name in enumerate(stats.names)}
    costs: dict[tuple[str, str], float] = {}
    for topic, broker in placement.items():
        if topic not in known:
            raise UsageError(f"topic {topic} is placed, and there are no rates of it: leave it out")
        if broker not in brokers:
            raise UsageError(f"broker {broker} has no capacity: calibrate it, or write one")
        at = known[topic]
        costs[broker, topic] = brokers[broker].service_us(
            filters=float(stats.filters[at]), replication=float(stats.replication[at])
        )
    return costs


def work_by_window(events: "DataFrame", plan: "DataFrame", window_ns: int) -> "DataFrame":
    """Messages and work of each broker and window: broker, window, messages, work_ps."""
    from pyspark.sql import functions as f

    window = f"(ts_ns - pmod(ts_ns, {window_ns})) div {window_ns}"  # rounded down, also before 1970
    return (
        events.select("topic", "kind", f.expr(window).alias("window"))
        .join(f.broadcast(plan), ["topic", "kind"])
        .groupBy("broker", "window")
        .agg(f.count("*").alias("messages"), f.sum("work_ps").alias("work_ps"))
    )


def _opened(
    spark: "SparkSession",
    events: "Store | DataFrame",
    placement: Placement,
    names: Mapping[int, str] | None,
) -> tuple["DataFrame", dict[int, str]]:
    """The rows, and names of topics by id; what is placed has the ids of its names."""
    known = dict(zip(ids_of(placement).tolist(), placement, strict=True))
    if isinstance(events, Store):
        return events.frame(spark, "events"), known | dict(names or events.names("topic"))
    return events, known | dict(names or {})


def spans_of_topics(events: "DataFrame") -> pa.Table:
    """Of each topic, whether it has accepted and published rows, and its first and last time."""
    from pyspark.sql import functions as f

    return (
        events.where("topic is not null")
        .groupBy("topic")
        .agg(
            f.bool_or(f.col("kind") == KIND["accepted"]).alias("accepted"),
            f.bool_or(f.col("kind") == KIND["publish"]).alias("published"),
            f.min("ts_ns").alias("first_ns"),
            f.max("ts_ns").alias("last_ns"),
        )
        .orderBy("topic")
        .toArrow()
    )


def _plan(
    topics: pa.Table,
    called: Mapping[int, str],
    placement: Placement,
    work_us: Work,
    brokers: list[str],
) -> pa.Table:
    """PLAN of the topics that have messages."""
    number = {broker: place for place, broker in enumerate(brokers)}
    rows = []
    for one in topics.to_pylist():
        if not (one["accepted"] or one["published"]):
            continue
        name = called.get(one["topic"], str(one["topic"]))
        broker = placement.get(name)
        rows.append(
            {
                "topic": one["topic"],
                "kind": KIND["accepted" if one["accepted"] else "publish"],
                "broker": NOWHERE if broker is None else number[broker],
                "work_ps": 0 if broker is None else round(work_us[broker, name] * PS_PER_US),
            }
        )
    return pa.Table.from_pylist(rows, schema=PLAN)


def chosen_windows(work: "DataFrame", topics: pa.Table, window_ns: int, rule: PeakRule) -> Peak:
    """The windows that count, by the messages of all topics, placed or not."""
    found = work.groupBy("window").sum("messages").orderBy("window").toArrow()
    if not len(found):
        raise UsageError("no message in the trace: nothing to replay; ingest publications first")
    first = min(topics["first_ns"].to_pylist()) // window_ns
    last = max(topics["last_ns"].to_pylist()) // window_ns
    windows, messages = (column.to_numpy() for column in found.columns)
    chosen = peak_of(Loads(window_ns, first, last, windows, messages), rule)
    if chosen.windows < 2:
        raise UsageError(
            f"{chosen.windows} window(s) counted, a share of them needs two: take shorter windows "
            "or another peak rule"
        )
    return chosen


def _within(spark: "SparkSession", work: "DataFrame", chosen: Peak) -> pa.Table:
    """The rows of windows that count."""
    from pyspark.sql import functions as f

    ranges = zip(chosen.starts.tolist(), chosen.stops.tolist(), strict=True)
    windows = np.concatenate([np.arange(start, stop) for start, stop in ranges])
    counted = spark.createDataFrame(pa.table({"window": windows}))
    return work.join(f.broadcast(counted), "window", "left_semi").toArrow()


def _series(found: pa.Table, broker: int, chosen: Peak) -> Longs:
    """A broker's work in every window that counts, in order of time, in ps."""
    own = found["broker"].to_numpy() == broker
    series = np.zeros(chosen.windows, np.int64)
    series[chosen.places(found["window"].to_numpy()[own])] = found["work_ps"].to_numpy()[own]
    return series


def _replayed(broker: str, work_ps: Longs, window_s: float, limit: float, level: float) -> Replayed:
    utilisation: Reals = work_ps / (window_s * PS_PER_S)
    over = work_ps > _most_ps(limit, window_s)
    return Replayed(
        broker,
        0,
        limit,
        share_of(over, utilisation, level=level),
        float(utilisation.mean()),
        float(utilisation.std(ddof=1)),
        float(utilisation.max()),
    )


def _most_ps(limit: float, window_s: float) -> int:
    """The work that a window has room for."""
    return round(limit * window_s * PS_PER_S)


def _check(placement: Placement, work_us: Work, limits: Mapping[str, float]) -> None:
    """Raise UsageError for a broker without a limit, a topic without a cost, or no numbers."""
    for topic, broker in placement.items():
        if broker not in limits:
            raise UsageError(f"broker {broker} has topic {topic} and no limit: give it one")
        cost = work_us.get((broker, topic))
        if cost is None:
            raise UsageError(
                f"topic {topic} is placed on {broker}, and what a message of it costs there is not "
                "given: give it in us"
            )
        if not 0 <= cost <= MOST_US:
            raise UsageError(
                f"topic {topic} costs {broker} {cost} us a message: write a number from 0 to "
                f"{MOST_US:g}"
            )
    for broker, limit in limits.items():
        if not 0 < limit < 1e3:
            raise UsageError(f"broker {broker} has the limit {limit}: write a part, as 0.7")
