"""Order at one client: fifo (A005), priority (A006) and the broker's own ranks (A007)."""

from typing import TYPE_CHECKING

from ropewalk.pipeline.audit.plain.words import first_deliveries, query, report, seen

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def fifo(events: "DataFrame", contracts: "DataFrame") -> "DataFrame":
    """A005: a later message of the same producer was delivered before, for certain."""
    firsts = first_deliveries(events, contracts, "`order` = 'fifo'")
    overtaken = _overtaken_at_a_node(firsts).unionByName(_overtaken_elsewhere(firsts))
    found = query(
        """
        select topic, producer, pseq, client as consumer, min(array(ahead.at, at)) as evidence
        from {overtaken} group by topic, producer, pseq, client
        """,
        overtaken=overtaken,
    )
    return report(found, "A005")


def _overtaken_at_a_node(firsts: "DataFrame") -> "DataFrame":
    return query(
        """
        with behind as (
          select topic, producer, pseq, client, at, max(struct(pseq, at)) over (
            partition by topic, client, producer, node order by incarnation, li
            rows between unbounded preceding and 1 preceding) as ahead
          from {firsts})
        select * from behind where ahead.pseq > pseq
        """,
        firsts=firsts,
    )


def _overtaken_elsewhere(firsts: "DataFrame") -> "DataFrame":
    """By a delivery at another node, as clocks tell: for clients that moved.

    Each delivery ends, at its latest time, for every other node of the client; what begins at a
    node later than that, at its earliest time, is after it. Of equal times the beginning comes
    first: that is not for certain.
    """
    return query(
        """
        with moved as (
          select *, collect_set(node) over (partition by topic, client, producer) as nodes
          from {firsts}),
        marks as (
          select topic, client, producer, pseq, at, inline(concat(
            array(struct(node as seen_from, early as moment, 0 as ended)),
            transform(array_remove(nodes, node),
              one -> struct(one as seen_from, late as moment, 1 as ended))))
          from moved where size(nodes) > 1),
        behind as (
          select topic, producer, pseq, client, at, ended,
            max(if(ended = 1, struct(pseq, at), null)) over (
              partition by topic, client, producer, seen_from order by moment, ended
              rows between unbounded preceding and 1 preceding) as ahead
          from marks)
        select topic, producer, pseq, client, at, ahead
        from behind where ended = 0 and ahead.pseq > pseq
        """,
        firsts=firsts,
    )


def priority(events: "DataFrame", contracts: "DataFrame") -> "DataFrame":
    """A006: a message with higher priority was waiting at the node, and came after.

    A waiting message lasts from its `enqueue` to its own first delivery. For each level that is
    delivered below its priority it is put among that level's deliveries: the one that lasts longest
    of those before a delivery tells.
    """
    firsts = first_deliveries(events, contracts, "`order` = 'priority'")
    found = query(
        """
        with levelled as (
          select *, collect_set(priority) over (partition by topic, client, node) as levels
          from {firsts}),
        marks as (
          select topic, client, node, explode(filter(levels, one -> one < q.priority)) as level,
            q.incarnation, q.li, null as producer, null as pseq, null as at,
            struct(f.incarnation, f.li, q.at as queued, f.at as taken) as until
          from {queued} q join levelled f using (topic, producer, pseq, client, node)
          union all
          select topic, client, node, priority, incarnation, li, producer, pseq, at, null
          from {firsts}),
        passed as (
          select *, max(until) over (
            partition by topic, client, node, level order by incarnation, li
            rows between unbounded preceding and 1 preceding) as longest
          from marks)
        select topic, producer, pseq, client as consumer,
          array(longest.queued, at, longest.taken) as evidence
        from passed where at is not null
          and struct(longest.incarnation, longest.li) > struct(incarnation, li)
        """,
        firsts=firsts,
        queued=seen(events, "enqueue"),
    )
    return report(found, "A006")


def rank(events: "DataFrame", contracts: "DataFrame") -> "DataFrame":
    """A007: a larger rank was delivered to the client at the node before."""
    found = query(
        """
        with behind as (
          select topic, producer, pseq, client, rank, at, max(struct(rank, at)) over (
            partition by topic, client, node order by incarnation, li
            rows between unbounded preceding and 1 preceding) as ahead
          from {firsts} where rank is not null)
        select topic, producer, pseq, client as consumer, array(ahead.at, at) as evidence
        from behind where ahead.rank > rank
        """,
        firsts=first_deliveries(events, contracts, "`order` = 'total'"),
    )
    return report(found, "A007")
