"""A lab of real brokers: it starts, is broken and healed, tells what it is, and leaves nothing."""

import asyncio
import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from ropewalk.agent.lab import loss
from ropewalk.agent.lab.agents import agent_command
from ropewalk.agent.lab.control import Control, order
from ropewalk.agent.lab.lab import Lab
from ropewalk.agent.lab.layout import Layout
from ropewalk.agent.lab.makes.recipe import Login, Users
from ropewalk.agent.lab.ports import HOST
from ropewalk.agent.lab.targets import numbers_of
from ropewalk.errors import LabError, UsageError
from ropewalk.federation import load, loads
from tests.conftest import Run
from tests.unit.test_lab_processes import wait_until_gone

LINE = """federation: line
brokers: {a: {}, b: {}, c: {}}
links:
  - {between: [a, b]}
  - {between: [c, b]}
topics:
  t: {publishers: [a], subscribers: [c]}
"""
SOON_S = 15

STAND_IN = """
import socket, sys, time
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    time.sleep(600)
"""


def stand_in(layout: Layout, name: str) -> list[str]:
    """An agent that does nothing but listen where an agent has its pages."""
    return [sys.executable, "-I", "-S", "-c", STAND_IN, str(layout.http[name])]


def greeting(port: int) -> bytes:
    """What comes first from a broker; empty if nothing does for a moment."""
    with socket.create_connection((HOST, port), 5) as connection:
        connection.settimeout(0.3)
        try:
            return connection.recv(4096)
        except TimeoutError:
            return b""


def pids_of(status: dict[str, Any]) -> set[int]:
    return {one["pid"] for kind in ("brokers", "agents") for one in status[kind].values()}


def in_a_lab(folder: Path, test: Callable[[Lab], Awaitable[None]], **options: Any) -> None:
    async def run() -> None:
        lab = Lab(loads(LINE), folder, agent_command=stand_in, **options)
        try:
            await lab.start()
            await test(lab)
        finally:
            await lab.stop()

    asyncio.run(run())


def test_a_lab_tells_where_everything_is_and_leaves_nothing_running(tmp_path: Path) -> None:
    folder = tmp_path / "lab"
    seen: set[int] = set()

    async def test(lab: Lab) -> None:
        status = lab.status()
        seen.update(pids_of(status), {status["group"]})
        assert json.loads((folder / "lab.json").read_text()) == status
        assert (folder / "key").stat().st_mode & 0o777 == 0o600
        federation = load(folder / "federation.yaml")
        for name, broker in federation.brokers.items():
            assert broker.url == status["brokers"][name]["url"]
            ports = status["brokers"][name]["ports"]
            assert broker.watch == f"leaf://{HOST}:{ports['leaf']}?monitor={ports['http']}"
            for to, port in lab.layout.neighbours(name).items():
                assert f'"server_name":"{to}"'.encode() in greeting(port)
        assert lab.ended() == {}
        lab.agents["a"].process.kill()  # type: ignore[union-attr]
        while not lab.ended():
            await asyncio.sleep(0.01)
        assert list(lab.ended()) == ["agent:a"]

    in_a_lab(folder, test)
    assert len(seen) == 7
    assert wait_until_gone(seen) == set()
    assert not (folder / "lab.json").exists()


def test_links_brokers_and_agents_are_broken_and_healed(tmp_path: Path) -> None:
    async def test(lab: Lab) -> None:
        there, back = lab.layout.reach["a", "b"], lab.layout.reach["b", "a"]
        assert await lab.fault("cut", "b--a") == ["a--b: cut"]
        for port in (there, back):
            with pytest.raises(ConnectionRefusedError):
                greeting(port)
        assert greeting(lab.layout.reach["c", "b"])  # the control: another link
        await lab.fault("blackhole", "a--b")  # no longer refused, but silent
        assert greeting(there) == b""
        assert await lab.fault("heal", "a--b") == ["a--b is healed"]
        assert greeting(there)
        assert greeting(back)

        before = lab.brokers["b"].child.pid
        await lab.fault("kill", "b")
        await lab.fault("pause", "agent:c")
        await lab.fault("slow", "b--c", "20")
        status = lab.status()
        assert status["brokers"]["b"]["state"] == "ended (-9)"
        assert status["agents"]["c"]["state"] == "paused"
        assert status["links"]["b--c"]["fault"] == "slow 20"
        assert lab.ended() == {}
        with pytest.raises(UsageError, match=r"b does not run .* heal b first"):
            await lab.fault("kill", "b")
        healed = await lab.fault("heal", "all")
        assert sorted(healed) == ["agent:c is healed", "b is healed", "b--c is healed"]
        assert lab.brokers["b"].child.pid not in (None, before)
        assert lab.status()["agents"]["c"]["state"] == "running"
        assert greeting(lab.layout.reach["c", "b"])

        await lab.fault("kill", "agent:a")
        assert lab.agents["a"].code == -signal.SIGKILL
        await lab.fault("heal", "agent:a")
        assert lab.agents["a"].alive
        assert await lab.fault("heal", "a") == ["a was well"]

    in_a_lab(tmp_path / "lab", test)


