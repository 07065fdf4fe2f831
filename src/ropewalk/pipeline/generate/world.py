"""The federation that a trace is of: brokers, topics, streams, clients and their subscriptions.

All of it is drawn once, from the seed, on the driver; tasks get it as arrays. Times are ns from
the trace's start.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ropewalk.pipeline.generate.clients import Clients, clients_of
from ropewalk.pipeline.generate.kernels import Ints
from ropewalk.pipeline.generate.plan import (
    MS,
    SITES,
    TOPIC_KINDS,
    WITHIN_MS,
    Size,
)
from ropewalk.pipeline.generate.windows import Subscriptions, subscriptions_of

Reals = npt.NDArray[np.float64]
REGIONS = ("eu", "uk", "us", "asia", "gulf")
GROUPS = 6


@dataclass(frozen=True, slots=True)
class Brokers:
    """Brokers, the links between them and what is true of their clocks and speed."""

    names: tuple[str, ...]
    sites: tuple[str, ...]
    links: tuple[tuple[int, int], ...]
    hops: Ints
    next_hop: Ints
    offset: Ints
    """How far each clock is off; the audit knows only `error`."""
    error: Ints
    receive_us: Reals
    filter_us: Reals
    send_us: Reals

    @property
    def link_names(self) -> list[str]:
        """Links as the federation names them: both ends, in alphabetical order."""
        return ["--".join(sorted((self.names[a], self.names[b]))) for a, b in self.links]


@dataclass(frozen=True, slots=True)
class Topics:
    """Topics, by number."""

    names: tuple[str, ...]
    kind: Ints
    within_ns: Ints
    """0 where there is no limit."""
    weight: Reals
    group: Ints
    loading: Reals
    """How strongly a topic's log-rate follows its group's factor."""
    home: Ints


@dataclass(frozen=True, slots=True)
class Streams:
    """Producers' streams: a topic and a producer each."""

    topic: Ints
    producer: Ints
    node: Ints
    share: Reals
    local: Ints
    """A stream's number among those of its topic."""


@dataclass(frozen=True, slots=True)
class Routes:
    """Which subscriptions a topic's messages go to, sorted by topic."""

    first: Ints
    """Of each topic, the first route; one more at the end."""
    topic: Ints
    subscription: Ints
    client: Ints
    channel: Ints
    """Of each route, the first of its channels, one for every stream of the topic."""
    channels: int


@dataclass(frozen=True, slots=True)
class World:
    """All that slices need to know."""

    size: Size
    brokers: Brokers
    topics: Topics
    streams: Streams
    producers: tuple[str, ...]
    clients: Clients
    subscriptions: Subscriptions
    routes: Routes
    factors: Reals
    """Shared factors of topic groups: group by minute."""


def world_of(size: Size) -> World:
    """The world of a seed."""
    rng = np.random.default_rng([size.seed, 1])
    brokers = _brokers(rng, size.brokers)
    topics = _topics(rng, size)
    streams = _streams(rng, size)
    clients = clients_of(rng, size)
    subscriptions = subscriptions_of(rng, size, topics.names, topics.kind, clients)
    return World(
        size=size,
        brokers=brokers,
        topics=topics,
        streams=streams,
        producers=tuple(f"feed-{i:04d}" for i in range(size.producers)),
        clients=clients,
        subscriptions=subscriptions,
        routes=_routes(size, streams, subscriptions),
        factors=_factors(rng, size.minutes),
    )


