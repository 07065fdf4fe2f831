"""The job: stored events to means and covariances of topics in peak periods.

Named steps: counts (Spark), loads per window, peak, cells of the peak (Spark), grid, covariance
(Spark), factors, items. Files are decoded once: the counts are kept while the job runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ropewalk.errors import UsageError
from ropewalk.pipeline.folders import save_folder
from ropewalk.pipeline.rates.counts import MERGE_TASKS, cells_in, collected, loads_in, merged
from ropewalk.pipeline.rates.covariance import (
    FILES,
    Covariance,
    Precision,
    covariance_of,
)
from ropewalk.pipeline.rates.factors import TOLERANCE, Factors, factors_of
from ropewalk.pipeline.rates.grid import Grid, grid_of_merged
from ropewalk.pipeline.rates.items import Groups, Items, Traffic, items_of
from ropewalk.pipeline.rates.peaks import Loads, Peak, PeakRule, peak_of
from ropewalk.pipeline.rates.tally import TOPIC, Longs, Merged

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame

MOST_TOPICS = 10_000
COUNTS_FILE = "counts.npz"
RATES_FILES = (*FILES, "topics.parquet", "loadings.npy", "own.npy", COUNTS_FILE)


@dataclass(frozen=True, slots=True)
class Rates:
    """What the job found."""

    topics: pa.Table
    """The figures of every topic of the trace, by id, and its name."""
    peak: Peak
    grid: Grid
    covariance: Covariance
    factors: Factors
    items: Items | None
    summary: dict[str, Any]

    def frame(self) -> "pd.DataFrame":
        """A row per topic of the trace, with its figures."""
        found: pd.DataFrame = self.topics.to_pandas()
        return found

    def save(self, folder: str | Path) -> None:
        """Write a folder, whole or not at all; raises UsageError if it cannot be written."""
        save_folder(Path(folder), RATES_FILES, self._write)

    def _write(self, folder: Path) -> None:
        self.covariance.write(folder)
        pq.write_table(self.topics, folder / "topics.parquet", compression="zstd")
        np.save(folder / "loadings.npy", self.factors.loadings)
        np.save(folder / "own.npy", self.factors.own)
        np.savez_compressed(
            folder / COUNTS_FILE,
            starts=self.grid.starts,
            columns=self.grid.columns,
            counts=self.grid.counts,
            at=self.grid.at,
            ranges=np.column_stack([self.peak.starts, self.peak.stops]),
        )


def rates(
    files: "DataFrame",
    *,
    window_s: float = 1.0,
    peak: PeakRule | None = None,
    names: Mapping[int, str] | None = None,
    items: Groups | None = None,
    most_topics: int = MOST_TOPICS,
    precision: Precision = "float32",
    factors: int | None = None,
    tolerance: float = TOLERANCE,
    tasks: int = MERGE_TASKS,
) -> Rates:
    """Rates of the topics in files of stored events (`store.FILES`).

    `names` gives topics' names by id; a topic that has none is called by its id. `items` puts
    topics together by name. Beyond `most_topics` the topics with fewest messages are left out, and
    the summary says how many. `tasks` merge the counts: more of them need less memory each.
    Raises UsageError for options that make no sense, and where there is nothing to count.
    """
    window_ns = window_ns_of(window_s)
    if most_topics < 1:
        raise UsageError(f"{most_topics} topics: write 1 or more")
    rule = peak or PeakRule()
    packed = merged(files, window_ns, tasks).persist()
    try:
        loads, cells, chosen = _counted(packed, window_ns, rule)
    finally:
        packed.unpersist()
    grid, left_out, messages_left_out = grid_of_merged(cells, chosen.windows, most_topics)
    made = covariance_of(files.sparkSession, grid, precision=precision)
    short = factors_of(grid, count=factors, tolerance=tolerance)
    traffic = _traffic(cells.figures, grid.topics)
    called = _called(grid.topics, names or {})
    summary = {
        "rows": int(_figure(cells, "rows").sum()),
        "topics": len(cells.figures),
        "topics_by_publish": int((_figure(cells, "accepted") == 0).sum()),
        "messages": int(_figure(cells, "messages").sum()),
        "deliveries": int(_figure(cells, "deliveries").sum()),
        "window_s": window_s,
        "windows": loads.span,
        "chosen_windows": chosen.windows,
        "peak": rule.text,
        "messages_in_peak": int(cells.messages.sum()),
        "mean_total_rate_msgs_s": float(cells.messages.sum() / chosen.windows / window_s),
        "covariance_topics": len(grid.topics),
        "topics_left_out": left_out,
        "messages_left_out": messages_left_out,
        "factors": short.count,
        "factors_error": short.error,
        "factors_largest_error": short.largest_error,
        "factors_reached": short.reached,
    }
    made = Covariance(made.topics, made.windows, made.mean, made.matrix, about=summary)
    return Rates(
        _table(cells, names or {}),
        chosen,
        grid,
        made,
        short,
        items_of(made, traffic, called, items) if items is not None else None,
        summary,
    )


def _counted(packed: "DataFrame", window_ns: int, rule: PeakRule) -> tuple[Loads, Merged, Peak]:
    """Loads per window, the cells of the peak, and the peak."""
    found = loads_in(packed).toArrow()
    if not len(found):
        raise UsageError("no message in the trace: nothing to count; ingest publications first")
    windows, messages = (column.to_numpy() for column in found.columns)
    ends = _span(packed)
    loads = Loads(window_ns, ends[0] // window_ns, ends[1] // window_ns, windows, messages)
    chosen = peak_of(loads, rule)
    return loads, collected(cells_in(packed, chosen)), chosen


def _span(packed: "DataFrame") -> tuple[int, int]:
    """When the first and the last row of the trace were seen."""
    from pyspark.sql import functions as f

    from ropewalk.pipeline.rates.counts import topics_in

    ends = topics_in(packed).agg(f.min("first_ns"), f.max("last_ns")).collect()[0]
    return int(ends[0]), int(ends[1])


def window_ns_of(window_s: float) -> int:
    """The length of a window in whole nanoseconds; raises UsageError if it can be none."""
    if not 1e-9 <= window_s <= 1e9:
        raise UsageError(f"windows of {window_s} s: write a positive number of seconds, up to 1e9")
    return round(window_s * 1e9)


def _figure(cells: Merged, name: str) -> Longs:
    figure: Longs = cells.figures[:, TOPIC.index(name)]
    return figure


def _traffic(figures: Longs, topics: Longs) -> Traffic:
    order = np.argsort(figures[:, 0])
    at = order[np.searchsorted(figures[order, 0], topics)]
    return Traffic(
        *(figures[at, TOPIC.index(name)] for name in ("messages", "deliveries", "clients"))
    )


def _called(topics: Longs, names: Mapping[int, str]) -> list[str]:
    return [names.get(topic, str(topic)) for topic in topics.tolist()]


def _table(cells: Merged, names: Mapping[int, str]) -> pa.Table:
    figures = cells.figures[np.argsort(cells.figures[:, 0])]
    columns = dict(zip(TOPIC[:-1], figures.T, strict=False))
    called = pa.array(_called(figures[:, 0], names), pa.string())
    return pa.table({"topic": columns.pop("topic"), "name": called, **columns})
