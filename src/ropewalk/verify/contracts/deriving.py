"""The style that a federation is: its brokers dispatch, its topics' clients produce and consume.

A named client is one component at each broker where the file names it: what it wants at one it does
not want at the others. The unnamed ones of a broker are one. Everything is pushed. Subscriptions
are known on the ways that messages take, by the tables that routing computes, with hand-made
entries laid over them; advertisements on the same ways, backwards. Topics of a domain meet inside
it only: there they are topics of their own. Bridges are no links: they flood, one way, and have
rules of their own (`hops`).
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ropewalk.federation.arrays import Bools, Ints
from ropewalk.federation.facts import Attachment, Federation
from ropewalk.federation.topics import meeting
from ropewalk.routing.scenarios import scenarios_of
from ropewalk.verify.check import Check, prepare
from ropewalk.verify.contracts.relations import Rows, joined, rows, unique_entries, unique_pairs
from ropewalk.verify.contracts.style import EVERYWHERE, Style, Way
from ropewalk.verify.contracts.tables import Side, offering, wanting, ways
from ropewalk.verify.contracts.walking import steps, steps_by, tours_of
from ropewalk.verify.demand import demand_of
from ropewalk.verify.paths import row_of

ONCE = ("at-most-once", "exactly-once")


def style_of(federation: Federation) -> Style:
    """The style of a federation, with the routing tables that hold with nothing failed.

    >>> from ropewalk import generate
    >>> style = style_of(generate("six-broker"))
    >>> len(style.dispatchers), len(style.subscriptions), len(style.sub_table)
    (6, 6, 18)
    """
    bare = _without_tables(federation)
    return bare.with_tables(*_tables(federation, bare))


class Issued(NamedTuple):
    """Who publishes, or who subscribes: a row for each attachment of each topic."""

    component: Ints
    broker: Ints
    topic: Ints


@dataclass(frozen=True, slots=True)
class _Names:
    """Components by number: named clients at their brokers; the others have their broker's."""

    clients: dict[tuple[str, str], int]
    brokers: tuple[str, ...]

    def of(self, attachments: Iterable[Attachment], brokers: Ints) -> Ints:
        numbers = brokers.copy()  # the unnamed of a broker have its number
        known = self.clients
        for i, one in enumerate(attachments):
            if not isinstance(one, str):
                place = one.client, one.broker
                numbers[i] = known.setdefault(place, len(self.brokers) + len(known))
        return numbers

    def all(self) -> tuple[str, ...]:
        places = Counter(client for client, _ in self.clients)
        named = (
            client if places[client] == 1 else f"{client} at {broker}"
            for client, broker in self.clients
        )
        return (*(f"clients of {name}" for name in self.brokers), *named)


def _without_tables(federation: Federation) -> Style:
    table, graph = federation.topic_table, federation.graph
    topics, names = list(federation.topics.values()), _Names({}, graph.names)
    some = [one for topic in topics for one in topic.publishers]
    publishers = _issued(names.of(some, table.publisher), table.publisher, table.first_publisher)
    some = [one for topic in topics for one in topic.subscribers]
    subscribers = _issued(
        names.of(some, table.subscriber), table.subscriber, table.first_subscriber
    )
    scopes = _Scopes(federation, publishers)
    advertisements, subscriptions = scopes.published(publishers), scopes.subscribed(subscribers)
    every = names.all()
    once = [t for t, topic in enumerate(topics) if topic.contract.delivery in ONCE]
    return Style(
        dispatchers=graph.names,
        declared=np.ones(graph.brokers, np.bool_),
        components=every,
        producer=_members(publishers.component, len(every)),
        consumer=_members(subscribers.component, len(every)),
        topics=tuple(scopes.names),
        scope=np.array(scopes.scope, np.int32),
        domains=_domains(federation),
        access=np.concatenate((_access(publishers, Way.IN), _access(subscribers, Way.OUT))),
        links=np.concatenate((graph.ends, graph.ends[:, ::-1])),
        subscriptions=subscriptions,
        advertisements=advertisements,
        sub_table=rows([], 3),
        adv_table=rows([], 3),
        once=scopes.every(once),
        remembers=np.ones(graph.brokers, np.bool_),  # agents drop what has come before
    )


def _domains(federation: Federation) -> tuple[str, ...]:
    """Names of domains, if a topic stays in one; a broker outside of all is one by itself."""
    if not federation.topic_table.local.any():
        return ()
    return (*federation.domains, *(f"{name} alone" for name in federation.brokers))


def _issued(component: Ints, broker: Ints, first: Ints) -> Issued:
    topic = np.repeat(np.arange(len(first) - 1, dtype=np.int32), np.diff(first))
    return Issued(component, broker, topic)


def _members(numbers: Ints, many: int) -> Bools:
    found = np.zeros(many, np.bool_)
    found[numbers] = True
    return found


def _access(issued: Issued, way: Way) -> Rows:
    pairs = unique_pairs(np.stack((issued.component, issued.broker), axis=1))
    return np.column_stack((pairs, np.full(len(pairs), way))).astype(np.int32)


