"""What is promised of each topic, as numbers."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from ropewalk.federation.contracts import DELIVERY, ORDER
from ropewalk.federation.facts import Federation, Topic
from ropewalk.federation.topics import common, is_pattern
from ropewalk.pipeline.audit.coding import Ints, Longs
from ropewalk.pipeline.audit.rows import Bytes

BEST_EFFORT, AT_MOST_ONCE, AT_LEAST_ONCE, EXACTLY_ONCE = range(len(DELIVERY))
UNORDERED, FIFO, PRIORITY, TOTAL = range(len(ORDER))
NS_PER_MS = 1_000_000
UNBOUNDED = -1
NO_PROTOCOL = -1


@dataclass(frozen=True, slots=True, eq=False)
class Contracts:
    """The contract of every topic, in the order of their ids."""

    topic: Longs
    promise: Bytes
    order: Bytes
    within_ns: Longs
    protocol: Ints

    def places(self, topics: Longs) -> Longs:
        """Where topics stand in these arrays; every one of them is there."""
        return np.searchsorted(self.topic, topics)


def contracts_of(
    federation: Federation, names: Mapping[int, str], protocols: Iterable[str] = ()
) -> Contracts:
    """Contracts of topics by id: their own, else that of the first pattern, else the default."""
    topics = sorted(names)
    numbers = {name: number for number, name in enumerate(protocols)}
    patterns = [name for name in federation.topics if is_pattern(name)]
    found = [_topic(federation, patterns, names[topic]) for topic in topics]
    within = [one.contract.within_ms for one in found]
    return Contracts(
        np.array(topics, np.int64),
        np.array([DELIVERY.index(one.contract.delivery) for one in found], np.int8),
        np.array([ORDER.index(one.contract.order) for one in found], np.int8),
        np.array([UNBOUNDED if ms is None else round(ms * NS_PER_MS) for ms in within], np.int64),
        np.array([numbers.get(one.protocol or "", NO_PROTOCOL) for one in found], np.int32),
    )


def _topic(federation: Federation, patterns: list[str], name: str) -> Topic:
    if name in federation.topics:
        return federation.topics[name]
    for pattern in patterns:
        if common(pattern, name) is not None:
            return federation.topics[pattern]
    return Topic()
