"""Brokers that are joined by their own means, every link through the lab's fault proxy."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from ropewalk.agent.drive.plan import Mode
from ropewalk.agent.lab.brokers import Running, ports_for, prepare_broker
from ropewalk.agent.lab.child import Child
from ropewalk.agent.lab.group import Group
from ropewalk.agent.lab.ports import Ports
from ropewalk.agent.lab.proxy import proxy_command
from ropewalk.agent.lab.wire import Message, ask_later
from ropewalk.errors import LabError
from ropewalk.federation import Federation

PROXY_S = 15.0


class Contender(Protocol):
    """Brokers that carry messages from a to d through b, and can be broken."""

    federation: Federation
    """Its brokers' URLs are known once it has started."""
    rate_msgs_s: float
    mode: Mode
    lasting: bool
    """Whether it is used for many faults; others start anew for each."""

    async def start(self, folder: Path) -> None:
        """Start all of it."""

    async def check(self) -> None:
        """LabError unless messages go through b: what the faults hit has to be in their way."""

    async def fault(self, what: str, target: str) -> None:
        """Kill, blackhole, cut or heal a broker or a link."""

    async def stop(self) -> None:
        """End all of it."""


class Writer(Protocol):
    """Adds to a broker's configuration, which is already in its folder."""

    def __call__(self, broker: Running, reach: Mapping[str, int]) -> None:
        """`reach` has the proxy's port of each broker that this one connects to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """How brokers of one make are joined without Ropewalk."""

    federation: Federation
    dials: Mapping[str, tuple[str, str]]
    """By link: who connects to whom."""
    port: str
    """The use of the port that it connects to."""
    waves: Sequence[Sequence[str]]
    """Who is started side by side, wave by wave."""
    write: Writer
    rate_msgs_s: float = 1000.0
    mode: Mode = "acked"
    lasting: bool = False


class Rig:
    """A peer that runs."""

    def __init__(self, peer: Peer) -> None:
        self.federation = peer.federation
        self.rate_msgs_s, self.mode, self.lasting = peer.rate_msgs_s, peer.mode, peer.lasting
        self._peer = peer
        self._brokers: dict[str, Running] = {}

    async def start(self, folder: Path) -> None:
        """Start the proxy, then the brokers in waves."""
        self._ports, self._group = Ports(), Group()
        self._socket = folder / "proxy.sock"
        self._proxy = Child(
            name="proxy",
            command=proxy_command(self._socket),
            folder=folder,
            log=folder / "proxy.log",
            group=self._group,
        )
        self._prepare(folder)
        self._proxy.start()
        await self._proxy.ready(self._listens, patience_s=PROXY_S)
        for link, (dialer, listener) in self._peer.dials.items():
            way = {self._reach[dialer, listener]: self._brokers[listener].ports[self._peer.port]}
            await self._ask(do="open", link=link, ways=way)
        for wave in self._peer.waves:
            await asyncio.gather(*(self._brokers[name].start() for name in wave))

    def _prepare(self, folder: Path) -> None:
        self._reach = {ends: self._ports.take() for ends in self._peer.dials.values()}
        placed = {}
        for name, broker in self._peer.federation.brokers.items():
            made = prepare_broker(
                name, broker.make, folder / name, ports_for(broker.make, self._ports), self._group
            )
            self._peer.write(made, {b: port for (a, b), port in self._reach.items() if a == name})
            self._brokers[name] = made
            placed[name] = replace(broker, url=made.url)
        self.federation = replace(self._peer.federation, brokers=placed)

    async def check(self) -> None:
        """LabError unless the links through b are used, and a--c is not."""
        links = (await self._ask(do="status"))["links"]
        used = {name for name, one in links.items() if one["connections"]}
        if not {"a--b", "b--d"} <= used or "a--c" in used:
            raise LabError(f"messages do not go through b: connections on {sorted(used)}")

    async def fault(self, what: str, target: str) -> None:
        """Kill, blackhole, cut or heal a broker or a link."""
        if target in self._peer.dials:
            await self._ask(do="fault", link=target, what="" if what == "heal" else what)
        elif what == "kill":
            await self._brokers[target].child.kill()
        else:
            await self._brokers[target].start()

    async def stop(self) -> None:
        """End all of it."""
        try:
            await asyncio.gather(*(one.stop() for one in self._brokers.values()))
            await self._proxy.stop()
        finally:
            await asyncio.to_thread(self._group.close)
            self._ports.close()

    async def _listens(self) -> bool:
        try:
            await self._ask(do="status")
        except OSError:  # not there, or there and not listening yet
            return False
        return True

    async def _ask(self, **question: object) -> Message:
        return await ask_later(self._socket, question)
