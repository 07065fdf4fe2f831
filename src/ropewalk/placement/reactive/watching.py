"""One figure against two marks, so that it counts only when it stays: hysteresis.

A run is a row of readings on one side of a mark, without a gap between them. The time of a run goes
from its first reading to its last: one reading alone lasts no time.
"""

import math
from dataclasses import dataclass, replace

from ropewalk.errors import UsageError


@dataclass(frozen=True, slots=True)
class Watch:
    """The marks of one figure; raises UsageError where they make no sense.

    >>> Watch(high=0.8, low=0.9, hold_s=5, release_s=10)
    Traceback (most recent call last):
    ropewalk.errors.UsageError: low 0.9 is not below high 0.8: write a low mark between 0 and 0.8
    """

    high: float
    """It is too much above this mark,"""
    low: float
    """and fine below this one."""
    hold_s: float
    """How long it must stay above `high` before it counts."""
    release_s: float
    """How long it must stay below `low` before it is over."""

    def __post_init__(self) -> None:
        _finite(high=self.high, low=self.low, hold_s=self.hold_s, release_s=self.release_s)
        if self.low <= 0:
            raise UsageError(f"low {self.low:g} is never undercut: write a low mark above 0")
        if self.low >= self.high:
            advice = f"write a low mark between 0 and {self.high:g}"
            raise UsageError(f"low {self.low:g} is not below high {self.high:g}: {advice}")
        for name, value in (("hold_s", self.hold_s), ("release_s", self.release_s)):
            if value < 0:
                raise UsageError(f"{name} {value:g} is negative: write seconds, 0 for at once")


@dataclass(frozen=True, slots=True)
class Run:
    """What is known of one figure: its last reading, and since when it is on which side."""

    at_s: float | None = None
    known: bool = False
    """It was known at least once."""
    above_since_s: float | None = None
    below_since_s: float | None = None
    silent: bool = False
    """Its silence has been told."""
    unusable: bool = False
    """Its last reading could not be used, which has been told."""

    @property
    def above_s(self) -> float | None:
        """How long it has been above the high mark; None if it is not."""
        return _span(self.above_since_s, self.at_s)

    @property
    def below_s(self) -> float | None:
        """How long it has been below the low mark; None if it is not."""
        return _span(self.below_since_s, self.at_s)


def usable(value: float) -> bool:
    """A figure is finite and not negative."""
    return math.isfinite(value) and value >= 0


def overdue(run: Run, now_s: float, gap_s: float) -> bool:
    """It was known once, but that is longer ago than readings may lie apart."""
    return run.at_s is not None and now_s - run.at_s > gap_s


def follow(run: Run, watch: Watch, value: float, now_s: float, gap_s: float) -> Run:
    """The run after a usable reading; after a gap it starts anew."""
    before = Run() if overdue(run, now_s, gap_s) else run
    return Run(
        at_s=now_s,
        known=True,
        above_since_s=_since(before.above_since_s, value > watch.high, now_s),
        below_since_s=_since(before.below_since_s, value < watch.low, now_s),
    )


def restarted(run: Run) -> Run:
    """The run when its times mean nothing any more."""
    return replace(run, at_s=None, above_since_s=None, below_since_s=None)


def check_gap(gap_s: float) -> None:
    """Raise UsageError unless readings may lie so far apart."""
    _finite(gap_s=gap_s)
    if gap_s <= 0:
        raise UsageError(f"gap_s {gap_s:g} leaves no time between readings: write seconds above 0")


def check_time(now_s: float) -> None:
    """Raise UsageError unless this is a time."""
    _finite(now_s=now_s)


def _finite(**values: float) -> None:
    for name, value in values.items():
        if not math.isfinite(value):
            raise UsageError(f"{name} is {value}: write a finite number")


def _since(since_s: float | None, holds: bool, now_s: float) -> float | None:
    if not holds:
        return None
    return now_s if since_s is None else since_s


def _span(since_s: float | None, at_s: float | None) -> float | None:
    return None if since_s is None or at_s is None else at_s - since_s
