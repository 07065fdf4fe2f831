"""Where both of two roles may speak: do their words cross harmlessly, and can a rift be mended?

Peers that speak at once each hear the other late. If both orders are allowed and lead to the same
state, no harm is done. If they lead to different states, the two disagree from then on: a *rift*.
A messenger notices it at the first message that crossed, and mends it where one side's next words
lead from every state that the conversation may be in to one and the same (figure 5).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

from ropewalk.protocol.automaton import Automaton

MOST_SETS = 2_000
"""Sets of states that are tried to find words that mend."""

States = frozenset[int]


@dataclass(frozen=True, slots=True)
class Rift:
    """Two peers in different states, and what mends it."""

    states: States
    """Where the conversation may be, seen from either side or from above."""
    speaker: int
    """The role that may go on; the other waits until it has."""
    start: int
    """Where the peers still agreed."""
    words: tuple[int, ...]
    """What the speaker said from there on, not knowing of the other's letter."""
    letter: int
    """The other's letter that crossed them."""


class Met(NamedTuple):
    """A letter that does not agree with what a role has said itself, as that role sees it."""

    role: int
    theirs: int
    """The other side's letter."""
    base: int
    """Where the other side was when it said it."""
    ours: tuple[int, ...]
    """What the role had said and the other had not heard by then."""
    waited: bool
    """Whether it has had nothing more to say since the last of these."""


class Crossings:
    """Crossings of one protocol between two roles."""

    def __init__(self, automaton: Automaton) -> None:
        self.automaton, self.rows = automaton, automaton.rows
        self._own = (automaton.said_by(0), automaton.said_by(1))
        self.mendable = lru_cache(4_096)(self._mendable)

    def harmless(self) -> bool:
        """Whether all crossings everywhere lead to the same state in both orders."""
        return next(self.bad(), None) is None

    def bad(self) -> Iterator[tuple[int, int, int]]:
        """States, with a letter of each role, from which the two orders do not lead to one state.

        Those that the conversation reaches first come first.
        """
        for state in self.automaton.reached([self.automaton.initial]):
            for a, b in self.pairs(state):
                x, y = self.both_ways(state, a, b)
                if x < 0 or x != y:
                    yield state, a, b

    def pairs(self, state: int) -> Iterator[tuple[int, int]]:
        """Letters of the first and of the second role that are both allowed at a state."""
        row = self.rows[state]
        theirs = [b for b in self._own[1] if row[b] >= 0]
        for a in self._own[0] if theirs else ():
            if row[a] >= 0:
                for b in theirs:
                    yield a, b

    # --- rifts ------------------------------------------------------------------------------

    def rift(self, met: Met) -> Rift | None:
        """What mends the rift that a letter shows; None if nothing does.

        One side must have said one letter only that matters, and must have had nothing more to say
        before it could learn of the other's: then both know for certain what was said. The other
        side may go on.
        """
        rows, base, apart = self.rows, met.base, 0
        while apart < len(met.ours):
            ends = self.both_ways(base, met.theirs, met.ours[apart])
            if ends[0] < 0 or ends[0] != ends[1]:
                break
            base, apart = rows[base][met.ours[apart]], apart + 1
        words = met.ours[apart:]
        if not words:
            return None
        for speaker in (0, 1):
            if speaker == met.role:
                waits = self._waits(1 - speaker, rows[met.base][met.theirs], met.ours[: apart + 1])
                found = Rift(frozenset(), speaker, base, words, met.theirs)
            else:
                waits = len(words) == 1 and met.waited
                found = Rift(frozenset(), speaker, base, (met.theirs,), words[0])
            states = self.shuffled(base, found.words, found.letter) if waits else None
            if states is not None and self.mendable(states, speaker):
                return replace(found, states=states)
        return None

    def both_ways(self, state: int, one: int, other: int) -> tuple[int, int]:
        """The states after one, other and after other, one; -1 where it is not allowed."""
        rows = self.rows
        first, second = rows[state][one], rows[state][other]
        return (rows[first][other] if first >= 0 else -1), (
            rows[second][one] if second >= 0 else -1
        )

    def _waits(self, role: int, at: int, hears: tuple[int, ...]) -> bool:
        """Whether a role has nothing to say from a state on, until it has heard all of these."""
        for letter in hears:
            if at < 0 or self.speaks(role, at):
                return False
            at = self.rows[at][letter]
        return True

    def speaks(self, role: int, state: int) -> bool:
        """Whether a role may say anything at a state."""
        return any(self.rows[state][letter] >= 0 for letter in self._own[role])

    def waits_before(self, state: int, letter: int) -> bool:
        """Whether who says a letter here always waits then, also if the other spoke before.

        What the other said before, and what commutes with the letter, was not heard either: it may
        have been said from an earlier state.
        """
        who = self.automaton.letters[letter].sender
        seen, edge = {state}, [state]
        for here in edge:
            if self.speaks(who, self.rows[here][letter]):
                return False
            for before, word in self._back[here]:
                if word not in self._own[1 - who] or before in seen:
                    continue
                ends = self.both_ways(before, letter, word)
                if ends[0] >= 0 and ends[0] == ends[1] and before in self.automaton.reachable:
                    seen.add(before)
                    edge.append(before)
        return True

    @cached_property
    def _back(self) -> dict[int, list[tuple[int, int]]]:
        back: dict[int, list[tuple[int, int]]] = {state: [] for state in range(len(self.rows))}
        for state, row in enumerate(self.rows):
            for letter, to in enumerate(row):
                if to >= 0:
                    back[to].append((state, letter))
        return back

    def after(self, rift: Rift, letter: int, *, heard: bool) -> Rift | None:
        """The rift after a further letter of the speaker, said with or without knowing the other's.

        None if nothing mends it any more.
        """
        states = {self.rows[state][letter] for state in rift.states}
        words = rift.words if heard else (*rift.words, letter)
        if not heard:
            late = self.automaton.walk((*words, rift.letter), rift.start)
            states.add(late)
        if -1 in states or not self.mendable(frozenset(states), rift.speaker):
            return None
        return Rift(frozenset(states), rift.speaker, rift.start, words, rift.letter)

    def shuffled(self, start: int, words: tuple[int, ...], letter: int) -> States | None:
        """Ends of all orders in which a letter and words can follow each other; None if illegal."""
        walk = self.automaton.walk
        ends = frozenset(
            walk((*words[:i], letter, *words[i:]), start) for i in range(len(words) + 1)
        )
        return None if -1 in ends else ends

    def _mendable(self, states: States, speaker: int) -> bool:
        """Whether words of the speaker lead from all these states to one."""
        seen, edge = {states}, [states]
        for some in edge:
            if len(some) == 1:
                return True
            for letter in self._own[speaker]:
                to = frozenset(self.rows[state][letter] for state in some)
                if -1 not in to and to not in seen:
                    seen.add(to)
                    edge.append(to)
            if len(seen) > MOST_SETS:
                return False
        return False
