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

from ropewalk.errors import UsageError
from ropewalk.federation.arrays import Ints
from ropewalk.federation.facts import Federation
from ropewalk.findings import Finding, Where
from ropewalk.routing.scenarios import listed, scenarios_of
from ropewalk.routing.trees import Longs
from ropewalk.verify.cases import Cases, Pair, cases_of, own_scenarios, scenario_names, triples_of
from ropewalk.verify.demand import matching_topics
from ropewalk.verify.floods import Floods
from ropewalk.verify.paths import path_in
from ropewalk.verify.result import Pairs, Verification, default_failures, verify
from ropewalk.verify.takeover import home, homes_of
from ropewalk.verify.verdicts import Verdict

if TYPE_CHECKING:
    import pandas as pd

CODES = {"lost": "V030", "gained": "V031", "changed": "V032"}
SHOWN = 20
PATH = "takes another path"


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


@dataclass(frozen=True, eq=False, repr=False)
class Difference:
    """What changes in meaning between two configurations; empty if nothing does."""

    old: Verification
    new: Verification
    changes: tuple[Change, ...]
    only_old: tuple[tuple[str, str, str], ...]
    """(topic, publisher's broker, subscriber's broker) that the new one does not have."""
    only_new: tuple[tuple[str, str, str], ...]
    scenarios: int

    def __repr__(self) -> str:
        return f"<Difference: {self.summary}>"

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """A finding per pair of brokers and kind of change, losses first."""
        return (*map(self._told, self.changes), *self._pairs())

    @property
    def empty(self) -> bool:
        """Whether both mean the same."""
        return not self.changes and not self.only_old and not self.only_new

    @property
    def ok(self) -> bool:
        """Whether nothing that was delivered is lost."""
        return not any(one.severity == "error" for one in self.findings)

    @property
    def witness(self) -> object:
        """The witness of the first finding, or None."""
        return self.findings[0].witness if self.findings else None

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
        # Bridges rename, and bring copies: that is another print of the same brokers.
        same = one.old_path == one.new_path
        changed = "arrives under another name or in other numbers" if same else PATH
        words = {
            "lost": f"is no longer delivered {when}{also}: it {end}",
            "gained": f"is now delivered {when}{also}: {end}",
            "changed": f"{changed} {when}{also}: {end}",
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
    old: Federation, new: Federation, *, failures: str | Sequence[str] | None = None
) -> Difference:
    """Compare two configurations, with nothing failed and in every failure asked for.

    >>> from ropewalk import generate
    >>> difference(generate("six-broker"), generate("six-broker")).empty
    True
    """
    asked = listed(failures) if failures is not None else _defaults(old, new)
    _refuse_unknown(old, new, asked)
    pairs: Pairs = "topics" if old.topics or new.topics else "all"
    before = verify(old, failures=_known(old, asked), pairs=pairs)
    after = verify(new, failures=_known(new, asked), pairs=pairs)
    triples_old, triples_new = triples_of(old, pairs), triples_of(new, pairs)
    common = sorted({one[1:] for one in triples_old & triples_new})
    names = list(dict.fromkeys([*scenario_names(before), *scenario_names(after)]))
    own = [own_scenarios(side, names) for side in (before, after)]
    shared = np.flatnonzero((own[0] >= 0) & (own[1] >= 0))
    names = [names[k] for k in shared]
    both = triples_old & triples_new
    found = [
        cases_of(side, both, common, numbers[shared])
        for side, numbers in zip((before, after), own, strict=True)
    ]
    changes = list(_changes(before, after, common, names, *found))
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


def _defaults(old: Federation, new: Federation) -> list[str]:
    """What either of the two would be verified under."""
    return list(dict.fromkeys([*default_failures(old, None), *default_failures(new, None)]))


def _refuse_unknown(old: Federation, new: Federation, failures: Sequence[str]) -> None:
    """Raise UsageError for a part that neither of the two has."""
    for text in failures:
        for part in text.split("+"):
            if not _known(old, [part.strip()]) and not _known(new, [part.strip()]):
                scenarios_of(new, [part.strip()])


def _known(federation: Federation, failures: Sequence[str]) -> list[str]:
    """Failures as far as a federation can have them: without the parts that it lacks."""
    kept = []
    for text in failures:
        parts = [part.strip() for part in text.split("+") if _has(federation, part.strip())]
        if parts:
            kept.append(" + ".join(parts))
    return kept


def _has(federation: Federation, part: str) -> bool:
    try:
        scenarios_of(federation, [part])
    except UsageError:
        return False
    return True


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
        for pair, found in _by_pair(keys[mask], new_fate[mask], len(common)).items():
            source, to, _ = common[pair]
            k = found[0][0]  # the smallest scenario gives the paths
            yield Change(
                kind,
                source,
                to,
                tuple(_topics(after, source, to)),
                tuple(names[k] for k, _ in found),
                _path(before, source, to, int(old.own_scenario[k])),
                _path(after, source, to, int(new.own_scenario[k])),
                Verdict(min(found[0][1], Verdict.CUT)),
            )


def _differs(*columns: Any) -> npt.NDArray[np.bool_]:
    old_fate, new_fate, old_print, new_print = columns
    return np.asarray((old_fate != new_fate) | (old_print != new_print))


def _by_pair(keys: Longs, fates: Ints, pairs: int) -> dict[int, list[tuple[int, int]]]:
    """Cases gathered by pair, as (scenario, fate)."""
    found: dict[int, list[tuple[int, int]]] = {}
    for key, fate in zip(keys.tolist(), fates.tolist(), strict=True):
        found.setdefault(key % pairs, []).append((key // pairs, fate))
    return found


def _topics(side: Verification, source: str, to: str) -> list[str]:
    names = side.check.graph.names
    found: list[str] = []
    for demand in (side.check.demand, side.flooding.bridged):
        start, stop = demand.first[names.index(to)], demand.first[names.index(to) + 1]
        own = [i for i in range(start, stop) if demand.source[i] == names.index(source)]
        found += matching_topics(demand, own)
    return found


def _path(side: Verification, source: str, to: str, k: int) -> tuple[str, ...]:
    """The path that messages of a pair take in a scenario, from where their clients are then."""
    check = side.check
    names, scenarios = check.graph.names, check.scenarios
    homes, down = homes_of(check.federation), scenarios.down(k).brokers
    start = home(names.index(source), homes.publishers, down)
    end = home(names.index(to), homes.subscribers, down)
    if start < 0 or end < 0:
        return ()
    bridged = side.flooding.bridged
    if ((bridged.source == names.index(source)) & (bridged.to == names.index(to))).any():
        return _bridge_path(side, names[start], names[end], down)
    return tuple(names[b] for b in path_in(check, start, end, k).brokers)


def _bridge_path(side: Verification, source: str, to: str, down: Sequence[int]) -> tuple[str, ...]:
    """One way over bridges to a broker, the shortest; or only the source."""
    federation = side.check.federation
    floods = Floods(federation, tuple(side.check.graph.names[b] for b in down))
    topics = _topics(side, source, to)
    for topic in topics:
        found = floods.of(source, floods.owed(topic, to)[0])
        ways = [found.way(place) for place in found.came_from if place.broker == to]
        if ways:
            return tuple(place.broker for place in min(ways, key=len))
    return (source,)
