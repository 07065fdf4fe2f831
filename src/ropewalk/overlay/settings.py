"""How patient an agent is and how much it keeps; raises UsageError where that makes no sense."""

from dataclasses import dataclass, fields

from ropewalk.errors import UsageError

MS = 1_000
"""Microseconds in a millisecond: times are whole microseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What an agent goes by; times in microseconds."""

    beat_us: int = 20 * MS
    """Between two heartbeats on a link."""
    suspect_us: int = 60 * MS
    """Silence after which messages are doubled on another way."""
    dead_us: int = 200 * MS
    """Silence after which the link is held for down."""
    flood_again_us: int = 60 * MS
    """Until a flood that was not acknowledged is sent again; doubled each time."""
    tests: int = 3
    """Link tests in a row that a link must pass before it is used again."""
    agree_us: int = 2_000 * MS
    """How long an end that has passed its tests waits for the other one to pass its own."""
    calm_us: int = 10_000 * MS
    """A link that fails again within this time has to pass twice as many tests as before."""
    most_tests: int = 48
    adaptive: bool = False
    """Beats and dead time follow the measured round trip (Jia 2014, 7.2 item 3)."""
    least_beat_us: int = 5 * MS
    most_beat_us: int = 200 * MS
    slow_delay: float = 3.0
    """Mean round trip, in times of the best seen, from which on a link counts as slow."""
    slow_loss: float = 0.1
    """Mean share of beats lost from which on a link counts as slow."""
    slow_cost: int = 8
    """How many times its cost a slow link costs."""
    whole_us: int = 2_000 * MS
    """After a restart: how long subscriptions of the earlier life still count."""
    receipt_us: int = 10 * MS
    """How long a destination gathers acknowledgements."""
    resend_us: int = 1_000 * MS
    """Until an origin sends again what was not acknowledged; doubled each time."""
    frame_again_us: int = 100 * MS
    """Until a frame that the neighbour did not acknowledge is sent again."""
    window: int = 1_024
    """Messages to one destination that are on their way at once."""
    queue: int = 65_536
    """Messages that wait for one destination at most; then publishers are told to wait."""
    link_queue: int = 16_384
    """Messages on a link that the neighbour has not acknowledged; beyond it they are dropped."""
    held: int = 8_192
    """Messages that a destination holds back for order, by origin."""
    hop_limit: int = 0
    """0: four times the number of brokers that carry transit, at least 16."""
    streams: int = 65_536
    """Topics whose place in a lane is remembered."""

    def __post_init__(self) -> None:
        for field in fields(self):
            if getattr(self, field.name) < 0:
                raise UsageError(f"{field.name} is {getattr(self, field.name)}: write 0 or more")
        if not 0 < self.beat_us <= self.suspect_us <= self.dead_us:
            told = f"{self.beat_us}, {self.suspect_us}, {self.dead_us} us"
            raise UsageError(f"beat, suspect, dead are {told}: each must be above the one before")
        if min(self.window, self.queue, self.link_queue, self.held, self.tests) < 1:
            raise UsageError("window, queue, link_queue, held and tests must be at least 1")
