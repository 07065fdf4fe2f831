"""The fast audit against brute force in plain Python: the same violations on small traces."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.pipeline.audited import both_ways, in_process
from tests.pipeline.oracle import audit
from tests.pipeline.small_traces import Small, small_trace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SEEDS = range(400)
ON_SPARK = range(400, 600)


def by_brute_force(trace: Small) -> set[tuple[Any, ...]]:
    return audit(
        trace.rows, trace.federation, deadline_ns=trace.deadline_ns, protocols=trace.protocols
    )


@pytest.mark.timeout(300)  # the first call compiles the kernels
def test_kernels_find_what_brute_force_finds() -> None:
    wrong = [
        seed for seed in SEEDS if in_process(small_trace(seed)) != by_brute_force(small_trace(seed))
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param({"clock_err_ns": 0}, id="clocks are right"),
        pytest.param({"redelivered": False}, id="nothing is redelivered"),
        pytest.param({"durable": False}, id="nothing is durable"),
        pytest.param({"incarnation": 0}, id="nobody restarts"),
    ],
)
def test_a_reading_that_ignores_a_column_disagrees(broken: dict[str, Any]) -> None:
    def blind(trace: Small) -> Small:
        return replace(trace, rows=[{**row, **broken} for row in trace.rows])

    traces = [small_trace(seed) for seed in range(100)]
    assert any(in_process(blind(one)) != by_brute_force(one) for one in traces)


def test_a_nanosecond_of_the_deadline_matters() -> None:
    traces = [small_trace(seed) for seed in range(100)]
    assert any(
        in_process(one, deadline_ns=one.deadline_ns + 1) != by_brute_force(one) for one in traces
    )


@pytest.mark.timeout(300)
def test_the_whole_pipeline_finds_what_brute_force_finds(
    spark: "SparkSession", tmp_path: Path
) -> None:
    found, expected, summary = both_ways(spark, ON_SPARK, tmp_path)
    assert found == expected
    assert {key[0] for key in found} == {f"A{number:03}" for number in range(1, 14)}
    assert summary["quarantined"] > 0, "files overlap"
