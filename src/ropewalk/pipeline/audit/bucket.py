"""A bucket made ready for kernels: its rows, the topics they belong to, and who is due what."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ropewalk.pipeline.audit.coding import Coded, Ints, Longs, coded
from ropewalk.pipeline.audit.contracts import Contracts
from ropewalk.pipeline.audit.due import DueRows
from ropewalk.pipeline.audit.numbering import consumer_numbers, message_numbers
from ropewalk.pipeline.audit.rows import COLUMNS, Bytes, Rows, read, starts

Flags = npt.NDArray[np.bool_]


class Topics(NamedTuple):
    """Runs of rows of one topic: where they and their due rows begin, and their contracts."""

    runs: Longs
    due_runs: Longs
    promise: Bytes
    order: Bytes
    within: Longs
    protocol: Ints


class Numbers(NamedTuple):
    """Of each row its message and consumer in its topic (-1: none), and how many each topic has."""

    message: Ints
    messages: Longs
    consumer: Ints
    consumers: Longs
    producer: Ints
    producers: int


class Due(NamedTuple):
    """Due rows of a bucket's topics, by topic and client; docs/audit.md tells what they mean."""

    client: Longs
    durable: Flags
    may_from: Longs
    may_until: Longs
    must_from: Longs
    a: Longs
    b: Longs


class Bucket(NamedTuple):
    """All that kernels look at."""

    rows: Rows
    topics: Topics
    numbers: Numbers
    due: Due


def bucket(
    contents: Iterable[bytes],
    contracts: Contracts,
    due: DueRows,
    columns: Sequence[str] = COLUMNS,
) -> Bucket:
    """The files of a bucket, read and numbered."""
    rows = read(contents, columns)
    runs = starts(rows.topic)
    due_runs, chosen = _due_of(rows.topic[runs[:-1]], due)
    clients = coded(np.concatenate((chosen.client, rows.client)))
    producers = coded(rows.producer)
    topics = topics_of(rows, runs, due_runs, contracts)
    return Bucket(
        rows, topics, _numbers(rows, topics, clients, producers, len(chosen.client)), chosen
    )


def topics_of(rows: Rows, runs: Longs, due_runs: Longs, contracts: Contracts) -> Topics:
    """The topics of sorted rows with their contracts."""
    at = contracts.places(rows.topic[runs[:-1]])
    return Topics(
        runs,
        due_runs,
        contracts.promise[at],
        contracts.order[at],
        contracts.within_ns[at],
        contracts.protocol[at],
    )


def _numbers(rows: Rows, topics: Topics, clients: Coded, producers: Coded, due: int) -> Numbers:
    message, messages = message_numbers(
        topics.runs, rows.kind, producers.codes, len(producers.ids), rows.pseq
    )
    consumer, consumers = consumer_numbers(
        topics.runs,
        rows.kind,
        clients.codes[due:],
        len(clients.ids),
        topics.due_runs,
        clients.codes[:due],
    )
    return Numbers(message, messages, consumer, consumers, producers.codes, len(producers.ids))


def _due_of(topics: Longs, due: DueRows) -> tuple[Longs, Due]:
    """Due rows of these topics, in their order, and where each topic's begin."""
    low = np.searchsorted(due.topic, topics, "left")
    high = np.searchsorted(due.topic, topics, "right")
    runs = np.concatenate(([0], np.cumsum(high - low))).astype(np.int64)
    places = np.concatenate([np.arange(a, b) for a, b in zip(low, high, strict=True)] or [low])
    return runs, Due(*(getattr(due, name)[places] for name in Due._fields))
