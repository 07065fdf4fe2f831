"""The books of an offload: what each broker's load becomes when subscriptions move.

A broker spends T = t_rcv + n_fltr * t_fltr + r * t_tx on a message (Wang 2015, 4.4.2.1). The first
two parts belong to the topic: they are freed only when its last subscription leaves, and they come
up at a target that does not carry the topic yet. The copies belong to the subscriptions.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ropewalk.errors import UsageError
from ropewalk.federation.facts import Performance

SECOND_US = 1e6


@dataclass(frozen=True, slots=True)
class TopicLoad:
    """What a topic brings to each broker that carries it."""

    name: str
    rate_msgs_s: float
    filters: float = 0.0
    """The filters that each of its messages is held against."""
    published_here: bool = False
    """Its publishers stay at the source, which then sends on one copy to each new carrier."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """One subscription of the overloaded broker."""

    name: str
    topic: str
    copies_s: float
    """Messages that are sent to it per second."""
    stays: str = ""
    """Why it may not move; empty if it may."""


@dataclass(frozen=True, slots=True)
class Station:
    """A broker as the offload sees it: its load now, its marks and its costs."""

    name: str
    utilisation: float
    performance: Performance
    high: float
    low: float
    deviation: float = 0.0
    """Standard deviation of its utilisation."""
    carries: frozenset[str] = frozenset()
    """Topics it already receives."""
    closed: str = ""
    """Why it takes nothing now; empty if it does."""

    def topic_work(self, topic: TopicLoad) -> float:
        """The utilisation that receiving and filtering a topic causes here."""
        each_us = self.performance.service_us(filters=topic.filters, replication=0)
        return topic.rate_msgs_s * each_us / SECOND_US

    def copies_work(self, copies_s: float) -> float:
        """The utilisation that sending copies causes here."""
        return copies_s * self.performance.send_us / SECOND_US


@dataclass(frozen=True, slots=True)
class Books:
    """An overloaded broker, what it carries, and who might take some of it."""

    source: Station
    topics: Mapping[str, TopicLoad]
    subscriptions: tuple[Subscription, ...]
    candidates: tuple[Station, ...]
    reserve: float = 0.05
    """Utilisation below its high mark that every acceptor keeps free."""
    deviations: float = 1.0
    """How many standard deviations it keeps free besides."""

    def __post_init__(self) -> None:
        _check(self)

    def limit(self, station: Station) -> float:
        """The utilisation that a station may reach by accepting."""
        return station.high - self.reserve - self.deviations * station.deviation


def books_of(
    source: Station,
    topics: Iterable[TopicLoad],
    subscriptions: Iterable[Subscription],
    candidates: Iterable[Station],
    *,
    reserve: float = 0.05,
    deviations: float = 1.0,
) -> Books:
    """The books, sorted by name so that equal input gives equal answers; raises UsageError."""
    return Books(
        source,
        {topic.name: topic for topic in topics},
        tuple(sorted(subscriptions, key=lambda one: one.name)),
        tuple(sorted(candidates, key=lambda one: one.name)),
        reserve,
        deviations,
    )


def loads_after(books: Books, moves: Mapping[str, str]) -> dict[str, float]:
    """Every broker's utilisation when subscriptions (keys) have moved to acceptors (values)."""
    loads = {one.name: one.utilisation for one in (books.source, *books.candidates)}
    stations = {one.name: one for one in books.candidates}
    groups: dict[str, list[Subscription]] = {}
    for one in books.subscriptions:
        groups.setdefault(one.topic, []).append(one)
    for name, group in groups.items():
        topic, left = books.topics[name], sum(one.name not in moves for one in group)
        newly: set[str] = set()
        for one in group:
            if one.name in moves:
                target = stations[moves[one.name]]
                loads[books.source.name] -= books.source.copies_work(one.copies_s)
                loads[target.name] += target.copies_work(one.copies_s)
                newly |= set() if name in target.carries else {target.name}
        for target_name in sorted(newly):
            loads[target_name] += stations[target_name].topic_work(topic)
            loads[books.source.name] += relay_work(books, topic)
        if not left and not topic.published_here:
            loads[books.source.name] -= books.source.topic_work(topic)
    return loads


def relay_work(books: Books, topic: TopicLoad) -> float:
    """What sending a topic on to one new carrier costs the source."""
    return books.source.copies_work(topic.rate_msgs_s) if topic.published_here else 0.0


def _check(books: Books) -> None:
    names = [one.name for one in (books.source, *books.candidates)]
    _unique(names, "broker")
    _unique([one.name for one in books.subscriptions], "subscription")
    _amounts("the books", reserve=books.reserve, deviations=books.deviations)
    for station in (books.source, *books.candidates):
        amounts = {"utilisation": station.utilisation, "deviation": station.deviation}
        _amounts(station.name, **amounts, low=station.low, high=station.high)
        if station.low >= station.high:
            raise UsageError(f"{station.name}: low {station.low:g} is not below {station.high:g}")
    for topic in books.topics.values():
        _amounts(topic.name, rate_msgs_s=topic.rate_msgs_s, filters=topic.filters)
    for one in books.subscriptions:
        _amounts(one.name, copies_s=one.copies_s)
        if one.topic not in books.topics:
            raise UsageError(f"{one.name}: its topic {one.topic!r} is not among the topics: add it")


def _unique(names: list[str], kind: str) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise UsageError(f"{name}: {count} of this name: name each {kind} once")


def _amounts(of: str, **amounts: float) -> None:
    for name, value in amounts.items():
        if not (math.isfinite(value) and value >= 0):
            raise UsageError(f"{of}: {name} is {value:g}: write a number of at least 0")