def _brokers(rng: np.random.Generator, count: int) -> Brokers:
    """A ring with chords, so that two links may fail."""
    sites = tuple(SITES)[:count]
    links = {tuple(sorted((i, (i + 1) % count))) for i in range(count)}
    links |= {tuple(sorted((i, (i + count // 2) % count))) for i in range(0, count, 2)}
    pairs = tuple((int(a), int(b)) for a, b in sorted(links) if a != b)
    hops, next_hop = _paths(count, pairs)
    error = rng.integers(200_000, 2 * MS, count)
    return Brokers(
        names=tuple(f"{site[:3]}-1" for site in sites),
        sites=sites,
        links=pairs,
        hops=hops,
        next_hop=next_hop,
        offset=(rng.uniform(-0.8, 0.8, count) * error).astype(np.int64),
        error=error,
        receive_us=rng.uniform(30, 80, count).round(2),
        filter_us=rng.uniform(0.1, 0.4, count).round(3),
        send_us=rng.uniform(8, 25, count).round(2),
    )


def _paths(count: int, links: tuple[tuple[int, int], ...]) -> tuple[Ints, Ints]:
    """Hops between brokers, and the neighbour that is next on a shortest way."""
    hops = np.full((count, count), count, np.int64)
    np.fill_diagonal(hops, 0)
    for a, b in links:
        hops[a, b] = hops[b, a] = 1
    near = hops == 1
    for via in range(count):
        hops = np.minimum(hops, hops[:, [via]] + hops[[via], :])
    next_hop = np.zeros((count, count), np.int64)
    for a in range(count):
        for b in range(count):
            steps = [n for n in np.flatnonzero(near[a]) if hops[n, b] == hops[a, b] - 1]
            next_hop[a, b] = steps[0] if steps else a
    return hops, next_hop


def _topics(rng: np.random.Generator, size: Size) -> Topics:
    kind = _kinds(size.topics)
    turn = np.zeros(len(TOPIC_KINDS), np.int64)
    names = []
    for one in kind:
        place, thing = turn[one] % len(REGIONS), turn[one] // len(REGIONS)
        names.append(f"{TOPIC_KINDS[one].family}/{REGIONS[place]}/s{thing:03d}")
        turn[one] += 1
    limits = np.array(WITHIN_MS)[np.arange(size.topics) % len(WITHIN_MS)] * MS
    limited = np.array([TOPIC_KINDS[one].within for one in kind]) & (rng.random(size.topics) < 0.5)
    for one in {int(k) for k in kind if TOPIC_KINDS[k].within}:
        limited[np.flatnonzero(kind == one)[0]] = True
    weight = (rng.permutation(size.topics) + 1.0) ** -0.8
    weight = np.maximum(weight / weight.sum(), 0.3 / size.topics)  # none is next to silent
    return Topics(
        names=tuple(names),
        kind=kind,
        within_ns=np.where(limited, limits, 0).astype(np.int64),
        weight=weight / weight.sum(),
        group=rng.integers(0, GROUPS, size.topics),
        loading=rng.uniform(0.3, 0.8, size.topics).round(3),
        home=rng.integers(0, size.brokers, size.topics),
    )


def _kinds(topics: int) -> Ints:
    """The kind of each topic: by the shares, and at least two of each."""
    shares = np.array([one.share for one in TOPIC_KINDS])
    counts = np.maximum((shares * topics).astype(np.int64), 2)
    while counts.sum() != topics:
        most = int(np.argmax(counts - shares * topics))
        least = int(np.argmin(counts - shares * topics))
        counts[most if counts.sum() > topics else least] += -1 if counts.sum() > topics else 1
    return np.repeat(np.arange(len(TOPIC_KINDS)), counts)


def _streams(rng: np.random.Generator, size: Size) -> Streams:
    per_topic = 1 + rng.poisson(max(size.producers / size.topics - 1, 0), size.topics)
    per_topic = np.minimum(per_topic, size.producers)
    topic = np.repeat(np.arange(size.topics), per_topic)
    first = np.cumsum(per_topic) - per_topic
    local = np.arange(topic.size) - np.repeat(first, per_topic)
    node_of_producer = rng.integers(0, size.brokers, size.producers)
    # Going round a shuffled list: no producer twice on one topic, and nearly all are used.
    producer = rng.permutation(size.producers)[np.arange(topic.size) % size.producers]
    share = rng.uniform(0.5, 1.5, topic.size)
    share /= np.bincount(topic, share)[topic]
    return Streams(topic, producer, node_of_producer[producer], share, local)


def _routes(size: Size, streams: Streams, subscriptions: Subscriptions) -> Routes:
    order = np.lexsort((subscriptions.match_subscription, subscriptions.match_topic))
    topic = subscriptions.match_topic[order]
    subscription = subscriptions.match_subscription[order]
    wide = np.bincount(streams.topic, minlength=size.topics)[topic]
    return Routes(
        first=np.searchsorted(topic, np.arange(size.topics + 1)),
        topic=topic,
        subscription=subscription,
        client=subscriptions.client[subscription],
        channel=np.cumsum(wide) - wide,
        channels=int(wide.sum()),
    )


def _factors(rng: np.random.Generator, minutes: int) -> Reals:
    """Shared factors: they wander, with a memory of some minutes and a variance of 1."""
    noise = rng.normal(size=(GROUPS, minutes))
    memory = 0.9
    found = noise.copy()
    for minute in range(1, minutes):
        found[:, minute] = memory * found[:, minute - 1] + np.sqrt(1 - memory**2) * noise[:, minute]
    return found
