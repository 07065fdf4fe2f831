"""A TCP proxy that breaks connections in the middle of what they carry."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from tests.conformance.brokers import free_port


class Breaker:
    """Stands before a port; `cut` resets all connections at once, whatever is on its way."""

    def __init__(self, port: int) -> None:
        self._to = port
        self.port = free_port()
        self.mute_on = b""
        """Once these bytes pass towards the broker, nothing comes back until the next cut."""
        self._muted = False
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._to)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, far_writer}
        for one, other, there in ((reader, far_writer, True), (far_reader, writer, False)):
            task = asyncio.create_task(self._carry(one, other, there))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _carry(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, there: bool
    ) -> None:
        with suppress(OSError):
            while data := await reader.read(4096):
                self._muted |= there and self.mute_on != b"" and self.mute_on in data
                if there or not self._muted:
                    writer.write(data)
                    await writer.drain()
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()

    def cut(self) -> None:
        for one in self._writers:
            one.transport.abort()
        self._writers.clear()
        self._muted, self.mute_on = False, b""

    async def end(self) -> None:
        self.cut()
        while self._tasks:
            await asyncio.wait(self._tasks)


@asynccontextmanager
async def breaker(port: int) -> AsyncIterator[Breaker]:
    found = Breaker(port)
    server = await asyncio.start_server(found.accept, "127.0.0.1", found.port)
    try:
        yield found
    finally:
        server.close()
        await server.wait_closed()
        await found.end()
