"""Protocols: does every conversation stay on the automaton that its topic names?

Conversations cross topics, so their messages are gathered under another key than all else: each
bucket gives away its messages in pieces by conversation, and whoever has all of a conversation runs
the automaton over it.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ropewalk.kernels import kernel
from ropewalk.pipeline.audit import found as to
from ropewalk.pipeline.audit.bucket import Flags, Topics
from ropewalk.pipeline.audit.coding import EMPTY, Ints, Longs
from ropewalk.pipeline.audit.contracts import NO_PROTOCOL
from ropewalk.pipeline.audit.rows import PUBLISH, Rows
from ropewalk.protocol.automaton import Automaton
from ropewalk.trace.ids import ids_of

FIELDS = (
    "protocol", "conversation", "ts_ns", "node", "incarnation", "li", "label", "topic",
    "producer", "pseq",
)  # fmt: skip
"""What is known of a message in a conversation, in the order by which they are sorted."""


class Tables(NamedTuple):
    """Automata side by side: states of all, one row each; a label's column by automaton."""

    step: Ints
    initial: Ints
    label: Longs
    column: Ints
    begins: Longs


def tables_of(automata: Sequence[Automaton]) -> Tables:
    """Automata as arrays that the kernel runs."""
    wide = max((len(one.labels) for one in automata), default=0)
    states = np.cumsum([0, *(len(one.states) for one in automata)])
    step = np.full((int(states[-1]), wide), EMPTY, np.int32)
    labels, columns, initial, begins = [], [], [], [0]
    for base, one in zip(states.tolist(), automata, strict=False):
        rows, cols = one.table.shape
        step[base : base + rows, :cols] = np.where(one.table < 0, EMPTY, one.table + base)
        ids = ids_of(one.labels)
        order = np.argsort(ids)
        labels.append(ids[order])
        columns.append(order)
        begins.append(begins[-1] + cols)
        initial.append(base + one.initial)
    return Tables(
        step,
        np.array(
            [base + one.initial for base, one in zip(states, automata, strict=False)], np.int32
        ),
        np.concatenate([np.zeros(0, np.int64), *labels]),
        np.concatenate([np.zeros(0, np.int32), *columns]).astype(np.int32),
        np.array(begins, np.int64),
    )


def pieces(rows: Rows, topics: Topics, parts: int) -> Iterator[tuple[int, bytes]]:
    """The messages of conversations, in so many parts by conversation, as bytes."""
    protocol = np.repeat(topics.protocol, np.diff(topics.runs))
    chosen = (protocol != NO_PROTOCOL) & (rows.kind == PUBLISH) & (rows.conversation != 0)
    places = np.flatnonzero(chosen)
    if not len(places):
        return
    table = np.stack(
        [protocol[places].astype(np.int64), *(getattr(rows, name)[places] for name in FIELDS[1:])],
        axis=1,
    )
    part = (table[:, 1].view(np.uint64) % np.uint64(parts)).astype(np.int64)
    order = np.argsort(part, kind="stable")
    bounds = np.searchsorted(part[order], np.arange(parts + 1))
    for number in np.unique(part).tolist():
        yield number, table[order[bounds[number] : bounds[number + 1]]].tobytes()


def judge_conversations(contents: Iterable[bytes], tables: Tables) -> pa.Table:
    """Violations A013 of a part: every conversation's first message that no transition takes."""
    chunks = [np.frombuffer(one, np.int64).reshape(-1, len(FIELDS)) for one in contents]
    rows = np.concatenate(chunks) if chunks else np.zeros((0, len(FIELDS)), np.int64)
    order = np.lexsort(rows[:, 5::-1].T)
    rows = rows[order]
    bad = np.flatnonzero(_off(rows, *tables))
    proved = []
    for i in bad.tolist():
        protocol, conversation, _, *key, _, topic, producer, pseq = rows[i].tolist()
        same = i > 0 and rows[i - 1, :2].tolist() == [protocol, conversation]
        before = (tuple(rows[i - 1, 3:6].tolist()),) if same else ()
        proved.append(
            to.Proved(
                to.PROTOCOL,
                topic,
                producer,
                pseq,
                other=conversation,
                evidence=(*before, tuple(key)),
            )
        )
    return to.as_lines(proved)


@kernel
def _off(
    rows: to.Found, step: Ints, initial: Ints, label: Longs, column: Ints, begins: Longs
) -> Flags:
    """Which messages are the first of their conversation that no transition takes."""
    off = np.zeros(len(rows), np.bool_)
    state = EMPTY
    for i in range(len(rows)):
        protocol = rows[i, 0]
        if i == 0 or rows[i, 0] != rows[i - 1, 0] or rows[i, 1] != rows[i - 1, 1]:
            state = initial[protocol]
        if state == EMPTY:
            continue
        if rows[i, 6] == 0:  # without a label nobody can tell how it goes on
            state = EMPTY
            continue
        low, high = begins[protocol], begins[protocol + 1]
        at = low + np.searchsorted(label[low:high], rows[i, 6])
        known = at < high and label[at] == rows[i, 6]
        state = step[state, column[at]] if known else EMPTY
        off[i] = state == EMPTY
    return off
