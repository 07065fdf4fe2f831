"""Every command in an `sh` block of README and docs is run here, but for those on a short list.

What needs Spark is run by tests/pipeline/test_shell_blocks.py. `tests/shell.py` has what is put in
place of what costs much, and what is only read, with the reasons.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.shell import (
    ONLY_READ,
    PAGES,
    ROOT,
    SMALLER,
    Command,
    commands,
    every_command,
    faults,
    unknown,
    words,
)

PLACED = "examples/placement/federation.yaml"
READY = re.compile(r"agent is at work|Open http|^files: ", re.MULTILINE)
SOON_S = 120
"""Kernels may have to be compiled first."""
PAIR = """federation: pair
brokers: {lon-gw: {url: "nats://127.0.0.1:1"}, par-gw: {url: "nats://127.0.0.1:1"}}
links: [{between: [lon-gw, par-gw]}]
"""
"""Of an agent that is tried without its broker."""


def prepared(ropewalk: Run, folder: Path, page: str) -> None:
    """The files that pages speak of."""
    shutil.copytree(ROOT / "examples", folder / "examples")
    shutil.copytree(ROOT / "deploy", folder / "deploy")
    ropewalk("new", "mine.yaml")
    shutil.copy("mine.yaml", "fed.yaml")
    ropewalk("generate", "six-node", "-o", "six-node.yaml")
    (folder / "federation.yaml").write_text(PAIR, "utf-8")
    if page == "native.md":
        shutil.copytree(ROOT / "examples/native/mosquitto/ring", folder / "sites")
        shutil.copytree(ROOT / "examples/native/mixed/hub", folder / "hub")
        (folder / "federate.sh").write_text(
            'rabbitmqctl set_parameter federation-upstream far \'{"uri":"amqp://far"}\'\n'
        )
    if page == "console.md":
        (folder / "lab").mkdir()
        for name in ("fleet.yaml", "lab/federation.yaml"):
            shutil.copy("mine.yaml", name)
        ropewalk("place", PLACED, "--stats", "examples/placement", "-o", "plan.yaml")
    if page == "report.md":
        shutil.copytree(ROOT / "examples/native/rabbitmq/ring", folder / "rabbit")
    if page == "population.md":
        shutil.copy(ROOT / "examples/population/leader-election.yaml", "model.yaml")
        ropewalk("population", "net", "examples/population/lock.yaml", "-o", "net.spec")


class Background:
    """Commands that stay until they are ended."""

    def __init__(self) -> None:
        self.running: list[tuple[subprocess.Popen[bytes], Path]] = []

    def start(self, text: str, folder: Path) -> None:
        given, _ = words(text, folder)
        log = folder / f"background-{len(self.running)}.log"
        with log.open("w") as file:
            program = [sys.executable, "-m", "ropewalk", *given[1:]]
            self.running.append((subprocess.Popen(program, stdout=file, stderr=file), log))
        until = time.monotonic() + SOON_S
        while not READY.search(log.read_text()):
            assert self.running[-1][0].poll() is None, f"{text}: {log.read_text()}"
            assert time.monotonic() < until, f"{text}: {log.read_text()}"
            time.sleep(0.05)
        if given[1] == "serve":
            self.end()

    def end(self) -> None:
        """As a service manager does; one that is still starting may not hear it the first time."""
        while self.running:
            one, log = self.running[-1]
            until = time.monotonic() + SOON_S
            while one.poll() is None:
                assert time.monotonic() < until, log.read_text()
                one.send_signal(signal.SIGTERM)
                with suppress(subprocess.TimeoutExpired):
                    one.wait(4)
            assert one.returncode in (0, -signal.SIGTERM), log.read_text()
            self.running.pop()

    def kill(self) -> None:
        for one, _ in self.running:
            if one.poll() is None:
                one.kill()
                one.wait()


@pytest.fixture
def background() -> Iterator[Background]:
    found = Background()
    yield found
    found.kill()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def run(ropewalk: Run, command: Command, port: int) -> None:
    """In this process if it is ours, else by a shell."""
    text = command.smaller.replace("{port}", str(port))
    given, out = words(text, Path.cwd())
    if given[0] == "ropewalk":
        ran = ropewalk(*given[1:])
        told = (0, 1) if command.exits is None else (command.exits,)
        assert ran.code in told, f"{command.page}: {text}: {ran.code}: {ran.out}{ran.err}"
        if out is not None:
            out.write_text(ran.out, "utf-8")
        return
    here = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    done = subprocess.run(
        ["sh", "-c", text],
        capture_output=True,
        text=True,
        timeout=SOON_S,
        check=False,
        env={**os.environ, "PATH": here},
    )
    assert done.returncode == 0, f"{command.page}: {text}: {done.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_of_a_page_runs(
    ropewalk: Run,
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    background: Background,
) -> None:
    mine = [
        one
        for one in commands(page.read_text("utf-8"), page.name)
        if not one.reason and not one.on_spark
    ]
    if not mine:
        return
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOKEN", "0123456789abcdef")  # that pages speak of as env:TOKEN
    prepared(ropewalk, tmp_path, page.name)
    port = free_port()
    for command in mine:
        if (
            "--confirm" in command.text
            and shutil.which("mosquitto", path="/usr/sbin:/usr/bin") is None
        ):
            continue
        if command.stays:
            background.start(command.smaller.replace("{port}", str(port)), tmp_path)
        else:
            run(ropewalk, command, port)
    background.end()


def test_what_is_only_read_could_be_run() -> None:
    assert [
        (one.page, one.text, faults(one)) for one in every_command() if one.reason and faults(one)
    ] == []


def test_what_is_changed_or_only_read_has_its_reason() -> None:
    assert all(one[-1] for one in (*SMALLER, *ONLY_READ))


def test_verbs_and_options_that_pages_mention_are_there() -> None:
    for page in PAGES:
        for mention in re.findall(r"`ropewalk ([^`\n]+)`", page.read_text("utf-8")):
            given = [one for one in mention.replace("...", "").split() if not one.isupper()]
            assert unknown(given) == [], f"{page.name}: ropewalk {mention}"


def test_verbs_and_options_that_pages_show_in_runs_are_there() -> None:
    """Those of `text` blocks: runs whose output differs from time to time, such as the demo's."""
    for page in PAGES:
        for body in re.findall(
            r"^```text\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE
        ):
            for line in re.findall(r"^\$ (.+)$", body.replace("\\\n", " "), re.MULTILINE):
                command = Command(page.name, line)
                assert faults(command) == [], f"{page.name}: {line}"


