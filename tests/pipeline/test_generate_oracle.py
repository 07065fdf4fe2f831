"""Every small generated trace is audited by brute force: the ledger holds exactly what is wrong.

The oracle follows docs/audit.md word by word, in plain Python, and shares nothing with the
generator but the trace.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import inf
from typing import Any

import networkx as nx
import pytest

from ropewalk.pipeline.generate.federation import federation_of
from ropewalk.pipeline.generate.ledger import BAD_ROW, table_of
from ropewalk.pipeline.generate.plan import size_of
from ropewalk.pipeline.generate.slices import Plan, plan_of, slice_of
from ropewalk.trace.columns import ALWAYS, KIND, NEEDS
from ropewalk.trace.ids import id_of

Row = dict[str, Any]
Key = tuple[Any, ...]
D = 5_000_000_000
TAKES = {
    ("idle", "request"): "asked",
    ("asked", "offer"): "offered",
    ("offered", "accept"): "done",
    ("offered", "revise"): "asked",
}


def before(a: Row, b: Row) -> bool:
    if a["node"] == b["node"]:
        return bool((a["incarnation"], a["li"]) < (b["incarnation"], b["li"]))
    return bool(a["ts_ns"] + a["clock_err_ns"] < b["ts_ns"] - b["clock_err_ns"])


def in_order(rows: Iterable[Row]) -> list[Row]:
    at_node = defaultdict(list)
    for row in rows:
        at_node[row["node"]].append(row)
    placed = []
    for node, some in at_node.items():
        latest = -inf
        for row in sorted(some, key=lambda r: (r["incarnation"], r["li"])):
            latest = max(latest, row["ts_ns"])
            placed.append((latest, node, row["incarnation"], row["li"], row))
    return [one[-1] for one in sorted(placed, key=lambda one: one[:-1])]


def good(row: Row) -> bool:
    known = row["kind"] in KIND and all(row[name] is not None for name in ALWAYS)
    return known and all(row[name] is not None for name in NEEDS[row["kind"]])


@dataclass
class Window:
    may_from: float = -inf
    may_until: float = inf
    must_from: float = inf
    must_until: float = inf
    durable: bool = False
    opened_by: Row | None = None
    confirmed: bool = False
    ended: bool = False


def windows_of(rows: list[Row]) -> list[Window]:
    found: list[Window] = []
    now: Window | None = None
    for row in in_order(rows):
        early, late = row["ts_ns"] - row["clock_err_ns"], row["ts_ns"] + row["clock_err_ns"]
        kind = row["kind"]
        if kind in ("subscribe", "subscribed"):
            if now is None or now.ended:
                now = Window(early) if kind == "subscribe" else Window()
                now.opened_by = row
                found.append(now)
            if kind == "subscribed":
                now.confirmed = True
                now.must_from = min(now.must_from, late)
            now.durable |= bool(row["durable"])
        elif kind == "unsubscribe":
            if now is None:
                now = Window()
                now.opened_by = row
                found.append(now)
            if not now.ended:
                now.must_until, now.ended = early, True
        elif now is None:
            found.append(Window(may_until=late))
        else:
            now.may_until = late
            if not now.ended:
                now.must_from = inf
            now = None
    return found


class Trace:
    def __init__(self, plan: Plan, rows: list[Row]) -> None:
        self.rows = [row for row in rows if good(row)]
        self.bad = len(rows) - len(self.rows)
        for row in self.rows:
            row["clock_err_ns"] = row["clock_err_ns"] or 0
        self.horizon = max(row["ts_ns"] for row in self.rows)
        self.topics = federation_of(plan.world)["topics"]
        self.of_kind = defaultdict(list)
        self.last_seen: dict[tuple[str, int], int] = {}
        for row in self.rows:
            self.of_kind[row["kind"]].append(row)
            at = (row["node"], row["incarnation"])
            self.last_seen[at] = max(self.last_seen.get(at, 0), row["ts_ns"])
        self._messages()
        self._clients()
        self._deliveries()

    def _messages(self) -> None:
        self.lo: dict[Key, int] = {}
        self.hi: dict[Key, int] = {}
        for row in (*self.of_kind["publish"], *self.of_kind["accepted"]):
            key = (row["topic"], row["producer"], row["pseq"])
            early, late = row["ts_ns"] - row["clock_err_ns"], row["ts_ns"] + row["clock_err_ns"]
            self.lo[key] = min(self.lo.get(key, early), early)
            self.hi[key] = max(self.hi.get(key, late), late)
        accepted = self.of_kind["accepted"]
        self.accepted = {(row["topic"], row["producer"], row["pseq"]) for row in accepted}
        self.first: dict[Key, int] = {}
        for topic, producer, pseq in self.lo:
            stream = (topic, producer)
            self.first[stream] = min(self.first.get(stream, pseq), pseq)

    def _clients(self) -> None:
        control = defaultdict(list)
        for kind in ("subscribe", "subscribed", "unsubscribe", "unsubscribed"):
            for row in self.of_kind[kind]:
                control[row["client"], row["topic"], row["subscription"]].append(row)
        self.windows = {key: windows_of(rows) for key, rows in control.items()}
        self.home = {row["client"]: row["node"] for row in self.of_kind["subscribed"]}
        moves = defaultdict(list)
        for row in (*self.of_kind["connect"], *self.of_kind["disconnect"]):
            moves[row["client"]].append(row)
        self.moves = {client: self._stretches(rows) for client, rows in moves.items()}
        self.due: dict[Key, list[tuple[Window, Any]]] = defaultdict(list)
        for (client, pattern, _), windows in self.windows.items():
            for topic in self.topics:
                if matches(pattern, topic):
                    self.due[topic, client] += [(w, self._cut(client, w)) for w in windows]

    def _stretches(self, rows: list[Row]) -> list[tuple[float, float]]:
        found = []
        since: float | None = -inf
        cap: float = inf
        for place, row in enumerate(in_order(rows)):
            if since is not None and (place or row["kind"] == "disconnect"):
                found.append((since, min(cap, row["ts_ns"] - row["clock_err_ns"])))
            since = None
            if row["kind"] == "connect":
                since = row["ts_ns"] + row["clock_err_ns"]
                cap = self.last_seen[row["node"], row["incarnation"]]
        if since is not None:
            found.append((since, cap))
        found = [(a, min(b, self.horizon)) for a, b in found]
        return [(a, b) for a, b in found if a < b]

    def online(self, client: str) -> list[tuple[float, float]]:
        return self.moves.get(client, [(-inf, self.horizon)])

    def _cut(self, client: str, window: Window) -> list[tuple[float, float]]:
        cut = [
            (max(a, window.must_from), min(b, window.must_until)) for a, b in self.online(client)
        ]
        return [(a, b) for a, b in cut if a <= b]

    def _deliveries(self) -> None:
        self.delivered = defaultdict(list)
        by_route = defaultdict(list)
        for row in self.of_kind["deliver"]:
            key = (row["topic"], row["producer"], row["pseq"], row["client"])
            self.delivered[key].append(row)
            if not row["redelivered"]:
                by_route[row["topic"], row["client"]].append(row)
        self.firsts: dict[Key, list[Row]] = {}
        for route, rows in by_route.items():
            seen = set()
            self.firsts[route] = []
            for row in in_order(rows):
                if (row["producer"], row["pseq"]) not in seen:
                    seen.add((row["producer"], row["pseq"]))
                    self.firsts[route].append(row)

    def may(self, message: Key, client: str) -> bool:
        return any(
            w.may_from <= self.hi[message] and self.lo[message] <= w.may_until
            for w, _ in self.due[message[0], client]
        )

    def must(self, message: Key, client: str) -> bool:
        lo, hi = self.lo[message], self.hi[message]
        return message in self.accepted and any(
            w.must_from <= lo and (w.durable or a <= lo) and b >= max(a, hi) + D
            for w, stretches in self.due[message[0], client]
            for a, b in stretches
        )

    def online_through(self, topic: str, client: str, lo: float, t: float) -> bool:
        return any(a <= lo and t <= b for _, s in self.due[topic, client] for a, b in s)


def matches(pattern: str, topic: str) -> bool:
    a, b = pattern.split("/"), topic.split("/")
    return len(a) == len(b) and all(x in ("+", y) for x, y in zip(a, b, strict=True))


def audit(t: Trace) -> set[Key]:
    return {
        *lost(t),
        *of_deliveries(t),
        *duplicates(t),
        *ordered(t),
        *total(t),
        *lost_subscriptions(t),
        *lost_advertisements(t),
        *protocol(t),
    }


def lost(t: Trace) -> Iterable[Key]:
    clients = defaultdict(set)
    for topic, client in list(t.due):
        clients[topic].add(client)
    for message in t.lo:
        if t.topics[message[0]]["contract"]["delivery"] in ("at-least-once", "exactly-once"):
            for client in clients[message[0]]:
                if (*message, client) not in t.delivered and t.must(message, client):
                    yield ("A001", *message, client, None)


def of_deliveries(t: Trace) -> Iterable[Key]:
    for topic, producer, pseq, client in t.delivered:
        message = (topic, producer, pseq)
        if message in t.lo and not t.may(message, client):
            yield ("A003", *message, client, None)
        if message not in t.lo and t.first.get((topic, producer), inf) <= pseq:
            yield ("A004", *message, client, None)
    for (topic, client), rows in t.firsts.items():
        within = t.topics[topic]["contract"].get("within_ms", inf) * 1e6
        for row in rows:
            message = (topic, row["producer"], row["pseq"])
            if within < inf and message in t.lo:
                limit = t.hi[message] + within
                late = row["ts_ns"] - row["clock_err_ns"] > limit
                if late and t.online_through(topic, client, t.lo[message], limit):
                    yield ("A010", *message, client, None)


def duplicates(t: Trace) -> Iterable[Key]:
    acks = defaultdict(list)
    for row in t.of_kind["ack"]:
        acks[row["topic"], row["producer"], row["pseq"], row["client"]].append(row)
    for key, rows in t.delivered.items():
        promise = t.topics[key[0]]["contract"]["delivery"]
        plain = [row for row in rows if not row["redelivered"]]
        marked = [row for row in rows if row["redelivered"]]
        again = len(plain) > 1 or any(before(a, row) for row in marked for a in acks[key])
        if (promise == "at-most-once" and len(rows) > 1) or (promise == "exactly-once" and again):
            yield ("A002", *key, None)


def ordered(t: Trace) -> Iterable[Key]:
    queued = defaultdict(list)
    for row in t.of_kind["enqueue"]:
        queued[row["topic"], row["client"]].append(row)
    for (topic, client), rows in t.firsts.items():
        order = t.topics[topic]["contract"]["order"]
        for row in rows:
            key = (topic, row["producer"], row["pseq"], client, None)
            if order == "fifo" and any(
                o["producer"] == row["producer"] and o["pseq"] > row["pseq"] and before(o, row)
                for o in rows
            ):
                yield ("A005", *key)
            if order == "total" and any(
                o["node"] == row["node"]
                and (o["rank"] or 0) > (row["rank"] or 0)
                and before(o, row)
                for o in rows
            ):
                yield ("A007", *key)
        if order == "priority":
            delivery = {(row["producer"], row["pseq"]): row for row in rows}
            for low in rows:
                for row in queued[topic, client]:
                    high = delivery.get((row["producer"], row["pseq"]))
                    if (
                        high
                        and row["node"] == high["node"] == low["node"]
                        and row["priority"] > low["priority"]
                        and before(row, low)
                        and before(low, high)
                    ):
                        yield ("A006", topic, low["producer"], low["pseq"], client, None)


def total(t: Trace) -> Iterable[Key]:
    for topic, about in t.topics.items():
        if about["contract"]["order"] != "total":
            continue
        orders = {client: rows for (of, client), rows in t.firsts.items() if of == topic}
        for one, other in combinations(sorted(orders, key=id_of), 2):
            if opposed(orders[one], orders[other]):
                yield ("A008", topic, None, None, one, other)
        graph = nx.DiGraph()
        for rows in orders.values():
            for a, b in pairwise(rows):
                if before(a, b):
                    graph.add_edge((a["producer"], a["pseq"]), (b["producer"], b["pseq"]))
        for cycle in nx.strongly_connected_components(graph):
            if len(cycle) > 1:
                producer, pseq = min(cycle, key=lambda m: (id_of(m[0]), m[1]))
                yield ("A009", topic, producer, pseq, None, None)


def opposed(one: list[Row], other: list[Row]) -> bool:
    there = {(row["producer"], row["pseq"]): (n, row) for n, row in enumerate(other)}
    groups = defaultdict(list)
    for row in one:
        found = there.get((row["producer"], row["pseq"]))
        if found:
            groups[row["node"], found[1]["node"]].append(found[0])
    return any(places != sorted(places) for places in groups.values())


def lost_subscriptions(t: Trace) -> Iterable[Key]:
    for (client, pattern, subscription), windows in t.windows.items():
        for w in windows:
            row = w.opened_by
            if row and row["kind"] == "subscribe" and not w.confirmed and not w.ended:
                late = row["ts_ns"] + row["clock_err_ns"]
                if any(a <= late and late + D <= b for a, b in t.online(client)):
                    yield ("A011", pattern, None, None, client, subscription)


def lost_advertisements(t: Trace) -> Iterable[Key]:
    heard = {(row["topic"], row["producer"], row["node"]) for row in t.of_kind["advertise"]}
    for row in t.of_kind["advertise"]:
        if row["hop"] != 0:
            continue
        early, late = row["ts_ns"] - row["clock_err_ns"], row["ts_ns"] + row["clock_err_ns"]
        if any(
            gone["topic"] == row["topic"]
            and gone["producer"] == row["producer"]
            and gone["node"] == row["node"]
            and row["ts_ns"] <= gone["ts_ns"] <= late + D
            for gone in t.of_kind["unadvertise"]
        ):
            continue
        for (topic, client), due in list(t.due.items()):
            node = t.home.get(client)
            if topic == row["topic"] and node not in (None, row["node"]):
                waiting = any(a <= early and late + D <= b for _, s in due for a, b in s)
                if waiting and (topic, row["producer"], node) not in heard:
                    yield ("A012", topic, row["producer"], None, None, node)


def protocol(t: Trace) -> Iterable[Key]:
    talks = defaultdict(list)
    for row in t.of_kind["publish"]:
        if "protocol" in t.topics[row["topic"]]:
            talks[row["topic"], row["conversation"]].append(row)
    for (topic, name), rows in talks.items():
        state: str | None = "idle"
        for row in sorted(rows, key=lambda r: (r["ts_ns"], r["node"], r["incarnation"], r["li"])):
            state = TAKES.get((state or "", row["label"]))
            if state is None:
                yield ("A013", topic, row["producer"], row["pseq"], None, name)
                break


def made(events: float, seed: int, **options: Any) -> tuple[Plan, list[Row], list[Key]]:
    plan = plan_of(size_of(events, faults=["all"], seed=seed, **options))
    slices = [slice_of(plan, number) for number in range(plan.world.size.slices)]
    rows = [row for one in slices for row in one.table.to_pylist()]
    ledger = table_of([*plan.entries, *(entry for one in slices for entry in one.entries)])
    return plan, rows, [tuple(row.values()) for row in ledger.to_pylist()]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_ledger_holds_exactly_what_is_wrong(seed: int) -> None:
    plan, rows, ledger = made(2e4, seed)
    trace = Trace(plan, rows)
    told = {one for one in ledger if one[0] != BAD_ROW}
    found = audit(trace)
    assert found - told == set()
    assert told - found == set()
    assert trace.bad == sum(one[0] == BAD_ROW for one in ledger)
    assert {one[0] for one in ledger} == {BAD_ROW, *(f"A{n:03d}" for n in range(1, 14))}


def test_without_faults_nothing_is_wrong_and_a_removed_row_shows() -> None:
    plan = plan_of(size_of(1e4, faults=[], seed=5))
    rows = [
        row
        for number in range(plan.world.size.slices)
        for row in slice_of(plan, number).table.to_pylist()
    ]
    assert audit(Trace(plan, rows)) == set()
    middle = len(rows) // 2
    gone = next(
        place
        for place, row in enumerate(rows)
        if place > middle and row["kind"] == "ack" and row["topic"].startswith("trades")
    )
    message = {name: rows[gone][name] for name in ("topic", "producer", "pseq", "client")}
    left = [
        row
        for row in rows
        if row["kind"] != "deliver" or any(row[name] != value for name, value in message.items())
    ]
    assert len(left) < len(rows)
    assert audit(Trace(plan, left)) == {("A001", *message.values(), None)}


@pytest.mark.parametrize(
    "options",
    [{"hours": 24.0}, {"brokers": 12, "hours": 2.0}, {"each": 12, "hours": 0.25}],
    ids=["a-day", "many-brokers", "many-faults"],
)
def test_the_ledger_is_right_in_other_shapes(options: dict[str, Any]) -> None:
    plan, rows, ledger = made(1.5e4, 11, **options)
    assert audit(Trace(plan, rows)) == {one for one in ledger if one[0] != BAD_ROW}
