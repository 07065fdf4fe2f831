"""What changes in meaning between two configurations: who gains or loses delivery, and which paths.

Both are verified in the same scenarios, matched by name, and every pair of brokers that both have
is compared in each of them: its fate, and a print of its path. A part that only one of them has
cannot fail in the other. Clients of a failed broker that nobody takes over are compared with none.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ropewalk.federation.arrays import Ints
from ropewalk.federation.facts import Federation
from ropewalk.findings import Finding, Where
from ropewalk.routing.trees import Longs
from ropewalk.verify.bridges import Floods, bridged_pairs
from ropewalk.verify.demand import Demand, demand_of, matching_topics
from ropewalk.verify.paths import path_in
from ropewalk.verify.result import Verification, verify
from ropewalk.verify.takeover import home, homes_of
from ropewalk.verify.verdicts import Verdict

if TYPE_CHECKING:
    import pandas as pd

CODES = {"lost": "V030", "gained": "V031", "changed": "V032"}
SHOWN = 20
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


@dataclass(frozen=True, slots=True)
class Change:
    """What changed for messages between two brokers, and in which scenarios."""

    kind: str
    source: str
    to: str
    topics: tuple[str, ...]
    failures: tuple[str, ...]
    old_path: tuple[str, ...]
    new_path: tuple[str, ...]
    fate: Verdict


@dataclass(frozen=True, eq=False)
class Difference:
    """What changes in meaning between two configurations; empty if nothing does."""

    old: Verification
    new: Verification
    changes: tuple[Change, ...]
    only_old: tuple[tuple[str, str, str], ...]
    """(topic, publisher's broker, subscriber's broker) that the new one does not have."""
    only_new: tuple[tuple[str, str, str], ...]
    scenarios: int

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """A finding per pair of brokers and kind of change, losses first."""
        return (*map(self._told, self.changes), *self._pairs())

    @property
    def empty(self) -> bool:
        """Whether both mean the same."""
        return not self.changes and not self.only_old and not self.only_new

    @property
    def summary(self) -> dict[str, Any]:
        """How many pairs of brokers and cases changed, by kind."""
        found: dict[str, Any] = {"scenarios": self.scenarios}
        for kind in CODES:
            some = [one for one in self.changes if one.kind == kind]
            found[f"{kind}_pairs"] = len(some)
            found[f"{kind}_cases"] = sum(len(one.failures) for one in some)
        return {**found, "pairs_dropped": len(self.only_old), "pairs_added": len(self.only_new)}

    def frame(self) -> "pd.DataFrame":
        """A row per change and failure."""
        import pandas as pd

        rows = [
            (one.kind, one.source, one.to, failure, " > ".join(one.old_path))
            for one in self.changes
            for failure in one.failures
        ]
        return pd.DataFrame(rows, columns=["change", "from", "to", "failure", "old_path"])

    def _told(self, one: Change) -> Finding:
        subject = one.topics[0] if one.topics else "a message"
        more = f" and {len(one.topics) - 1} more" if len(one.topics) > 1 else ""
        first, others = one.failures[0], len(one.failures) - 1
        when = "with nothing failed" if first == "none" else f"when {first} is down"
        also = f" and in {others} more scenario{'s' if others > 1 else ''}" if others else ""
        end = one.fate.words if one.kind == "lost" else " > ".join(one.new_path)
        words = {
            "lost": f"is no longer delivered {when}{also}: it {end}",
            "gained": f"is now delivered {when}{also}: {end}",
            "changed": f"takes another path {when}{also}: {end}",
        }[one.kind]
        witness = {
            "from": one.source,
            "to": one.to,
            "topics": one.topics[:SHOWN],
            "failures": one.failures[:SHOWN],
            "scenarios": len(one.failures),
            "old_path": one.old_path,
            "new_path": one.new_path,
        }
        severity = "error" if one.kind == "lost" else "note"
        message = f"{subject}{more} from {one.source} to {one.to} {words}"
        where = Where(self.new.check.federation.source.file)
        return Finding(CODES[one.kind], message, where, severity, witness)  # type: ignore[arg-type]

    def _pairs(self) -> Iterator[Finding]:
        sides = (
            ("is gone", self.only_old, self.old),
            ("is new", self.only_new, self.new),
        )
        for words, triples, side in sides:
            by_topic: dict[str, list[str]] = {}
            for topic, source, to in triples:
                by_topic.setdefault(topic, []).append(f"{source} to {to}")
            for topic, pairs in by_topic.items():
                more = f" and {len(pairs) - 1} more" if len(pairs) > 1 else ""
                where = Where(side.check.federation.source.file)
                witness = {"topic": topic, "pairs": pairs[:SHOWN], "pairs_total": len(pairs)}
                yield Finding("V033", f"{topic}: {pairs[0]}{more} {words}", where, "note", witness)


def difference(
    old: Federation, new: Federation, *, failures: Sequence[str] | None = None
) -> Difference:
    """Compare two configurations, with nothing failed and in every failure asked for.

    >>> from ropewalk import generate
    >>> difference(generate("six-broker"), generate("six-broker")).empty
    True
    """
    before = verify(old, failures=_known(old, failures))
    after = verify(new, failures=_known(new, failures))
    triples_old, triples_new = _triples(old), _triples(new)
    common = sorted({one[1:] for one in triples_old & triples_new})
    names = list(dict.fromkeys([*_scenarios(before), *_scenarios(after)]))
    cases = [_cases(side, common, names) for side in (before, after)]
    changes = list(_changes(before, after, common, names, *cases))
    order = list(CODES)
    changes.sort(key=lambda one: (order.index(one.kind), one.source, one.to))
    return Difference(
        before,
        after,
        tuple(changes),
        tuple(one[:3] for one in sorted(triples_old - triples_new)),
        tuple(one[:3] for one in sorted(triples_new - triples_old)),
        len(names),
    )


def _known(federation: Federation, failures: Sequence[str] | None) -> Sequence[str] | None:
    """Failures that a federation can have; named ones of parts it lacks are left out."""
    from ropewalk.errors import UsageError
    from ropewalk.routing.scenarios import scenarios_of

    if failures is None:
        return None
    kept = []
    for one in failures:
        try:
            scenarios_of(federation, [one])
        except UsageError:
            continue
        kept.append(one)
    return kept


def _scenarios(side: Verification) -> list[str]:
    return [side.check.scenarios.name(k) for k in range(len(side.check.scenarios))]


Pair = tuple[str, str, bool]
"""Publisher's broker, subscriber's broker, and whether the topic stays in its domain."""


def _triples(federation: Federation) -> set[tuple[str, str, str, bool]]:
    demand = demand_of(federation)
    names, runs = federation.graph.names, np.diff(demand.first_topic)
    columns = (
        demand.topic,
        *(np.repeat(c, runs) for c in (demand.source, demand.to, demand.local)),
    )
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return {(demand.topic_names[t], names[s], names[d], local) for t, s, d, local in rows}


def _pair_numbers(
    side: Verification, demand: Demand, common: Sequence[Pair]
) -> npt.NDArray[np.int64]:
    """The common number of each of a side's pairs, -1 for others."""
    number = {pair: i for i, pair in enumerate(common)}
    names = side.check.graph.names
    columns = (demand.source.tolist(), demand.to.tolist(), demand.local.tolist())
    rows = zip(*columns, strict=True)
    return np.array([number.get((names[s], names[d], one), -1) for s, d, one in rows], np.int64)


