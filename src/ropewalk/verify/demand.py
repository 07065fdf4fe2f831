"""Who is owed what: publishers and subscribers of every topic as pairs of brokers.

A pair stands for all its topics and clients: it has a weight. Patterns meet: who publishes
`prices/equity` is owed to who subscribes to `prices/#`. Topics of a domain are owed inside it only.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ropewalk.federation.arrays import Bools, Ints, TopicTable, offsets
from ropewalk.federation.facts import Federation
from ropewalk.federation.topics import meeting
from ropewalk.routing.trees import Longs


@dataclass(frozen=True, eq=False)
class Demand:
    """Pairs of brokers, sorted by destination, source and scope; `topic` lists what each is for.

    The topics of pair i are `topic[first_topic[i]:first_topic[i + 1]]`, one for every client pair.
    """

    brokers: int
    source: Ints
    to: Ints
    local: Bools
    weight: Longs
    first_topic: Ints
    topic: Ints
    topic_names: Sequence[str]

    @cached_property
    def first(self) -> Ints:
        """Where the pairs of each destination start."""
        return np.searchsorted(self.to, np.arange(self.brokers + 1)).astype(np.int32)

    @cached_property
    def pairs(self) -> int:
        """How many pairs of clients there are."""
        return int(self.weight.sum())

    def topics(self, pair: int) -> list[str]:
        """The topics that a pair is for."""
        return [self.topic_names[t] for t in dict.fromkeys(self.topic_numbers(pair))]

    def topic_numbers(self, pair: int) -> list[int]:
        """The number of the topic of every pair of clients that a pair stands for."""
        found = self.topic[self.first_topic[pair] : self.first_topic[pair + 1]]
        return [int(t) for t in found]


def demand_of(federation: Federation, topics: Iterable[str] | None = None) -> Demand:
    """What publishers owe subscribers: in all, or as publishers or subscribers of some topics."""
    table = federation.topic_table
    publishers, subscribers = _met(table)
    if topics is not None:
        chosen = np.isin(table.names, list(topics))
        kept = chosen[publishers] | chosen[subscribers]
        publishers, subscribers = publishers[kept], subscribers[kept]
    topic, source, to = _crossed(table, publishers, subscribers)
    local = table.local[topic]
    domain = federation.graph.domain
    owed = ~local | (domain[source] == domain[to])
    topic, source, to, local = topic[owed], source[owed], to[owed], local[owed]
    order = np.lexsort((topic, local, source, to))
    topic, source, to, local = topic[order], source[order], to[order], local[order]
    fresh = np.ones(len(to), np.bool_)
    for column in (source, to, local):
        fresh[1:] &= column[1:] == column[:-1]
    fresh[1:] = ~fresh[1:]
    starts = np.flatnonzero(fresh)
    first = np.append(starts, len(to)).astype(np.int32)
    return Demand(
        brokers=federation.graph.brokers,
        source=source[starts],
        to=to[starts],
        local=local[starts],
        weight=np.diff(first).astype(np.int64),
        first_topic=first,
        topic=topic,
        topic_names=table.names,
    )


def every_pair(federation: Federation) -> Demand:
    """All ordered pairs of brokers, once each, whatever the topics are."""
    brokers = federation.graph.brokers
    to = np.repeat(np.arange(brokers, dtype=np.int32), brokers)
    source = np.tile(np.arange(brokers, dtype=np.int32), brokers)
    apart = source != to
    source, to = source[apart], to[apart]
    return Demand(
        brokers=brokers,
        source=source,
        to=to,
        local=np.zeros(len(to), np.bool_),
        weight=np.ones(len(to), np.int64),
        first_topic=np.zeros(len(to) + 1, np.int32),
        topic=np.zeros(0, np.int32),
        topic_names=(),
    )


def _met(table: TopicTable) -> tuple[Ints, Ints]:
    """Topics as published and as subscribed that have names in common: themselves, and patterns."""
    own = np.arange(table.topics, dtype=np.int32)
    published, subscribed = meeting(table.names)
    return np.concatenate((own, published)), np.concatenate((own, subscribed))


def _crossed(table: TopicTable, publishers: Ints, subscribers: Ints) -> tuple[Ints, Ints, Ints]:
    """Every publisher of one with every subscriber of the other: topic, source, destination."""
    senders = np.diff(table.first_publisher)[publishers].astype(np.int64)
    takers = np.diff(table.first_subscriber)[subscribers].astype(np.int64)
    pairs = senders * takers
    topic = np.repeat(publishers, pairs)
    within = np.arange(pairs.sum()) - np.repeat(offsets(pairs)[:-1].astype(np.int64), pairs)
    each = np.repeat(takers, pairs)
    source = table.publisher[np.repeat(table.first_publisher[publishers], pairs) + within // each]
    to = table.subscriber[np.repeat(table.first_subscriber[subscribers], pairs) + within % each]
    return topic, source, to


def matching_topics(demand: Demand, pairs: Iterable[int]) -> list[str]:
    """The topics of several pairs, each once, in the order of the file."""
    first, topic = demand.first_topic, demand.topic
    found = {int(t) for i in pairs for t in topic[first[i] : first[i + 1]]}
    return [demand.topic_names[t] for t in sorted(found)]
