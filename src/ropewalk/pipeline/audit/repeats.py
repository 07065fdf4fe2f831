"""Duplicates: a message that a consumer got more often than its contract allows."""

import numpy as np

from ropewalk.kernels import kernel
from ropewalk.pipeline.audit import found as to
from ropewalk.pipeline.audit.bucket import Flags, Numbers
from ropewalk.pipeline.audit.coding import EMPTY, Ints, Longs
from ropewalk.pipeline.audit.rows import ACK, Rows


@kernel
def pushed(values: Longs, count: int, value: int) -> Longs:
    """The array with a value at a place, larger if it has to be."""
    if count == len(values):
        values = np.append(values, np.empty(len(values), np.int64))
    values[count] = value
    return values


@kernel
def is_before(rows: Rows, one: int, other: int) -> bool:
    """Whether a row is before another for certain; rows of one node lie in their order."""
    if rows.node[one] == rows.node[other]:
        return one < other
    end = rows.ts_ns[one] + rows.clock_err_ns[one]
    return bool(end < rows.ts_ns[other] - rows.clock_err_ns[other])


@kernel
def settle_firsts(
    start: int,
    low: int,
    high: int,
    rows: Rows,
    numbers: Numbers,
    extras: Longs,
    cells: Ints,
    first: Flags,
) -> None:
    """Of deliveries at several nodes find the first, and let it change places with what is held.

    At a node that is the first row; of different nodes the one that was earliest by its clock.
    """
    places = _cells_of(extras, numbers, low, high - low)
    order = np.argsort(places, kind="mergesort")
    last_cell, last_node = np.int64(EMPTY), np.int64(0)
    for k in order:  # each cell's in the order of rows: node by node
        i, cell = extras[k], places[k]
        if rows.redelivered[i]:
            continue
        holder = start + cells[cell] - 1
        if cell != last_cell:
            last_cell, last_node = cell, rows.node[holder]
        if rows.node[i] == last_node:
            continue
        last_node = rows.node[i]
        if rows.ts_ns[i] < rows.ts_ns[holder]:
            cells[cell], extras[k] = i - start + 1, holder
            first[i], first[holder] = True, False


@kernel
def judge_repeats(
    found: to.Found,
    count: int,
    start: int,
    stop: int,
    low: int,
    high: int,
    rows: Rows,
    numbers: Numbers,
    extras: Longs,
    cells: Ints,
    at_most_once: bool,
) -> tuple[to.Found, int]:
    """Violations A002 among deliveries beyond the first, which `cells` have."""
    width = high - low
    places = _cells_of(extras, numbers, low, width)
    order = np.argsort(places, kind="mergesort")
    extras, places = extras[order], places[order]
    acks, acked = extras[:0], places[:0]
    if not at_most_once and rows.redelivered[extras].any():
        acks, acked = _acknowledgements(start, stop, low, high, rows, numbers, places)
    at = 0
    while at < len(extras):
        end = at + 1
        while end < len(extras) and places[end] == places[at]:
            end += 1
        held = cells[places[at]]
        holder = start + held - 1 if held > 0 else EMPTY
        plain, marked, witness, second = 0, 0, holder, EMPTY
        for i in extras[at:end]:
            if at_most_once or not rows.redelivered[i]:
                plain += 1
                second = i
                if witness == EMPTY:
                    witness = i
            else:
                ack = _ack_before(rows, i, acks, acked, places[at])
                if ack != EMPTY:
                    marked += 1
                    if plain + (holder != EMPTY) < 2:
                        witness, second = ack, i
        plain += holder != EMPTY
        amount = max(plain - 1, 0) + marked
        if amount:
            i = extras[at]
            found = to.with_room(found, count)
            to.name_message(
                found, count, to.DUPLICATE, rows.topic[i], rows.producer[i], rows.pseq[i],
                rows.client[i],
            )  # fmt: skip
            found[count, to.AMOUNT] = amount
            found[count, to.EVIDENCE] = witness
            found[count, to.EVIDENCE + 1] = second
            count += 1
        at = end
    return found, count


@kernel
def _cells_of(at: Longs, numbers: Numbers, low: int, width: int) -> Longs:
    cells = np.empty(len(at), np.int64)
    for k in range(len(at)):
        cells[k] = np.int64(numbers.message[at[k]]) * width + numbers.consumer[at[k]] - low
    return cells


@kernel
def _acknowledgements(
    start: int, stop: int, low: int, high: int, rows: Rows, numbers: Numbers, places: Longs
) -> tuple[Longs, Longs]:
    """Rows that acknowledge what was delivered again, by cell."""
    acks, count = np.empty(64, np.int64), 0
    for i in range(start, stop):
        if rows.kind[i] != ACK or numbers.message[i] == EMPTY:
            continue
        if low <= numbers.consumer[i] < high:
            cell = np.int64(numbers.message[i]) * (high - low) + numbers.consumer[i] - low
            near = np.searchsorted(places, cell)
            if near < len(places) and places[near] == cell:
                acks = pushed(acks, count, i)
                count += 1
    acks = acks[:count]
    acked = _cells_of(acks, numbers, low, high - low)
    order = np.argsort(acked, kind="mergesort")
    return acks[order], acked[order]


@kernel
def _ack_before(rows: Rows, row: int, acks: Longs, acked: Longs, cell: int) -> int:
    """A row that acknowledges what is delivered again, and before that; or EMPTY."""
    at = np.searchsorted(acked, cell)
    while at < len(acked) and acked[at] == cell:
        if is_before(rows, acks[at], row):
            return int(acks[at])
        at += 1
    return EMPTY