def _cases(side: Verification, common: Sequence[Pair], names: Sequence[str]) -> Cases:
    """Everything that happens to the common pairs on one side."""
    check = side.check
    pair_number = _pair_numbers(side, check.demand, common)
    place = {name: k for k, name in enumerate(names)}
    scenario_number = np.array([place[name] for name in _scenarios(side)], np.int64)
    counts = np.zeros_like(side.sight.counts)
    seen = [check.look(to, counts, everything=True) for to in check.destinations]
    lost_scenario, lost_pair = check.moves.lost
    gone = np.full(len(lost_pair), GONE, np.int32)
    bridged = _bridged(side, common)
    scenario = np.concatenate([*(one.scenario for one in seen), lost_scenario, bridged[0]])
    own = np.concatenate([*(one.pair for one in seen), lost_pair])
    pair = np.concatenate((pair_number[own], bridged[1]))
    fate = np.concatenate([*(one.verdict for one in seen), gone, bridged[2]])
    nothing = np.zeros(len(gone), np.uint64)
    prints = np.concatenate([*(one.mark for one in seen), nothing, bridged[3]])
    kept = pair >= 0
    scenario, pair = scenario_number[scenario[kept]], pair[kept]
    fate, prints = fate[kept], prints[kept]
    base = scenario == 0
    base_fate = np.full(len(common), Verdict.BLACK_HOLE, np.int32)
    base_print = np.zeros(len(common), np.uint64)
    base_fate[pair[base]], base_print[pair[base]] = fate[base], prints[base]
    key = scenario[~base] * len(common) + pair[~base]
    order = np.argsort(key, kind="stable")
    return Cases(key[order], fate[~base][order], prints[~base][order], base_fate, base_print)


