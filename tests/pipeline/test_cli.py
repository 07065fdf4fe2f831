"""`ropewalk trace` and `ropewalk pipeline` as a user calls them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

import ropewalk as ropewalk_package
from ropewalk.pipeline.java import java_home
from tests.conftest import Run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.timeout(400)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, spark: "SparkSession") -> Path:
    from ropewalk.pipeline.generate import generate

    folder = tmp_path_factory.mktemp("work") / "t"
    generate(spark, folder, events=2e4, faults=["all"], seed=3)
    return folder


def test_all_jobs_find_what_was_put_in(ropewalk: Run, folder: Path) -> None:
    ran = ropewalk("pipeline", "all", folder, "--json")
    assert ran.code == 1, ran.err
    summary = ran.document["summary"]
    assert (summary["missed"], summary["spurious"]) == (0, 0)
    kinds = summary["audit"]["kinds"]
    assert {code for code, one in kinds.items() if one["injected"]} >= {"A001", "A005", "A013", "Q"}
    assert summary["ingest"]["in"] == summary["ingest"]["good"] + summary["ingest"]["quarantined"]
    assert summary["rates"]["messages"] > 0
    assert summary["calibrate"]["calibrated"] > 0
    assert (folder / "rates" / "covariance.npy").is_file()
    assert "capacity" in (folder / "capacities.yaml").read_text()
    codes = {one["code"] for one in ran.document["findings"]}
    assert codes == {code for code, one in kinds.items() if code != "Q" and one["injected"]}

    # A fault that the ledger does not have is told as one too many, and the other way round.
    ledger = folder / "ledger.parquet"
    table = pq.read_table(ledger)
    pq.write_table(table.slice(1), ledger)
    again = ropewalk("pipeline", "audit", folder, "--json").document["summary"]
    pq.write_table(table, ledger)
    assert (again["missed"], again["spurious"]) == (0, 1)

    text = ropewalk("pipeline", "audit", folder).out
    assert "against the ledger: 0 missed, 0 too many" in text
    assert max(map(len, text.splitlines()[-3:])) <= 160


def test_costs_of_brokers_are_shown(ropewalk: Run, folder: Path) -> None:
    ran = ropewalk("pipeline", "calibrate", folder)
    told = [line.split() for line in ran.out.splitlines()[2:]]
    assert len(told) == len({name for name, *_ in told}) > 1
    assert all(len(costs) == 3 and float(costs[0]) > 0 for _, *costs in told)


def test_spark_submit_runs_the_same_program(ropewalk: Run, folder: Path) -> None:
    program = Path(ropewalk_package.__file__).parent / "__main__.py"
    submit = Path(sys.executable).with_name("spark-submit")
    home = {name: one for name, one in os.environ.items() if not name.startswith("PYSPARK_")}
    done = subprocess.run(
        [submit, "--master", "local[2]", program, "pipeline", "audit", folder, "--json"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**home, "PYSPARK_PYTHON": sys.executable, "JAVA_HOME": str(java_home())},
    )
    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout.splitlines()[-1])
    assert (document["summary"]["missed"], document["summary"]["spurious"]) == (0, 0)


@pytest.mark.parametrize("harm", ["damaged", "gone"])
def test_a_file_of_the_store_that_cannot_be_read_is_told_in_a_line(
    ropewalk: Run, folder: Path, harm: str
) -> None:
    file = next((folder / "store" / "events").glob("*.parquet"))
    kept = file.read_bytes()
    if harm == "gone":
        file.unlink()
    else:
        file.write_bytes(b"no Parquet")
    ran = ropewalk("pipeline", "audit", folder)
    file.write_bytes(kept)
    assert ran.code == 2
    assert ran.err.count("\n") == 1, ran.err
    assert file.name in ran.err
    assert "ingest its traces anew" in ran.err


def test_the_rows_behind_a_violation_are_shown(ropewalk: Run, folder: Path) -> None:
    listed = ropewalk("trace", "show", folder, "--code", "A005", "--json").document["summary"]
    number = listed["shown"][0]["number"]
    one = ropewalk("trace", "show", folder, number, "--json").document["summary"]
    first, second = one["evidence"]
    assert (first["kind"], second["kind"]) == ("deliver", "deliver")
    assert first["pseq"] > second["pseq"] == one["pseq"]
    assert first["producer"] == second["producer"] == one["producer"]
    rows = pq.read_table(second["file"]).to_pylist()
    assert rows[second["line"] - 1]["pseq"] == one["pseq"]
    assert f"{second['file']}:{second['line']}" in ropewalk("trace", "show", folder, number).out


def test_what_cannot_be_done_is_told(ropewalk: Run, folder: Path, tmp_path: Path) -> None:
    for arguments, code, words in (
        (("pipeline", "all", tmp_path / "none"), 2, "no such folder"),
        (("pipeline", "audit", tmp_path), 2, "there is no store"),
        (("pipeline", "ingest", tmp_path), 2, "holds no trace"),
        (("pipeline", "rates", folder, "--peak", "often"), 2, "busiest:HOURS"),
        (("pipeline", "stream", folder, "--nats", "nats://127.0.0.1:1"), 2, "--stream"),
        (("trace", "show", folder, 10**6), 2, "there is no violation"),
        (("trace", "show", tmp_path), 2, "there is no audit"),
        (("trace", "generate", "-o", tmp_path / "x", "--faults", "rain"), 2, "rain"),
    ):
        ran = ropewalk(*arguments)
        assert (ran.code, words in ran.err) == (code, True), (arguments, ran)
        assert "Traceback" not in ran.err


def test_a_job_that_fails_leaves_what_was_there(ropewalk: Run, folder: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in (folder / "audit").iterdir()}
    broken = folder / "broken.yaml"
    broken.write_text("federation: 1\nbrokers: 7\n")
    assert ropewalk("pipeline", "audit", folder, "--federation", broken).code == 2
    assert before == {path: path.stat().st_mtime_ns for path in (folder / "audit").iterdir()}
    assert json.loads((folder / "audit" / "summary.json").read_text())["violations"] > 0


def test_traces_beside_what_jobs_write_are_taken_in_once(
    ropewalk: Run, spark: "SparkSession", tmp_path: Path
) -> None:
    work = tmp_path / "a [b] {c}"  # what Spark takes for a pattern
    work.mkdir()
    row = {"ts_ns": 1, "node": "n", "li": 1, "kind": "publish", "client": "p", "producer": "p",
           "topic": "t", "pseq": 1}  # fmt: skip
    deliveries = [{**row, "li": li, "kind": "deliver", "client": "c"} for li in (2, 3)]
    lines = [json.dumps(one) for one in (row, *deliveries)]
    (work / "a.jsonl").write_text("\n".join([*lines, "no JSON"]))
    (work / "empty.jsonl").touch()
    (work / "federation.yaml").write_text(
        "federation: one\nbrokers: {n: {}}\ntopics:\n"
        "  t: {publishers: [n], contract: {delivery: exactly-once}}\n"
    )
    ran = ropewalk("pipeline", "ingest", work)
    assert ran.code == 0, ran.err
    assert f"{work / 'a.jsonl'}:4: not JSON" in ran.out
    told = ropewalk("pipeline", "audit", work, "--json").document
    codes = [one["code"] for one in told["findings"]]
    assert "A002" in codes, told
    again = ropewalk("pipeline", "ingest", work, "--json").document["summary"]
    assert (again["in"], again["stored"]["events"]) == (0, 3)
    shown = ropewalk("trace", "show", work, codes.index("A002") + 1)
    assert f"{work / 'a.jsonl'}:3" in shown.out, shown.err


def test_nothing_is_started_or_replaced_for_what_makes_no_sense(
    ropewalk: Run, folder: Path, tmp_path: Path
) -> None:
    assert "no such folder" in ropewalk("pipeline", "ingest", tmp_path / "none").err
    assert "no such code" in ropewalk("trace", "show", folder, "--code", "A099").err
    assert ropewalk("trace", "show", folder, "--code", "a005").out.count("A005")
    before = (folder / "capacities.yaml").read_bytes()
    runs = tmp_path / "runs.csv"
    runs.write_text("broker,filters,replication,service_us\nlon,1,1,-5\n")
    refused = ropewalk("pipeline", "calibrate", folder, "--runs", runs)
    assert (refused.code, refused.err.count("\n")) == (2, 1), refused.err
    assert (folder / "capacities.yaml").read_bytes() == before
    assert ropewalk("pipeline", "rates", folder, "--window-s", "nan").code == 2
