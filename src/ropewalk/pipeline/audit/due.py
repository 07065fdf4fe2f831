"""Who is due what, and when: subscriptions and connections as windows and stretches.

Definitions in docs/audit.md. Control rows are few beside messages, and whoever judges a bucket
needs those of all clients: so this is made once, and goes along with the work.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ropewalk.federation.topics import common, is_pattern
from ropewalk.pipeline.audit.coding import Longs
from ropewalk.trace.columns import KIND

FOR_EVER = 2**62
"""What stands for never and for ever; its negative for the beginning."""

NO_HOP = -1
SUBSCRIBE, SUBSCRIBED = KIND["subscribe"], KIND["subscribed"]
UNSUBSCRIBE, UNSUBSCRIBED = KIND["unsubscribe"], KIND["unsubscribed"]
CONNECT, DISCONNECT = KIND["connect"], KIND["disconnect"]


class Control(NamedTuple):
    """A control row; an id that its kind does not need may be 0, for missing."""

    ts: int
    err: int
    node: int
    incarnation: int
    li: int
    kind: int
    topic: int
    client: int
    producer: int
    subscription: int | None
    durable: bool
    hop: int

    @property
    def key(self) -> tuple[int, int, int]:
        """What makes it this row."""
        return self.node, self.incarnation, self.li


COLUMNS = (
    "ts_ns", "clock_err_ns", "node", "incarnation", "li", "kind", "topic", "client", "producer",
    "subscription", "durable", "hop",
)  # fmt: skip


@dataclass(slots=True, eq=False)
class Window:
    """What a subscription was good for, and the rows that opened and confirmed it."""

    client: int
    pattern: int
    subscription: int | None
    may_from: int
    may_until: int = FOR_EVER
    must_from: int = FOR_EVER
    must_until: int = FOR_EVER
    durable: bool = False
    asked: Control | None = None
    confirmed: Control | None = None


@dataclass(frozen=True, slots=True)
class Stretch:
    """When a client was online, for certain."""

    start: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class DueRows:
    """Due rows of all topics, by topic and client."""

    topic: Longs
    client: Longs
    durable: npt.NDArray[np.bool_]
    may_from: Longs
    may_until: Longs
    must_from: Longs
    a: Longs
    b: Longs


def control_rows(table: pa.Table) -> list[Control]:
    """The rows of the table `control`, each once."""
    columns = [_filled(table[name], name).to_pylist() for name in COLUMNS]
    return list({row.key: row for row in map(Control._make, zip(*columns, strict=True))}.values())


def _filled(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    if name == "subscription":
        return column
    absent = {"durable": False, "hop": NO_HOP}.get(name, 0)
    return pc.fill_null(column, absent)


def in_order(rows: Iterable[Control]) -> list[Control]:
    """Rows of one client: at each node in its own order, between nodes by the clock."""
    placed = []
    latest: dict[int, int] = {}
    for row in sorted(rows, key=lambda one: one.key):
        latest[row.node] = max(latest.get(row.node, row.ts), row.ts)
        placed.append((latest[row.node], row.key, row))
    return [row for _, _, row in sorted(placed, key=lambda one: one[:2])]


def windows_of(control: Iterable[Control]) -> list[Window]:
    """The windows of every client, pattern and subscription."""
    groups: dict[tuple[int, int, int | None], list[Control]] = defaultdict(list)
    for row in control:
        if SUBSCRIBE <= row.kind <= UNSUBSCRIBED:
            groups[row.client, row.topic, row.subscription].append(row)
    return [one for key, rows in groups.items() for one in _windows(key, in_order(rows))]


def _windows(key: tuple[int, int, int | None], rows: Sequence[Control]) -> list[Window]:
    done: list[Window] = []
    open: Window | None = None
    ending = False
    for row in rows:
        starts = row.kind in (SUBSCRIBE, SUBSCRIBED)
        if open is None or (starts and ending):
            early = row.ts - row.err if row.kind == SUBSCRIBE else -FOR_EVER
            open, ending = Window(*key, early), False
            done.append(open)
            if row.kind == SUBSCRIBE:
                open.asked = row
        if starts:
            open.durable |= row.durable
            if row.kind == SUBSCRIBED and open.must_from == FOR_EVER:
                open.must_from, open.confirmed = row.ts + row.err, row
            continue
        if row.kind == UNSUBSCRIBE:
            if not ending:
                open.must_until, ending = row.ts - row.err, True
            continue
        if not ending:
            open.must_until = -FOR_EVER
        open.may_until = row.ts + row.err
        open, ending = None, False
    return done


def stretches_of(
    control: Iterable[Control], last_seen: Mapping[tuple[int, int], int], horizon: int
) -> dict[int, list[Stretch]]:
    """When each client was online that has connections in the trace."""
    rows: dict[int, list[Control]] = defaultdict(list)
    for row in control:
        if row.kind in (CONNECT, DISCONNECT):
            rows[row.client].append(row)
    return {
        client: _stretches(in_order(found), last_seen, horizon) for client, found in rows.items()
    }


def _stretches(
    rows: Sequence[Control], last_seen: Mapping[tuple[int, int], int], horizon: int
) -> list[Stretch]:
    found = []
    since: Control | None = None
    for place, row in enumerate(rows):
        if since is not None:
            seen = last_seen.get((since.node, since.incarnation), FOR_EVER)
            found.append(Stretch(since.ts + since.err, min(row.ts - row.err, seen, horizon)))
        elif place == 0 and row.kind == DISCONNECT:
            found.append(Stretch(-FOR_EVER, min(row.ts - row.err, horizon)))
        since = row if row.kind == CONNECT else None
    if since is not None:
        seen = last_seen.get((since.node, since.incarnation), FOR_EVER)
        found.append(Stretch(since.ts + since.err, min(seen, horizon)))
    return [one for one in found if one.start < one.end]


def always(horizon: int) -> list[Stretch]:
    """Of a client whose connections nobody recorded."""
    return [Stretch(-FOR_EVER, horizon)]


def due_rows(
    windows: Sequence[Window],
    stretches: Mapping[int, Sequence[Stretch]],
    horizon: int,
    names: Mapping[int, str],
) -> DueRows:
    """The due rows of all topics, by the names that topics and patterns have."""
    topics = _topics_by_pattern({one.pattern for one in windows}, names)
    lines: list[tuple[int, int, bool, int, int, int, int, int]] = []
    for one in windows:
        online = _cut(one, stretches.get(one.client, always(horizon)))
        for topic in topics[one.pattern]:
            head = (topic, one.client, one.durable, one.may_from, one.may_until, one.must_from)
            lines += [(*head, a, b) for a, b in online]
    lines.sort()
    columns = list(zip(*lines, strict=True)) or [()] * 8
    types = (np.int64, np.int64, np.bool_, *(np.int64,) * 5)
    return DueRows(*(np.array(one, kind) for one, kind in zip(columns, types, strict=True)))


def _cut(window: Window, stretches: Sequence[Stretch]) -> list[tuple[int, int]]:
    """Stretches cut to a window's must; one that is none if there is none."""
    cut = [(max(one.start, window.must_from), min(one.end, window.must_until)) for one in stretches]
    return [(a, b) for a, b in cut if a < b] or [(FOR_EVER, -FOR_EVER)]


def _topics_by_pattern(patterns: set[int], names: Mapping[int, str]) -> dict[int, list[int]]:
    concrete = {topic: name for topic, name in names.items() if not is_pattern(name)}
    return {
        pattern: [topic for topic, name in concrete.items() if common(names[pattern], name)]
        if is_pattern(names[pattern])
        else [pattern]
        for pattern in patterns
    }
