"""The smallest change of hand-made entries that makes a fault go away (Jia 2014, 7.2 item 1).

In one row the fewest entries to change are found by a search in which following an entry costs
nothing and changing one costs one. Every proposal is verified before it is made: the fault must be
gone, and nothing else may get worse.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ropewalk.federation.arrays import Bools, Ints
from ropewalk.federation.facts import Federation, Route
from ropewalk.verify.check import Check
from ropewalk.verify.faults import Fault, finding_of
from ropewalk.verify.paths import rows_in
from ropewalk.verify.result import Verification
from ropewalk.verify.verdicts import BAD, Verdict

MOST_ROUNDS = 200
UNREACHED = 10**9


@dataclass(frozen=True, slots=True)
class Repair:
    """One proposal: what it changes, for which fault, and how many bad cases are left after it."""

    words: str
    fault: str
    bad_before: int
    bad_after: int


@dataclass(frozen=True, eq=False)
class Repaired:
    """All proposals, made one after the other, and what they lead to."""

    repairs: tuple[Repair, ...]
    federation: Federation
    result: Verification
    left: tuple[str, ...]
    """Faults that no change of entries takes away."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A table entry as it should be."""

    at: int
    next: int


def repair(result: Verification) -> Repaired:
    """Propose repairs for the faults of a verification, until nothing is left that entries mend."""
    repairs: list[Repair] = []
    hopeless: dict[tuple[int, ...], str] = {}
    for _ in range(MOST_ROUNDS):
        fault = next((one for one in result.faults if _mendable(one, hopeless)), None)
        if fault is None:
            break
        better = _mended(result, fault)
        if better is None:
            hopeless[fault.path.brokers] = finding_of(result.check, fault).message
            continue
        words, after = better
        told = finding_of(result.check, fault).message
        repairs.append(Repair(words, told, _bad(result), _bad(after)))
        result = after
    left = tuple(hopeless.values())
    return Repaired(tuple(repairs), result.check.federation, result, left)


def _mendable(fault: Fault, hopeless: dict[tuple[int, ...], str]) -> bool:
    return fault.verdict in BAD and fault.path.brokers not in hopeless


def _bad(result: Verification) -> int:
    return int(result.fates[:, list(BAD)].sum())


def _mended(result: Verification, fault: Fault) -> tuple[str, Verification] | None:
    """The first proposal that takes the fault away and makes nothing worse."""
    check = result.check
    entries = _fewest(check, fault)
    if not entries:
        return None
    for words, routes in _proposals(check, fault, entries):
        after = result.after(replace(check.federation, routes=routes))
        worse = after.fates[:, Verdict.DELIVERED] < result.fates[:, Verdict.DELIVERED]
        if _bad(after) < _bad(result) and not worse.any():
            after.check.federation.written_in(check.federation.source)
            return words, after
    return None


def _fewest(check: Check, fault: Fault) -> list[Entry]:
    """The fewest entries to change so that the fault's messages arrive."""
    k, to = fault.scenarios[0], fault.to
    row, computed = rows_in(check, to, k, fault.path.brokers[0])
    allowed = np.ones(check.graph.brokers, np.bool_)
    if fault.verdict == Verdict.LEAK:
        allowed = check.graph.domain == check.graph.domain[to]
    handmade = {broker for broker, _ in fault.entries}
    if fault.verdict == Verdict.TOO_LONG:
        return [Entry(u, int(computed[u])) for u in sorted(handmade)]
    changes, via = _plan(check, to, k, row, computed, allowed)
    brokers = fault.path.brokers
    starts = brokers[:1] if fault.verdict == Verdict.LEAK else fault.path.loop or brokers
    start = min(starts, key=lambda u: (changes[u], u not in handmade, u))
    return _walk(to, start, row, changes, via)


def _arcs(check: Check, k: int, u: int) -> Iterator[int]:
    """Neighbours of u over links that are up, ascending."""
    down = check.scenarios.down(k)
    graph = check.graph
    for arc in range(graph.first[u], graph.first[u + 1]):
        if int(graph.link[arc]) not in down.links and int(graph.neighbour[arc]) not in down.brokers:
            yield int(graph.neighbour[arc])


