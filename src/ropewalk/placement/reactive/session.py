"""The words of a load balancing session: what agents tell each other, hear, and have to do.

A session moves one item with its clients from the source to the target. Its number grows with each
session that a source begins, so that what arrives late is known as such.
"""

from dataclasses import dataclass
from typing import NamedTuple


class SessionId(NamedTuple):
    """A session: the broker that offers, and its count."""

    source: str
    number: int


@dataclass(frozen=True, slots=True)
class Session:
    """What moves, from where, to where."""

    id: SessionId
    target: str
    item: str
    clients: frozenset[str]


@dataclass(frozen=True, slots=True)
class Message:
    """What one agent tells the other; it may get lost, come late or come twice."""

    id: SessionId


@dataclass(frozen=True, slots=True)
class Offer(Message):
    """Source: take this item."""

    item: str
    clients: frozenset[str]


@dataclass(frozen=True, slots=True)
class Accept(Message):
    """Target: yes, and the buffer is being set up."""


@dataclass(frozen=True, slots=True)
class Refuse(Message):
    """Target: no, for a reason; it holds nothing."""

    reason: str


@dataclass(frozen=True, slots=True)
class Ready(Message):
    """Target: whatever is published from now on is in my buffer."""


@dataclass(frozen=True, slots=True)
class Ask(Message):
    """Target: I buffer; how does it stand?"""


@dataclass(frozen=True, slots=True)
class Stop(Message):
    """Target: I want out, if the clients are still with you."""


@dataclass(frozen=True, slots=True)
class Hold(Message):
    """Source: go on buffering."""


@dataclass(frozen=True, slots=True)
class Moved(Message):
    """Source: the clients are disconnected, serve them."""


@dataclass(frozen=True, slots=True)
class Serving(Message):
    """Target: I know, and wait for the clients."""


@dataclass(frozen=True, slots=True)
class Cancel(Message):
    """Source: the clients stay here, drop your buffer."""


@dataclass(frozen=True, slots=True)
class Gone(Message):
    """Source: I know nothing of this session."""


@dataclass(frozen=True, slots=True)
class Cancelled(Message):
    """Target: I hold nothing."""


@dataclass(frozen=True, slots=True)
class Done(Message):
    """Target: I serve the item; these clients did not come."""

    stragglers: frozenset[str]


# Events: what happens to an agent.


@dataclass(frozen=True, slots=True)
class Begin:
    """Move an item: the start of a session at its source."""

    target: str
    item: str
    clients: frozenset[str]


@dataclass(frozen=True, slots=True)
class Heard:
    """A message of another agent; an objection is why an offer in it is not welcome."""

    sender: str
    message: Message
    objection: str = ""


@dataclass(frozen=True, slots=True)
class Buffered:
    """Every reachable origin sends the item to this broker, and it is being buffered."""

    id: SessionId


@dataclass(frozen=True, slots=True)
class Drained:
    """What was queued for the clients has been sent."""

    id: SessionId


@dataclass(frozen=True, slots=True)
class Disconnected:
    """No client of the item is connected any more."""

    id: SessionId


@dataclass(frozen=True, slots=True)
class Connected:
    """A client has connected here."""

    client: str


@dataclass(frozen=True, slots=True)
class Replayed:
    """A client has got all of the buffer and is served live."""

    id: SessionId
    client: str


@dataclass(frozen=True, slots=True)
class PeerDead:
    """Another broker was declared dead."""

    peer: str


@dataclass(frozen=True, slots=True)
class Abort:
    """Give the session up, if that is still possible."""

    reason: str = "asked for"


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed."""


Event = (
    Begin
    | Heard
    | Buffered
    | Drained
    | Disconnected
    | Connected
    | Replayed
    | PeerDead
    | Abort
    | Tick
)


# Actions: what an agent has to do. Each may be ordered twice, the second time changes nothing.


@dataclass(frozen=True, slots=True)
class Say:
    """Send a message."""

    to: str
    message: Message


@dataclass(frozen=True, slots=True)
class Buffer:
    """Subscribe to the item everywhere and keep what comes; then tell Buffered."""

    id: SessionId
    item: str


@dataclass(frozen=True, slots=True)
class Drain:
    """Send what is queued to the clients, let no new client in; then tell Drained."""

    id: SessionId
    item: str


@dataclass(frozen=True, slots=True)
class Resume:
    """Undo Drain."""

    item: str


@dataclass(frozen=True, slots=True)
class Disconnect:
    """Disconnect these clients and keep them out; then tell Disconnected."""

    id: SessionId
    clients: frozenset[str]


@dataclass(frozen=True, slots=True)
class Forward:
    """Send on to the target what is still queued for the item, and what still comes."""

    item: str
    to: str


@dataclass(frozen=True, slots=True)
class Replay:
    """Send a client what is buffered, then serve it live; then tell Replayed."""

    id: SessionId
    item: str
    client: str


@dataclass(frozen=True, slots=True)
class Keep:
    """Put what is buffered, and what still comes, into these clients' durable queues."""

    item: str
    clients: frozenset[str]


@dataclass(frozen=True, slots=True)
class Flush:
    """The buffer is in other hands: close it and serve the item."""

    item: str


@dataclass(frozen=True, slots=True)
class DropBuffer:
    """Drop what is kept of the item: its clients are with the source."""

    item: str


@dataclass(frozen=True, slots=True)
class Release:
    """The target serves the item: unsubscribe from it."""

    item: str


@dataclass(frozen=True, slots=True)
class Report:
    """Tell the operator."""

    text: str


Action = (
    Say
    | Buffer
    | Drain
    | Resume
    | Disconnect
    | Forward
    | Replay
    | Keep
    | Flush
    | DropBuffer
    | Release
    | Report
)
