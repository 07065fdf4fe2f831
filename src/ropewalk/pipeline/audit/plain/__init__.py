"""The audit of events as plain Spark SQL: the second opinion, and the form for foreign tables.

`words` (rows, publications, first deliveries), then a family of rules each: `delivery` (A001 to
A004), `order` (A005 to A007), `agreement` (A008 and A009), `latency` (A010), `protocol` (A013).

Tables: `events` as stored, each row once; `due` (topic, client, durable, may_from, may_until,
must_from, a, b); `contracts` (topic, delivery, order, within_ns, protocol), where a topic that is
not listed has the default contract. Every rule returns the columns of `shapes.VIOLATIONS`.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ropewalk.pipeline.audit.plain import agreement, delivery, latency, order, protocol, words
from ropewalk.protocol.automaton import Automaton

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def rules(
    events: "DataFrame",
    due: "DataFrame",
    contracts: "DataFrame",
    *,
    deadline_ns: int,
    protocols: Mapping[str, Automaton],
) -> "dict[str, DataFrame]":
    """What each rule for events finds. One of them (A009) runs a job at once."""
    return {
        "A001": delivery.lost(events, due, contracts, deadline_ns=deadline_ns),
        "A002": delivery.duplicate(events, contracts),
        "A003": delivery.not_subscribed(events, due),
        "A004": delivery.never_published(events),
        "A005": order.fifo(events, contracts),
        "A006": order.priority(events, contracts),
        "A007": order.rank(events, contracts),
        "A008": agreement.pairwise(events, contracts),
        "A009": agreement.global_order(events, contracts),
        "A010": latency.late(events, due, contracts),
        "A013": protocol.left(events, contracts, protocols),
    }


def together(found: "Mapping[str, DataFrame]") -> "DataFrame":
    """All that rules found, as one table.

    In one query: a chain of unions is analysed anew at each of them, which takes longer than to
    ask for one rule after the other.
    """
    return words.query(" union all ".join(f"table {{{code}}}" for code in found), **found)
