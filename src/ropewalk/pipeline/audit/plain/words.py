"""The words of docs/audit.md as SQL: rows with their errors, publications, first deliveries."""

from typing import TYPE_CHECKING, Any

from ropewalk.pipeline.shapes import VIOLATIONS
from ropewalk.trace.columns import KIND

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROW = "struct<node: bigint, incarnation: bigint, li: bigint>"
TYPES = {"code": "string", "evidence": f"array<{ROW}>"}
"""Types of a violation's columns that are no bigint."""


def query(text: str, **tables: Any) -> "DataFrame":
    """The answer to a query; `{name}` in it stands for a table or a number."""
    first = next(table for table in tables.values() if hasattr(table, "sparkSession"))
    answer: DataFrame = first.sparkSession.sql(text, **tables)
    return answer


def seen(events: "DataFrame", *kinds: str) -> "DataFrame":
    """Rows of some kinds: when at the earliest and latest, and `at`, which row it is."""
    numbers = ", ".join(str(KIND[kind]) for kind in kinds)
    return query(
        f"""
        with filled as (
          select kind, topic, producer, pseq, client, conversation, label, rank, node, li, ts_ns,
            coalesce(incarnation, 0) as incarnation, coalesce(clock_err_ns, 0) as error,
            coalesce(redelivered, false) as redelivered, coalesce(priority, 0) as priority
          from {{events}} where kind in ({numbers}))
        select * except (error), ts_ns - error as early, ts_ns + error as late,
          named_struct('node', node, 'incarnation', incarnation, 'li', li) as at
        from filled
        """,  # noqa: S608 - numbers of kinds
        events=events,
    )


def under(rows: "DataFrame", contracts: "DataFrame", which: str) -> "DataFrame":
    """Rows of the topics whose contract is such, with the contract's columns."""
    return query(
        f"""
        with promised as (
          select r.*, coalesce(c.delivery, 'at-least-once') as delivery,
            coalesce(c.`order`, 'fifo') as `order`, c.within_ns, c.protocol
          from {{rows}} r left join {{contracts}} c on r.topic = c.topic)
        select * from promised where {which}
        """,  # noqa: S608 - a condition of this package
        rows=rows,
        contracts=contracts,
    )


def published(events: "DataFrame") -> "DataFrame":
    """Messages that were published: between `lo` and `hi`, whether accepted, and by which row."""
    return query(
        """
        select topic, producer, pseq, min(early) as lo, max(late) as hi,
          bool_or(kind = {accepted}) as accepted,
          coalesce(min(at) filter (where kind = {accepted}), min(at)) as at
        from {rows} group by topic, producer, pseq
        """,
        rows=seen(events, "publish", "accepted"),
        accepted=KIND["accepted"],
    )


def delivered(events: "DataFrame") -> "DataFrame":
    """Messages and the clients that they were delivered to, once each."""
    return query(
        """
        select topic, producer, pseq, client, min(at) as at
        from {rows} group by topic, producer, pseq, client
        """,
        rows=seen(events, "deliver"),
    )


def first_deliveries(events: "DataFrame", contracts: "DataFrame", which: str) -> "DataFrame":
    """First deliveries of the topics whose contract is such; `order_ts` orders them."""
    return query(
        """
        with fresh as (
          select *, max(ts_ns) over (
            partition by topic, client, node order by incarnation, li
            rows unbounded preceding) as order_ts
          from {rows} where not redelivered),
        placed as (
          select *, row_number() over (
            partition by topic, producer, pseq, client
            order by order_ts, node, incarnation, li) as place
          from fresh)
        select * except (place) from placed where place = 1
        """,
        rows=under(seen(events, "deliver"), contracts, which),
    )


def before(one: str, other: str) -> str:
    """Whether a row is before another for certain, as a condition."""
    return (
        f"if({one}.node = {other}.node, "
        f"struct({one}.incarnation, {one}.li) < struct({other}.incarnation, {other}.li), "
        f"{one}.late < {other}.early)"
    )


def report(found: "DataFrame", code: str) -> "DataFrame":
    """What a rule found, as violations: the columns that it does not have are null."""
    have = {"code": f"'{code}'"} | {name: name for name in found.columns}
    return found.selectExpr(
        *(
            f"cast({have.get(name, 'null')} as {TYPES.get(name, 'bigint')}) as {name}"
            for name in VIOLATIONS.names
        )
    )
