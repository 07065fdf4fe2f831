"""What must hold of every run, whatever went wrong: each check names what it found.

Run `check(account)`. A violation carries a code of `rules.toml`, a sentence, and a witness: the
messages and brokers concerned, from which `story` tells what happened.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from typing import Any

from ropewalk.overlay.simulate.account import Acceptance, Account, Delivery, Subscription
from ropewalk.overlay.simulate.beliefs import Beliefs
from ropewalk.overlay.simulate.fault_text import time_text
from ropewalk.overlay.simulate.faults import last_end_us

SHOWN = 20
AGREED_US = 10_000_000
"""So long after the last fault all must agree: links that flapped pass many tests first."""
MOST_READERS = 40
"""Of more subscribers to a total order each is compared with the first only."""


@dataclass(frozen=True, slots=True)
class Violation:
    """Something that must never happen, and did."""

    code: str
    message: str
    witness: Mapping[str, Any] = field(default_factory=dict)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The publications concerned."""
        return tuple(self.witness.get("publications", ()))


@dataclass(frozen=True, slots=True)
class Missing:
    """What did not arrive, and why that is no loss, if it is none."""

    acceptance: Acceptance
    subscription: Subscription
    fate: str
    """`lost`, `excused` (went down with its origin's disk), `waiting` (kept for one away)."""


def missing(account: Account) -> list[Missing]:
    """All that was due and did not arrive."""
    journal, truth = account.journal, account.truth
    gone = {one for some in account.destroyed.values() for _, kept in some for one in kept}
    last = len(truth.spells) - 1
    found = []
    for one, to in account.due():
        if one.publication.number in account.first.get((to.broker, to.subscriber), {}):
            continue
        pair = (one.letter, to.broker)
        apart = to.broker not in truth.reached(one.publication.broker, last)
        stays = account.last is None or one.publication.broker in account.last.members
        fate = "waiting" if apart and stays and pair in journal.custody else "lost"
        excused = pair in gone or _forgotten(account, one, to)
        found.append(Missing(one, to, "excused" if excused else fate))
    return found


def _forgotten(account: Account, one: Acceptance, to: Subscription) -> bool:
    """Whether a totally ordered letter went down with a disk.

    Until it has its number it is kept for its home alone; and a reader that has forgotten where it
    was begins anew with the next number.
    """
    if account.topics[one.publication.topic].contract.order != "total":
        return False
    kept = account.destroyed.get(one.publication.broker, ())
    at_origin = any(one.letter == letter for _, some in kept for letter, _ in some)
    return at_origin or any(
        us >= one.published_us for us, _ in account.destroyed.get(to.broker, ())
    )


def lost(account: Account) -> Iterator[Violation]:
    """Nothing that was accepted is lost, by topic and subscriber."""
    groups: dict[tuple[str, int, str], list[Missing]] = {}
    for one in missing(account):
        if one.fate == "lost":
            to = one.subscription
            key = (one.acceptance.publication.topic, to.broker, to.subscriber)
            groups.setdefault(key, []).append(one)
    for (topic, broker, subscriber), some in groups.items():
        first = some[0].acceptance
        origin, where = account.name(first.publication.broker), account.name(broker)
        told = (
            f"{len(some)} accepted message(s) of {topic} never reached {subscriber} at {where};"
            f" the first, number {first.publication.number}, was accepted by {origin} at"
            f" {time_text(first.accepted_us)}"
        )
        yield Violation("M001", told, _witness(topic, broker, subscriber, account, some))


def _witness(
    topic: str, broker: int, subscriber: str, account: Account, some: list[Missing]
) -> dict[str, Any]:
    numbers = [one.acceptance.publication.number for one in some]
    return {
        "topic": topic,
        "broker": account.name(broker),
        "subscriber": subscriber,
        "count": len(numbers),
        "publications": numbers[:SHOWN],
    }


