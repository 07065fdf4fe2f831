"""Words that cross: what goes wrong before anybody has heard anything.

Two peers agree on a state, and both go on speaking without hearing. Some order of their words may
not be allowed, and then no messenger can help: all was said before it could learn anything. Where
that cannot happen, a messenger keeps every trace legal: it goes on only from a state that all
orders of what has crossed lead to, or with words that are allowed in all of them.
"""

from dataclasses import dataclass

from ropewalk.protocol.automaton import NOBODY, Automaton
from ropewalk.protocol.crossing import Crossings, States
from ropewalk.protocol.realize.runs import HEARS, SAYS, Move, Run, Ways, in_step

MOST = 1_000_000
"""Situations that are looked at."""

Three = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Clash:
    """A state from which two roles speak at once, and what comes of it."""

    state: int
    run: Run


def clash_of(automaton: Automaton, crossings: Crossings) -> Clash | None:
    """The shortest words of two roles that are not allowed in some order; None if there are none.

    Raises OverflowError if it cannot be told.
    """
    ways, best = Ways(automaton), None
    looked = 0
    for state, length in ways.length.items():
        if best is not None and length + 2 > len(best.run.said):
            break
        if next(crossings.pairs(state), None) is None:
            continue
        found, count = _from(automaton, state)
        looked += count
        if looked > MOST:
            raise OverflowError
        if found is not None and (best is None or length + len(found) < len(best.run.said)):
            best = Clash(state, _run(automaton, ways.to(state), found, state))
    return best


def _from(automaton: Automaton, state: int) -> tuple[tuple[int, ...] | None, int]:
    """Letters that both say from a state, hearing nothing, of which the last is not allowed."""
    rows, own = automaton.rows, (automaton.said_by(0), automaton.said_by(1))
    start: Three = (state, state, state)
    said: dict[Three, tuple[int, ...]] = {start: ()}
    edge = [start]
    for here in edge:
        for role in (0, 1):
            row, above = rows[here[role]], rows[here[2]]
            for letter in own[role]:
                if row[letter] < 0:
                    continue
                if above[letter] < 0:
                    return (*said[here], letter), len(said)
                at = (row[letter], here[1]) if role == 0 else (here[0], row[letter])
                to = (*at, above[letter])
                if to not in said:
                    said[to] = (*said[here], letter)
                    edge.append(to)
        if len(said) > MOST:
            break
    return None, len(said)


def _run(automaton: Automaton, way: tuple[int, ...], words: tuple[int, ...], state: int) -> Run:
    letters = automaton.letters
    moves = [*in_step(automaton, way), *(Move(SAYS, letters[one].sender, one) for one in words)]
    views = tuple(
        frozenset([automaton.walk([one for one in words if letters[one].sender == role], state)])
        for role in (0, 1)
    )
    return Run(automaton, tuple(moves), views, "the last is not allowed")


def unmended(automaton: Automaton, crossings: Crossings) -> Clash | None:
    """A crossing at which a messenger has to break off; None if it mends every rift.

    Of words that cross, one side's is a single letter behind which it has to wait; the other may
    have said more. What it said is followed as the states that any order of it may lead to.
    """
    ways = Ways(automaton)
    for state, a, b in crossings.bad():
        if not _mended(automaton, crossings, state, a, b):
            return Clash(state, _crossed(automaton, ways.to(state), state, a, b))
    return None


def _crossed(automaton: Automaton, way: tuple[int, ...], state: int, a: int, b: int) -> Run:
    """Both say a letter, and then each hears the other's; a deadline is heard by nobody."""
    letters = automaton.letters
    moves = [*in_step(automaton, way), *(Move(SAYS, letters[one].sender, one) for one in (a, b))]
    ways = [[a], [b]]
    for role, letter in ((0, b), (1, a)):
        if letters[letter].receiver != NOBODY:
            moves.append(Move(HEARS, role, letter))
            ways[role].append(letter)
    views = tuple(frozenset([automaton.walk(one, state)]) for one in ways)
    return Run(automaton, tuple(moves), views, "both spoke at once, and disagree for good")


def _mended(automaton: Automaton, crossings: Crossings, state: int, a: int, b: int) -> bool:
    """Whether a crossing is mended, whatever was said before it or is added by who may go on."""
    return any(
        crossings.waits_before(state, letter)
        and _mended_by(automaton, crossings, speaker, state, word, letter)
        for speaker, word, letter in ((0, a, b), (1, b, a))
    )


def _mended_by(
    automaton: Automaton, crossings: Crossings, speaker: int, state: int, word: int, letter: int
) -> bool:
    """Whether a speaker mends it, however much it said before it hears of the other's letter."""
    rows, own = automaton.rows, automaton.said_by(speaker)
    first = crossings.shuffled(state, (word,), letter)
    if first is None or not crossings.mendable(first, speaker):
        return False
    seen: set[tuple[int, States]] = {(rows[state][word], first)}
    edge = list(seen)
    for at, states in edge:
        for more in own:
            to = rows[at][more]
            if to < 0:
                continue
            ends = frozenset([rows[to][letter], *(rows[one][more] for one in states)])
            if -1 in ends or not crossings.mendable(ends, speaker):
                return False
            if (to, ends) not in seen:
                seen.add((to, ends))
                edge.append((to, ends))
    return True
