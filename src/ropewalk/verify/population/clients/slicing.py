"""What can still matter to clients in each state, so that the rest needs no places of its own.

A message matters to a client while some step that it may still take, or the bad pattern, asks for
it. What nobody asks for before it is forgotten changes no run and no verdict (the slice of program
analysis, here by liveness). A client matters while it may still publish or be part of the pattern:
nets are monotone, so a client that cannot is not missed.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ropewalk.verify.population.clients.facts import Kind, Need, Pattern, Population
from ropewalk.verify.population.clients.places import Client, mask


@dataclass(frozen=True, slots=True)
class Matter:
    """What matters to a client: bits of topics and messages."""

    topics: int
    got: int
    due: int
    """Messages whose notifications matter while they are under way."""
    missed: int


class Slice:
    """What matters to each kind of clients in each state, connected or not."""

    def __init__(self, population: Population, pattern: Pattern) -> None:
        self.kinds = tuple(population.kinds.values())
        self.messages, self.topics = population.messages, tuple(population.topics)
        self._population, self._pattern = population, pattern
        self._published = self._publications()
        self._due: dict[int, int] = {}
        self._on = [self._connected(kind) for kind in self.kinds]
        self._off = [self._lost(kind) for kind in self.kinds]

    def normal(self, client: Client) -> Client | None:
        """A client without what cannot matter; None if nothing of it can."""
        known = (self._on if client.on else self._off)[client.kind]
        matter = known.get(client.state)
        if matter is None:
            return None
        return client._replace(
            topics=client.topics & matter.topics,
            got=client.got & matter.got,
            due=client.due & self._pairs(matter.due) if client.due else 0,
            missed=client.missed & matter.missed,
        )

    def asked(self, message: int, topic: int) -> bool:
        """Whether it makes any difference to anybody that a message is on a topic."""
        of = self._population.topics[self.topics[topic]]
        if of.semantics == "global" or (of.retained and of.retain == "last"):
            return True  # it may make clients fail, or takes the place of another
        return bool(self.worth(topic) >> message & 1)

    def worth(self, topic: int) -> int:
        """The messages on a topic that matter to anybody."""
        asked = 0
        for some in self._on:
            for one in some.values():
                asked |= one.due | one.missed
        return asked & self._published[topic]

    def _pairs(self, messages: int) -> int:
        """Messages as bits of notifications, on any topic."""
        if messages not in self._due:
            width = len(self.messages)
            self._due[messages] = sum(messages << width * i for i in range(len(self.topics)))
        return self._due[messages]

    def _publications(self) -> list[int]:
        """For each topic, the messages that anybody publishes on it."""
        return [
            mask(
                frozenset(
                    step.publish for kind in self.kinds for step in kind.steps if step.on == topic
                ),
                self.messages,
            )
            for topic in self.topics
        ]

    # --- per kind -----------------------------------------------------------------------------

    def _connected(self, kind: Kind) -> dict[int, Matter]:
        """By state; those are left out in which a client no longer matters."""
        ahead, states = _ahead(kind), range(len(kind.states))
        needs = [self._needs(kind, q) for q in states]
        steps = [[one for one in kind.steps if one.source == name] for name in kind.states]
        useful = _closed(
            ahead, [int(bool(needs[q]) or any(one.publish for one in steps[q])) for q in states]
        )
        # A step to where nothing matters is like no step at all, and what it asks for too.
        steps = [
            [one for one in some if one.publish or useful[kind.states.index(one.target)]]
            for some in steps
        ]
        read = [
            self._mask_of(needs[q], "received", "not_received")
            | mask(
                frozenset[str]().union(*(one.received | one.not_received for one in steps[q])),
                self.messages,
            )
            for q in states
        ]
        due = _closed(ahead, read)
        missed = _closed(ahead, [self._mask_of(needs[q], "missed") for q in states])
        spoken = _closed(ahead, [self._topics_of(needs[q]) for q in states])
        got = self._before_forgotten(kind, read)
        return {
            q: Matter(spoken[q] | self._bringing(due[q] | missed[q]), got[q], due[q] | missed[q],
                      missed[q])
            for q in states if useful[q]
        }  # fmt: skip

    def _lost(self, kind: Kind) -> dict[int, Matter]:
        """The same for clients that have lost the connection."""
        if kind.connection == "reconnects":
            return self._on[self.kinds.index(kind)]
        found = {}
        for q in range(len(kind.states)):
            needs = [one for one in self._needs(kind, q) if one.connected is not True]
            if needs:
                missed = self._mask_of(needs, "missed")
                topics = self._topics_of(needs) | self._bringing(missed, failing=False)
                got = self._mask_of(needs, "received", "not_received")
                found[q] = Matter(topics, got, 0, missed)
        return found

    def _before_forgotten(self, kind: Kind, read: list[int]) -> list[int]:
        """Messages that may be read from a state on before they are forgotten."""
        number = {name: q for q, name in enumerate(kind.states)}
        found, before = list(read), list[int]()
        while found != before:
            before = list(found)
            for one in kind.steps:
                kept = found[number[one.target]] & ~mask(one.forget, self.messages)
                found[number[one.source]] |= kept
            if kind.returns:
                found = [one | found[number[kind.returns]] for one in found]
        return found

    def _needs(self, kind: Kind, state: int) -> list[Need]:
        return [
            one
            for one in self._pattern.needs
            if kind.name in one.kinds and (not one.states or kind.states[state] in one.states)
        ]

    def _mask_of(self, needs: list[Need], *fields: str) -> int:
        some = frozenset[str]().union(*(getattr(one, name) for one in needs for name in fields))
        return mask(some, self.messages)

    def _topics_of(self, needs: list[Need]) -> int:
        some = frozenset[str]().union(*(one.subscribed | one.not_subscribed for one in needs))
        return mask(some, self.topics)

    def _bringing(self, messages: int, *, failing: bool = True) -> int:
        """The topics that may bring these messages, or on which clients may fail."""
        found = 0
        for i, (name, published) in enumerate(zip(self.topics, self._published, strict=True)):
            fails = failing and self._population.topics[name].semantics == "global"
            if published & messages or (published and fails):
                found |= 1 << i
        return found


def _ahead(kind: Kind) -> Mapping[int, set[int]]:
    """For each state, those that a client may be in next."""
    number = {name: q for q, name in enumerate(kind.states)}
    found: dict[int, set[int]] = {q: set() for q in number.values()}
    for one in kind.steps:
        found[number[one.source]].add(number[one.target])
    if kind.returns:
        for some in found.values():
            some.add(number[kind.returns])
    return found


def _closed(ahead: Mapping[int, set[int]], own: list[int]) -> list[int]:
    """Bits of a state and of all states ahead of it."""
    found, before = list(own), list[int]()
    while found != before:
        before = list(found)
        for q, some in ahead.items():
            for other in some:
                found[q] |= found[other]
    return found
