"""The lab's processes: nothing outlives the lab, ports are nobody else's."""

import asyncio
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from ropewalk.agent.lab.child import Child
from ropewalk.agent.lab.group import Group
from ropewalk.agent.lab.ports import FIRST, HOST, LAST, Ports
from ropewalk.errors import LabError

SOON_S = 10

LAB_LIKE = """
import sys, time
from pathlib import Path
from ropewalk.agent.lab.child import Child
from ropewalk.agent.lab.group import Group
folder = Path(sys.argv[1])
group = Group()
stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
commands = (["sleep", "600"], ["sh", "-c", "sleep 600; true"], [sys.executable, "-S", "-c", stubborn])
children = [Child(name="c", command=c, folder=folder, log=folder / "log", group=group) for c in commands]
for child in children:
    child.start()
if "paused" in sys.argv:
    children[0].pause()
time.sleep(0.2)
print(group.id, *(child.pid for child in children), flush=True)
time.sleep(600)
"""


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_until_gone(pids: set[int]) -> set[int]:
    until = time.monotonic() + SOON_S
    while (left := {pid for pid in pids if alive(pid)}) and time.monotonic() < until:
        time.sleep(0.02)
    return left


@pytest.mark.parametrize(("how", "children"), [("KILL", "running"), ("TERM", "paused")])
def test_nothing_outlives_a_lab_that_is_killed(tmp_path: Path, how: str, children: str) -> None:
    command = [sys.executable, "-c", LAB_LIKE, str(tmp_path), children]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as lab:
        assert lab.stdout is not None
        pids = {int(one) for one in lab.stdout.readline().split()}
        pids |= {one.pid for pid in pids for one in psutil.Process(pid).children(recursive=True)}
        assert len(pids) == 5  # the guardian, three children and a child's child
        assert all(map(alive, pids))  # the control
        lab.send_signal(signal.Signals[f"SIG{how}"])
        lab.wait(SOON_S)
    assert wait_until_gone(pids) == set()


def child_of(group: Group, folder: Path, *command: str) -> Child:
    return Child(name="one", command=command, folder=folder, log=folder / "log", group=group)


def test_a_group_that_is_closed_ends_what_is_left_and_starts_nothing_more(tmp_path: Path) -> None:
    with Group() as group:
        child = child_of(group, tmp_path, "sleep", "600")
        child.start()
        assert child.alive
    assert child.code == -signal.SIGTERM
    with pytest.raises(LabError, match="guardian"):
        child.start()


def test_a_child_is_killed_with_its_own_children_paused_and_started_again(tmp_path: Path) -> None:
    async def run() -> None:
        with Group() as group:
            child = child_of(group, tmp_path, "sh", "-c", "echo hello; sleep 600; true")
            child.start()
            while "hello" not in child.tail() or child.pid is None:
                await asyncio.sleep(0.01)
            first = psutil.Process(child.pid)
            while not first.children():
                await asyncio.sleep(0.01)
            family = {first.pid, *(one.pid for one in first.children())}
            child.pause()
            while first.status() != psutil.STATUS_STOPPED:
                await asyncio.sleep(0.01)
            child.resume()
            assert child.alive
            await child.kill()
            assert child.code == -signal.SIGKILL
            assert wait_until_gone(family) == set()
            child.start()
            assert child.alive
            child.pause()
            await child.stop()
            assert not child.alive

    asyncio.run(asyncio.wait_for(run(), SOON_S))


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    with Group() as group, pytest.raises(LabError, match="one: no-such-program cannot be run"):
        child_of(group, tmp_path, "no-such-program").start()


def test_ports_are_below_those_of_outgoing_connections_and_never_given_twice() -> None:
    with Ports() as ports, Ports() as others:
        mine, theirs = {ports.take() for _ in range(50)}, {others.take() for _ in range(50)}
    assert len(mine) == len(theirs) == 50
    assert mine.isdisjoint(theirs)
    assert all(FIRST <= port <= LAST < 32_768 for port in mine | theirs)


def test_a_port_that_one_lab_has_is_no_other_labs_until_it_gives_it_back() -> None:
    with Ports() as ports:
        port = ports.take()
        with Ports(port, port) as others, pytest.raises(LabError, match=f"from {port} to {port}"):
            others.take()
    with Ports(port, port) as others:
        assert others.take() == port


def test_a_server_can_listen_on_a_port_that_is_held_and_again_after_it_died() -> None:
    with Ports() as ports:
        port = ports.take()
        for _ in range(2):
            with socket.create_server((HOST, port)), socket.create_connection((HOST, port)):
                pass
