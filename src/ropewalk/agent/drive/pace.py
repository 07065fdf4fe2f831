"""When to publish: an absolute schedule that never makes up for more than it may."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Protocol

CATCH_UP_S = 0.05
"""What is further behind than this is left out, so that a stall is not followed by a burst."""
TICK_S = 0.001


class Pace(Protocol):
    """How a stream's publications are spread over a run."""

    skipped: int
    """Left out because they were too far behind."""

    def due(self, now_s: float, sent: int, room: int = 1 << 30) -> int:
        """How many are to be sent now."""

    def over(self, now_s: float) -> bool:
        """Whether nothing more is to be sent."""

    def next_s(self, now_s: float) -> float:
        """When to look again."""


class Schedule:
    """How many publications are due by a time; a rate of 0 is as many as there is room for.

    >>> schedule = Schedule(rate_msgs_s=1000, seconds=2, start_s=10)
    >>> schedule.due(10.004, sent=1), schedule.due(11, sent=4), schedule.skipped
    (3, 50, 946)
    """

    def __init__(self, *, rate_msgs_s: float, seconds: float, start_s: float) -> None:
        self._rate = rate_msgs_s
        self._start_s, self._end_s = start_s, start_s + seconds
        self._most = max(1, int(rate_msgs_s * CATCH_UP_S))
        self.skipped = 0
        """Left out because they were too far behind."""

    def due(self, now_s: float, sent: int, room: int = 1 << 30) -> int:
        """How many are to be sent now."""
        if not self._rate:
            return room if now_s < self._end_s else 0
        elapsed_s = min(now_s, self._end_s) - self._start_s
        behind = int(elapsed_s * self._rate + 1e-6) - self.skipped - sent
        self.skipped += max(0, behind - self._most)
        return min(behind, self._most, room)

    def over(self, now_s: float) -> bool:
        """Whether nothing more is to be sent."""
        return now_s >= self._end_s

    def next_s(self, now_s: float) -> float:
        """When to look again: at the next tick, or when the next one is due if that is later."""
        if not self._rate:
            return now_s + TICK_S
        return min(self._end_s, now_s + max(TICK_S, 1 / self._rate / 2))


class Steps:
    """The same where the rate is another in each step of a run.

    What counts is how many there are in a step, so as much as a step's worth is made up for.

    >>> steps = Steps(rates_msgs_s=[10, 30], step_s=1, start_s=5)
    >>> steps.due(5.5, sent=4), steps.due(6.5, sent=24), steps.over(7)
    (1, 1, True)
    """

    def __init__(self, *, rates_msgs_s: Sequence[float], step_s: float, start_s: float) -> None:
        self._rates, self._step_s, self._start_s = rates_msgs_s, step_s, start_s
        self._before = [0.0, *accumulate(rate * step_s for rate in rates_msgs_s)]
        """How many there are by the beginning of each step."""
        self._end_s = start_s + len(rates_msgs_s) * step_s
        self.skipped = 0

    def due(self, now_s: float, sent: int, room: int = 1 << 30) -> int:
        """How many are to be sent now."""
        elapsed_s = min(now_s, self._end_s) - self._start_s
        step = min(int(elapsed_s / self._step_s), len(self._rates) - 1)
        rate, within_s = self._rates[step], elapsed_s - step * self._step_s
        behind = int(self._before[step] + rate * within_s + 1e-6) - self.skipped - sent
        most = max(2, int(rate * self._step_s))  # one may lie on either side of a step's end
        self.skipped += max(0, behind - most)
        return min(behind, most, room)

    def over(self, now_s: float) -> bool:
        """Whether nothing more is to be sent."""
        return now_s >= self._end_s

    def next_s(self, now_s: float) -> float:
        """When to look again: often enough that the slowest of these rates is kept."""
        return min(self._end_s, now_s + CATCH_UP_S / 5)