def test_orders_come_through_the_socket_and_refusals_name_what_there_is(tmp_path: Path) -> None:
    folder = tmp_path / "lab"

    async def test(lab: Lab) -> None:
        stop = asyncio.Event()
        control = Control(lab, stop)
        await control.start()

        async def told(**question: Any) -> Any:
            return await asyncio.to_thread(order, folder, question)

        async def refused(words: str, **question: Any) -> None:
            with pytest.raises(LabError, match=words):
                await told(do="fault", **question)

        await refused("no link is called 'a--x': there are a--b, b--c", what="cut", target="a--x")
        await refused("no broker is called 'x': there are a, b, c", what="kill", target="x")
        await refused("no agent is called 'agent:x': .* agent:a", what="kill", target="agent:x")
        await refused("no fault is called 'bend': .* cut, blackhole", what="bend", target="a")
        await refused("a is a broker, .* try kill or pause", what="cut", target="a")
        await refused("a--b is a link, .* try cut", what="kill", target="a--b")
        await refused("slow needs a value in milliseconds", what="slow", target="a--b")
        await refused("cut takes no value", what="cut", target="a--b", value="9")
        await refused("the lab knows fault", target="a")
        assert await told(do="fault", what="cut", target="a--b") == {"done": ["a--b: cut"]}
        assert (await told(do="status"))["lab"] == lab.status()
        await told(do="stop")
        assert stop.is_set()
        await control.close()

    in_a_lab(folder, test)
    with pytest.raises(UsageError, match="no lab runs here: start one with"):
        order(folder, {"do": "status"})


@pytest.mark.parametrize("value", ["-1", "x", "", "0", "5@x", "nan", "inf"])
def test_values_of_faults_are_numbers_in_their_range(value: str) -> None:
    assert numbers_of("slow", "50@200") == (50, 200)
    assert numbers_of("loss", "100") == (100, 0)
    with pytest.raises(UsageError, match="slow needs a value"):
        numbers_of("slow", value)
    with pytest.raises(UsageError, match="loss needs a value in percent"):
        numbers_of("loss", value or "101")


def test_loss_is_refused_with_the_reason_where_the_kernel_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loss, "_ran", lambda *c: "no such qdisc" if "netem" in c else "")
    with pytest.raises(UsageError, match=r"loss is refused: this kernel has no netem \(no such"):
        loss.set_loss({20_000: 5})
    monkeypatch.setattr(loss, "_ran", lambda *_: "")
    monkeypatch.setattr(loss, "own_namespace", lambda: False)
    with pytest.raises(UsageError, match=r"shares the machine's network.*unshare -n"):
        loss.set_loss({20_000: 5})


def test_loss_sends_both_ways_of_each_port_through_its_own_netem() -> None:
    commands = [" ".join(one) for one in loss.loss_commands({20_001: 5, 20_000: 0.5})]
    assert sum("netem loss" in one for one in commands) == 2
    assert "tc qdisc add dev lo parent 1:1 netem loss 0.5%" in commands
    for side in ("sport", "dport"):
        assert any(f"match ip {side} 20001 0xffff flowid 1:2" in one for one in commands)
    assert loss.loss_commands({}) == []


