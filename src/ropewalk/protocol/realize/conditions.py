"""Conditions under which any number of roles keep to a protocol; sound, not complete.

If all of them hold, every order of sends that first-in-first-out channels allow is legal, by
induction over the trace: what a role says is allowed after what it knows of (3), stays allowed by
what others say meanwhile (1), and did not become allowed by what it has not heard of (2); what it
hears leads it to one view, in whatever order it comes from several roles (4).

1. Letters of different senders that are both allowed at a state commute there.
2. Nothing becomes allowed by a letter that its sender takes no part in.
3. In a view of a role, all states allow it to say the same.
4. Letters of different senders that a view can hear commute in the role's views.
"""

from collections.abc import Iterator
from itertools import combinations

from ropewalk.protocol.automaton import Automaton
from ropewalk.protocol.views import View, Views

MOST_VIEWS = 20_000


def unmet(automaton: Automaton) -> Iterator[str]:
    """What is not met, one condition at a time, each with a place where."""
    yield from _commute(automaton)
    yield from _caused(automaton)
    for role in range(len(automaton.roles)):
        yield from _views(automaton, Views(automaton, role))


def _commute(automaton: Automaton) -> Iterator[str]:
    rows, letters = automaton.rows, automaton.letters
    for state in sorted(automaton.reachable):
        allowed = [i for i, to in enumerate(rows[state]) if to >= 0]
        for a, b in combinations(allowed, 2):
            if letters[a].sender == letters[b].sender:
                continue
            one, other = rows[rows[state][a]][b], rows[rows[state][b]][a]
            if one < 0 or one != other:
                yield (
                    f"in {automaton.states[state]!r}, {_who(automaton, a)} and"
                    f" {_who(automaton, b)} are both allowed and do not commute"
                )


def _caused(automaton: Automaton) -> Iterator[str]:
    rows, letters = automaton.rows, automaton.letters
    for state in sorted(automaton.reachable):
        for a, to in enumerate(rows[state]):
            if to < 0:
                continue
            there = (letters[a].sender, letters[a].receiver)
            for b, then in enumerate(rows[to]):
                if then >= 0 and rows[state][b] < 0 and letters[b].sender not in there:
                    yield (
                        f"after {automaton.states[state]!r}, {_who(automaton, b)} is allowed by"
                        f" {_who(automaton, a)}, which it does not see"
                    )


def _views(automaton: Automaton, views: Views) -> Iterator[str]:
    rows, letters, role = automaton.rows, automaton.letters, views.role
    name = automaton.roles[role]
    own = automaton.said_by(role)
    seen: set[View] = {views.start}
    edge = [views.start]
    for view in edge:
        says = {state: [i for i in own if rows[state][i] >= 0] for state in view}
        if len({tuple(some) for some in says.values()}) > 1:
            where = " or ".join(automaton.states[state] for state in sorted(view))
            yield f"{name} cannot tell {where} apart, and may say different things there"
        heard = [i for i in views.allows(view) if letters[i].receiver == role]
        for a, b in combinations(heard, 2):
            if letters[a].sender != letters[b].sender and not _alike(views, view, a, b):
                yield f"{name} may hear {_who(automaton, a)} and {_who(automaton, b)} in any order"
        for letter in views.allows(view):
            to = views.step(view, letter)
            if to is not None and to not in seen:
                seen.add(to)
                edge.append(to)
        if len(seen) > MOST_VIEWS:
            yield f"{name} has too many views to look at them all"
            return


def _alike(views: Views, view: View, a: int, b: int) -> bool:
    one, other = views.step(view, a), views.step(view, b)
    if one is None or other is None:
        return False
    ends = views.step(one, b), views.step(other, a)
    return ends[0] is not None and ends[0] == ends[1]


def _who(automaton: Automaton, letter: int) -> str:
    one = automaton.letters[letter]
    return f"{automaton.roles[one.sender]}'s {one.name}"
