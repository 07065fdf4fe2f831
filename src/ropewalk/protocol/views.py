"""What one role knows of a conversation: the states it may be in, by what the role sees of it.

Messages between other roles and other roles' deadlines are not seen, so a view is a set of states.
Between two roles without deadlines everything is seen, and a view is one state.
"""

from functools import lru_cache

from ropewalk.protocol.automaton import Automaton

View = frozenset[int]


class Views:
    """The views of one role."""

    def __init__(self, automaton: Automaton, role: int) -> None:
        self.automaton, self.role = automaton, role
        letters = enumerate(automaton.letters)
        seen = [i for i, one in letters if role in (one.sender, one.receiver)]
        self.seen = frozenset(seen)
        self._hidden = [i for i in range(len(automaton.letters)) if i not in self.seen]
        self.step = lru_cache(65_536)(self._step)
        self.ever = lru_cache(4_096)(self._ever)
        self.start = self._closed({automaton.initial})

    def _step(self, view: View, letter: int) -> View | None:
        """The view after a letter that the role sees; None if no state of the view allows it."""
        rows = self.automaton.rows
        to = {rows[state][letter] for state in view} - {-1}
        return self._closed(to) if to else None

    def allows(self, view: View) -> list[int]:
        """Letters that the role sees and that some state of a view allows."""
        rows = self.automaton.rows
        return sorted({i for i in self.seen for state in view if rows[state][i] >= 0})

    def _ever(self, view: View) -> frozenset[int]:
        """Letters that may be allowed some time after a view, whoever speaks until then."""
        rows, found = self.automaton.rows, self.automaton.reached(view)
        return frozenset(i for state in found for i, to in enumerate(rows[state]) if to >= 0)

    def _closed(self, states: set[int]) -> View:
        """With all that may have happened unseen."""
        return frozenset(self.automaton.reached(states, self._hidden) if self._hidden else states)
