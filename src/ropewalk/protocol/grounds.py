"""What all conversations of one protocol have in common, computed when it is first asked for."""

from dataclasses import dataclass
from functools import cached_property

from ropewalk.protocol.automaton import Automaton
from ropewalk.protocol.convergence import BUDGET, Convergence
from ropewalk.protocol.crossing import Crossings
from ropewalk.protocol.realize.explore import explore
from ropewalk.protocol.views import Views

MOST_EXPLORED = 20_000
"""Situations that are looked at before a conversation begins."""


@dataclass(frozen=True)
class Grounds:
    """A protocol and what was found out about it."""

    automaton: Automaton
    budget: int = BUDGET

    def prepare(self) -> None:
        """Find everything out now, and load the kernels if they will be needed."""
        if len(self.automaton.roles) == 2 and not self.settles and not self.free:
            for letter, to in enumerate(self.automaton.rows[self.automaton.initial]):
                if to >= 0:
                    self.convergence.certain(self.automaton.initial, [letter], to)

    @cached_property
    def convergence(self) -> Convergence:
        """Definition 8."""
        return Convergence(self.automaton, budget=self.budget)

    @cached_property
    def crossings(self) -> Crossings:
        """Where both of two roles may speak."""
        return Crossings(self.automaton)

    @cached_property
    def free(self) -> bool:
        """Whether any two letters commute, whoever says them: then all that is allowed is right."""
        return self.convergence.confluent and self.crossings.harmless()

    @cached_property
    def settles(self) -> bool:
        """Whether crossings that lead apart always come together again by themselves.

        Then the order in which each side speaks is all that has to be kept.
        """
        if len(self.automaton.roles) != 2 or self.automaton.deadlines or self.crossings.harmless():
            return False
        found = explore(self.automaton, most=MOST_EXPLORED)
        bad = found.illegal or found.stuck or found.lost
        return bad is None and found.situations <= MOST_EXPLORED

    @cached_property
    def speaks(self) -> tuple[bool, ...]:
        """Whether each role has anything to say at all."""
        roles = range(len(self.automaton.roles))
        return tuple(bool(self.automaton.said_by(role)) for role in roles)

    @cached_property
    def said_and_heard(self) -> tuple[tuple[dict[str, int], dict[str, tuple[int, ...]]], ...]:
        """Of each role, by message: the letter that it says, and those that it hears.

        Only messages that no guard tells apart are among the first.
        """
        one, found = self.automaton, []
        for role in range(len(one.roles)):
            said = {
                message: some[0]
                for message, some in one.of_message.items()
                if message not in one.guards and one.letters[some[0]].sender == role
            }
            heard = {
                message: some
                for message, some in one.of_message.items()
                if one.letters[some[0]].receiver == role
            }
            found.append((said, heard))
        return tuple(found)

    @cached_property
    def silent(self) -> frozenset[int]:
        """Letters that nobody else sees: deadlines."""
        return frozenset(one.letter for one in self.automaton.deadlines)

    @cached_property
    def views(self) -> tuple[Views, ...]:
        """What each role sees."""
        return tuple(Views(self.automaton, role) for role in range(len(self.automaton.roles)))
