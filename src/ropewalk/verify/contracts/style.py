"""A publish/subscribe style as plain facts: who is there, who is joined to whom, who knows what.

Krichen et al. write styles (P/S-CoM) as schemas over sets and relations. Here the sets are numbers
and the relations arrays with a row for each pair; names come back at the border. What a relation
speaks of need not be declared: that it is, is a rule (S1, S2), not a matter of type.
"""

from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cached_property

import numpy as np

from ropewalk.federation.arrays import Bools, Ints
from ropewalk.federation.topics import meeting
from ropewalk.routing.trees import Longs
from ropewalk.verify.contracts.graphs import Cuts, cuts_of, parts_of
from ropewalk.verify.contracts.relations import Rows, rows, unique_pairs

EVERYWHERE = -1
"""The scope of topics that leave their domain."""


class Way(IntEnum):
    """How a component is joined to its dispatcher."""

    IN = 0
    """A producer pushes to it."""
    OUT = 1
    """It pushes to a consumer."""
    PULL = 2
    """A consumer fetches from it."""


@dataclass(frozen=True, eq=False, kw_only=True)
class State:
    """What has happened: events that were produced, and what consumers were given, in order."""

    events: tuple[str, ...] = ()
    topic: Ints = field(default_factory=lambda: np.zeros(0, np.int32))
    """Of each event."""
    produced: Rows = field(default_factory=lambda: rows([], 2))
    """(component, event)"""
    sequences: Rows = field(default_factory=lambda: rows([], 2))
    """(component, number): the sequences of notifications that there are, empty ones too."""
    received: Rows = field(default_factory=lambda: rows([], 3))
    """(component, number of the sequence, event)"""


@dataclass(frozen=True, eq=False, kw_only=True)
class Style:
    """Dispatchers, components, links, subscriptions, advertisements and routing tables.

    In a table `source` is a dispatcher's number, or -1 - c for component c.
    """

    dispatchers: tuple[str, ...]
    declared: Bools
    """Whether each is one, or only spoken of."""
    components: tuple[str, ...]
    producer: Bools
    consumer: Bools
    """A component may be both; one that is neither is only spoken of."""
    topics: tuple[str, ...]
    """Names and patterns."""
    scope: Ints
    """Of each topic the domain that it stays in, or EVERYWHERE: only those of one scope meet."""
    access: Rows
    """(component, dispatcher, way)"""
    links: Rows
    """(dispatcher, dispatcher), one way each"""
    subscriptions: Rows
    """(component, topic)"""
    advertisements: Rows
    """(component, topic)"""
    sub_table: Rows
    """(dispatcher, topic, source): where the topic is wanted"""
    adv_table: Rows
    """(dispatcher, topic, source): where it comes from"""
    once: Ints
    """Topics of which nobody may get a message twice."""
    remembers: Bools
    """Whether each dispatcher drops what it has handed out before."""
    state: State = field(default_factory=State)
    domains: tuple[str, ...] = ()
    """Names of domains that topics stay in: by them two styles know that they mean the same."""

    # --- what rules look up ----------------------------------------------------------------

    def pair_keys(self, some: Rows) -> Longs:
        """Pairs of a dispatcher or component and a dispatcher as single numbers."""
        return some[:, 0].astype(np.int64) * len(self.dispatchers) + some[:, 1]

    def table_keys(self, some: Rows) -> Longs:
        """Entries of a table as single numbers."""
        sources = len(self.dispatchers) + len(self.components)
        key = some[:, 0].astype(np.int64) * len(self.topics) + some[:, 1]
        return np.asarray(key * sources + some[:, 2] + len(self.components))

    @cached_property
    def listening(self) -> Rows:
        """(component, dispatcher) of all that get something there, each once."""
        return self._joined(self.access[:, 2] != Way.IN)

    @cached_property
    def speaking(self) -> Rows:
        """(component, dispatcher) of all that bring something there, each once."""
        return self._joined(self.access[:, 2] == Way.IN)

    def _joined(self, chosen: Bools) -> Rows:
        return unique_pairs(self.access[chosen][:, :2])

    @cached_property
    def edges(self) -> Rows:
        """Pairs of declared dispatchers that a link joins, the smaller first, each once."""
        known = self.declared[self.links].all(axis=1) & (self.links[:, 0] != self.links[:, 1])
        return unique_pairs(np.sort(self.links[known], axis=1))

    @cached_property
    def parts(self) -> Ints:
        """The part of the dispatchers' graph that each is in."""
        return parts_of(self.edges, len(self.dispatchers))

    @cached_property
    def cuts(self) -> Cuts:
        """What the dispatchers' graph falls apart without."""
        return cuts_of(self.edges, len(self.dispatchers))

    @cached_property
    def meets(self) -> Rows:
        """(topic, topic) with names in common and of one scope: itself, and patterns."""
        own = np.arange(len(self.topics), dtype=np.int32)
        one, other = meeting(self.topics)
        same = self.scope[one] == self.scope[other]
        left, right = np.concatenate((own, one[same])), np.concatenate((own, other[same]))
        return np.stack((left, right), axis=1)

    def with_tables(self, sub_table: Rows, adv_table: Rows) -> "Style":
        """This style with other routing tables; what was looked up without them is kept."""
        made = replace(self, sub_table=sub_table, adv_table=adv_table)
        looked_up = ("listening", "speaking", "edges", "parts", "cuts", "meets")
        vars(made).update({name: vars(self)[name] for name in looked_up if name in vars(self)})
        return made

    # --- names ------------------------------------------------------------------------------

    def source(self, source: int) -> str:
        """The name of what a table calls a source."""
        return self.dispatchers[source] if source >= 0 else self.components[-1 - source]
