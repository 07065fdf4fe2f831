"""Lost, duplicate, not-subscribed, never-published and late: each message against each consumer.

Pass by pass over a topic's rows: when each message was published; who got it (an array of the rows
of first deliveries, indexed by message and consumer); and then each pair against its due rows.
Independent of the order in which publications and deliveries are read.
"""

from typing import NamedTuple

import numpy as np

from ropewalk.kernels import kernel
from ropewalk.pipeline.audit import found as to
from ropewalk.pipeline.audit.bucket import Due, Flags, Numbers, Topics
from ropewalk.pipeline.audit.coding import EMPTY, Ints, Longs
from ropewalk.pipeline.audit.contracts import AT_LEAST_ONCE, AT_MOST_ONCE, EXACTLY_ONCE
from ropewalk.pipeline.audit.due import FOR_EVER
from ropewalk.pipeline.audit.repeats import judge_repeats, pushed, settle_firsts
from ropewalk.pipeline.audit.rows import ACCEPTED, DELIVER, PUBLISH, Rows

COLUMNS = (
    "topic", "node", "kind", "client", "producer", "pseq", "redelivered", "ts_ns", "clock_err_ns",
)  # fmt: skip
"""What this audit looks at; to say where its evidence lies takes more."""

CELLS = 1 << 24
"""How many pairs are looked at together; a topic with more is read again for the others."""


class Messages(NamedTuple):
    """Of each message of a topic: between when it was published, and rows that say so."""

    lo: Longs
    hi: Longs
    row: Longs
    accepted: Longs


