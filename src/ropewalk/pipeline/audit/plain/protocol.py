"""Conversations that leave their protocol: A013."""

from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any

from ropewalk.pipeline.audit.plain.words import query, report, seen, under
from ropewalk.protocol.automaton import Automaton
from ropewalk.protocol.observed import observed
from ropewalk.trace.ids import id_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

AUTOMATA = "protocol string, initial int, width int, table array<int>"
LABELS = "protocol string, label bigint, number int"

NOT_ALLOWED, UNKNOWN = -1, -2
"""States: after a step that no transition takes; after a row without a label."""


def left(
    events: "DataFrame", contracts: "DataFrame", protocols: Mapping[str, Automaton]
) -> "DataFrame":
    """A013: the first publication of a conversation that no transition takes."""
    found = query(
        """
        with walked as (
          select conversation, steps, table, width, aggregate(steps,
            named_struct('state', initial, 'taken', 0), (now, step) -> case
              when now.state < 0 then now
              when step.number is null then named_struct('state', {unknown}, 'taken', now.taken)
              when step.number < 0 or get(table, now.state * width + step.number) < 0
                then named_struct('state', {wrong}, 'taken', now.taken)
              else named_struct('state', get(table, now.state * width + step.number),
                                'taken', now.taken + 1) end) as walk
          from {conversations} join {automata} using (protocol)),
        stopped as (
          select conversation, get(steps, walk.taken) as step, steps, table, width
          from walked where walk.state = {wrong})
        select step.topic, step.producer, step.pseq, conversation as other,
          array(named_struct('node', step.node, 'incarnation', step.incarnation, 'li', step.li))
            as evidence, steps, table, width
        from stopped
        """,
        conversations=_conversations(events, contracts, protocols),
        automata=_automata(events.sparkSession, protocols),
        unknown=UNKNOWN,
        wrong=NOT_ALLOWED,
    )
    from pyspark.sql.functions import udf

    sure = udf(in_every_order, "boolean", useArrow=False)
    found = found.where(sure("steps", "table", "width")).drop("steps", "table", "width")
    return report(found, "A013")


def in_every_order(steps: Sequence[Any], table: Sequence[int], width: int) -> bool:
    """Whether no order of messages that the clocks allow keeps to the protocol."""
    earlier = [
        {j for j, other in enumerate(steps) if j != i and _before(other, one)}
        for i, one in enumerate(steps)
    ]
    try:
        TopologicalSorter(dict(enumerate(earlier))).prepare()
    except CycleError:
        return False
    edge = {(frozenset[int](), 0)}
    for _ in steps:
        further = set()
        for taken, state in edge:
            for i, one in enumerate(steps):
                if i in taken or not earlier[i] <= taken:
                    continue
                if one.number is None:
                    return False
                to = table[state * width + one.number] if one.number >= 0 else NOT_ALLOWED
                if to >= 0:
                    further.add((taken | {i}, to))
        edge = further
    return not edge


def _before(one: Any, other: Any) -> bool:
    if one.node == other.node:
        return bool((one.incarnation, one.li) < (other.incarnation, other.li))
    return bool(one.late < other.early)


def _conversations(
    events: "DataFrame", contracts: "DataFrame", protocols: Mapping[str, Automaton]
) -> "DataFrame":
    """Each conversation's publications in their order, with the numbers of their labels."""
    return query(
        """
        select protocol, conversation, array_sort(collect_list(struct(
          latest, node, incarnation, li, early, late, topic, producer, pseq, number)))
          as steps
        from (
          select s.*, if(s.label is null, null, coalesce(l.number, {wrong})) as number,
            max(ts_ns) over (partition by protocol, conversation, node
                             order by incarnation, li) as latest
          from {said} s left join {labels} l using (protocol, label))
        group by protocol, conversation
        """,
        said=_said(events, contracts),
        labels=_labels(events.sparkSession, protocols),
        wrong=NOT_ALLOWED,
    )


def _said(events: "DataFrame", contracts: "DataFrame") -> "DataFrame":
    """Publications of conversations; one that is told again counts if nothing else tells of it."""
    return query(
        """
        select * except (place) from (
          select *, row_number() over (
            partition by topic, producer, pseq
            order by redelivered, ts_ns, node, incarnation, li) as place from {told})
        where place = 1 or not redelivered
        """,
        told=under(
            seen(events, "publish"), contracts, "protocol is not null and conversation is not null"
        ),
    )


def _automata(spark: "SparkSession", protocols: Mapping[str, Automaton]) -> "DataFrame":
    seen = {name: observed(one) for name, one in protocols.items()}
    rows = [(name, 0, len(one.labels), one.table.ravel().tolist()) for name, one in seen.items()]
    return spark.createDataFrame(rows, AUTOMATA)


def _labels(spark: "SparkSession", protocols: Mapping[str, Automaton]) -> "DataFrame":
    rows = [
        (name, id_of(label), number)
        for name, one in protocols.items()
        for number, label in enumerate(observed(one).labels)
    ]
    return spark.createDataFrame(rows, LABELS)
