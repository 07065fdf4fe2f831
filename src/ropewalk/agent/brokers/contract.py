"""What an agent asks of a broker, whatever its make: the contract that every adapter keeps.

An agent has two kinds of connections. To its own broker (`Local`): it takes what clients publish on
the federation's topics, hands them what has come for them, sees what they subscribe to, and hears
the words that neighbours put into this broker for it. To each neighbour's broker (`Lane`): it puts
its words there, and nothing else.

Everything here is called on the event loop's thread and returns at once. An adapter reconnects by
itself with back-off until it is closed; it never raises into the loop. Topics are the federation's
names (`a/b/c`, with `+` and `#` in patterns); an adapter turns them into its make's own (`names`).
"""

import ssl
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct

from ropewalk.overlay.events import Burst, Published

Headers = tuple[tuple[str, str], ...]
"""What came with a payload: names and values, in order; kept from make to make."""

PREFIX = "_rw"
"""The reserved first level: `_rw/BROKER` is where a broker's agent hears its neighbours' words.
Only agents may publish or subscribe below it (`docs/brokers.md` has the ACLs by make)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How to reach a broker."""

    name: str
    """The broker, as the federation file calls it."""
    host: str
    port: int
    tls: ssl.SSLContext | None = None
    """If it is there, a connection without TLS is refused, whatever the broker offers."""
    server_name: str = ""
    """What the broker's certificate must say, whichever way it is reached; empty without TLS."""
    user: str = ""
    password: str = field(default="", repr=False)
    admin_user: str = ""
    """Who may disconnect clients; empty if nobody here."""
    admin_password: str = field(default="", repr=False)
    watch: str = ""
    """Where the broker's subscriptions can be seen: `leaf://HOST:PORT` or `http://HOST:PORT` of
    NATS (`?monitor=PORT` behind the first adds its figures), `http://HOST:PORT` of RabbitMQ's
    management; empty if nowhere."""


Incoming = Published
"""A message that a client of this broker has published: the core's own event, so that it is made
once. Its ticket is what `accept` and `refuse` need to answer it, None where nobody waits for an
answer; its key the client's own id of it, if it gave one (`Nats-Msg-Id`; AMQP `message_id`)."""


class Outgoing(Struct, gc=False):
    """A message for clients of this broker."""

    topic: str
    payload: bytes
    headers: Headers = ()
    id: str = ""
    """The same for the same message, also when it is handed over again after a crash."""
    retain: bool = False
    priority: int = 0
    once: bool = False
    """Exactly once is promised: the broker must drop an id that it has had."""


class Ears(Protocol):
    """What an adapter tells its agent; `agent.edge` has them."""

    def published(self, messages: Sequence[Incoming]) -> None:
        """Clients of this broker have published; everything that one read brought, at once."""

    def burst(self, some: Burst) -> None:
        """The same of messages of one topic that have nothing but a payload, and maybe a key."""

    def heard(self, words: Sequence[bytes]) -> None:
        """Neighbours' agents have put these words into this broker."""

    def subscribed(self, subscriber: str, pattern: str) -> None:
        """Clients of this broker want a pattern.

        Where the make does not tell clients apart the subscriber is the pattern itself.
        """

    def unsubscribed(self, subscriber: str, pattern: str) -> None:
        """They no longer do."""

    def missing(self, patterns: frozenset[str]) -> None:
        """The broker is back, but clients that wanted these are not yet.

        What is for them should wait until `subscribed` or `unsubscribed` is said of each.
        """

    def delivered(self, count: int) -> None:
        """The broker has confirmed the first `count` messages given to `deliver` since `up`."""

    def up(self) -> None:
        """The broker can be reached; whatever was not confirmed before has to be given again.

        Said after subscribing, so that nothing that is published from now on is missed.
        """

    def down(self, why: str) -> None:
        """It cannot be reached (any more): said once each time, and at the start if it is so."""


class Local(Protocol):
    """An agent's connection to its own broker.

    Constructed with `(access, ears, *, topics, declared, durable, client)`: where; whom to tell;
    the federation's topics and patterns to take from clients; patterns whose subscribers the
    federation file declares at this broker (said with `subscribed` where the make cannot show
    them); topics that must outlive the agent's absence (at-least-once and exactly-once ones); and a
    name for the connection that no other agent has.
    """

    def start(self) -> None:
        """Begin to connect."""

    def deliver(self, messages: Sequence[Outgoing]) -> None:
        """Hand messages to the broker for its clients; never echoed back to this agent.

        Only called between `up` and `down`.
        """

    def accept(self, tickets: Sequence[Any]) -> None:
        """These publications are in custody: tell their publishers, or the broker.

        None among the tickets is passed over: nobody waits for that answer.
        """

    def refuse(self, ticket: Any, why: str) -> bool:
        """A publication is not taken.

        True if its publisher has been told; False if nobody can be told and the agent has to try
        again itself.
        """

    def pause(self) -> None:
        """Take nothing more from clients for now; neighbours' words still come."""

    def resume(self) -> None:
        """Go on."""

    @property
    def busy(self) -> bool:
        """Whether so much is waiting to be written that `deliver` should wait for `delivered`."""

    def figures(self) -> dict[str, float]:
        """The broker's own figures, where it shows any.

        messages_in, messages_out, subscriptions, store_bytes, bytes_in, bytes_out (counters since
        its start), memory_bytes, cpu_us; and read_ns, when they were read (`time.monotonic_ns`).
        """

    async def close(self) -> None:
        """Stop taking from clients, write what is waiting, and disconnect."""


@runtime_checkable
class Disconnects(Protocol):
    """What some adapters' `Local` can do besides: have clients disconnected.

    A make that cannot, or an agent that was given no admin's login, has no such method: items with
    clients then do not leave its broker.
    """

    async def disconnect(self, clients: Collection[str]) -> list[str]:
        """Disconnect clients, by the names that `subscribed` gave them; all their connections.

        Returns those that were disconnected: by names that people know. Raises OSError or
        TimeoutError if the broker's admin API does not answer; then nothing is certain.
        """


class Hears(Protocol):
    """What a lane tells its agent."""

    def opened(self, neighbour: str) -> None:
        """Words can be sent."""

    def closed(self, neighbour: str, why: str) -> None:
        """The connection is gone, or the neighbour's agent is known not to listen."""


class Lane(Protocol):
    """An agent's connection to a neighbour's broker.

    Constructed with `(access, hears, *, client)`; it connects when started, and again 50 ms after
    it was closed (300 ms at most to connect; back-off to 1 s while it is refused).
    """

    def start(self) -> None:
        """Begin to connect."""

    def send(self, words: Sequence[bytes]) -> None:
        """Put words into the neighbour's broker, in order, for its agent.

        Dropped while the connection is not there, or far behind: the core sends again what matters.
        """

    def abort(self) -> None:
        """Drop the connection with all that it still holds, and connect anew."""

    async def close(self) -> None:
        """Disconnect for good."""
