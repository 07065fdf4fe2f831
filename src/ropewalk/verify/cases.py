"""What becomes of pairs in every scenario, in a form in which two federations can be compared.

Pairs and scenarios get common numbers by their names.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ropewalk.federation.arrays import Ints
from ropewalk.federation.facts import Federation
from ropewalk.federation.names import Failure
from ropewalk.routing.scenarios import groups_of, resolve
from ropewalk.routing.trees import Longs
from ropewalk.verify.demand import Demand, demand_of
from ropewalk.verify.floods import Floods, bridged_pairs
from ropewalk.verify.result import Pairs, Verification
from ropewalk.verify.verdicts import Verdict

GONE = len(Verdict)
"""The fate of messages whose clients are gone."""


@dataclass(frozen=True, eq=False, slots=True)
class Cases:
    """Fates of common pairs by scenario: those with nothing failed, and every other that differs.

    Sorted by key, which is scenario x pairs + pair.
    """

    key: Longs
    fate: Ints
    print: npt.NDArray[np.uint64]
    base_fate: Ints
    base_print: npt.NDArray[np.uint64]
    own_scenario: Longs
    """The side's own scenario for each common one."""

    def at(self, keys: Longs) -> tuple[Ints, npt.NDArray[np.uint64]]:
        """Fates and prints of cases; what is not listed is as with nothing failed."""
        pair = keys % max(len(self.base_fate), 1)
        fate, prints = self.base_fate[pair], self.base_print[pair]
        if len(self.key):
            place = np.minimum(np.searchsorted(self.key, keys), len(self.key) - 1)
            known = self.key[place] == keys
            fate = np.where(known, self.fate[place], fate)
            prints = np.where(known, self.print[place], prints)
        return fate, prints


Triple = tuple[str, str, str, bool]
"""A topic, and a pair that it is owed between."""
Pair = tuple[str, str, bool]
"""Publisher's broker, subscriber's broker, and whether the topic stays in its domain."""


def triples_of(federation: Federation, pairs: Pairs) -> set[Triple]:
    """Every topic with a pair that it is owed between; no topic where all pairs are asked after."""
    if pairs == "all":
        names = federation.graph.names
        return {("", a, b, False) for a in names for b in names if a != b}
    demand = demand_of(federation)
    names, runs = federation.graph.names, np.diff(demand.first_topic)
    columns = (
        demand.topic,
        *(np.repeat(c, runs) for c in (demand.source, demand.to, demand.local)),
    )
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return {(demand.topic_names[t], names[s], names[d], local) for t, s, d, local in rows}


def scenario_names(side: Verification) -> list[str]:
    """The names of a side's scenarios."""
    return [side.check.scenarios.name(k) for k in range(len(side.check.scenarios))]


def _pair_numbers(
    side: Verification, demand: Demand, common: Sequence[Pair]
) -> npt.NDArray[np.int64]:
    """The common number of each of a side's pairs, -1 for others."""
    number = {pair: i for i, pair in enumerate(common)}
    names = side.check.graph.names
    columns = (demand.source.tolist(), demand.to.tolist(), demand.local.tolist())
    rows = zip(*columns, strict=True)
    return np.array([number.get((names[s], names[d], one), -1) for s, d, one in rows], np.int64)


def cases_of(
    side: Verification, triples: Collection[Triple], common: Sequence[Pair], own_scenario: Longs
) -> Cases:
    """Everything that happens to the common pairs on one side, as far as common topics go."""
    check = side.check
    pair_number = _pair_numbers(side, check.demand, common)
    counts = np.zeros_like(side.sight.counts)
    seen = [check.look(to, counts, everything=True) for to in check.destinations]
    lost_scenario, lost_pair = check.moves.lost
    gone = np.full(len(lost_pair), GONE, np.int32)
    bridged = _bridged(side, triples, common)
    scenario = np.concatenate([*(one.scenario for one in seen), lost_scenario, bridged[0]])
    own = np.concatenate([*(one.pair for one in seen), lost_pair])
    pair = np.concatenate((pair_number[own], bridged[1]))
    verdicts = np.concatenate([np.zeros(0, np.int32), *(one.verdict for one in seen)])
    marks = np.concatenate([np.zeros(0, np.uint64), *(one.mark for one in seen)])
    _serve(side, scenario[: len(verdicts)], own[: len(verdicts)], verdicts, marks)
    fate = np.concatenate([verdicts, gone, bridged[2]])
    nothing = np.zeros(len(gone), np.uint64)
    prints = np.concatenate([marks, nothing, bridged[3]])
    kept = pair >= 0
    record, scenario = _spread(scenario[kept], own_scenario)
    pair, fate, prints = pair[kept][record], fate[kept][record], prints[kept][record]
    base = scenario == 0
    base_fate = np.full(len(common), Verdict.BLACK_HOLE, np.int32)
    base_print = np.zeros(len(common), np.uint64)
    base_fate[pair[base]], base_print[pair[base]] = fate[base], prints[base]
    key = scenario[~base] * len(common) + pair[~base]
    order = np.argsort(key, kind="stable")
    return Cases(
        key[order],
        fate[~base][order],
        prints[~base][order],
        base_fate,
        base_print,
        own_scenario,
    )


