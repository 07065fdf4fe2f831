"""The fault proxy: a process that every link runs through, and that breaks links when told to.

A link has two ways in: from each of its agents to the other's broker. Both are broken together.
It is a process of its own, so that nothing the lab does delays the traffic.
"""

import asyncio
import signal
import sys
from pathlib import Path
from typing import Any

from ropewalk.agent.lab.pipe import End, Weather
from ropewalk.agent.lab.ports import HOST
from ropewalk.agent.lab.wire import Answers, Message
from ropewalk.errors import LabError

BACKLOG = 1024


class Link:
    """The two ways of a link, and what is wrong with it."""

    def __init__(self, ways: dict[int, int]) -> None:
        self._ways = ways
        self._weather = Weather()
        self._servers: list[asyncio.Server] = []
        self._connecting: set[asyncio.Task[None]] = set()
        self._waiting: list[tuple[End, int]] = []
        self.fault = ""

    async def open(self) -> None:
        """Listen on both ways."""
        loop = asyncio.get_running_loop()
        for port, target in self._ways.items():
            server = await loop.create_server(
                lambda target=target: _Near(self, target),  # type: ignore[misc]
                HOST,
                port,
                backlog=BACKLOG,
            )
            self._servers.append(server)

    def close(self) -> None:
        """Refuse new connections and reset those there are."""
        for server in self._servers:
            server.close()
        self._servers.clear()
        self._waiting.clear()
        for one in tuple(self._connecting):
            one.cancel()
        for end in tuple(self._weather.ends):
            end.reset()

    async def suffer(self, what: str, *, delay_ms: float = 0, rate_kb_s: float = 0) -> None:
        """Be cut, blackholed, slow, or well again (`""`); whatever was wrong before is over."""
        self.fault = what
        if what == "cut":
            self.close()
            self._weather = Weather()
            return
        weather = self._weather
        weather.held = what == "blackhole"
        weather.delay_s, weather.rate_bytes_s = delay_ms / 1000, rate_kb_s * 1000
        for end in tuple(weather.ends):
            end.hold() if weather.held else end.release()
        waiting, self._waiting = self._waiting, []
        for near, target in waiting:
            self.connect(near, target)
        if not self._servers:
            await self.open()

    def weather(self) -> Weather:
        """What it does to bytes."""
        return self._weather

    def connect(self, near: End, target: int) -> None:
        """Connect on to the broker, or later if nothing passes now."""
        if self._weather.held:
            self._waiting.append((near, target))
            return
        task = asyncio.get_running_loop().create_task(self._connect(near, target))
        self._connecting.add(task)
        task.add_done_callback(self._connecting.discard)

    async def _connect(self, near: End, target: int) -> None:
        loop = asyncio.get_running_loop()
        try:
            _, far = await loop.create_connection(lambda: End(self._weather), HOST, target)
        except OSError:
            near.reset()
            return
        if near.transport.is_closing():
            far.reset()
        else:
            near.join(far)

    def status(self) -> Message:
        """What is wrong with it and how many connections it has."""
        return {"fault": self.fault, "connections": len(self._weather.ends) // 2}


class _Near(End):
    """The end that an agent has opened."""

    def __init__(self, link: Link, target: int) -> None:
        super().__init__(link.weather())
        self._link, self._target = link, target

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._link.connect(self, self._target)


class Proxy:
    """All links, and the questions that can be asked about them."""

    def __init__(self) -> None:
        self._links: dict[str, Link] = {}

    async def answer(self, question: Message) -> Message:
        """Do what is asked: `open`, `fault` or `status`."""
        match question:
            case {"do": "open", "link": str(name), "ways": dict(ways)}:
                self._links[name] = Link({int(port): int(to) for port, to in ways.items()})
                await self._links[name].open()
                return {}
            case {"do": "fault", "link": str(name), "what": str(what)}:
                if name not in self._links:
                    raise LabError(f"the proxy has no link {name}")
                await self._links[name].suffer(what, **_numbers(question))
                return {}
            case {"do": "status"}:
                return {"links": {name: one.status() for name, one in self._links.items()}}
        raise LabError(f"the proxy does not understand {question}")

    def close(self) -> None:
        """Close every link."""
        for link in self._links.values():
            link.close()


def _numbers(question: Message) -> dict[str, Any]:
    return {key: float(question[key]) for key in ("delay_ms", "rate_kb_s") if key in question}


def proxy_command(path: Path) -> list[str]:
    """The command line of a proxy that takes its questions from a unix socket."""
    return [sys.executable, "-m", "ropewalk.agent.lab.proxy", str(path)]


async def run(path: Path) -> None:
    """Be the proxy until SIGTERM."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    proxy = Proxy()
    answers = Answers(path, proxy.answer)
    await answers.start()
    await stop.wait()
    await answers.close()
    proxy.close()


if __name__ == "__main__":
    asyncio.run(run(Path(sys.argv[1])))
