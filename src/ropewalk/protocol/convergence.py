"""Definition 8 of Hallé & Villemaire, decided fast: does every order of what is left end alike?

`s ~P~> t`: whatever is delivered first of the multiset P, as long as it is allowed, all of P can
be delivered, and the end is t. Three steps:

1. Two letters *commute* at a state if both are allowed there and both orders lead to the same
   state. Where no state that P's letters can reach has two of them that do not commute, all orders
   are alike (strong confluence), and one run decides.
2. Otherwise two runs are tried, of which one may do: most of what is not certain fails there. Then
   all pairs of a state and what is left are searched, and the first dead end or wrong end decides.
   Step 1 is tried again at each of them: the less is left, the sooner it holds.
3. The search has a budget. Over it, the answer is "not known", and a messenger waits.
"""

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ropewalk.kernels import kernel
from ropewalk.protocol.automaton import Automaton, Table

BUDGET = 20_000
"""Pairs of a state and what is left that one check may look at."""
MOST_LEFT = 4_096
"""Letters that may be left."""
MOST_BYTE = 256
"""Letters whose numbers fit into a byte: bytes are passed to a kernel in half the time."""
MOST_KINDS = 62
"""Different letters that may be left."""
MOST_CLASH_WORDS = 1 << 22
"""Above this, no table of letters that do not commute is kept, and step 1 is left out."""
MOST_LETTERS, MOST_SETS = 16, 1 << 22
"""Up to so many, it is remembered which sets of letters are settled at which state."""
FEW = 200_000
"""States times pairs of letters that are looked at without a kernel."""
NO, YES, UNKNOWN = 0, 1, 2

Words = npt.NDArray[np.uint64]
Longs = npt.NDArray[np.int64]
Shorts = npt.NDArray[np.int16]
Marks = npt.NDArray[np.int8]


class Convergence:
    """Definition 8 for one protocol.

    >>> from ropewalk.protocol.automaton import plain_automaton
    >>> either_way = plain_automaton([[1, 2], [-1, 3], [3, -1], [-1, -1]])
    >>> Convergence(either_way).certain(0, [0, 1], 3)
    True
    """

    def __init__(self, automaton: Automaton, *, budget: int = BUDGET) -> None:
        self.automaton, self.budget = automaton, budget
        self.unfinished = 0
        """Checks that went over the budget."""
        self._left = np.zeros(MOST_LEFT, np.int16)
        self._wide = len(automaton.letters) > MOST_BYTE

    def certain(self, state: int, left: list[int], to: int) -> bool:
        """Whether all of `left` can be delivered from a state in any order, ending at `to`."""
        if not left:
            return state == to
        if self.confluent:
            return self._run(state, left) == to
        many = len(left)
        if many > MOST_LEFT:
            self.unfinished += 1
            return False
        pending: Any = bytes(left) if not self._wide else self._filled(left)
        found = _decide(*self._arrays, state, pending, many, to, self.budget)
        if found == UNKNOWN:
            self.unfinished += 1
        return bool(found == YES)

    def _filled(self, left: list[int]) -> Shorts:
        self._left[: len(left)] = left
        return self._left

    @cached_property
    def confluent(self) -> bool:
        """Whether letters of one sender commute wherever both are allowed."""
        return commute(self.automaton)

    def _run(self, state: int, left: list[int]) -> int:
        """Where one greedy run ends; -1 if it gets stuck."""
        rows, rest = self.automaton.rows, left
        while rest:
            later, row = [], rows[state]
            for letter in rest:
                to = row[letter]
                if to < 0:
                    later.append(letter)
                else:
                    state, row = to, rows[to]
            if len(later) == len(rest):
                return -1
            rest = later
        return state

    @cached_property
    def _arrays(self) -> tuple[Table, Words, Marks, Longs]:
        table = self.automaton.table
        states, letters = table.shape
        sets = states << letters if letters <= MOST_LETTERS else 0
        settled = np.zeros(sets if sets <= MOST_SETS else 0, np.int8)
        return table, clashes(table), settled, scratch_of(states, self.budget)