def doubled(account: Account) -> Iterator[Violation]:
    """Nobody gets a message twice that is promised once at most."""
    for (broker, subscriber), some in account.delivered.items():
        first: dict[int, Delivery] = {}
        again: dict[str, list[tuple[Delivery, Delivery]]] = {}
        for one in some:
            topic = account.publications[one.number].topic
            before = first.setdefault(one.number, one)
            if before is not one and _twice(account, topic, broker, before, one):
                again.setdefault(topic, []).append((before, one))
        for topic, pairs in again.items():
            before, one = pairs[0]
            told = (
                f"{len(pairs)} message(s) of {topic} reached {subscriber} at"
                f" {account.name(broker)} more than once; the first, number {one.number},"
                f" at {time_text(before.us)} and {time_text(one.us)}"
            )
            numbers = [pair[1].number for pair in pairs][:SHOWN]
            witness = {"topic": topic, "broker": account.name(broker), "subscriber": subscriber}
            yield Violation("M002", told, {**witness, "publications": numbers})


def _twice(account: Account, topic: str, broker: int, one: Delivery, two: Delivery) -> bool:
    """Whether a repetition breaks the contract; a disk that is destroyed forgets what it saw."""
    delivery = account.topics[topic].contract.delivery
    if delivery not in ("exactly-once", "at-most-once"):
        return False
    same = one.letter == two.letter
    forgetful = broker if same else account.publications[one.number].broker
    from_us = one.us if same else 0
    return not any(from_us <= us <= two.us for us, _ in account.destroyed.get(forgetful, ()))


def disordered(account: Account) -> Iterator[Violation]:
    """Fifo holds per stream and subscriber; subscribers of a total order agree."""
    in_order = _in_order(account)
    for reader, some in in_order.items():
        if account.topics[reader[0]].contract.order == "fifo":
            yield from _out_of_turn(account, reader, some)
    for topic in account.topics:
        if account.topics[topic].contract.order == "total":
            yield from _disagreeing(account, topic, _lives(account, topic))


def _in_order(account: Account) -> dict[tuple[str, int, str], list[Delivery]]:
    """First deliveries by topic and subscriber, in the very order of the journal."""
    found: dict[tuple[str, int, str], list[Delivery]] = {}
    for (broker, subscriber), some in account.delivered.items():
        seen = set()
        for one in some:
            if one.number not in seen:
                seen.add(one.number)
                topic = account.publications[one.number].topic
                found.setdefault((topic, broker, subscriber), []).append(one)
    return found


def _lives(account: Account, topic: str) -> dict[tuple[int, str, int], list[Delivery]]:
    """First deliveries of a topic by reader and life of its disk.

    A reader that has lost its disk has forgotten what it delivered, and begins anew.
    """
    found: dict[tuple[int, str, int], dict[int, Delivery]] = {}
    for (broker, subscriber), some in account.delivered.items():
        lost = [us for us, _ in account.destroyed.get(broker, ())]
        for one in some:
            if account.publications[one.number].topic == topic:
                life = bisect_left(lost, one.us)
                found.setdefault((broker, subscriber, life), {}).setdefault(one.number, one)
    return {reader: list(first.values()) for reader, first in found.items()}


def _out_of_turn(
    account: Account, reader: tuple[str, int, str], some: list[Delivery]
) -> Iterator[Violation]:
    topic, broker, subscriber = reader
    newest: dict[tuple[int, int, str], Delivery] = {}
    late = []
    for one in some:
        before = newest.get(one.letter[:3])
        if before is None or before.letter[3] < one.letter[3]:
            newest[one.letter[:3]] = one
        else:
            late.append((before, one))
    if late:
        before, one = late[0]
        told = (
            f"{len(late)} message(s) of {topic} came to {subscriber} at {account.name(broker)}"
            f" after newer ones of the same publisher; the first, number {one.number}, after"
            f" number {before.number}, at {time_text(one.us)}"
        )
        numbers = [n for pair in late for n in (pair[0].number, pair[1].number)][:SHOWN]
        witness = {"topic": topic, "broker": account.name(broker), "subscriber": subscriber}
        yield Violation("M003", told, {**witness, "publications": numbers})


