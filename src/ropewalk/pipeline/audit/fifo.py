"""FIFO: what a producer sent reaches a consumer in that order.

One pass keeps the largest number of each (topic, producer, consumer). Only where a number does not
grow, or where a consumer moved to another node, all deliveries of that pair are looked at again;
and only where those of one node are not all before those of another are they sorted by time.
"""

import numpy as np

from ropewalk.kernels import kernel
from ropewalk.pipeline.audit import found as to
from ropewalk.pipeline.audit.bucket import Flags
from ropewalk.pipeline.audit.coding import EMPTY, Ints, Longs, mixed
from ropewalk.pipeline.audit.contracts import FIFO
from ropewalk.pipeline.audit.rows import DELIVER, Bytes, Rows

COLUMNS = (
    "topic", "node", "kind", "client", "producer", "pseq", "redelivered", "ts_ns", "clock_err_ns",
)  # fmt: skip
"""What this audit looks at; to say where its evidence lies takes more."""
LARGEST = np.iinfo(np.int64).max


@kernel
def judge_fifo(rows: Rows, runs: Longs, order: Bytes) -> to.Found:
    """Violations A005 of topics whose order is fifo."""
    pair, doubtful = _pairs(rows, runs, order)
    found, lines = to.no_lines(), 0
    if not doubtful.any():
        return found[:lines]
    bounds, places = _by_pair(pair, doubtful)
    for one in range(len(doubtful)):
        mine = places[bounds[one] : bounds[one + 1]]
        if len(mine) and not _in_order(rows, mine):
            found, lines = _judge_pair(found, lines, rows, _firsts(rows, mine))
    return found[:lines]


@kernel
def _pairs(rows: Rows, runs: Longs, order: Bytes) -> tuple[Ints, Flags]:
    """The pair of each delivery, and which pairs need a second look."""
    kind, node, client, producer = rows.kind, rows.node, rows.client, rows.producer
    pseq, redelivered = rows.pseq, rows.redelivered
    pair = np.full(len(kind), EMPTY, np.int32)
    size = 1024
    slots = np.full(4 * size, EMPTY, np.int32)
    keys = np.empty((size, 3), np.int64)
    state = np.empty((size, 2), np.int64)  # the largest number so far, and where
    doubtful = np.zeros(size, np.bool_)
    count, mask = 0, len(slots) - 1
    for run in range(len(runs) - 1):
        if order[run] != FIFO:
            continue
        for i in range(runs[run], runs[run + 1]):
            if kind[i] != DELIVER or redelivered[i]:
                continue
            c, p = client[i], producer[i]
            at = mixed(c ^ (p + (p << 7)) ^ run) & mask
            slot = slots[at]
            while slot != EMPTY and (
                keys[slot, 0] != p or keys[slot, 1] != c or keys[slot, 2] != run
            ):
                at = (at + 1) & mask
                slot = slots[at]
            if slot == EMPTY:
                if count == size:
                    size *= 2
                    keys = np.concatenate((keys, np.empty_like(keys)))
                    state = np.concatenate((state, np.empty_like(state)))
                    doubtful = np.concatenate((doubtful, np.zeros_like(doubtful)))
                    slots = _larger(keys, count, 4 * size)
                    mask = len(slots) - 1
                    at = mixed(c ^ (p + (p << 7)) ^ run) & mask
                    while slots[at] != EMPTY:
                        at = (at + 1) & mask
                slot = count
                slots[at] = slot
                keys[slot, 0], keys[slot, 1], keys[slot, 2] = p, c, run
                state[slot, 0], state[slot, 1] = pseq[i], node[i]
                count += 1
            elif pseq[i] > state[slot, 0]:
                state[slot, 0] = pseq[i]
                if node[i] != state[slot, 1]:
                    doubtful[slot] = True
            else:
                doubtful[slot] = True
            pair[i] = slot
    return pair, doubtful[:count]


@kernel
def _larger(keys: to.Found, count: int, size: int) -> Ints:
    slots = np.full(size, EMPTY, np.int32)
    mask = size - 1
    for slot in range(count):
        p, c, run = keys[slot, 0], keys[slot, 1], keys[slot, 2]
        at = mixed(c ^ (p + (p << 7)) ^ run) & mask
        while slots[at] != EMPTY:
            at = (at + 1) & mask
        slots[at] = slot
    return slots


