"""How many messages each stream publishes in each minute, and how minutes make slices.

A topic's log-rate is a diurnal curve, plus its group's shared factor, plus noise of its own. The
counts of a minute come from a generator of their own, so that a task draws its minutes again
without those before.
"""

from dataclasses import dataclass

import numpy as np

from ropewalk.pipeline.generate.kernels import Ints
from ropewalk.pipeline.generate.plan import MINUTE, TOPIC_KINDS
from ropewalk.pipeline.generate.world import Reals, World

OWN_NOISE = 0.3
REDELIVERED = 0.005
UNACCEPTED = 0.01


@dataclass(frozen=True, slots=True)
class Slices:
    """Slices of a trace, each a run of whole minutes."""

    mean: Reals
    """Messages of each stream per minute, before the curve, factors and noise."""
    first_minute: Ints
    """Of each slice; one more at the end."""
    base: Ints
    """slice x stream: messages before the slice."""
    total: Ints
    """Messages of each stream in all."""

    @property
    def edges(self) -> Ints:
        """Where slices begin and end, in ns."""
        return self.first_minute * MINUTE


def slices_of(world: World, control_rows: int) -> Slices:
    """Slices with about equally many messages."""
    minutes, wanted = world.size.minutes, world.size.slices
    mean = _mean(world, control_rows)
    counts = [counts_of(world, mean, minute) for minute in range(minutes)]
    running = np.cumsum([one.sum() for one in counts])
    goals = running[-1] * np.arange(1, wanted) / wanted
    first = np.concatenate([[0], np.searchsorted(running, goals) + 1, [minutes]])
    for one in range(1, wanted):  # each slice has a minute at least
        first[one] = min(max(first[one], first[one - 1] + 1), minutes - (wanted - one))
    base = np.zeros((wanted + 1, mean.size), np.int64)
    for one in range(wanted):
        base[one + 1] = base[one] + np.sum(counts[first[one] : first[one + 1]], axis=0)
    return Slices(mean, first, base[:-1], base[-1])


def counts_of(world: World, mean: Reals, minute: int) -> Ints:
    """Messages of each stream in a minute."""
    rng, rate = _rates(world, minute)
    return rng.poisson(mean * rate[world.streams.topic])


def _rates(world: World, minute: int) -> tuple[np.random.Generator, Reals]:
    """Each topic's rate in a minute, over its mean; and the generator that goes on from there."""
    topics = world.topics
    rng = np.random.default_rng([world.size.seed, 2, minute])
    shared = topics.loading * world.factors[topics.group, minute]
    own = OWN_NOISE * rng.normal(size=topics.kind.size)
    return rng, np.exp(diurnal(world, minute) + shared + own)


def diurnal(world: World, minute: int) -> float:
    """The curve of the day: quiet at night, peaks in the morning and in the afternoon."""
    day = minute / max(world.size.minutes, 1)
    if world.size.minutes > 1440:
        day = minute % 1440 / 1440
    return float(
        0.8 * np.exp(-(((day - 0.40) / 0.08) ** 2))
        + 0.9 * np.exp(-(((day - 0.65) / 0.10) ** 2))
        - 0.5 * np.cos(2 * np.pi * day)
    )


def _mean(world: World, control_rows: int) -> Reals:
    """Messages per stream and minute, so that the trace gets about the rows it should have."""
    size, topics, routes = world.size, world.topics, world.routes
    copies = np.array(
        [
            1 + 0.98 * one.acks + (one.order == "priority") + one.repeats * REDELIVERED
            for one in TOPIC_KINDS
        ]
    )[topics.kind]
    remote = np.array([1.2 * one.forwards for one in TOPIC_KINDS])[topics.kind]
    rows = 2 - UNACCEPTED + np.diff(routes.first) * copies * 0.84 + remote
    fixed = control_rows + size.minutes * size.brokers
    rates = sum(_rates(world, minute)[1] for minute in range(size.minutes))
    scale = max(size.events - fixed, size.events / 10) / np.sum(topics.weight * rows * rates)
    mean: Reals = topics.weight[world.streams.topic] * world.streams.share * scale
    return mean
