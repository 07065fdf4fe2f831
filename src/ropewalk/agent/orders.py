"""What an agent process is told when it is started."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ropewalk.agent.custody_log import Sync
from ropewalk.agent.transform import Transform
from ropewalk.federation import Federation
from ropewalk.overlay.council.settings import Pace
from ropewalk.overlay.settings import MS, Settings

PATIENT = Settings(window=4_096, held=16_384, link_queue=16_384)
"""Windows for tens of thousands of messages a second: a sync and a receipt take some 20 ms."""

CALM = Pace(
    beat_us=50 * MS,
    lease_us=600 * MS,
    patience_us=750 * MS,
    spread_us=400 * MS,
    grace_us=700 * MS,
)
"""For agents that share cores with their brokers: a master is not given up for a short stall."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """What an agent process is told when it is started."""

    federation: Federation
    file: Path
    """Where it was read: it is read again when the agent is told so."""
    broker: str
    """Beside which broker it runs."""
    state: Path
    """The folder of its custody log."""
    trace: Path
    """The folder of its trace."""
    key: bytes = field(repr=False)
    """What all agents of the federation share."""
    reach: Mapping[str, str] = field(default_factory=dict)
    """By neighbour: another HOST:PORT for its broker than the federation file has."""
    routes: Path | None = None
    """Tables computed ahead, as `ropewalk route` writes them."""
    plan: Path | None = None
    """What to do in which failure, as `ropewalk place` writes it."""
    admin: tuple[str, str] = field(default=("", ""), repr=False)
    """User and password of who may disconnect clients of its broker: so that they can be moved."""
    transforms: Mapping[str, Transform] = field(default_factory=dict)
    """By topic or pattern: what is done to messages before they are carried."""
    host: str = "127.0.0.1"
    port: int = 0
    """Of its health, status and metrics; 0 for any that is free."""
    token: str = field(default="", repr=False)
    """What a reader of them has to show, where they are not on loopback."""
    sync: Sync = "batch"
    """When the log is synced: batch, always or never."""
    trace_bytes: int = 1 << 30
    drain_s: float = 5.0
    """How long a clean stop waits for what is in custody."""
    settings: Settings = PATIENT
    pace: Pace = CALM
