"""A verification after an edit: only the destinations that the edit touches are looked at again.

What those destinations had counted before is counted once more and taken off, so nothing has to
be kept for every destination.
"""

from dataclasses import replace

import numpy as np

from ropewalk.federation.facts import Federation, Route
from ropewalk.routing.entries import Entries, entries_of
from ropewalk.verify.check import Check, Sight
from ropewalk.verify.result import Verification, verify

SAME = ("brokers", "links", "domains", "topics", "bridges", "requirements", "risk_groups", "sites")


def again(old: Verification, federation: Federation) -> Verification:
    """The verification of a federation that differs from the old one, by as little work as can be.

    If more than its routes differs, everything is looked at.
    """
    check = old.check
    kept = all(_same(getattr(check.federation, s), getattr(federation, s)) for s in SAME)
    ground = federation.underlay == check.federation.underlay
    if not kept or not ground or not old.decided or federation.bridges:
        asked = old.asked
        return verify(
            federation,
            failures=asked.failures,
            pairs=asked.pairs,
            topics=asked.topics,
            table=check.table,
            most_hops=check.most_hops,
            strict=old.strict,
        )
    for array in ("graph", "topic_table"):  # the same facts: the same arrays
        vars(federation)[array] = getattr(check.federation, array)
    entries = entries_of(federation)
    touched = _touched(check, entries, federation)
    new = replace(check, federation=federation, entries=entries)
    for shared in ("net", "moves", "first_move", "destinations"):
        vars(new)[shared] = getattr(check, shared)
    before, after = check.look_at(touched), new.look_at(touched)
    gone = set(touched)
    sight = Sight(
        old.sight.counts - before.counts + after.counts,
        [*(seen for seen in old.sight.seen if seen.to not in gone), *after.seen],
        old.sight.tested - before.tested + after.tested,
    )
    return replace(old, check=new, sight=sight)


def _same(one: object, other: object) -> bool:
    """Equal, and in the same order: a broker's place in the file is its number."""
    if one is other:
        return True
    ordered = not isinstance(one, dict) or not isinstance(other, dict) or [*one] == [*other]
    return one == other and ordered


def _touched(check: Check, entries: Entries, federation: Federation) -> list[int]:
    """Destinations with another list of routes, or all if sources are told apart otherwise."""
    wanted = check.destinations
    if not np.array_equal(entries.plane, check.entries.plane):
        return wanted
    old, new = check.federation.routes, federation.routes

    def spoken(made: Entries, routes: tuple[Route, ...], to: int) -> list[Route]:
        return [routes[r] for r in made.by_destination[to]]

    return [
        to
        for to in wanted
        if (check.entries.by_destination[to] or entries.by_destination[to])
        and spoken(check.entries, old, to) != spoken(entries, new, to)
    ]
