"""Calibration finds the costs that data were made with, says how sure it is, and what it cannot tell."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from ropewalk.errors import UsageError
from ropewalk.federation.facts import Performance
from ropewalk.federation.loading import loads
from ropewalk.pipeline.calibrate import (
    Calibration,
    Calibrations,
    Fit,
    Observations,
    calibrate,
    calibrate_runs,
    fit,
    write_capacities,
)
from ropewalk.pipeline.calibrate.solve import nonnegative
from ropewalk.trace.columns import stored_schema
from ropewalk.trace.ids import id_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ACTIVEMQ = (48.81, 0.162, 16.4)


def windows(
    seed: int,
    *,
    count: int = 150,
    costs: tuple[float, float, float] = ACTIVEMQ,
    wild: float = 0.05,
    **given: Any,
) -> Observations:
    """Windows of a broker with these costs, 5 % of noise, and wild ones among them."""
    rng = np.random.default_rng(seed)
    filters = given.get("filters", rng.uniform(0, 200, count))
    replication = given.get("replication", rng.uniform(0, 12, count))
    messages = rng.integers(200, 4000, count).astype(np.float64)
    true = costs[0] + costs[1] * filters + costs[2] * replication
    seen = true * (1 + 0.05 * rng.standard_normal(count) * np.sqrt(1000 / messages))
    odd = rng.random(count) < wild
    seen[odd] *= rng.uniform(3, 10, odd.sum())
    return Observations(filters, replication, seen, messages)


def plain(seen: Observations) -> Any:
    columns = np.column_stack((np.ones(len(seen.messages)), seen.filters, seen.replication))
    root = np.sqrt(seen.messages)
    return nnls(columns * root[:, None], seen.service_us * root)[0]


@pytest.mark.parametrize("seed", range(5))
def test_known_costs_come_back_from_data_with_outliers(seed: int) -> None:
    found = fit(windows(seed, count=400))
    assert found.costs is not None
    assert found.costs == pytest.approx(ACTIVEMQ, rel=0.15)
    assert found.costs[0] == pytest.approx(ACTIVEMQ[0], rel=0.05)
    assert found.costs[2] == pytest.approx(ACTIVEMQ[2], rel=0.03)
    assert 5 <= found.outliers <= 40
    assert not found.unseparated


def test_plain_least_squares_misses_on_the_same_data() -> None:
    """The control: without robustness a twentieth of wild windows moves everything."""
    errors = [abs(plain(windows(seed, count=400))[0] / ACTIVEMQ[0] - 1) for seed in range(5)]
    assert min(errors) > 0.05


def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    rounds = 120
    inside = np.zeros(3)
    for seed in range(rounds):
        found = fit(windows(seed), seed=seed, replicates=199)
        assert found.low
        assert found.high
        inside += [
            low <= true <= high
            for low, true, high in zip(found.low, ACTIVEMQ, found.high, strict=True)
        ]
    # 95 % of 120 rounds, give or take three deviations, and a little less for the bootstrap.
    assert (inside / rounds > 0.87).all()
    assert (inside / rounds < 1.0).any()


def test_intervals_of_half_the_width_would_not() -> None:
    """The control of the test above."""
    inside = 0
    for seed in range(60):
        found = fit(windows(seed), seed=seed, replicates=199)
        assert found.low
        assert found.high
        middle, half = (found.low[0] + found.high[0]) / 2, (found.high[0] - found.low[0]) / 4
        inside += abs(ACTIVEMQ[0] - middle) <= half
    assert inside / 60 < 0.87


def test_a_cost_of_zero_is_found_as_zero_and_never_below() -> None:
    found = fit(windows(3, costs=(50.0, 0.0, 10.0)))
    assert found.costs
    assert found.low
    assert found.high
    assert 0 <= found.low[1] <= found.costs[1] <= found.high[1] < 0.05


def test_the_same_seed_gives_the_same_result() -> None:
    assert fit(windows(1), seed=5) == fit(windows(1), seed=5)
    assert fit(windows(1), seed=5) != fit(windows(1), seed=6)


def test_too_few_windows_are_refused() -> None:
    found = fit(windows(1, count=9))
    assert found.costs is None
    assert found.notes == ("9 usable windows (0 others): at least 10 are needed",)


def test_windows_that_are_not_whole_are_counted_and_left_out() -> None:
    seen = windows(1, wild=0)
    seen.filters[3] = np.nan
    seen.messages[4] = 0
    seen.service_us[5] = -1
    found = fit(seen)
    assert (found.windows, found.unusable) == (147, 3)
    assert found.costs
    assert found.costs[2] == pytest.approx(ACTIVEMQ[2], rel=0.03)


def test_filters_that_never_vary_are_counted_with_receiving() -> None:
    found = fit(windows(1, filters=np.full(150, 30.0)))
    assert found.unseparated == ("filter_us",)
    assert "filter_us cannot be told from receive_us" in found.notes[0]
    assert "always about 30" in found.notes[0]
    assert found.costs
    assert found.costs[1] == 0
    assert found.costs[0] == pytest.approx(ACTIVEMQ[0] + 30 * ACTIVEMQ[1], rel=0.05)
    assert found.costs[2] == pytest.approx(ACTIVEMQ[2], rel=0.03)


def test_copies_in_step_with_filters_are_told_together() -> None:
    copies = np.random.default_rng(2).uniform(1, 12, 150)
    found = fit(windows(1, filters=5 * copies, replication=copies))
    assert found.unseparated == ("filter_us",)
    assert "from send_us" in found.notes[0]
    assert found.costs
    assert found.costs[2] == pytest.approx(ACTIVEMQ[2] + 5 * ACTIVEMQ[1], rel=0.03)


def test_nothing_but_receiving_is_told_where_nothing_varies() -> None:
    found = fit(windows(1, filters=np.zeros(150), replication=np.full(150, 2.0)))
    assert found.unseparated == ("filter_us", "send_us")
    assert "no filters" in found.notes[0]
    assert found.costs
    assert found.costs[0] == pytest.approx(ACTIVEMQ[0] + 2 * ACTIVEMQ[2], rel=0.03)
    assert found.service_us
    low, best, high = found.service_us
    assert low < best < high


@given(st.integers(0, 10**6), st.integers(1, 3))
@settings(deadline=None)
def test_costs_are_those_of_non_negative_least_squares(seed: int, width: int) -> None:
    rng = np.random.default_rng(seed)
    columns, answers = rng.normal(size=(12, width)), rng.normal(size=12)
    weights = rng.uniform(0.1, 3, (2, 12))
    found = nonnegative(columns, answers, weights)
    for costs, weight in zip(found, weights, strict=True):
        root = np.sqrt(weight)
        right, left = nnls(columns * root[:, None], answers * root)
        assert costs == pytest.approx(right, abs=1e-6)
        assert np.linalg.norm((answers - columns @ costs) * root) == pytest.approx(left)


def samples(**brokers: Observations) -> pa.Table:
    """Rows as a trace stores them."""
    rows = []
    for name, seen in brokers.items():
        for i in range(len(seen.messages)):
            messages = int(seen.messages[i])
            rows.append(
                {
                    "ts_ns": i,
                    "node": id_of(name),
                    "li": i,
                    "kind": 15,
                    "window_ns": 10**9,
                    "messages_in": messages,
                    "messages_out": round(messages * seen.replication[i]),
                    "filters": seen.filters[i],
                    "cpu_us": seen.service_us[i] * messages,
                }
            )
    return pa.Table.from_pylist(rows, schema=stored_schema("samples"))


def test_all_brokers_of_a_trace_are_calibrated_each_by_itself(spark: "SparkSession") -> None:
    fast, slow, new = (20.0, 0.1, 5.0), (90.0, 0.5, 40.0), (1.0, 1.0, 1.0)
    table = samples(
        fast=windows(1, costs=fast), slow=windows(2, costs=slow), new=windows(3, count=4, costs=new)
    )
    names = {id_of(name): name for name in ("fast", "slow", "new")}
    frame = spark.createDataFrame(table)
    found = calibrate(frame, names=names)
    assert [one.broker for one in found.brokers] == ["fast", "new", "slow"]
    assert found["new"].performance is None
    assert found["new"].capacity_msgs_s() is None
    for name, costs in (("fast", fast), ("slow", slow)):
        one = found[name].performance
        assert one is not None
        assert (one.receive_us, one.send_us) == pytest.approx((costs[0], costs[2]), rel=0.1)
    assert found.summary["calibrated"] == 2
    assert found.summary["windows"] == 304
    again = calibrate(frame.repartition(5), names=names)
    assert again == found
    with pytest.raises(UsageError, match="nothing to calibrate from"):
        calibrate(frame.where("false"))
    with pytest.raises(UsageError, match="no broker 'nobody'"):
        found["nobody"]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("measured", ["service_us", "messages_per_s"])
def test_runs_made_to_calibrate_are_read_from_a_file(
    spark: "SparkSession", tmp_path: Path, kind: str, measured: str
) -> None:
    import pyarrow.csv
    import pyarrow.parquet

    seen = windows(4, wild=0)
    figures = seen.service_us if measured == "service_us" else 1e6 / seen.service_us
    table = pa.table(
        {
            "broker": ["amq"] * 150,
            "filters": seen.filters,
            "replication": seen.replication,
            measured: figures,
        }
    )
    path = tmp_path / f"runs.{kind}"
    if kind == "csv":
        pyarrow.csv.write_csv(table, path)
    else:
        pyarrow.parquet.write_table(table, path)
    one = calibrate_runs(spark, path)["amq"]
    assert one.performance
    assert one.performance.send_us == pytest.approx(ACTIVEMQ[2], rel=0.05)


def test_faulty_files_of_runs_are_refused(spark: "SparkSession", tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"FILE\.csv or FILE\.parquet"):
        calibrate_runs(spark, tmp_path / "runs.txt")
    with pytest.raises(UsageError, match=r"gone\.csv: cannot be read"):
        calibrate_runs(spark, tmp_path / "gone.csv")
    path = tmp_path / "runs.csv"
    path.write_text("broker,filters\na,1\n")
    with pytest.raises(UsageError, match="no column replication, service_us or messages_per_s"):
        calibrate_runs(spark, path)
    path.write_text("broker,filters,replication,service_us,messages_per_s\na,1,1,1,1\n")
    with pytest.raises(UsageError, match="give one of these columns"):
        calibrate_runs(spark, path)


def result() -> Calibrations:
    costs = (48.81234, 0.16221, 16.4)
    told = Fit(20, 1, 2, 3.0, 10.0, costs, costs, costs, (213.0, 213.3, 214.0), (), ())
    return Calibrations(
        [Calibration("lon-e1", told), Calibration("b2", Fit(1, 0, notes=("too few",)))]
    )


@pytest.mark.parametrize("suffix", ["yaml", "json"])
def test_capacities_go_into_a_federation_file(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"capacities.{suffix}"
    write_capacities(result(), path)
    text = path.read_text()
    told = json.loads(text) if suffix == "json" else yaml.safe_load(text)
    assert told == {
        "brokers": {
            "lon-e1": {"capacity": {"receive_us": 48.81, "filter_us": 0.1622, "send_us": 16.4}}
        }
    }
    assert ("# b2: too few\n" in text) == (suffix == "yaml")
    federation = loads("federation: f\n" + text) if suffix == "yaml" else None
    if federation:
        assert federation.brokers["lon-e1"].capacity == Performance(
            receive_us=48.81, filter_us=0.1622, send_us=16.4
        )


def test_capacities_go_nowhere_else(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"FILE\.yaml or FILE\.json"):
        write_capacities(result(), tmp_path / "capacities.txt")


def test_results_are_a_table_too() -> None:
    frame = result().frame()
    assert list(frame["broker"]) == ["lon-e1", "b2"]
    assert frame["capacity.send_us"][0] == 16.4
