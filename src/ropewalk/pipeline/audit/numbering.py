"""Messages and consumers of each topic as small numbers, so that their pairs index an array."""

import numpy as np

from ropewalk.kernels import kernel
from ropewalk.pipeline.audit.coding import EMPTY, Ints, Longs, mixed
from ropewalk.pipeline.audit.rows import ACCEPTED, ACK, DELIVER, ENQUEUE, PUBLISH, Bytes

SPARSE = 4
"""A producer whose numbers span more than so many times their count is looked up by hashing."""


@kernel
def message_numbers(
    runs: Longs, kind: Bytes, producer: Ints, producers: int, pseq: Longs
) -> tuple[Ints, Longs]:
    """Number the published and delivered messages of each topic.

    A producer's messages lie side by side in the order of `pseq`, gaps included, as long as the
    gaps are not most of it.
    """
    message = np.full(len(kind), EMPTY, np.int32)
    counts = np.zeros(len(runs) - 1, np.int64)
    least = np.zeros(producers, np.int64)
    most = np.zeros(producers, np.int64)
    seen = np.zeros(producers, np.int64)
    base = np.zeros(producers, np.int64)
    stamp = np.full(producers, -1, np.int64)
    for run in range(len(runs) - 1):
        start, stop = runs[run], runs[run + 1]
        for i in range(start, stop):
            if _is_there(kind[i]):
                p, s = producer[i], pseq[i]
                if stamp[p] != run:
                    stamp[p], least[p], most[p], seen[p], base[p] = run, s, s, 0, EMPTY
                least[p], most[p] = min(least[p], s), max(most[p], s)
                seen[p] += 1
        total, sparse = 0, 0
        for i in range(start, stop):
            p = producer[i]
            if _is_there(kind[i]) and base[p] == EMPTY:
                if np.float64(most[p]) - np.float64(least[p]) > SPARSE * seen[p] + 64:
                    sparse += 1
                else:
                    base[p] = total
                    total += most[p] - least[p] + 1
        for i in range(start, stop):
            p = producer[i]
            told = PUBLISH <= kind[i] <= ACK and stamp[p] == run and base[p] != EMPTY
            if told and least[p] <= pseq[i] <= most[p]:
                message[i] = base[p] + pseq[i] - least[p]
        counts[run] = total
        if sparse:
            counts[run] += _hashed(start, stop, kind, producer, pseq, base, total, sparse, message)
    return message, counts


@kernel
def _is_there(kind: int) -> bool:
    return kind in (PUBLISH, ACCEPTED, DELIVER)


@kernel
def _hashed(
    start: int,
    stop: int,
    kind: Bytes,
    producer: Ints,
    pseq: Longs,
    base: Longs,
    total: int,
    sparse: int,
    message: Ints,
) -> int:
    """Number the messages of producers with few and scattered numbers; how many there are."""
    slots = np.full(_power(2 * sparse), EMPTY, np.int32)
    keys = np.empty((sparse, 2), np.int64)
    mask, count = len(slots) - 1, 0
    for turn in range(2):  # what was there first, then what only speaks of it
        for i in range(start, stop):
            p, s, k = producer[i], pseq[i], kind[i]
            there = _is_there(k)
            if (not there if turn == 0 else k != ENQUEUE and k != ACK) or base[p] != EMPTY:
                continue
            at = mixed(s + (np.int64(p) << 40)) & mask
            while slots[at] != EMPTY and (keys[slots[at], 0] != p or keys[slots[at], 1] != s):
                at = (at + 1) & mask
            if slots[at] == EMPTY and there:
                keys[count, 0], keys[count, 1] = p, s
                slots[at] = count
                count += 1
            if slots[at] != EMPTY:
                message[i] = total + slots[at]
    return count


@kernel
def _power(size: int) -> int:
    power = 2
    while power < size:
        power *= 2
    return power


@kernel
def consumer_numbers(
    runs: Longs, kind: Bytes, client: Ints, clients: int, due_runs: Longs, due_client: Ints
) -> tuple[Ints, Longs]:
    """Number the consumers of each topic: those that are due it first, in the order of due rows."""
    consumer = np.full(len(kind), EMPTY, np.int32)
    counts = np.zeros(len(runs) - 1, np.int64)
    number = np.zeros(clients, np.int32)
    stamp = np.full(clients, -1, np.int64)
    for run in range(len(runs) - 1):
        count = 0
        for due in range(due_runs[run], due_runs[run + 1]):
            c = due_client[due]
            if stamp[c] != run:
                stamp[c], number[c] = run, count
                count += 1
        for i in range(runs[run], runs[run + 1]):
            k = kind[i]
            if k in (DELIVER, ENQUEUE, ACK):
                c = client[i]
                if stamp[c] != run:
                    stamp[c], number[c] = run, count
                    count += 1
                consumer[i] = number[c]
        counts[run] = count
    return consumer, counts
