"""The smallest change of hand-made entries that makes a fault go away (Jia 2014, 7.2 item 1).

In one row the fewest entries to change are found by a search in which following an entry costs
nothing and changing one costs one. Every proposal is verified before it is made: the fault must be
gone, and nothing else may get worse.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ropewalk.federation.arrays import Bools, Ints
from ropewalk.federation.dump import flow
from ropewalk.federation.facts import Federation, Route
from ropewalk.federation.plain import plain
from ropewalk.federation.source import Source
from ropewalk.findings import Finding
from ropewalk.verify.check import Check
from ropewalk.verify.faults import Fault, finding_of
from ropewalk.verify.paths import rows_in
from ropewalk.verify.result import Verification
from ropewalk.verify.verdicts import BAD, Verdict

if TYPE_CHECKING:
    import pandas as pd

MOST_ROUNDS = 200
UNREACHED = 10**9


@dataclass(frozen=True, slots=True)
class Repair:
    """One proposal: what it changes, for which fault, and how many bad cases are left after it."""

    words: str
    fault: str
    bad_before: int
    bad_after: int


@dataclass(frozen=True, eq=False, repr=False)
class Repaired:
    """All proposals, made one after the other, and what they lead to."""

    repairs: tuple[Repair, ...]
    federation: Federation
    result: Verification
    left: tuple[str, ...]
    """Faults that no change of entries takes away."""

    def __repr__(self) -> str:
        return f"<Repaired: {[one.words for one in self.repairs]}, left: {len(self.left)}>"

    def frame(self) -> "pd.DataFrame":
        """A row per proposal, in the order in which they are made."""
        import pandas as pd

        rows = [(one.words, one.fault, one.bad_before, one.bad_after) for one in self.repairs]
        return pd.DataFrame(rows, columns=["repair", "fault", "bad_before", "bad_after"])

    @property
    def ok(self) -> bool:
        """Whether all is right with the repairs."""
        return self.result.ok

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is left to find with the repairs."""
        return self.result.findings

    @property
    def mended(self) -> bool:
        """Whether no bad case is left."""
        return not _bad(self.result)


@dataclass(frozen=True, slots=True)
class Entry:
    """A table entry as it should be."""

    at: int
    next: int


def repair(result: Verification) -> Repaired:
    """Propose repairs for the faults of a verification, until nothing is left that entries mend."""
    repairs: list[Repair] = []
    hopeless: set[tuple[int, ...]] = set()
    for _ in range(MOST_ROUNDS):
        fault = next((one for one in result.faults if _mendable(one, hopeless)), None)
        if fault is None:
            break
        better = _mended(result, fault)
        if better is None:
            hopeless.add((fault.to, *fault.path.brokers))
            continue
        words, after = better
        told = finding_of(result.check, fault).message
        repairs.append(Repair(words, told, _bad(result), _bad(after)))
        result = after
        hopeless.clear()  # what could not be mended before may be now
    left = tuple(
        finding_of(result.check, one).message for one in result.faults if one.verdict in BAD
    )
    return Repaired(tuple(repairs), result.check.federation, result, left)


def _mendable(fault: Fault, hopeless: set[tuple[int, ...]]) -> bool:
    return fault.verdict in BAD and (fault.to, *fault.path.brokers) not in hopeless


def _bad(result: Verification) -> int:
    return int(result.fates[:, list(BAD)].sum())


def _mended(result: Verification, fault: Fault) -> tuple[str, Verification] | None:
    """Of the proposals that make nothing worse, the one that mends most.

    Of equals it is the one that changes fewest table entries, then the simplest.
    """
    check, best = result.check, None
    least = (_bad(result), 0)
    for words, size, routes in _proposals(check, fault):
        edited = replace(check.federation, routes=tuple(route for _, route in routes))
        lines = [
            check.federation.source.where("routes", r).line if r >= 0 else 0 for r, _ in routes
        ]
        old = check.federation.source
        edited.written_in(Source(old.file, {**old.lines, "routes": lines}))
        after = result.after(edited)
        worse = after.fates[:, Verdict.DELIVERED] < result.fates[:, Verdict.DELIVERED]
        if (_bad(after), size) < least and not worse.any():
            best, least = (words, after), (_bad(after), size)
    return best


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
    round_trip = fault.verdict in (Verdict.LOOP, Verdict.UTURN)
    starts = fault.path.loop if round_trip else fault.path.brokers
    if fault.verdict == Verdict.LEAK:
        starts = starts[:1]
    elif len(starts) > 1 and not check.graph.transit[starts[-1]]:
        starts = starts[:-1]  # the edge that drops what is sent through it does so rightly
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


Numbered = list[tuple[int, Route]]
"""Routes with their numbers so far, -1 for new ones."""


def _proposals(check: Check, fault: Fault) -> Iterator[tuple[str, int, Numbered]]:
    """Changes of the routes that may mend a fault, and how many table entries each changes.

    A route on the bad path is dropped, or corrected if it stands for one entry; or entries of
    their own are put before it: the fewest that make messages arrive.
    """
    routes: Numbered = list(enumerate(check.federation.routes))
    entries = _fewest(check, fault)
    wanted = {entry.at: entry.next for entry in entries}
    for broker, r in dict(fault.entries).items():
        if r < 0:
            continue
        yield f"drop {_called(check, r)}", _reach(check, r), [*routes[:r], *routes[r + 1 :]]
        route = routes[r][1]
        if "*" not in route.at and "*" not in route.to and broker in wanted:
            better = replace(route, next=check.graph.names[wanted[broker]])
            words = f"{_called(check, r)}: next: {better.next}"
            yield words, 1, [*routes[:r], (r, better), *routes[r + 1 :]]
    for source in ("*", check.graph.names[fault.path.brokers[0]]) if entries else ():
        yield _inserted(check, fault, entries, source)


def _inserted(
    check: Check, fault: Fault, entries: list[Entry], source: str
) -> tuple[str, int, Numbered]:
    """New entries before the routes that they overrule."""
    routes: Numbered = list(enumerate(check.federation.routes))
    names, k, by_broker = check.graph.names, fault.scenarios[0], dict(fault.entries)
    words = []
    for entry in entries:
        r = by_broker.get(entry.at, -1)
        colours: tuple[str, ...] = (check.scenarios.name(k),) if k else ()
        if not k and r >= 0:
            colours = check.federation.routes[r].colours
        new = Route(
            at=names[entry.at],
            from_=source,
            to=names[fault.to],
            next=names[entry.next],
            colours=colours,
        )
        words.append(f"add {_shown(new)}" + (f" before {_called(check, r)}" if r >= 0 else ""))
        place = next((i for i, (number, _) in enumerate(routes) if number == r), 0)
        routes.insert(place, (-1, new))
    return "; ".join(words), len(entries), routes


def _reach(check: Check, r: int) -> int:
    """How many table entries a route stands for."""
    destinations = sum(r in routes for routes in check.entries.by_destination)
    return destinations * len(check.entries.at(r))


def _shown(route: Route) -> str:
    return flow(plain(route))


def _called(check: Check, route: int) -> str:
    """A route by its line where it has one."""
    where = check.federation.source.where("routes", route)
    return f"the route at {where}" if where.line else f"route {route + 1}"
