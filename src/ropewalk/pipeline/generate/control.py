"""Control rows: subscriptions, connections and advertisements, and the faults among them."""

from dataclasses import dataclass

import numpy as np

from ropewalk.pipeline.generate.clients import NEVER
from ropewalk.pipeline.generate.kernels import Ints
from ropewalk.pipeline.generate.ledger import Entry
from ropewalk.pipeline.generate.plan import MS, SECOND
from ropewalk.pipeline.generate.windows import NAMES
from ropewalk.pipeline.generate.world import World
from ropewalk.trace.columns import KIND

VISITORS = 2
"""Producers that advertise and go at once: nobody has to hear of them."""


@dataclass(frozen=True, slots=True)
class Control:
    """Rows: columns of numbers, -1 where a row has none. `topic` may be a pattern's number."""

    time: Ints
    node: Ints
    kind: Ints
    topic: Ints
    client: Ints
    producer: Ints
    subscription: Ints
    durable: Ints
    hop: Ints

    def between(self, begin: int, end: int) -> "Control":
        """The rows of a stretch of time."""
        here = (self.time >= begin) & (self.time < end)
        return Control(*(getattr(self, name)[here] for name in COLUMNS))


COLUMNS = tuple(Control.__slots__)
Row = dict[str, int]


def control_of(world: World, faults: dict[str, int]) -> tuple[Control, list[Entry]]:
    """All control rows of a trace and what is wrong with them; faults: how many of each kind."""
    rng = np.random.default_rng([world.size.seed, 3])
    rows: list[Row] = [*_subscriptions(world), *_connections(world)]
    dropped, wrong = _lost_advertisements(rng, world, faults.get("lost-advertisement", 0))
    rows += _advertisements(rng, world, dropped)
    unconfirmed, more = _lost_subscriptions(rng, world, faults.get("lost-subscription", 0))
    rows += [row for row in unconfirmed if row["time"] < world.size.end]
    columns = [np.array([row.get(name, -1) for row in rows], np.int64) for name in COLUMNS]
    return Control(*columns), [*wrong, *more]


def node_at(world: World, client: int, time: int) -> int:
    """The broker that a client is at, or was at last."""
    returns = int((world.clients.back[client] <= time).sum())
    return int(world.clients.node[client, returns])


def _subscriptions(world: World) -> list[Row]:
    subs, rows = world.subscriptions, []
    times = {
        "subscribe": subs.asked,
        "subscribed": subs.told,
        "unsubscribe": subs.end_asked,
        "unsubscribed": subs.end_told,
    }
    for kind, at in times.items():
        for one, window in zip(*np.nonzero((at >= 0) & (at < world.size.end)), strict=True):
            time, client = int(at[one, window]), int(subs.client[one])
            rows.append(
                _row(
                    kind,
                    time,
                    node_at(world, client, time),
                    {
                        "topic": int(subs.pattern[one]),
                        "client": client,
                        "subscription": int(subs.name[one]),
                        "durable": int(subs.durable[one]),
                    },
                )
            )
    return rows


def _connections(world: World) -> list[Row]:
    clients, rows = world.clients, []
    for client, turn in zip(*np.nonzero(clients.left < NEVER), strict=True):
        left, back = int(clients.left[client, turn]), int(clients.back[client, turn])
        who = {"client": int(client)}
        if left >= 0:
            rows.append(_row("disconnect", left, int(clients.node[client, turn]), who))
        if back < world.size.end:
            rows.append(_row("connect", back, int(clients.node[client, turn + 1]), who))
    return rows


def _advertisements(
    rng: np.random.Generator, world: World, dropped: set[tuple[int, int]]
) -> list[Row]:
    """Each stream's advertisement at its origin and, a little later, at all other brokers."""
    streams, rows = world.streams, []
    begins = rng.integers(2 * SECOND, 4 * SECOND, streams.topic.size)
    ends = np.where(rng.random(streams.topic.size) < 0.05, world.size.end - 500 * MS, NEVER)
    for one in range(streams.topic.size):
        what = {"topic": int(streams.topic[one]), "producer": int(streams.producer[one])}
        for node in range(world.size.brokers):
            if (one, node) in dropped:
                continue
            far = int(world.brokers.hops[streams.node[one], node])
            later, hop = far * 5 * MS, {"hop": min(far, 1)}
            rows.append(_row("advertise", int(begins[one]) + later, node, what | hop))
            if ends[one] < NEVER:
                rows.append(_row("unadvertise", int(ends[one]) + later, node, what | hop))
    return [*rows, *_visitors(rng, world)]


