"""Spark SQL and brute force, two forms that share no code, find the same violations."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import networkx as nx
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropewalk.pipeline.audit import plain
from ropewalk.pipeline.audit.plain import agreement, delivery, order
from ropewalk.pipeline.audit.plain.cycles import strong_components
from ropewalk.pipeline.shapes import VIOLATION_KEY, VIOLATIONS
from ropewalk.trace.columns import IDENTITY, stored_schema, table_of
from ropewalk.trace.ids import id_of
from tests.pipeline.audited import apart, ids_of_key, stored
from tests.pipeline.oracle import audit, due_rows
from tests.pipeline.oracle_due import tidy, topic_of
from tests.pipeline.small_brinks import DEADLINE_NS
from tests.pipeline.small_traces import Small, small_trace

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SEEDS = range(1000, 1160)
OF_EVENTS = {f"A{number:03}" for number in (*range(1, 11), 13)}
DUE = "topic bigint, client bigint, durable boolean, may_from bigint, may_until bigint, must_from bigint, a bigint, b bigint"
CONTRACTS = "topic bigint, delivery string, `order` string, within_ns bigint, protocol string"
pytestmark = pytest.mark.timeout(300)  # one Spark job per rule, on a busy machine


@dataclass(frozen=True)
class Together:
    """Many traces as one: as tables, and what brute force says of each."""

    events: "DataFrame"
    due: "DataFrame"
    contracts: "DataFrame"
    protocols: dict[str, Any]
    expected: set[tuple[Any, ...]]
    rows: set[tuple[int, int, int]]


def contract_rows(trace: Small) -> Iterator[tuple[Any, ...]]:
    for name in {row["topic"] for row in trace.rows if row.get("pseq") is not None}:
        topic = topic_of(trace.federation, name)
        within = topic.contract.within_ms
        yield (
            id_of(name),
            topic.contract.delivery,
            topic.contract.order,
            None if within is None else round(within * 1_000_000),
            topic.protocol,
        )


@pytest.fixture(scope="module")
def together(spark: "SparkSession") -> Together:
    traces = [apart(small_trace(seed), seed) for seed in SEEDS]
    rows = [
        stored(row)
        for trace in traces
        for row in tidy(trace.rows)
        if table_of(row["kind"]) == "events"
    ]
    due = [
        (id_of(topic), id_of(client), *rest)
        for trace in traces
        for topic, client, *rest in due_rows(trace.rows)
    ]
    found = [
        audit(one.rows, one.federation, deadline_ns=DEADLINE_NS, protocols=one.protocols)
        for one in traces
    ]
    events = spark.createDataFrame(pa.Table.from_pylist(rows, stored_schema("events")))
    contracts = [row for trace in traces for row in contract_rows(trace)]
    return Together(
        events.cache(),
        spark.createDataFrame(due, DUE).cache(),
        spark.createDataFrame(contracts, CONTRACTS).cache(),
        traces[0].protocols,
        {ids_of_key(key) for keys in found for key in keys if key[0] in OF_EVENTS},
        {tuple(row[name] for name in IDENTITY) for row in rows},
    )


def keys_of(found: "list[Any]") -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in VIOLATION_KEY) for row in found]


@pytest.fixture(scope="module")
def found(together: Together) -> list[Any]:
    rules = plain.rules(
        together.events,
        together.due,
        together.contracts,
        deadline_ns=DEADLINE_NS,
        protocols=together.protocols,
    )
    return [row for rule in rules.values() for row in rule.collect()]


def test_sql_finds_what_brute_force_finds(together: Together, found: list[Any]) -> None:
    keys = keys_of(found)
    assert len(keys) == len(set(keys)), "a violation is told twice"
    assert set(keys) == together.expected
    assert {key[0] for key in keys} == OF_EVENTS


def test_evidence_is_rows_of_the_trace(together: Together, found: list[Any]) -> None:
    for violation in found:
        rows = [tuple(row) for row in violation.evidence]
        assert rows, violation
        assert set(rows) <= together.rows, violation


def test_amounts_are_told_where_they_mean_something(found: list[Any]) -> None:
    for violation in found:
        counted = violation.code in ("A002", "A009", "A010")
        assert (violation.amount or 0) > 0 if counted else violation.amount is None, violation


BROKEN: dict[str, tuple[str, str, Callable[[Together, "DataFrame"], "DataFrame"]]] = {
    "fifo by clock": ("A005", "li", lambda t, events: order.fifo(events, t.contracts)),
    "pairs by clock": ("A008", "li", lambda t, events: agreement.pairwise(events, t.contracts)),
    "acks without errors": (
        "A002",
        "err",
        lambda t, events: delivery.duplicate(events, t.contracts),
    ),
    "loss a nanosecond late": (
        "A001",
        "",
        lambda t, events: delivery.lost(events, t.due, t.contracts, deadline_ns=DEADLINE_NS + 1),
    ),
}
SPOILT = {
    "": {},
    "li": {"li": "ts_ns * 1000 + li"},
    "err": {"clock_err_ns": "0L"},
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_form_disagrees(together: Together, name: str) -> None:
    code, how, rule = BROKEN[name]
    changed = SPOILT[how]
    events = together.events.selectExpr(
        *(f"{changed.get(one, one)} as {one}" for one in together.events.columns)
    )
    keys = set(keys_of(rule(together, events).collect()))
    assert keys != {key for key in together.expected if key[0] == code}


def test_rules_make_one_table_where_a_topic_without_a_contract_has_the_default_one(
    together: Together, spark: "SparkSession"
) -> None:
    none = spark.createDataFrame([], CONTRACTS)
    found = plain.together(
        {
            "A005": order.fifo(together.events, none),
            "A007": order.rank(together.events, none),
        }
    )
    assert found.columns == VIOLATIONS.names
    fifo = {key for key in together.expected if key[0] == "A005"}
    keys = set(keys_of(found.collect()))
    assert fifo < keys
    assert {key[0] for key in keys} == {"A005"}


messages = st.tuples(st.just(1), st.just(1), st.integers(0, 7))


@given(st.lists(st.tuples(messages, messages)))
def test_components_are_those_of_another_program(steps: list[tuple[Any, Any]]) -> None:
    after: dict[Any, set[Any]] = {}
    for one, other in steps:
        after.setdefault(one, set()).add(other)
        after.setdefault(other, set())
    ours = {frozenset(component) for component in strong_components(after)}
    assert ours == set(map(frozenset, nx.strongly_connected_components(nx.DiGraph(after))))
