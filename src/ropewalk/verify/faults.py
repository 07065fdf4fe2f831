"""What goes wrong, as few findings as tell it all: one per longest bad path.

A bad path that is the end of a longer one to the same destination is told with that one, and the
same path in several scenarios once, with the smallest of them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np

from ropewalk.federation.arrays import Ints
from ropewalk.federation.facts import Federation
from ropewalk.findings import Finding, Severity, Where
from ropewalk.routing.entries import Group
from ropewalk.verify.check import Check, Seen
from ropewalk.verify.demand import matching_topics
from ropewalk.verify.paths import Path, follow, rows_in
from ropewalk.verify.undelivered import untouched
from ropewalk.verify.verdicts import Verdict

CODES = {
    Verdict.LOOP: "V001",
    Verdict.UTURN: "V002",
    Verdict.BLACK_HOLE: "V003",
    Verdict.TOO_LONG: "V004",
    Verdict.LEAK: "V005",
    Verdict.CUT: "V006",
}
MOST_ROWS = 2000
"""Paths are looked up in so many tables at most; what goes wrong in others is only counted."""
MOST_EXTENDED = 500
"""Of more faults than this the scenarios are only those that touch them."""
SHOWN = 20


@dataclass(frozen=True, slots=True)
class Bad:
    """One record of what went wrong: where the clients were, and which pair they are of."""

    to: int
    scenario: int
    source: int
    pair: int
    verdict: Verdict


@dataclass(eq=False, slots=True)
class Fault:
    """A bad path, in which scenarios it is taken, and whose messages take it."""

    verdict: Verdict
    path: Path
    to: int
    entries: tuple[tuple[int, int], ...]
    """Hand-made entries on it in its first scenario, as (broker, route); those first that differ
    from the computed."""
    scenarios: list[int] = field(default_factory=list)
    pairs: set[int] = field(default_factory=set)
    sources: set[int] = field(default_factory=set)


def bad_records(seen: Iterable[Seen]) -> list[Bad]:
    """All records, those of the smallest scenarios first."""
    rows = [
        Bad(one.to, k, source, pair, Verdict(verdict))
        for one in seen
        for k, source, pair, verdict in zip(
            one.scenario.tolist(),
            one.source.tolist(),
            one.pair.tolist(),
            one.verdict.tolist(),
            strict=True,
        )
        if verdict != Verdict.DELIVERED
    ]
    return sorted(rows, key=lambda bad: (bad.scenario, bad.to, bad.source))


def faults_of(check: Check, records: list[Bad]) -> tuple[list[Fault], bool]:
    """Faults with their paths, and whether every record is told by one of them."""
    found: dict[tuple[object, ...], Fault] = {}
    plane = check.entries.plane
    records = sorted(records, key=lambda bad: (bad.scenario, bad.to, int(plane[bad.source])))
    rows = groupby(records, lambda bad: (bad.scenario, bad.to, int(plane[bad.source])))
    for number, (key, some) in enumerate(rows):
        if number >= MOST_ROWS:
            return list(found.values()), False
        for fault in _in_one_row(check, key[1], key[0], list(some)):
            known = found.setdefault((fault.verdict, key[1], fault.path.brokers), fault)
            if known.scenarios[-1:] != [key[0]]:
                known.scenarios.append(key[0])
            known.pairs |= fault.pairs
            known.sources |= fault.sources
    _extend(check, list(found.values()))
    return list(found.values()), True


def _extend(check: Check, faults: list[Fault]) -> None:
    """Faults with nothing failed go on in every scenario that leaves their messages alone."""
    counts = np.zeros((len(check.scenarios), len(Verdict)), np.int64)
    seen: dict[int, Seen] = {}
    for fault in faults[:MOST_EXTENDED] if len(check.scenarios) > 1 else ():
        if fault.scenarios[0] == 0:
            if fault.to not in seen:
                seen[fault.to] = check.look(fault.to, counts, everything=True)
            same = untouched(check, seen[fault.to], min(fault.pairs))
            fault.scenarios = sorted({*fault.scenarios, *same})


def _in_one_row(check: Check, to: int, k: int, some: list[Bad]) -> list[Fault]:
    """Faults to one destination in one scenario: longest paths first, their ends not again."""
    row, computed = rows_in(check, to, k, some[0].source)
    paths = {bad.source: follow(check, row, bad.source, to) for bad in some}
    told: dict[tuple[Verdict, int], Fault] = {}
    faults = []
    for bad in sorted(some, key=lambda one: (-len(paths[one.source].brokers), one.source)):
        fault = told.get((bad.verdict, bad.source))
        if fault is None:
            path = paths[bad.source]
            fault = Fault(bad.verdict, path, to, _entries(check, bad, path, row, computed))
            for broker in path.brokers:
                told.setdefault((bad.verdict, broker), fault)
            faults.append(fault)
        fault.pairs.add(bad.pair)
        fault.sources.add(bad.source)
    return faults


def _entries(
    check: Check, bad: Bad, path: Path, row: Ints, computed: Ints
) -> tuple[tuple[int, int], ...]:
    """Hand-made entries on the cycle, else on the path; those first that are not as computed."""
    where = path.loop if bad.verdict in (Verdict.LOOP, Verdict.UTURN) else path.brokers
    number = check.group_of(bad.to, bad.source)
    if not number:
        return ()
    group = check.groups(bad.to)[number - 1]
    found = []
    for broker in where:
        route = _route_at(check, group, bad.scenario, broker)
        if route is not None:
            found.append((int(row[broker]) == int(computed[broker]), broker, route))
    return tuple((broker, route) for _, broker, route in sorted(found, key=lambda one: one[0]))


def _route_at(check: Check, group: Group, k: int, broker: int) -> int | None:
    """The route whose entry a broker follows in a scenario: the last of the group that holds."""
    down = check.scenarios.down(k)
    for i in np.flatnonzero(group.at == broker)[::-1]:
        meant = group.when[i] < 0 or check.failures.meant[group.when[i], k]
        up = group.link[i] not in down.links and group.next[i] not in down.brokers
        if meant and (up or group.route[i] < 0):
            return int(group.route[i])
    return None


def finding_of(check: Check, fault: Fault) -> Finding:
    """A fault in the words of the federation, at the line of the entry that led astray."""
    names = check.graph.names
    source, to = names[fault.path.brokers[0]], names[fault.to]
    topics = matching_topics(check.demand, sorted(fault.pairs))
    k = fault.scenarios[0]
    failure = check.scenarios.name(k)
    way = " > ".join(names[b] for b in fault.path.brokers)
    told = [
        f"{_subject(topics)} from {source} to {to} {_fate_words(check, fault)}"
        + _when(check, fault),
        *([way] if fault.verdict != Verdict.CUT else []),
        *(_entry_words(check, *one) for one in fault.entries[:3]),
    ]
    witness = {
        "from": source,
        "to": to,
        "path": [names[b] for b in fault.path.brokers],
        "loop": [names[b] for b in fault.path.loop],
        "failure": failure,
        "scenarios": len(fault.scenarios),
        "failures": [check.scenarios.name(one) for one in fault.scenarios[:SHOWN]],
        "topics": topics[:SHOWN],
        "topics_total": len(topics),
        "sources": [names[b] for b in sorted(fault.sources)][:SHOWN],
        "entries": [_entry_facts(check, *one) for one in fault.entries],
    }
    where = _where(check, fault, topics)
    severity: Severity = "warning" if _only_documents(check.federation) else "error"
    return Finding(CODES[fault.verdict], "; ".join(told), where, severity, witness)


def _only_documents(federation: Federation) -> bool:
    """Whether only applications were read, of brokers that nobody said are joined."""
    joined = federation.links or federation.bridges
    return not joined and all(one.written for one in federation.topics.values())


def _when(check: Check, fault: Fault) -> str:
    first, others = fault.scenarios[0], len(fault.scenarios) - 1
    also = f" (and in {others} more scenario{'s' if others > 1 else ''})" if others else ""
    return (f" when {check.scenarios.name(first)} is down" if first else "") + also


def _fate_words(check: Check, fault: Fault) -> str:
    """What happens, and of what is dropped or too long also why."""
    hops, last = len(fault.path.brokers) - 1, fault.path.brokers[-1]
    if fault.verdict == Verdict.TOO_LONG:
        return f"takes {hops} hops, and {check.most_hops} are allowed"
    if fault.verdict == Verdict.BLACK_HOLE:
        through_edge = hops and not check.graph.transit[last]
        why = (
            "an edge, which carries no transit"
            if through_edge
            else "which has no entry for it whose link is up"
        )
        return f"is dropped at {check.graph.names[last]}, {why}"
    return fault.verdict.words


def _subject(topics: list[str]) -> str:
    if not topics:
        return "a message"
    more = f" and {len(topics) - 1} more" if len(topics) > 1 else ""
    return f"{topics[0]}{more}"


def entry_where(check: Check, route: int) -> Where:
    """The file and line of a hand-made entry: a route, or below zero a given table's line."""
    if route < 0 and check.table is not None:
        return Where(check.table.source, -1 - route)
    return check.federation.source.where("routes", route)


def _entry_words(check: Check, broker: int, route: int) -> str:
    name = check.graph.names[broker]
    where = entry_where(check, route)
    entry = str(where) if where.line else f"route {route + 1}"
    return f"{name} follows {entry}"


def _entry_facts(check: Check, broker: int, route: int) -> dict[str, object]:
    where = entry_where(check, route)
    return {
        "at": check.graph.names[broker],
        "route": route + 1 if route >= 0 else None,
        "file": where.file,
        "line": where.line,
    }


def _where(check: Check, fault: Fault, topics: list[str]) -> Where:
    if fault.entries:
        return entry_where(check, fault.entries[0][1])
    if check.table is not None:
        return Where(check.table.source)
    if topics:
        return check.federation.where("topics", list(check.federation.topics).index(topics[0]))
    return Where(check.federation.source.file)
