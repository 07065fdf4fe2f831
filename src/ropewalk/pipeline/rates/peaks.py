"""Peak periods: which windows count.

Windows without messages are zeros, not missing: every window between the first and the last row
of the trace is there. So a peak is a set of ranges of windows, and their number is exact.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

import numpy as np
import numpy.typing as npt

from ropewalk.errors import UsageError
from ropewalk.pipeline.rates.tally import Longs

HOUR_NS = 3_600_000_000_000
HOURS = 24


@dataclass(frozen=True, slots=True)
class PeakRule:
    """Which windows count; raises UsageError for what makes no sense.

    >>> PeakRule().text
    'the busiest hour of each UTC day'
    """

    kind: Literal["busiest", "quantile", "all", "between"] = "busiest"
    hours: int = 1
    """Hours of each day (busiest)."""
    quantile: float = 0.95
    """Part of all windows that carry no more than those chosen (quantile)."""
    from_ns: int = 0
    until_ns: int = 0
    """Windows that begin from the one time on and before the other (between)."""

    def __post_init__(self) -> None:
        if self.kind not in ("busiest", "quantile", "all", "between"):
            raise UsageError(f"peak rule {self.kind!r}: write busiest, quantile, between or all")
        if self.kind == "between" and self.until_ns <= self.from_ns:
            raise UsageError("between: the end has to be later than the beginning")
        if not 1 <= self.hours <= HOURS:
            raise UsageError(f"{self.hours} hours of a day: write a number from 1 to {HOURS}")
        if not 0 <= self.quantile <= 1:
            raise UsageError(f"quantile {self.quantile}: write a number from 0 to 1")

    @property
    def text(self) -> str:
        """The rule in words."""
        if self.kind == "all":
            return "all windows"
        if self.kind == "between":
            begin = datetime.fromtimestamp(self.from_ns / 1e9, UTC)
            span_s = (self.until_ns - self.from_ns) / 1e9
            return f"windows of {span_s:g} s from {begin:%H:%M:%S} UTC on"
        if self.kind == "quantile":
            return f"windows with at least as many messages as quantile {self.quantile:g}"
        several = f"{self.hours} busiest hours" if self.hours > 1 else "busiest hour"
        return f"the {several} of each UTC day"


@dataclass(frozen=True, slots=True)
class Loads:
    """Messages of all topics per window, where there are any, and the observed span."""

    window_ns: int
    first: int
    """The window of the first row of the trace, of any kind."""
    last: int
    """The window of its last row."""
    windows: Longs
    """Ascending."""
    messages: Longs

    @property
    def span(self) -> int:
        """How many windows there are, with those that have no messages."""
        return self.last - self.first + 1


@dataclass(frozen=True, slots=True)
class Peak:
    """The windows that count, as ranges [start, stop), ascending and apart."""

    rule: PeakRule
    starts: Longs
    stops: Longs

    @property
    def windows(self) -> int:
        """How many windows count."""
        return int((self.stops - self.starts).sum())

    def holds(self, windows: Longs) -> npt.NDArray[np.bool_]:
        """Which of the windows count."""
        if not len(self.starts):
            return np.zeros(len(windows), np.bool_)
        at = np.searchsorted(self.starts, windows, side="right") - 1
        inside: npt.NDArray[np.bool_] = (at >= 0) & (windows < self.stops[at])
        return inside

    def places(self, windows: Longs) -> Longs:
        """The place of each window among those that count; all of them must."""
        before = np.cumsum(self.stops - self.starts) - (self.stops - self.starts)
        at = np.searchsorted(self.starts, windows, side="right") - 1
        places: Longs = before[at] + windows - self.starts[at]
        return places


def peak_of(loads: Loads, rule: PeakRule) -> Peak:
    """The windows that a rule chooses."""
    if rule.kind == "busiest":
        return _busiest(loads, rule)
    if rule.kind == "quantile" and (least := _least_load(loads, rule.quantile)) > 0:
        chosen = loads.windows[loads.messages >= least]
        return _joined(rule, chosen, chosen + 1)
    if rule.kind == "between":
        return _between(loads, rule)
    return Peak(rule, np.array([loads.first]), np.array([loads.last + 1]))


def _between(loads: Loads, rule: PeakRule) -> Peak:
    """The observed windows that begin in a time."""
    start = max(-(-rule.from_ns // loads.window_ns), loads.first)
    stop = min(-(-rule.until_ns // loads.window_ns), loads.last + 1)
    some = [(start, stop)] if start < stop else []
    bounds = np.array(some, np.int64).reshape(-1, 2)
    return Peak(rule, bounds[:, 0], bounds[:, 1])


def _least_load(loads: Loads, quantile: float) -> int:
    """The smallest load that at least this part of all windows, also empty ones, do not exceed."""
    rank = max(int(np.ceil(np.round(quantile * loads.span, 9))), 1)
    empty = loads.span - len(loads.windows)
    return 0 if rank <= empty else int(np.sort(loads.messages)[rank - empty - 1])


def _busiest(loads: Loads, rule: PeakRule) -> Peak:
    """The busiest hours of each day. A window is of the hour it starts in."""
    hour_of = loads.windows * loads.window_ns // HOUR_NS
    busy, places = np.unique(hour_of, return_inverse=True)
    sums = np.zeros(len(busy), np.int64)
    np.add.at(sums, places, loads.messages)
    chosen: list[int] = []
    for day in np.unique(busy // HOURS):
        hours = np.arange(day * HOURS, (day + 1) * HOURS)
        hours = hours[_windows_of(hours, loads)[0] < _windows_of(hours, loads)[1]]
        found = np.isin(busy, hours)
        carried = np.zeros(len(hours), np.int64)
        carried[np.searchsorted(hours, busy[found])] = sums[found]
        chosen.extend(hours[np.argsort(-carried, kind="stable")[: rule.hours]].tolist())
    starts, stops = _windows_of(np.array(sorted(chosen), np.int64), loads)
    return _joined(rule, starts, stops)


def _windows_of(hours: Longs, loads: Loads) -> tuple[Longs, Longs]:
    """The windows that start in each hour and lie in the observed span."""
    starts = -(-hours * HOUR_NS // loads.window_ns)
    stops = -(-(hours + 1) * HOUR_NS // loads.window_ns)
    return np.maximum(starts, loads.first), np.minimum(stops, loads.last + 1)


def _joined(rule: PeakRule, starts: Longs, stops: Longs) -> Peak:
    """Ranges that touch become one."""
    if not len(starts):
        return Peak(rule, starts, stops)
    apart = np.flatnonzero(starts[1:] > stops[:-1]) + 1
    return Peak(rule, starts[np.r_[0, apart]], stops[np.r_[apart - 1, len(stops) - 1]])
