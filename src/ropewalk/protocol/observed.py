"""A protocol as a trace shows it: nobody sees deadlines pass, and not every field is recorded.

A row has a label. That of a message which guards tell apart may be the letter's name or just the
message's; and between two rows deadlines may have passed or not. So what is known of a conversation
is a set of states. These sets are the states here: where none is left, the protocol was broken for
certain.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ropewalk.errors import UsageError
from ropewalk.protocol.automaton import MOST_STATES, Automaton

States = frozenset[int]


@dataclass(frozen=True, slots=True, eq=False)
class Observed:
    """What may be seen of a protocol: `table[state, label]` as in an automaton; it begins at 0."""

    labels: tuple[str, ...]
    table: npt.NDArray[np.int32]
    ends: npt.NDArray[np.bool_]
    """Whether the conversation may be over in a state."""


def observed(automaton: Automaton) -> Observed:
    """The automaton over labels of a trace; raises UsageError if it would be too large.

    >>> from ropewalk.protocol import automaton
    >>> one = automaton("{protocol: p, initial: a, accepting: [b], transitions: [a -> b: m]}")
    >>> observed(one).table.tolist()
    [[1], [-1]]
    """
    letters = letters_seen(automaton)
    start = late(automaton, {automaton.initial})
    number, rows, edge = {start: 0}, list[list[int]](), [start]
    for states in edge:
        row = []
        for some in letters.values():
            to = {automaton.rows[state][one] for state in states for one in some} - {-1}
            after = late(automaton, to) if to else None
            if after is not None and after not in number:
                number[after] = len(number)
                edge.append(after)
            row.append(-1 if after is None else number[after])
        rows.append(row)
        if len(number) > MOST_STATES:
            raise UsageError(
                f"{automaton.file}: too many states may be meant where a trace does not tell"
                " fields or deadlines: use fewer guards or deadlines"
            )
    ends = [bool(states & automaton.accepting) for states in number]
    return Observed(tuple(letters), np.array(rows, np.int32), np.array(ends, np.bool_))


def letters_seen(automaton: Automaton) -> dict[str, tuple[int, ...]]:
    """By label of a trace, the letters that it may stand for."""
    found = {automaton.labels[i]: (i,) for some in automaton.of_message.values() for i in some}
    return found | {message: automaton.of_message[message] for message in automaton.guards}


def late(automaton: Automaton, states: Iterable[int]) -> States:
    """With all states to which deadlines may have led since."""
    found, edge = set(states), list(states)
    while edge:
        state = edge.pop()
        for one in automaton.deadlines:
            to = automaton.rows[state][one.letter] if one.state == state else -1
            if to >= 0 and to not in found:
                found.add(to)
                edge.append(to)
    return frozenset(found)
