"""Conversations judged: does each stay on the automaton of its protocol?

`run` is the heart of it: a state for each conversation in one array, and rows that may be mixed as
long as those of each conversation are in the order of time. Rows of many buckets are not: they are
first brought together by conversation, which are short, so that sorting each costs little. Of those
that leave their protocol, other orders that the clocks allow are tried (`times`).
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ropewalk.kernels import kernel
from ropewalk.pipeline.audit.coding import EMPTY, Ints, Longs, mixed
from ropewalk.pipeline.audit.protocol import HEADS, SAID, UNKNOWN, WRONG, Nodes, Said, Tables
from ropewalk.pipeline.audit.times import Shorts, certain, in_time

OFF = pa.schema(
    [("bucket", pa.int32()), ("at", pa.int32()), ("before_bucket", pa.int32()),
     ("before", pa.int32())]
)  # fmt: skip
"""Places of messages that no transition takes, and of those before them (-1: none)."""
COUNTS = pa.schema(
    [("protocol", pa.int32()), ("ended", pa.int64()), ("open", pa.int64()), ("left", pa.int64()),
     ("unknown", pa.int64())]
)  # fmt: skip
"""Conversations of each protocol by what became of them."""
ENDED, OPEN, LEFT, UNTOLD = range(4)


class Judged(NamedTuple):
    """What a part's conversations came to: where they go off, and how many ended how."""

    off: pa.Table
    counts: pa.Table


@kernel
def run(conversation: Ints, letter: Shorts, step: Ints, state: Ints, left: Ints) -> None:
    """Run the automata over rows in the order of time.

    `state` has the present state of each conversation, and afterwards the last: WRONG if it left
    the protocol, UNKNOWN if nobody can tell. `left` gets the row that no transition takes.
    """
    for i in range(len(conversation)):
        at = state[conversation[i]]
        if at < 0:
            continue
        at = step[at, letter[i]]
        state[conversation[i]] = at
        if at == WRONG:
            left[conversation[i]] = i


def judge(pieces: Iterable[bytes], tables: Tables, nodes: Nodes) -> Judged:
    """Judge all conversations of a part, by the pieces of all buckets."""
    said, buckets, ends = _joined(pieces)
    first, order = _by_conversation(said)
    codes, letters = in_time(said, nodes.home, first, order)
    protocol = said["protocol"][order[first[:-1]]].astype(np.int64)
    state, left = tables.initial[protocol], np.full(len(protocol), -1, np.int32)
    run(codes, letters, tables.step, state, left)
    wrong = np.flatnonzero(left >= 0)
    sure = certain(said, nodes.home, first, order, wrong, tables.step, tables.initial)
    state[wrong[~sure]] = UNKNOWN
    wrong = wrong[sure]
    off = order[left[wrong]].astype(np.int64)
    before = np.where(left[wrong] > first[wrong], order[left[wrong] - 1], -1).astype(np.int64)
    counts = _counted(protocol, state, tables)

    def places(rows: Longs) -> tuple[Ints, Ints]:
        """Buckets and places there; -1 for no row."""
        bucket, at = np.full((2, len(rows)), -1, np.int32)
        known = rows >= 0
        bucket[known] = buckets[np.searchsorted(ends, rows[known], side="right")]
        at[known] = said["at"][rows[known]]
        return bucket, at

    columns = [*places(off), *places(before)]
    used = np.flatnonzero(counts.sum(axis=1))
    return Judged(
        pa.table([pa.array(one) for one in columns], schema=OFF),
        pa.table(
            [pa.array(used.astype(np.int32)), *(pa.array(counts[used, k]) for k in range(4))],
            schema=COUNTS,
        ),
    )


def _joined(pieces: Iterable[bytes]) -> tuple[Said, Ints, Longs]:
    """The messages of all pieces, the buckets of these, and where each ends."""
    chunks = [np.frombuffer(piece, np.uint8) for piece in pieces]
    buckets = [int(one[: SAID.itemsize].view(SAID)["key"][0]) for one in chunks]
    bodies = [one[HEADS * SAID.itemsize :] for one in chunks]
    # As bytes: numpy joins records field by field, which takes several times as long.
    said = np.concatenate([np.zeros(0, np.uint8), *bodies]).view(SAID)
    ends = np.cumsum([len(one) // SAID.itemsize for one in bodies], dtype=np.int64)
    return said, np.array(buckets, np.int32), ends


def _counted(protocol: Longs, state: Ints, tables: Tables) -> Longs:
    """How many conversations of each protocol ended how."""
    how = np.where(tables.ends[state], ENDED, OPEN)
    how[state == WRONG], how[state == UNKNOWN] = LEFT, UNTOLD
    many = len(tables.initial)
    return np.bincount(protocol * 4 + how, minlength=many * 4).reshape(many, 4)


@kernel
def _by_conversation(said: Said) -> tuple[Ints, Ints]:
    """Rows by conversation: where each one's begin, and the rows in that order."""
    size = 64
    while size < 2 * len(said):
        size *= 2
    slots, mask = np.full(size, EMPTY, np.int32), size - 1
    code = np.empty(len(said), np.int32)
    example = np.empty(len(said), np.int32)
    count = 0
    for i in range(len(said)):
        at = mixed(said[i].key) & mask
        while slots[at] != EMPTY and said[example[slots[at]]].key != said[i].key:
            at = (at + 1) & mask
        if slots[at] == EMPTY:
            slots[at], example[count] = count, i
            count += 1
        code[i] = slots[at]
    first = np.zeros(count + 1, np.int32)
    for i in range(len(said)):
        first[code[i] + 1] += 1
    for c in range(count):
        first[c + 1] += first[c]
    filled, order = first[:-1].copy(), np.empty(len(said), np.int32)
    for i in range(len(said)):
        order[filled[code[i]]] = i
        filled[code[i]] += 1
    return first, order


def total(counts: Iterable[pa.Table], protocols: Sequence[str]) -> dict[str, dict[str, int]]:
    """Counts of all parts by protocol's name."""
    found: dict[str, dict[str, int]] = {}
    names = COUNTS.names[1:]
    for table in counts:
        for row in table.to_pylist():
            sums = found.setdefault(protocols[row["protocol"]], dict.fromkeys(names, 0))
            for name in names:
                sums[name] += row[name]
    return dict(sorted(found.items()))
