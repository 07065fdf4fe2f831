"""A NATS, a Mosquitto and a RabbitMQ site in one federation, with real brokers and real agents."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from ropewalk.agent.brokers.contract import Headers
from ropewalk.agent.drive import DrivePlan, drive
from ropewalk.agent.drive.clients import Options, Publisher, publisher_of, subscriber_of
from ropewalk.agent.lab.lab import Lab
from ropewalk.federation import load
from ropewalk.federation.facts import Make
from tests.unit.test_agent_domains import in_a_lab
from tests.unit.test_lab_brokers import skip_unless_installed

THREE = """federation: three-makes
brokers:
  n: {make: nats}
  m: {make: mosquitto}
  r: {make: rabbitmq}
links:
  - {between: [n, m]}
  - {between: [m, r]}
  - {between: [n, r]}
topics:
  plant/+/temp: {publishers: [n, m, r], subscribers: [n, m, r]}
  of/nats: {publishers: [n], subscribers: [m, r]}
  of/mqtt: {publishers: [m], subscribers: [r, n]}
  of/amqp: {publishers: [r], subscribers: [n, m]}
"""
MAKES: dict[str, Make] = {"n": "nats", "m": "mosquitto", "r": "rabbitmq"}
SOON_S = 30.0
ODD = bytes(range(256))
HEADERS = (("unit", "kelvin"), ("who", "Jürgen"))

Came = tuple[str, bytes, Headers]


async def driven(lab: Lab, *faults: str) -> None:
    """Clients of every make reach those of the others, and nothing is lost."""

    async def fault(text: str) -> None:
        await lab.fault(*text.split())

    named = {"of/nats", "of/mqtt", "of/amqp"}
    placed = load(lab.layout.file)
    topics = {name: one for name, one in placed.topics.items() if name in named}
    result = await drive(
        DrivePlan(
            federation=replace(placed, topics=topics),
            rate_msgs_s=100,
            seconds=4,
            faults=faults,
            fault=fault,
            settle_s=30,
            warm_up_s=60,
        )
    )
    assert not result.silent
    assert len(result.pairs) == 6
    for pair in result.pairs:
        figures = pair.figures
        assert figures.acknowledged > 200, pair
        assert (figures.lost, figures.disordered) == (0, 0), pair


async def exchanged(lab: Lab) -> dict[str, list[Came]]:
    """One message of each make, and what has come to a subscriber with a wildcard at each."""
    urls = {name: [broker.url or ""] for name, broker in load(lab.layout.file).brokers.items()}
    came: dict[str, list[Came]] = {name: [] for name in MAKES}
    readers = {name: subscriber_of(make, Options(name=f"s-{name}")) for name, make in MAKES.items()}
    writers: dict[str, Publisher] = {
        name: publisher_of(make, Options(name=f"p-{name}")) for name, make in MAKES.items()
    }
    try:
        for name in MAKES:
            note = came[name].append
            await readers[name].connect(
                urls[name], "plant/+/temp", lambda *one, note=note: note(one)
            )
            await writers[name].connect(urls[name])
        async with asyncio.timeout(SOON_S):
            # Subscriptions travel: what is published is repeated until all know of all.
            while any(len({one[0] for one in some}) < len(MAKES) for some in came.values()):
                for name, writer in writers.items():
                    told = await writer.publish(f"plant/{name}.1/temp", ODD, HEADERS)
                    assert told is not None
                    await told
                await asyncio.sleep(0.2)
    finally:
        for reader in readers.values():
            await reader.close()
        for writer in writers.values():
            await writer.close()
    return came


@pytest.mark.timeout(240)
def test_three_makes_exchange_topics_with_payload_headers_and_wildcards(tmp_path: Path) -> None:
    for make in ("mosquitto", "rabbitmq"):
        skip_unless_installed(make)

    async def test(lab: Lab) -> None:
        for name, some in (await exchanged(lab)).items():
            assert {one[0] for one in some} == {f"plant/{other}.1/temp" for other in MAKES}
            for topic, payload, headers in some:
                assert payload == ODD, (name, topic)
                assert set(HEADERS) <= set(headers), (name, topic)
        await driven(lab, "at 1 s blackhole m--r for 1 s", "at 2.5 s kill agent:n for 500 ms")

    in_a_lab(THREE, tmp_path / "lab", test)
