"""The deliveries of a slice's messages: to whom, at which broker, when, and which are missed.

A delivery's time follows from its message's publication and from nothing in another slice. What
is ordered arrives before its slice ends; a durable client's backlog is a rising function of the
time at which it would have come. So order holds over slices too.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ropewalk.pipeline.generate.clients import ABSENCES, CATCH_UP, NEVER
from ropewalk.pipeline.generate.kernels import Ints, never_earlier, served
from ropewalk.pipeline.generate.messages import Messages, Span
from ropewalk.pipeline.generate.plan import MS, SECOND, TOPIC_KINDS
from ropewalk.pipeline.generate.rates import Slices
from ropewalk.pipeline.generate.windows import WINDOWS
from ropewalk.pipeline.generate.world import World

Yes = npt.NDArray[np.bool_]
LONGEST = SECOND
"""The longest that a live message is on its way, but for hops and queues."""
CALM = 10 * SECOND
"""Faults keep so far from what begins or ends, so that what they are is beyond doubt."""
BACKLOG_BEGINS = 50 * MS
LEGAL_LOSS = 0.005
HURRY = 200 * MS
"""So long before a slice ends queues are emptied fast."""


@dataclass(slots=True)
class Deliveries:
    """Messages and clients due to get them; faults change `time` and `kept`."""

    message: Ints
    route: Ints
    client: Ints
    kind: Ints
    node: Ints
    arrived: Ints
    """When it reached the client's broker."""
    time: Ints
    kept: Yes
    missed: Yes
    """Lost on the way, which its contract allows."""
    calm: Yes
    """Live, in the midst of a subscription and a connection, accepted and delivered."""
    queued: Yes
    """Waited in a queue of its client."""
    backlog: Yes
    """Waited for the return of a durable client, accepted and delivered."""


def deliveries_of(world: World, slices: Slices, messages: Messages, span: Span) -> Deliveries:
    """The deliveries of a slice, as they are without faults."""
    rng = np.random.default_rng([world.size.seed, 5, span.number])
    message, route = _expanded(world, messages)
    client = world.routes.client[route]
    kind = world.topics.kind[messages.topic[message]]
    node = world.clients.node[client, 0]
    arrived = _arrivals(rng, world, messages, message, node)
    np.minimum(arrived, span.end - MS, out=arrived)
    never_earlier(arrived, _channels(world, messages, message, route, kind), world.routes.channels)
    made = Deliveries(
        message=message,
        route=route,
        client=client,
        kind=kind,
        node=node,
        arrived=arrived,
        time=arrived.copy(),
        kept=np.ones(message.size, bool),
        missed=_missed(rng, messages, message, kind),
        calm=messages.accepted[message],
        queued=np.zeros(message.size, bool),
        backlog=np.zeros(message.size, bool),
    )
    made.kept &= ~made.missed
    _connect(world, made)
    _subscribe(world, messages, made)
    _queue(rng, world, slices, messages, made, span)
    made.kept &= made.time < span.last
    made.calm &= made.kept & (messages.time[message] < span.last - CALM)
    made.backlog &= made.kept & messages.accepted[message]
    made.backlog &= made.time < span.last - CALM
    return made


def _expanded(world: World, messages: Messages) -> tuple[Ints, Ints]:
    """Each message with each route of its topic."""
    first = world.routes.first
    wide = np.diff(first)[messages.topic]
    message = np.repeat(np.arange(wide.size), wide)
    within = np.arange(message.size) - np.repeat(np.cumsum(wide) - wide, wide)
    return message, first[messages.topic[message]] + within


def _arrivals(
    rng: np.random.Generator, world: World, messages: Messages, message: Ints, node: Ints
) -> Ints:
    origin = world.streams.node[messages.stream[message]]
    hops = world.brokers.hops[origin, node]
    way = np.minimum(np.exp(rng.normal(np.log(4 * MS), 0.9, message.size)), LONGEST)
    arrived: Ints = messages.accepted_at[message] + way.astype(np.int64) + hops * 4 * MS + MS // 2
    return arrived


