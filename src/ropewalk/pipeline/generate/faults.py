"""Faults of a slice: what each kind changes, and the violations that follow from it.

Each looks for a place where it is alone: in a slice no two faults touch one route, nor one topic
of total order. Places are calm: far from where a subscription, a connection or the trace begins
or ends, so that no clock error makes a violation doubtful. A kind that finds no place in some
tries is left out; the ledger holds only what was put in.
"""

from collections.abc import Callable
from types import MappingProxyType

import numpy as np

from ropewalk.pipeline.generate import order
from ropewalk.pipeline.generate.deliveries import CALM
from ropewalk.pipeline.generate.ledger import BAD_ROW, Entry
from ropewalk.pipeline.generate.plan import (
    ALERTS,
    BAD_REASONS,
    BOOKS,
    MS,
    NEWS,
    ORDERS,
    PRICES,
    SECOND,
    TELEMETRY,
    TICKERS,
    TOPIC_KINDS,
    TRADES,
)
from ropewalk.pipeline.generate.scene import Extra, Scene

AFTER_ACK = 200 * MS
"""Later than any acknowledgement."""
LONG_WAIT = 600 * SECOND


def inject(scene: Scene, faults: dict[str, range]) -> None:
    """Put in faults of each kind, by their numbers; what has no place is left out."""
    for kind, turns in faults.items():
        scene.placed[kind] = sum(INJECTORS[kind](scene, turn) for turn in turns)


def _repeating() -> list[int]:
    return [number for number, one in enumerate(TOPIC_KINDS) if one.repeats]


def lost(scene: Scene, turn: int) -> bool:
    """A message that a client had to get and never gets; at times from a backlog."""
    made = scene.made
    due = scene.kinds(*_repeating())
    waited = scene.candidates(due & made.backlog) if turn % 3 == 2 else ()
    for one in (*waited, *scene.candidates(due & made.calm)):
        if scene.free(one):
            made.kept[one] = False
            scene.take(one)
            scene.tell("A001", one)
            return True
    return False


def duplicate(scene: Scene, turn: int) -> bool:
    """A second delivery that is not marked, or one that is marked but comes after the ack."""
    made, messages = scene.made, scene.messages
    strict = [n for n, k in enumerate(TOPIC_KINDS) if k.delivery == "exactly-once"]
    weak = [n for n, k in enumerate(TOPIC_KINDS) if k.delivery == "at-most-once"]
    for one in scene.candidates(made.calm & scene.kinds(*(weak if turn % 3 == 2 else strict))):
        if scene.free(one):
            message = int(made.message[one])
            scene.extras.append(
                Extra(
                    stream=int(messages.stream[message]),
                    pseq=int(messages.pseq[message]),
                    message=message,
                    client=int(made.client[one]),
                    node=int(made.node[one]),
                    time=int(made.time[one]) + AFTER_ACK,
                    redelivered=turn % 3 == 1,
                )
            )
            scene.take(one)
            scene.tell("A002", one)
            return True
    return False


def not_subscribed(scene: Scene, turn: int) -> bool:
    """A delivery to a client that never subscribed, or whose subscription is over."""
    messages, world = scene.messages, scene.world
    late = messages.time < scene.span.last - CALM
    kind = world.topics.kind[messages.topic]
    for message in scene.candidates(late & (kind != ALERTS)):
        topic, when = int(messages.topic[message]), int(messages.time[message])
        client = _stranger(scene, topic, when, over=turn % 2 == 1)
        ordered = TOPIC_KINDS[kind[message]].order == "total"
        if client < 0 or (client, topic) in scene.strangers:
            continue
        if ordered and not scene.alone(message):
            continue
        stream, pseq = int(messages.stream[message]), int(messages.pseq[message])
        node = int(world.clients.node[client, 0])
        when += int(scene.rng.integers(5 * MS, 60 * MS))
        scene.extras.append(Extra(stream, pseq, message, client, node, when))
        scene.strangers.add((client, topic))
        if ordered:
            scene.ordered.append(message)
        consumer = world.clients.names[client]
        scene.entries.append(Entry("A003", scene.topic(message), *scene.key(message), consumer))
        return True
    return False


def _stranger(scene: Scene, topic: int, when: int, *, over: bool) -> int:
    """A client that must not get a message of a topic at some time; -1 if none was found."""
    routes, subs, clients = scene.world.routes, scene.world.subscriptions, scene.world.clients
    if over:
        here = np.arange(routes.first[topic], routes.first[topic + 1])
        one = routes.subscription[here]
        ended = (subs.end_told[one, 0] < when - CALM) & (subs.asked[one, 1] > when + CALM)
        ended &= clients.never_left[routes.client[here]]
        found = routes.client[here[ended]]
        if found.size:
            return int(scene.rng.choice(found))
    client = int(scene.rng.choice(np.flatnonzero(clients.steady)))
    return client if scene.strange(client, topic) else -1


