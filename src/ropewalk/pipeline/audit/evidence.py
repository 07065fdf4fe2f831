"""The rows behind conversations that left their protocol, looked up where they lie."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ropewalk.pipeline.audit import found as to
from ropewalk.pipeline.audit.rows import read

COLUMNS = ("topic", "node", "incarnation", "li", "producer", "pseq", "conversation")
ROWS = pa.schema(
    [("bucket", pa.int32()), ("at", pa.int32()), *((one, pa.int64()) for one in COLUMNS)]
)

Place = tuple[int, int]


class Seen(NamedTuple):
    """A row, as far as evidence needs it."""

    topic: int
    node: int
    incarnation: int
    li: int
    producer: int
    pseq: int
    conversation: int


def wanted(off: pa.Table) -> dict[int, list[int]]:
    """By bucket, the places of rows that are named."""
    found: dict[int, set[int]] = {}
    for bucket, at in (("bucket", "at"), ("before_bucket", "before")):
        for one, place in zip(off[bucket].to_pylist(), off[at].to_pylist(), strict=True):
            if place >= 0:
                found.setdefault(one, set()).add(place)
    return {bucket: sorted(places) for bucket, places in found.items()}


def rows_at(bucket: int, contents: Iterable[bytes], places: Sequence[int]) -> pa.Table:
    """Rows of a bucket by their places in it."""
    rows = read(contents, COLUMNS)
    at = np.array(places, np.int32)
    columns = [pa.array(getattr(rows, name)[at]) for name in COLUMNS]
    return pa.table(
        [pa.array(np.full(len(at), bucket, np.int32)), pa.array(at), *columns], schema=ROWS
    )


def violations(off: pa.Table, tables: Iterable[pa.Table]) -> pa.Table:
    """Violations A013: every conversation's first message that no transition takes."""
    seen = {place: one for table in tables for place, one in _seen(table)}
    return to.as_lines([_proved(row, seen) for row in off.to_pylist()])


def _seen(table: pa.Table) -> Iterator[tuple[Place, Seen]]:
    columns = [table[name].to_pylist() for name in ROWS.names]
    for bucket, at, *rest in zip(*columns, strict=True):
        yield (bucket, at), Seen(*rest)


def _proved(row: Mapping[str, int], seen: Mapping[Place, Seen]) -> to.Proved:
    one = seen[row["bucket"], row["at"]]
    keys = [(one.node, one.incarnation, one.li)]
    if row["before"] >= 0:
        before = seen[row["before_bucket"], row["before"]]
        keys.insert(0, (before.node, before.incarnation, before.li))
    return to.Proved(
        to.PROTOCOL,
        one.topic,
        one.producer,
        one.pseq,
        other=one.conversation,
        evidence=tuple(keys),
    )