@kernel
def judge_deliveries(
    rows: Rows, topics: Topics, numbers: Numbers, due: Due, deadline: int
) -> tuple[to.Found, Flags, Flags]:
    """Violations A001 to A004 and A010; which rows are first deliveries; published topics."""
    found, count = to.no_lines(), 0
    first = np.zeros(len(rows.kind), np.bool_)
    published = np.zeros(len(topics.runs) - 1, np.bool_)
    earliest = np.full(numbers.producers, FOR_EVER, np.int64)
    for run in range(len(topics.runs) - 1):
        start, stop = topics.runs[run], topics.runs[run + 1]
        total, consumers = numbers.messages[run], numbers.consumers[run]
        messages = _publications(start, stop, rows, numbers, total, earliest)
        published[run] = (messages.row != EMPTY).any()
        begins = _due_of_consumers(topics.due_runs[run], topics.due_runs[run + 1], due.client)
        promise = topics.promise[run]
        group = max(1, CELLS // max(1, total))
        for low in range(0, consumers, group):
            high = min(low + group, consumers)
            cells, extras, late = _deliveries(
                start, stop, low, high, rows, numbers, messages, topics.within[run], first
            )
            if len(extras) and promise in (AT_MOST_ONCE, EXACTLY_ONCE):
                found, count = judge_repeats(
                    found, count, start, stop, low, high, rows, numbers, extras, cells,
                    promise == AT_MOST_ONCE,
                )  # fmt: skip
            if published[run]:
                found, count = _judge_late(
                    found, count, rows, numbers, messages, due, begins, late, first,
                    topics.within[run],
                )  # fmt: skip
                found, count = _judge_pairs(
                    found, count, start, low, high, rows, numbers, messages, due, begins, cells,
                    earliest, promise >= AT_LEAST_ONCE, deadline,
                )  # fmt: skip
        for i in range(start, stop):
            if rows.kind[i] == PUBLISH or rows.kind[i] == ACCEPTED:
                earliest[numbers.producer[i]] = FOR_EVER
    return found[:count], first, published


@kernel
def _publications(
    start: int, stop: int, rows: Rows, numbers: Numbers, total: int, earliest: Longs
) -> Messages:
    """When each message was published; `earliest` gets every producer's first number."""
    lo = np.full(total, FOR_EVER, np.int64)
    hi = np.full(total, -FOR_EVER, np.int64)
    row = np.full(total, EMPTY, np.int64)
    accepted = np.full(total, EMPTY, np.int64)
    for i in range(start, stop):
        if rows.kind[i] == PUBLISH or rows.kind[i] == ACCEPTED:
            m = numbers.message[i]
            lo[m] = min(lo[m], rows.ts_ns[i] - rows.clock_err_ns[i])
            hi[m] = max(hi[m], rows.ts_ns[i] + rows.clock_err_ns[i])
            if row[m] == EMPTY:
                row[m] = i
            if rows.kind[i] == ACCEPTED:
                accepted[m] = i
            p = numbers.producer[i]
            earliest[p] = min(earliest[p], rows.pseq[i])
    return Messages(lo, hi, row, accepted)


@kernel
def _due_of_consumers(low: int, high: int, client: Longs) -> Longs:
    """Where each consumer's due rows begin: they lie together, in the order of their numbers."""
    begins = np.empty(high - low + 1, np.int64)
    count = 0
    for at in range(low, high):
        if at == low or client[at] != client[at - 1]:
            begins[count] = at
            count += 1
    begins[count] = high
    return begins[: count + 1]


@kernel
def _deliveries(
    start: int,
    stop: int,
    low: int,
    high: int,
    rows: Rows,
    numbers: Numbers,
    messages: Messages,
    within: int,
    first: Flags,
) -> tuple[Ints, Longs, Longs]:
    """Who got what, of consumers low to high: first deliveries, all other ones, and tardy ones.

    A cell has a place in the topic, counted from 1: of the first delivery, or, negative, of a
    redelivery where there is no other.
    """
    width = high - low
    cells = np.zeros(len(messages.lo) * width, np.int32)
    extras, late = np.empty(64, np.int64), np.empty(64, np.int64)
    many, tardy, moved = 0, 0, False
    kind, node, redelivered = rows.kind, rows.node, rows.redelivered
    message, consumer, ts, err, hi = (
        numbers.message, numbers.consumer, rows.ts_ns, rows.clock_err_ns, messages.hi
    )  # fmt: skip
    for i in range(start, stop):
        if kind[i] != DELIVER or not low <= consumer[i] < high:
            continue
        cell = np.int64(message[i]) * width + consumer[i] - low
        held, extra = cells[cell], EMPTY
        if redelivered[i]:
            extra = i
            if held == 0:
                cells[cell] = -(i - start + 1)
        elif held <= 0:
            cells[cell] = i - start + 1
            first[i] = True
        else:
            extra = i
            moved = moved or node[start + held - 1] != node[i]
        if extra != EMPTY:
            extras = pushed(extras, many, extra)
            many += 1
        if within >= 0 and ts[i] - err[i] > hi[message[i]] + within:
            late = pushed(late, tardy, i)
            tardy += 1
    if moved:
        settle_firsts(start, low, high, rows, numbers, extras[:many], cells, first)
    return cells, extras[:many], late[:tardy]


@kernel
def _judge_late(
    found: to.Found,
    count: int,
    rows: Rows,
    numbers: Numbers,
    messages: Messages,
    due: Due,
    begins: Longs,
    late: Longs,
    first: Flags,
    within: int,
) -> tuple[to.Found, int]:
    """First deliveries that came too late to somebody who was there all the time."""
    for i in late:
        m, c = numbers.message[i], numbers.consumer[i]
        bound = messages.hi[m] + within
        if not first[i] or messages.row[m] == EMPTY or c >= len(begins) - 1:
            continue
        for at in range(begins[c], begins[c + 1]):
            if due.a[at] <= messages.lo[m] and bound <= due.b[at]:
                found = to.with_room(found, count)
                _name(found, count, to.LATE, rows, i, due.client[at])
                found[count, to.AMOUNT] = rows.ts_ns[i] - rows.clock_err_ns[i] - bound
                found[count, to.EVIDENCE] = messages.row[m]
                found[count, to.EVIDENCE + 1] = i
                count += 1
                break
    return found, count


@kernel
def _judge_pairs(
    found: to.Found,
    count: int,
    start: int,
    low: int,
    high: int,
    rows: Rows,
    numbers: Numbers,
    messages: Messages,
    due: Due,
    begins: Longs,
    cells: Ints,
    earliest: Longs,
    loses: bool,
    deadline: int,
) -> tuple[to.Found, int]:
    """Every message against every consumer of a group."""
    width, known = high - low, len(begins) - 1
    lo, hi, row, accepted = messages
    may_from, may_until, must_from = due.may_from, due.may_until, due.must_from
    durable, a, b = due.durable, due.a, due.b
    for m in range(len(lo)):
        for c in range(low, high):
            held = cells[m * width + c - low]
            if held == 0:
                if not loses or c >= known or accepted[m] == EMPTY:
                    continue
                for at in range(begins[c], begins[c + 1]):
                    if (
                        must_from[at] <= lo[m]
                        and (durable[at] or a[at] <= lo[m])
                        and b[at] >= max(a[at], hi[m]) + deadline
                    ):
                        found = to.with_room(found, count)
                        _name(found, count, to.LOST, rows, row[m], due.client[at])
                        found[count, to.EVIDENCE] = row[m]
                        if accepted[m] != row[m]:
                            found[count, to.EVIDENCE + 1] = accepted[m]
                        count += 1
                        break
                continue
            i = start + abs(held) - 1
            if row[m] == EMPTY:
                known_from = earliest[numbers.producer[i]]
                code = to.NEVER_PUBLISHED if known_from <= rows.pseq[i] else EMPTY
            else:
                code = to.NOT_SUBSCRIBED
                if c < known:
                    for at in range(begins[c], begins[c + 1]):
                        if may_from[at] <= hi[m] and lo[m] <= may_until[at]:
                            code = EMPTY
                            break
            if code != EMPTY:
                found = to.with_room(found, count)
                _name(found, count, code, rows, i, rows.client[i])
                found[count, to.EVIDENCE] = i
                if row[m] != EMPTY:
                    found[count, to.EVIDENCE + 1] = row[m]
                count += 1
    return found, count


@kernel
def _name(found: to.Found, count: int, code: int, rows: Rows, i: int, consumer: int) -> None:
    to.name_message(found, count, code, rows.topic[i], rows.producer[i], rows.pseq[i], consumer)
