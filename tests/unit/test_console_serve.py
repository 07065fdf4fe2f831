"""`ropewalk serve` as a command: what it refuses, and that it ends as it should."""

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.conftest import Run


@pytest.fixture
def file(ropewalk: Run, tmp_path: Path) -> Path:
    made = tmp_path / "mine.yaml"
    assert ropewalk("new", made).code == 0
    return made


def test_other_hosts_need_a_token_that_somebody_chose(ropewalk: Run, file: Path) -> None:
    ran = ropewalk("serve", file, "--host", "0.0.0.0")
    assert ran.code == 2
    assert "--token" in ran.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--token", "env:NO_SUCH_VARIABLE"], "NO_SUCH_VARIABLE"),
        (["--plan", "no-plan.yaml"], "no-plan.yaml"),
        (["--work", "nowhere"], "nowhere"),
        (["--agent", "nobody=127.0.0.1:9100"], "nobody"),
        (["--agent", "lon-gw"], "BROKER=HOST:PORT"),
    ],
)
def test_what_is_not_there_is_told_before_anything_starts(
    ropewalk: Run, file: Path, options: list[str], said: str
) -> None:
    ran = ropewalk("serve", file, *options)
    assert ran.code == 2
    assert said in ran.err
    assert "Open" not in ran.out


def test_a_file_that_does_not_load_is_told_with_its_lines(ropewalk: Run) -> None:
    ran = ropewalk("serve", "examples/broken.yaml")
    assert ran.code == 2
    assert "examples/broken.yaml:4: error F015" in ran.out


def test_a_port_that_is_taken_is_told(ropewalk: Run, file: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ran = ropewalk("serve", file, "--port", port)
    assert ran.code == 2
    assert f"127.0.0.1:{port} cannot be listened on" in ran.err


def test_it_serves_until_it_is_interrupted_and_then_ends_clean(file: Path) -> None:
    words = [sys.executable, "-m", "ropewalk", "serve", str(file), "--port", "0"]
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ}
    )
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        found = re.match(r"Open (http://127\.0\.0\.1:\d+/)\?token=\S{20,}", said)
        assert found, said
        with urllib.request.urlopen(found[1], timeout=20) as answer:
            page = answer.read().decode()
            assert answer.headers["x-frame-options"] == "DENY"
        assert not re.findall(r"(?:src|href)=.https?://", page)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 0
    assert "Traceback" not in err
