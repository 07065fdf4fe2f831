"""Late deliveries: A010."""

from typing import TYPE_CHECKING

from ropewalk.pipeline.audit.plain.words import first_deliveries, published, query, report

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def late(events: "DataFrame", due: "DataFrame", contracts: "DataFrame") -> "DataFrame":
    """A010: later than promised, to a client that was there to take it."""
    found = query(
        """
        with timed as (
          select topic, producer, pseq, f.client, f.early, p.lo, p.hi + f.within_ns as bound,
            array(p.at, f.at) as evidence
          from {firsts} f join {published} p using (topic, producer, pseq))
        select t.topic, producer, pseq, t.client as consumer, early - bound as amount, evidence
        from timed t left semi join {due} d on t.topic = d.topic and t.client = d.client
          and d.a <= t.lo and t.bound <= d.b
        where early > bound
        """,
        firsts=first_deliveries(events, contracts, "within_ns is not null"),
        published=published(events),
        due=due,
    )
    return report(found, "A010")
