"""Violations as kernels give them: a matrix of numbers with a line for each."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ropewalk.kernels import kernel
from ropewalk.pipeline.audit.coding import Longs
from ropewalk.pipeline.audit.rows import Rows
from ropewalk.pipeline.shapes import VIOLATIONS

NONE = np.iinfo(np.int64).min
"""What stands for null."""
CODE, TOPIC, PRODUCER, PSEQ, CONSUMER, OTHER, AMOUNT, EVIDENCE = range(8)
WIDTH = EVIDENCE + 4
"""The last four columns are places of rows that prove it."""

LOST, DUPLICATE, NOT_SUBSCRIBED, NEVER_PUBLISHED = 1, 2, 3, 4
FIFO, PRIORITY, RANK, PAIRWISE, GLOBAL, LATE = 5, 6, 7, 8, 9, 10
LOST_SUBSCRIPTION, LOST_ADVERTISEMENT, PROTOCOL = 11, 12, 13

Found = npt.NDArray[np.int64]


class Proved(NamedTuple):
    """A violation with the rows that prove it, as keys: what is rare is built in Python."""

    code: int
    topic: int
    producer: int | None = None
    pseq: int | None = None
    consumer: int | None = None
    other: int | None = None
    amount: int | None = None
    evidence: tuple[tuple[int, int, int], ...] = ()

    def line(self) -> dict[str, object]:
        """As a line of the table of violations."""
        keys = [dict(zip(("node", "incarnation", "li"), key, strict=True)) for key in self.evidence]
        return {**self._asdict(), "code": name(self.code), "evidence": keys}


def name(code: int) -> str:
    """A violation's code as users know it.

    >>> name(LOST), name(PROTOCOL)
    ('A001', 'A013')
    """
    return f"A{code:03d}"


@kernel
def no_lines() -> Found:
    """An empty matrix."""
    return np.empty((0, WIDTH), np.int64)


@kernel
def with_room(found: Found, count: int) -> Found:
    """The matrix with room for a line more, all of whose entries are null."""
    if count == len(found):
        larger = np.empty((max(64, 2 * count), WIDTH), np.int64)
        larger[:count] = found[:count]
        found = larger
    found[count] = NONE
    return found


@kernel
def name_message(
    found: Found, count: int, code: int, topic: int, producer: int, pseq: int, consumer: int
) -> None:
    """Write into a line what it is about: a message and a consumer."""
    found[count, CODE], found[count, TOPIC] = code, topic
    found[count, PRODUCER], found[count, PSEQ], found[count, CONSUMER] = producer, pseq, consumer


def as_table(found: Found, rows: Rows) -> pa.Table:
    """The lines of a matrix as a table of violations, with the keys of their rows."""
    columns = [pa.array([name(int(code)) for code in found[:, CODE]], pa.string())]
    columns += [_nullable(found[:, at]) for at in range(TOPIC, EVIDENCE)]
    return pa.table([*columns, _keys(found[:, EVIDENCE:], rows)], schema=VIOLATIONS)


def as_lines(proved: list[Proved]) -> pa.Table:
    """Violations that were built in Python as a table."""
    return pa.Table.from_pylist([one.line() for one in proved], schema=VIOLATIONS)


def _nullable(column: Longs) -> pa.Array:
    return pa.array(column, pa.int64(), mask=column == NONE)


def _keys(places: Found, rows: Rows) -> pa.Array:
    there = places != NONE
    flat = places[there]
    keys = pa.StructArray.from_arrays(
        [rows.node[flat], rows.incarnation[flat], rows.li[flat]], ["node", "incarnation", "li"]
    )
    offsets = np.concatenate(([0], np.cumsum(there.sum(axis=1)))).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), keys)
