"""Rows of events to counts per topic and window: what a task makes of one row group.

Rows come sorted by topic, so a *run* is a stretch of rows of one topic. A topic may have several
runs (row groups, files); `merge` puts them together. What is a message is decided only then: the
`accepted` rows of a topic, or its `publish` rows if it has no `accepted` row at all.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ropewalk.kernels import kernel
from ropewalk.trace.columns import KIND

Longs = npt.NDArray[np.int64]
Taken = npt.NDArray[np.uint32]

NEEDED = ("topic", "ts_ns", "kind", "client", "size_bytes")
"""The columns that are decoded."""

RUN = (
    "topic",
    "rows",
    "accepted",
    "published",
    "deliveries",
    "accepted_bytes",
    "published_bytes",
    "first_ns",
    "last_ns",
    "cells",
    "clients",
)
"""The figures of a run; the last two say how many entries of the lists are the run's."""

CELLS, CLIENTS = RUN.index("cells"), RUN.index("clients")
PUBLISH, ACCEPTED = KIND["publish"], KIND["accepted"]
ENQUEUE, DELIVER = KIND["enqueue"], KIND["deliver"]
MIX = np.uint64(0x9E3779B97F4A7C15)
HALF = np.uint64(32)


@dataclass(frozen=True, slots=True)
class Tally:
    """Runs, and their windows with messages and their distinct clients, run after run."""

    runs: Longs
    """One row per run: the figures of RUN."""
    windows: Longs
    taken: Taken
    """Rows of each window: accepted, published."""
    clients: Longs


def tally(table: pa.Table, window_ns: int) -> Tally:
    """Count the rows of a table with the columns NEEDED."""
    topic, ts, kind, client = (_values(table, name) for name in NEEDED[:4])
    size = _values(table, "size_bytes", empty=0)
    starts = np.flatnonzero(np.r_[True, topic[1:] != topic[:-1]]) if len(topic) else topic[:0]
    bounds = np.r_[starts, len(topic)].astype(np.int64)
    kinds = np.bincount(kind, minlength=16)
    windows = np.empty(kinds[PUBLISH] + kinds[ACCEPTED], np.int64)
    taken = np.zeros((len(windows), 2), np.uint32)
    clients = np.empty(kinds[ENQUEUE] + kinds[DELIVER], np.int64)
    runs = np.zeros((len(starts), len(RUN)), np.int64)
    _tally(topic, ts, kind, client, size, bounds, window_ns, runs, windows, taken, clients)
    cells, found = runs[:, CELLS].sum(), runs[:, CLIENTS].sum()
    return Tally(runs, windows[:cells], taken[:cells], clients[:found])


def _values(table: pa.Table, name: str, empty: int | None = None) -> npt.NDArray[Any]:
    """The numbers of a column; where it is null they are `empty`, or mean nothing."""
    column = table.column(name).combine_chunks()
    if isinstance(column, pa.ChunkedArray):  # some versions keep the one chunk wrapped
        column = column.chunk(0) if column.num_chunks else pa.array([], column.type)
    if empty is not None and column.null_count:
        column = column.fill_null(empty)
    data = column.buffers()[1]
    whole = np.frombuffer(data or b"", column.type.to_pandas_dtype())
    return whole[column.offset : column.offset + len(column)]


@dataclass(frozen=True, slots=True)
class Merged:
    """Topics, each once, and the windows in which they have messages, topic after topic."""

    figures: Longs
    """One row per topic: the figures of TOPIC."""
    windows: Longs
    messages: Longs


TOPIC = (
    "topic",
    "messages",
    "deliveries",
    "clients",
    "bytes",
    "first_ns",
    "last_ns",
    "rows",
    "accepted",
    "cells",
)
"""The figures of a topic; `accepted` is 1 if its messages are its `accepted` rows."""


def merge(tallies: list[Tally]) -> Merged:
    """Put runs together by topic. All runs of a topic must be among them."""
    if not tallies:
        none = np.empty(0, np.int64)
        return Merged(np.empty((0, len(TOPIC)), np.int64), none, none)
    runs = np.concatenate([one.runs for one in tallies])
    order = np.argsort(runs[:, 0], kind="stable")
    known = runs[order, 0]
    starts = np.flatnonzero(np.r_[True, known[1:] != known[:-1]]) if len(known) else order[:0]
    windows = np.concatenate([one.windows for one in tallies])
    figures = np.zeros((len(starts), len(TOPIC)), np.int64)
    messages = np.empty(len(windows), np.int64)
    merged = np.empty(len(windows), np.int64)
    _merge(
        runs,
        order,
        np.r_[starts, len(order)].astype(np.int64),
        windows,
        np.concatenate([one.taken for one in tallies]),
        np.concatenate([one.clients for one in tallies]),
        figures,
        merged,
        messages,
    )
    cells = figures[:, TOPIC.index("cells")].sum()
    return Merged(figures, merged[:cells], messages[:cells])


@kernel
def _slot(key: int, owner: int, mask: int, owners: Longs, keys: Longs) -> int:
    """Where a key of an owner is or can be put; slots of other owners are free."""
    at = np.int64((np.uint64(key) * MIX) >> HALF) & mask
    while owners[at] == owner and keys[at] != key:
        at = (at + 1) & mask
    return at  # type: ignore[return-value]


