"""The agent's own clock."""

from time import monotonic_ns

LONG_AGO_US = 60_000_000


def now_us() -> int:
    """Microseconds since some moment before the agent's start; after a restart it goes on.

    The loop's time has the same origin, but may be that of the loop's last turn, in milliseconds:
    an answer could then seem to have been said before what it answers.
    """
    return monotonic_ns() // 1_000


def since_ns(then_us: int) -> int:
    """How long ago a moment of this clock was; 0 for none, and for one of a life long before."""
    ago_us = now_us() - then_us
    return ago_us * 1_000 if then_us > 0 and 0 < ago_us < LONG_AGO_US else 0
