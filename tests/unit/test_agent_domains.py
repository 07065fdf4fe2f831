"""Domains on real NATS servers: a gateway dies, a broker dies, clients are moved; nothing is lost."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from ropewalk.agent.brokers.http import HttpError, get_json
from ropewalk.agent.drive.drive import drive
from ropewalk.agent.drive.nats_client import settled
from ropewalk.agent.drive.plan import DrivePlan, DriveResult
from ropewalk.agent.lab.lab import Lab
from ropewalk.federation import load, loads
from tests.unit.test_overlay_domains import PROMOTED

SOON_S = 30.0
BEAT_S = 0.005
AT_THE_SERVER = 2
OPTIONS: dict[str, Any] = {
    "dont_randomize": True,
    "max_reconnect_attempts": -1,
    "reconnect_time_wait": 0.05,
}
GATEWAYS = """federation: two-gateways
domains:
  uk: {gateways: [g1, g2], edges: [edge]}
brokers: {g1: {}, g2: {}, edge: {}, far: {}}
links:
  - {between: [g1, g2]}
  - {between: [g1, edge]}
  - {between: [g2, edge]}
  - {between: [g1, far]}
  - {between: [g2, far]}
topics:
  out: {publishers: [edge], subscribers: [far], contract: {delivery: exactly-once, order: fifo}}
  in: {publishers: [far], subscribers: [edge], contract: {delivery: exactly-once, order: fifo}}
"""
MIRRORS = """federation: mirrors
brokers: {a: {}, b: {takeover: [m]}, m: {}}
links:
  - {between: [a, b]}
  - {between: [a, m]}
  - {between: [b, m]}
topics:
  t: {publishers: [a], subscribers: [b], contract: {delivery: at-least-once, order: none}}
items: {desk: [t]}
"""


def in_a_lab(text: str, folder: Path, test: Callable[[Lab], Awaitable[None]]) -> None:
    async def run() -> None:
        lab = Lab(loads(text), folder)
        try:
            await lab.start()
            await test(lab)
        finally:
            await lab.stop()

    asyncio.run(run())


async def driven(lab: Lab, *faults: str) -> DriveResult:
    async def fault(text: str) -> None:
        await lab.fault(*text.split())

    return await drive(
        DrivePlan(
            federation=load(lab.layout.file),
            rate_msgs_s=300,
            seconds=3.5,
            quiet_s=0.5,
            faults=faults,
            fault=fault,
        )
    )


async def status(lab: Lab, broker: str) -> dict[str, Any]:
    found: dict[str, Any] = await get_json(f"http://127.0.0.1:{lab.layout.http[broker]}/status")
    return found


async def until(lab: Lab, broker: str, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Wait until an agent's status is so."""
    found: dict[str, Any] = {}
    try:
        async with asyncio.timeout(SOON_S):
            while not (found and holds(found)):
                try:
                    found = await status(lab, broker)
                except (OSError, HttpError):
                    found = {}
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise AssertionError(json.dumps(found, indent=1)) from None
    return found


def test_the_second_gateway_of_a_domain_goes_on_when_the_first_is_killed(tmp_path: Path) -> None:
    async def test(lab: Lab) -> None:
        seen = await driven(lab, "at 1.2 s kill g1", "at 1.2 s kill agent:g1")
        assert not seen.silent
        for pair in seen.pairs:
            figures = pair.figures
            assert (figures.lost, figures.doubled, figures.disordered) == (0, 0, 0)
            assert figures.received == figures.sent > 300
        edge = await status(lab, "edge")
        assert edge["links"] == {"g1": "down", "g2": "up"}
        assert edge["load"]["sample"]["window_ns"] > 0

    in_a_lab(GATEWAYS, tmp_path / "lab", test)


def test_a_broker_with_clients_becomes_the_gateway_when_the_only_one_before_it_is_killed(
    tmp_path: Path,
) -> None:
    """That it carries nothing before is a test of the core's: here a busy machine slows links."""

    async def test(lab: Lab) -> None:
        before = (await status(lab, "busy"))["counts"]["forwarded"]
        seen = await driven(lab, "at 1.2 s kill g1", "at 1.2 s kill agent:g1")
        assert not seen.silent
        for pair in seen.pairs:
            figures = pair.figures
            assert (figures.lost, figures.disordered) == (0, 0), pair
            assert figures.received == figures.sent > 300, pair
        carried = (await status(lab, "busy"))["counts"]["forwarded"] - before
        assert carried > 300, "then it carries everything"

    in_a_lab(PROMOTED, tmp_path / "lab", test)


def test_clients_of_a_dead_broker_go_on_at_its_mirror_and_are_moved_home_when_it_is_back(
    tmp_path: Path,
) -> None:
    got: list[int] = []

    async def take(message: Msg) -> None:
        got.append(int(message.data))

    async def test(lab: Lab) -> None:
        urls = {name: lab.brokers[name].url for name in lab.brokers}
        reader = await nats.connect([urls["b"], urls["m"]], **OPTIONS)
        writer = await nats.connect(urls["a"], **OPTIONS)
        try:
            await reader.subscribe("t", cb=take)
            await settled(reader)
            for name in lab.brokers:
                await until(lab, name, lambda one: one["council"]["policies"] is not None)
            await until(lab, "a", lambda one: "b" in one["wanted"].get("t", ()))
            publishing = asyncio.create_task(publish(writer, stop := asyncio.Event()))
            await lab.fault("kill", "b")
            await lab.fault("kill", "agent:b")
            carried = await until(lab, "m", lambda one: bool(one["council"]["carries"]))
            assert carried["council"]["carries"]["desk"]["clients"] == ["t"]
            await lab.fault("heal", "b")
            await lab.fault("heal", "agent:b")
            await until(lab, "m", lambda one: not one["council"]["carries"])
            stop.set()
            acknowledged = await publishing
            # What the dead server had taken for a client and not yet written to its socket is the
            # server's own: it confirms nothing to anybody there. That is one or two at this rate.
            async with asyncio.timeout(SOON_S):
                while len(acknowledged - set(got)) > AT_THE_SERVER or max(acknowledged) not in got:
                    await asyncio.sleep(BEAT_S)
            assert str(reader.connected_url.netloc) in urls["b"]  # type: ignore[union-attr]
            assert (await status(lab, "m"))["council"]["moved_clients"] == 1
        finally:
            await reader.close()
            await writer.close()

    in_a_lab(MIRRORS, tmp_path / "lab", test)


async def publish(writer: Client, stop: asyncio.Event) -> set[int]:
    """Publish numbers, each until it is acknowledged; returns them."""
    number = 0
    while not stop.is_set():
        number += 1
        headers = {"Nats-Msg-Id": str(number)}
        while True:
            try:
                answer = await writer.request("t", b"%d" % number, 1.0, headers=headers)
                if "seq" in json.loads(answer.data):
                    break
            except (NatsError, ValueError):
                await asyncio.sleep(BEAT_S)
        await asyncio.sleep(BEAT_S)
    return set(range(1, number + 1))
