"""A connection that comes back: it is made anew with back-off whenever it was lost."""

import asyncio
import ssl
from dataclasses import dataclass
from typing import Protocol

from ropewalk.agent.brokers.contract import Access
from ropewalk.agent.brokers.mqtt.connection import Connection, Hello, Listener


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a line waits."""

    first_s: float = 0.05
    """Before it connects again; doubled each time that it fails."""
    most_s: float = 5.0
    connect_s: float = 5.0
    """For a connection, from the first packet to CONNACK."""
    settled_s: float = 1.0
    """How long a connection has to last before its loss is no failure to connect."""


class Caller(Listener, Protocol):
    """Who uses a line."""

    def lost(self, why: str, *, refused: bool) -> None:
        """There is no connection, or no more; refused: because the broker said no."""


class Line:
    """Keeps one connection to a broker until it is closed."""

    def __init__(
        self, access: Access, hello: Hello, caller: Caller, patience: Patience | None = None
    ) -> None:
        self._access = access
        self._hello = hello
        self._caller = caller
        self._patience = patience or Patience()
        self._connection: Connection | None = None
        self._task: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()

    def start(self) -> None:
        """Begin to connect."""
        self._task = self._task or asyncio.create_task(self._run())

    def drop(self, why: str) -> None:
        """End an accepted connection with all that it still holds; a new one is made."""
        if self._connection is not None and self._connection.accepted:
            self._connection.fail(why)

    async def close(self) -> None:
        """Write what is waiting and disconnect for good."""
        self._stop.set()
        connection, task = self._connection, self._task
        if connection is not None and connection.open:
            await connection.close()
        elif connection is not None and task is not None:
            connection.fail("closed")
            task.cancel()
        if task is not None:
            await asyncio.wait([task])

    async def _run(self) -> None:
        loop, wait_s = asyncio.get_running_loop(), self._patience.first_s
        while not self._stop.is_set():
            since = loop.time()
            why, accepted, refused = await self._live()
            if self._stop.is_set():
                return
            self._caller.lost(why, refused=refused)
            if accepted and loop.time() >= since + self._patience.settled_s:
                wait_s = self._patience.first_s
            await self._rest(wait_s)
            wait_s = min(2 * wait_s, self._patience.most_s)

    async def _rest(self, wait_s: float) -> None:
        try:
            async with asyncio.timeout(wait_s):
                await self._stop.wait()
        except TimeoutError:
            return

    async def _live(self) -> tuple[str, bool, bool]:
        """Connect, and wait for the end: why, and whether it was accepted and refused."""
        connection = Connection(self._access, self._hello, self._caller)
        self._connection = connection
        watchdog = asyncio.get_running_loop().call_later(
            self._patience.connect_s, self._give_up, connection
        )
        try:
            why = await self._connect(connection) or await connection.ended
        finally:
            watchdog.cancel()
            self._connection = None
        return why, connection.accepted, connection.refused

    def _give_up(self, connection: Connection) -> None:
        if not connection.accepted:
            connection.fail(f"{self._access.name}: no CONNACK in {self._patience.connect_s:g} s")

    async def _connect(self, connection: Connection) -> str:
        """Open TCP, with TLS where it is asked for; why it failed, or nothing."""
        access, at = self._access, f"{self._access.host}:{self._access.port}"
        name = access.host if access.tls is not None else None
        try:
            async with asyncio.timeout(self._patience.connect_s):
                await asyncio.get_running_loop().create_connection(
                    lambda: connection,
                    access.host,
                    access.port,
                    ssl=access.tls,
                    server_hostname=name,
                )
        except TimeoutError:
            return f"{access.name}: no connection to {at} in {self._patience.connect_s:g} s"
        except ssl.SSLError as error:
            connection.refused = True
            what = getattr(error, "verify_message", "") or error.reason or error
            return f"{access.name}: no TLS with {at}: {what}; check the certificate and the port"
        except OSError as error:
            kind = "connection" if access.tls is None else "TLS connection"
            return f"{access.name}: no {kind} to {at}: {error.strerror or error}"
        return ""