def _plan(
    check: Check, to: int, k: int, row: Ints, computed: Ints, allowed: Bools
) -> tuple[list[int], list[int]]:
    """For messages at each broker to arrive: how many entries have to change, and the next hop."""
    changes = [UNREACHED] * check.graph.brokers
    via = [to] * check.graph.brokers
    changes[to] = 0
    waiting = deque([to])
    while waiting:
        v = waiting.popleft()
        if v != to and not check.graph.transit[v]:
            continue
        for u in _arcs(check, k, v):
            need = changes[v] + (int(row[u]) != v)
            tie = need == changes[u] and int(computed[u]) == v and int(row[u]) != v
            if u == to or not allowed[u] or need > changes[u]:
                continue
            if need < changes[u]:
                (waiting.appendleft if int(row[u]) == v else waiting.append)(u)
            if need < changes[u] or (tie and changes[via[u]] == changes[v]):
                changes[u], via[u] = need, v
    return changes, via


def _walk(to: int, start: int, row: Ints, changes: list[int], via: list[int]) -> list[Entry]:
    """The entries to change on the way from a broker."""
    entries: list[Entry] = []
    u = start
    while u != to and changes[u] < UNREACHED:
        if via[u] != int(row[u]):
            entries.append(Entry(u, via[u]))
        u = via[u]
    return entries if u == to else []


def _proposals(
    check: Check, fault: Fault, entries: list[Entry]
) -> Iterator[tuple[str, tuple[Route, ...]]]:
    """Changes of the file's routes that give these entries, the simplest first.

    A route that stands for one entry is dropped or corrected; before one with wildcards, an entry
    of its own is put.
    """
    routes = check.federation.routes
    by_broker = dict(fault.entries)
    simple = [_is_single(check, routes[r]) for r in by_broker.values() if r >= 0]
    if len(entries) == 1 and entries[0].at in by_broker and all(simple):
        entry, r = entries[0], by_broker[entries[0].at]
        yield f"drop route {r + 1} ({_line(check, r)})", (*routes[:r], *routes[r + 1 :])
        better = replace(routes[r], next=check.graph.names[entry.next])
        words = f"route {r + 1} ({_line(check, r)}): next: {better.next}"
        yield words, (*routes[:r], better, *routes[r + 1 :])
    for source in ("*", check.graph.names[fault.path.brokers[0]]):
        yield _inserted(check, fault, entries, source)


def _inserted(
    check: Check, fault: Fault, entries: list[Entry], source: str
) -> tuple[str, tuple[Route, ...]]:
    routes = list(check.federation.routes)
    names, k = check.graph.names, fault.scenarios[0]
    by_broker = dict(fault.entries)
    words = []
    for entry in entries:
        r = by_broker.get(entry.at, -1)
        colours: tuple[str, ...] = (check.scenarios.name(k),) if k else ()
        if not k and r >= 0:
            colours = routes[r].colours
        new = Route(
            at=names[entry.at],
            from_=source,
            to=names[fault.to],
            next=names[entry.next],
            colours=colours,
        )
        before = f" before route {r + 1} ({_line(check, r)})" if r >= 0 else ""
        words.append(f"add {_shown(new)}{before}")
        routes.insert(max(r, 0), new)
        by_broker = {b: (one + 1 if one >= max(r, 0) else one) for b, one in by_broker.items()}
    return "; ".join(words), tuple(routes)


def _shown(route: Route) -> str:
    source = f", from: {route.from_}" if route.from_ != "*" else ""
    colours = f", colours: [{', '.join(route.colours)}]" if route.colours else ""
    return f"{{at: {route.at}{source}, to: {route.to}, next: {route.next}{colours}}}"


def _is_single(check: Check, route: Route) -> bool:
    del check
    return "*" not in route.at and "*" not in route.to


def _line(check: Check, route: int) -> str:
    return str(check.federation.source.where("routes", route))
