"""From a trace to a plan in one command; what it predicts is held against the truth and a replay."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import yaml

from ropewalk.pipeline.rates.stats import load_stats
from tests.conftest import Run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.timeout(400)

PEAK = ("--window-s", "60", "--peak", "busiest:3", "--model", "lognormal")
"""Generated rates are lognormal."""
OWN = 0.3


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, spark: "SparkSession") -> Path:
    from ropewalk.pipeline.generate import generate

    folder = tmp_path_factory.mktemp("work") / "t"
    generate(spark, folder, events=8e5, faults=[], seed=5, hours=168, brokers=4, topics=24)
    return folder


@pytest.fixture(scope="module")
def plan(folder: Path, ropewalk_once: Run) -> dict[str, Any]:
    """A plan in which brokers may do twice what they have to on average, no more."""
    path = folder / "federation.yaml"
    first = ropewalk_once("place", path, "--from-trace", folder, *PEAK, "--silent", "--json")
    assert first.code == 0, first.err
    brokers = first.document["summary"]["brokers"].values()
    used = 2.0 * sum(one["after"]["load"] for one in brokers) / len(brokers)
    path.write_text(path.read_text() + f"placement:\n  limits:\n    utilisation: {used:.9f}\n")
    out = folder / "plan.yaml"
    ran = ropewalk_once(
        "place", path, "--from-trace", folder, *PEAK, "--silent", "-o", out, "--json"
    )
    assert ran.code == 0, ran.err
    found: dict[str, Any] = ran.document["summary"]
    return found


def test_one_command_makes_a_plan_of_a_trace(folder: Path, plan: dict[str, Any]) -> None:
    written = yaml.safe_load((folder / "plan.yaml").read_text())
    assert written["version"] == plan["version"]
    margin = plan["outcome"]["least_margin"]
    assert margin["today"] < margin["after"] <= margin["best_found"]
    policies = json.loads((folder / "plan.policies.json").read_text())
    assert policies["version"] == written["policies"]["version"]
    assert len(policies["cases"]) == 1 + 4 + 6
    assert set(written["items"]) == set(written["mirrors"])
    assert all(written["mirrors"][item] != at for item, at in written["items"].items())


def test_predicted_deviations_are_those_of_the_truth(folder: Path, plan: dict[str, Any]) -> None:
    """Log-rates are loading * factor of the group + noise: so the covariance is known exactly."""
    truth = json.loads((folder / "truth.json").read_text())["rates"]["topics"]
    stats = load_stats(folder / "rates")
    names = [name for name in stats.names if name in truth]
    at = stats.place(names)
    loading = np.array([truth[name]["loading"] for name in names])
    group = np.array([truth[name]["group"] for name in names])
    mean = stats.mean_msgs_s[at] * 60
    shared = np.where(group[:, None] == group, np.outer(loading, loading), 0.0)
    true = np.outer(mean, mean) * (np.exp(shared + OWN**2 * np.eye(len(names))) - 1) + np.diag(mean)
    shares = []
    for broker, one in plan["brokers"].items():
        here = np.array([plan["items"][name] == broker for name in names])
        work = one["after"]["load"] / max(stats.mean_msgs_s[at][here].sum(), 1e-12)
        expected = work * np.sqrt(true[np.ix_(here, here)].sum()) / 60
        assert one["after"]["deviation"] == pytest.approx(expected, rel=0.4), broker
        shares.append(true.diagonal()[here].sum() / true[np.ix_(here, here)].sum())
    # Control: as if topics did not vary together, some broker's variance would be clearly less.
    assert min(shares) < 0.9


def test_the_replayed_trace_confirms_the_plan(
    folder: Path, plan: dict[str, Any], ropewalk: Run
) -> None:
    ran = ropewalk("place", "replay", folder / "plan.yaml", folder, "--peak", "busiest:3", "--json")
    assert ran.code == 0, ran.out
    summary = ran.document["summary"]
    assert summary["confirmed"] == len(summary["brokers"]) == 4
    assert sum(one["over"] for one in summary["brokers"]) > 20
    for one in summary["brokers"]:
        assert one["predicted"] == pytest.approx(
            plan["brokers"][one["broker"]]["after"]["risk"], rel=1e-3
        )


def test_a_plan_that_was_tampered_with_is_not_confirmed(
    folder: Path, plan: dict[str, Any], ropewalk: Run, tmp_path: Path
) -> None:
    """Control: as if the covariance were that of topics which vary apart, predictions are wrong."""
    matrix = np.load(folder / "rates" / "covariance.npy")
    copy = tmp_path / "rates"
    copy.mkdir()
    for file in (folder / "rates").iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    np.save(copy / "covariance.npy", np.diag(np.diagonal(matrix)) / 25)
    out = tmp_path / "plan.yaml"
    made = ropewalk(
        "place",
        folder / "federation.yaml",
        "--stats",
        copy,
        "--silent",
        "--model",
        "lognormal",
        "-o",
        out,
        "--capacities",
        folder / "capacities.yaml",
    )
    assert made.code == 0, made.err
    ran = ropewalk("place", "replay", out, folder, "--peak", "busiest:3", "--json")
    assert ran.code == 1
    assert {one["code"] for one in ran.document["findings"]} == {"L002"}
