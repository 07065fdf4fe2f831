"""The rows of a slice: messages, deliveries, control rows and samples as a table of the trace."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ropewalk.pipeline.generate.control import COLUMNS as CONTROL_COLUMNS
from ropewalk.pipeline.generate.control import VISITORS, Control
from ropewalk.pipeline.generate.faults import talk_name
from ropewalk.pipeline.generate.kernels import Ints, apart
from ropewalk.pipeline.generate.plan import (
    BAD_REASONS,
    LABELS,
    MINUTE,
    MS,
    QUANTUM,
    START_NS,
    TOPIC_KINDS,
)
from ropewalk.pipeline.generate.rates import REDELIVERED
from ropewalk.pipeline.generate.samples import link_numbers, samples_of
from ropewalk.pipeline.generate.scene import Scene
from ropewalk.pipeline.generate.windows import NAMES
from ropewalk.trace.columns import COLUMNS, KIND, KINDS, SAMPLE

Block = dict[str, npt.NDArray[Any]]
"""Columns of some rows; what is not there is missing in all of them."""

UNKNOWN_KIND = "flicker"
"""What a row that no ingest knows says it is."""


def table_of(scene: Scene, control: Control) -> pa.Table:
    """The rows of a slice in time order, with columns of `written_schema`."""
    blocks = [one for one in _blocks(scene, control) if one["time"].size]
    time = _column(blocks, "time")
    inside = np.flatnonzero(time < scene.span.last)
    order = inside[np.argsort(time[inside], kind="stable")]
    node = _column(blocks, "node")[order]
    tick = apart(time[order], node, scene.world.size.brokers, QUANTUM)
    found = {
        name: _column(blocks, name)[order]
        for name in (*CONTROL_COLUMNS, *_MESSAGE_COLUMNS)
        if name not in ("time", "node")
    }
    found |= {"node": node, "tick": tick * QUANTUM + scene.span.number}
    samples = {name: _column(blocks, name)[order] for name in SAMPLE}
    return _written(scene, found, samples)


_MESSAGE_COLUMNS = (
    "pseq",
    "redelivered",
    "talk",
    "label",
    "priority",
    "size_bytes",
    "rank",
    "link",
    "bad",
)


def _blocks(scene: Scene, control: Control) -> Iterable[Block]:
    rng = np.random.default_rng([scene.world.size.seed, 6, scene.span.number])
    yield from _publications(scene)
    yield _queued(scene)
    yield from _deliveries(rng, scene)
    yield _extras(scene)
    rows = control.between(scene.span.begin, scene.span.end)
    yield {name: getattr(rows, name) for name in CONTROL_COLUMNS}
    yield samples_of(rng, scene)
    yield _bad(scene)


def _publications(scene: Scene) -> Iterable[Block]:
    messages = scene.messages
    every = np.arange(messages.time.size)
    said = {"talk": messages.talk, "label": messages.label}
    yield _of_messages(scene, every, "publish", messages.time) | said
    some = np.flatnonzero(messages.accepted)
    accepted = _of_messages(scene, some, "accepted", messages.accepted_at[some])
    yield accepted | {"rank": messages.rank[some]}


def _of_messages(scene: Scene, some: Ints, kind: str, time: Ints) -> Block:
    messages, streams = scene.messages, scene.world.streams
    stream = messages.stream[some]
    return {
        "time": time,
        "node": streams.node[stream],
        "kind": np.full(some.size, KIND[kind]),
        "topic": messages.topic[some],
        "producer": streams.producer[stream],
        "pseq": messages.pseq[some],
        "priority": messages.priority[some],
        "size_bytes": messages.size[some],
    }


def _of_deliveries(scene: Scene, some: Ints, kind: str, time: Ints) -> Block:
    made = scene.made
    block = _of_messages(scene, made.message[some], kind, time)
    hop = scene.world.brokers.hops[block["node"], made.node[some]]
    return block | {"node": made.node[some], "client": made.client[some], "hop": hop}


def _queued(scene: Scene) -> Block:
    some = np.flatnonzero(scene.made.queued)
    return _of_deliveries(scene, some, "enqueue", scene.made.arrived[some])


def _deliveries(rng: np.random.Generator, scene: Scene) -> Iterable[Block]:
    """First deliveries, marked repetitions before the ack, acks, drops and what links carried."""
    made, messages = scene.made, scene.messages
    kept = np.flatnonzero(made.kept)
    subscription = scene.world.subscriptions.name[scene.world.routes.subscription[made.route]]
    first = _of_deliveries(scene, kept, "deliver", made.time[kept])
    rank = messages.rank[made.message]
    named = {"subscription": subscription[kept], "rank": rank[kept]}
    yield first | named | {"redelivered": np.zeros(kept.size, np.int64)}
    repeats = np.array([one.repeats for one in TOPIC_KINDS])[made.kind[kept]]
    again = kept[repeats & (rng.random(kept.size) < REDELIVERED)]
    later = made.time[again] + rng.integers(MS, 15 * MS, again.size)
    marked = {"redelivered": np.ones(again.size, np.int64), "rank": rank[again]}
    yield _of_deliveries(scene, again, "deliver", later) | marked
    acks = kept[np.array([one.acks for one in TOPIC_KINDS])[made.kind[kept]]]
    yield _of_deliveries(
        scene, acks, "ack", made.time[acks] + rng.integers(20 * MS, 80 * MS, acks.size)
    )
    dropped = np.flatnonzero(made.missed & (rng.random(made.missed.size) < 0.5))
    at = messages.accepted_at[made.message[dropped]] + MS
    yield _of_messages(scene, made.message[dropped], "drop", at)
    message, link = link_numbers(scene)
    sent = _of_messages(scene, message, "forward", messages.accepted_at[message] + 50_000)
    yield sent | {"link": link, "hop": np.zeros(link.size, np.int64)}


def _extras(scene: Scene) -> Block:
    """Deliveries too many."""
    streams, messages, extras = scene.world.streams, scene.messages, scene.extras
    stream = _ints(one.stream for one in extras)
    message = _ints(one.message for one in extras)
    rank = np.where(message >= 0, messages.rank[message], -1) if extras else stream
    return {
        "time": _ints(one.time for one in extras),
        "node": _ints(one.node for one in extras),
        "kind": np.full(stream.size, KIND["deliver"]),
        "topic": streams.topic[stream],
        "producer": streams.producer[stream],
        "pseq": _ints(one.pseq for one in extras),
        "client": _ints(one.client for one in extras),
        "redelivered": _ints(one.redelivered for one in extras),
        "rank": rank,
    }


def _bad(scene: Scene) -> Block:
    """Copies of publications, each with something wrong."""
    some = _ints(message for message, _ in scene.bad)
    block = _of_messages(scene, some, "publish", scene.messages.time[some] + MS)
    reason = _ints(reason for _, reason in scene.bad)
    block["pseq"] = np.where(reason == BAD_REASONS.index("no pseq"), -1, block["pseq"])
    block["topic"] = np.where(reason == BAD_REASONS.index("no topic"), -1, block["topic"])
    unknown = reason == BAD_REASONS.index("unknown kind")
    block["kind"] = np.where(unknown, len(KINDS), block["kind"])
    return block | {"bad": reason}


def _ints(values: Iterable[int]) -> Ints:
    return np.array(list(values), np.int64)


def _column(blocks: Sequence[Block], name: str) -> npt.NDArray[Any]:
    """A column over all blocks, -1 where it is missing."""
    parts = [one.get(name, np.full(one["time"].size, -1, np.int64)) for one in blocks]
    return np.concatenate(parts)


def _written(scene: Scene, found: Block, samples: Block) -> pa.Table:
    """Numbers as the columns of a written trace, names as dictionaries."""
    world, brokers = scene.world, scene.world.brokers
    node, bad, tick = found["node"], found["bad"], found["tick"]
    minute = tick // MINUTE
    wrong = {name: bad == BAD_REASONS.index(f"no {name}") for name in ("li", "ts_ns")}
    talk, talks = _talks(scene, found)
    names: dict[str, tuple[npt.NDArray[Any], Sequence[str]]] = {
        "node": (node, brokers.names),
        "kind": (found["kind"], (*KINDS, UNKNOWN_KIND)),
        "topic": (found["topic"], world.subscriptions.patterns),
        "client": (found["client"], world.clients.names),
        "producer": (found["producer"], (*world.producers, *visitors())),
        "subscription": (found["subscription"], NAMES),
        "conversation": (talk, talks),
        "label": (found["label"], LABELS),
        "link": (found["link"], brokers.link_names),
        "colour": (np.where(found["link"] >= 0, 0, -1), ("none",)),
    }
    error = brokers.error[node] * (10 + minute * 7 % 5) // 10
    whole: Block = {
        "ts_ns": START_NS + tick + brokers.offset[node],
        "clock_err_ns": error,
        "incarnation": np.ones(node.size, np.int64),
        "epoch": np.ones(node.size, np.int64),
        "li": tick + 1,
        **{name: found[name] for name in ("pseq", "priority", "size_bytes", "rank", "hop")},
    }
    columns = {name: _named(*one) for name, one in names.items()}
    for name, value in (whole | samples).items():
        mask = wrong.get(name, value < 0)
        columns[name] = pa.array(value, mask=mask).cast(COLUMNS[name].type)
    for name in ("durable", "redelivered"):
        columns[name] = pa.array(found[name] == 1, mask=found[name] < 0)
    missing = pa.nulls(node.size, pa.string())
    return pa.table({name: columns.get(name, missing) for name in COLUMNS})


def visitors() -> list[str]:
    """Producers that only advertise."""
    return [f"visitor-{one}" for one in range(VISITORS)]


def _talks(scene: Scene, found: Block) -> tuple[npt.NDArray[Any], list[str]]:
    """Conversations of the rows, and their names."""
    streams, talk = scene.world.streams, found["talk"]
    here = np.flatnonzero(talk >= 0)
    # A producer has one stream on a topic: the two tell the stream.
    wide = np.int64(scene.world.size.producers + VISITORS)
    keys = streams.topic * wide + streams.producer
    place = np.argsort(keys)
    asked = found["topic"][here] * wide + found["producer"][here]
    stream = place[np.searchsorted(keys[place], asked)]
    pairs, number = np.unique(stream * np.int64(1 << 32) + talk[here], return_inverse=True)
    row = np.full(talk.size, -1, np.int64)
    row[here] = number
    names = [talk_name(scene.span.number, int(p >> 32), int(p & 0xFFFFFFFF)) for p in pairs]
    return row, names


def _named(numbers: npt.NDArray[Any], names: Sequence[str]) -> pa.Array:
    indices = pa.array(numbers.astype(np.int32), mask=numbers < 0)
    return pa.DictionaryArray.from_arrays(indices, pa.array(names, pa.string()))
