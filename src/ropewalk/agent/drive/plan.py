"""What a run is asked to do, and what it has seen."""

import ssl
from dataclasses import dataclass, field
from typing import Any, Literal

from ropewalk.agent.drive.bursts import Bursts
from ropewalk.agent.drive.cast import Reader, Stream
from ropewalk.agent.drive.stalls import Stall
from ropewalk.agent.drive.tally import Figures
from ropewalk.agent.drive.timing import FaultCall, Order
from ropewalk.errors import UsageError
from ropewalk.federation.facts import Federation

Mode = Literal["acked", "plain"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DrivePlan:
    """What to publish, how fast, for how long, and what to break meanwhile."""

    federation: Federation
    """With the URLs of its brokers."""
    rate_msgs_s: float = 1000.0
    """Of each publisher; 0: as fast as acknowledgements let it."""
    seconds: float = 10.0
    bursts: Bursts | None = None
    """Rates that change, instead of `rate_msgs_s`; whole steps of them, begun at such a time."""
    size_bytes: int = 100
    mode: Mode = "acked"
    """plain: nobody acknowledges anything, and so nothing can be lost."""
    fast: bool = False
    """NATS clients made for saturation instead of nats-py."""
    window: int = 256
    """Publications of each publisher that may wait for an answer."""
    faults: tuple[str, ...] = ()
    """Such as `at 3 s blackhole a--b for 2 s`."""
    fault: FaultCall | None = None
    """Does to the lab what a fault says."""
    warm_up_s: float = 30.0
    """How long the first messages may take."""
    settle_s: float = 10.0
    """How long to wait for the last ones."""
    quiet_s: float = 1.0
    """Nothing may have come for so long before a run is over: what comes twice comes late."""
    tls: ssl.SSLContext | None = None

    def __post_init__(self) -> None:
        if self.faults and self.fault is None:
            raise UsageError("faults need a lab to break: start one with `ropewalk lab up`")
        if self.bursts is not None and self.steps < 1:
            raise UsageError(f"the bursts have steps of {self.bursts.step_s:g} s: drive for longer")
        if not self.rate_msgs_s and self.mode == "plain":
            raise UsageError("without acknowledgements a rate is needed: write --rate above 0")

    @property
    def steps(self) -> int:
        """Whole steps of the bursts in the run."""
        return round(self.seconds / self.bursts.step_s) if self.bursts is not None else 0


@dataclass(frozen=True, slots=True)
class Pair:
    """One publisher's stream at one subscriber, and the verdict on it."""

    stream: Stream
    reader: Reader
    figures: Figures

    def as_dict(self) -> dict[str, Any]:
        """For the JSON document."""
        return {
            "topic": self.stream.topic,
            "publisher": {"broker": self.stream.broker, "client": self.stream.client},
            "subscriber": {"broker": self.reader.broker, "client": self.reader.client},
            **self.figures.as_dict(),
        }


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Two subscribers of a total order that got two messages in different order."""

    topic: str
    one: Reader
    other: Reader
    first: tuple[int, int]
    """Stream and number of what `one` got before `second`, and `other` after it."""
    second: tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class DriveResult:
    """What a run has seen."""

    pairs: tuple[Pair, ...] = ()
    silent: tuple[tuple[Stream, Reader], ...] = ()
    """Who never heard whom while warming up: if there are any, nothing was measured."""
    disagreements: tuple[Disagreement, ...] = ()
    steps: int = 0
    """Of the bursts, one after the other from `began_ns` on,"""
    step_s: float = 0.0
    """each so long: windows of this length hold one step each."""
    began_ns: int = 0
    """When publishing began, in nanoseconds since 1970: traces have that clock."""
    seconds: float = 0.0
    """How long was published."""
    done: tuple[Order, ...] = ()
    """What was broken and healed, and when."""
    stalls: tuple[Stall, ...] = ()
    """When the clients' own process stood still for 50 ms or longer."""
    sent: int = 0
    skipped: int = 0
    """Publications that were left out because the run was too far behind its schedule."""
    strange: int = 0
    """Messages that were not of this run, or were changed on the way."""
    refused: dict[str, int] = field(default_factory=dict)
    """Publications that brokers refused for good, by their reason."""

    @property
    def rate_msgs_s(self) -> float:
        """What all publishers together have reached."""
        return self.sent / self.seconds if self.seconds else 0.0