def test_a_second_lab_in_the_same_folder_is_refused_and_strangers_files_are_left_alone(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "lab"

    async def test(lab: Lab) -> None:
        with pytest.raises(UsageError, match=f"a lab runs here: .* lab down --dir {folder}"):
            Lab(loads(LINE), folder)

    in_a_lab(folder, test)
    assert (folder / "brokers" / "a").is_dir()
    in_a_lab(folder, _nothing)  # an ended one is no hindrance
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter").write_text("x")
    with pytest.raises(UsageError, match="holds other files"):
        Lab(loads(LINE), tmp_path / "mine")
    with pytest.raises(UsageError, match="a file is there"):
        Lab(loads(LINE), tmp_path / "mine" / "letter")


async def _nothing(_: Lab) -> None:
    return


def test_an_agent_that_does_not_start_is_told_with_its_last_words(tmp_path: Path) -> None:
    def broken(layout: Layout, name: str) -> list[str]:
        return ["sh", "-c", f"echo no license for {name}; exit 3"]

    async def run() -> None:
        lab = Lab(loads(LINE), tmp_path / "lab", agent_command=broken)
        try:
            with pytest.raises(
                LabError, match=r"agent:. ended at its start with code 3(.|\n)*license"
            ):
                await lab.start()
        finally:
            await lab.stop()

    asyncio.run(run())


def test_users_get_their_logins_by_reference(tmp_path: Path) -> None:
    users = Users(
        agent=Login(user="agent", password="p"), client=Login(user="client", password="q")
    )

    async def test(lab: Lab) -> None:
        federation = load(lab.layout.file)
        login = lab.layout.credentials("agent")
        assert federation.brokers["a"].credentials == f"file:{login}"
        assert login.read_text() == "agent:p\n"
        assert login.stat().st_mode & 0o777 == 0o600

    in_a_lab(tmp_path / "lab", test, users=users)


def test_the_agents_command_line_names_every_neighbour_at_the_proxy(tmp_path: Path) -> None:
    layout = Layout(
        tmp_path, {"a--b": ("a", "b")}, {("a", "b"): 20_001, ("b", "a"): 20_002}, {"a": 20_003}
    )
    command = agent_command(layout, "a")
    assert command[1:4] == ["-m", "ropewalk", "agent"]
    assert "--reach=b=127.0.0.1:20001" in command
    assert command[-2:] == ["--http", "127.0.0.1:20003"]


# --- the command line ---------------------------------------------------------------------------

PROGRAM = """
import sys
from functools import partial
from ropewalk.agent.lab import lab
from tests.unit.test_lab_live import stand_in
lab.Lab = partial(lab.Lab, agent_command=stand_in)
from ropewalk.cli import main
main()
"""


@contextmanager
def lab_up(tmp_path: Path, *options: str) -> Iterator["subprocess.Popen[str]"]:
    """`ropewalk lab up` with stand-ins for agents."""
    file = tmp_path / "line.yaml"
    file.write_text(LINE)
    command = [
        sys.executable,
        "-c",
        PROGRAM,
        "lab",
        "up",
        str(file),
        "--dir",
        str(tmp_path / "lab"),
    ]
    pipe = subprocess.PIPE
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        [*command, *options], stdout=pipe, stderr=pipe, text=True, cwd=root
    ) as up:
        try:
            yield up
        finally:
            up.kill()


def test_lab_up_runs_until_lab_down_and_fault_breaks_it(ropewalk: Run, tmp_path: Path) -> None:
    folder = tmp_path / "lab"
    with lab_up(tmp_path, "--json") as up:
        assert up.stdout is not None
        document = json.loads(up.stdout.readline())
        assert (document["command"], document["ok"]) == ("lab up", True)
        pids = pids_of(document["summary"])
        assert all(map(psutil.pid_exists, pids))
        cut = ropewalk("fault", "cut", "a--b", "--dir", folder)
        assert (cut.code, cut.out) == (0, "a--b: cut\n")
        told = ropewalk("lab", "status", "--dir", folder)
        assert told.out.splitlines()[1].split() == [
            "broker",
            "make",
            "url",
            "broker",
            "is",
            "agent",
            "is",
        ]
        assert "broken: a--b: cut" in told.out
        assert all(len(line) <= 80 for line in told.out.splitlines()[:-1])
        wrong = ropewalk("fault", "cut", "a--x", "--dir", folder, "--json")
        assert wrong.code == 2
        assert "there are a--b, b--c" in wrong.document["findings"][0]["message"]
        down = ropewalk("lab", "down", "--dir", folder)
        assert (down.code, down.out) == (0, f"The lab in {folder} has ended.\n")
        assert up.wait(SOON_S) == 0
        assert up.stderr is not None
        assert up.stderr.read() == ""
    assert wait_until_gone(pids) == set()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_lab_up_leaves_nothing_behind_however_it_ends(tmp_path: Path, how: signal.Signals) -> None:
    with lab_up(tmp_path) as up:
        assert up.stdout is not None
        lines = [up.stdout.readline() for _ in range(5)]
        assert lines[0] == "line: 3 brokers, 2 links\n"
        assert re.match(r"a +nats +nats://127\.0\.0\.1:\d+ +running +running\n", lines[2])
        record = json.loads((tmp_path / "lab" / "lab.json").read_text())
        pids = pids_of(record) | {record["group"]}
        up.send_signal(how)
        assert up.wait(SOON_S) == (-how if how == signal.SIGKILL else 0)
    assert wait_until_gone(pids) == set()


def test_lab_up_ends_after_the_seconds_it_was_given(tmp_path: Path) -> None:
    with lab_up(tmp_path, "--for", "0.1") as up:
        assert up.wait(SOON_S) == 0


def test_orders_to_a_lab_that_does_not_run_are_refused(ropewalk: Run, tmp_path: Path) -> None:
    for arguments in (("fault", "cut", "a--b"), ("lab", "down"), ("lab", "status")):
        ran = ropewalk(*arguments, "--dir", tmp_path)
        assert ran.code == 2
        assert "no lab runs here: start one with ropewalk lab up FILE" in ran.err
