"""Whether consumers of totally ordered topics agree: by pairs (A008) and all together (A009).

A topic's messages are numbered by when they were first delivered at all. Where all agree, every
consumer goes up in these numbers. A step back from u to v spans the messages from v to u, and
steps back that overlap make an island. No cycle leaves its island, since each way down is a step
back: so consumers can only disagree inside of islands, and only these are looked at closely.
"""

from typing import TYPE_CHECKING

from ropewalk.pipeline.audit.plain.cycles import Edge, cycles
from ropewalk.pipeline.audit.plain.words import ROW, first_deliveries, query, report

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CYCLES = f"topic bigint, producer bigint, pseq bigint, amount bigint, evidence array<{ROW}>"


def pairwise(events: "DataFrame", contracts: "DataFrame") -> "DataFrame":
    """A008: two consumers have two messages in opposite orders, each at one node.

    Of the messages that both have, in the order of one, some neighbours are the other way round.
    """
    found = query(
        """
        with pairs as (
          select topic, one.client as consumer, other.client as other,
            struct(other.incarnation, other.li) as place, one.at as one_at, other.at as other_at,
            lag(struct(struct(other.incarnation, other.li) as place, one.at as one_at,
                       other.at as other_at)) over (
              partition by topic, island, one.client, one.node, other.client, other.node
              order by one.incarnation, one.li) as last
          from {firsts} one join {firsts} other using (topic, island, position)
          where one.client < other.client)
        select topic, consumer, other,
          min(array(last.one_at, one_at, other_at, last.other_at)) as evidence
        from pairs where last.place > place group by topic, consumer, other
        """,
        firsts=_on_islands(_numbered(events, contracts)),
    )
    return report(found, "A008")


def global_order(events: "DataFrame", contracts: "DataFrame") -> "DataFrame":
    """A009: no order of a topic's messages agrees with all consumers.

    The steps on islands are gathered here: where consumers agree there are none.
    """
    steps = _steps(_on_islands(_numbered(events, contracts)))
    edges = [
        Edge((row.topic, *row.from_message), (row.topic, *row.to_message), tuple(row.rows))
        for row in steps.collect()
    ]
    rows = [
        (*found.smallest, found.size, [tuple(row) for row in found.rows]) for found in cycles(edges)
    ]
    return report(events.sparkSession.createDataFrame(rows, CYCLES), "A009")


def _numbered(events: "DataFrame", contracts: "DataFrame") -> "DataFrame":
    """First deliveries of totally ordered topics with `position`, the number of the message."""
    return query(
        """
        with begun as (
          select *, min(order_ts) over (partition by topic, producer, pseq) as begun from {firsts})
        select topic, producer, pseq, client, node, incarnation, li, at,
          dense_rank() over (partition by topic order by begun, producer, pseq) as position
        from begun
        """,
        firsts=first_deliveries(events, contracts, "`order` = 'total'"),
    )


def _on_islands(numbered: "DataFrame") -> "DataFrame":
    """The deliveries of messages that a step back spans; an `island` has its first's number."""
    return query(
        """
        with stepped as (
          select *, lag(position) over (
            partition by topic, client, node order by incarnation, li) as last
          from {numbered}),
        spanned as (
          select *,
            max(if(last > position, last, null)) over (
              partition by topic order by position range unbounded preceding) as reach,
            max(if(last > position, last, null)) over (
              partition by topic order by position
              range between unbounded preceding and 1 preceding) as reached
          from stepped)
        select * except (last, reach, reached),
          max(if(reached is null or reached < position, position, null)) over (
            partition by topic order by position range unbounded preceding) as island
        from spanned where reach >= position
        """,
        numbered=numbered,
    )


def _steps(islands: "DataFrame") -> "DataFrame":
    """From each message to the next of a consumer at a node, on one island."""
    return query(
        """
        with following as (
          select topic, struct(producer, pseq) as to_message, at as to_at,
            lag(struct(struct(producer, pseq) as message, at)) over (
              partition by topic, island, client, node order by incarnation, li) as last
          from {islands})
        select topic, last.message as from_message, to_message,
          min(struct(last.at as from_at, to_at)) as rows
        from following where last is not null group by topic, last.message, to_message
        """,
        islands=islands,
    )
