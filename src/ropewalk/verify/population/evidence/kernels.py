"""Kernels of the check of invariants; they share nothing with those of the engines."""

from typing import Any

import numpy as np

from ropewalk.kernels import kernel

UNBOUNDED = 1 << 28


@kernel
def some_below(rows: Any, demand: Any) -> bool:
    """Whether some row is nowhere above a demand."""
    for i in range(rows.shape[0]):
        fits = True
        for p in range(demand.shape[0]):
            if rows[i, p] > demand[p]:
                fits = False
                break
        if fits:
            return True
    return False


@kernel
def not_below(needs: Any, changes: Any, moves: Any, rows: Any) -> int:
    """The first rule that leads from below a row to below none; -1 if there is none.

    The tables have where each rule's rows begin, then the rows: a column and a number.
    """
    rules = needs_count(needs)
    size = rows.shape[1]
    after = np.empty(size, np.int64)
    likely = np.zeros(rules, np.int64)
    empty = np.empty(rows.shape[0], np.int64)  # how many places a row leaves empty: never fewer
    for j in range(rows.shape[0]):
        empty[j] = zeros(rows[j])
    for i in range(rows.shape[0]):
        for rule in range(rules):
            able = True
            for k in range(needs[rule, 0], needs[rule + 1, 0]):
                if rows[i, needs[k, 0]] < needs[k, 1]:
                    able = False
                    break
            if not able:
                continue
            after[:] = rows[i]
            for k in range(moves[rule, 0], moves[rule + 1, 0]):
                after[moves[k, 0]] = 0
            for k in range(moves[rule, 0], moves[rule + 1, 0]):
                if moves[k, 1] >= 0:
                    after[moves[k, 1]] += rows[i, moves[k, 0]]
            for k in range(changes[rule, 0], changes[rule + 1, 0]):
                after[changes[k, 0]] += changes[k, 1]
            if below_zero(after):
                continue  # it takes more than there ever is: it cannot happen
            # any number, less or more some, is any number
            for k in range(changes[rule, 0], changes[rule + 1, 0]):
                if rows[i, changes[k, 0]] >= UNBOUNDED and kept(moves, rule, changes[k, 0]):
                    after[changes[k, 0]] = UNBOUNDED
            for p in range(size):
                if after[p] >= UNBOUNDED // 2:
                    after[p] = UNBOUNDED
            if fits(after, rows[i]) or fits(after, rows[likely[rule]]):
                continue
            found, most = False, zeros(after)
            for j in range(rows.shape[0]):
                if empty[j] <= most and fits(after, rows[j]):
                    likely[rule] = j
                    found = True
                    break
            if not found:
                return rule
    return -1


@kernel
def below_zero(mark: Any) -> bool:
    """Whether something is taken that is not there."""
    for p in range(mark.shape[0]):
        if mark[p] < 0:
            return True
    return False


@kernel
def zeros(row: Any) -> Any:
    """How many places are empty."""
    count = 0
    for p in range(row.shape[0]):
        if row[p] == 0:
            count += 1
    return count


@kernel
def needs_count(table: Any) -> Any:
    """How many rules a table is of: its first row says where the first rule's rows begin."""
    return table[0, 0] - 1


@kernel
def kept(moves: Any, rule: int, place: int) -> bool:
    """Whether a rule leaves a place's tokens where they are."""
    for k in range(moves[rule, 0], moves[rule + 1, 0]):
        if moves[k, 0] == place:
            return False
    return True


@kernel
def fits(mark: Any, row: Any) -> bool:
    """Whether a marking is nowhere above a row."""
    for p in range(mark.shape[0]):
        if mark[p] > row[p]:
            return False
    return True
