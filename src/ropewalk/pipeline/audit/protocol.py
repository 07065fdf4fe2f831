"""Protocols as arrays, and messages of conversations on their way to where they are judged.

Conversations cross topics, so their messages are gathered under another key than all else: each
bucket gives away its messages in pieces by conversation, as small as they can be (`Said`), and
whoever has all of a conversation runs the automaton over it (`conversations`). What is wrong is
looked up in the bucket that it came from (`evidence`).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ropewalk.kernels import kernel
from ropewalk.pipeline.audit.bucket import Topics
from ropewalk.pipeline.audit.coding import Ints, Longs
from ropewalk.pipeline.audit.contracts import NO_PROTOCOL
from ropewalk.pipeline.audit.rows import PUBLISH, Bytes, Rows
from ropewalk.protocol.automaton import Automaton
from ropewalk.protocol.observed import observed
from ropewalk.trace.ids import ids_of

WRONG, UNKNOWN = -1, -2
"""States: after a step that no transition takes; after a message without a label."""
NO_LETTER, NO_LABEL = -1, -2
"""Of messages: a label that the protocol does not have; none at all. So they count from the end
of a row of steps, where the states are that they lead to."""

COLUMNS = (
    *("topic", "node", "incarnation", "li", "ts_ns", "clock_err_ns", "kind", "redelivered"),
    *("conversation", "label"),
)
"""What is read of rows to judge conversations."""
MESSAGE = ("producer", "pseq")
"""What is read as well where some rows tell again of a message."""

SAID = np.dtype(
    [
        ("key", "i8"),
        ("ts", "i8"),
        ("li", "i8"),
        ("err", "u4"),
        ("at", "i4"),
        ("life", "i4"),
        ("letter", "i2"),
        ("protocol", "i2"),
    ]
)
"""A message: its conversation, its time, its row's place at its node, its clock's error, its row's
place in its bucket, and its node and incarnation as one number (see `Nodes`). As small as can be:
all of them go through a shuffle."""
NO_CLOCK = 0xFFFF_FFFF
"""An error of four seconds or more is taken for any: less is certain then, and nothing wrong."""
NOTHING = -1
"""The kind of a row that does not count."""
HEADS = 1
"""Before the messages of a piece stands one that has the bucket that they come from as its key."""

Said = npt.NDArray[Any]


class Tables(NamedTuple):
    """Automata side by side: states of all, one row each; a label's column by automaton."""

    step: Ints
    initial: Ints
    ends: npt.NDArray[np.bool_]
    """Whether a conversation may end in a state."""
    label: Longs
    column: Ints
    begins: Longs
    """Where the labels of each automaton begin."""
    salt: Longs
    """Keeps conversations of one name under different protocols apart."""


class Nodes(NamedTuple):
    """Nodes and their incarnations, in order: a row's place in time is given by a number here."""

    node: Longs
    incarnation: Longs
    home: Ints
    """Of each, the first of the same node."""


def tables_of(automata: Sequence[Automaton]) -> Tables:
    """Automata as arrays that the kernel runs."""
    seen = [observed(one) for one in automata]
    wide = max((len(one.labels) for one in seen), default=0)
    states = np.cumsum([0, *(len(one.table) for one in seen)])
    step = np.full((int(states[-1]), wide + 2), WRONG, np.int32)
    step[:, NO_LABEL] = UNKNOWN
    labels, columns, begins = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [0]
    for base, one in zip(states.tolist(), seen, strict=False):
        rows, cols = one.table.shape
        step[base : base + rows, :cols] = np.where(one.table < 0, WRONG, one.table + base)
        ids = ids_of(list(one.labels))
        order = np.argsort(ids)
        labels.append(ids[order])
        columns.append(order)
        begins.append(begins[-1] + cols)
    return Tables(
        step,
        states[:-1].astype(np.int32),
        np.concatenate([np.zeros(0, np.bool_), *(one.ends for one in seen)]),
        np.concatenate(labels),
        np.concatenate(columns).astype(np.int32),
        np.array(begins, np.int64),
        np.array([0, *ids_of([f"protocol {i}" for i in range(1, len(automata))])], np.int64),
    )


def nodes_of(seen: Mapping[tuple[int, int], int]) -> Nodes:
    """The nodes and incarnations of a store."""
    pairs = np.array(sorted(seen), np.int64).reshape(-1, 2)
    node, incarnation = (np.ascontiguousarray(column) for column in pairs.T)
    return Nodes(node, incarnation, np.searchsorted(node, node).astype(np.int32))


