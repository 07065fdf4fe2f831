"""The audit of events as plain Spark SQL: the second opinion, and the form for foreign tables.

`words` (rows, publications, first deliveries), then a family of rules each: `delivery` (A001 to
A004), `order` (A005 to A007), `agreement` (A008 and A009), `latency` (A010), `protocol` (A013).

Tables: `events` as stored, each row once; `due` (topic, client, durable, may_from, may_until,
must_from, a, b); `contracts` (topic, delivery, order, within_ns, protocol), where a topic that is
not listed has the default contract. Every rule returns the columns of `shapes.VIOLATIONS`.
"""

from collections.abc import Mapping
from functools import reduce
from typing import TYPE_CHECKING

from ropewalk.pipeline.audit.plain import agreement, delivery, latency, order, protocol
from ropewalk.protocol.automaton import Automaton

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def violations(
    events: "DataFrame",
    due: "DataFrame",
    contracts: "DataFrame",
    *,
    deadline_ns: int,
    protocols: Mapping[str, Automaton],
) -> "DataFrame":
    """All that the rules for events find. One step (A009) runs at once, the others when asked."""
    found = [
        delivery.lost(events, due, contracts, deadline_ns=deadline_ns),
        delivery.duplicate(events, contracts),
        delivery.not_subscribed(events, due),
        delivery.never_published(events),
        order.fifo(events, contracts),
        order.priority(events, contracts),
        order.rank(events, contracts),
        agreement.pairwise(events, contracts),
        agreement.global_order(events, contracts),
        latency.late(events, due, contracts),
        protocol.left(events, contracts, protocols),
    ]
    return reduce(lambda one, other: one.unionByName(other), found)
