"""The columns and kinds of a trace, as they are written and as they are stored.

Written rows hold names; stored rows hold their ids (`ids`) and the kind's number, its place in
`KINDS`. Tables of a store: `events` (what happened to messages), `control` (advertisements,
subscriptions, connections) and `samples` (a broker's own figures per window).
"""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import pyarrow as pa

KINDS = (
    "advertise",
    "unadvertise",
    "subscribe",
    "subscribed",
    "unsubscribe",
    "unsubscribed",
    "connect",
    "disconnect",
    "publish",
    "accepted",
    "enqueue",
    "forward",
    "deliver",
    "ack",
    "drop",
    "sample",
)
"""In this order for ever: a stored row holds the place of its kind."""

KIND = MappingProxyType({kind: number for number, kind in enumerate(KINDS)})

Table = Literal["events", "control", "samples"]
TABLES: tuple[Table, ...] = ("events", "control", "samples")


@dataclass(frozen=True, slots=True)
class Column:
    """A column: what it holds, as what it is written, and whether it is a name."""

    meaning: str
    type: pa.DataType
    absent: int | None = None
    """What a missing value stands for; None where it stays missing."""

    @property
    def is_name(self) -> bool:
        """Whether it holds names, which are stored as ids."""
        return bool(pa.types.is_string(self.type))

    @property
    def stored(self) -> pa.DataType:
        """The type of a stored column."""
        return pa.int64() if self.is_name else self.type


TEXT, WHOLE, SMALL, REAL, YES = pa.string(), pa.int64(), pa.int32(), pa.float64(), pa.bool_()

ROW = MappingProxyType(
    {
        "ts_ns": Column("when, by the node's clock, in nanoseconds since 1970", WHOLE),
        "clock_err_ns": Column("how far that clock may be off", WHOLE, 0),
        "node": Column("the broker whose agent saw it", TEXT),
        "incarnation": Column("which start of that agent", WHOLE, 0),
        "epoch": Column("the topology's epoch", WHOLE),
        "li": Column("local index: the order at this node and incarnation", WHOLE),
        "kind": Column("what happened", TEXT),
        "topic": Column("the topic; of subscriptions and advertisements also a pattern", TEXT),
        "client": Column(
            "the consumer, the client that connects, or of `accepted` the publisher", TEXT
        ),
        "producer": Column("the stream of an origin: a producer's name", TEXT),
        "pseq": Column("the message's number in its producer's stream on this topic", WHOLE),
        "event_id": Column("the message's own id, where it has one", TEXT),
        "subscription": Column("a subscription's name, where a client has several", TEXT),
        "durable": Column("whether a subscription outlives a disconnection", YES, 0),
        "redelivered": Column("whether the broker marked this delivery as a repetition", YES, 0),
        "conversation": Column("the conversation that a message belongs to", TEXT),
        "label": Column("the message's type in its protocol", TEXT),
        "priority": Column("the message's priority, the highest first", SMALL, 0),
        "size_bytes": Column("its size", WHOLE),
        "rank": Column("its place in the broker's own total order", WHOLE),
        "link": Column("the link it was sent over", TEXT),
        "hop": Column("how many links it had crossed", SMALL),
        "colour": Column("the failures by which it was routed", TEXT),
    }
)
"""Columns of every row; those of `sample` rows are in SAMPLE."""

SAMPLE = MappingProxyType(
    {
        "window_ns": Column("how long the figures were gathered, up to ts_ns", WHOLE),
        "messages_in": Column("messages received", WHOLE),
        "messages_out": Column("copies sent", WHOLE),
        "subscriptions": Column("subscriptions held", WHOLE),
        "filters": Column("filters a message is held against, on average", REAL),
        "delay_us": Column("processing delay of a message, on average", REAL),
        "store_bytes": Column("message store", WHOLE),
        "cpu_us": Column("CPU time of the broker's process", REAL),
        "memory_bytes": Column("its memory", WHOLE),
        "bytes_in": Column("bytes received", WHOLE),
        "bytes_out": Column("bytes sent", WHOLE),
        "stall_us": Column("the longest time that its agent itself stood still", WHOLE),
        "sync_us": Column("the longest time that a sync of its agent's log took", WHOLE),
    }
)

COLUMNS = MappingProxyType({**ROW, **SAMPLE})

IDENTITY = ("node", "incarnation", "li")
"""What makes a row: two rows with the same are one row seen twice."""

DICTIONARIES = tuple(
    name for name, one in ROW.items() if one.is_name and name not in ("kind", "event_id")
)
"""Columns whose names are kept. Ids of messages are as many as messages: theirs are not."""

_MESSAGE = ("topic", "producer", "pseq")
_SUBSCRIPTION = ("topic", "client")

NEEDS = MappingProxyType(
    {
        **dict.fromkeys(("advertise", "unadvertise"), ("topic", "producer")),
        **dict.fromkeys(("subscribe", "subscribed", "unsubscribe", "unsubscribed"), _SUBSCRIPTION),
        **dict.fromkeys(("connect", "disconnect"), ("client",)),
        **dict.fromkeys(("publish", "accepted", "drop"), _MESSAGE),
        **dict.fromkeys(("enqueue", "deliver", "ack"), (*_MESSAGE, "client")),
        "forward": (*_MESSAGE, "link"),
        "sample": ("window_ns",),
    }
)
"""What each kind needs beside the columns that every row needs."""

ALWAYS = ("ts_ns", "node", "li", "kind")


def table_of(kind: str) -> Table:
    """The table that rows of a kind are stored in.

    >>> table_of("publish"), table_of("connect"), table_of("sample")
    ('events', 'control', 'samples')
    """
    if kind == "sample":
        return "samples"
    return "control" if KIND[kind] < KIND["publish"] else "events"


def stored_schema(table: Table) -> pa.Schema:
    """The columns of a stored table, before any that its users added."""
    columns = COLUMNS if table == "samples" else ROW
    return pa.schema(
        [
            pa.field(name, pa.int8() if name == "kind" else one.stored)
            for name, one in columns.items()
        ]
    )


def written_schema() -> pa.Schema:
    """The columns of a trace as agents write it."""
    return pa.schema([pa.field(name, one.type) for name, one in COLUMNS.items()])
