"""The exchanges and queues of an agent at its own broker.

    clients' exchange --topics--> _rw.sieve.ME --the rest--> _rw.in.ME --durable--> queue _rw.in.ME
      (amq.topic)                      |                        |
                                 ours: _rw.void                 +------others--> a queue of its own
    _rw --ME--> queue _rw.words.ME

What the agent hands to clients goes through their exchange too, and must not come back. It carries
a second routing key by `BCC`, of reserved words only, and as many as its topic has levels: no
pattern without such a word matches it unless it matches the topic too. The sieve sends what has
that key into the void and all else (its alternate exchange) on: an echo costs the broker one
look-up and the agent nothing. The broker takes `BCC` out of what clients get, so nobody sends it on
by copying headers; who writes it on purpose only keeps his own message at home.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pamqp import commands

from ropewalk.agent.brokers.contract import PREFIX
from ropewalk.agent.brokers.rabbitmq.wire import Wire
from ropewalk.errors import UsageError
from ropewalk.federation.spelling import pattern_to_amqp
from ropewalk.federation.topics import common

MOST_KEY_BYTES = 255
_NAME = re.compile(r"[a-zA-Z0-9_.:@-]{1,127}")
VOID = f"{PREFIX}.void"
_LIVE_BYTES = 64 << 20
"""Live messages that wait in the broker while the agent pauses; the oldest go first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Names, and what is bound to what."""

    me: str
    client: str
    exchange: str
    durable: tuple[str, ...]
    live: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse what no exchange, queue or binding can be called."""
        for name in (self.words, self.taken, self.sieve, self.exchange):
            if not _NAME.fullmatch(name):
                raise UsageError(
                    f"broker {self.me}: RabbitMQ cannot have a queue or exchange '{name}': use"
                    " letters, digits and -_.:@, 127 in all"
                )
        for pattern in (*self.durable, *self.live):
            if len(pattern_to_amqp(pattern).encode()) > MOST_KEY_BYTES:
                raise UsageError(
                    f"broker {self.me}: RabbitMQ allows {MOST_KEY_BYTES} bytes for a topic, and"
                    f" {pattern} has more: shorten it or keep it from this broker"
                )

    @property
    def taken(self) -> str:
        """The exchange and the durable queue of what clients have published."""
        return f"{PREFIX}.in.{self.client}"

    @property
    def sieve(self) -> str:
        """The exchange that holds back echoes."""
        return f"{PREFIX}.sieve.{self.client}"

    @property
    def words(self) -> str:
        """The queue of neighbours' words."""
        return f"{PREFIX}.words.{self.me}"

    @property
    def mark(self) -> str:
        """The word of which the second keys of this agent's deliveries are made."""
        return f"{PREFIX}:{self.client.replace('.', ':')}"

    def lasts(self, topic: str) -> bool:
        """Whether a topic outlives the agent's absence."""
        return _within(topic, self.durable)

    def passes(self, topic: str) -> bool:
        """Whether it is one of those that do not need to."""
        return _within(topic, self.live)

    def second_key(self, topic: str) -> str:
        """The key that makes the sieve hold back what the agent delivers on a topic."""
        return ".".join([self.mark] * (topic.count("/") + 1))


async def take_publications(
    wire: Wire, layout: Layout, *, durable: int, live: int, prefetch: int
) -> None:
    """Declare what publications need, and consume them on two channels."""
    await _declare_exchanges(wire, durable, layout)
    await wire.ask(durable, commands.Queue.Declare(queue=layout.taken, durable=True))
    _bind(wire, durable, layout.taken, layout.taken, layout.durable)
    mine = await wire.ask(
        live,
        commands.Queue.Declare(
            exclusive=True, auto_delete=True, arguments={"x-max-length-bytes": _LIVE_BYTES}
        ),
    )
    _bind(wire, live, mine.queue, layout.taken, layout.live)
    for channel, queue in ((durable, layout.taken), (live, mine.queue)):
        await wire.ask(channel, commands.Basic.Qos(prefetch_count=prefetch))
        await wire.ask(channel, commands.Basic.Consume(queue=queue, exclusive=True))


async def hear_words(wire: Wire, layout: Layout, channel: int) -> None:
    """Declare what neighbours' words need, and consume them."""
    await wire.ask(channel, _exchange(PREFIX, "direct"))
    await wire.ask(
        channel, commands.Queue.Declare(queue=layout.words, exclusive=True, auto_delete=True)
    )
    await wire.ask(
        channel,
        commands.Queue.Bind(queue=layout.words, exchange=PREFIX, routing_key=layout.me),
    )
    await wire.ask(channel, commands.Basic.Consume(queue=layout.words, no_ack=True))


async def _declare_exchanges(wire: Wire, channel: int, layout: Layout) -> None:
    rest: dict[str, Any] = {"alternate-exchange": layout.taken}
    await wire.ask(channel, _exchange(VOID, "fanout", internal=True))
    await wire.ask(channel, _exchange(layout.taken, "topic", internal=True))
    await wire.ask(channel, _exchange(layout.sieve, "topic", internal=True, arguments=rest))
    _link(wire, channel, layout.sieve, VOID, f"{layout.mark}.#")
    for pattern in dict.fromkeys((*layout.durable, *layout.live)):
        _link(wire, channel, layout.exchange, layout.sieve, pattern_to_amqp(pattern))


def _exchange(
    name: str, kind: str, *, internal: bool = False, arguments: dict[str, Any] | None = None
) -> commands.Exchange.Declare:
    return commands.Exchange.Declare(
        exchange=name, exchange_type=kind, durable=True, internal=internal, arguments=arguments
    )


def _link(wire: Wire, channel: int, source: str, destination: str, key: str) -> None:
    wire.tell(
        channel,
        commands.Exchange.Bind(
            source=source, destination=destination, routing_key=key, nowait=True
        ),
    )


def _bind(wire: Wire, channel: int, queue: str, exchange: str, patterns: Iterable[str]) -> None:
    for pattern in patterns:
        wire.tell(
            channel,
            commands.Queue.Bind(
                queue=queue, exchange=exchange, routing_key=pattern_to_amqp(pattern), nowait=True
            ),
        )


def _within(topic: str, patterns: Iterable[str]) -> bool:
    return any(common(pattern, topic) == topic for pattern in patterns)
