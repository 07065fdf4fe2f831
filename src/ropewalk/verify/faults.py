"""What goes wrong, as few findings as tell it all: one per longest bad path.

A bad path that is the end of a longer one to the same destination is told with that one, and the
same path in several scenarios once, with the smallest of them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np

from ropewalk.federation.arrays import Ints
from ropewalk.findings import Finding, Where
from ropewalk.verify.check import Check, Seen
from ropewalk.verify.demand import matching_topics
from ropewalk.verify.paths import Path, follow, rows_in
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
    """Hand-made entries on it that matter, as (broker, route)."""
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
    found: dict[tuple[Verdict, tuple[int, ...]], Fault] = {}
    plane = check.entries.plane
    records = sorted(records, key=lambda bad: (bad.scenario, bad.to, int(plane[bad.source])))
    rows = groupby(records, lambda bad: (bad.scenario, bad.to, int(plane[bad.source])))
    for number, (key, some) in enumerate(rows):
        if number >= MOST_ROWS:
            return list(found.values()), False
        for fault in _in_one_row(check, key[1], key[0], list(some)):
            known = found.setdefault((fault.verdict, fault.path.brokers), fault)
            known.scenarios.append(key[0])
            known.pairs |= fault.pairs
            known.sources |= fault.sources
    return list(found.values()), True


def _in_one_row(check: Check, to: int, k: int, some: list[Bad]) -> Iterator[Fault]:
    """Faults to one destination in one scenario: longest paths first, their ends not again."""
    row, computed = rows_in(check, to, k, some[0].source)
    paths = {bad.source: follow(check, row, bad.source, to) for bad in some}
    told: dict[tuple[Verdict, int], Fault] = {}
    for bad in sorted(some, key=lambda one: (-len(paths[one.source].brokers), one.source)):
        fault = told.get((bad.verdict, bad.source))
        if fault is None:
            path = paths[bad.source]
            entries = _entries(check, to, bad, path, row, computed)
            fault = Fault(bad.verdict, path, to, entries)
            for broker in path.brokers:
                told.setdefault((bad.verdict, broker), fault)
            yield fault
        fault.pairs.add(bad.pair)
        fault.sources.add(bad.source)


def _entries(
    check: Check, to: int, bad: Bad, path: Path, row: Ints, computed: Ints
) -> tuple[tuple[int, int], ...]:
    """Hand-made entries that led astray: those of the cycle, else those of the path."""
    where = path.loop if bad.verdict in (Verdict.LOOP, Verdict.UTURN) else path.brokers[:-1]
    number = check.group_of(to, bad.source)
    if not number:
        return ()
    group = check.groups(to)[number - 1]
    found = []
    for broker in where:
        hop = int(row[broker])
        at = np.flatnonzero((group.at == broker) & (group.next == hop))
        if len(at) and (hop != computed[broker] or check.table is not None):
            found.append((broker, int(group.route[at[-1]])))
    return tuple(found)


def finding_of(check: Check, fault: Fault) -> Finding:
    """A fault in the words of the federation, at the line of the entry that led astray."""
    names = check.graph.names
    source, to = names[fault.path.brokers[0]], names[fault.to]
    topics = matching_topics(check.demand, sorted(fault.pairs))
    k = fault.scenarios[0]
    failure = check.scenarios.name(k)
    when = f" when {failure} is down" if k else ""
    way = " > ".join(names[b] for b in fault.path.brokers)
    told = [
        f"{_subject(topics)} from {source} to {to} {fault.verdict.words}{when}",
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
    return Finding(CODES[fault.verdict], "; ".join(told), where, "error", witness)


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
    return f"{name} follows route {route + 1} ({where})" if route >= 0 else f"{name}: {where}"


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
        return check.federation.source.where(
            "topics", list(check.federation.topics).index(topics[0])
        )
    return Where(check.federation.source.file)
