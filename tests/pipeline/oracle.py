"""The audit by brute force, from docs/audit.md alone: plain rows, every pair of them looked at.

`judge` gives all of it, `audit` the keys of the violations, `due_rows` what a client is due.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from ropewalk.federation.facts import Contract
from ropewalk.protocol.automaton import Automaton
from tests.pipeline.oracle_due import (
    FOREVER,
    Contracts,
    Due,
    Message,
    Online,
    Row,
    Window,
    before,
    due_of,
    due_rows,
    early,
    grouped,
    horizon_of,
    kinds,
    late,
    message_of,
    number,
    online_of,
    place,
    tidy,
    topic_of,
    windows,
)

__all__ = ["audit", "due_rows", "judge"]


@dataclass(frozen=True)
class Key:
    """What a violation is known by, in the order of VIOLATION_KEY."""

    code: str
    topic: str
    producer: str | None = None
    pseq: int | None = None
    consumer: str | None = None
    other: str | None = None

    def plain(self) -> tuple[Any, ...]:
        return (self.code, self.topic, self.producer, self.pseq, self.consumer, self.other)


@dataclass(frozen=True)
class Verdict:
    violations: set[tuple[Any, ...]]
    unchecked: set[tuple[str, str | None]]
    """(code, topic), the topic None where it holds for the whole trace."""


@dataclass
class Published:
    lo: int
    hi: int
    accepted: bool


@dataclass(frozen=True)
class OneTopic:
    """What the rules of a topic look at."""

    name: str
    contract: Contract
    rows: list[Row]
    due: list[Due]
    deadline_ns: int

    @property
    def within_ns(self) -> int | None:
        within_ms = self.contract.within_ms
        return None if within_ms is None else round(within_ms * 1_000_000)

    def published(self) -> dict[Message, Published]:
        groups = grouped(kinds(self.rows, "publish", "accepted"), "topic", "producer", "pseq")
        return {
            message: Published(
                min(map(early, group)),
                max(map(late, group)),
                any(row["kind"] == "accepted" for row in group),
            )
            for message, group in groups.items()
        }

    def delivered(self) -> dict[tuple[Message, str], list[Row]]:
        found: dict[tuple[Message, str], list[Row]] = {}
        for row in kinds(self.rows, "deliver"):
            found.setdefault((message_of(row), row["client"]), []).append(row)
        return found

    def firsts(self) -> dict[str, list[Row]]:
        """Each client's first deliveries."""
        fresh = [row for row in kinds(self.rows, "deliver") if not row["redelivered"]]
        found: dict[str, list[Row]] = {}
        for group in grouped(fresh, "client", "topic", "producer", "pseq").values():
            at_nodes = [min(rows, key=place) for rows in grouped(group, "node").values()]
            first = min(at_nodes, key=lambda row: (row["ts_ns"], number(row["node"])))
            found.setdefault(first["client"], []).append(first)
        return found

    def may(self, client: str, when: Published) -> bool:
        return any(
            due.client == client and due.may_from <= when.hi and when.lo <= due.may_until
            for due in self.due
        )

    def must(self, client: str, when: Published) -> bool:
        return when.accepted and any(
            due.client == client
            and due.must_from <= when.lo
            and (due.durable or due.a <= when.lo)
            and due.b >= max(due.a, when.hi) + self.deadline_ns
            for due in self.due
        )

    def online_through(self, client: str, start: int, end: int) -> bool:
        return any(due.client == client and due.a <= start and end <= due.b for due in self.due)


def lost(topic: OneTopic) -> Iterator[Key]:
    if topic.contract.delivery not in ("at-least-once", "exactly-once"):
        return
    delivered = topic.delivered()
    for message, when in topic.published().items():
        for client in {due.client for due in topic.due}:
            if topic.must(client, when) and (message, client) not in delivered:
                yield Key("A001", *message, client)


