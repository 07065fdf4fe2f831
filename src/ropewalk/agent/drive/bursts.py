"""Bursts: rates that change from step to step, and topics whose bursts come together.

A file says which topics move with which factors:

    seed: 7
    step_s: 0.5
    last_s: 1
    groups:
      - {topics: [shares/#], rate_msgs_s: 30, factors: {market: 0.6}, own: 0.1}
      - {topics: [bonds/#], rate_msgs_s: 30, factors: {market: -0.6}, own: 0.1}

A factor is a random series with mean 0 and deviation 1 which forgets itself in about `last_s`; a
topic's rate is `rate_msgs_s` x (1 + its parts of the factors + `own` x a series of its own), and
never below 0. So topics of one group burst together, and those with the other sign are quiet then.
The same seed gives the same rates, however long the run is.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from random import Random
from typing import Annotated

import msgspec
import yaml

from ropewalk.errors import UsageError
from ropewalk.overlay.rules import matches

MOST_RATE = 100_000.0

Positive = Annotated[float, msgspec.Meta(gt=0)]


class Group(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Topics that burst together."""

    topics: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    rate_msgs_s: Annotated[float, msgspec.Meta(gt=0, le=MOST_RATE)]
    """Of each publisher of each topic, on average."""
    factors: Mapping[str, float] = {}
    """By factor: how far one deviation of it moves the rate, as a part of it."""
    own: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    """The same of what no other topic has."""


class Bursts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How rates change."""

    groups: Annotated[tuple[Group, ...], msgspec.Meta(min_length=1)]
    seed: int = 1
    step_s: Annotated[float, msgspec.Meta(ge=0.01, le=3600)] = 1.0
    """So long a rate stays; runs begin at a multiple of it, so steps are windows of a trace."""
    last_s: Positive = 1.0
    """After so long a factor has forgotten two thirds of what it was."""

    def rates_msgs_s(self, topic: str, steps: int) -> list[float]:
        """The rates of a topic in each step; UsageError if no group has it."""
        group = next((one for one in self.groups if _has(one, topic)), None)
        if group is None:
            raise UsageError(f"{topic}: no group of the bursts has this topic: add one with it")
        series = [(part, self._series(name)) for name, part in sorted(group.factors.items())]
        series.append((group.own, self._series(f"topic {topic}")))
        base = group.rate_msgs_s
        return [
            min(MOST_RATE, max(0.0, base * (1 + sum(part * next(one) for part, one in series))))
            for _ in range(steps)
        ]

    def _series(self, name: str) -> Iterator[float]:
        """A factor: each step remembers a part of the step before."""
        random = Random(f"{self.seed} {name}")  # noqa: S311  (repeatable, not secret)
        memory = math.exp(-self.step_s / self.last_s)
        news = math.sqrt(1 - memory * memory)
        value = random.gauss(0, 1)
        while True:
            yield value
            value = memory * value + news * random.gauss(0, 1)

    def factor(self, name: str, steps: int) -> list[float]:
        """The values of a factor, for those who want to look at it."""
        return list(islice(self._series(name), steps))

    def check(self, topics: Iterable[str]) -> None:
        """Raise UsageError for a topic that no group has."""
        for topic in topics:
            self.rates_msgs_s(topic, 0)


def _has(group: Group, topic: str) -> bool:
    return any(matches(pattern, topic) for pattern in group.topics)


def load_bursts(path: Path) -> Bursts:
    """Bursts from a YAML file; UsageError that says what is wrong with it."""
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
        return msgspec.convert(found, Bursts)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError):
        raise UsageError(f"{path}: no YAML that can be read") from None
    except msgspec.ValidationError as error:
        raise UsageError(f"{path}: {error}") from None
