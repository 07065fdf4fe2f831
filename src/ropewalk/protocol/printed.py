"""The messenger as Hallé & Villemaire print it, kept as a control: it sticks, and it ends wrong.

Outcome functions f1 (definition 7) and f2 (definition 9). Two slips of the print are mended, or
nothing would work at all: tokens carry the letters as well as the states that they lead to, and
each side replays what the *other* has said (`mended`; printed, it is what it has said itself).
"""

from collections import Counter
from collections.abc import Sequence
from enum import IntEnum

from ropewalk.protocol.automaton import Automaton
from ropewalk.protocol.convergence import Convergence
from ropewalk.protocol.stamps import Stamp


class Outcome(IntEnum):
    """Of holding a message's token against the own way."""

    FAIL = 0
    OK = 1
    WAIT = 2


class Outcomes:
    """f1 and f2 for one protocol; a token is the letters of a way from the initial state."""

    def __init__(self, automaton: Automaton) -> None:
        self.automaton = automaton
        self.convergence = Convergence(automaton)
        self._reach: dict[int, frozenset[int]] = {}

    def f1(self, token: Sequence[int], own: Sequence[int]) -> Outcome:
        """OK if the own state can be reached from the token's (definition 7)."""
        walk = self.automaton.walk
        return Outcome.OK if walk(own) in self.reach(walk(token)) else Outcome.FAIL

    def f2(self, token: Sequence[int], own: Sequence[int], *, mended: bool = True) -> Outcome:
        """OK if both ways are sure to meet, by what each lacks of the other's (definition 9)."""
        theirs, ours = self._states(token), self._states(own)
        same = max(i for i, (a, b) in enumerate(zip(theirs, ours, strict=False)) if a == b)
        left = Counter(token[same:])
        left.subtract(own[same:])
        lacking = sorted((+left).elements()), sorted((-left).elements())
        to_us, to_them = lacking if mended else lacking[::-1]
        here, there = self._end(ours[-1], to_us), self._end(theirs[-1], to_them)
        if here is not None and here == there:
            return Outcome.OK
        meet = self.reach(theirs[-1]) & self.reach(ours[-1])
        return Outcome.WAIT if meet else Outcome.FAIL

    def reach(self, state: int) -> frozenset[int]:
        """States that can be reached from one, itself among them."""
        if state not in self._reach:
            self._reach[state] = frozenset(self.automaton.reached([state]))
        return self._reach[state]

    def _states(self, way: Sequence[int]) -> list[int]:
        states = [self.automaton.initial]
        for letter in way:
            states.append(self.automaton.rows[states[-1]][letter])
        return states

    def _end(self, state: int, left: list[int]) -> int | None:
        """Where all orders of what is left end; None if they do not all end there."""
        at, rest = state, list(left)
        while rest:
            taken = next((one for one in rest if self.automaton.rows[at][one] >= 0), None)
            if taken is None:
                return None
            rest.remove(taken)
            at = self.automaton.rows[at][taken]
        return at if self.convergence.certain(state, left, at) else None


class Printed:
    """One role's side of a conversation, by f1 or f2."""

    def __init__(self, outcomes: Outcomes, role: int, rule: str) -> None:
        self._outcomes, self._role = outcomes, role
        self._judge = outcomes.f1 if rule == "f1" else outcomes.f2
        self._way: list[int] = []
        self._said = 0
        self._coming: dict[int, tuple[int, ...]] = {}
        self._seen: set[int] = set()
        self.at = outcomes.automaton.initial
        self.broken: str | None = None

    def speak(self, letter: int) -> Stamp | str | None:
        """Say a letter that the protocol allows, with the whole way up to it."""
        if not self._allowed(letter):
            return None
        self._step(letter)
        self._said += 1
        return Stamp(self._said - 1, first=self._said - 1, events=tuple(self._way))

    def _allowed(self, letter: int) -> bool:
        return self._outcomes.automaton.rows[self.at][letter] >= 0

    def _step(self, letter: int) -> None:
        self.at = self._outcomes.automaton.rows[self.at][letter]
        self._way.append(letter)

    def in_turn(self, _stamp: Stamp) -> bool:
        """Nothing is delivered by a way of its own."""
        return False

    @property
    def states(self) -> tuple[int]:
        """The state that the conversation is in, as this side sees it."""
        return (self.at,)

    def key(self, _sender: int, number: int) -> int:
        """There is only one other side: a number tells its messages apart."""
        return number

    def needs(self, _stamp: Stamp) -> bool:
        """Nothing is said of room in print."""
        return False

    def known_as(self, _stamp: Stamp) -> None:
        """Numbers are believed."""

    def hear(self, stamp: Stamp) -> bool:
        """A message has come; False if it had come before."""
        if stamp.number in self._seen:
            return False
        self._seen.add(stamp.number)
        self._coming[stamp.number] = stamp.events
        return True

    def deliverable(self) -> int | None:
        """A message that is allowed and whose token has the outcome OK."""
        for number, token in sorted(self._coming.items()) if self.broken is None else ():
            if not self._allowed(token[-1]):
                continue
            found = self._judge(token, [*self._way, token[-1]])
            if found == Outcome.OK:
                return number
            if found == Outcome.FAIL:
                self.broken = "the two sides can never meet again"
                return None
        return None

    def deliver(self, key: int) -> int:
        """Deliver a message that may be delivered; returns its letter."""
        letter = self._coming.pop(key)[-1]
        self._step(letter)
        return letter

    def missing(self) -> list[int]:
        """Numbers that have not come although later ones have."""
        return [one for one in range(max(self._seen, default=0)) if one not in self._seen]