def test_benchmarks_that_pages_mention_are_there() -> None:
    for page in PAGES:
        for script in re.findall(r"`python (benchmarks/\w+\.py)", page.read_text("utf-8")):
            assert (ROOT / script).is_file(), f"{page.name}: {script}"


def test_a_made_up_command_of_a_made_up_page_fails(
    ropewalk: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: none of these passes in silence."""
    monkeypatch.chdir(tmp_path)
    text = "```sh\nropewalk vreify x.yaml\nropewalk verify --fast x.yaml  # no\nfrobnicate x\n```\n"
    found = list(commands(text, "made-up.md"))
    assert [one.text.split()[0] for one in found] == ["ropewalk", "ropewalk", "frobnicate"]
    for command in found:
        assert not command.reason
        with pytest.raises(AssertionError, match=r"made-up\.md"):
            run(ropewalk, command, 1)
    read = (
        "```sh\nmake nothing\npython benchmarks/none.py\nropewalk pipeline stream --qiuck t\n```\n"
    )
    assert [faults(one) for one in commands(read)] == [
        ["no target nothing"],
        ["no file benchmarks/none.py"],
        ["--qiuck"],
    ]


def test_a_comments_exit_code_is_held_against_what_happens(
    ropewalk: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (told,) = commands("```sh\nropewalk new mine.yaml   # no: exit 1\n```\n", "made-up.md")
    with pytest.raises(AssertionError, match="ropewalk new"):
        run(ropewalk, told, 1)