def _disagreeing(
    account: Account, topic: str, readers: Mapping[tuple[int, str, int], list[Delivery]]
) -> Iterator[Violation]:
    pairs = list(combinations(sorted(readers), 2))
    if len(readers) > MOST_READERS:
        pairs = pairs[: len(readers) - 1]
    for one, other in pairs:
        if one[:2] == other[:2]:
            continue  # the same reader, before and after it forgot
        there = {delivery.number: i for i, delivery in enumerate(readers[other])}
        shared = [d.number for d in readers[one] if d.number in there]
        for a, b in pairwise(shared):
            if there[a] > there[b]:
                told = (
                    f"{one[1]} at {account.name(one[0])} got number {a} of {topic} before number"
                    f" {b}, {other[1]} at {account.name(other[0])} after it: no total order"
                )
                yield Violation("M003", told, {"topic": topic, "publications": [a, b]})
                break


def too_far(account: Account) -> Iterator[Violation]:
    """No message crosses more links than the limit."""
    for us, _, link, broker, number, hops in account.journal.of("far")[:1]:
        told = (
            f"number {number} was sent over {account.link_name(link)} by {account.name(broker)}"
            f" after {hops} links, at {time_text(us)}: it is going round"
        )
        yield Violation("M004", told, {"publications": [number], "hops": hops})


def misled(account: Account) -> Iterator[Violation]:
    """In the end all agents that can know it hold the same for down, are right, and soon."""
    beliefs = Beliefs(account)
    for broker, (held, down) in beliefs.wrong.items():
        said, true = ([account.link_name(e) for e in sorted(some)] for some in (held, down))
        told = f"{account.name(broker)} holds {_few(said)} for down at the end; it is {_few(true)}"
        witness = {"broker": account.name(broker), "held": said, "down": true}
        yield Violation("M005", told, witness)
    known_us = beliefs.changes[-1].known_us
    late_us = (known_us or 0) - max(beliefs.changes[-1].us, last_end_us(account.plan.faults))
    if late_us > AGREED_US:
        told = f"it took {time_text(late_us)} after the last fault until all agents agreed"
        yield Violation("M005", told, {"late_us": late_us, "limit_us": AGREED_US})


def _few(some: list[str]) -> str:
    more = f" and {len(some) - SHOWN} more" if len(some) > SHOWN else ""
    return ", ".join(some[:SHOWN]) + more if some else "nothing"


def bloated(account: Account) -> Iterator[Violation]:
    """No store grows beyond its limit."""
    for (name, broker), size in sorted(account.journal.peaks.items()):
        limit = _limits(account).get(name, size)
        if size > limit:
            told = f"{account.name(broker)} held {size:,} in `{name}`: its limit is {limit:,}"
            witness = {"broker": account.name(broker), "store": name, "size": size}
            yield Violation("M006", told, {**witness, "limit": limit})


def _limits(account: Account) -> dict[str, int]:
    """How much may be in each store that an agent tells of; others are only reported."""
    settings, brokers = account.settings, account.federation.graph.brokers
    return {
        "longest lane": settings.queue,
        "in flight": settings.window,
        "link": settings.link_queue,
        "held": settings.held * brokers,
        "keys": settings.streams,
        "values": 2 * settings.streams,
    }


def leaked(account: Account) -> Iterator[Violation]:
    """Topics of a domain never leave it."""
    seen = set()
    for us, _, link, broker, number, topic in account.journal.of("leak"):
        if (topic, link) not in seen:
            seen.add((topic, link))
            told = (
                f"number {number} of {topic}, which is of one domain, was sent over"
                f" {account.link_name(link)} by {account.name(broker)} at {time_text(us)}"
            )
            witness = {"topic": topic, "link": account.link_name(link)}
            yield Violation("M007", told, {**witness, "publications": [number]})


CHECKS: Mapping[str, Callable[[Account], Iterator[Violation]]] = {
    "M001": lost,
    "M002": doubled,
    "M003": disordered,
    "M004": too_far,
    "M005": misled,
    "M006": bloated,
    "M007": leaked,
}


def check(account: Account) -> tuple[Violation, ...]:
    """All that does not hold of a run."""
    return tuple(one for each in CHECKS.values() for one in each(account))