def commute(automaton: Automaton) -> bool:
    """Whether any two letters of one sender commute at every state where both are allowed."""
    rows = automaton.rows
    same = [
        (a, b)
        for a, one in enumerate(automaton.letters)
        for b, other in enumerate(automaton.letters[:a])
        if one.sender == other.sender
    ]
    if len(rows) * len(same) > FEW:
        senders = np.array([one.sender for one in automaton.letters], np.int64)
        return bool(_all_commute(automaton.table, senders))
    # Not worth loading a compiler for.
    for row in rows:
        for a, b in same:
            x, y = row[a], row[b]
            if x >= 0 and y >= 0 and (rows[x][b] < 0 or rows[x][b] != rows[y][a]):
                return False
    return True


def clashes(table: Table) -> Words:
    """By state and letter, as bits, the letters with which it does not commute there."""
    states, letters = table.shape
    words = (letters + 63) // 64
    if states * letters * words > MOST_CLASH_WORDS:
        return np.zeros((0, 0, 0), np.uint64)
    return np.asarray(_clashes(table, words))


def scratch_of(states: int, budget: int) -> Longs:
    """Memory that checks share: a hash table of what was seen, and two stacks."""
    room = 1
    while room < 2 * budget:
        room *= 2
    return np.zeros(1 + 2 * room + 3 * (budget + 70) + 2 * states, np.int64)


@kernel
def _all_commute(table: Table, sender: Longs) -> bool:
    states, letters = table.shape
    for s in range(states):
        for a in range(letters):
            x = table[s, a]
            if x < 0:
                continue
            for b in range(a):
                y = table[s, b]
                if y < 0 or sender[a] != sender[b]:
                    continue
                if table[x, b] < 0 or table[x, b] != table[y, a]:
                    return False
    return True


@kernel
def _clashes(table: Table, words: int) -> Words:
    states, letters = table.shape
    clash = np.zeros((states, letters, words), np.uint64)
    for s in range(states):
        for a in range(letters):
            x = table[s, a]
            for b in range(letters if x >= 0 else 0):
                y = table[s, b]
                if b == a or y < 0:
                    continue
                if table[x, b] < 0 or table[x, b] != table[y, a]:
                    clash[s, a, b >> 6] |= np.uint64(1) << np.uint64(b & 63)
    return clash


@kernel
def _decide(
    table: Table,
    clash: Words,
    settled: Marks,
    scratch: Longs,
    state: int,
    pending: Any,
    many: int,
    to: int,
    budget: int,
) -> int:
    """YES, NO or UNKNOWN: steps 1 to 3 above."""
    letters = np.empty(MOST_KINDS, np.int64)
    counts = np.empty(MOST_KINDS, np.int64)
    kinds = 0
    for i in range(many):
        k = 0
        while k < kinds and letters[k] != pending[i]:
            k += 1
        if k == kinds:
            if kinds == MOST_KINDS:
                return UNKNOWN
            letters[k], counts[k] = pending[i], 0
            kinds += 1
        counts[k] += 1
    # What is left is one number: a digit per kind of letter.
    weight = np.empty(MOST_KINDS + 1, np.int64)
    weight[0] = 1
    for k in range(kinds):
        if weight[k] > (1 << 62) // ((counts[k] + 1) * len(table)):
            return UNKNOWN
        weight[k + 1] = weight[k] * (counts[k] + 1)
    return _search(table, clash, settled, scratch, letters[:kinds], weight, state, to, budget)


