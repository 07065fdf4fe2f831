"""Samples of the broker beside an agent: its counters over a window, for trace and detector.

`window` and `reading_of` are pure; `Sampler` asks the broker and the operating system.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import monotonic_ns

import psutil
import pyarrow as pa

from ropewalk.federation.facts import Performance
from ropewalk.placement.reactive.detector import Reading
from ropewalk.trace.columns import SAMPLE

COUNTERS = ("messages_in", "messages_out", "bytes_in", "bytes_out", "cpu_us")
"""Figures that grow from a broker's start on; all others are as they are."""
READ_NS = "read_ns"
"""When a broker's figures were read, by the monotonic clock; now, if it is not among them."""
NS_PER_S, US_PER_S = 1_000_000_000, 1_000_000

Figures = Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a broker can bear; None is not known, and what is held against it is then not either."""

    input_msgs_s: float | None = None
    costs: Performance | None = None
    """What a message costs it: better than a rate, because copies count."""
    store_bytes: float | None = None
    memory_bytes: float | None = None
    bandwidth_bytes_s: float | None = None
    """In and out together."""
    cores: float = 1.0
    """How many the broker may use."""


def window(before: Figures, after: Figures, window_ns: int) -> dict[str, float]:
    """The columns of a `sample` row: counters as what they grew by, others as they are now.

    A counter that fell belongs to a broker that started anew: what it counted is not known.

    >>> window({"messages_in": 5}, {"messages_in": 12, "subscriptions": 3}, 1_000_000_000)
    {'window_ns': 1000000000, 'messages_in': 7, 'subscriptions': 3}
    >>> window({"messages_in": 5}, {"messages_in": 2}, 1_000_000_000)
    {'window_ns': 1000000000}
    """
    row: dict[str, float] = {"window_ns": window_ns}
    for name, one in SAMPLE.items():
        value = after.get(name)
        if value is not None and name in COUNTERS:
            grown = value - before[name] if name in before else -1.0
            value = grown if grown >= 0 else None
        if value is not None and name != "window_ns":
            row[name] = round(value) if pa.types.is_integer(one.type) else float(value)
    return row


def reading_of(row: Figures, limits: Limits) -> Reading:
    """The same window as the load detector reads it.

    >>> row = {"window_ns": 1e9, "messages_in": 500, "cpu_us": 250_000.0}
    >>> found = reading_of(row, Limits(input_msgs_s=1000))
    >>> found.input_ratio, found.cpu_share, found.memory_share
    (0.5, 0.25, None)
    """
    span_s = row["window_ns"] / NS_PER_S
    moved = None
    if "bytes_in" in row and "bytes_out" in row:
        moved = row["bytes_in"] + row["bytes_out"]
    return Reading(
        input_ratio=_input(row, limits, span_s),
        processing_delay_us=row.get("delay_us"),
        store_share=_share(row.get("store_bytes"), limits.store_bytes),
        cpu_share=_share(row.get("cpu_us"), limits.cores * US_PER_S, span_s),
        memory_share=_share(row.get("memory_bytes"), limits.memory_bytes),
        bandwidth_share=_share(moved, limits.bandwidth_bytes_s, span_s),
    )


def _input(row: Figures, limits: Limits, span_s: float) -> float | None:
    """The part of its time that a broker spends on messages; by its rate if costs are not known."""
    came, costs = row.get("messages_in"), limits.costs
    if came is None or costs is None:
        return _share(came, limits.input_msgs_s, span_s)
    each_us = costs.service_us(filters=row.get("filters", 0.0), replication=0.0)
    spent_us = came * each_us + row.get("messages_out", 0.0) * costs.send_us
    return _share(spent_us, US_PER_S, span_s)


def _share(value: float | None, limit: float | None, span_s: float = 1.0) -> float | None:
    if value is None or limit is None or limit <= 0 or span_s <= 0:
        return None
    return value / (limit * span_s)


class Sampler:
    """Takes samples; `take` once in each window."""

    def __init__(
        self,
        figures: Callable[[], Figures],
        pid: int | None = None,
        *,
        limits: Limits | None = None,
        now_ns: Callable[[], int] = monotonic_ns,
    ) -> None:
        self._figures, self._limits, self._now_ns = figures, limits or Limits(), now_ns
        self._process: psutil.Process | None = None
        self._last: tuple[int, dict[str, float]] | None = None
        self.watch(pid)

    def watch(self, pid: int | None) -> None:
        """The broker's process has this number from now on; None if it is not known."""
        try:
            self._process = None if pid is None else psutil.Process(pid)
        except psutil.Error:
            self._process = None

    def take(self) -> tuple[dict[str, float], Reading] | None:
        """The window since the last call, as a row and as a reading; None if there is none yet."""
        figures = {**self._figures(), **self._of_process()}
        now_ns = int(figures.pop(READ_NS, self._now_ns()))
        before = self._last
        if before is not None and now_ns <= before[0]:
            return None  # the broker has shown nothing new since
        self._last = now_ns, figures
        if before is None:
            return None
        row = window(before[1], figures, now_ns - before[0])
        return row, reading_of(row, self._limits)

    def _of_process(self) -> dict[str, float]:
        """CPU time and memory, by the operating system: better than what a broker says itself."""
        if self._process is None:
            return {}
        try:
            with self._process.oneshot():
                if not self._process.is_running():
                    return {}
                times, memory = self._process.cpu_times(), self._process.memory_info()
        except psutil.Error:
            return {}
        return {"cpu_us": (times.user + times.system) * US_PER_S, "memory_bytes": memory.rss}