def _bridged(side: Verification, common: Sequence[Pair]) -> tuple[Any, Any, Any, Any]:
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
            pair = number.get((source, to, check.federation.topics[topic].scope == "domain"), -1)
            fate, prints = now.fate(source, to, topic), now.print_of(source, topic)
            worst, mixed = found.get((k, pair), (0, 0))
            found[k, pair] = (max(worst, fate), mixed ^ prints)
    keys = np.array(list(found), np.int64).reshape(-1, 2)
    fates = np.array([fate for fate, _ in found.values()], np.int32)
    return keys[:, 0], keys[:, 1], fates, np.array([p for _, p in found.values()], np.uint64)


def _changes(
    before: Verification,
    after: Verification,
    common: Sequence[Pair],
    names: Sequence[str],
    old: Cases,
    new: Cases,
) -> Iterator[Change]:
    base = np.arange(len(common), dtype=np.int64)
    keys = np.unique(np.concatenate((base, old.key, new.key)))
    if _differs(old.base_fate, new.base_fate, old.base_print, new.base_print).any():
        # Pairs that differ with nothing failed differ in scenarios that touch neither side too.
        pairs = base[_differs(old.base_fate, new.base_fate, old.base_print, new.base_print)]
        every = np.arange(len(names), dtype=np.int64)[:, None] * len(common) + pairs
        keys = np.unique(np.concatenate((keys, every.ravel())))
    old_fate, old_print = old.at(keys)
    new_fate, new_print = new.at(keys)
    was, now = old_fate == Verdict.DELIVERED, new_fate == Verdict.DELIVERED
    kinds = {
        "lost": was & ~now,
        "gained": ~was & now,
        "changed": was & now & (old_print != new_print),
    }
    for kind, mask in kinds.items():
        yield from _grouped(kind, keys[mask], new_fate[mask], before, after, common, names)


def _differs(*columns: Any) -> npt.NDArray[np.bool_]:
    old_fate, new_fate, old_print, new_print = columns
    return np.asarray((old_fate != new_fate) | (old_print != new_print))


def _grouped(
    kind: str,
    keys: Longs,
    fates: Ints,
    before: Verification,
    after: Verification,
    common: Sequence[Pair],
    names: Sequence[str],
) -> Iterator[Change]:
    """Cases of one kind, gathered by pair; the smallest scenario gives the paths."""
    pairs: dict[int, list[tuple[int, int]]] = {}
    for key, fate in zip(keys.tolist(), fates.tolist(), strict=True):
        pairs.setdefault(key % len(common), []).append((key // len(common), fate))
    for pair, found in pairs.items():
        source, to, _ = common[pair]
        failure = names[found[0][0]]
        yield Change(
            kind,
            source,
            to,
            tuple(_topics(after, source, to)),
            tuple(names[k] for k, _ in found),
            _path(before, source, to, failure),
            _path(after, source, to, failure),
            Verdict(min(found[0][1], Verdict.CUT)),
        )


def _topics(side: Verification, source: str, to: str) -> list[str]:
    names, demand = side.check.graph.names, side.check.demand
    start, stop = demand.first[names.index(to)], demand.first[names.index(to) + 1]
    wanted = names.index(source)
    return matching_topics(demand, [i for i in range(start, stop) if demand.source[i] == wanted])


def _path(side: Verification, source: str, to: str, failure: str) -> tuple[str, ...]:
    """The path that messages of a pair take in a failure, from where their clients are then."""
    check = side.check
    names, scenarios = check.graph.names, check.scenarios
    k = next((k for k in range(len(scenarios)) if scenarios.name(k) == failure), 0)
    homes, down = homes_of(check.federation), scenarios.down(k).brokers
    start = home(names.index(source), homes.publishers, down)
    end = home(names.index(to), homes.subscribers, down)
    if start < 0 or end < 0:
        return ()
    return tuple(names[b] for b in path_in(check, start, end, k).brokers)
