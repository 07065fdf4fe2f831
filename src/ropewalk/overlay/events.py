"""What happens to an agent's core, and what it wants done: events in, actions out.

`Agent.handle(event, now_us)` returns actions in order; `Agent.wake_us` says when it wants a `Due`
at the latest. The core reads no clock and does no I/O: the asyncio agent, the simulator and the
verifier drive the same code.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ropewalk.overlay.words import Letter, Run, Word

if TYPE_CHECKING:
    from ropewalk.overlay.chart import Chart


class Received(Struct, frozen=True, gc=False):
    """A word came over a link."""

    link: int
    word: Word


class Closed(Struct, frozen=True, gc=False):
    """The connection of a link was closed under it: no need to wait for silence."""

    link: int


class Published(Struct, frozen=True, gc=False):
    """A client of this broker publishes; answered by `Accepted` or `Refused` with the ticket."""

    ticket: Any
    topic: str
    payload: bytes
    producer: str = ""
    key: str = ""
    priority: int | None = None
    retain: bool = False
    headers: tuple[tuple[str, str], ...] = ()


class Burst(Struct, frozen=True, gc=False):
    """Publications of one topic that come together and have nothing but a payload, or a key.

    Answered by `AcceptedRun`, or each like a `Published` of its own.
    """

    topic: str
    payloads: Sequence[bytes]
    tickets: Sequence[Any]
    keys: Sequence[str] = ()
    """If any has one, those of all."""
    producer: str = ""

    def each(self) -> list[Published]:
        """The same, one by one."""
        keys = self.keys or [""] * len(self.payloads)
        every = zip(self.tickets, self.payloads, keys, strict=True)
        topic, who = self.topic, self.producer
        return [Published(ticket, topic, data, who, key) for ticket, data, key in every]


class Subscribed(Struct, frozen=True, gc=False):
    """A client of this broker subscribes; `Confirmed` follows when every origin knows."""

    subscriber: str
    pattern: str


class Unsubscribed(Struct, frozen=True, gc=False):
    """It no longer does."""

    subscriber: str
    pattern: str


class Due(Struct, frozen=True, gc=False):
    """The time that the agent asked for has come."""


class Logged(Struct, frozen=True, gc=False):
    """The first `count` records that were written since the start are safe."""

    count: int


class Charted(Struct, frozen=True, gc=False):
    """The chart of a new epoch is here; it is used once every reachable agent has it."""

    chart: "Chart"


class Proposed(Struct, frozen=True, gc=False):
    """The planner has a new case base: what to do in which failure."""

    text: str
    version: str


class MoveItem(Struct, frozen=True, gc=False):
    """An item is to move to another broker, with these clients."""

    item: str
    to: int
    clients: tuple[str, ...]


class Happened(Struct, frozen=True, gc=False):
    """Something that a move ordered is done, a client has connected, or a sample was taken."""

    event: Any


Event = (
    Received
    | Closed
    | Published
    | Burst
    | Subscribed
    | Unsubscribed
    | Due
    | Logged
    | Charted
    | Proposed
    | MoveItem
    | Happened
)


class Send(Struct, frozen=True, gc=False):
    """Say a word over a link; it may be lost."""

    link: int
    word: Word


class Deliver(Struct, frozen=True, gc=False):
    """Give a letter to clients of this broker; one broker takes the same letter id once."""

    letter: Letter
    subscribers: tuple[str, ...]
    retained: bool = False
    """It is the last value for one that came later, not a new message."""
    exactly_once: bool = False
    """The last hop has to drop what it was given before."""


class Write(Struct, frozen=True, gc=False):
    """Append a record to the log; `Logged` says when it is safe."""

    record: Any


class Accepted(Struct, frozen=True, gc=False):
    """A publication is in custody; or was passed on, where the contract asks for no more."""

    ticket: Any
    letter: Letter


class AcceptedRun(Struct, frozen=True, gc=False):
    """The same of publications that came together."""

    tickets: Sequence[Any]
    run: Run


class Refused(Struct, frozen=True, gc=False):
    """A publication was not taken, and why: the publisher has to wait or to give up."""

    ticket: Any
    reason: str
    event: Published
    final: bool = False
    """It will not be taken later either."""


class Confirmed(Struct, frozen=True, gc=False):
    """Every reachable origin knows of a subscription; said again when more do."""

    subscriber: str
    pattern: str
    by: frozenset[int] = frozenset()
    """The origins that know."""


class Disconnect(Struct, frozen=True, gc=False):
    """Abort a link's connection, so that what it holds back never comes."""

    link: int


class Tell(Struct, frozen=True, gc=False):
    """Something that a person or a trace may want to know."""

    what: str
    about: tuple[Any, ...] = ()


class TakeOver(Struct, frozen=True, gc=False):
    """This broker carries these items from now on: their own broker is dead."""

    items: tuple[str, ...]


class GiveBack(Struct, frozen=True, gc=False):
    """It no longer does."""

    items: tuple[str, ...]


class Carry(Struct, frozen=True, gc=False):
    """A step of a move: an order of the mediator; or, without one, an item that is to go home."""

    item: str
    to: int
    order: Any


Action = (
    Send
    | Deliver
    | Write
    | Accepted
    | AcceptedRun
    | Refused
    | Confirmed
    | Disconnect
    | Tell
    | TakeOver
    | GiveBack
    | Carry
)