def pieces(
    rows: Rows, topics: Topics, bucket: int, nodes: Nodes, tables: Tables, parts: int
) -> Iterator[tuple[int, bytes]]:
    """The messages of conversations, in so many parts by conversation, as bytes."""
    if not (topics.protocol != NO_PROTOCOL).any():
        return
    found = np.zeros(len(rows.kind) + HEADS * parts, SAID)
    bounds = _scattered(
        found,
        topics.runs,
        topics.protocol,
        without_repeats(rows),
        rows.conversation,
        rows.label,
        rows.ts_ns,
        rows.clock_err_ns,
        rows.li,
        rows.node,
        rows.incarnation,
        nodes.node,
        nodes.incarnation,
        tables.label,
        tables.column,
        tables.begins,
        tables.salt,
        parts,
    )
    found["key"][bounds[:-1]] = bucket
    for part in np.flatnonzero(np.diff(bounds) > HEADS).tolist():
        yield part, found[bounds[part] : bounds[part + 1]].tobytes()


def repeats(rows: Rows) -> bool:
    """Whether some rows tell again of a message: of an agent that was killed."""
    return bool(rows.redelivered.any() and (rows.redelivered & (rows.kind == PUBLISH)).any())


def without_repeats(rows: Rows) -> Bytes:
    """Kinds of rows, without those that tell of a message which another row tells of as well.

    Of a message that is only told again, the earliest row counts.
    """
    if not repeats(rows):
        return rows.kind
    said = np.flatnonzero(rows.kind == PUBLISH)
    again = rows.redelivered[said]
    some = said[np.isin(rows.pseq[said], rows.pseq[said[again]])]
    place = (rows.li, rows.incarnation, rows.node, rows.ts_ns, rows.redelivered)
    message = (rows.pseq, rows.producer, rows.topic)
    some = some[np.lexsort([one[some] for one in (*place, *message)])]
    first = np.ones(len(some), np.bool_)
    first[1:] = np.any([one[some][1:] != one[some][:-1] for one in message], axis=0)
    kind = rows.kind.copy()
    kind[some[rows.redelivered[some] & ~first]] = NOTHING
    return kind


@kernel
def _scattered(
    found: Said,
    runs: Longs,
    protocols: Ints,
    kind: Any,
    conversation: Longs,
    label: Longs,
    ts: Longs,
    err: Longs,
    li: Longs,
    node: Longs,
    incarnation: Longs,
    nodes: Longs,
    incarnations: Longs,
    labels: Longs,
    columns: Ints,
    begins: Longs,
    salt: Longs,
    parts: int,
) -> Longs:
    """Write messages by part, behind room for a head; returns where each part begins."""
    bounds = np.full(parts + 1, HEADS, np.int64)
    bounds[0] = 0
    for t in range(len(protocols)):
        if protocols[t] == NO_PROTOCOL:
            continue
        for i in range(runs[t], runs[t + 1]):
            if kind[i] == PUBLISH and conversation[i] != 0:
                bounds[np.uint64(conversation[i]) % np.uint64(parts) + np.uint64(1)] += 1
    for part in range(parts):
        bounds[part + 1] += bounds[part]
    filled = bounds[:-1] + HEADS
    life, last, letter = -1, np.int64(0), NO_LABEL
    for t in range(len(protocols)):
        protocol = protocols[t]
        if protocol == NO_PROTOCOL:
            continue
        low, high, last = begins[protocol], begins[protocol + 1], np.int64(0)
        letter = NO_LABEL
        for i in range(runs[t], runs[t + 1]):
            if kind[i] != PUBLISH or conversation[i] == 0:
                continue
            if life < 0 or nodes[life] != node[i] or incarnations[life] != incarnation[i]:
                life = np.searchsorted(nodes, node[i])
                while incarnations[life] != incarnation[i]:
                    life += 1
            if label[i] != last:
                last = label[i]
                at = low + np.searchsorted(labels[low:high], last)
                letter = columns[at] if at < high and labels[at] == last else NO_LETTER
                if last == 0:
                    letter = NO_LABEL
            of = np.uint64(conversation[i]) % np.uint64(parts)
            to = filled[of]
            filled[of] += 1
            found[to].key = conversation[i] ^ salt[protocol]
            found[to].ts, found[to].li, found[to].at, found[to].life = ts[i], li[i], i, life
            found[to].err = min(err[i], NO_CLOCK)
            found[to].letter, found[to].protocol = letter, protocol
    return bounds