def duplicate(topic: OneTopic) -> Iterator[Key]:
    for (message, client), rows in topic.delivered().items():
        again = [row for row in rows if row["redelivered"]]
        acks = [
            row
            for row in kinds(topic.rows, "ack")
            if message_of(row) == message and row["client"] == client
        ]
        after_ack = any(before(ack, row) for ack in acks for row in again)
        found = {
            "at-most-once": len(rows) > 1,
            "exactly-once": len(rows) - len(again) > 1 or after_ack,
        }
        if found.get(topic.contract.delivery, False):
            yield Key("A002", *message, client)


def astray(topic: OneTopic) -> Iterator[Key]:
    """Not subscribed, or never published."""
    published = topic.published()
    first: dict[str, int] = {}
    for _, producer, pseq in published:
        first[producer] = min(pseq, first.get(producer, pseq))
    for message, client in topic.delivered():
        _, producer, pseq = message
        if message in published:
            if not topic.may(client, published[message]):
                yield Key("A003", *message, client)
        elif producer in first and first[producer] <= pseq:
            yield Key("A004", *message, client)


def fifo(topic: OneTopic) -> Iterator[Key]:
    if topic.contract.order != "fifo":
        return
    for client, rows in topic.firsts().items():
        for row in rows:
            if any(
                other["producer"] == row["producer"]
                and other["pseq"] > row["pseq"]
                and before(other, row)
                for other in rows
            ):
                yield Key("A005", *message_of(row), client)


def priority(topic: OneTopic) -> Iterator[Key]:
    if topic.contract.order != "priority":
        return
    for client, rows in topic.firsts().items():
        first = {message_of(row): row for row in rows}
        queued = [row for row in kinds(topic.rows, "enqueue") if row["client"] == client]
        for row in rows:
            for waiting in queued:
                own = first.get(message_of(waiting))
                if (
                    own is not None
                    and own["node"] == waiting["node"] == row["node"]
                    and waiting["priority"] > row["priority"]
                    and before(waiting, row)
                    and before(row, own)
                ):
                    yield Key("A006", *message_of(row), client)


def rank(topic: OneTopic) -> Iterator[Key]:
    if topic.contract.order != "total":
        return
    for client, rows in topic.firsts().items():
        ranked = [row for row in rows if row["rank"] is not None]
        for row in ranked:
            if any(
                other["node"] == row["node"] and other["rank"] > row["rank"] and before(other, row)
                for other in ranked
            ):
                yield Key("A007", *message_of(row), client)


def consumer_order(rows: list[Row]) -> set[tuple[Message, Message]]:
    """Pairs of messages in a consumer's order: of each two first deliveries at one node."""
    return {
        (message_of(one), message_of(other))
        for one in rows
        for other in rows
        if one["node"] == other["node"] and before(one, other)
    }


def pairwise_order(topic: OneTopic) -> Iterator[Key]:
    if topic.contract.order != "total":
        return
    orders = {client: consumer_order(rows) for client, rows in topic.firsts().items()}
    for one, other in combinations(sorted(orders, key=number), 2):
        if any((later, earlier) in orders[other] for earlier, later in orders[one]):
            yield Key("A008", topic.name, consumer=one, other=other)


def global_order(topic: OneTopic) -> Iterator[Key]:
    if topic.contract.order != "total":
        return
    after: dict[Message, set[Message]] = {}
    for rows in topic.firsts().values():
        for earlier, later in consumer_order(rows):
            after.setdefault(earlier, set()).add(later)
    reached = {message: _reachable(message, after) for message in after}
    sets = {
        frozenset(other for other in reached[message] if message in reached.get(other, ()))
        for message in after
        if message in reached[message]
    }
    for cycle in sets:
        yield Key("A009", *min(cycle, key=lambda message: (number(message[1]), message[2])))


def _reachable(start: Message, after: Mapping[Message, set[Message]]) -> set[Message]:
    seen: set[Message] = set()
    ahead = [start]
    while ahead:
        fresh = after.get(ahead.pop(), set()) - seen
        seen |= fresh
        ahead += fresh
    return seen