@kernel
def _mask_for(entries: int) -> int:
    """The mask of a table that stays at most half full."""
    size = 4
    while size < 2 * entries:
        size *= 2
    return size - 1


@kernel
def _longest(bounds: Longs) -> int:
    longest = 0
    for run in range(len(bounds) - 1):
        longest = max(longest, bounds[run + 1] - bounds[run])
    return longest


@kernel
def _tally(
    topic: Longs,
    ts: Longs,
    kind: npt.NDArray[np.int8],
    client: Longs,
    size: Longs,
    bounds: Longs,
    window_ns: int,
    runs: Longs,
    windows: Longs,
    taken: Taken,
    clients: Longs,
) -> None:
    """Fill runs and lists; `bounds` says where runs begin and end."""
    room = _mask_for(_longest(bounds)) + 1
    owners, keys, cells = np.full(room, -1), np.empty(room, np.int64), np.empty(room, np.int64)
    met, names = np.full(room, -1), np.empty(room, np.int64)
    cell_end, client_end = 0, 0
    for run in range(len(bounds) - 1):
        begin, end = bounds[run], bounds[run + 1]
        mask = _mask_for(end - begin)
        figures = runs[run]
        first, last = ts[begin], ts[begin]
        from_ns, until_ns, cell = 1, 0, 0  # the window of the row before: none yet
        cells_before, clients_before = cell_end, client_end
        for row in range(begin, end):
            what, when = kind[row], ts[row]
            first, last = min(first, when), max(last, when)
            if what in (ACCEPTED, PUBLISH):
                if not from_ns <= when < until_ns:
                    window = when // window_ns
                    from_ns = window * window_ns
                    until_ns = from_ns + window_ns
                    at = _slot(window, run, mask, owners, keys)
                    if owners[at] != run:
                        owners[at], keys[at], cells[at] = run, window, cell_end
                        windows[cell_end] = window
                        cell_end += 1
                    cell = cells[at]
                column = 0 if what == ACCEPTED else 1
                taken[cell, column] += np.uint32(1)
                figures[2 + column] += 1
                figures[5 + column] += size[row]
            elif what in (DELIVER, ENQUEUE):
                if what == DELIVER:
                    figures[4] += 1
                at = _slot(client[row], run, mask, met, names)
                if met[at] != run:
                    met[at], names[at] = run, client[row]
                    clients[client_end] = client[row]
                    client_end += 1
        figures[0], figures[1] = topic[begin], end - begin
        figures[7], figures[8] = first, last
        figures[9], figures[10] = cell_end - cells_before, client_end - clients_before


@kernel
def _merge(
    runs: Longs,
    order: Longs,
    bounds: Longs,
    windows: Longs,
    taken: Taken,
    clients: Longs,
    figures: Longs,
    merged: Longs,
    messages: Longs,
) -> None:
    """Fill figures and cells of topics from their runs, which `order` brings together."""
    cell_of, client_of = _offsets(runs, CELLS), _offsets(runs, CLIENTS)
    end = 0
    room = 4
    for topic in range(len(bounds) - 1):
        of_topic = order[bounds[topic] : bounds[topic + 1]]
        room = max(room, _mask_for(max(runs[of_topic, 9].sum(), runs[of_topic, 10].sum())) + 1)
    owners, keys, cells = np.full(room, -1), np.empty(room, np.int64), np.empty(room, np.int64)
    met, names = np.full(room, -1), np.empty(room, np.int64)
    for topic in range(len(bounds) - 1):
        of_topic = order[bounds[topic] : bounds[topic + 1]]
        column = 0 if runs[of_topic, 2].sum() > 0 else 1
        mask = _mask_for(runs[of_topic, 9].sum())
        client_mask = _mask_for(runs[of_topic, 10].sum())
        one = figures[topic]
        one[0] = runs[of_topic[0], 0]
        one[5], one[6] = runs[of_topic[0], 7], runs[of_topic[0], 8]
        one[8] = 1 - column
        before = end
        for run in of_topic:
            one[1] += runs[run, 2 + column]
            one[2] += runs[run, 4]
            one[4] += runs[run, 5 + column]
            one[5], one[6] = min(one[5], runs[run, 7]), max(one[6], runs[run, 8])
            one[7] += runs[run, 1]
            for cell in range(cell_of[run], cell_of[run + 1]):
                count = taken[cell, column]
                if count == 0:
                    continue
                at = _slot(windows[cell], topic, mask, owners, keys)
                if owners[at] != topic:
                    owners[at], keys[at], cells[at] = topic, windows[cell], end
                    merged[end], messages[end] = windows[cell], 0
                    end += 1
                messages[cells[at]] += np.int64(count)
            for place in range(client_of[run], client_of[run + 1]):
                at = _slot(clients[place], topic, client_mask, met, names)
                if met[at] != topic:
                    met[at], names[at] = topic, clients[place]
                    one[3] += 1
        one[9] = end - before


@kernel
def _offsets(runs: Longs, column: int) -> Longs:
    """Where the entries of each run begin in their list, and the end."""
    offsets = np.zeros(len(runs) + 1, np.int64)
    for run in range(len(runs)):
        offsets[run + 1] = offsets[run] + runs[run, column]
    return offsets
