"""Conversations judged: does each stay on the automaton of its protocol?

`run` is the heart of it: rows in the order of time, conversations all mixed, a state for each of
them in one array. Where rows come from many buckets they are first brought into the order of their
conversations, which are short: cheaper than to sort all of them by time.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ropewalk.kernels import kernel
from ropewalk.pipeline.audit.coding import EMPTY, Ints, Longs, mixed
from ropewalk.pipeline.audit.protocol import HEAD, NO_LABEL, SAID, UNKNOWN, WRONG, Said, Tables

Shorts = npt.NDArray[np.int16]

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
def run(conversation: Ints, letter: Shorts, step: Ints, state: Ints) -> int:
    """Run the automaton over rows in the order of time; returns how many take no transition.

    `state` has the present state of each conversation, and afterwards the last: WRONG if it left
    the protocol, UNKNOWN if nobody can tell.
    """
    off = 0
    for i in range(len(conversation)):
        at = state[conversation[i]]
        if at < 0:
            continue
        at = step[at, letter[i]]
        state[conversation[i]] = at
        off += at == WRONG
    return off


def judge(pieces: Iterable[bytes], tables: Tables) -> Judged:
    """Judge all conversations of a part, by the pieces of all buckets."""
    buckets, chunks = _opened(pieces)
    said = np.concatenate(chunks) if chunks else np.zeros(0, SAID)
    off, before, counts = _judged(
        said, tables.step, tables.initial, tables.ends, len(tables.initial)
    )
    ends = np.cumsum([len(one) for one in chunks])
    home = np.array(buckets, np.int32)

    def places(rows: Longs) -> tuple[Ints, Ints]:
        """Buckets and places there; -1 for no row."""
        bucket, at = np.full((2, len(rows)), -1, np.int32)
        known = rows >= 0
        bucket[known] = home[np.searchsorted(ends, rows[known], side="right")]
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


def _opened(pieces: Iterable[bytes]) -> tuple[list[int], list[Said]]:
    buckets: list[int] = []
    chunks: list[Said] = []
    for piece in pieces:
        buckets.append(int(np.frombuffer(piece, HEAD, 1)[0]))
        chunks.append(np.frombuffer(piece, SAID, offset=HEAD.itemsize))
    return buckets, chunks


@kernel
def _judged(
    said: Said, step: Ints, initial: Ints, ends: npt.NDArray[np.bool_], protocols: int
) -> tuple[Longs, Longs, Longs]:
    """The rows that leave their protocol, the rows before them, and how conversations ended."""
    first, order = _by_conversation(said)
    off = np.empty(len(first), np.int64)
    before = np.empty(len(first), np.int64)
    counts = np.zeros((protocols, 4), np.int64)
    found = 0
    for c in range(len(first) - 1):
        low, high = first[c], first[c + 1]
        _in_time(said, order, low, high)
        protocol = said[order[low]].protocol
        state = initial[protocol]
        for i in range(low, high):
            letter = said[order[i]].letter
            state = UNKNOWN if letter == NO_LABEL else WRONG if letter < 0 else step[state, letter]
            if state < 0:
                if state == WRONG:
                    off[found], before[found] = order[i], order[i - 1] if i > low else -1
                    found += 1
                break
        how = LEFT if state == WRONG else UNTOLD if state < 0 else ENDED if ends[state] else OPEN
        counts[protocol, how] += 1
    return off[:found].copy(), before[:found].copy(), counts


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


@kernel
def _in_time(said: Said, order: Ints, low: int, high: int) -> None:
    """Sort the rows of one conversation by time, node, incarnation and place there."""
    if high - low > 64:
        _merge_in_time(said, order, low, high)
        return
    for i in range(low + 1, high):
        one, j = order[i], i
        while j > low and _later(said, order[j - 1], one):
            order[j] = order[j - 1]
            j -= 1
        order[j] = one


@kernel
def _merge_in_time(said: Said, order: Ints, low: int, high: int) -> None:
    """The same for a long conversation: runs are merged."""
    spare, width = np.empty(high - low, np.int32), 1
    while width < high - low:
        for left in range(low, high, 2 * width):
            middle, end = min(left + width, high), min(left + 2 * width, high)
            a, b = left, middle
            for k in range(left, end):
                if a < middle and (b >= end or not _later(said, order[a], order[b])):
                    spare[k - low] = order[a]
                    a += 1
                else:
                    spare[k - low] = order[b]
                    b += 1
        order[low:high] = spare
        width *= 2


@kernel
def _later(said: Said, one: int, other: int) -> bool:
    if said[one].ts != said[other].ts:
        return bool(said[one].ts > said[other].ts)
    if said[one].node != said[other].node:
        return bool(said[one].node > said[other].node)
    return bool(said[one].li > said[other].li)


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
