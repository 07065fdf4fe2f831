"""Who is promised what: of each topic its contract, its publishers' and its readers' brokers."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from ropewalk.federation.arrays import Bools, Ints
from ropewalk.federation.facts import Contract, Federation, Survive, Topic
from ropewalk.federation.topics import is_pattern
from ropewalk.findings import Finding, Severity, Where
from ropewalk.routing.ground import connected_parts
from ropewalk.routing.trees import Longs
from ropewalk.verify.contracts.governing import Cells, Sides, cells_of
from ropewalk.verify.contracts.relations import Rows, joined

Group = tuple[Ints, Ints]
"""Brokers that publish and brokers that read: everybody owes to everybody."""


@dataclass(frozen=True, eq=False)
class Served:
    """A topic, and the brokers between which messages go that it governs."""

    number: int
    name: str
    topic: Topic
    brokers: tuple[str, ...] = ()
    """The names of all."""
    groups: tuple[Group, ...] = ()

    @property
    def contract(self) -> Contract:
        """What it promises."""
        return self.topic.contract

    @property
    def pairs(self) -> set[tuple[str, str]]:
        """(publisher's broker, reader's broker)"""
        found = {pair for one in self.groups for pair in product(*(side.tolist() for side in one))}
        return {(self.brokers[a], self.brokers[b]) for a, b in found}

    @cached_property
    def publishers(self) -> list[str]:
        """Brokers where it is published, in order of their names."""
        return self._names(sources for sources, _ in self.groups)

    @cached_property
    def readers(self) -> list[str]:
        """Brokers where it is wanted, in order of their names."""
        return self._names(readers for _, readers in self.groups)

    @cached_property
    def both(self) -> list[str]:
        """Brokers that publish what they read, in order of their names."""
        return self._names(np.intersect1d(*one) for one in self.groups)

    @cached_property
    def fetching(self) -> list[str]:
        """Brokers that read what others publish, in order of their names."""
        return self._names(
            readers if len(sources) > 1 else readers[readers != sources[0]]
            for sources, readers in self.groups
        )

    def _names(self, sides: Iterable[Ints]) -> list[str]:
        return sorted({self.brokers[b] for side in sides for b in side.tolist()})

    @property
    def is_pattern(self) -> bool:
        """Whether it stands for many names."""
        return is_pattern(self.name)


@dataclass(frozen=True, eq=False)
class Promised:
    """All that a federation promises, by links and by bridges; of some topics, or of all."""

    federation: Federation
    topics: Collection[str] | None = None

    @property
    def survive(self) -> Survive:
        """What has to be survived."""
        return self.federation.requirements.survive

    @cached_property
    def cells(self) -> Cells:
        """Who governs which names."""
        return cells_of(self.federation.topic_table.names)

    @cached_property
    def part(self) -> Ints:
        """The part of the graph of links that each broker is in."""
        return connected_parts(self.federation.graph)

    def sides(self, asked: Callable[[Contract], bool]) -> Sides:
        """Who publishes and who reads, of topics with such contracts."""
        asking = [asked(topic.contract) for topic in self.federation.topics.values()]
        chosen = np.array(asking, np.bool_)
        if self.topics is not None:
            chosen &= self._spoken_of(set(self.topics))
        return Sides(self.federation, self.cells, chosen)

    def _spoken_of(self, topics: Collection[str]) -> Bools:
        """Topics with messages that are published or wanted under some entries."""
        some = np.array([name in topics for name in self.federation.topics], np.bool_)
        found = some.copy()
        for cell, entry in (self.cells.published.T, self.cells.subscribed.T):
            found[self.cells.topic[cell[some[entry]]]] = True
        return found

    @cached_property
    def by_links(self) -> list[Served]:
        """Topics whose contract asks for more than the overlay gives anyway."""
        sides = self.sides(_asks_more)
        keys = sides.keys(sides.publishing, self.part), sides.keys(sides.reading, self.part)
        one, other = _numbered(*keys)
        topic = np.zeros(len(keys[0]) + len(keys[1]), np.int32)
        topic[one] = self.cells.topic[sides.publishing[:, 0]]
        publishing = np.stack((one, sides.publishing[:, 1]), axis=1)
        reading = np.stack((other, sides.reading[:, 1]), axis=1)
        return list(self._served(topic, publishing, reading))

    @cached_property
    def by_bridges(self) -> list[Served]:
        """Topics that bridges carry: to brokers that no links lead to."""
        if not self.federation.bridges:
            return []
        sides = self.sides(lambda _: True)
        one, other = _numbered(sides.keys(sides.publishing), sides.keys(sides.reading))
        place, source = np.arange(len(one), dtype=np.int32), sides.publishing[:, 1]
        reading = np.stack((other, sides.reading[:, 1]), axis=1)
        pairs = joined(np.stack((one, place), axis=1), reading)[:, 1:]
        apart = self.part[source[pairs[:, 0]]] != self.part[pairs[:, 1]]
        publishing = np.stack((place, source), axis=1)
        topic = self.cells.topic[sides.publishing[:, 0]]
        return list(self._served(topic, publishing, pairs[apart]))

    def _served(self, topic: Ints, publishing: Rows, reading: Rows) -> Iterator[Served]:
        """Of (group, broker) on either side, and the topic of each group."""
        found: dict[int, list[Group]] = {}
        both = np.intersect1d(publishing[:, 0], reading[:, 0])
        groups = zip(_runs(publishing, both), _runs(reading, both), strict=True)
        for number, group in zip(topic[both].tolist(), groups, strict=True):
            found.setdefault(number, []).append(group)
        names, brokers = self.federation.topic_table.names, tuple(self.federation.brokers)
        for number, some_groups in sorted(found.items(), key=lambda one: one[0]):
            facts = self.federation.topics[names[number]]
            yield Served(number, names[number], facts, brokers, tuple(some_groups))

    def where(self, number: int) -> Where:
        """The line of a topic."""
        return self.federation.where("topics", number)

    def make(self, broker: str) -> str:
        """Whose software a broker runs."""
        return self.federation.brokers[broker].make

    def finding(
        self,
        code: str,
        served: Served,
        told: str,
        severity: Severity,
        more: Mapping[str, object] | None = None,
    ) -> Finding:
        """What is wrong with what a topic promises, at its line."""
        promise = {"delivery": served.contract.delivery, "order": served.contract.order}
        witness = {"topic": served.name, **promise, **(more or {})}
        return Finding(code, f"{served.name} {told}", self.where(served.number), severity, witness)


def _asks_more(contract: Contract) -> bool:
    return contract.delivery in ("at-most-once", "exactly-once") or (
        contract.order in ("priority", "total")
    )


def _numbered(one: Longs, other: Longs) -> tuple[Ints, Ints]:
    """Keys of both sides as small numbers."""
    _, number = np.unique(np.concatenate((one, other)), return_inverse=True)
    found = number.astype(np.int32)
    return found[: len(one)], found[len(one) :]


def _runs(side: Rows, wanted: Ints) -> list[Ints]:
    """The brokers of each group that is wanted."""
    group, broker = side[np.argsort(side[:, 0], kind="stable")].T
    first = np.searchsorted(group, wanted).tolist()
    last = np.searchsorted(group, wanted, "right").tolist()
    return [broker[a:b] for a, b in zip(first, last, strict=True)]


def some(names: Iterable[str], most: int = 3) -> str:
    """A few names in a sentence.

    >>> some(["a", "b"]), some("abcde")
    ('a and b', 'a, b, c and 2 more')
    """
    every = list(names)
    shown = every[:most]
    if len(every) > most:
        return f"{', '.join(shown)} and {len(every) - most} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else shown[0]
