"""Spark starts wherever it is told to, gives the same answers there, and says nothing on the way."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ropewalk.errors import UsageError
from ropewalk.pipeline import java, quick
from ropewalk.pipeline import session as starting
from ropewalk.pipeline.session import Target, session, target_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
ARCHIVE = quick.archive_path(java.quiet_home()).name

JOB = """
import json, subprocess, sys
from pathlib import Path
from ropewalk.pipeline.quick import quick_options
from ropewalk.pipeline.rates.counts import counts
from ropewalk.pipeline.session import session
from ropewalk.pipeline.store import open_store
from tests.pipeline.audited import both_ways

where, folder = json.loads(sys.argv[1]), Path(sys.argv[2])
conf = {"spark.sql.shuffle.partitions": "2"}
if not where.get("remote", "").startswith("sc:"):
    conf |= dict.fromkeys(
        ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions"), quick_options()
    )
spark = session(**where, **conf)
found, expected, summary = both_ways(spark, range(20), folder)
assert found == expected
counted = counts(open_store(folder / "store").contents(spark), 100)
for one in summary["put_aside"]:
    one["file"] = Path(one["file"]).name  # each has a folder of its own
answer = {
    "found": sorted(map(str, found)),
    "ingested": summary,
    "counted": sorted(map(list, counted.collect())),
    "text": spark.sql("select date_format(timestamp_seconds(0), 'HH:mm') as t").collect()[0].t,
}
if where.get("remote", "").startswith("local"):  # its server serves other processes too
    other = json.dumps({"remote": "sc://localhost:15002"})
    command = [sys.executable, sys.argv[3], other, str(folder / "again"), sys.argv[3]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=160)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == answer, done.stdout
print(json.dumps(answer))
spark.stop()
"""

WHERE = {
    "local": {"master": "local[2]"},
    "local-cluster": {"master": "local-cluster[2,1,1024]"},
    "connect": {"remote": "local[2]"},
}


@cache
def run(where: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """The job in a process of its own: there is one Java per process."""
    script, data = folder / f"{where}.py", folder / where
    script.write_text(JOB)
    data.mkdir()
    home = {name: value for name, value in os.environ.items() if not name.startswith("SPARK_")}
    return subprocess.run(
        [sys.executable, script, json.dumps(WHERE[where]), data, script],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        env={**home, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])},
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("conformance")


@pytest.mark.timeout(560)  # two processes, each of which may start three Javas
@pytest.mark.parametrize("where", WHERE)
def test_jobs_give_the_same_answers_wherever_they_run(where: str, folder: Path) -> None:
    done = run(where, folder)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["found"]
    assert answer["counted"]
    assert answer["text"] == "00:00"
    assert answer == json.loads(run("local", folder).stdout)
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("options", "environment", "target"),
    [
        ({}, {}, Target("local[*]")),
        ({"master": "local[3]"}, {}, Target("local[3]", asked="master")),
        ({"remote": "sc://h"}, {}, Target("sc://h", remote=True, asked="remote")),
        (
            {},
            {"ROPEWALK_SPARK_MASTER": "yarn"},
            Target("yarn", asked="ROPEWALK_SPARK_MASTER"),
        ),
        (
            {},
            {"ROPEWALK_SPARK_REMOTE": "sc://h"},
            Target("sc://h", remote=True, asked="ROPEWALK_SPARK_REMOTE"),
        ),
        ({}, {"SPARK_REMOTE": "sc://h"}, Target("sc://h", remote=True, asked="SPARK_REMOTE")),
        (
            {},
            {"SPARK_REMOTE": "sc://h", "ROPEWALK_SPARK_MASTER": "yarn"},
            Target("yarn", asked="ROPEWALK_SPARK_MASTER"),
        ),
        (
            {"master": "local"},
            {"ROPEWALK_SPARK_REMOTE": "sc://h", "SPARK_REMOTE": "sc://g"},
            Target("local", asked="master"),
        ),
    ],
)
def test_an_option_wins_over_the_environment(
    options: dict[str, str], environment: dict[str, str], target: Target
) -> None:
    assert target_of(**options, environment=environment) == target


def test_two_places_at_once_are_refused() -> None:
    with pytest.raises(UsageError, match=r"master is local and remote is sc://h: give one"):
        target_of("local", "sc://h", environment={})
    with pytest.raises(UsageError, match="ROPEWALK_SPARK_MASTER is a and ROPEWALK_SPARK_REMOTE"):
        target_of(environment={"ROPEWALK_SPARK_MASTER": "a", "ROPEWALK_SPARK_REMOTE": "b"})


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"master": "lokal"}, r"lokal, which is no Spark master: write local\[2\]"),
        ({"master": "local[x]"}, "which is no Spark master"),
        ({"master": "local[0]"}, "which is no Spark master"),
        ({"master": "local-cluster[2]"}, r"WORKERS,CORES,MEGABYTES"),
        ({"master": "sc://h:1"}, "is a remote"),
        ({"remote": "http://h:1"}, "which is no Spark Connect: write sc://HOST:PORT"),
        ({"remote": "local[x]"}, "which is no Spark master"),
    ],
)
def test_a_place_that_cannot_be_is_refused_at_once(options: dict[str, str], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        session(**options)


@pytest.fixture
def silent() -> Iterator[int]:
    """A port where somebody listens and never says a word."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield listening.getsockname()[1]


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch) -> int:
    """A port where nobody listens, and little patience; no session is there."""
    monkeypatch.setattr(starting, "ANSWER_S", 0.5)
    monkeypatch.setattr(starting, "_active", lambda: None)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return int(unused.getsockname()[1])


