"""What happens to an agent's core, and what it wants done: events in, actions out.

`Agent.handle(event, now_us)` returns actions in order; `Agent.wake_us` says when it wants a `Due`
at the latest. The core reads no clock and does no I/O: the asyncio agent, the simulator and the
verifier drive the same code.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ropewalk.overlay.words import Letter, Word

if TYPE_CHECKING:
    from ropewalk.overlay.chart import Chart


@dataclass(frozen=True, slots=True)
class Received:
    """A word came over a link."""

    link: int
    word: Word


@dataclass(frozen=True, slots=True)
class Closed:
    """The connection of a link was closed under it: no need to wait for silence."""

    link: int


@dataclass(frozen=True, slots=True)
class Published:
    """A client of this broker publishes; answered by `Accepted` or `Refused` with the ticket."""

    ticket: int
    topic: str
    payload: bytes
    producer: str = ""
    key: str = ""
    priority: int | None = None
    retain: bool = False


@dataclass(frozen=True, slots=True)
class Subscribed:
    """A client of this broker subscribes; `Confirmed` follows when every origin knows."""

    subscriber: str
    pattern: str


@dataclass(frozen=True, slots=True)
class Unsubscribed:
    """It no longer does."""

    subscriber: str
    pattern: str


@dataclass(frozen=True, slots=True)
class Due:
    """The time that the agent asked for has come."""


@dataclass(frozen=True, slots=True)
class Logged:
    """The first `count` records that were written since the start are safe."""

    count: int


@dataclass(frozen=True, slots=True)
class Charted:
    """The chart of a new epoch is here; it is used once every reachable agent has it."""

    chart: "Chart"


Event = Received | Closed | Published | Subscribed | Unsubscribed | Due | Logged | Charted


@dataclass(frozen=True, slots=True)
class Send:
    """Say a word over a link; it may be lost."""

    link: int
    word: Word


@dataclass(frozen=True, slots=True)
class Deliver:
    """Give a letter to clients of this broker; one broker takes the same letter id once."""

    letter: Letter
    subscribers: tuple[str, ...]
    retained: bool = False
    """It is the last value for one that came later, not a new message."""
    exactly_once: bool = False
    """The last hop has to drop what it was given before."""


@dataclass(frozen=True, slots=True)
class Write:
    """Append a record to the log; `Logged` says when it is safe."""

    record: Any


@dataclass(frozen=True, slots=True)
class Accepted:
    """A publication is in custody; or was passed on, where the contract asks for no more."""

    ticket: int
    letter: Letter


@dataclass(frozen=True, slots=True)
class Refused:
    """A publication was not taken, and why: the publisher has to wait or to give up."""

    ticket: int
    reason: str


@dataclass(frozen=True, slots=True)
class Confirmed:
    """Every reachable origin knows of a subscription; said again when more do."""

    subscriber: str
    pattern: str
    by: frozenset[int] = frozenset()
    """The origins that know."""


@dataclass(frozen=True, slots=True)
class Disconnect:
    """Abort a link's connection, so that what it holds back never comes."""

    link: int


@dataclass(frozen=True, slots=True)
class Tell:
    """Something that a person or a trace may want to know."""

    what: str
    about: tuple[Any, ...] = ()


Action = Send | Deliver | Write | Accepted | Refused | Confirmed | Disconnect | Tell
