"""A protocol as a deterministic automaton over letters: integers inside, names at the border.

A letter is what may happen in a conversation: a message that one role sends to another, told apart
by its guards where the file has any, or a deadline that passes at a role and that nobody else sees.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ropewalk.protocol.guards import Guard

NOT_ALLOWED = -1
NOBODY = -1
MOST_STATES = 32_767
"""States are numbered in 16 bits."""

Table = npt.NDArray[np.int16]
Place = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Letter:
    """Something that may happen: a message from a role to a role, or a deadline of one role."""

    name: str
    message: str
    sender: int = NOBODY
    """The role's number; nobody's in a file that names no roles."""
    receiver: int = NOBODY
    """Nobody's if it is a deadline."""
    holding: tuple[int, ...] = ()
    """Which of the message's guards hold."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """A role leaves a state so long after it came there."""

    state: int
    letter: int
    after_us: int
    role: int


@dataclass(frozen=True, eq=False)
class Automaton:
    """A protocol: `table[state, letter]` is the next state, or -1 where it is not allowed."""

    name: str
    states: tuple[str, ...]
    letters: tuple[Letter, ...]
    initial: int
    accepting: frozenset[int]
    table: Table
    roles: tuple[str, ...] = ()
    guards: Mapping[str, tuple[Guard, ...]] = field(default_factory=dict)
    """By message, those that tell its letters apart."""
    deadlines: tuple[Deadline, ...] = ()
    conversation: Place = field(default_factory=lambda: {"header": "conversation"})
    """Where a message says which conversation it belongs to: a header or a field."""
    message: Place = field(default_factory=lambda: {"header": "message"})
    """Where it says what it is."""
    lines: tuple[int, ...] = ()
    """Where each state is first named in the file."""
    file: str = "<memory>"

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The letters' names."""
        return tuple(letter.name for letter in self.letters)

    @cached_property
    def number(self) -> Mapping[str, int]:
        """The letters' numbers by name."""
        return {letter.name: i for i, letter in enumerate(self.letters)}

    @cached_property
    def of_message(self) -> Mapping[str, tuple[int, ...]]:
        """The letters that a message may be."""
        found: dict[str, list[int]] = {}
        for i, letter in enumerate(self.letters):
            if letter.receiver != NOBODY or letter.sender == NOBODY:
                found.setdefault(letter.message, []).append(i)
        return {message: tuple(some) for message, some in found.items()}

    @cached_property
    def rows(self) -> list[list[int]]:
        """The table as lists: a single look-up is several times as fast as in an array."""
        found: list[list[int]] = self.table.tolist()
        return found

    @cached_property
    def due(self) -> Mapping[tuple[int, int], Deadline]:
        """Deadlines by the state that they leave and the role whose they are."""
        return {(one.state, one.role): one for one in self.deadlines}

    def role(self, name: str) -> int:
        """A role's number."""
        return self.roles.index(name)

    def said_by(self, role: int) -> tuple[int, ...]:
        """Letters that are a role's own to say or, as its deadlines, to take."""
        return tuple(i for i, letter in enumerate(self.letters) if letter.sender == role)

    def letter_of(self, message: str, fields: Any = None) -> int | None:
        """The letter that a message with these fields is; None if the protocol has none.

        >>> from ropewalk.protocol import automaton
        >>> one = automaton('''
        ... {protocol: p, initial: idle, accepting: [big], messages: {a -> b: [order]},
        ...  transitions: [{idle -> big: {message: order, when: amount > 100}}]}''')
        >>> one.labels[one.letter_of("order", {"amount": 500})]
        'order[amount > 100]'
        """
        found = self.of_message.get(message)
        if found is None:
            return None
        guards = self.guards.get(message)
        if not guards:
            return found[0]
        holding = tuple(i for i, guard in enumerate(guards) if guard.holds(fields))
        return next((one for one in found if self.letters[one].holding == holding), None)

    def walk(self, letters: Iterable[int], state: int | None = None) -> int:
        """The state after some letters, or -1 if one of them is not allowed."""
        at, rows = self.initial if state is None else state, self.rows
        for letter in letters:
            if at < 0:
                break
            at = rows[at][letter]
        return at

    @cached_property
    def reachable(self) -> frozenset[int]:
        """States to which letters lead from the initial one."""
        return frozenset(self.reached([self.initial]))

    def reached(self, states: Iterable[int], letters: Sequence[int] | None = None) -> list[int]:
        """States to which letters lead from some, or certain letters, and these; nearest first."""
        order = list(states)
        seen = set(order)
        for state in order:  # grows while it is read
            row = self.rows[state]
            for to in row if letters is None else [row[letter] for letter in letters]:
                if to >= 0 and to not in seen:
                    seen.add(to)
                    order.append(to)
        return order

    @cached_property
    def hopeless(self) -> frozenset[int]:
        """States from which no accepting one can be reached."""
        back: dict[int, list[int]] = {}
        for state, row in enumerate(self.rows):
            for to in row:
                back.setdefault(to, []).append(state)
        good, edge = set(self.accepting), list(self.accepting)
        while edge:
            for state in back.get(edge.pop(), ()):
                if state not in good:
                    good.add(state)
                    edge.append(state)
        return frozenset(range(len(self.states))) - good


def plain_automaton(
    table: npt.ArrayLike,
    *,
    senders: Iterable[int] | None = None,
    initial: int = 0,
    accepting: Iterable[int] | None = None,
    roles: tuple[str, ...] = ("A", "B"),
    name: str = "plain",
) -> Automaton:
    """An automaton of a bare table: letters a, b, c ..., of two roles; all of A's by default."""
    steps = np.asarray(table, np.int16)
    steps.flags.writeable = False
    count = steps.shape[1]
    by = [0] * count if senders is None else list(senders)
    names = [chr(97 + i) if count <= 26 else f"m{i}" for i in range(count)]
    letters = tuple(Letter(one, one, who, 1 - who) for one, who in zip(names, by, strict=True))
    states = tuple(map(str, range(len(steps))))
    last = frozenset(range(len(steps)) if accepting is None else accepting)
    return Automaton(name, states, letters, initial, last, steps, roles)
