"""Fates of what native bridges carry, in every scenario.

Pairs of brokers that links join are the overlay's; the others are the bridges'. Where a failure
cuts the links between a pair, bridges may still deliver.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from ropewalk.federation.arrays import Bools, Ints, broker_of
from ropewalk.federation.facts import Federation
from ropewalk.federation.topics import common, is_pattern
from ropewalk.findings import Finding
from ropewalk.routing.ground import connected_parts
from ropewalk.routing.scenarios import Scenarios
from ropewalk.routing.trees import Longs
from ropewalk.verify.check import Check
from ropewalk.verify.demand import Demand
from ropewalk.verify.flood import Bridges, Flood, flood
from ropewalk.verify.verdicts import Verdict

EXAMPLE = "x"
"""Stands for any level when a pattern is followed through bridges."""


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
    from ropewalk.verify.bridge_faults import bridge_findings

    fates = np.zeros((len(scenarios), len(Verdict)), np.int64)
    stranded = np.zeros(len(scenarios), np.int64)
    if not federation.bridges:
        return Flooding(fates, bridged, stranded)
    floods = Floods(federation)
    fates[:] = _fates(floods, bridged)
    damaged = []
    for k in np.flatnonzero(np.diff(scenarios.first_broker)).tolist():
        down = tuple(scenarios.broker_names[b] for b in scenarios.down(k).brokers)
        if halt[0]:
            break
        damaged.append(Floods(federation, down, before=floods))
        fates[k] = _fates(damaged[-1], bridged)
        stranded[k] = sum(damaged[-1].stranded(*one[:2]) for one in bridged_pairs(floods, bridged))
    findings = list(bridge_findings(floods, bridged, damaged))
    return Flooding(fates, bridged, stranded, findings)


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


def _carried(check: Check, floods: "Floods", pair: int) -> int:
    """How many of a pair's clients bridges serve."""
    names, demand = check.graph.names, check.demand
    ends = names[demand.source[pair]], names[demand.to[pair]]
    topics = Counter(demand.topic_numbers(pair))
    return sum(
        clients
        for t, clients in topics.items()
        if floods.fate(*ends, demand.topic_names[t]) == Verdict.DELIVERED
    )


class Floods:
    """Floods of a federation's topics while some brokers are down, each made once."""

    def __init__(
        self,
        federation: Federation,
        down: tuple[str, ...] = (),
        *,
        limits: bool = True,
        before: "Floods | None" = None,
    ) -> None:
        self.federation, self.down, self.before = federation, down, before
        self.bridges = Bridges(federation, down, limits=limits)
        self.limits = limits
        self.part = self.bridges.parts()
        self._made: dict[tuple[str, str], Flood] = {}
        self._free: Floods | None = None
        self.subscribed: dict[str, list[str]] = {}
        for topic, facts in federation.topics.items():
            for broker in {broker_of(one) for one in facts.subscribers}:
                self.subscribed.setdefault(broker, []).append(topic)

    def of(self, broker: str, name: str) -> Flood:
        """The flood of a message that is published at a broker."""
        if (broker, name) not in self._made:
            old = self.before.of(broker, name) if self.before else None
            # A flood that never met what is down now is as it was.
            same = old is not None and not old.met.intersection(self.down)
            self._made[broker, name] = old if same and old else flood(self.bridges, broker, name)
        return self._made[broker, name]

    def unlimited(self) -> "Floods":
        """The same floods if no bridge counted hops."""
        if self._free is None:
            self._free = Floods(self.federation, self.down, limits=False)
        return self._free

    def home(self, broker: str, role: str) -> str | None:
        """Where clients of a broker are now."""
        if broker not in self.down:
            return broker
        takers: tuple[str, ...] = getattr(self.federation.brokers[broker].takeover, role)
        return next((one for one in takers if one not in self.down), None)

    def stranded(self, source: str, to: str) -> bool:
        """Whether a publisher or a subscriber has no broker left."""
        return None in (self.home(source, "publishers"), self.home(to, "subscribers"))

    def arrivals(self, found: Flood, to: str, subscriber: str | None = None) -> int:
        """Copies at a broker that a subscriber of it gets, under whatever name it subscribes to.

        Of another broker, where its subscribers have moved.
        """
        wanted = self.subscribed.get(subscriber or to, ())
        names = [(name, count) for (at, name), count in found.copies.items() if at == to]
        return max(
            (sum(n for name, n in names if common(one, name) == name) for one in wanted), default=0
        )

    def print_of(self, source: str, topic: str) -> int:
        """A number that tells where copies of a topic get to, for comparisons."""
        at = self.home(source, "publishers")
        copies = [sorted(self.of(at, name).copies.items()) for name in examples(self, topic) if at]
        return int.from_bytes(blake2b(repr((topic, copies)).encode(), digest_size=8).digest())

    def fate(self, source: str, to: str, topic: str) -> Verdict:
        """The worst that happens to a name that the topic stands for."""
        now_at, now_to = self.home(source, "publishers"), self.home(to, "subscribers")
        if now_at is None or now_to is None:
            return Verdict.CUT
        fates = [self._fate(now_at, now_to, to, name) for name in self.owed(topic, to)]
        return max(fates, key=lambda one: (one != Verdict.DELIVERED, -one))

    def owed(self, topic: str, to: str) -> list[str]:
        """Examples of names that a topic's publishers owe to subscribers at a broker."""
        met = [common(topic, one) for one in self.subscribed.get(to, ())]
        names = [name for one in met if one for name in examples(self, one)]
        return list(dict.fromkeys(names)) or examples(self, topic)

    def _fate(self, source: str, to: str, subscriber: str, name: str) -> Verdict:
        found = self.of(source, name)
        if found.loop:
            return Verdict.LOOP
        if self.arrivals(found, to, subscriber):
            return Verdict.DELIVERED
        if self.limits and self.arrivals(self.unlimited().of(source, name), to, subscriber):
            return Verdict.TOO_LONG
        cut = self.down and self.part.get(source, source) != self.part.get(to, to)
        return Verdict.CUT if cut else Verdict.BLACK_HOLE


def bridged_pairs(floods: Floods, bridged: Demand) -> Iterator[tuple[str, str, int]]:
    """Every (publisher's broker, subscriber's broker, topic number) that is the bridges'."""
    names = tuple(floods.federation.brokers)
    for i in range(len(bridged.to)):
        source, to = names[int(bridged.source[i])], names[int(bridged.to[i])]
        for t in bridged.topic[bridged.first_topic[i] : bridged.first_topic[i + 1]].tolist():
            yield source, to, t


def _fates(floods: Floods, bridged: Demand) -> Longs:
    totals = np.zeros(len(Verdict), np.int64)
    topics = tuple(floods.federation.topics)
    for source, to, t in bridged_pairs(floods, bridged):
        totals[floods.fate(source, to, topics[t])] += 1
    return totals


def examples(floods: Floods, topic: str) -> list[str]:
    """Names that a topic stands for: itself, or one for each way a bridge may cut its pattern."""
    if not is_pattern(topic):
        return [topic]
    cuts = [topic]
    for bridge in floods.federation.bridges:
        for prefix in (bridge.prefixes.local, bridge.prefixes.remote):
            cuts += [prefix + pattern for pattern in bridge.patterns]
    met = [common(topic, cut) for cut in cuts]
    return list(
        dict.fromkeys(
            "/".join(EXAMPLE if level in ("+", "#") else level for level in one.split("/"))
            for one in met
            if one
        )
    )
