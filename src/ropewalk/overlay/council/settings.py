"""How patient a council is; raises UsageError where that makes no sense."""

from dataclasses import dataclass, fields

from ropewalk.errors import UsageError
from ropewalk.overlay.settings import MS


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Times of a council in microseconds, and how much is said at once."""

    beat_us: int = 40 * MS
    """Between two beats of the master, and until a question is asked again."""
    lease_us: int = 240 * MS
    """A master that no majority has answered for so long steps down."""
    patience_us: int = 300 * MS
    """So long a member that heard its master, or gave its vote, votes for nobody else.

    Above the lease by what clocks may drift in that time: then no two are master at once.
    """
    spread_us: int = 300 * MS
    """Over this time beyond it, members come forward one after the other."""
    again_us: int = 100 * MS
    """Until an entry that was not acknowledged is sent again."""
    look_us: int = 1_000 * MS
    """Between two looks at members that have all: one that lost its disk is found by it."""
    tail: int = 64
    """Committed entries that are kept one by one before they are folded into a snapshot."""
    note_bytes: int = 16_384
    """What a note or an entry holds at most, roughly: links carry heartbeats too."""
    grace_us: int = 500 * MS
    """A broker that is gone, or back, for so long is held to be so for good."""

    def __post_init__(self) -> None:
        for field in fields(self):
            if getattr(self, field.name) < 1:
                raise UsageError(f"{field.name} is {getattr(self, field.name)}: write 1 or more")
        if not self.beat_us < self.lease_us < self.patience_us:
            told = f"{self.beat_us}, {self.lease_us}, {self.patience_us} us"
            raise UsageError(f"beat, lease, patience are {told}: each must be above the one before")
