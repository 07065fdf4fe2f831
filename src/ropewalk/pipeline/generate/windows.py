"""Subscriptions: who subscribes to what, from when to when, and which topics that matches."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ropewalk.federation.topics import common
from ropewalk.pipeline.generate.clients import NEVER, Clients
from ropewalk.pipeline.generate.kernels import Ints
from ropewalk.pipeline.generate.plan import ALERTS, MS, SECOND, TICKERS, TOPIC_KINDS, Size

Yes = npt.NDArray[np.bool_]
NAMES = ("main", "audit", "replay")
"""Names that some subscriptions have."""
WINDOWS = 2


@dataclass(frozen=True, slots=True)
class Subscriptions:
    """Subscriptions by number, each with up to two windows; NEVER where there is none."""

    patterns: tuple[str, ...]
    """All names and patterns that are subscribed to."""
    pattern: Ints
    client: Ints
    name: Ints
    """Its place in NAMES, -1 without a name."""
    durable: Yes
    asked: Ints
    """subscription x window: `subscribe`; below 0: before the trace, no row."""
    told: Ints
    """`subscribed`."""
    begins: Ints
    """When it took effect, between the two."""
    end_asked: Ints
    """`unsubscribe`."""
    end_told: Ints
    """`unsubscribed`."""
    ends: Ints
    """When it ended, between the two."""
    match_topic: Ints
    match_subscription: Ints


def subscriptions_of(
    rng: np.random.Generator, size: Size, topics: tuple[str, ...], kind: Ints, clients: Clients
) -> Subscriptions:
    """Subscriptions of a seed: plain ones for every topic, and some with wildcards."""
    plain = _plain(rng, size, kind, clients)
    taken = sorted({one for one, _ in plain})
    wild = _wild(rng, size, topics, kind, clients, set(taken))
    patterns = (*topics, *sorted({pattern for _, pattern in wild}))
    place = {name: number for number, name in enumerate(patterns)}
    pairs = [*plain, *((client, place[pattern]) for client, pattern in wild)]
    client = np.array([one for one, _ in pairs], np.int64)
    pattern = np.array([one for _, one in pairs], np.int64)
    name = np.where(rng.random(len(pairs)) < 0.2, rng.integers(0, 3, len(pairs)), -1)
    matches = _matches(topics, patterns, pattern)
    calm = np.ones(len(pairs), bool)
    for topic, subscription in zip(*matches, strict=True):
        calm[subscription] &= kind[topic] not in (ALERTS,)
    may_change = calm & clients.never_left[client]
    durable = rng.random(len(pairs)) < np.where(clients.never_left[client], 0.3, 0.6)
    times = _windows(rng, size, may_change)
    return Subscriptions(patterns, pattern, client, name, durable, *times, *matches)


def _plain(
    rng: np.random.Generator, size: Size, kind: Ints, clients: Clients
) -> list[tuple[int, int]]:
    """Clients and topics: some subscribers for each topic, none twice."""
    steady = np.flatnonzero(clients.steady)[:-2]  # the last are kept for wildcards
    everyone = np.setdiff1d(np.arange(len(clients.names)), np.flatnonzero(clients.steady)[-2:])
    mean = max(size.subscriptions * 0.97 / size.topics - 2, 0.2)
    found = []
    for topic, one in enumerate(kind):
        pool = steady if one in (ALERTS, TICKERS) else everyone
        wanted = TOPIC_KINDS[one].least_subscribers + int(rng.poisson(mean))
        some = rng.choice(pool, min(wanted, pool.size - 1), replace=False)
        found += [(int(client), topic) for client in some]
    return found


def _wild(
    rng: np.random.Generator,
    size: Size,
    topics: tuple[str, ...],
    kind: Ints,
    clients: Clients,
    taken: set[int],
) -> list[tuple[int, str]]:
    """Clients with one subscription each, to a pattern such as `prices/+/s001`."""
    free = [int(one) for one in np.flatnonzero(clients.steady) if int(one) not in taken]
    wanted = max(size.subscriptions // 100, 2)
    found = []
    for client in free[-wanted:]:
        family, _, thing = topics[int(rng.integers(0, kind.size))].split("/")
        found.append((client, f"{family}/+/{thing}"))
    return found


def _matches(
    topics: tuple[str, ...], patterns: tuple[str, ...], pattern: Ints
) -> tuple[Ints, Ints]:
    """Which topics each subscription matches: pairs of topic and subscription."""
    of_pattern = [
        [number] if number < len(topics) else _matched(topics, name)
        for number, name in enumerate(patterns)
    ]
    pairs = [(topic, one) for one, number in enumerate(pattern) for topic in of_pattern[number]]
    found = np.array(pairs, np.int64).reshape(-1, 2)
    return found[:, 0].copy(), found[:, 1].copy()


def _matched(topics: tuple[str, ...], pattern: str) -> list[int]:
    return [number for number, topic in enumerate(topics) if common(pattern, topic) == topic]


def _windows(
    rng: np.random.Generator, size: Size, may_change: Yes
) -> tuple[Ints, Ints, Ints, Ints, Ints, Ints]:
    """Begins and ends: most from before the trace to after it, about 30 % change inside it."""
    count = may_change.size
    made = [np.full((count, WINDOWS), NEVER, np.int64) for _ in range(6)]
    asked, told, begins, end_asked, end_told, ends = made
    asked[:, 0] = begins[:, 0] = -SECOND
    told[:, 0] = rng.integers(50 * MS, SECOND, count)
    fate = rng.random(count)
    fate[~may_change] = 1
    span = size.end
    late = fate < 0.25
    asked[late, 0] = (rng.uniform(0.05, 0.5, late.sum()) * span).astype(np.int64)
    told[late, 0] = asked[late, 0] + rng.integers(10 * MS, 500 * MS, late.sum())
    begins[late, 0] = rng.integers(asked[late, 0], told[late, 0])
    over = (fate > 0.15) & (fate < 0.42)
    end_asked[over, 0] = (rng.uniform(0.55, 0.75, over.sum()) * span).astype(np.int64)
    again = (fate > 0.38) & over
    asked[again, 1] = (rng.uniform(0.80, 0.9, again.sum()) * span).astype(np.int64)
    told[again, 1] = asked[again, 1] + rng.integers(10 * MS, 500 * MS, again.sum())
    begins[again, 1] = rng.integers(asked[again, 1], told[again, 1])
    end_told[over, 0] = end_asked[over, 0] + rng.integers(10 * MS, 500 * MS, over.sum())
    ends[over, 0] = rng.integers(end_asked[over, 0], end_told[over, 0])
    return asked, told, begins, end_asked, end_told, ends
