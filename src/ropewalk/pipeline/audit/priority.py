"""Priority: nothing is handed over while something more urgent waits for the same consumer.

A sweep over each node's rows with a list of waiting messages per consumer and priority. Only
messages that are delivered later at that node are on it: what is never delivered is lost, not late.
"""

import numpy as np

from ropewalk.kernels import kernel
from ropewalk.pipeline.audit import found as to
from ropewalk.pipeline.audit.bucket import Flags, Numbers, Topics
from ropewalk.pipeline.audit.coding import EMPTY, Ints, Longs
from ropewalk.pipeline.audit.contracts import PRIORITY
from ropewalk.pipeline.audit.rows import DELIVER, ENQUEUE, Rows

CELLS = 1 << 24


@kernel
def judge_priority(
    rows: Rows, topics: Topics, numbers: Numbers, first: Flags
) -> tuple[to.Found, Flags]:
    """Violations A006 of topics whose order is priority, and which topics have enqueue rows."""
    found, count = to.no_lines(), 0
    queued = np.zeros(len(topics.runs) - 1, np.bool_)
    for run in range(len(topics.runs) - 1):
        if topics.order[run] != PRIORITY:
            continue
        start, stop = topics.runs[run], topics.runs[run + 1]
        levels = _levels(start, stop, rows)
        queued[run] = len(levels) > 0
        if not queued[run]:
            continue
        total, consumers = numbers.messages[run], numbers.consumers[run]
        group = max(1, CELLS // max(1, total, len(levels)))
        for low in range(0, consumers, group):
            high = min(low + group, consumers)
            cells = np.zeros(total * (high - low), np.int32)
            for i in range(start, stop):
                if rows.kind[i] == DELIVER and first[i] and low <= numbers.consumer[i] < high:
                    at = np.int64(numbers.message[i]) * (high - low) + numbers.consumer[i] - low
                    cells[at] = i - start + 1
            found, count = _sweep(
                found, count, start, stop, low, high, rows, numbers, levels, cells, first
            )
    return found[:count], queued


@kernel
def _levels(start: int, stop: int, rows: Rows) -> Longs:
    """Priorities that messages waited with, ascending."""
    waited = np.empty(stop - start, np.int64)
    count = 0
    for i in range(start, stop):
        if rows.kind[i] == ENQUEUE:
            waited[count] = rows.priority[i]
            count += 1
    return np.unique(waited[:count])


@kernel
def _sweep(
    found: to.Found,
    count: int,
    start: int,
    stop: int,
    low: int,
    high: int,
    rows: Rows,
    numbers: Numbers,
    levels: Longs,
    cells: Ints,
    first: Flags,
) -> tuple[to.Found, int]:
    """A cell has the place of the first delivery, counted from 1; negative while it is waited for.

    Waiting messages are doubly linked by their enqueue rows, so that any can leave at once.
    """
    width, depth = high - low, len(levels)
    heads = np.full(width * depth, EMPTY, np.int64)
    after = np.full(stop - start, EMPTY, np.int64)
    before = np.full(stop - start, EMPTY, np.int64)
    place = np.full(stop - start, EMPTY, np.int64)  # of a delivery: the enqueue row it ends
    for i in range(start, stop):
        if i > start and rows.node[i] != rows.node[i - 1]:
            heads[:] = EMPTY
        k, c, m = rows.kind[i], numbers.consumer[i], numbers.message[i]
        if (k != ENQUEUE and not (k == DELIVER and first[i])) or m == EMPTY or not low <= c < high:
            continue
        cell = np.int64(m) * width + c - low
        if k == ENQUEUE:
            end = start + cells[cell] - 1
            if end <= i or rows.node[end] != rows.node[i]:  # also: waits already, or never comes
                continue
            cells[cell] = -cells[cell]
            place[end - start] = i
            head = (c - low) * depth + np.searchsorted(levels, rows.priority[i])
            after[i - start] = heads[head]
            if heads[head] != EMPTY:
                before[heads[head] - start] = i
            heads[head] = i
            continue
        waited = place[i - start]
        if waited != EMPTY:
            head = (c - low) * depth + np.searchsorted(levels, rows.priority[waited])
            behind, ahead = after[waited - start], before[waited - start]
            if behind != EMPTY:
                before[behind - start] = ahead
            if ahead != EMPTY:
                after[ahead - start] = behind
            else:
                heads[head] = behind
        for level in range(depth - 1, -1, -1):
            if levels[level] <= rows.priority[i]:
                break
            other = heads[(c - low) * depth + level]
            if other != EMPTY:
                found = to.with_room(found, count)
                to.name_message(
                    found, count, to.PRIORITY, rows.topic[i], rows.producer[i], rows.pseq[i],
                    rows.client[i],
                )  # fmt: skip
                cell = np.int64(numbers.message[other]) * width + c - low
                found[count, to.EVIDENCE], found[count, to.EVIDENCE + 1] = other, i
                found[count, to.EVIDENCE + 2] = start - cells[cell] - 1
                count += 1
                break
    return found, count
