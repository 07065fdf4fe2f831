"""An agent's state folder says which format it has; nobody works on one that he may misread."""

import asyncio
import json
import os
import signal
from pathlib import Path

import pytest

from ropewalk import __version__
from ropewalk.agent import process, state_version
from ropewalk.agent.custody_log import read
from ropewalk.agent.orders import Orders
from ropewalk.agent.state_version import FILE, FORMAT, UPGRADES, format_of, settle
from ropewalk.errors import UsageError
from ropewalk.federation import load
from tests.conftest import Run
from tests.unit.test_custody_log import kept, numbers, write

PAIR = """\
federation: pair
brokers:
  west: {url: "nats://127.0.0.1:1"}
  east: {url: "nats://127.0.0.1:1"}
  north: {url: "nats://127.0.0.1:1"}
links: [{between: [west, east]}, {between: [west, north]}]
"""
"""Nobody listens there: an agent starts without its broker, too."""


def told(folder: Path) -> object:
    return json.loads((folder / FILE).read_text("utf-8"))


def files(folder: Path) -> dict[str, bytes]:
    return {str(one): one.read_bytes() for one in sorted(folder.rglob("*")) if one.is_file()}


NOW = {"format": FORMAT, "written_by": __version__}


def test_a_new_folder_gets_the_format_of_now(tmp_path: Path) -> None:
    assert format_of(tmp_path / "none") == 0
    assert settle(tmp_path, format_of(tmp_path)) == []
    assert told(tmp_path) == NOW
    assert format_of(tmp_path) == FORMAT


def test_every_older_format_has_a_step_to_the_next() -> None:
    assert sorted(UPGRADES) == list(range(1, FORMAT))


@pytest.mark.parametrize("part", ["custody", "tables", "trace"])
def test_state_without_a_version_is_format_1_and_is_upgraded(tmp_path: Path, part: str) -> None:
    (tmp_path / part).mkdir()
    assert format_of(tmp_path) == 1
    assert settle(tmp_path, 1) == [f"{tmp_path}: its state was upgraded from format 1 to {FORMAT}"]
    assert told(tmp_path) == NOW
    assert settle(tmp_path, format_of(tmp_path)) == []


def test_steps_are_taken_in_turn_and_the_file_comes_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[int, bool]] = []

    def step(number: int) -> None:
        seen.append((number, (tmp_path / FILE).exists()))

    (tmp_path / "custody").mkdir()
    monkeypatch.setattr(state_version, "FORMAT", 4)
    monkeypatch.setattr(
        state_version, "UPGRADES", {n: lambda _folder, n=n: step(n) for n in (1, 2, 3)}
    )
    settle(tmp_path, format_of(tmp_path))
    assert seen == [(1, False), (2, False), (3, False)]
    assert told(tmp_path) == {**NOW, "format": 4}


def test_an_upgrade_that_was_cut_off_is_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "custody").mkdir()

    def cut_off(_folder: Path) -> None:
        raise OSError("no power")

    with monkeypatch.context() as patch:
        patch.setattr(state_version, "UPGRADES", {1: cut_off})
        with pytest.raises(OSError, match="no power"):
            settle(tmp_path, 1)
    assert format_of(tmp_path) == 1
    settle(tmp_path, 1)
    assert told(tmp_path) == NOW


def test_who_wrote_it_last_is_noted_by_programs_of_one_format(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(f'{{"format": {FORMAT}, "written_by": "0.0.9"}}')
    assert settle(tmp_path, format_of(tmp_path)) == []
    assert told(tmp_path) == NOW


def test_a_newer_format_is_refused_and_nothing_is_touched(ropewalk: Run, tmp_path: Path) -> None:
    state, key = tmp_path / "state", tmp_path / "key"
    write(state / "custody", [[kept(1), kept(2)]])
    (state / FILE).write_text(f'{{"format": {FORMAT + 1}, "written_by": "7.0.0"}}')
    key.write_text("0123456789abcdef")
    key.chmod(0o600)
    before = files(state)
    ropewalk("generate", "six-node", "-o", tmp_path / "six.yaml")
    ran = ropewalk(
        "agent", tmp_path / "six.yaml", "--broker", "b1", "--state", state, "--key", f"file:{key}"
    )
    assert ran.code == 2
    said = " ".join(ran.err.split())
    assert f"holds state of format {FORMAT + 1}, written by ropewalk 7.0.0" in said
    assert "start ropewalk 7.0.0 or newer on it, or restore the backup" in said
    assert files(state) == before


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"format": "2"}', '{"format": true}', "{}"])
def test_a_file_that_tells_no_format_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(UsageError, match="does not say which format"):
        format_of(tmp_path)
    assert (tmp_path / FILE).read_text() == text


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    with pytest.raises(UsageError, match="cannot be read"):
        format_of(tmp_path)


def test_an_agent_upgrades_the_state_of_before_and_keeps_its_custody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Format 1 is what agents left that wrote no version: a custody log and nothing beside it."""
    monkeypatch.setattr(process, "_quiet_collector", lambda: None)  # this process has other tests
    state, file = tmp_path / "state", tmp_path / "pair.yaml"
    file.write_text(PAIR, "utf-8")
    write(state / "custody", [[kept(1), kept(2)]], incarnation=7)
    said: list[str] = []

    async def life() -> None:
        orders = Orders(
            federation=load(file),
            file=file,
            broker="east",
            state=state,
            trace=state / "trace",
            key=b"0123456789abcdef",
            drain_s=0.0,
        )
        async with asyncio.timeout(60):
            agent = process.AgentProcess(orders, said.append)
            await agent.start()
            await agent.stop()

    asyncio.run(life())
    assert any("upgraded from format 1" in text for text in said)
    assert told(state) == NOW
    assert numbers(state / "custody") == [1, 2]
    assert read(state / "custody").incarnation > 7


def test_a_reload_that_is_asked_for_during_a_start_comes_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ropewalk: Run
) -> None:
    """Unheard, SIGHUP would end the process; service managers reload whenever they are told."""
    told: list[str] = []

    class Starting:
        port = 1

        def __init__(self, orders: Orders, say: object) -> None:
            pass

        async def start(self) -> None:
            os.kill(os.getpid(), signal.SIGHUP)
            await asyncio.sleep(0.05)
            told.append("started")

        def reload(self) -> None:
            told.append("reloaded")
            os.kill(os.getpid(), signal.SIGTERM)

        async def stop(self) -> None:
            told.append("stopped")

        def summary(self) -> dict[str, int]:
            return {"custody": 0}

    monkeypatch.setattr(process, "AgentProcess", Starting)
    monkeypatch.setenv("RW_KEY", "0123456789abcdef")
    (tmp_path / "pair.yaml").write_text(PAIR, "utf-8")
    state = tmp_path / "state"
    where = ("--broker", "east", "--state", state, "--key", "env:RW_KEY")
    assert ropewalk("agent", tmp_path / "pair.yaml", *where).code == 0
    assert told == ["started", "reloaded", "stopped"]
