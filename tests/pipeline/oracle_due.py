"""What a client is due, by brute force from docs/audit.md: words, windows, stretches, due rows."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from ropewalk.federation.facts import Contract, Federation, Topic
from ropewalk.federation.topics import common
from ropewalk.trace.columns import COLUMNS, IDENTITY
from ropewalk.trace.ids import id_of

Row = dict[str, Any]
Message = tuple[str, str, int]
Contracts = Callable[[str], Contract] | Federation
Online = Callable[[str], list[tuple[int, int]]]
FOREVER = 2**62
number = cache(id_of)


@dataclass
class Window:
    """A subscription's window; `must` may be empty."""

    pattern: str
    client: str
    subscription: str | None
    may_from: int
    may_until: int = FOREVER
    must_from: int = FOREVER
    must_until: int = FOREVER
    durable: bool = False
    end_asked: bool = False
    opened_by: Row | None = None
    confirmed_by: Row | None = None


@dataclass(frozen=True)
class Due:
    topic: str
    client: str
    durable: bool
    may_from: int
    may_until: int
    must_from: int
    a: int
    b: int
    window: Window


def tidy(rows: Iterable[Row]) -> list[Row]:
    """Each row once, with every column: what is missing is None or what it stands for."""
    seen: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        whole = {
            name: one.absent if row.get(name) is None else row[name]
            for name, one in COLUMNS.items()
        }
        seen.setdefault(tuple(whole[name] for name in IDENTITY), whole)
    return list(seen.values())


def early(row: Row) -> int:
    return int(row["ts_ns"] - row["clock_err_ns"])


def late(row: Row) -> int:
    return int(row["ts_ns"] + row["clock_err_ns"])


def place(row: Row) -> tuple[int, int]:
    return row["incarnation"], row["li"]


def before(one: Row, other: Row) -> bool:
    """Whether a row is before another for certain."""
    if one["node"] == other["node"]:
        return place(one) < place(other)
    return late(one) < early(other)


def in_order(rows: Iterable[Row]) -> list[Row]:
    """Rows of one client: the order at a node always holds, clocks decide between nodes."""
    latest: dict[str, int] = {}
    keyed = []
    for row in sorted(rows, key=place):
        node = row["node"]
        latest[node] = max(latest.get(node, row["ts_ns"]), row["ts_ns"])
        keyed.append(((latest[node], number(node), *place(row)), row))
    return [row for _, row in sorted(keyed, key=lambda pair: pair[0])]


def message_of(row: Row) -> Message:
    return row["topic"], row["producer"], row["pseq"]


def kinds(rows: Iterable[Row], *wanted: str) -> list[Row]:
    return [row for row in rows if row["kind"] in wanted]


def grouped(rows: Iterable[Row], *names: str) -> dict[Any, list[Row]]:
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        key = tuple(row[name] for name in names)
        groups.setdefault(key[0] if len(names) == 1 else key, []).append(row)
    return groups


def matches(pattern: str, topic: str) -> bool:
    """Whether every name of a topic (mostly itself) matches a pattern."""
    return common(pattern, topic) == topic


def topic_of(contracts: Contracts, name: str) -> Topic:
    """A topic's own entry, else the first pattern that matches it, else all defaults."""
    if not isinstance(contracts, Federation):
        return Topic(contract=contracts(name))
    if name in contracts.topics:
        return contracts.topics[name]
    return next(
        (one for pattern, one in contracts.topics.items() if matches(pattern, name)), Topic()
    )


def windows(rows: list[Row]) -> list[Window]:
    """All windows of a trace."""
    control = kinds(rows, "subscribe", "subscribed", "unsubscribe", "unsubscribed")
    groups = grouped(control, "client", "topic", "subscription").values()
    return [window for group in groups for window in _windows_of(in_order(group))]


def _windows_of(rows: list[Row]) -> Iterator[Window]:
    current: Window | None = None
    for row in rows:
        who = (row["topic"], row["client"], row["subscription"])
        kind = row["kind"]
        if kind in ("subscribe", "subscribed"):
            if current is not None and current.end_asked:
                yield current
                current = None
            if current is None:
                subscribe = kind == "subscribe"
                current = Window(*who, early(row) if subscribe else -FOREVER)
                current.opened_by = row if subscribe else None
            if kind == "subscribed" and current.confirmed_by is None:
                current.must_from, current.confirmed_by = late(row), row
            current.durable |= bool(row["durable"])
        elif kind == "unsubscribe":
            current = current or Window(*who, -FOREVER)
            if not current.end_asked:
                current.must_until, current.end_asked = early(row), True
        else:
            current = current or Window(*who, -FOREVER)
            current.may_until = late(row)
            if not current.end_asked:
                current.must_from = FOREVER
            yield current
            current = None
    if current is not None:
        yield current


def horizon_of(rows: list[Row], horizon_ns: int | None) -> int:
    last = max((row["ts_ns"] for row in rows), default=0)
    return last if horizon_ns is None else min(last, horizon_ns)


def stretches(rows: list[Row], horizon: int) -> dict[str, list[tuple[int, int]]]:
    """When each client that connects or disconnects was online."""
    last = {
        key: max(row["ts_ns"] for row in group)
        for key, group in grouped(rows, "node", "incarnation").items()
    }
    found = {}
    for client, group in grouped(kinds(rows, "connect", "disconnect"), "client").items():
        ordered = in_order(group)
        begun: list[tuple[int, int]] = []
        if ordered[0]["kind"] == "disconnect":
            begun.append((-FOREVER, early(ordered[0])))
        for row, following in zip(ordered, [*ordered[1:], None], strict=True):
            if row["kind"] == "connect":
                end = FOREVER if following is None else early(following)
                begun.append((late(row), min(end, last[row["node"], row["incarnation"]])))
        cut = [(start, min(end, horizon)) for start, end in begun]
        found[client] = [(start, end) for start, end in cut if start < end]
    return found


def due_of(topic: str, all_windows: list[Window], online: Online) -> list[Due]:
    """The due rows of a topic."""
    found = []
    for one in all_windows:
        if not matches(one.pattern, topic):
            continue
        cut = [
            (max(start, one.must_from), min(end, one.must_until))
            for start, end in online(one.client)
        ]
        parts = [(a, b) for a, b in cut if a < b] or [(FOREVER, -FOREVER)]
        start = (topic, one.client, one.durable, one.may_from, one.may_until, one.must_from)
        found += [Due(*start, a, b, one) for a, b in parts]
    return found


def online_of(rows: list[Row], horizon: int) -> Online:
    known = stretches(rows, horizon)
    return lambda client: known.get(client, [(-FOREVER, horizon)])


def due_rows(rows: Iterable[Row], *, horizon_ns: int | None = None) -> list[tuple[Any, ...]]:
    """The due rows of all topics with events: topic, client, durable, may_from, may_until,
    must_from, a, b.
    """
    whole = tidy(rows)
    online = online_of(whole, horizon_of(whole, horizon_ns))
    opened = windows(whole)
    topics = {row["topic"] for row in whole if row["pseq"] is not None}
    return [
        (d.topic, d.client, d.durable, d.may_from, d.may_until, d.must_from, d.a, d.b)
        for topic in sorted(topics)
        for d in due_of(topic, opened, online)
    ]
