"""Messages per topic and window, added up as rows come, and told when a window is closed.

A topic's messages are its `accepted` rows, or its `publish` rows where it has no `accepted` one.
Which of the two holds is decided on closed windows only, so that the answer after each batch is
the one that a batch job gives on the rows of these windows.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ropewalk.pipeline.audit.coding import Longs
from ropewalk.pipeline.audit.rows import ACCEPTED, PUBLISH
from ropewalk.pipeline.batches import Batches, batch, parquet_files, rows
from ropewalk.pipeline.ingest.packing import as_bytes, from_bytes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

COUNTED = "bucket int, latest bigint, content binary"
ARROW_COUNTED = pa.schema(
    [("bucket", pa.int32()), ("latest", pa.int64()), ("content", pa.binary())]
)
"""Of each file: the latest end of a publication (`ts_ns + clock_err_ns`), and its counts."""

COUNTS = pa.schema([(name, pa.int64()) for name in ("topic", "window", "accepted", "published")])
"""Rows per topic and window, which is `ts_ns // window_ns`."""
WINDOWS = COUNTS.append(pa.field("told", pa.int64()))
"""The same with what was told of the window last; null if nothing was."""
RATES = pa.schema([(name, pa.int64()) for name in ("topic", "window", "messages")])

NEEDED = ("topic", "ts_ns", "clock_err_ns", "kind")
CLOSED, CORRECTED = "closed", "corrected"


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """What new files hold: counts (COUNTS), and by bucket the latest end of a publication."""

    counts: pa.Table
    latest: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class WindowChange:
    """What is told of a window; `messages` is its new total."""

    op: str
    topic: int
    window: int
    messages: int


def count_windows(files: "DataFrame", window_ns: int) -> "DataFrame":
    """Files of events (bucket, content) as COUNTED; no row crosses between Java and Python."""

    def run(batches: Batches) -> Batches:
        for bucket, content in rows(batches):
            latest, counts = counts_of(content, window_ns)
            if len(counts):
                yield batch(ARROW_COUNTED, (bucket, latest, as_bytes(counts)))

    return files.mapInArrow(run, COUNTED)


def counts_of(content: bytes, window_ns: int) -> tuple[int, pa.Table]:
    """The counts of a file, and the latest end of a publication in it."""
    tables = [one.read(columns=list(NEEDED), use_threads=False) for one in parquet_files(content)]
    table = pa.concat_tables(tables)
    topic, ts, error, kind = (table[name].to_numpy() for name in NEEDED)
    chosen = (kind == ACCEPTED) | (kind == PUBLISH)
    if not chosen.any():
        return 0, COUNTS.empty_table()
    topic, window, kind = topic[chosen], ts[chosen] // window_ns, kind[chosen]
    return int((ts + error)[chosen].max()), _counts(topic, window, kind == ACCEPTED)


def _counts(topic: Longs, window: Longs, accepted: Longs) -> pa.Table:
    order = np.lexsort((window, topic))
    topic, window, accepted = topic[order], window[order], accepted[order].astype(np.int64)
    new = np.ones(len(order), np.bool_)
    new[1:] = (topic[1:] != topic[:-1]) | (window[1:] != window[:-1])
    first = np.flatnonzero(new)
    taken = np.add.reduceat(accepted, first)
    size = np.diff(np.append(first, len(order)))
    return pa.table([topic[first], window[first], taken, size - taken], schema=COUNTS)


def counted(found: pa.Table) -> Counted:
    """COUNTED, collected, as one."""
    latest: dict[int, int] = {}
    for bucket, one in zip(found["bucket"].to_pylist(), found["latest"].to_pylist(), strict=True):
        latest[bucket] = max(one, latest.get(bucket, one))
    tables = [from_bytes(one.as_buffer()) for one in found["content"]]
    return Counted(pa.concat_tables([COUNTS.empty_table(), *tables]), latest)


def added(windows: pa.Table, counts: pa.Table) -> pa.Table:
    """WINDOWS with new COUNTS added."""
    if not len(counts):
        return windows
    new = counts.append_column(WINDOWS.field("told"), pa.nulls(len(counts), pa.int64()))
    groups = pa.concat_tables([windows, new]).group_by(["topic", "window"], use_threads=False)
    sums = groups.aggregate([("accepted", "sum"), ("published", "sum"), ("told", "max")])
    columns = ("topic", "window", "accepted_sum", "published_sum", "told_max")
    return pa.table([sums[name] for name in columns], schema=WINDOWS)


def told(
    windows: pa.Table, window_ns: int, before_ns: int, watermark_ns: int
) -> tuple[pa.Table, list[WindowChange]]:
    """WINDOWS as they are told now, and what is new in that.

    A window that the watermark `before_ns` had closed is corrected; others are closed now.
    """
    columns = {name: windows[name] for name in WINDOWS.names}
    topic, window = columns["topic"].to_numpy(), columns["window"].to_numpy()
    ends = (window + 1) * window_ns
    now = messages(windows, window_ns, watermark_ns)
    last = pc.fill_null(columns["told"], 0).to_numpy()
    changed = np.flatnonzero((ends <= watermark_ns) & (now != last))
    order = changed[np.lexsort((topic[changed], window[changed]))]
    changes = [
        WindowChange(
            CORRECTED if ends[at] <= before_ns else CLOSED,
            int(topic[at]),
            int(window[at]),
            int(now[at]),
        )
        for at in order
    ]
    fresh = pa.array(now, mask=(ends > watermark_ns) | ((now == 0) & (last == 0)))
    return windows.set_column(4, "told", fresh), changes


def messages(windows: pa.Table, window_ns: int, watermark_ns: int) -> Longs:
    """Messages of each window that is closed; 0 for others."""
    topic, window, accepted, published = (windows[name].to_numpy() for name in COUNTS.names)
    closed = (window + 1) * window_ns <= watermark_ns
    custody = np.unique(topic[closed & (accepted > 0)])
    return np.where(closed, np.where(np.isin(topic, custody), accepted, published), 0)


def rates(windows: pa.Table) -> pa.Table:
    """Closed windows with messages, as they were told (RATES)."""
    chosen = windows.filter(pc.greater(pc.fill_null(windows["told"], 0), 0))
    table = pa.table([chosen[name] for name in ("topic", "window", "told")], schema=RATES)
    return table.sort_by([("window", "ascending"), ("topic", "ascending")])
