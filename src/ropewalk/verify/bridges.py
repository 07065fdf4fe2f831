"""Fates of what native bridges carry, in every scenario.

Pairs of brokers that links join are the overlay's; the others are the bridges'. Where a failure
cuts the links between a pair, bridges may still deliver.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from ropewalk.federation.arrays import Bools, Ints
from ropewalk.federation.facts import Federation
from ropewalk.findings import Finding
from ropewalk.routing.ground import connected_parts
from ropewalk.routing.scenarios import Scenarios
from ropewalk.routing.trees import Longs
from ropewalk.verify.arcs import connections_of, far_ends
from ropewalk.verify.asked import Asked, Other
from ropewalk.verify.bridge_faults import bridge_findings
from ropewalk.verify.bridge_single import backup_addresses, single_points
from ropewalk.verify.check import Check
from ropewalk.verify.demand import Demand
from ropewalk.verify.floods import Floods
from ropewalk.verify.leaf_circles import circle_findings
from ropewalk.verify.verdicts import Verdict

MOST_TURNED = 200
"""So many connections are looked at where they are at another of their addresses."""


@dataclass(frozen=True, eq=False, slots=True)
class Rescue:
    """What bridges still deliver of the overlay's pairs where a failure cuts all links between.

    Scenario, pair, and for how many of the pair's clients.
    """

    scenario: Ints
    pair: Ints
    clients: Longs

    def changes(self, scenarios: int) -> Longs:
        """As changes of the fates: no longer cut, but delivered."""
        changes = np.zeros((scenarios, len(Verdict)), np.int64)
        served = np.bincount(self.scenario, self.clients, scenarios).astype(np.int64)
        changes[:, Verdict.DELIVERED] += served
        changes[:, Verdict.CUT] -= served
        return changes


@dataclass(frozen=True, eq=False)
class Flooding:
    """What bridges do: fates of their pairs in every scenario, and what is wrong."""

    fates: Longs
    bridged: Demand
    stranded: Longs
    """Pairs of which a client has no broker left, in each scenario."""
    findings: list[Finding] = field(default_factory=list)
    rescue: Rescue | None = None

    @property
    def pairs(self) -> int:
        """How many pairs of clients are the bridges'."""
        return self.bridged.pairs


def apart(federation: Federation, demand: Demand) -> tuple[Demand, Demand]:
    """The overlay's pairs and the bridges' pairs: those that no links join."""
    if not federation.bridges or not len(demand.topic):
        return demand, _some(demand, np.zeros(len(demand.to), np.bool_))
    part = connected_parts(federation.graph)
    joined = part[demand.source] == part[demand.to]
    return _some(demand, joined), _some(demand, ~joined)


def _some(demand: Demand, kept: npt.NDArray[np.bool_]) -> Demand:
    pairs = np.flatnonzero(kept)
    runs = [demand.topic[demand.first_topic[i] : demand.first_topic[i + 1]] for i in pairs]
    return replace(
        demand,
        source=demand.source[pairs],
        to=demand.to[pairs],
        local=demand.local[pairs],
        weight=demand.weight[pairs],
        first_topic=np.cumsum([0, *(len(run) for run in runs)]).astype(np.int32),
        topic=np.concatenate([np.zeros(0, np.int32), *runs]),
    )


def flooding_of(
    federation: Federation, scenarios: Scenarios, bridged: Demand, halt: Bools
) -> Flooding:
    """Follow every topic from every publisher through the bridges, in every scenario."""
    fates = np.zeros((len(scenarios), len(Verdict)), np.int64)
    stranded = np.zeros(len(scenarios), np.int64)
    if not federation.bridges:
        return Flooding(fates, bridged, stranded)
    floods = Floods(federation)
    asked = Asked(floods, bridged)
    fates[:] = asked.counts(asked.usual)
    others: list[Other] = []
    for k in np.flatnonzero(np.diff(scenarios.first_broker)).tolist():
        down = tuple(scenarios.broker_names[b] for b in scenarios.down(k).brokers)
        if halt[0]:
            break
        damaged = Floods(federation, down, before=floods)
        found = asked.fates(damaged)
        fates[k] = asked.counts(found)
        stranded[k] = sum(damaged.stranded(*asked.pairs[i][:2]) for i in asked.at(down))
        others.append((damaged, found))
    for connected in turned(federation):
        if halt[0]:
            break
        other = Floods(federation, before=floods, connected=connected)
        others.append((other, asked.fates(other)))
    findings = list(bridge_findings(asked, others))
    findings += single_points(asked, others, halt)
    findings += circle_findings(federation)
    findings += backup_addresses(federation)
    return Flooding(fates, bridged, stranded, findings)


def turned(federation: Federation) -> Iterator[dict[int, str]]:
    """Each connection at each of its addresses where it may be with nothing down.

    Those that always go back to the first are there; others take any, or stay where they are.
    """
    told: set[tuple[int, str]] = set()
    for number, bridge in zip(connections_of(federation), federation.bridges, strict=True):
        if bridge.choice == "first":
            continue
        for end in far_ends(bridge, federation.brokers)[1:]:
            if (number, end) not in told and len(told) < MOST_TURNED:
                told.add((number, end))
                yield {number: end}


def rescue_of(check: Check, halt: Bools) -> Rescue:
    """Follow what is cut through the bridges; nothing if there are none, or time is up."""
    found: list[tuple[int, int, int]] = []
    floods: dict[tuple[str, ...], Floods] = {}
    wanted = check.federation.bridges and len(check.demand.topic) and not halt[0]
    counts = np.zeros((len(check.scenarios), len(Verdict)), np.int64)
    for to in check.destinations if wanted else ():
        seen = check.look(to, counts, everything=True, halt=halt)
        cut = np.flatnonzero((seen.verdict == Verdict.CUT) & (seen.scenario > 0))
        for k, pair in zip(seen.scenario[cut].tolist(), seen.pair[cut].tolist(), strict=True):
            down = tuple(check.graph.names[b] for b in check.scenarios.down(k).brokers)
            if down not in floods:
                floods[down] = Floods(check.federation, down)
            if clients := _carried(check, floods[down], pair):
                found.append((k, pair, clients))
        if halt[0]:
            break
    scenario, pair_, clients_ = np.array(found, np.int32).reshape(-1, 3).T
    return Rescue(scenario, pair_, clients_.astype(np.int64))


def _carried(check: Check, floods: Floods, pair: int) -> int:
    """How many of a pair's clients bridges serve."""
    names, demand = check.graph.names, check.demand
    ends = names[demand.source[pair]], names[demand.to[pair]]
    topics = Counter(demand.topic_numbers(pair))
    return sum(
        clients
        for t, clients in topics.items()
        if floods.fate(*ends, demand.topic_names[t]) == Verdict.DELIVERED
    )
