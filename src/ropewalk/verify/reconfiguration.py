"""The rules of Jia 2014, 5.1, for any number of brokers and any take-over map.

(5-1) clients of a failed broker are at the broker named to take them over; (5-2) every publisher
has a subscriber and every subscriber a publisher; (5-3) clients are back home once their broker is.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ropewalk.federation.facts import Federation
from ropewalk.federation.topics import meeting
from ropewalk.findings import Finding, Severity
from ropewalk.verify.takeover import GONE, Homes, home, homes_of

Down = frozenset[int]
Homing = Callable[[int, tuple[int, ...], Down, int], int]
"""Where clients of a broker go, given its takers, what is down now, and where they were."""


@dataclass(frozen=True, slots=True)
class Breach:
    """A rule that does not hold: for whose clients, after which states, and where they are."""

    rule: str
    broker: int
    states: tuple[Down, ...]
    found_at: int


def _by_list(broker: int, takers: tuple[int, ...], down: Down, was_at: int) -> int:
    del was_at  # what is down now decides alone: so nobody has to remember where clients were
    return home(broker, {broker: takers}, down)


def breaches(homes: Homes, *, homing: Homing = _by_list) -> Iterator[Breach]:
    """Rules 5-1 and 5-3 for every broker with takers, through failures and recoveries of both.

    It fails and recovers; its taker fails first, or after it; the two change places (the step from
    S1 to S3 in figure 5-3).
    """
    for lists in (homes.publishers, homes.subscribers):
        for broker, takers in enumerate(lists):
            for story in _stories(broker, takers):
                yield from _told(broker, takers, story, homing)


def _stories(broker: int, takers: Sequence[int]) -> Iterator[tuple[Down, ...]]:
    none, own = frozenset[int](), frozenset((broker,))
    yield (own, none)
    for taker in takers:
        other = frozenset((taker,))
        both = own | other
        yield (own, other, none)
        yield (other, own, none)
        yield (own, both, own, none)
        yield (own, both, other, none)
        yield (other, both, none)


def _told(
    broker: int, takers: tuple[int, ...], story: tuple[Down, ...], homing: Homing
) -> Iterator[Breach]:
    at = broker
    for step, down in enumerate(story, start=1):
        at = homing(broker, takers, down, at)
        named = next((one for one in takers if one not in down), GONE)
        if broker not in down and at != broker:
            yield Breach("5-3", broker, story[:step], at)
        elif broker in down and at != named:
            yield Breach("5-1", broker, story[:step], at)


def reconfiguration(federation: Federation) -> Iterator[Finding]:
    """Findings on the three rules."""
    names = tuple(federation.brokers)
    for one in breaches(homes_of(federation)):
        where = federation.where("brokers", one.broker)
        at = names[one.found_at] if one.found_at != GONE else "nowhere"
        states = [sorted(names[b] for b in down) for down in one.states]
        message = f"rule {one.rule}: clients of {names[one.broker]} end up at {at}"
        yield Finding("V011", message, where, "error", {"down": states})
    yield from lonely(federation)


def lonely(federation: Federation) -> Iterator[Finding]:
    """Rule 5-2: publishers that nobody listens to, and subscribers that nobody serves."""
    topics = list(federation.topics.values())
    met = list(zip(*(side.tolist() for side in meeting(federation.topic_table.names)), strict=True))
    heard = {t for t, s in met if topics[s].subscribers}
    served = {s for t, s in met if topics[t].publishers}
    for i, (name, topic) in enumerate(federation.topics.items()):
        where, witness = federation.where("topics", i), {"topic": name}
        unheard = topic.publishers and not topic.subscribers and i not in heard
        if unheard and not topic.assumed:
            yield Finding("V009", f"{name} has no subscriber", where, "warning", witness)
        # Bridges may bring a topic under another name: they have a say of their own.
        alone = not topic.publishers and i not in served and not federation.bridges
        if topic.subscribers and alone:
            # Of files that were read there may be more: a document is of one application.
            severity: Severity = "warning" if topic.written else "error"
            yield Finding("V010", f"{name} has no publisher", where, severity, witness)