def _channels(world: World, messages: Messages, message: Ints, route: Ints, kind: Ints) -> Ints:
    """What is kept in order: a stream to a client (fifo), a topic to a client (total)."""
    order = np.array([one.order for one in TOPIC_KINDS])
    channel = world.routes.channel[route]
    local = world.streams.local[messages.stream[message]]
    found = np.where((order == "fifo")[kind], channel + local, -1)
    return np.where((order == "total")[kind], channel, found)


def _missed(rng: np.random.Generator, messages: Messages, message: Ints, kind: Ints) -> Yes:
    """What may be lost: of weak contracts a little, of what was never accepted half."""
    weak = np.array([not one.repeats for one in TOPIC_KINDS])[kind]
    luck = rng.random(message.size)
    found: Yes = (weak & (luck < LEGAL_LOSS)) | (~messages.accepted[message] & (luck < 0.5))
    return found


def _connect(world: World, made: Deliveries) -> None:
    """Clients that are away: durable ones get it when they are back, others miss it."""
    clients = world.clients
    some = np.flatnonzero(clients.left[made.client, 0] < NEVER)
    client, raw = made.client[some], made.arrived[some]
    durable = world.subscriptions.durable[world.routes.subscription[made.route[some]]]
    time, node = raw.copy(), made.node[some]
    kept, calm = np.ones(some.size, bool), np.ones(some.size, bool)
    waited = np.zeros(some.size, bool)
    for turn in range(ABSENCES):
        left, back = clients.left[client, turn], clients.back[client, turn]
        there = left < NEVER
        after = there & (raw >= back)
        node = np.where(after, clients.node[client, turn + 1], node)
        away = there & (raw >= left) & ~after
        kept &= ~away | (durable & (back < NEVER))
        waited |= away
        part = np.clip((raw - left) / np.maximum(back - left, 1), 0, 1)
        later = back + BACKLOG_BEGINS + (part * SECOND).astype(np.int64)
        time = np.where(away, later, time)
        node = np.where(away, clients.node[client, turn + 1], node)
        behind = back + CATCH_UP + (raw - back) // 20
        time = np.where(after & durable, np.maximum(time, behind), time)
        calm &= ~there | (raw < left - CALM) | (raw > back + CALM)
    made.time[some], made.node[some] = time, node
    made.kept[some] &= kept
    made.calm[some] &= calm
    made.backlog[some] = waited


def _subscribe(world: World, messages: Messages, made: Deliveries) -> None:
    """Deliver what was published and arrived inside a window."""
    subs = world.subscriptions
    one = world.routes.subscription[made.route]
    published = messages.time[made.message]
    inside, deep = np.zeros(one.size, bool), np.zeros(one.size, bool)
    for window in range(WINDOWS):
        begins, ends = subs.begins[one, window], subs.ends[one, window]
        inside |= (published >= begins) & (made.time < ends)
        told, over = subs.told[one, window], subs.end_asked[one, window]
        deep |= (published > told + CALM) & (made.time < over - CALM)
    made.kept &= inside
    made.calm &= deep
    made.backlog &= deep


def _queue(
    rng: np.random.Generator,
    world: World,
    slices: Slices,
    messages: Messages,
    made: Deliveries,
    span: Span,
) -> None:
    """Topics with priorities: each client has a queue that its broker serves one by one."""
    order = np.array([one.order for one in TOPIC_KINDS])
    here = np.flatnonzero((order == "priority")[made.kind] & made.kept)
    made.queued[here] = True
    here = here[np.lexsort((made.arrived[here], made.route[here]))]
    per_minute = np.bincount(world.streams.topic, slices.mean, minlength=world.size.topics)
    pace = np.clip(0.25 * 60 * SECOND / np.maximum(per_minute, 1e-9), MS, SECOND)
    gap = pace[world.routes.topic[made.route[here]]] * rng.uniform(0.5, 1.5, here.size)
    made.time[here] = served(
        made.route[here],
        made.arrived[here],
        messages.priority[made.message[here]],
        gap.astype(np.int64),
        span.end - HURRY,
        2_000,
    )
