"""Conversations between real clients of real brokers, carried by agents, and audited after."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ropewalk import load
from ropewalk.agent.drive.clients import Options, publisher_of, subscriber_of
from ropewalk.agent.lab.lab import Lab
from ropewalk.federation.facts import Make
from ropewalk.pipeline.audit.conform import conformance
from ropewalk.pipeline.ingest.job import ingest
from ropewalk.protocol.reading import load_automata
from tests.unit.test_lab_brokers import skip_unless_installed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FEDERATION = """\
federation: shop
brokers: {a: {make: MAKE_A}, b: {make: MAKE_B}}
links: [{between: [a, b]}]
protocols: {deal: deal.yaml}
topics:
  deal/out: {publishers: [a], subscribers: [b], protocol: deal}
  deal/back: {publishers: [b], subscribers: [a], protocol: deal}
"""
DEAL = """\
protocol: deal
messages: {buyer -> seller: [ask, take], seller -> buyer: [offer, refuse]}
initial: idle
accepting: [done]
transitions:
  - idle -> asked: ask
  - asked -> offered: offer
  - asked -> done: refuse
  - offered -> done: take
"""
SOON_S = 30.0


class Shop:
    """Two clients, a buyer at a and a seller at b."""

    def __init__(self, lab: Lab, makes: tuple[Make, Make]) -> None:
        self.lab, self.makes = lab, makes
        self.got: dict[str, list[tuple[str, str]]] = {"a": [], "b": []}
        self._open: list[Any] = []

    async def connect(self) -> None:
        urls = {name: [one.url or ""] for name, one in load(self.lab.layout.file).brokers.items()}
        self.writers = {}
        for name, make, topic in zip("ab", self.makes, ("deal/back", "deal/out"), strict=True):
            reader = subscriber_of(make, Options(name=f"r-{name}"))
            writer = self.writers[name] = publisher_of(make, Options(name=f"w-{name}"))
            self._open += [reader, writer]
            note = self.got[name].append

            def came(_topic: str, _payload: bytes, headers: Any, note: Any = note) -> None:
                told = dict(headers)
                note((told["conversation"], told["message"]))

            await reader.connect(urls[name], topic, came)
            await writer.connect(urls[name])

    async def say(self, who: str, talk: str, message: str, *, wait: bool = True) -> None:
        topic = {"a": "deal/out", "b": "deal/back"}[who]
        headers = (("conversation", talk), ("message", message))
        told = await self.writers[who].publish(topic, b"{}", headers)
        if told is not None and wait:
            async with asyncio.timeout(SOON_S):
                await told

    async def heard(self, who: str, talk: str, message: str) -> None:
        async with asyncio.timeout(SOON_S):
            while (talk, message) not in self.got[who]:
                await asyncio.sleep(0.02)

    async def in_touch(self) -> None:
        """Subscriptions travel: ask until both know of each other."""
        async with asyncio.timeout(SOON_S):
            number = 0
            while not any(talk.startswith("warm") for talk, _ in self.got["a"]):
                number += 1
                await self.say("a", f"warm{number}", "ask")
                await asyncio.sleep(0.2)
                if (f"warm{number}", "ask") in self.got["b"]:
                    await self.say("b", f"warm{number}", "refuse")
                    await asyncio.sleep(0.3)

    async def close(self) -> None:
        for one in self._open:
            await one.close()


@pytest.fixture(params=[("nats", "nats"), ("nats", "mosquitto"), ("rabbitmq", "nats")])
def makes(request: pytest.FixtureRequest) -> tuple[Make, Make]:
    for make in request.param:
        if make != "nats":
            skip_unless_installed(make)
    return request.param  # type: ignore[no-any-return]


@pytest.mark.timeout(240)
def test_clients_talk_over_real_brokers_and_what_is_out_of_turn_does_not_arrive(
    makes: tuple[Make, Make], tmp_path: Path, spark: "SparkSession"
) -> None:
    (tmp_path / "deal.yaml").write_text(DEAL)
    text = FEDERATION.replace("MAKE_A", makes[0]).replace("MAKE_B", makes[1])
    (tmp_path / "shop.yaml").write_text(text)

    async def run() -> None:
        lab = Lab(load(tmp_path / "shop.yaml"), tmp_path / "lab")
        shop = Shop(lab, makes)
        try:
            await lab.start()
            await shop.connect()
            await shop.in_touch()
            await talk(shop)
        finally:
            await shop.close()
            await lab.stop()

    asyncio.run(run())
    done = ingest(spark, [tmp_path / "lab" / "traces"], tmp_path / "store", buckets=1)
    assert done.quarantined == 0
    federation = load(tmp_path / "lab" / "federation.yaml")
    protocols = load_automata(federation.protocols, tmp_path / "lab")
    found = conformance(spark, done.store, federation, protocols)
    assert not found.violations.num_rows, found.violations.to_pylist()
    assert found.conversations["deal"]["ended"] >= 11


async def talk(shop: Shop) -> None:
    """Ten conversations; in each the seller speaks out of turn once, with an agent killed between."""
    for number in range(10):
        name = f"t{number}"
        await shop.say("a", name, "ask")
        await shop.heard("b", name, "ask")
        await shop.say("b", name, "offer")
        if number == 4:
            await shop.lab.fault("kill", "agent:b")
            await shop.lab.fault("heal", "agent:b")
        await shop.heard("a", name, "offer")
        await shop.say("b", name, "refuse", wait=False)  # by who has made an offer
        await shop.say("a", name, "take")
        await shop.heard("b", name, "take")
    await asyncio.sleep(1.0)
    assert all(message != "refuse" for talk, message in shop.got["a"] if talk.startswith("t"))
    for number in range(10):
        assert shop.got["b"].count((f"t{number}", "take")) >= 1
