"""Assertions on federations for a user's own tests; what fails carries the witness.

A federation, or the file that holds it:

>>> from ropewalk import generate
>>> assert_delivers(generate("six-broker"), topic="A", failures=["b1"]).ok
True
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ropewalk.federation import Federation, load
from ropewalk.federation.arrays import broker_of
from ropewalk.federation.facts import Topic
from ropewalk.verify import Verification, verify
from ropewalk.verify.difference import difference

Given = Federation | str | Path
SHOWN = 10
UNDELIVERED = ("V001", "V002", "V003", "V004", "V005", "V006", "V012", "V014")


def assert_delivers(
    federation: Given,
    *,
    topic: str | None = None,
    publisher: str | None = None,
    subscriber: str | None = None,
    failures: Sequence[str] = ("none",),
    within_hops: int | None = None,
) -> Verification:
    """Every message of the topic (default: all) arrives, whatever of the failures happens.

    `publisher` and `subscriber` are brokers that narrow it down. A failure that no routing could
    survive fails the assertion as well.
    """
    given = _narrowed(_loaded(federation), topic, publisher, subscriber)
    chosen = None if topic is None else [topic]
    result = verify(given, failures=failures, pairs="topics", topics=chosen, most_hops=within_hops)
    told = [str(one) for one in result.findings if one.code in UNDELIVERED]
    told += [
        f"{one['failure']} cuts off {one['pairs']} pair(s), and no routing could help"
        for one in result.cuts(SHOWN)
    ]
    if not int(result.fates[0].sum()):
        told.append("nobody publishes it, or nobody subscribes: there is nothing to deliver")
    _check(told, given.name)
    return result


def assert_no_loops(federation: Given, *, failures: Sequence[str] | None = None) -> Verification:
    """No message goes round for ever, between any two brokers."""
    given = _loaded(federation)
    result = verify(given, failures=failures, pairs="all")
    looping = ("V001", "V002", "V012")
    told = [str(one) for one in result.findings if one.code in looping]
    loops = result.summary["loops"]
    _check(told or [f"{loops} pairs go round in loops"] * bool(loops), given.name)
    return result


def assert_survives(federation: Given, *, failures: Sequence[str] | None = None) -> Verification:
    """The configuration has no fault; what the graph cuts is one only where it is required."""
    given = _loaded(federation)
    result = verify(given, failures=failures)
    _check(_errors(result), given.name)
    return result


def assert_same_meaning(old: Given, new: Given, *, failures: Sequence[str] | None = None) -> None:
    """Both deliver the same, over the same paths, in every failure asked for."""
    found = difference(_loaded(old), _loaded(new), failures=failures)
    _check([str(one) for one in found.findings], _loaded(new).name)


def _loaded(federation: Given) -> Federation:
    return federation if isinstance(federation, Federation) else load(federation)


def _narrowed(
    federation: Federation, topic: str | None, publisher: str | None, subscriber: str | None
) -> Federation:
    if topic is not None and topic not in federation.topics:
        raise AssertionError(f"{federation.name} has no topic {topic!r}")
    for name in (publisher, subscriber):
        if name is not None and name not in federation.brokers:
            raise AssertionError(f"{federation.name} has no broker {name!r}")
    topics = {name: _only(one, publisher, subscriber) for name, one in federation.topics.items()}
    return replace(federation, topics=topics).written_in(federation.source)


def _only(topic: Topic, publisher: str | None, subscriber: str | None) -> Topic:
    return replace(
        topic,
        publishers=tuple(o for o in topic.publishers if publisher in (None, broker_of(o))),
        subscribers=tuple(o for o in topic.subscribers if subscriber in (None, broker_of(o))),
    )


def _errors(result: Verification) -> list[str]:
    return [str(one) for one in result.findings if one.severity == "error"]


def _check(told: Sequence[str], name: str) -> None:
    __tracebackhide__ = True
    if told:
        more = [f"... and {len(told) - SHOWN} more"] if len(told) > SHOWN else []
        raise AssertionError("\n".join([f"{name} does not hold:", *told[:SHOWN], *more]))


__all__ = [
    "assert_delivers",
    "assert_no_loops",
    "assert_same_meaning",
    "assert_survives",
]
