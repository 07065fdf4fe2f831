"""Whether the connections that the files ask for are there, as each make itself tells it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, Self

import psutil

from ropewalk.agent.brokers.http import HttpError, get_json
from ropewalk.agent.drive.clients import Options, subscriber_of
from ropewalk.agent.lab.ports import HOST
from ropewalk.agent.replay.cast import Link
from ropewalk.agent.replay.rewrite.mosquitto import STATE
from ropewalk.agent.replay.rewrite.nats import server_name
from ropewalk.agent.replay.rewrite.nats_logins import GLOBAL
from ropewalk.agent.replay.rewrite.rabbitmq import USER
from ropewalk.agent.replay.stage import Server, Stage

PATIENCE_S = 12.0
RABBITMQS_PATIENCE_S = 60.0
LOOK_S = 0.1
SETTLE_S = 0.3
"""From a connection to its subscriptions."""
RABBITMQS_SETTLE_S = 2.0
"""From a link to the bindings that it carries on."""


class Lookout:
    """Looks at the servers' connections; `async with` it."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._bridges: dict[str, dict[str, bytes]] = {}
        self._clients: list[Any] = []
        self._rabbits = any(one.actor.make == "rabbitmq" for one in stage.servers.values())

    async def __aenter__(self) -> Self:
        for one in self._stage.servers.values():
            if one.actor.make == "mosquitto" and one.script.links:
                await self._listen(one)
        return self

    async def __aexit__(self, *_: object) -> None:
        for one in self._clients:
            with suppress(OSError):
                await one.close()

    async def settled(self) -> tuple[Link, ...]:
        """Wait until all connections are there, a bounded time; those that are not."""
        patience = RABBITMQS_PATIENCE_S if self._rabbits else PATIENCE_S
        missing = self._stage.expected()
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                while missing := [one for one in missing if not await self._there(one)]:
                    await asyncio.sleep(LOOK_S)
                    missing = self._stage.expected()
        await self.carried_on()
        return tuple(missing)

    async def carried_on(self) -> None:
        """Wait until subscriptions have travelled."""
        await asyncio.sleep(RABBITMQS_SETTLE_S if self._rabbits else SETTLE_S)

    async def _listen(self, server: Server) -> None:
        """Be told of the states of its bridges from now on; they are retained."""
        states = self._bridges.setdefault(server.name, {})
        client = subscriber_of("mosquitto", Options(name=f"replay-states-{server.name}"))
        await client.connect(
            [server.running.url],
            STATE.format("#").removesuffix("/state"),
            lambda topic, payload, _: states.update({topic: payload}),
        )
        self._clients.append(client)

    async def _there(self, link: Link) -> bool:
        server = self._stage.servers[link.server]
        if link.kind == "bridge":
            return self._bridged(server, link)
        look = _LOOKS[link.kind]
        try:
            return await look(server, link, self._stage.up)
        except (OSError, TimeoutError, HttpError, ValueError):
            return False

    def _bridged(self, server: Server, link: Link) -> bool:
        if self._bridges[server.name].get(STATE.format(link.name)) != b"1":
            return False
        up = self._stage.up
        ports = [port for to, port in zip(link.to, link.ports, strict=True) if to in up]
        wanted = ports[:1] if link.first else ports
        return bool(set(wanted) & _connected_to(server.running.child.pid))


def _connected_to(pid: int | None) -> set[int]:
    """The far ports of a process's connections: only they show which of its addresses it uses."""
    if pid is None:
        return set()
    try:
        found = psutil.Process(pid).net_connections("tcp")
    except psutil.Error:
        return set()
    return {one.raddr.port for one in found if one.status == "ESTABLISHED" and one.raddr}


async def _leaf(server: Server, link: Link, up: frozenset[str]) -> bool:
    page = await get_json(f"{_monitor(server)}/leafz")
    return any(
        one.get("name") in _names(link, up) and one.get("account", GLOBAL) == link.name
        for one in page.get("leafs") or []
    )


async def _route(server: Server, link: Link, up: frozenset[str]) -> bool:
    page = await get_json(f"{_monitor(server)}/routez")
    return any(one.get("remote_name") in _names(link, up) for one in page.get("routes") or [])


async def _gateway(server: Server, link: Link, _: frozenset[str]) -> bool:
    page = await get_json(f"{_monitor(server)}/gatewayz")
    return link.name in (page.get("outbound_gateways") or {})


async def _upstream(server: Server, link: Link, _: frozenset[str]) -> bool:
    """Every link to the upstream runs, and there is one."""
    page = await _managed(server, "federation-links")
    states = [one.get("status") for one in page if one.get("upstream") == link.name]
    return bool(states) and all(one == "running" for one in states)


async def _shovel(server: Server, link: Link, _: frozenset[str]) -> bool:
    page = await _managed(server, "shovels")
    return any(one.get("name") == link.name and one.get("state") == "running" for one in page)


def _names(link: Link, up: frozenset[str]) -> set[str]:
    return {server_name(one) for one in link.to if one in up}


def _monitor(server: Server) -> str:
    return f"http://{HOST}:{server.running.ports['http']}"


async def _managed(server: Server, what: str) -> Any:
    return await get_json(f"{_monitor(server)}/api/{what}", user=USER, password=USER)


_LOOKS: Mapping[str, Callable[[Server, Link, frozenset[str]], Awaitable[bool]]] = {
    "leaf": _leaf,
    "route": _route,
    "gateway": _gateway,
    "upstream": _upstream,
    "shovel": _shovel,
}
