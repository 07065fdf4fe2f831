"""The ledger: every violation that an audit has to find, and every row it has to refuse."""

from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields

import pyarrow as pa

from ropewalk.trace.ids import id_of

BAD_ROW = "Q"
"""The code of a row that is no good; `other` says why."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A violation by its key; what does not apply is None."""

    code: str
    topic: str | None = None
    producer: str | None = None
    pseq: int | None = None
    consumer: str | None = None
    other: str | None = None


SCHEMA = pa.schema(
    [(one.name, pa.int64() if one.name == "pseq" else pa.string()) for one in fields(Entry)]
)


def opposed(topic: str, one: str, other: str) -> Entry:
    """Two consumers that have two messages in opposite orders, the smaller id first."""
    first, second = sorted((one, other), key=id_of)
    return Entry("A008", topic, consumer=first, other=second)


def cycle(topic: str, messages: Iterable[tuple[str, int]]) -> Entry:
    """Messages that no single order can hold, named by the smallest (producer id, pseq)."""
    producer, pseq = min(messages, key=lambda one: (id_of(one[0]), one[1]))
    return Entry("A009", topic, producer, pseq)


def table_of(entries: Iterable[Entry]) -> pa.Table:
    """The ledger as a table: sorted, violations once each, bad rows as often as they are there."""
    entries = list(entries)
    bad = [one for one in entries if one.code == BAD_ROW]
    kept = [*{one for one in entries if one.code != BAD_ROW}, *bad]
    kept.sort(key=_place)
    rows = [dict(zip(SCHEMA.names, astuple(one), strict=True)) for one in kept]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def _place(entry: Entry) -> tuple[tuple[bool, str], ...]:
    """Where an entry stands: by its columns, what is missing first."""
    return tuple(
        (one is not None, f"{one:020d}" if isinstance(one, int) else one or "")
        for one in astuple(entry)
    )
