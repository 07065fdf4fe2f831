"""Small random traces as files of a store, and what they hold by brute force (pandas)."""

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from ropewalk.trace.columns import KIND, stored_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SECOND = 1_000_000_000
DAY = 86_400 * SECOND
START = 1_700_000_000 * SECOND
WEIGHTS = {"publish": 4, "accepted": 4, "enqueue": 2, "forward": 1, "deliver": 5, "ack": 1}


def random_events(seed: int, rows: int = 3_000, topics: int = 12, span_s: int = 60) -> pd.DataFrame:
    """Rows as a store holds them; every third topic has no `accepted` row."""
    rng = np.random.default_rng(seed)
    names = rng.integers(-(2**62), 2**62, topics)
    topic = names[(rng.pareto(1.0, rows) * 2).astype(int) % topics]
    parts = np.array(list(WEIGHTS.values())) / sum(WEIGHTS.values())
    kind = rng.choice([KIND[name] for name in WEIGHTS], rows, p=parts)
    unaccepted = np.isin(topic, names[::3]) & (kind == KIND["accepted"])
    kind = np.where(unaccepted, KIND["publish"], kind)
    client = rng.integers(-40, 40, rows).astype(float)
    client[~np.isin(kind, [KIND["enqueue"], KIND["deliver"], KIND["ack"]])] = np.nan
    size = rng.integers(1, 1000, rows).astype(float)
    size[rng.random(rows) < 0.2] = np.nan
    events = pd.DataFrame(
        {
            "ts_ns": START + rng.integers(0, span_s * SECOND, rows),
            "node": rng.integers(1, 4, rows),
            "incarnation": 0,
            "li": np.arange(rows),
            "kind": kind,
            "topic": topic,
            "client": client,
            "size_bytes": size,
        }
    )
    return events.sort_values(["topic", "node", "incarnation", "li"], ignore_index=True)


def bytes_of(events: pd.DataFrame, row_group: int = 400) -> bytes:
    """A Parquet file of stored events."""
    schema = stored_schema("events")
    columns = []
    for one in schema:
        if one.name in events:
            values: list[Any] = [None if pd.isna(v) else int(v) for v in events[one.name]]
            columns.append(pa.array(values, one.type))
        else:
            columns.append(pa.nulls(len(events), one.type))
    out = io.BytesIO()
    table = pa.Table.from_arrays(columns, schema=schema)
    pq.write_table(table, out, compression="zstd", row_group_size=row_group)
    return out.getvalue()


def files_of(
    spark: "SparkSession", events: pd.DataFrame, buckets: int = 3, each: int = 2
) -> "DataFrame":
    """Files of a store: `each` per bucket of topic, rows dealt to them at random but in order."""
    bucket = events.topic.to_numpy() % buckets
    part = np.random.default_rng(len(events)).integers(0, each, len(events))
    rows = [
        (int(b), bytes_of(events[(bucket == b) & (part == p)]))
        for b in range(buckets)
        for p in range(each)
    ]
    return spark.createDataFrame(rows, "bucket int, content binary").repartition(4)


def messages_in(events: pd.DataFrame) -> pd.DataFrame:
    """The rows that are messages: `accepted`, or `publish` where a topic has no `accepted`."""
    accepted = events[events.kind == KIND["accepted"]]
    published = events[events.kind == KIND["publish"]]
    lacking = ~published.topic.isin(accepted.topic.unique())
    return pd.concat([accepted, published[lacking]])


def dense_counts(
    events: pd.DataFrame, topics: Sequence[int], windows: Sequence[int], window_ns: int
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Windows x topics by brute force, with zeros."""
    messages = messages_in(events)
    found = messages.groupby([messages.ts_ns // window_ns, "topic"]).size()
    return np.array([[found.get((w, t), 0) for t in topics] for w in windows], np.float64)