BY_BRIDGE = np.uint64(2)
"""The print of all paths over bridges where links are cut."""


def _serve(
    side: Verification, scenario: Ints, pair: Ints, verdicts: Ints, marks: npt.NDArray[np.uint64]
) -> None:
    """Count as delivered what bridges still deliver where links are cut."""
    rescue = side.flooding.rescue
    if rescue is None or not len(rescue.pair):
        return
    whole = rescue.clients == side.check.demand.weight[rescue.pair]
    pairs = len(side.check.demand.to)
    served = rescue.scenario[whole] * np.int64(pairs) + rescue.pair[whole]
    saved = np.isin(scenario * np.int64(pairs) + pair, served) & (verdicts == Verdict.CUT)
    verdicts[saved], marks[saved] = Verdict.DELIVERED, BY_BRIDGE


def own_scenarios(side: Verification, names: Sequence[str]) -> Longs:
    """For each scenario the side's own: without the parts that it lacks; -1 if it has none."""
    scenarios, federation = side.check.scenarios, side.check.federation
    own = {scenarios.parts(k): k for k in range(len(scenarios))}
    links, brokers = set(scenarios.link_names), set(scenarios.broker_names)
    groups, sites = groups_of(federation), federation.sites.keys()

    def number(name: str) -> int:
        failure = Failure.parse(name)
        left = replace(
            failure,
            links=failure.links & links,
            brokers=failure.brokers & brokers,
            groups=failure.groups & groups.keys(),
            sites=failure.sites & sites,
        )
        if left.groups or left.sites:
            return own.get(scenarios.words(resolve(federation, str(left))), -1)
        return own.get(str(left), -1)

    return np.array([number(name) for name in names], np.int64)


def _spread(scenario: Ints, own_scenario: Longs) -> tuple[Longs, Longs]:
    """Records of a side's scenarios, once for every common scenario that is the side's."""
    order = np.argsort(scenario, kind="stable")
    low = np.searchsorted(scenario[order], own_scenario, side="left")
    high = np.searchsorted(scenario[order], own_scenario, side="right")
    runs = [order[a:b] for a, b in zip(low, high, strict=True)]
    common = np.repeat(np.arange(len(own_scenario), dtype=np.int64), high - low)
    return np.concatenate([np.zeros(0, np.int64), *runs]), common


def _bridged(
    side: Verification, triples: Collection[Triple], common: Sequence[Pair]
) -> tuple[Any, Any, Any, Any]:
    """The same of what bridges carry: scenario, pair, fate, and a print of where copies get to."""
    check, demand = side.check, side.flooding.bridged
    number = {pair: i for i, pair in enumerate(common)}
    floods = Floods(check.federation)
    found: dict[tuple[int, int], tuple[int, int]] = {}
    broken = np.flatnonzero(np.diff(check.scenarios.first_broker)).tolist()
    for k in (0, *broken) if len(demand.to) else ():
        down = tuple(check.graph.names[b] for b in check.scenarios.down(k).brokers)
        now = Floods(check.federation, down, before=floods) if k else floods
        for source, to, t in bridged_pairs(now, demand):
            topic = demand.topic_names[t]
            local = check.federation.topics[topic].scope == "domain"
            if (topic, source, to, local) not in triples:
                continue
            pair = number[source, to, local]
            fate, prints = now.fate(source, to, topic), now.print_of(source, topic)
            worst, mixed = found.get((k, pair), (0, 0))
            found[k, pair] = (max(worst, fate), (mixed + prints) % 2**64)
    keys = np.array(list(found), np.int64).reshape(-1, 2)
    fates = np.array([fate for fate, _ in found.values()], np.int32)
    return keys[:, 0], keys[:, 1], fates, np.array([p for _, p in found.values()], np.uint64)
