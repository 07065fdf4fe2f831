"""The clients of a simulated world: publishers that try again, subscribers that come and go."""

from collections.abc import Callable
from itertools import groupby
from typing import TYPE_CHECKING, Any

from ropewalk.federation.facts import Topic
from ropewalk.federation.topics import common
from ropewalk.overlay.events import (
    Accepted,
    AcceptedRun,
    Burst,
    Confirmed,
    Deliver,
    Published,
    Refused,
    Subscribed,
    Unsubscribed,
)
from ropewalk.overlay.simulate.hosts import Host
from ropewalk.overlay.simulate.plan import Publication, Wish, number_of, payload_of

if TYPE_CHECKING:
    from ropewalk.overlay.simulate.world import World

CUSTODY = ("at-least-once", "exactly-once")
"""Deliveries for which somebody answers for each accepted message."""


def topic_of(topics: dict[str, Topic], name: str) -> Topic:
    """The federation's topic that a name falls under; one without promises if there is none."""
    if name in topics:
        return topics[name]
    return next((one for pattern, one in topics.items() if common(pattern, name) == name), Topic())


class Clients:
    """All clients of all brokers."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._ticket = 0
        names = {one.topic for one in world.plan.publications}
        self.topics = {name: topic_of(world.federation.topics, name) for name in names}
        self.domain_topics = {n for n, topic in self.topics.items() if topic.scope == "domain"}
        self.acts: dict[type, Callable[[Host, Any], None]] = {
            Accepted: self._accepted,
            AcceptedRun: self._accepted_run,
            Refused: self._refused,
            Confirmed: self._confirmed,
        }

    def begin(self) -> None:
        """All that clients are going to do by themselves."""
        for wish in self._world.plan.wishes:
            self._world.at(wish.at_us, self._subscribe, wish)
            if wish.until_us is not None:
                self._world.at(wish.until_us, self._unsubscribe, wish)
        for at_us, some in groupby(self._world.plan.publications, lambda one: one[1:]):
            self._world.at(at_us[0], self._publish_all, list(some))

    # Subscribers.

    def _subscribe(self, wish: Wish) -> None:
        host = self._world.hosts[wish.broker]
        if host.retired:
            return
        host.wants[wish.subscriber, wish.pattern] = wish
        self._world.note("subscribe", wish.broker, wish.subscriber, wish.pattern)
        self._world.hand(host, Subscribed(wish.subscriber, wish.pattern))

    def _unsubscribe(self, wish: Wish) -> None:
        host = self._world.hosts[wish.broker]
        host.wants.pop((wish.subscriber, wish.pattern), None)
        self._world.note("unsubscribe", wish.broker, wish.subscriber, wish.pattern)
        self._world.hand(host, Unsubscribed(wish.subscriber, wish.pattern))

    def _confirmed(self, host: Host, action: Confirmed) -> None:
        by = action.by or frozenset(range(len(self._world.hosts)))
        where = self._world.movers.at(host, action.subscriber)
        self._world.note("confirm", where, action.subscriber, action.pattern, by)

    def deliver(self, host: Host, action: Deliver) -> None:
        """The broker hands a letter out; where it must be once, it drops what it has seen."""
        letter = action.letter
        number, identity = number_of(letter.payload), letter.id
        movers = self._world.movers
        for subscriber in action.subscribers:
            if movers.strays(host, subscriber):
                self._world.note("stray", host.number, subscriber, number)
                continue
            if action.exactly_once:
                if (identity, subscriber) in host.seen:
                    self._world.note("repeat", host.number, subscriber, number)
                    continue
                host.seen.add((identity, subscriber))
            if not action.retained:
                where = movers.at(host, subscriber)
                self._world.note("deliver", where, subscriber, number, identity)

    # Publishers.

    def _publish(self, one: Publication, tries: int) -> None:
        host = self._world.hosts[one.broker]
        if host.retired:
            return
        if host.agent is None:
            host.backlog.append((one, tries))
            return
        self._ticket += 1
        host.waiting[self._ticket] = (one, tries)
        self._world.note("publish", one.broker, one.number)
        size = self._world.physics.payload_bytes
        payload = payload_of(one.number, size)
        event = Published(self._ticket, one.topic, payload, one.producer, one.key)
        self._world.hand(host, event)

    def _publish_all(self, some: list[Publication]) -> None:
        """Publications of one client and topic at the same moment: they come together."""
        host, first = self._world.hosts[some[0].broker], some[0]
        if len(some) == 1 or host.retired or host.agent is None:
            for one in some:
                self._publish(one, 0)
            return
        tickets = range(self._ticket + 1, self._ticket + len(some) + 1)
        self._ticket = tickets[-1]
        for ticket, one in zip(tickets, some, strict=True):
            host.waiting[ticket] = (one, 0)
            self._world.note("publish", one.broker, one.number)
        size = self._world.physics.payload_bytes
        payloads = [payload_of(one.number, size) for one in some]
        keys = [one.key for one in some]
        self._world.hand(host, Burst(first.topic, payloads, tickets, keys, first.producer))

    def _accepted_run(self, host: Host, action: AcceptedRun) -> None:
        for ticket, letter in zip(action.tickets, action.run.letters(), strict=True):
            self._accepted(host, Accepted(ticket, letter))

    def _accepted(self, host: Host, action: Accepted) -> None:
        one, _ = host.waiting.pop(action.ticket)
        self._world.note("accept", host.number, one.number, action.letter.id)

    def _refused(self, host: Host, action: Refused) -> None:
        one, tries = host.waiting.pop(action.ticket)
        self._world.note("refuse", host.number, one.number, action.reason)
        physics = self._world.physics
        pause_us = min(physics.retry_us << min(tries, 20), physics.most_retry_us)
        self._world.at(self._world.now_us + pause_us, self._publish, one, tries + 1)

    # What crashes and departures do to them.

    def retire(self, host: Host) -> None:
        """A broker is to leave: its clients go first."""
        host.retired = True
        for wish in tuple(host.wants.values()):
            self._unsubscribe(wish)
        host.backlog.clear()

    def bereave(self, host: Host) -> None:
        """The agent is gone: what it did not answer is sent again, if it may come twice."""
        for one, tries in host.waiting.values():
            if self.topics[one.topic].contract.delivery in CUSTODY:
                host.backlog.append((one, tries))
        host.waiting.clear()

    def welcome(self, host: Host) -> None:
        """The agent is back: it hears of its clients again."""
        for subscriber, pattern in tuple(host.wants):
            self._world.hand(host, Subscribed(subscriber, pattern))
        backlog, host.backlog = host.backlog, []
        for one, tries in backlog:
            self._world.at(self._world.now_us, self._publish, one, tries)
