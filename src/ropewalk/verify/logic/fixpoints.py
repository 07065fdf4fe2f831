"""Sets of states by what paths start in them: the fixpoints behind CTL and LTL.

Only fair paths count: infinite ones on which every fairness constraint holds again and again. The
set of `fair_core` is closed under what fairness needs (Emerson and Lei 1986 for justice; Kesten,
Pnueli and Raviv 1998 for compassion): each of its last strongly connected parts is a fair one.
"""

from dataclasses import dataclass, field

from ropewalk.verify.logic.encoding import Node
from ropewalk.verify.logic.stepping import System


@dataclass(slots=True)
class Paths:
    """Questions about a system's fair paths.

    They are answered backwards, for all states that keep the invariants, reached or not: where
    brokers learn of failures one by one, what is reached takes far more nodes than what matters.
    """

    system: System
    _cores: dict[Node, Node] = field(default_factory=dict)
    _always: dict[Node, Node] = field(default_factory=dict)

    @property
    def states(self) -> Node:
        """All that there are."""
        return self.system.held

    def fair(self) -> Node:
        """States in which a fair path starts."""
        return self.always(self.states)

    def step(self, to: Node) -> Node:
        """EX: a step leads to one of these, and a fair path on from there."""
        return self.system.before(to & self.fair()) & self.states

    def until(self, through: Node, to: Node) -> Node:
        """E [through U to], with a fair path on from there."""
        return self.leading(through, to & self.fair())

    def always(self, within: Node) -> Node:
        """EG: a fair path that stays within these."""
        within &= self.states
        if within not in self._always:
            core = self.core(within)
            far = bool(self.system.compassion)  # else every fair path is in the core from the start
            self._always[within] = self.leading(within, core) if far else core
        return self._always[within]

    def core(self, within: Node) -> Node:
        """What fair paths stay in from some time on, and a little more; see the module's text."""
        if within not in self._cores:
            self._cores[within] = self._core(within)
        return self._cores[within]

    def _core(self, within: Node) -> Node:
        found, before = within, None
        while found != before:
            before = found
            for one in self.system.fair:
                found &= self.system.before(self.leading(found, found & one))
            for asked, owed in self.system.compassion:
                found &= ~asked | self.leading(found, found & owed)
            if not self.system.fair:
                found &= self.system.before(found)
        return found

    def leading(self, through: Node, to: Node) -> Node:
        """States from which a path leads to some, through others; fair or not."""
        found, fresh = to, to
        while fresh != self.system.false:
            fresh = self.system.before(fresh) & through & ~found
            found |= fresh
        return found