@kernel
def _by_pair(pair: Ints, doubtful: Flags) -> tuple[Longs, Longs]:
    """The deliveries of doubtful pairs, those of a pair together, and where each pair's begin."""
    bounds = np.zeros(len(doubtful) + 1, np.int64)
    for one in pair:
        if one != EMPTY and doubtful[one]:
            bounds[one + 1] += 1
    bounds = np.cumsum(bounds)
    places, filled = np.empty(bounds[-1], np.int64), bounds[:-1].copy()
    for i in range(len(pair)):
        one = pair[i]
        if one != EMPTY and doubtful[one]:
            places[filled[one]] = i
            filled[one] += 1
    return bounds, places


@kernel
def _in_order(rows: Rows, places: Longs) -> bool:
    """Whether numbers grow at each node, and none of a node is among, or wrongly before, others."""
    least, most, first_end, last_begin = LARGEST, -LARGEST, LARGEST, -LARGEST  # of nodes before
    at = 0
    while at < len(places):
        node, start = rows.node[places[at]], at
        ending, beginning = LARGEST, -LARGEST
        while at < len(places) and rows.node[places[at]] == node:
            i = places[at]
            if at > start and rows.pseq[i] <= rows.pseq[places[at - 1]]:
                return False
            ending = min(ending, rows.ts_ns[i] + rows.clock_err_ns[i])
            beginning = max(beginning, rows.ts_ns[i] - rows.clock_err_ns[i])
            at += 1
        low, high = rows.pseq[places[start]], rows.pseq[places[at - 1]]
        after = low > most and ending >= last_begin
        if not after and not (high < least and beginning <= first_end):
            return False
        least, most = min(least, low), max(most, high)
        first_end, last_begin = min(first_end, ending), max(last_begin, beginning)
    return True


@kernel
def _firsts(rows: Rows, places: Longs) -> Longs:
    """First deliveries among those of a pair, in the order of rows."""
    by_number = places[np.argsort(rows.pseq[places], kind="mergesort")]
    firsts, count = np.empty(len(places), np.int64), 0
    node = np.int64(0)
    for k in range(len(by_number)):
        i = by_number[k]
        if k == 0 or rows.pseq[i] != rows.pseq[by_number[k - 1]]:
            firsts[count], node = i, rows.node[i]
            count += 1
        elif rows.node[i] != node:
            node = rows.node[i]
            if rows.ts_ns[i] < rows.ts_ns[firsts[count - 1]]:
                firsts[count - 1] = i
    return np.sort(firsts[:count])


@kernel
def _judge_pair(found: to.Found, count: int, rows: Rows, firsts: Longs) -> tuple[to.Found, int]:
    """Every first delivery that one with a larger number is before, for certain."""
    ahead = _ahead_elsewhere(rows, firsts)
    best = EMPTY
    for k in range(len(firsts)):
        i = firsts[k]
        if k and rows.node[i] != rows.node[firsts[k - 1]]:
            best = EMPTY
        witness = ahead[k]
        if best != EMPTY and rows.pseq[best] > rows.pseq[i]:
            witness = best
        if witness != EMPTY and rows.pseq[witness] > rows.pseq[i]:
            found = to.with_room(found, count)
            to.name_message(
                found, count, to.FIFO, rows.topic[i], rows.producer[i], rows.pseq[i], rows.client[i]
            )
            found[count, to.EVIDENCE], found[count, to.EVIDENCE + 1] = witness, i
            count += 1
        if best == EMPTY or rows.pseq[i] > rows.pseq[best]:
            best = i
    return found, count


@kernel
def _ahead_elsewhere(rows: Rows, firsts: Longs) -> Longs:
    """For each delivery the largest-numbered one at another node that was surely before it."""
    ahead = np.full(len(firsts), EMPTY, np.int64)
    if rows.node[firsts[0]] == rows.node[firsts[-1]]:  # all at one node: rows lie node by node
        return ahead
    ends = np.argsort(rows.ts_ns[firsts] + rows.clock_err_ns[firsts], kind="mergesort")
    begins = np.argsort(rows.ts_ns[firsts] - rows.clock_err_ns[firsts], kind="mergesort")
    best, second, done = EMPTY, EMPTY, 0  # `second` is the best of all nodes but that of `best`
    for k in begins:
        i = firsts[k]
        while done < len(ends):
            j = firsts[ends[done]]
            if rows.ts_ns[j] + rows.clock_err_ns[j] >= rows.ts_ns[i] - rows.clock_err_ns[i]:
                break
            if best == EMPTY or rows.pseq[j] > rows.pseq[best]:
                if best != EMPTY and rows.node[best] != rows.node[j]:
                    second = best
                best = j
            elif rows.node[j] != rows.node[best] and (
                second == EMPTY or rows.pseq[j] > rows.pseq[second]
            ):
                second = j
            done += 1
        ahead[k] = best if best == EMPTY or rows.node[best] != rows.node[i] else second
    return ahead
