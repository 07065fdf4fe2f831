"""The publications of a slice: when, by which stream, and what they carry."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ropewalk.pipeline.generate.kernels import Ints, conversing, numbered
from ropewalk.pipeline.generate.plan import ALERTS, MINUTE, MS, ORDERS, SECOND, TOPIC_KINDS
from ropewalk.pipeline.generate.rates import UNACCEPTED, Slices, counts_of
from ropewalk.pipeline.generate.world import World

Yes = npt.NDArray[np.bool_]
LEVELS = np.array([1, 1, 1, 1, 1, 1, 4, 4, 4, 8])
OPEN_AT_ONCE = 3
QUIET = 300 * MS
"""Nothing is published so shortly before a slice ends: what is ordered arrives inside it."""
OPENING = 5 * SECOND
"""Nothing is published so shortly after the trace begins: clients get ready."""


@dataclass(frozen=True, slots=True)
class Span:
    """A slice: its number and its time."""

    number: int
    begin: int
    end: int
    last: int
    """When the whole trace ends."""


@dataclass(frozen=True, slots=True)
class Messages:
    """Messages of a slice, sorted by topic and time; -1 where one has no such thing."""

    topic: Ints
    stream: Ints
    pseq: Ints
    time: Ints
    accepted: Yes
    accepted_at: Ints
    size: Ints
    priority: Ints
    rank: Ints
    talk: Ints
    """Its conversation's number within stream and slice."""
    label: Ints


def span_of(slices: Slices, number: int) -> Span:
    """The time of a slice."""
    edges = slices.edges
    return Span(number, int(edges[number]), int(edges[number + 1]), int(edges[-1]))


def messages_of(world: World, slices: Slices, span: Span) -> Messages:
    """The messages of a slice."""
    stream, minute = _counted(world, slices, span.number)
    rng = np.random.default_rng([world.size.seed, 4, span.number])
    time = minute * MINUTE + rng.integers(0, MINUTE, minute.size)
    earliest = max(span.begin + MS, OPENING)
    late = (time < earliest) | (time > span.end - QUIET)
    time[late] = rng.integers(earliest, span.end - QUIET, int(late.sum()))
    topic = world.streams.topic[stream]
    order = np.lexsort((time, topic))
    topic, stream, time = topic[order], stream[order], time[order]
    count = time.size
    kind = world.topics.kind[topic]
    talk, label = _conversations(rng, world, stream, kind)
    return Messages(
        topic=topic,
        stream=stream,
        pseq=numbered(stream, slices.base[span.number]),
        time=time,
        accepted=rng.random(count) >= UNACCEPTED,
        accepted_at=time + rng.integers(100_000, MS, count),
        size=np.exp(rng.normal(5.5, 0.9, count)).astype(np.int64) + 16,
        priority=np.where(kind == ALERTS, LEVELS[rng.integers(0, LEVELS.size, count)], -1),
        rank=_ranks(world, slices, span.number, topic, kind),
        talk=talk,
        label=label,
    )


def _counted(world: World, slices: Slices, number: int) -> tuple[Ints, Ints]:
    """The stream and the minute of each message, as they were counted before."""
    first, end = slices.first_minute[number], slices.first_minute[number + 1]
    streams, minutes = [], []
    for minute in range(first, end):
        counts = counts_of(world, slices.mean, minute)
        streams.append(np.repeat(np.arange(counts.size), counts))
        minutes.append(np.full(streams[-1].size, minute, np.int64))
    return np.concatenate(streams), np.concatenate(minutes)


def _ranks(world: World, slices: Slices, number: int, topic: Ints, kind: Ints) -> Ints:
    """Places in the broker's own order, which goes on from slice to slice."""
    ranked = np.array([one.ranked for one in TOPIC_KINDS])[kind]
    before = np.bincount(
        world.streams.topic, slices.base[number], minlength=world.size.topics
    ).astype(np.int64)
    return np.where(ranked, numbered(topic, before), -1)


def _conversations(
    rng: np.random.Generator, world: World, stream: Ints, kind: Ints
) -> tuple[Ints, Ints]:
    talk = np.full(stream.size, -1, np.int64)
    label = np.full(stream.size, -1, np.int64)
    theirs = kind == ORDERS
    talk[theirs], label[theirs] = conversing(
        stream[theirs],
        world.streams.topic.size,
        OPEN_AT_ONCE,
        rng.random(int(theirs.sum())) < 0.25,
    )
    return talk, label
