"""The scripts of deploy/spark: a master and a worker on this machine, and a job that they run."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conftest import Run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "deploy" / "spark"
SOON_S = 90

pytestmark = pytest.mark.timeout(400)


def environment(folder: Path) -> dict[str, str]:
    """Of a host of the cluster: the pages of master and worker take any port."""
    mine = {name: one for name, one in os.environ.items() if not re.match("(PY)?SPARK_", name)}
    return mine | {
        "PYTHON": sys.executable,
        "SPARK_MASTER_WEBUI_PORT": "0",
        "SPARK_WORKER_WEBUI_PORT": "0",
        "SPARK_WORKER_CORES": "2",
        "SPARK_WORKER_MEMORY": "1g",
        "SPARK_WORKER_DIR": str(folder / "work"),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a master that has a worker."""
    folder = tmp_path_factory.mktemp("cluster")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    address = f"spark://127.0.0.1:{port}"
    running: list[subprocess.Popen[bytes]] = []

    def start(told: str, *given: str) -> None:
        log = folder / f"{given[0]}.log"
        with log.open("w") as file:
            command: list[str | Path] = ["sh", SCRIPTS / "standalone.sh", *given]
            running.append(
                subprocess.Popen(
                    command,
                    stdout=file,
                    stderr=file,
                    env=environment(folder),
                    start_new_session=True,
                )
            )
        until = time.monotonic() + SOON_S
        while told not in log.read_text():
            assert running[-1].poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.1)

    try:
        start("I have been elected leader", "master", "127.0.0.1", port)
        start("Successfully registered with master", "worker", "127.0.0.1", address)
        yield address
    finally:
        for one in reversed(running):
            os.killpg(one.pid, signal.SIGKILL)
            one.wait()


def test_a_job_runs_on_a_cluster_by_spark_submit(
    master: str, ropewalk: Run, spark: "SparkSession", tmp_path: Path
) -> None:
    folder = tmp_path / "t"
    made = ropewalk("trace", "generate", "--events", "2e4", "--faults", "all", "-o", folder)
    assert made.code == 0, made.err
    assert ropewalk("pipeline", "ingest", folder).code == 0
    done = subprocess.run(
        ["sh", SCRIPTS / "submit.sh", master, "audit", folder, "--json"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=environment(tmp_path) | {"SUBMIT_OPTIONS": "--executor-memory 512m"},
    )
    assert done.returncode == 1, done.stderr  # the faults that were put in
    summary = json.loads(done.stdout.splitlines()[-1])["summary"]
    assert (summary["missed"], summary["spurious"]) == (0, 0)
    assert "app-" in done.stderr, "it did not run on the cluster"


@pytest.mark.parametrize(
    ("script", "given"),
    [
        ("standalone.sh", []),
        ("standalone.sh", ["worker", "127.0.0.1"]),
        ("standalone.sh", ["boss", "127.0.0.1"]),
        ("submit.sh", ["local[2]", "all"]),
    ],
)
def test_scripts_say_how_they_are_called(script: str, given: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", SCRIPTS / script, *given],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=environment(tmp_path),
    )
    assert done.returncode == 2
    assert done.stderr.startswith("usage: ")