def _visitors(rng: np.random.Generator, world: World) -> list[Row]:
    """Producers that take back their advertisement before anybody has to know of it."""
    rows = []
    for one in range(VISITORS):
        begin = int(rng.integers(20 * SECOND, world.size.end - 60 * SECOND))
        topic = int(rng.integers(0, world.size.topics))
        what = {"topic": topic, "producer": world.size.producers + one, "hop": 0}
        node = int(rng.integers(0, world.size.brokers))
        rows += [_row("advertise", begin, node, what)]
        rows += [_row("unadvertise", begin + 2 * SECOND, node, what)]
    return rows


def _lost_advertisements(
    rng: np.random.Generator, world: World, count: int
) -> tuple[set[tuple[int, int]], list[Entry]]:
    """Streams and brokers that never hear of them although a client there should."""
    streams, subs, routes = world.streams, world.subscriptions, world.routes
    steady = (
        world.clients.never_left[routes.client]
        & (subs.asked[routes.subscription, 0] < 0)
        & (subs.end_asked[routes.subscription, 0] == NEVER)
    )
    place = world.clients.node[routes.client, 0]
    waiting = {(int(t), int(n)) for t, n in zip(routes.topic[steady], place[steady], strict=True)}
    found: set[tuple[int, int]] = set()
    wrong: list[Entry] = []
    for one in rng.permutation(streams.topic.size):
        nodes = [n for n in range(world.size.brokers) if n != streams.node[one]]
        nodes = [n for n in nodes if (int(streams.topic[one]), n) in waiting]
        if len(wrong) < count and nodes:
            node = int(rng.choice(nodes))
            found.add((int(one), node))
            wrong.append(
                Entry(
                    "A012",
                    world.topics.names[streams.topic[one]],
                    world.producers[streams.producer[one]],
                    other=world.brokers.names[node],
                )
            )
    return found, wrong


def _lost_subscriptions(
    rng: np.random.Generator, world: World, count: int
) -> tuple[list[Row], list[Entry]]:
    """Subscriptions that nobody confirms; beside them some that nobody had to confirm."""
    subs, rows = world.subscriptions, []
    wrong: list[Entry] = []
    taken = set(zip(world.routes.client.tolist(), world.routes.topic.tolist(), strict=True))
    candidates = np.flatnonzero(world.clients.steady)
    for turn in range(count + 2):
        client, topic = _fresh(rng, candidates, world.size.topics, taken)
        if client < 0:
            break
        time = int(rng.integers(20 * SECOND, world.size.end - 20 * SECOND))
        if turn == count:
            time = world.size.end - 2 * SECOND  # the trace ends before it had to be confirmed
        name = int(rng.integers(-1, len(NAMES)))
        what = {"topic": topic, "client": client, "subscription": name, "durable": 0}
        node = int(world.clients.node[client, 0])
        rows.append(_row("subscribe", time, node, what))
        if turn == count + 1:  # it was given up
            rows.append(_row("unsubscribe", time + 300 * MS, node, what))
        if turn < count:
            wrong.append(
                Entry(
                    "A011",
                    subs.patterns[topic],
                    consumer=world.clients.names[client],
                    other=NAMES[name] if name >= 0 else None,
                )
            )
    return rows, wrong


def _fresh(
    rng: np.random.Generator, clients: Ints, topics: int, taken: set[tuple[int, int]]
) -> tuple[int, int]:
    """A client and a topic that it has nothing to do with yet; -1, -1 if none was found."""
    for _ in range(1000):
        pair = (int(rng.choice(clients)), int(rng.integers(0, topics)))
        if pair not in taken:
            taken.add(pair)
            return pair
    return -1, -1


def _row(kind: str, time: int, node: int, what: Row) -> Row:
    return {"kind": KIND[kind], "time": time, "node": node, **what}
