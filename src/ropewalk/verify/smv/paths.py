"""Messages following the tables: where they are depends on where they were going and came from.

Three variables that keep their values, `src`, `dest` and, with failures, `colour`, and one that
moves, `loc`. Location 0 is where messages are that were dropped. Sources matter only where a
hand-made entry tells them apart; colours other than 1 (nothing failed) list what they change.
"""

from collections.abc import Iterator

import numpy as np

from ropewalk.federation.arrays import Bools, Ints
from ropewalk.verify.check import Check
from ropewalk.verify.paths import row_of
from ropewalk.verify.subpaths import select
from ropewalk.verify.verdicts import Verdict


def paths_model(check: Check) -> str:
    """The model of all tables of a check, with its specifications."""
    return "\n".join((*_head(check), *_moves(check), *_specs(check), ""))


def _head(check: Check) -> Iterator[str]:
    names, brokers, colours = check.graph.names, check.graph.brokers, len(check.scenarios)
    yield f"-- {check.federation.name}: {brokers} brokers, {check.graph.links} links"
    yield from (f"--   broker {i} is {name}" for i, name in enumerate(names, start=1))
    if colours > 1:
        yield from (f"--   colour {k + 1} is {check.scenarios.name(k)}" for k in range(colours))
    if check.federation.bridges:
        yield "-- native bridges are not in this model: they flood, and follow no table"
    yield "MODULE main"
    yield "VAR"
    yield f"  src : 1..{brokers};"
    yield f"  dest : 1..{brokers};"
    yield f"  loc : 0..{brokers};"
    if colours > 1:
        yield f"  colour : 1..{colours};"
    yield "ASSIGN"
    yield "  next(src) := src;"
    yield "  next(dest) := dest;"
    if colours > 1:
        yield "  next(colour) := colour;"
    yield "  init(loc) := src;"


def _moves(check: Check) -> Iterator[str]:
    yield "  next(loc) :="
    yield "    case"
    yield "      loc = dest : loc;"
    yield "      loc = 0 : 0;"
    for to in range(check.graph.brokers):
        yield from _row_cases(check, to)
    yield "      TRUE : 0;"
    yield "    esac;"


def _row_cases(check: Check, to: int) -> Iterator[str]:
    """Cases of one destination: what colours change, then what sources change, then the rest."""
    members = _members(check, to)
    rows = [_row(check, to, 0, group) for group in range(len(members))]
    for k in range(1, len(check.scenarios)):
        colour = f"colour = {k + 1} & "
        if to in check.scenarios.down(k).brokers:
            yield f"      {colour}dest = {to + 1} : 0;"
            continue
        plain = _row(check, to, k, 0)
        for group in range(len(members) - 1, 0, -1):
            # What is as without a failure has to be said, too, if other sources' cases follow.
            row = _row(check, to, k, group)
            written = (row != rows[group]) | (row != plain)
            yield from _cases(row, written, to, colour + members[group])
        yield from _cases(plain, plain != rows[0], to, colour)
    for group in range(len(members) - 1, 0, -1):
        yield from _cases(rows[group], rows[group] != rows[0], to, members[group])
    yield from _cases(rows[0], rows[0] >= 0, to, "")


def _row(check: Check, to: int, k: int, group: int) -> Ints:
    """Next hops; an edge drops what is sent through it, so it is as good as nowhere."""
    row = row_of(check, to, k, group)[0]
    through_edge = (row >= 0) & (row != to) & ~check.graph.transit[row]
    return np.where(through_edge, -1, row)


def _cases(row: Ints, written: Bools, to: int, when: str) -> Iterator[str]:
    for u in np.flatnonzero(written).tolist():
        if u != to:
            yield f"      {when}loc = {u + 1} & dest = {to + 1} : {row[u] + 1};"


def _members(check: Check, to: int) -> list[str]:
    """The condition on the source for each group; none for those that are not told apart."""
    conditions = [""]
    for group in check.groups(to):
        sources = np.flatnonzero(np.isin(check.entries.plane, sorted(group.planes)))
        every = len(sources) == check.graph.brokers
        numbers = ", ".join(str(s + 1) for s in sources.tolist())
        conditions.append("" if every else f"src in {{{numbers}}} & ")
    return conditions


def _specs(check: Check) -> Iterator[str]:
    """(5-10) for every path that has to be tested, and (5-12) in a form that holds in general."""
    coloured = len(check.scenarios) > 1
    if not len(check.demand.topic):
        yield f"SPEC {'colour = 1 -> ' if coloured else ''}AF loc = dest"
    elif not coloured:
        yield from (_spec(source, to, "") for source, to in select(check).tested)
    else:
        yield from _coloured_specs(check)
    yield "-- no message goes round for ever: it arrives or is dropped"
    yield "SPEC AF (loc = dest | loc = 0)"


def _coloured_specs(check: Check) -> Iterator[str]:
    """Every pair in every colour that leaves a path, and clients that moved where they are then."""
    cut: dict[tuple[int, int], set[int]] = {}
    moved: set[tuple[int, int, int]] = set()
    counts = np.zeros((len(check.scenarios), len(Verdict)), np.int64)
    for to in check.destinations:
        seen = check.look(to, counts, everything=True)
        rows = (seen.scenario, seen.source, seen.pair, seen.verdict)
        for k, source, pair, verdict in zip(*(one.tolist() for one in rows), strict=True):
            own = (int(check.demand.source[pair]), int(check.demand.to[pair]))
            if own != (source, to):
                if verdict != Verdict.CUT:
                    moved.add((k, source, to))
            elif verdict == Verdict.CUT:
                cut.setdefault(own, set()).add(k)
    dead = [set(check.scenarios.down(k).brokers) for k in range(len(check.scenarios))]
    pairs = zip(check.demand.source.tolist(), check.demand.to.tolist(), strict=True)
    for pair in dict.fromkeys(pairs):
        if 0 in cut.get(pair, ()):
            yield _spec(*pair, " & colour = 1")  # no path even with nothing failed
            continue
        gone = {k for k, brokers in enumerate(dead) if brokers.intersection(pair)}
        without = sorted(gone | cut.get(pair, set()))
        numbers = ", ".join(str(k + 1) for k in without)
        yield _spec(*pair, f" & !(colour in {{{numbers}}})" if without else "")
    for k, source, to in sorted(moved):
        yield _spec(source, to, f" & colour = {k + 1}")


def _spec(source: int, to: int, when: str) -> str:
    s, d = source + 1, to + 1
    arrived = f"AF (src = {s} & dest = {d} & loc = {d})"
    return f"SPEC (src = {s} & dest = {d} & loc = {s}{when}) -> {arrived}"
