"""The servers of a replay: their files written into a scratch folder, started, killed, ended."""

import asyncio
import json
import secrets
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from ropewalk.agent.lab.brokers import Running, ports_for, prepare_broker
from ropewalk.agent.lab.group import Group
from ropewalk.agent.lab.makes.recipe import write_secret
from ropewalk.agent.lab.ports import Ports
from ropewalk.agent.replay.cast import Actor, Link, Reach, Script
from ropewalk.agent.replay.doors import Doors
from ropewalk.agent.replay.rewrite.mosquitto import rewrite_mosquitto, without_refused
from ropewalk.agent.replay.rewrite.nats import USES, rewrite_nats, server_name
from ropewalk.agent.replay.rewrite.nats_read import NatsFile, read_nats
from ropewalk.agent.replay.rewrite.rabbitmq import of_mqtt, plugins_for, rewrite_rabbitmq
from ropewalk.errors import LabError

TRIES = 20
"""So many settings may be newer than the Mosquitto that is installed."""


@dataclass(slots=True, kw_only=True)
class Server:
    """A server of the replay."""

    actor: Actor
    script: Script
    running: Running
    secret: str = field(repr=False)
    """The password of all users that the lab has made up."""
    refused: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """What the cast calls it."""
        return self.actor.name

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self.running.child.alive

    async def start(self) -> None:
        """Start it; a Mosquitto that does not know a setting is started without it."""
        for _ in range(TRIES):
            try:
                return await self.running.start()
            except LabError as error:
                if not self._without_refused(str(error)):
                    raise self._told(error) from None
        raise LabError(f"{self.name}: more than {TRIES} settings are unknown to it")

    def _without_refused(self, said: str) -> bool:
        config = self.running.folder / "mosquitto.conf"
        if self.actor.make != "mosquitto":
            return False
        rest = without_refused(config.read_text(), said)
        if rest is None:
            return False
        write_secret(config, rest[0])
        self.refused.append(f"{self.name}: {rest[1]}: the Mosquitto that is installed is too old")
        self.running.child.log.unlink(missing_ok=True)  # else its words are read again
        return True

    def _told(self, error: LabError) -> LabError:
        if self.actor.make != "rabbitmq":
            return error
        version = ""
        with suppress(ValueError, AttributeError):
            given = json.loads(self.actor.text)
            version = str(given.get("rabbitmq_version") or given.get("rabbit_version") or "")
        by = f", which RabbitMQ {version} has written" if version else ""
        return LabError(
            f"the RabbitMQ that is installed does not take {self.actor.file}{by}: {error}"
        )


class Stage:
    """All servers, on ports of the lab."""

    def __init__(
        self, actors: Sequence[Actor], reach: Reach, folder: Path, ports: Ports, group: Group
    ) -> None:
        self.secret = secrets.token_hex(12)
        self._actors = actors
        self._ports = {one.name: _ports_of(one.make, ports) for one in actors}
        self._doors = Doors(ports=self._ports, reach=reach, closed=ports.take())
        files = {one.name: read_nats(one) for one in actors if one.make == "nats"}
        self.servers: Mapping[str, Server] = {
            one.name: self._server(one, files, folder / f"{number}", group)
            for number, one in enumerate(actors)
        }

    async def start(self) -> None:
        """Start them all; LabError if one of them does not start."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._start_mosquittos())
            for one in self.servers.values():
                if one.actor.make != "mosquitto":
                    tasks.create_task(one.start())

    async def _start_mosquittos(self) -> None:
        """One after the other, if it can be those first to which others connect.

        A bridge that finds nobody takes its next address, or sleeps for seconds.
        """
        waiting = [one for one in self.servers.values() if one.actor.make == "mosquitto"]
        while waiting:
            names = {one.name for one in waiting}
            free = [one for one in waiting if not _needs(one) & names - {one.name}]
            for one in free or waiting[:1]:
                await one.start()
                waiting.remove(one)

    async def kill(self, names: Collection[str]) -> None:
        """Kill some of them."""
        await asyncio.gather(*(self.servers[one].running.child.kill() for one in names))

    async def close(self) -> None:
        """Kill them all: nothing of them is needed again."""
        await self.kill(self.servers)
        await asyncio.gather(*(one.running.stop() for one in self.servers.values()))

    @property
    def up(self) -> frozenset[str]:
        """The servers that run."""
        return frozenset(name for name, one in self.servers.items() if one.alive)

    def expected(self) -> list[Link]:
        """The connections that the files ask for, between servers that run."""
        up = self.up
        links = [link for one in self.servers.values() if one.alive for link in one.script.links]
        return [
            link
            for link in links
            if (all if link.kind == "shovel" else any)(one in up for one in link.to)
        ]

    def left_out(self) -> tuple[str, ...]:
        """What the servers' files have that the lab does not."""
        told = [(*one.script.left_out, *one.refused) for one in self.servers.values()]
        return tuple(line for lines in told for line in lines)

    def _server(
        self, actor: Actor, files: Mapping[str, NatsFile], folder: Path, group: Group
    ) -> Server:
        ports = self._ports[actor.name]
        name = server_name(actor.name)
        running = prepare_broker(name, actor.make, folder, ports, group)
        if actor.make == "mosquitto":
            client = ports["client"]
            script = rewrite_mosquitto(actor, self._doors, client=client, folder=running.folder)
            write_secret(running.folder / "mosquitto.conf", script.text)
        elif actor.make == "nats":
            script = rewrite_nats(actor, files, self._doors, secret=self.secret)
            write_secret(running.folder / "nats.conf", script.text)
        else:
            script = rewrite_rabbitmq(actor, self._doors)
            bridged = any(one.make == "mosquitto" for one in self._actors)
            _write_rabbitmq(running.folder, script.text, ports["mqtt"] if bridged else 0)
        return Server(actor=actor, script=script, running=running, secret=self.secret)


def _needs(server: Server) -> set[str]:
    return {one for link in server.script.links for one in link.to}


def _ports_of(make: str, ports: Ports) -> dict[str, int]:
    more = {"nats": USES, "rabbitmq": ("mqtt",)}.get(make, ())
    found = ports_for(make, ports) | {use: ports.take() for use in more}
    return found | {"mqtt": found["client"]} if make == "mosquitto" else found


def _write_rabbitmq(folder: Path, definitions: str, mqtt: int) -> None:
    file = folder / "definitions.json"
    write_secret(file, definitions)
    (folder / "enabled_plugins").write_text(plugins_for(definitions, mqtt=bool(mqtt)))
    with (folder / "rabbitmq.conf").open("a") as config:
        config.write(f"load_definitions = {file}\n")
        for key, value in of_mqtt(mqtt).items() if mqtt else ():
            config.write(f"mqtt.{key} = {value}\n")
