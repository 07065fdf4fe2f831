"""Latencies of links come out of traces as they were put in, with what clocks may be off."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from ropewalk.errors import UsageError
from ropewalk.federation.facts import Histogram
from ropewalk.pipeline.latencies import (
    LINKS,
    ends_of,
    latencies,
    measured,
    read_latencies,
    write_latencies,
)
from ropewalk.trace.columns import KIND, stored_schema
from ropewalk.trace.ids import id_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MS = 1_000_000
NAMES = {id_of(name): name for name in ("a--b", "b--c")}


def row(kind: str, node: str, ms: float, pseq: int, link: str | None = None, err: int = 0) -> Any:
    return {
        "kind": KIND[kind],
        "node": id_of(node),
        "ts_ns": round(ms * MS),
        "clock_err_ns": err,
        "topic": 1,
        "producer": 2,
        "pseq": pseq,
        "link": None if link is None else id_of(link),
        "li": round(ms * 1000),
    }


def found_in(spark: "SparkSession", rows: list[Any]) -> Any:
    events = spark.createDataFrame(pa.Table.from_pylist(rows, schema=stored_schema("events")))
    links = spark.createDataFrame(ends_of(NAMES.values()), LINKS)
    counted = latencies(events, links).collect()
    return measured(((r[0], r[1], r[2], r[3]) for r in counted), NAMES)


def test_messages_are_timed_from_end_to_end_of_each_link(spark: "SparkSession") -> None:
    rows = []
    for pseq, took in enumerate((2.0, 2.0, 9.0)):
        rows += [
            row("accepted", "a", 0, pseq),
            row("forward", "a", 1, pseq, "a--b", err=300_000),
            row("forward", "b", 1 + took, pseq, "b--c", err=200_000),
            row("deliver", "c", 4 + took, pseq),
            row("deliver", "c", 50, pseq),  # another client: the first sight counts
        ]
    found = found_in(spark, rows)
    assert list(found.links) == ["a--b", "b--c"]
    assert found.messages == 6
    one = found.links["a--b"]
    assert one.error_ms == 0.5
    assert sum(one.counts) == 3
    assert one.edges_ms[0] <= 2.0 < one.edges_ms[1]
    assert one.counts[0] == 2
    assert one.edges_ms[-2] <= 9.0 < one.edges_ms[-1]
    assert found.links["b--c"].counts == (3,)


def test_what_came_before_it_was_sent_is_left_out_unless_clocks_explain_it(
    spark: "SparkSession",
) -> None:
    rows = [
        row("forward", "a", 10, 1, "a--b"),
        row("deliver", "b", 9, 1),
        row("forward", "a", 10, 2, "a--b", err=2 * MS),
        row("deliver", "b", 9, 2),
        row("forward", "a", 10, 3, "a--b"),  # never seen again
    ]
    found = found_in(spark, rows)
    assert found.impossible == 1
    assert found.links["a--b"] == Histogram(edges_ms=(0.0, 0.01), counts=(1,), error_ms=2.0)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    rows = [(next(iter(NAMES)), 40, 5, 1000), (next(iter(NAMES)), 42, 1, 7)]
    found = measured(rows, NAMES)
    write_latencies(found, tmp_path / "latencies.yaml")
    assert read_latencies(tmp_path / "latencies.yaml") == found.links


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "no YAML"),
        ("links: []", "holds no latencies"),
        ("links: [{between: [a]}]", "link 1: write between"),
        ("links: [{between: [a, b]}]", "a--b: histogram"),
        (
            "links: [{between: [a, b], histogram: {edges_ms: [0, 1], counts: [x]}}]",
            "histogram.counts.0",
        ),
        (
            "links: [{between: [a, b], histogram: {edges_ms: [0, 2, 1], counts: [1, 1]}}]",
            "rising order",
        ),
        (
            "links: [{between: [a, b], histogram: {edges_ms: [0, 2], counts: [1, 1]}}]",
            "do not fit",
        ),
    ],
)
def test_a_damaged_file_is_told_by_its_fault(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "latencies.yaml"
    file.write_text(text)
    with pytest.raises(UsageError, match=said):
        read_latencies(file)
    with pytest.raises(UsageError, match="no such file"):
        read_latencies(tmp_path / "none.yaml")
