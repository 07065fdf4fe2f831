"""Who publishes and subscribes where, as a federation file says, and who is due what."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from ropewalk.errors import UsageError
from ropewalk.federation.arrays import broker_of
from ropewalk.federation.facts import Broker, Contract, Federation
from ropewalk.federation.topics import common
from ropewalk.overlay.simulate.clients import topic_of
from ropewalk.overlay.simulate.schedule import client_of, concrete

Role = Literal["publishers", "subscribers"]


@dataclass(frozen=True, slots=True)
class Stream:
    """One publisher of one topic; its messages carry its number."""

    number: int
    topic: str
    """A name, also where the federation file has a pattern."""
    broker: str
    client: str
    contract: Contract

    def __str__(self) -> str:
        return _at(self.client, self.broker)


@dataclass(frozen=True, slots=True)
class Reader:
    """One subscriber of one topic or pattern."""

    number: int
    pattern: str
    broker: str
    client: str

    def __str__(self) -> str:
        return _at(self.client, self.broker)


def _at(client: str, broker: str) -> str:
    return broker if client == broker else f"{client}@{broker}"


@dataclass(frozen=True, slots=True)
class Cast:
    """All of them, and which stream is due to which reader."""

    streams: tuple[Stream, ...]
    readers: tuple[Reader, ...]
    pairs: tuple[tuple[Stream, Reader], ...]


def cast_of(federation: Federation) -> Cast:
    """The publishers and subscribers of a federation's topics.

    Raises UsageError if nobody publishes anything that somebody subscribes to.
    """
    streams = tuple(_streams(federation))
    readers = tuple(_readers(federation))
    pairs = tuple(
        (stream, reader)
        for stream in streams
        for reader in readers
        if common(reader.pattern, stream.topic) == stream.topic
        and _within(federation, stream, reader)
    )
    if not pairs:
        raise UsageError(
            f"{federation.name}: no topic has both a publisher and a subscriber:"
            " add them to the file's topics"
        )
    return Cast(streams, readers, pairs)


def _streams(federation: Federation) -> Iterator[Stream]:
    both = ((p, one) for p, topic in federation.topics.items() for one in topic.publishers)
    for number, (pattern, one) in enumerate(both):
        name = concrete(pattern)
        contract = topic_of(federation.topics, name).contract
        yield Stream(number, name, broker_of(one), client_of(one), contract)


def _readers(federation: Federation) -> Iterator[Reader]:
    both = ((p, one) for p, topic in federation.topics.items() for one in topic.subscribers)
    for number, (pattern, one) in enumerate(both):
        yield Reader(number, pattern, broker_of(one), client_of(one))


def _within(federation: Federation, stream: Stream, reader: Reader) -> bool:
    """Whether the topic's scope lets a stream come to a reader."""
    if topic_of(federation.topics, stream.topic).scope == "federation":
        return True
    return reader.broker in federation.lookup.domain[stream.broker]


def urls_of(
    federation: Federation, name: str, role: Role, environment: Mapping[str, str] = os.environ
) -> tuple[str, ...]:
    """Where a broker's clients connect: to it first, then to those that take them over."""
    broker = federation.brokers[name]
    takers = [federation.brokers[one] for one in getattr(broker.takeover, role)]
    same = [one for one in takers if one.make == broker.make and one.url]
    if broker.url is None:
        raise UsageError(f"broker {name} has no url: drive a lab's file, or add url: to the broker")
    return tuple(_with_secret(one, environment) for one in (broker, *same))


def _with_secret(broker: Broker, environment: Mapping[str, str]) -> str:
    """A broker's URL with user and password, from where its credentials say."""
    url = broker.url or ""
    if broker.credentials is None:
        return url
    kind, _, where = broker.credentials.partition(":")
    if kind == "env" and where not in environment:
        raise UsageError(f"{broker.credentials}: set {where} to USER:PASSWORD")
    text = environment[where] if kind == "env" else Path(where).read_text(encoding="utf-8")
    user, _, password = text.strip().partition(":")
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{quote(user, safe='')}:{quote(password, safe='')}@{rest}"