def too_late(topic: OneTopic) -> Iterator[Key]:
    if topic.within_ns is None:
        return
    published = topic.published()
    for client, rows in topic.firsts().items():
        for row in rows:
            when = published.get(message_of(row))
            if when is None:
                continue
            bound = when.hi + topic.within_ns
            if early(row) > bound and topic.online_through(client, when.lo, bound):
                yield Key("A010", *message_of(row), client)


def lost_subscriptions(opened: list[Window], online: Online, deadline_ns: int) -> Iterator[Key]:
    for one in opened:
        ended = one.end_asked or one.may_until != FOREVER
        if one.opened_by is None or one.confirmed_by is not None or ended:
            continue
        since = late(one.opened_by)
        if any(start <= since and since + deadline_ns <= end for start, end in online(one.client)):
            yield Key("A011", one.pattern, consumer=one.client, other=one.subscription)


def lost_advertisements(
    rows: list[Row], opened: list[Window], online: Online, deadline_ns: int
) -> Iterator[Key]:
    known = {(row["node"], row["topic"], row["producer"]) for row in kinds(rows, "advertise")}
    for row in kinds(rows, "advertise"):
        what = (row["topic"], row["producer"])
        until = late(row) + deadline_ns
        taken_back = any(
            (other["node"], other["topic"], other["producer"]) == (row["node"], *what)
            and row["ts_ns"] <= other["ts_ns"] <= until
            for other in kinds(rows, "unadvertise")
        )
        if row["hop"] != 0 or taken_back:
            continue
        for due in due_of(row["topic"], opened, online):
            if due.window.confirmed_by is None or due.a > early(row) or due.b < until:
                continue
            node = due.window.confirmed_by["node"]
            if node != row["node"] and (node, *what) not in known:
                yield Key("A012", *what, other=node)


def may_be(one: Automaton, states: set[int]) -> set[int]:
    """States in which a conversation may be, if deadlines may have passed."""
    while True:
        late = {int(one.table[d.state, d.letter]) for d in one.deadlines if d.state in states}
        if late <= states:
            return states
        states = states | late


def told_once(rows: Iterable[Row]) -> Iterator[Row]:
    """Without rows that tell again of a message which another tells of."""
    every = sorted(
        rows, key=lambda r: (bool(r["redelivered"]), r["ts_ns"], number(r["node"]), *place(r))
    )
    known = set()
    for row in every:
        message = message_of(row)
        if not row["redelivered"] or message not in known:
            yield row
        known.add(message)


def left_protocol(
    rows: list[Row], contracts: Contracts, protocols: Mapping[str, Automaton]
) -> Iterator[Key]:
    conversations: dict[tuple[str, str], list[Row]] = {}
    for row in told_once(kinds(rows, "publish")):
        name = topic_of(contracts, row["topic"]).protocol
        if name in protocols and row["conversation"] is not None:
            conversations.setdefault((str(name), row["conversation"]), []).append(row)
    for (name, conversation), said in conversations.items():
        walk = Walk(protocols[name])
        wrong = walk.leaves(by_time(said))
        if wrong is not None and walk.every_order_leaves(said):
            yield Key("A013", *message_of(wrong), other=conversation)


def by_time(said: list[Row]) -> list[Row]:
    """Rows by time, each with the largest so far at its node."""
    latest: dict[str, int] = {}
    when = []
    for row in sorted(said, key=place):
        latest[row["node"]] = max(row["ts_ns"], latest.get(row["node"], 0))
        when.append((latest[row["node"]], number(row["node"]), *place(row)))
    order = sorted(range(len(said)), key=when.__getitem__)
    return [sorted(said, key=place)[i] for i in order]


