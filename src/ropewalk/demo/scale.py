"""How long the demo's runs are, and what is broken in them when."""

from dataclasses import dataclass

from ropewalk.demo.scenery import STEP_S
from ropewalk.errors import UsageError

LEAST_S = 6.0
"""Shorter runs have too few windows to tell anything by."""
LINK, BROKER = "lon-gw--zur-1", "lon-gw"


@dataclass(frozen=True, slots=True)
class Scale:
    """Seconds of each run; raises UsageError for runs that are too short."""

    seconds: float
    """Of the two runs that are compared."""
    moving_s: float
    """Of the traffic while the plan is carried out."""

    def __post_init__(self) -> None:
        if self.seconds < LEAST_S:
            raise UsageError(f"--seconds {self.seconds:g}: write {LEAST_S:g} or more")

    @property
    def windows(self) -> int:
        """How many windows each of the two runs has."""
        return round(self.seconds / STEP_S)

    @property
    def faults(self) -> tuple[str, ...]:
        """A link that falls silent for a tenth of the run, and a broker that dies for another."""
        span_s = max(1.0, min(3.0, self.seconds / 10))
        silent_s, dead_s = 0.2 * self.seconds, 0.6 * self.seconds
        return (
            f"at {silent_s:g} s blackhole {LINK} for {span_s:g} s",
            f"at {dead_s:g} s kill {BROKER} for {span_s:g} s",
        )


FULL = Scale(60.0, 15.0)
FAST = Scale(20.0, 12.0)