class _Scopes:
    """Topics of a domain as topics of their own in every domain where they are published."""

    def __init__(self, federation: Federation, publishers: Issued) -> None:
        table = federation.topic_table
        self.domain, self.local = federation.graph.domain, table.local
        self.names, self.scope = list(table.names), [EVERYWHERE] * table.topics
        self._number: dict[tuple[int, int], int] = {}
        self._met: dict[int, set[int]] = {}
        """Of each topic, the topics of a domain that it meets."""
        self._outside = ~self.local
        """Whether a topic meets one that leaves its domain."""
        if self.local.any():
            self._meet(*meeting(table.names))
        self._heard: dict[int, set[int]] = {}
        """By topic of a domain, the domains where it is published."""
        here = self.local[publishers.topic]
        some = zip(publishers.topic[here], self.domain[publishers.broker[here]], strict=True)
        for topic, domain in some:
            self._heard.setdefault(int(topic), set()).add(int(domain))

    def _meet(self, one: Ints, other: Ints) -> None:
        for a, b in zip(one.tolist(), other.tolist(), strict=True):
            if self.local[b]:
                self._met.setdefault(a, set()).add(b)
            else:
                self._outside[a] = True

    def number(self, topic: int, domain: int) -> int:
        """Of a topic inside a domain."""
        if (topic, domain) not in self._number:
            self._number[topic, domain] = len(self.names)
            self.names.append(self.names[topic])
            self.scope.append(domain)
        return self._number[topic, domain]

    def published(self, issued: Issued) -> Rows:
        """(component, topic) of advertisements."""
        topic = issued.topic.copy()
        for i in np.flatnonzero(self.local[topic]):
            topic[i] = self.number(int(topic[i]), int(self.domain[issued.broker[i]]))
        return np.stack((issued.component, topic), axis=1)

    def subscribed(self, issued: Issued) -> Rows:
        """(component, topic) of subscriptions: to what comes from anywhere, and in the domain."""
        plain = self._outside[issued.topic]
        found = np.stack((issued.component[plain], issued.topic[plain]), axis=1)
        if not self.local.any():
            return found
        some = zip(issued.component, issued.topic, self.domain[issued.broker], strict=True)
        inside = [
            (int(component), self.number(int(topic), int(domain)))
            for component, topic, domain in some
            if self._inside(int(topic), int(domain))
        ]
        return np.concatenate((found, rows(inside, 2)))

    def _inside(self, topic: int, domain: int) -> bool:
        local = {topic} if self.local[topic] else set()
        met = local | self._met.get(topic, set())
        return any(domain in self._heard.get(one, ()) for one in met)

    def every(self, topics: list[int]) -> Ints:
        """Some topics, and what they are inside of domains."""
        some = set(topics)
        more = [number for (topic, _), number in self._number.items() if topic in some]
        return np.array([*topics, *more], np.int32)


# --- tables ---------------------------------------------------------------------------------


def _tables(federation: Federation, style: Style) -> tuple[Rows, Rows]:
    """Entries on the ways of all messages, and those of components where they are attached."""
    wanted, offered = wanting(style), offering(style)
    there = _joined(style, ways(style, wanted))
    # Advertisements go from where something is published to where it is wanted; their entries
    # lead the other way.
    back = _joined(style, ways(style, offered))[:, (0, 2, 1)]
    steps_there, steps_back = _steps(federation, there, back)
    return (
        unique_entries(np.concatenate((steps_there, _at_home(wanted)))),
        unique_entries(np.concatenate((steps_back[:, (2, 1, 0)], _at_home(offered)))),
    )


def _joined(style: Style, asked: Rows) -> Rows:
    """Ways between dispatchers that links join."""
    return np.asarray(asked[style.parts[asked[:, 1]] == style.parts[asked[:, 2]]])


def _at_home(side: Side) -> Rows:
    here = joined(unique_pairs(side.issued), side.attached)
    return np.stack((here[:, 2], here[:, 1], -1 - here[:, 0]), axis=1)


def _steps(federation: Federation, *several: Rows) -> list[Rows]:
    if not federation.routes:
        return steps(federation.graph, *map(tours_of, several))
    check = prepare(federation, scenarios_of(federation, ["none"]), demand_of(federation, ()))
    every = np.unique(np.concatenate([asked[:, 2] for asked in several]))
    special = [to for to in every.tolist() if check.groups(to)]
    masks = [np.isin(asked[:, 2], special) for asked in several]
    plain = [tours_of(asked[~mask]) for asked, mask in zip(several, masks, strict=True)]
    found = steps(federation.graph, *plain)
    by_hand = [
        [_by_hand(check, to, asked[asked[:, 2] == to]) for to in special] for asked in several
    ]
    pairs = zip(found, by_hand, strict=True)
    return [unique_entries(np.concatenate((one, *more))) for one, more in pairs]


def _by_hand(check: Check, to: int, asked: Rows) -> Rows:
    """Steps to a destination that hand-made entries speak of: sources may be told apart."""
    group = np.array([check.group_of(to, int(source)) for source in asked[:, 1]], np.int32)
    found = [rows([], 3)]
    for one in np.unique(group).tolist():
        hops = row_of(check, to, 0, one)[0][None, :]
        tours = tours_of(asked[group == one])
        found.append(steps_by(hops, np.zeros(len(tours.to), np.int32), tours, check.graph.transit))
    return np.concatenate(found)
