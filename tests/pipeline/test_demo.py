"""The demo itself, shortened: real brokers, agents, clients and Spark, and nothing left running."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from ropewalk.demo import telling
from ropewalk.report.filed.documents import section_of
from ropewalk.report.filed.gather import document_of
from tests.demo_output import SEEN, without_figures

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.md"

pytestmark = pytest.mark.timeout(600)  # for a machine with much else to do

SECONDS = "8"
"""Of each of its two runs."""


DEMO = [sys.executable, "-m", "ropewalk", "demo", "--fast"]


def commands(text: str) -> list[str]:
    """The commands that a text shows, without their figures."""
    whole = text.replace(" \\\n", " ")
    return [without_figures(line) for line in whole.splitlines() if line.startswith("$ ")]


def left_over(folder: Path) -> Sequence[str]:
    """Processes that have to do with a folder; those of Spark may take a moment to be gone."""
    until_s = time.monotonic() + 5
    while (found := at_work(folder)) and time.monotonic() < until_s:
        time.sleep(0.2)
    return found


def at_work(folder: Path) -> Sequence[str]:
    """The same now."""
    found = []
    for one in psutil.process_iter(["pid", "cmdline"]):
        words = one.info["cmdline"] or []
        with suppress(psutil.Error):
            words = [*words, one.cwd()]
        if one.info["pid"] != os.getpid() and any(str(folder) in word for word in words):
            found.append(" ".join(words))
    return found


def test_the_whole_loop_runs_keeps_its_promises_and_files_a_report(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    environment = {**os.environ, "COLUMNS": "80"}
    ran = subprocess.run(
        [*DEMO, "--seconds", SECONDS],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=560,
        check=False,
        env=environment,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    kept = sorted((folder / "results").glob("[0-9]*.json"))
    documents = {one.stem[3:]: json.loads(one.read_text("utf-8")) for one in kept}
    told = json.loads((folder / "results" / "demo.json").read_text("utf-8"))["summary"]
    assert told["moved"] == told["moves"] > 0
    assert told["risk"]["after"]["observed"] < told["risk"]["before"]["observed"]
    assert told["risk"]["after"]["predicted"] < told["risk"]["before"]["predicted"]
    for one in told["runs"].values():
        assert one["lost"] == one["disordered"] == 0
        assert one["acknowledged"] > 0
    assert documents["place"]["argv"][:2] == ["ropewalk", "place"]
    assert documents["verify"]["summary"]["delivered"] == 252
    page = (folder / "report.html").read_text("utf-8")
    assert "three-sites" in page
    assert "Some broker above its limit: predicted" in page
    for one in (*kept, folder / "results" / "demo.json"):
        ran_as = document_of(one)
        laid_out = section_of(ran_as).chapter != "besides"
        assert laid_out or ran_as.command in ("lab down", "report"), ran_as.command
    last = telling.ending(SEEN, "ok", "demo/report.html", {"seconds": 1.0})
    said, expected = without_figures(ran.stdout), without_figures(last)
    assert said.endswith(expected), ran.stdout
    assert max(map(len, ran.stdout.splitlines())) <= 80
    assert commands(ran.stdout) == commands(TUTORIAL.read_text("utf-8"))
    assert not left_over(tmp_path)


def test_ctrl_c_leaves_nothing_running_and_the_folder_can_be_used_again(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    with subprocess.Popen(
        [*DEMO, "--seconds", SECONDS],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as running:
        assert running.stdout is not None
        said = ""
        for line in running.stdout:
            said += line
            if "lab drive" in line:  # brokers, agents, Spark and clients: all of it is up
                break
        time.sleep(2)
        running.send_signal(signal.SIGINT)
        said += running.stdout.read()
        assert running.wait(120) == 130, said
    assert "stopped" in said
    assert "Traceback" not in said
    assert not left_over(tmp_path)
    again = subprocess.run(
        [*DEMO, "--seconds", "1", "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert again.returncode == 2  # too short, and the folder is as it was
    assert (folder / "lab").is_dir()