class Walk:
    """Conversations on one automaton."""

    def __init__(self, one: Automaton) -> None:
        self.one, self.start = one, frozenset(may_be(one, {one.initial}))

    def step(self, states: frozenset[int], row: Row) -> frozenset[int] | None:
        """States after a row; None if what was said is not known."""
        if row["label"] is None:
            return None
        letters = [
            i for i, letter in enumerate(self.one.letters)
            if row["label"] in (letter.name, letter.message) and letter.name[:7] != "timeout"
        ]  # fmt: skip
        after = {int(self.one.table[state, letter]) for state in states for letter in letters}
        return frozenset(may_be(self.one, after - {-1}))

    def leaves(self, said: Iterable[Row]) -> Row | None:
        """The first row that no transition takes."""
        states = self.start
        for row in said:
            after = self.step(states, row)
            if after is None:
                return None
            if not after:
                return row
            states = after
        return None

    def every_order_leaves(self, said: list[Row]) -> bool:
        """Whether there are orders that the clocks allow, and all of them leave the protocol."""
        earlier = [{j for j, b in enumerate(said) if surely_before(b, a)} for a in said]
        orders = {frozenset[int]()}
        edge = {(frozenset[int](), self.start)}
        for _ in said:
            orders = {done | {i} for done in orders for i in _next(done, earlier)}
            further = set()
            for done, states in edge:
                for i in _next(done, earlier):
                    after = self.step(states, said[i])
                    if after is None:
                        return False
                    if after:
                        further.add((done | {i}, after))
            edge = further
        return bool(orders) and not edge


def _next(done: frozenset[int], earlier: list[set[int]]) -> list[int]:
    return [i for i, before in enumerate(earlier) if i not in done and before <= done]


def surely_before(a: Row, b: Row) -> bool:
    if a["node"] == b["node"]:
        return place(a) < place(b)
    return bool(a["ts_ns"] + a["clock_err_ns"] < b["ts_ns"] - b["clock_err_ns"])


OF_A_TOPIC = (
    lost,
    duplicate,
    astray,
    fifo,
    priority,
    rank,
    pairwise_order,
    global_order,
    too_late,
)


def judge(
    rows: Iterable[Row],
    contracts: Contracts,
    *,
    deadline_ns: int,
    horizon_ns: int | None = None,
    protocols: Mapping[str, Automaton] | None = None,
) -> Verdict:
    """All violations of a trace, and what could not be checked."""
    whole = tidy(rows)
    online = online_of(whole, horizon_of(whole, horizon_ns))
    opened = windows(whole)
    found: set[Key] = set()
    unchecked: set[tuple[str, str | None]] = set()
    for name, events in grouped((r for r in whole if r["pseq"] is not None), "topic").items():
        due = due_of(name, opened, online)
        topic = OneTopic(name, topic_of(contracts, name).contract, events, due, deadline_ns)
        unchecked |= {(code, name) for code in _not_checked(topic)}
        found |= {key for rule in OF_A_TOPIC for key in rule(topic)}
    if kinds(whole, "subscribed"):
        found |= set(lost_subscriptions(opened, online, deadline_ns))
    else:
        unchecked.add(("A011", None))
    if any((row["hop"] or 0) > 0 for row in kinds(whole, "advertise")):
        found |= set(lost_advertisements(whole, opened, online, deadline_ns))
    else:
        unchecked.add(("A012", None))
    found |= set(left_protocol(whole, contracts, protocols or {}))
    return Verdict({key.plain() for key in found}, unchecked)


def _not_checked(topic: OneTopic) -> Iterator[str]:
    if not topic.published():
        yield from ("A003", "A004")
        if topic.contract.delivery in ("at-least-once", "exactly-once"):
            yield "A001"
        if topic.within_ns is not None:
            yield "A010"
    if topic.contract.order == "priority" and not kinds(topic.rows, "enqueue"):
        yield "A006"
    if topic.contract.order == "total" and all(row["rank"] is None for row in topic.rows):
        yield "A007"


def audit(
    rows: Iterable[Row],
    contracts: Contracts,
    *,
    deadline_ns: int,
    horizon_ns: int | None = None,
    protocols: Mapping[str, Automaton] | None = None,
) -> set[tuple[Any, ...]]:
    """The keys of all violations, with names."""
    return judge(
        rows, contracts, deadline_ns=deadline_ns, horizon_ns=horizon_ns, protocols=protocols
    ).violations
