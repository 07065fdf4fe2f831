"""Lost, repeated and stray deliveries: A001 to A004."""

from typing import TYPE_CHECKING

from ropewalk.pipeline.audit.plain.words import (
    before,
    delivered,
    published,
    query,
    report,
    seen,
    under,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def lost(
    events: "DataFrame", due: "DataFrame", contracts: "DataFrame", *, deadline_ns: int
) -> "DataFrame":
    """A001: a client must have it, and no row says that it has."""
    promised = "delivery in ('at-least-once', 'exactly-once')"
    found = query(
        """
        with owed as (
          select p.topic, p.producer, p.pseq, d.client, min(p.at) as at
          from {messages} p join {due} d on p.topic = d.topic
            and d.must_from <= p.lo and (d.durable or d.a <= p.lo)
            and d.b >= greatest(d.a, p.hi) + {deadline}
          where p.accepted
          group by p.topic, p.producer, p.pseq, d.client)
        select topic, producer, pseq, client as consumer, array(at) as evidence
        from owed left anti join {delivered} using (topic, producer, pseq, client)
        """,
        messages=under(published(events), contracts, promised),
        due=due,
        delivered=delivered(events),
        deadline=deadline_ns,
    )
    return report(found, "A001")


def duplicate(events: "DataFrame", contracts: "DataFrame") -> "DataFrame":
    """A002: more deliveries than promised."""
    promised = "delivery in ('at-most-once', 'exactly-once')"
    rows = under(seen(events, "deliver"), contracts, promised)
    found = query(
        """
        with counted as (
          select topic, producer, pseq, client, delivery,
            count(*) - 1 as more, count_if(not redelivered) - 1 as fresh,
            array(min(at), max(at)) as any_two,
            array(min(at) filter (where not redelivered),
                  max(at) filter (where not redelivered)) as fresh_two
          from {rows} group by topic, producer, pseq, client, delivery),
        judged as (
          select *, delivery = 'at-most-once' as once, coalesce(again, 0) as repeats
          from counted left join {repeated} using (topic, producer, pseq, client))
        select topic, producer, pseq, client as consumer,
          if(once, more, greatest(fresh, 0) + repeats) as amount,
          case when once then any_two when fresh > 0 then fresh_two else acked end as evidence
        from judged where if(once, more > 0, fresh > 0 or repeats > 0)
        """,
        rows=rows,
        repeated=_after_ack(events, rows),
    )
    return report(found, "A002")


def _after_ack(events: "DataFrame", rows: "DataFrame") -> "DataFrame":
    """Deliveries that were repeated although an `ack` was before them."""
    return query(
        f"""
        select topic, producer, pseq, client, count(distinct r.at) as again,
          min(array(a.at, r.at)) as acked
        from {{rows}} r join {{acks}} a using (topic, producer, pseq, client)
        where r.redelivered and {before("a", "r")}
        group by topic, producer, pseq, client
        """,  # noqa: S608 - a condition of this package
        rows=rows,
        acks=seen(events, "ack"),
    )


def not_subscribed(events: "DataFrame", due: "DataFrame") -> "DataFrame":
    """A003: delivered to a client that must not have it."""
    found = query(
        """
        with known as (
          select topic, producer, pseq, client, lo, hi, d.at as delivery, p.at as publication
          from {delivered} d join {published} p using (topic, producer, pseq))
        select k.topic, producer, pseq, k.client as consumer,
          array(publication, delivery) as evidence
        from known k left anti join {due} u on k.topic = u.topic and k.client = u.client
          and u.may_from <= k.hi and k.lo <= u.may_until
        """,
        delivered=delivered(events),
        published=published(events),
        due=due,
    )
    return report(found, "A003")


def never_published(events: "DataFrame") -> "DataFrame":
    """A004: delivered, but its producer never sent it, and it is not older than the trace."""
    found = query(
        """
        with begun as (
          select topic, producer, min(pseq) as first from {published} group by topic, producer),
        unknown as (
          select * from {delivered} left anti join {published} using (topic, producer, pseq))
        select topic, producer, pseq, client as consumer, array(at) as evidence
        from unknown join begun using (topic, producer) where first <= pseq
        """,
        delivered=delivered(events),
        published=published(events),
    )
    return report(found, "A004")
