"""The two ends of a shovel: which exchange or queue, and what its topics begin with."""

from dataclasses import dataclass, replace
from urllib.parse import unquote

from ropewalk.federation.readers.rabbitmq.contents import Space
from ropewalk.federation.readers.rabbitmq.naming import (
    carried,
    exchange_prefix,
    queue_prefix,
    safe,
)
from ropewalk.federation.topics import is_pattern
from ropewalk.findings import Where

PROTOCOLS = ("amqp091", "amqp10", "local")


@dataclass(frozen=True, slots=True)
class ShovelEnd:
    """One end as it is written; of queue and exchange at most one. No key is None."""

    uris: tuple[tuple[str, Where], ...]
    protocol: str = "amqp091"
    queue: str = ""
    exchange: str = ""
    key: str | None = None

    def guarded(self) -> "ShovelEnd":
        """Without what looks like a user or password."""
        key = None if self.key is None else safe(self.key)
        return replace(self, queue=safe(self.queue), exchange=safe(self.exchange), key=key)


@dataclass(frozen=True, slots=True)
class Part:
    """A share of what a shovel takes: names that are `prefix` and a rest that matches."""

    prefix: str
    patterns: tuple[str, ...] = ("#",)
    exchange: str = ""
    """Whose messages they are; empty: put into the queue itself."""


def from_address(end: ShovelEnd, address: str) -> ShovelEnd:
    """An AMQP 1.0 address as a queue or an exchange with a key.

    >>> from_address(ShovelEnd(()), "/exchanges/orders/a.b").key
    'a.b'
    >>> from_address(ShovelEnd(()), "/amq/queue/q").queue, from_address(ShovelEnd(()), "q").queue
    ('q', 'q')
    """
    kind, _, rest = address.removeprefix("/").partition("/")
    if not address.startswith("/"):
        return ShovelEnd(end.uris, end.protocol, queue=address)
    if kind in ("exchanges", "exchange"):
        exchange, slash, key = rest.partition("/")
        return ShovelEnd(
            end.uris,
            end.protocol,
            exchange=unquote(exchange),
            key=unquote(key) if slash and key else None,
        )
    if kind == "topic":
        return ShovelEnd(end.uris, end.protocol, exchange="amq.topic", key=unquote(rest))
    return ShovelEnd(end.uris, end.protocol, queue=unquote(rest.removeprefix("queue/")))


def taken(end: ShovelEnd, space: Space | None) -> list[Part] | None:
    """What a source gives; None if a binding key that is left out lets nothing through."""
    if end.exchange:
        kind = space.exchange(end.exchange).kind if space else "topic"
        prefix, exchange = exchange_prefix(end.exchange), end.exchange
        if not end.key and not (space and space.knows(exchange)):
            return [Part(prefix, exchange=exchange)]
        if not end.key and kind in ("topic", "direct"):
            return None
        pattern = carried(kind, end.key or "")
        return [Part(prefix, (pattern,), exchange)] if pattern is not None else None
    return _of_queue(end, space)


def _of_queue(end: ShovelEnd, space: Space | None) -> list[Part]:
    """By each exchange that the queue is bound to, and what is put into it straight."""
    by_exchange: dict[str, dict[str, None]] = {}
    for one in space.bindings if space else []:
        if one.destination == end.queue and not one.to_exchange and space:
            pattern = space.pattern(one)
            if pattern is not None:
                by_exchange.setdefault(one.source, {})[pattern] = None
    parts = [
        Part(exchange_prefix(name), tuple(patterns), name) for name, patterns in by_exchange.items()
    ]
    if not parts or (space and end.queue in space.filled):
        parts.append(Part(queue_prefix(end.queue)))
    return parts


def brought(end: ShovelEnd, part: Part, space: Space | None) -> tuple[Part, str, bool]:
    """What a part becomes at the destination: the part, the prefix there, and whether exactly.

    A fixed routing key gives all messages one name: that is a renaming only if a single name of
    the part ends as that one does; else they are put below it.
    """
    if end.queue:
        return part, queue_prefix(end.queue), True
    exchange = end.exchange or part.exchange
    if not exchange:
        return part, queue_prefix(end.key) if end.key else part.prefix, True
    prefix = exchange_prefix(exchange)
    kind = space.exchange(exchange).kind if space else "topic"
    if end.key is None or not (end.key or kind in ("topic", "direct")):
        return part, prefix, True
    key = carried("direct", end.key)
    if key is None:
        return part, prefix, False
    if len(part.patterns) == 1 and not is_pattern(part.patterns[0]):
        same = _same_end(part.patterns[0], key)
        if same:
            head = part.prefix + part.patterns[0].removesuffix(same)
            return Part(head, (same,), part.exchange), prefix + key.removesuffix(same), True
    return part, f"{prefix}{key}/", False


def _same_end(one: str, other: str) -> str:
    """The levels that two names end with."""
    a, b = one.split("/"), other.split("/")
    count = 0
    while count < min(len(a), len(b)) and a[-1 - count] == b[-1 - count]:
        count += 1
    return "/".join(a[len(a) - count :])
