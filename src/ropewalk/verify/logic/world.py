"""What a federation's model is made from: scenarios, next hops, take-overs, all as numbers.

How things go on (`Manner`) is told apart from what there is: `free`, clients move, news spreads and
messages travel as fast or as slowly as they like, but they do; `lockstep`, as in Jia 2014, clients
move and messages travel with every step, and every broker knows at once what has failed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from ropewalk.federation.arrays import Bools, Ints
from ropewalk.federation.facts import Client, Federation
from ropewalk.routing.scenarios import Scenarios, scenarios_of
from ropewalk.routing.table import Table
from ropewalk.verify.check import Check, prepare
from ropewalk.verify.demand import Demand, demand_of, every_pair
from ropewalk.verify.paths import row_of
from ropewalk.verify.takeover import GONE, Homes, home, homes_of


@dataclass(frozen=True, slots=True)
class Manner:
    """How steps are taken."""

    timing: Literal["free", "lockstep"] = "free"
    forwarding: Literal["carrying", "plain"] = "carrying"
    """Whether messages carry what was known on their way; plain, as Jia 2014 has it."""
    resend: bool = True
    """Whether what a dead broker had is sent again from where it was published."""


@dataclass(frozen=True)
class World:
    """A federation with its scenarios, ready to be looked up by number."""

    federation: Federation
    check: Check
    manner: Manner

    @property
    def names(self) -> Sequence[str]:
        """Brokers."""
        return self.check.graph.names

    @property
    def scenarios(self) -> Scenarios:
        """What may have failed together; number 0 is nothing."""
        return self.check.scenarios

    @cached_property
    def homes(self) -> Homes:
        """Who takes over whose clients."""
        return homes_of(self.federation)

    @cached_property
    def down(self) -> list[frozenset[int]]:
        """Brokers that are down, in each scenario."""
        return [frozenset(self.scenarios.down(k).brokers) for k in range(len(self.scenarios))]

    @cached_property
    def cut(self) -> list[frozenset[int]]:
        """Links that do not work, in each scenario: failed, or with a dead broker at an end."""
        ends = self.check.graph.ends
        at: dict[int, set[int]] = {}
        for link, pair in enumerate(ends.tolist()):
            for end in pair:
                at.setdefault(end, set()).add(link)
        return [
            frozenset(self.scenarios.down(k).links).union(*(at.get(b, ()) for b in self.down[k]))
            for k in range(len(self.scenarios))
        ]

    @cached_property
    def links(self) -> dict[tuple[int, int], int]:
        """The number of the link between two brokers."""
        ends = self.check.graph.ends.tolist()
        return {pair: e for e, (a, b) in enumerate(ends) for pair in ((a, b), (b, a))}

    def homes_in(self, broker: int, role: str) -> list[int]:
        """Where a broker's clients belong, in each scenario; GONE for nowhere."""
        takers = self.homes.publishers if role == "publisher" else self.homes.subscribers
        return [home(broker, takers, down) for down in self.down]

    def hops(self, to: Sequence[int], source: int) -> Ints:
        """Next hops (scenario x broker) to where a subscriber is in each scenario; -1 for none."""
        rows = np.full((len(self.scenarios), len(self.names)), -1, np.int32)
        for k, target in enumerate(to):
            if target != GONE:
                row = row_of(self.check, target, k, self.check.group_of(target, source))[0]
                through_edge = (row >= 0) & (row != target) & ~self.check.graph.transit[row]
                rows[k] = np.where(through_edge, -1, row)
                rows[k, target] = target
        return rows

    def working(self, k: int) -> Bools:
        """Which pairs of brokers a path of working links joins, in a scenario."""
        count = len(self.names)
        label = np.arange(count)
        for (a, b), link in self.links.items():
            if a < b and link not in self.cut[k]:
                label[label == label[b]] = label[a]
        alive = np.array([b not in self.down[k] for b in range(count)])
        found: Bools = (label[:, None] == label[None, :]) & alive[:, None] & alive[None, :]
        return found

    @cached_property
    def clients(self) -> dict[str, tuple[int, str]]:
        """Named clients: their broker and whether they publish or only subscribe."""
        number = {name: i for i, name in enumerate(self.names)}
        found: dict[str, tuple[int, str]] = {}
        for topic in self.federation.topics.values():
            for role, side in (("publisher", topic.publishers), ("subscriber", topic.subscribers)):
                for one in side:
                    if isinstance(one, Client):
                        found.setdefault(one.client, (number[one.broker], role))
        return found

    def topics_of(self, client: str, side: Literal["publishers", "subscribers"]) -> set[str]:
        """Topics that a client, or a broker's clients without a name, publish or subscribe to."""
        role, _, broker = client.partition(":")
        nameless = broker if client not in self.clients and f"{role}s" == side else None
        return {
            name
            for name, topic in self.federation.topics.items()
            for one in getattr(topic, side)
            if (one.client == client if isinstance(one, Client) else one == nameless)
        }


def world_of(
    federation: Federation,
    failures: Sequence[str] | None = None,
    *,
    manner: Manner | None = None,
    pairs: Literal["topics", "all"] | None = None,
    table: Table | None = None,
) -> World:
    """A world; without failures asked for, those that the file requires, else one at a time."""
    if failures is None:
        survive = federation.requirements.survive
        asked = [f"links={survive.links}", f"brokers={survive.brokers}"]
        failures = asked if survive.links or survive.brokers else ["links=1", "brokers=1"]
    demand = demand_of(federation) if pairs != "all" else every_pair(federation)
    if not len(demand.to) and pairs is None:
        demand = every_pair(federation)
    check = prepare(federation, scenarios_of(federation, failures), demand, table=table)
    return World(federation, check, manner or Manner())


def demanded(demand: Demand, topic: str | None = None) -> dict[int, list[int]]:
    """For each destination, the brokers that messages to it come from; of all topics, or of one."""
    found: dict[int, list[int]] = {}
    pairs = zip(demand.to.tolist(), demand.source.tolist(), strict=True)
    for pair, (to, source) in enumerate(pairs):
        if topic is None or topic in demand.topics(pair):
            found.setdefault(to, []).append(source)
    return {to: sorted(set(sources)) for to, sources in found.items()}