def never_published(scene: Scene, turn: int) -> bool:
    """A delivery of a number that its stream never reaches."""
    made, messages = scene.made, scene.messages
    for one in scene.candidates(made.calm & scene.kinds(TELEMETRY, NEWS)):
        if scene.free(one):
            stream = int(messages.stream[made.message[one]])
            pseq = int(scene.slices.total[stream]) + 1 + turn
            client, node = int(made.client[one]), int(made.node[one])
            time = int(made.time[one]) + MS
            scene.extras.append(Extra(stream, pseq, -1, client, node, time))
            scene.take(one)
            topic, (producer, _) = scene.topic(made.message[one]), scene.key(made.message[one])
            scene.entries.append(Entry("A004", topic, producer, pseq, scene.consumer(one)))
            return True
    return False


def fifo(scene: Scene, turn: int) -> bool:  # noqa: ARG001
    """A message that comes after the next one of its stream."""
    made, messages = scene.made, scene.messages
    for one in scene.candidates(made.calm & scene.kinds(TRADES, PRICES, ORDERS)):
        then = scene.following(one, stream=True)
        if not scene.free(one) or not then or not made.calm[then[0]]:
            continue
        if made.node[then[0]] != made.node[one]:
            continue
        time = scene.after(then[0], then[1:])
        within = int(scene.world.topics.within_ns[messages.topic[made.message[one]]])
        slow = time - int(messages.time[made.message[one]])
        if time and (not within or slow < within) and slow < LONG_WAIT:
            made.time[one] = time
            scene.take(one)
            scene.tell("A005", one)
            return True
    return False


def priority(scene: Scene, turn: int) -> bool:  # noqa: ARG001
    """A message that overtakes one of higher priority, which waited before it came."""
    made, messages = scene.made, scene.messages
    level = messages.priority[made.message]
    for one in scene.candidates(made.calm & scene.kinds(ALERTS)):
        then = scene.following(one, stream=False)
        if not scene.free(one) or not then or level[then[0]] >= level[one]:
            continue
        low = then[0]
        coming = made.arrived[(made.route == made.route[one]) & made.queued]
        coming = coming[coming > made.time[low]]
        limit = min([*made.time[then[1:]], *coming, scene.span.end])
        room = int(limit - made.time[low])
        if made.calm[low] and room > 2_000:
            made.time[one] = made.time[low] + min(room // 2, MS)
            scene.take(one)
            scene.tell("A006", low)
            return True
    return False


def late(scene: Scene, turn: int) -> bool:  # noqa: ARG001
    """A delivery after its limit, where it overtakes nothing that is ordered."""
    made, messages = scene.made, scene.messages
    within = scene.world.topics.within_ns[messages.topic[made.message]]
    unordered = scene.kinds(TELEMETRY, NEWS)
    for one in scene.candidates(made.calm & (within > 0)):
        published = int(messages.time[made.message[one]])
        time = published + int(within[one]) + int(scene.rng.integers(300 * MS, 1000 * MS))
        then = [] if unordered[one] else scene.following(one, stream=True)
        limit = min([*made.time[then], scene.span.end])
        if scene.free(one) and (unordered[one] or time < limit - MS):
            made.time[one] = time
            scene.take(one)
            scene.tell("A010", one)
            return True
    return False


WRONG_WORDS = ((1, 2), (0, 1), (2, 0))
"""Numbers of labels: what would be said, and what is said instead."""


def protocol(scene: Scene, turn: int) -> bool:
    """A conversation that says what its protocol does not allow."""
    return any(_misspoken(scene, *WRONG_WORDS[(turn + more) % 3]) for more in range(3))


def _misspoken(scene: Scene, said: int, instead: int) -> bool:
    messages = scene.messages
    quiet = messages.time < scene.span.last - CALM
    for message in scene.candidates((messages.label == said) & quiet):
        stream, talk = int(messages.stream[message]), int(messages.talk[message])
        if (stream, talk) not in scene.talks:
            messages.label[message] = instead
            scene.talks.add((stream, talk))
            name = talk_name(scene.span.number, stream, talk)
            told = Entry("A013", scene.topic(message), *scene.key(message), other=name)
            scene.entries.append(told)
            return True
    return False


def bad_rows(scene: Scene, turn: int) -> bool:
    """A row that no ingest can take."""
    for message in scene.candidates(np.ones(scene.messages.time.size, bool)):
        reason = turn % len(BAD_REASONS)
        scene.bad.append((message, reason))
        scene.entries.append(Entry(BAD_ROW, other=BAD_REASONS[reason]))
        return True
    return False


def talk_name(slice_number: int, stream: int, talk: int) -> str:
    """The name of a conversation.

    >>> talk_name(3, 17, 5)
    'c3-17-5'
    """
    return f"c{slice_number}-{stream}-{talk}"


def _order(scene: Scene, turn: int) -> bool:
    if turn % 2 == 1 and order.three_ways(scene):
        return True
    return order.swap(scene, TICKERS) or order.three_ways(scene)


def _rank(scene: Scene, turn: int) -> bool:  # noqa: ARG001
    return order.swap(scene, BOOKS)


INJECTORS: MappingProxyType[str, Callable[[Scene, int], bool]] = MappingProxyType(
    {
        "lost": lost,
        "duplicate": duplicate,
        "not-subscribed": not_subscribed,
        "never-published": never_published,
        "fifo": fifo,
        "priority": priority,
        "rank": _rank,
        "order": _order,
        "late": late,
        "protocol": protocol,
        "bad-rows": bad_rows,
    }
)
"""What puts in a fault of each kind: whether it found a place for it."""