@kernel
def _search(
    table: Table,
    clash: Words,
    settled: Marks,
    scratch: Longs,
    letters: Longs,
    weight: Longs,
    state: int,
    to: int,
    budget: int,
) -> int:
    states, kinds = len(table), len(letters)
    room = 1
    while room < 2 * budget:
        room *= 2
    # Of a slot of the hash table the turn is kept, so that nothing has to be cleared.
    scratch[0] += 1
    turn = scratch[0]
    keys, turns = scratch[1 : 1 + room], scratch[1 + room : 1 + 2 * room]
    at = 1 + 2 * room
    stack = scratch[at : at + 3 * (budget + 70)]
    visited = scratch[len(scratch) - 2 * states : len(scratch) - states]
    edge = scratch[len(scratch) - states :]
    digits = np.empty(kinds, np.int64)
    for k in range(kinds):
        digits[k] = weight[k + 1] // weight[k] - 1
    if _greedy(table, letters, digits, state) != to:
        return NO
    for k in range(kinds):
        digits[k] = weight[k + 1] // weight[k] - 1
    if _greedy_down(table, letters, digits, state) != to:
        return NO
    stack[0], stack[1] = state, weight[kinds] - 1
    height, looked = 1, 0
    while height:
        height -= 1
        s, left = stack[2 * height], stack[2 * height + 1]
        if left == 0:
            if s != to:
                return NO
            continue
        for k in range(kinds):
            digits[k] = left // weight[k] % (weight[k + 1] // weight[k])
        if _known_settled(table, clash, settled, letters, digits, s, visited, edge, scratch):
            if _greedy(table, letters, digits, s) != to:
                return NO
            continue
        dead = True
        for k in range(kinds):
            step = table[s, letters[k]]
            if digits[k] == 0 or step < 0:
                continue
            dead = False
            rest = left - weight[k]
            key = rest * states + step
            slot = (key * 0x9E3779B97F4A7C1 >> 20) & (room - 1)
            while turns[slot] == turn and keys[slot] != key:
                slot = (slot + 1) & (room - 1)
            if turns[slot] == turn:
                continue
            if looked == budget:
                return UNKNOWN
            looked += 1
            turns[slot], keys[slot] = turn, key
            stack[2 * height], stack[2 * height + 1] = step, rest
            height += 1
        if dead:
            return NO
    return YES


@kernel
def _known_settled(
    table: Table,
    clash: Words,
    settled: Marks,
    letters: Longs,
    digits: Longs,
    state: int,
    visited: Longs,
    edge: Longs,
    scratch: Longs,
) -> bool:
    """`_settled`, remembered for each state and set of letters."""
    if len(settled) == 0:
        return _settled(table, clash, letters, digits, state, visited, edge, scratch)
    some = 0
    for k in range(len(letters)):
        if digits[k]:
            some |= 1 << letters[k]
    at = (state << table.shape[1]) | some
    if settled[at] == 0:
        found = _settled(table, clash, letters, digits, state, visited, edge, scratch)
        settled[at] = 2 if found else 1
    return bool(settled[at] == 2)


@kernel
def _settled(
    table: Table,
    clash: Words,
    letters: Longs,
    digits: Longs,
    state: int,
    visited: Longs,
    edge: Longs,
    scratch: Longs,
) -> bool:
    """Whether no state that the letters left can reach has two of them that do not commute."""
    if len(clash) == 0:
        return False
    words = clash.shape[2]
    mask = np.zeros(words, np.uint64)
    for k in range(len(letters)):
        if digits[k]:
            mask[letters[k] >> 6] |= np.uint64(1) << np.uint64(letters[k] & 63)
    scratch[0] += 1
    turn = scratch[0]
    edge[0], visited[state], count = state, turn, 1
    while count:
        count -= 1
        s = edge[count]
        for k in range(len(letters)):
            if digits[k] == 0:
                continue
            step = table[s, letters[k]]
            if step < 0:
                continue
            for w in range(words):
                if clash[s, letters[k], w] & mask[w]:
                    return False
            if visited[step] != turn:
                visited[step] = turn
                edge[count] = step
                count += 1
    return True


@kernel
def _greedy_down(table: Table, letters: Longs, digits: Longs, state: int) -> int:
    """The same, with the last letters first, and one of each at a time."""
    left = 0
    for k in range(len(letters)):
        left += digits[k]
    moved = True
    while left and moved:
        moved = False
        for k in range(len(letters) - 1, -1, -1):
            if digits[k] and table[state, letters[k]] >= 0:
                state = table[state, letters[k]]
                digits[k] -= 1
                left -= 1
                moved = True
    return -1 if left else state


@kernel
def _greedy(table: Table, letters: Longs, digits: Longs, state: int) -> int:
    """Where a run ends that takes whatever it can; -1 if something is left."""
    left = 0
    for k in range(len(letters)):
        left += digits[k]
    moved = True
    while left and moved:
        moved = False
        for k in range(len(letters)):
            while digits[k] and table[state, letters[k]] >= 0:
                state = table[state, letters[k]]
                digits[k] -= 1
                left -= 1
                moved = True
    return -1 if left else state
