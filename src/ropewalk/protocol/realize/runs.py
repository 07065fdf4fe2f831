"""Runs of a protocol among its roles: who did what, and what each of them saw."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ropewalk.protocol.automaton import NOBODY, Automaton
from ropewalk.protocol.views import View

SAYS, HEARS = 0, 1


@dataclass(frozen=True, slots=True)
class Move:
    """A role says a letter, or hears it."""

    kind: int
    role: int
    letter: int


@dataclass(frozen=True, slots=True)
class Run:
    """A run from the start, with what came of it."""

    automaton: Automaton
    moves: tuple[Move, ...]
    views: tuple[View, ...]
    """What each role believes at its end."""
    why: str
    """What is wrong with it."""

    @property
    def said(self) -> tuple[int, ...]:
        """The letters in the order in which they were said."""
        return tuple(one.letter for one in self.moves if one.kind == SAYS)

    @property
    def trace(self) -> list[str]:
        """The same by name."""
        return [self.automaton.letters[letter].name for letter in self.said]

    def way(self, role: int) -> list[str]:
        """What a role did, step by step."""
        return [_words(self.automaton, one) for one in self.moves if one.role == role]

    def steps(self) -> list[str]:
        """What happened, in order."""
        roles = self.automaton.roles
        return [f"{roles[one.role]} {_words(self.automaton, one)}" for one in self.moves]

    def witness(self) -> dict[str, Any]:
        """For reports and programs: the trace, and every role's own way and belief."""
        automaton = self.automaton
        return {
            "trace": self.trace,
            "steps": self.steps(),
            "views": {
                role: {
                    "way": self.way(number),
                    "believes": [automaton.states[state] for state in sorted(self.views[number])],
                }
                for number, role in enumerate(automaton.roles)
            },
            "why": self.why,
        }


def _words(automaton: Automaton, move: Move) -> str:
    letter = automaton.letters[move.letter]
    if letter.receiver == NOBODY:
        return "times out"
    return f"{'says' if move.kind == SAYS else 'hears'} {letter.name}"


def in_step(automaton: Automaton, letters: Sequence[int]) -> list[Move]:
    """Letters said one after the other, each heard at once."""
    found = []
    for letter in letters:
        one = automaton.letters[letter]
        found.append(Move(SAYS, one.sender, letter))
        if one.receiver != NOBODY:
            found.append(Move(HEARS, one.receiver, letter))
    return found


class Ways:
    """To every reachable state the shortest letters that lead there."""

    def __init__(self, automaton: Automaton) -> None:
        self._came = {automaton.initial: (-1, -1)}
        self.length = {automaton.initial: 0}
        """By state, nearest states first."""
        edge = [automaton.initial]
        for state in edge:  # grows while it is read
            for letter, to in enumerate(automaton.rows[state]):
                if to >= 0 and to not in self._came:
                    self._came[to] = state, letter
                    self.length[to] = self.length[state] + 1
                    edge.append(to)

    def to(self, state: int) -> tuple[int, ...]:
        """The letters."""
        found = []
        state, letter = self._came[state]
        while letter >= 0:
            found.append(letter)
            state, letter = self._came[state]
        return tuple(reversed(found))
