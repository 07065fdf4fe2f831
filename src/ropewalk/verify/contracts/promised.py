"""Who is promised what: of each topic its contract, its publishers' and its readers' brokers."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ropewalk.federation.facts import Contract, Federation, Survive, Topic
from ropewalk.federation.topics import is_pattern
from ropewalk.findings import Finding, Severity, Where
from ropewalk.verify.contracts.style import Style
from ropewalk.verify.demand import Demand


@dataclass(frozen=True, slots=True)
class Served:
    """A topic, and the pairs of brokers between which its messages go."""

    number: int
    name: str
    topic: Topic
    pairs: frozenset[tuple[str, str]]
    """(publisher's broker, reader's broker), by links or by bridges"""

    @property
    def contract(self) -> Contract:
        """What it promises."""
        return self.topic.contract

    @property
    def publishers(self) -> list[str]:
        """Brokers where it is published, in order of their names."""
        return sorted({source for source, _ in self.pairs})

    @property
    def readers(self) -> list[str]:
        """Brokers where it is wanted, in order of their names."""
        return sorted({to for _, to in self.pairs})

    @property
    def is_pattern(self) -> bool:
        """Whether it stands for many names."""
        return is_pattern(self.name)


@dataclass(frozen=True, eq=False)
class Promised:
    """All that a federation promises, by links and by bridges."""

    federation: Federation
    overlay: Demand
    bridged: Demand
    style: Style

    @property
    def survive(self) -> Survive:
        """What has to be survived."""
        return self.federation.requirements.survive

    @cached_property
    def by_links(self) -> list[Served]:
        """Topics whose contract asks for more than the overlay gives anyway."""
        more = [
            t
            for t, topic in enumerate(self.federation.topics.values())
            if topic.contract.delivery in ("at-most-once", "exactly-once")
            or topic.contract.order in ("priority", "total")
        ]
        return list(_served(self.federation, self.overlay, more))

    @cached_property
    def by_bridges(self) -> list[Served]:
        """Topics that bridges carry."""
        return list(_served(self.federation, self.bridged, range(len(self.federation.topics))))

    def where(self, served: Served) -> Where:
        """The line of a topic."""
        return self.federation.source.where("topics", served.number)

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
        return Finding(code, f"{served.name} {told}", self.where(served), severity, witness)


def _served(federation: Federation, demand: Demand, topics: Iterable[int]) -> Iterator[Served]:
    chosen = np.isin(demand.topic, list(topics))
    if not chosen.any():
        return
    pair = np.repeat(np.arange(len(demand.to)), demand.weight)[chosen]
    names, brokers = list(federation.topics), tuple(federation.brokers)
    found: dict[int, set[tuple[str, str]]] = {}
    ends = zip(demand.source[pair].tolist(), demand.to[pair].tolist(), strict=True)
    for topic, (source, to) in zip(demand.topic[chosen].tolist(), ends, strict=True):
        found.setdefault(topic, set()).add((brokers[source], brokers[to]))
    for topic in sorted(found):
        name = names[topic]
        yield Served(topic, name, federation.topics[name], frozenset(found[topic]))


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