def test_a_server_that_does_not_answer_is_not_waited_for(nobody: int, silent: int) -> None:
    for port in (nobody, silent):
        with pytest.raises(UsageError, match=r"no Spark Connect server answers .* start one with"):
            session(remote=f"sc://127.0.0.1:{port}")


def test_a_master_that_does_not_answer_is_not_waited_for(nobody: int) -> None:
    with pytest.raises(UsageError, match="no Spark master answers there"):
        session(f"spark://127.0.0.1:{nobody}")


def test_a_taken_port_of_connect_is_told(
    nobody: int, silent: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starting, "CONNECT_PORT", silent)
    with pytest.raises(UsageError, match=f"port {silent} is taken.*sc://localhost:{silent}"):
        session(remote="local[2]")


def test_without_its_packages_connect_says_what_to_install(
    nobody: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starting, "_has", lambda name: name != "grpc")
    with pytest.raises(UsageError, match=r"Spark Connect needs grpc: .*ropewalk\[connect\]"):
        session(remote="sc://h")


def test_the_session_of_the_process_is_taken_if_it_fits(spark: "SparkSession") -> None:
    assert session() is spark
    assert session("local[2]") is spark
    width = spark.conf.get("spark.sql.shuffle.partitions")
    assert session(**{"spark.sql.shuffle.partitions": "3"}) is spark
    assert spark.conf.get("spark.sql.shuffle.partitions") == "3"
    session(**{"spark.sql.shuffle.partitions": str(width)})
    options = quick.quick_options()
    assert session(**{"spark.driver.memory": "2g", starting.JAVA_OPTIONS: options}) is spark


def test_settings_of_another_session_are_made_ours_and_a_callers_choice_is_kept(
    spark: "SparkSession", monkeypatch: pytest.MonkeyPatch
) -> None:
    zone = "spark.sql.session.timeZone"
    session(**{zone: "Europe/Paris"})
    assert session().conf.get(zone) == "Europe/Paris"
    monkeypatch.setattr(starting, "STARTED", {})
    assert session("local[2]").conf.get(zone) == "UTC"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"master": "local[7]"}, r"master is local\[7\], but .* on local\[2\] already: stop it"),
        ({"remote": "local[2]"}, r"remote is local\[2\], but .* on local\[2\] already"),
        ({"spark.driver.memory": "9g"}, "spark.driver.memory is to be 9g, but .* cannot be"),
    ],
)
def test_a_session_that_does_not_fit_is_told(
    spark: "SparkSession", options: dict[str, Any], told: str
) -> None:
    with pytest.raises(UsageError, match=told):
        session(**options)


def test_an_archive_is_used_if_it_is_there_and_only_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert quick.archive_options() == ()
    path = quick.archive_path(java.quiet_home())
    assert path.name == ARCHIVE
    path.write_bytes(b"not an archive")
    options = quick.archive_options()
    assert any(str(path) in one for one in options)
    done = subprocess.run(
        [
            java.quiet_home() / "bin" / "java",
            *(one.strip('"') for one in options),
            "-XX:TieredStopAtLevel=1",
            "--version",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_archive_changes_with_java_and_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    home = java.quiet_home()
    names = {quick.archive_path(home).name}
    monkeypatch.setattr(quick, "version", lambda _: "9.9.9")
    names.add(quick.archive_path(home).name)
    monkeypatch.setattr(quick, "java_build", lambda _: 'openjdk version "99.0.1"')
    names.add(quick.archive_path(home).name)
    assert len(names) == 3
    assert any(name.startswith("spark-9.9.9-java-99.0.1-") for name in names)


def test_where_java_has_no_jcmd_no_archive_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick, "beside", lambda *_: None)
    assert quick.make_archive() is None
