"""Messages of a conversation in the order of time, as far as that is known.

The order at a node always holds; between nodes clocks decide, each with its error. One order is
taken first: by time, each row with the largest time so far at its node. Where it leaves the
protocol, all others that the clocks allow are tried before anything is said to be wrong.
"""

import numpy as np
import numpy.typing as npt

from ropewalk.kernels import kernel
from ropewalk.pipeline.audit.coding import Ints, Longs
from ropewalk.pipeline.audit.protocol import NO_CLOCK, NO_LABEL, Said

Shorts = npt.NDArray[np.int16]
Bools = npt.NDArray[np.bool_]

FEW = 64
"""So many rows are sorted by inserting, more by merging."""
MOST_LOOKED_AT = 1_000_000
"""Situations, after which it is left open whether a conversation left its protocol."""
MOST_PLACES = 1 << 40
ANY = 1 << 61
"""An error of a clock, in nanoseconds, beside which no time counts."""


@kernel
def in_time(said: Said, homes: Ints, first: Ints, order: Ints) -> tuple[Ints, Shorts]:
    """Sort the rows of each conversation by time; returns conversation and letter of each row."""
    code, letter = np.empty(len(order), np.int32), np.empty(len(order), np.int16)
    most = 0
    for c in range(len(first) - 1):
        most = max(most, first[c + 1] - first[c])
    # What is compared is brought together first: rows lie far apart.
    when, li = np.empty(most, np.int64), np.empty(most, np.int64)
    home, life = np.empty(most, np.int32), np.empty(most, np.int32)
    turn, spare = np.empty(most, np.int32), np.empty(most, np.int32)
    for c in range(len(first) - 1):
        low, many = first[c], first[c + 1] - first[c]
        sorted = True
        for i in range(many):
            row = said[order[low + i]]
            when[i], li[i], home[i], life[i] = row.ts, row.li, homes[row.life], row.life
            letter[low + i], code[low + i], turn[i] = row.letter, c, i
            sorted = sorted and not (i and _later(when, home, life, li, i - 1, i, False))
        if not sorted:
            _sort(when, home, life, li, turn[:many], spare, False)
        if _goes_back(home, life, li, turn[:many]):
            _sort(when, home, life, li, turn[:many], spare, True)
            for i in range(1, many):
                if home[turn[i]] == home[turn[i - 1]]:
                    when[turn[i]] = max(when[turn[i]], when[turn[i - 1]])
            _sort(when, home, life, li, turn[:many], spare, False)
            sorted = False
        if not sorted:
            for i in range(many):
                spare[i] = order[low + turn[i]]
            for i in range(many):
                order[low + i] = spare[i]
                letter[low + i] = said[spare[i]].letter
    return code, letter


@kernel
def _goes_back(home: Ints, life: Ints, li: Longs, turn: Ints) -> bool:
    """Whether a node's clock went back: rows of a node that are not in their own order."""
    for i in range(1, len(turn)):
        j = i - 1
        while j >= 0 and home[turn[j]] != home[turn[i]]:
            j -= 1
        if j >= 0 and _after(life, li, turn[j], turn[i]):
            return True
    return False


@kernel
def _after(life: Ints, li: Longs, one: int, other: int) -> bool:
    """Whether a row comes after another of the same node."""
    if life[one] != life[other]:
        return bool(life[one] > life[other])
    return bool(li[one] > li[other])


@kernel
def _later(
    when: Longs, home: Ints, life: Ints, li: Longs, one: int, other: int, by_node: bool
) -> bool:
    if not by_node and when[one] != when[other]:
        return bool(when[one] > when[other])
    if home[one] != home[other]:
        return bool(home[one] > home[other])
    return _after(life, li, one, other)


@kernel
def _sort(
    when: Longs, home: Ints, life: Ints, li: Longs, turn: Ints, spare: Ints, by_node: bool
) -> None:
    """Sort the rows of one conversation by time, node, incarnation and place there."""
    if len(turn) > FEW:
        _merge(when, home, life, li, turn, spare, by_node)
        return
    for i in range(1, len(turn)):
        one, j = turn[i], i
        while j > 0 and _later(when, home, life, li, turn[j - 1], one, by_node):
            turn[j] = turn[j - 1]
            j -= 1
        turn[j] = one


@kernel
def _merge(
    when: Longs, home: Ints, life: Ints, li: Longs, turn: Ints, spare: Ints, by_node: bool
) -> None:
    """The same for a long conversation: runs are merged."""
    many, width = len(turn), 1
    while width < many:
        for left in range(0, many, 2 * width):
            middle, end = min(left + width, many), min(left + 2 * width, many)
            a, b = left, middle
            for k in range(left, end):
                if a < middle and (
                    b >= end or not _later(when, home, life, li, turn[a], turn[b], by_node)
                ):
                    spare[k] = turn[a]
                    a += 1
                else:
                    spare[k] = turn[b]
                    b += 1
        turn[:] = spare[:many]
        width *= 2


