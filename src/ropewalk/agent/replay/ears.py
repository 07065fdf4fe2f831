"""Clients at the servers of a replay: they publish one message, and count its copies."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Self, cast

from ropewalk.agent.brokers.contract import Headers
from ropewalk.agent.drive.clients import Options, publisher_of, subscriber_of
from ropewalk.agent.lab.ports import HOST
from ropewalk.agent.replay.cast import STORM, Copies, homes_of
from ropewalk.agent.replay.rewrite.nats_logins import GLOBAL, login_of
from ropewalk.agent.replay.stage import Server, Stage
from ropewalk.errors import LabError
from ropewalk.federation.facts import Make
from ropewalk.federation.spelling import cover

ANSWER_S = 5.0
"""How long a broker may take to acknowledge the message."""


class Tally:
    """Copies of one payload; each subscription counts by itself."""

    def __init__(self, payload: bytes) -> None:
        self._payload = payload
        self._heard: dict[tuple[str, str], Counter[str]] = {}
        self.storm = asyncio.Event()

    def hear(self, broker: str, pattern: str, topic: str, payload: bytes) -> None:
        """Count a message, if it is the one, for a subscription."""
        if payload != self._payload:
            return
        heard = self._heard.setdefault((broker, pattern), Counter())
        heard[topic] += 1
        if heard[topic] > STORM:
            self.storm.set()

    @property
    def copies(self) -> Copies:
        """By broker and topic: patterns that overlap hear the same copies."""
        found: dict[tuple[str, str], int] = {}
        for (broker, _), heard in self._heard.items():
            for topic, many in heard.items():
                found[broker, topic] = max(many, found.get((broker, topic), 0))
        return found


class Ears:
    """Clients of a replay; `async with` them: then they are gone whatever happens."""

    def __init__(self, stage: Stage, tally: Tally) -> None:
        self._stage, self._tally = stage, tally
        self._homes = homes_of([one.actor for one in stage.servers.values()])
        self._clients: list[Any] = []
        self._number = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for one in self._clients:
            with suppress(Exception):  # whatever a library says when its server is dead
                async with asyncio.timeout(ANSWER_S):
                    await one.close()

    def server_of(self, broker: str) -> str:
        """The server that a broker of the federation is at."""
        return self._homes[broker][0].name

    async def subscribe(self, wanted: Mapping[str, tuple[str, ...]], topic: str) -> None:
        """Subscribe patterns at brokers whose servers run."""
        for broker, patterns in wanted.items():
            server, space = self._home(broker)
            if server.alive:
                for pattern in cover(patterns):
                    await self._subscribe(broker, server, space, pattern, topic)

    async def publish(self, broker: str, topic: str, payload: bytes) -> None:
        """Publish one message; LabError if it is not taken."""
        server, space = self._home(broker)
        try:
            async with asyncio.timeout(ANSWER_S):
                await self._publish(server, space, topic, payload)
        except (TimeoutError, ConnectionError) as error:
            raise LabError(f"{broker} did not take the message: {error or 'no answer'}") from None

    def _home(self, broker: str) -> tuple[Server, str]:
        actor, space = self._homes[broker]
        return self._stage.servers[actor.name], space

    def _options(self, qos: int) -> Options:
        self._number += 1
        name = f"replay-{self._stage.secret[:6]}-{self._number}"
        return Options(name=name, qos=1 if qos else 0)

    async def _subscribe(
        self, broker: str, server: Server, space: str, pattern: str, topic: str
    ) -> None:
        if server.actor.make == "rabbitmq":
            await self._subscribe_rabbit(broker, server, space, pattern, topic)
            return

        def take(name: str, payload: bytes, _: Headers) -> None:
            self._tally.hear(broker, pattern, name, payload)

        client = subscriber_of(cast("Make", server.actor.make), self._options(qos=1))
        self._clients.append(client)
        await client.connect([_url(server, space)], pattern, take)

    async def _publish(self, server: Server, space: str, topic: str, payload: bytes) -> None:
        if server.actor.make == "rabbitmq":
            await self._publish_rabbit(server, space, topic, payload)
            return
        qos = 1 if server.actor.make == "mosquitto" else 0
        client = publisher_of(cast("Make", server.actor.make), self._options(qos))
        await client.connect([_url(server, space)])
        self._clients.append(client)
        answer = await client.publish(topic, payload)
        if answer is not None:
            await answer

    # --- RabbitMQ: topics are of an exchange ---

    async def _subscribe_rabbit(
        self, broker: str, server: Server, space: str, pattern: str, topic: str
    ) -> None:
        from ropewalk.agent.replay.exchanges import ExchangeSubscriber, bindings

        types = server.script.exchanges.get(space or "/", {})
        for one in bindings(types, pattern, topic):
            client = ExchangeSubscriber(self._options(qos=1), one)
            self._clients.append(client)

            def take(name: str, payload: bytes, _: Headers, label: str = one.label) -> None:
                self._tally.hear(broker, f"{label} {pattern}", name, payload)

            await client.connect([_url(server, space)], pattern, take)

    async def _publish_rabbit(self, server: Server, space: str, topic: str, payload: bytes) -> None:
        from ropewalk.agent.replay.exchanges import ExchangePublisher, exchange_and_key

        types = server.script.exchanges.get(space or "/", {})
        client = ExchangePublisher(self._options(qos=1))
        await client.connect([_url(server, space)])
        self._clients.append(client)
        await client.say(*exchange_and_key(types, topic), payload)


def _url(server: Server, space: str) -> str:
    port = server.running.ports["client"]
    if server.actor.make == "nats":
        return f"nats://{login_of(space or GLOBAL)}:{server.secret}@{HOST}:{port}"
    if server.actor.make == "rabbitmq":
        from ropewalk.agent.replay.exchanges import url_of

        return url_of(port, space)
    return server.running.url
