"""The agent's own clock."""

from time import monotonic_ns


def now_us() -> int:
    """Microseconds since some moment before the agent's start; after a restart it goes on.

    The loop's time has the same origin, but may be that of the loop's last turn, in milliseconds:
    an answer could then seem to have been said before what it answers.
    """
    return monotonic_ns() // 1_000
