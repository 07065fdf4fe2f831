"""The journal of a run, sorted: what was accepted, who was due it, who got it and when."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ropewalk.federation.facts import Federation, Topic
from ropewalk.federation.topics import common
from ropewalk.overlay.chart import Chart
from ropewalk.overlay.settings import Settings
from ropewalk.overlay.simulate.clients import CUSTODY, topic_of
from ropewalk.overlay.simulate.cores import LetterId
from ropewalk.overlay.simulate.journal import Journal
from ropewalk.overlay.simulate.plan import Plan, Publication
from ropewalk.overlay.simulate.truth import Truth

Reader = tuple[int, str]
"""A subscriber: its broker and its name."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """A subscription, from its confirmation on."""

    broker: int
    subscriber: str
    pattern: str
    known_us: Mapping[int, Sequence[int]]
    """By origin: when the subscription was confirmed in its name."""
    ended: bool


@dataclass(frozen=True, slots=True)
class Acceptance:
    """A publication that an origin answers for."""

    publication: Publication
    published_us: int
    accepted_us: int
    letter: LetterId


@dataclass(frozen=True, slots=True)
class Delivery:
    """What a subscriber got."""

    us: int
    number: int
    letter: LetterId


@dataclass(frozen=True)
class Account:
    """One run and what can be asked about it."""

    federation: Federation
    plan: Plan
    settings: Settings
    journal: Journal
    last: Chart | None = None
    """The chart of the last epoch, if there were several."""

    @cached_property
    def truth(self) -> Truth:
        """What was really up and down."""
        return Truth(self.federation.graph, self.journal, self.plan.end_us)

    @cached_property
    def publications(self) -> dict[int, Publication]:
        """By number."""
        return {one.number: one for one in self.plan.publications}

    @cached_property
    def topics(self) -> dict[str, Topic]:
        """What is promised of each topic that was published."""
        names = sorted({one.topic for one in self.plan.publications})
        return {name: topic_of(self.federation.topics, name) for name in names}

    @cached_property
    def accepted(self) -> dict[int, Acceptance]:
        """The first acceptance of each publication."""
        found: dict[int, Acceptance] = {}
        tried: dict[int, int] = {}
        for us, kind, _, number, *rest in self.journal.of("publish", "accept"):
            if kind == "publish":
                tried[number] = us
            elif number not in found:
                one = self.publications[number]
                found[number] = Acceptance(one, tried[number], us, rest[0])
        return found

    @cached_property
    def delivered(self) -> dict[Reader, list[Delivery]]:
        """What each subscriber got, in order, repetitions included."""
        found: dict[Reader, list[Delivery]] = {}
        for us, _, broker, subscriber, number, letter in self.journal.of("deliver"):
            found.setdefault((broker, subscriber), []).append(Delivery(us, number, letter))
        return found

    @cached_property
    def first(self) -> dict[Reader, dict[int, Delivery]]:
        """The first delivery of each publication to each subscriber, in order of time."""
        return {
            reader: {one.number: one for one in reversed(some)}
            for reader, some in self.delivered.items()
        }

    @cached_property
    def subscriptions(self) -> list[Subscription]:
        """All that were confirmed."""
        confirmed: dict[tuple[Any, ...], dict[int, list[int]]] = {}
        ended = set()
        for us, kind, *which in self.journal.of("confirm", "unsubscribe"):
            if kind == "confirm":
                known_us = confirmed.setdefault(tuple(which[:3]), {})
                for origin in which[3]:
                    known_us.setdefault(origin, []).append(us)
            else:
                ended.add(tuple(which))
        return [
            Subscription(which[0], which[1], which[2], known_us, which in ended)
            for which, known_us in confirmed.items()
        ]

    @cached_property
    def destroyed(self) -> dict[int, list[tuple[int, frozenset[Any]]]]:
        """By broker: when it lost its disk, and what was in its custody then."""
        found: dict[int, list[tuple[int, frozenset[Any]]]] = {}
        for us, _, broker, disk, custody in self.journal.of("crash"):
            if not disk:
                found.setdefault(broker, []).append((us, custody))
        return found

    def readers_of(self, topic: str) -> list[Subscription]:
        """Confirmed subscriptions to a topic that lasted to the end."""
        if topic not in self._readers:
            self._readers[topic] = [
                one
                for one in self.subscriptions
                if not one.ended and common(one.pattern, topic) == topic
            ]
        return self._readers[topic]

    @cached_property
    def _readers(self) -> dict[str, list[Subscription]]:
        return {}

    def due(self) -> Iterator[tuple[Acceptance, Subscription]]:
        """Every accepted publication with every subscription that it had to reach."""
        for one in self.accepted.values():
            topic = self.topics[one.publication.topic]
            if topic.contract.delivery in CUSTODY:
                for to in self.readers_of(one.publication.topic):
                    if self._in_scope(topic, one, to) and self._knew(one, to):
                        yield one, to

    def _in_scope(self, topic: Topic, one: Acceptance, to: Subscription) -> bool:
        domain = self.federation.graph.domain
        local = topic.scope == "domain"
        return not local or bool(domain[one.publication.broker] == domain[to.broker])

    def _knew(self, one: Acceptance, to: Subscription) -> bool:
        """Whether the origin had to know of the subscription: it was confirmed in its name.

        A reader of a total order that has lost its disk begins anew: what it was told before does
        not count.
        """
        forgotten_us = -1
        if self.topics[one.publication.topic].contract.order == "total":
            lost = [us for us, _ in self.destroyed.get(to.broker, ()) if us <= one.published_us]
            forgotten_us = max(lost, default=-1)
        known = to.known_us.get(one.publication.broker, ())
        return any(forgotten_us < us <= one.published_us for us in known)

    def name(self, broker: int) -> str:
        """A broker's name."""
        return self.federation.graph.names[broker]

    def link_name(self, link: int) -> str:
        """A link's name."""
        a, b = self.federation.graph.ends[link]
        return f"{self.name(int(a))}--{self.name(int(b))}"
