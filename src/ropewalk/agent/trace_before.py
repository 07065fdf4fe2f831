"""What the life before an agent's own left in its trace, as far as that matters to this one.

Deliveries: one that was made, but not in the log when the agent crashed, is made again; it is
marked as a repetition. Subscriptions: a client that goes while its agent is away tells nobody; to
an audit it would wait for ever, so its subscription is ended from here.
"""

from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

DELIVERY = ("topic", "producer", "pseq", "client")
CAREFUL_NS = 120_000_000_000
"""How long after a start a delivery may repeat one of the life before."""

Subscription = tuple[str, str]
"""A client and its pattern."""


class Standing(msgspec.Struct, frozen=True):
    """Subscriptions that stood, and when that was known last."""

    ts_ns: int = 0
    open: tuple[Subscription, ...] = ()


def read_standing(path: Path) -> Standing:
    """What a file says; nothing stands if it is not there or not readable."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Standing)
    except (FileNotFoundError, msgspec.MsgspecError):
        return Standing()


def write_standing(path: Path, standing: Standing) -> None:
    """Put it into a file, whole or not at all."""
    unfinished = path.with_name(path.name + ".new")
    unfinished.write_bytes(msgspec.json.encode(standing))
    unfinished.rename(path)


class Before:
    """The life before, from what it noted last and the rows that it left."""

    def __init__(self, standing: Standing) -> None:
        self.standing = standing
        self._deliveries: pa.Table | None = None
        self._until_ns: int | None = None

    def left(self, rows: pa.Table) -> None:
        """Take in rows that it left, in its order."""
        self.standing = _after(self.standing, rows)
        if not _has_letters(rows):
            return
        made = _texts(rows.filter(_is(rows, "deliver")).select(DELIVERY))
        known = [] if self._deliveries is None else [self._deliveries]
        self._deliveries = pa.concat_tables([*known, made])

    def marked(self, rows: pa.Table) -> pa.Table:
        """Rows of this life, with deliveries marked that were made before."""
        before = self._deliveries
        if before is None or not _has_letters(rows):
            return rows
        first_ns = pc.min(rows["ts_ns"]).as_py()
        self._until_ns = self._until_ns or first_ns + CAREFUL_NS
        if first_ns > self._until_ns:
            self._deliveries = None
            return rows
        here = pc.and_(_is(rows, "deliver"), pc.is_in(rows["pseq"], before["pseq"]))
        if not pc.any(here).as_py():
            return rows
        again = _texts(rows.filter(here).select(["li", *DELIVERY]))
        again = again.join(before, list(DELIVERY), join_type="left semi", use_threads=False)
        marks = pc.and_(here, pc.is_in(rows["li"], again["li"].combine_chunks()))
        return _with_marks(rows, marks)


def _with_marks(rows: pa.Table, marks: pa.ChunkedArray) -> pa.Table:
    """Rows with more of them marked: some of conversations are already."""
    if "redelivered" not in rows.column_names:
        return rows.append_column("redelivered", marks)
    both = pc.or_(pc.fill_null(rows["redelivered"], False), marks)
    return rows.set_column(rows.column_names.index("redelivered"), "redelivered", both)


def _after(standing: Standing, rows: pa.Table) -> Standing:
    """What stands after these rows."""
    told = rows.filter(_is(rows, "subscribe", "unsubscribe")).sort_by("li")
    open = dict.fromkeys(standing.open)
    if len(told):
        for row in told.select(["kind", "client", "topic"]).to_pylist():
            subscription = row["client"], row["topic"]
            if row["kind"] == "subscribe":
                open[subscription] = None
            else:
                open.pop(subscription, None)
    return Standing(max(standing.ts_ns, pc.max(rows["ts_ns"]).as_py()), tuple(open))


def _has_letters(rows: pa.Table) -> bool:
    """Not of rows that are figures or subscriptions only: these lack the columns."""
    return {*DELIVERY} <= {*rows.column_names}


def _is(rows: pa.Table, *kinds: str) -> pa.ChunkedArray:
    return pc.is_in(rows["kind"].cast(pa.string()), pa.array(kinds))


def _texts(rows: pa.Table) -> pa.Table:
    """Names as such: dictionaries cannot be joined."""
    for at, one in enumerate(rows.schema):
        if pa.types.is_dictionary(one.type):
            rows = rows.set_column(at, one.name, rows[one.name].cast(pa.string()))
    return rows