# --- other orders -------------------------------------------------------------------------------


@kernel
def certain(
    said: Said, homes: Ints, first: Ints, order: Ints, some: Longs, step: Ints, initial: Ints
) -> Bools:
    """Of conversations that leave their protocol: whether they do in every order."""
    found = np.empty(len(some), np.bool_)
    for k in range(len(some)):
        rows = order[first[some[k]] : first[some[k] + 1]]
        found[k] = _in_every_order(said, homes, rows, step, initial[said[rows[0]].protocol])
    return found


@kernel
def _in_every_order(said: Said, homes: Ints, rows: Ints, step: Ints, initial: int) -> bool:
    """Whether no order that the clocks allow keeps to the protocol.

    How far each node's rows have been taken is one number, a digit for each node.
    """
    mine, first = _by_home(said, homes, rows)
    many = len(first) - 1
    if many == 1:
        return True
    weight = np.ones(many + 1, np.int64)
    for h in range(many):
        if weight[h] > MOST_PLACES // (first[h + 1] - first[h] + 1):
            return False
        weight[h + 1] = weight[h] * (first[h + 1] - first[h] + 1)
    before = _before(said, mine, first)
    if not _has_order(before, first):
        return False  # clocks and nodes contradict each other, so nothing is proved
    states, looked = len(step), 0
    edge = np.array([initial], np.int64)  # place * states + state, those alike only once
    for _ in range(len(rows)):
        further, count = np.empty(len(edge) * many, np.int64), 0
        for one in edge:
            place, state = one // states, one % states
            for h in range(many):
                i = first[h] + place // weight[h] % (weight[h + 1] // weight[h])
                if i == first[h + 1] or not _may_come(place, weight, before[i]):
                    continue
                letter = said[mine[i]].letter
                if letter == NO_LABEL:
                    return False
                to = step[state, letter]
                if to >= 0:
                    further[count] = (place + weight[h]) * states + to
                    count += 1
        if count == 0:
            return True
        edge = np.unique(further[:count])
        looked += len(edge)
        if looked > MOST_LOOKED_AT:
            return False
    return False


@kernel
def _by_home(said: Said, homes: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """The rows of each node in their order, one node after the other; where each begins."""
    names, count, many = np.empty(len(rows), np.int64), np.zeros(len(rows), np.int32), 0
    of = np.empty(len(rows), np.int32)
    for i in range(len(rows)):
        h = 0
        while h < many and names[h] != homes[said[rows[i]].life]:
            h += 1
        if h == many:
            names[h] = homes[said[rows[i]].life]
            many += 1
        of[i] = h
        count[h] += 1
    first = np.zeros(many + 1, np.int32)
    for h in range(many):
        first[h + 1] = first[h] + count[h]
    mine, filled = np.empty(len(rows), np.int32), first[:-1].copy()
    for i in range(len(rows)):
        mine[filled[of[i]]] = rows[i]
        filled[of[i]] += 1
    return mine, first


@kernel
def _before(said: Said, mine: Ints, first: Ints) -> Ints:
    """How many rows of each other node come before a row for certain.

    Of a node that is up to the last row whose time ends before this one's begins.
    """
    many = len(first) - 1
    ends = np.empty(len(mine), np.int64)  # the earliest end of a row or of one behind it
    for h in range(many):
        for i in range(first[h + 1] - 1, first[h] - 1, -1):
            ends[i] = said[mine[i]].ts + _error(said, mine[i])
            if i + 1 < first[h + 1]:
                ends[i] = min(ends[i], ends[i + 1])
    found = np.zeros((len(mine), many), np.int32)
    for own in range(many):
        for i in range(first[own], first[own + 1]):
            begin = said[mine[i]].ts - _error(said, mine[i])
            for h in range(many):
                if h != own:
                    found[i, h] = np.searchsorted(ends[first[h] : first[h + 1]], begin)
    return found


@kernel
def _error(said: Said, row: int) -> int:
    return ANY if said[row].err == NO_CLOCK else int(said[row].err)


@kernel
def _has_order(before: Ints, first: Ints) -> bool:
    """Whether all rows can be taken one after the other."""
    at, moved = first[:-1].copy(), True
    while moved:
        moved = False
        for h in range(len(at)):
            while at[h] < first[h + 1] and (at - first[:-1] >= before[at[h]]).all():
                at[h] += 1
                moved = True
    return bool((at == first[1:]).all())


@kernel
def _may_come(place: int, weight: Longs, before: Ints) -> bool:
    """Whether all that goes before a row for certain is taken."""
    for h in range(len(before)):
        if place // weight[h] % (weight[h + 1] // weight[h]) < before[h]:
            return False
    return True
