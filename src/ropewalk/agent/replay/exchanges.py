"""RabbitMQ's clients of a replay: any exchange of any virtual host, not only `amq.topic`.

A federation's topic at RabbitMQ is an exchange's name, `/`, and the key, as its reader names them;
what begins with the name of no exchange is a topic of `amq.topic`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from ropewalk.agent.drive.clients import Options
from ropewalk.agent.drive.rabbit_client import RabbitPublisher, RabbitSubscriber
from ropewalk.agent.lab.ports import HOST
from ropewalk.agent.replay.rewrite.rabbitmq import USER
from ropewalk.federation.readers.rabbitmq.naming import BUILT_IN, MQTT, exchange_prefix
from ropewalk.federation.spelling import from_amqp, pattern_to_amqp, to_amqp
from ropewalk.federation.topics import common

Types = Mapping[str, str]
"""The types of a virtual host's exchanges, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """What a subscriber's queue is bound to."""

    exchange: str
    key: str
    prefix: str
    """Put before a key to name a topic of the federation."""

    @property
    def label(self) -> str:
        """What tells it from others."""
        return f"{self.exchange} {self.key}"


def url_of(port: int, vhost: str) -> str:
    """Where a virtual host of a server of the lab is."""
    return f"amqp://{USER}:{USER}@{HOST}:{port}/{quote(vhost or '/', safe='')}"


def exchange_and_key(types: Types, topic: str) -> tuple[str, str]:
    """The exchange and key that a topic of the federation means.

    >>> exchange_and_key({"X": "topic"}, "X/a/b"), exchange_and_key({}, "X/a")
    (('X', 'a.b'), ('amq.topic', 'X.a'))
    """
    prefixes = {one: exchange_prefix(one) for one in (*BUILT_IN, *types)}
    fitting = [one for one in prefixes if f"{topic}/".startswith(prefixes[one])]
    longest = max(fitting, key=lambda one: len(prefixes[one]))
    return longest, to_amqp(topic[len(prefixes[longest]) :])


def bindings(types: Types, pattern: str, topic: str) -> Iterator[Binding]:
    """What a pattern of the federation is bound to; with `#` every exchange of the files.

    A direct exchange knows no patterns: it is bound with the key of the topic itself.
    """
    asked = exchange_and_key(types, pattern)[0]
    published, key = exchange_and_key(types, topic)
    for exchange in dict.fromkeys((*types, MQTT, published)):
        rest = _rest(pattern, exchange)
        if not exchange or rest is None or (exchange == MQTT and asked != MQTT):
            continue
        kind = {**BUILT_IN, **types}.get(exchange, "topic")
        prefix = exchange_prefix(exchange)
        yield Binding(exchange=exchange, key=_key(kind, rest, key), prefix=prefix)


def _rest(pattern: str, exchange: str) -> str | None:
    """What a pattern asks of an exchange; None if nothing."""
    prefix = exchange_prefix(exchange)
    both = common(pattern, f"{prefix}#")
    return None if both is None else both[len(prefix) :]


def _key(kind: str, rest: str, key: str) -> str:
    if kind == "topic":
        return pattern_to_amqp(rest)
    return key if kind == "direct" else ""


class ExchangeSubscriber(RabbitSubscriber):
    """Consumes from a queue of its own that is bound to one exchange."""

    def __init__(self, options: Options, binding: Binding) -> None:
        super().__init__(options)
        self._binding = binding

    async def _begin(self, channel: Any) -> None:
        queue, bound = self._options.name, self._binding
        await channel.queue_declare(queue, exclusive=True, auto_delete=True)
        await channel.queue_bind(queue, bound.exchange, bound.key)
        await channel.basic_consume(queue, self._message, no_ack=True)

    async def close(self) -> None:
        """Disconnect for good; the queue goes with the connection."""
        await super(RabbitSubscriber, self).close()

    async def _message(self, message: Any) -> None:
        topic = from_amqp(message.routing_key)
        name = message.routing_key if topic is None else topic
        named = f"{self._binding.prefix}{name}" if name else self._binding.prefix.rstrip("/")
        self._take(named, message.body, ())


class ExchangePublisher(RabbitPublisher):
    """Publishes to any exchange."""

    async def say(self, exchange: str, key: str, payload: bytes) -> None:
        """Publish one message, and wait until the broker has confirmed it."""
        await self._channel.basic_publish(payload, exchange=exchange, routing_key=key)
