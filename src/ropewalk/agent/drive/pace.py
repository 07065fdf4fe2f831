"""When to publish: an absolute schedule that never makes up for more than it may."""

CATCH_UP_S = 0.05
"""What is further behind than this is left out, so that a stall is not followed by a burst."""
TICK_S = 0.001


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
