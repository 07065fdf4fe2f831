"""One connection to a NATS server: handshake, TLS, reading whole batches, writing once per turn."""

import asyncio
import json
import socket
import ssl
from collections.abc import Callable
from typing import Any, cast

from ropewalk.agent.brokers.contract import Access
from ropewalk.agent.brokers.nats.codec import Message, Parser, ProtocolError

HELLO_S = 2.0
"""How long a server may take to greet."""
CLOSING_S = 1.0
FULL_BYTES = 4 << 20
"""What may wait to be written before the connection counts as behind."""


class RefusedError(Exception):
    """The server does not let us in, or not in the way that was asked for."""


class Connection(asyncio.Protocol):
    """An open connection; made by `connect`."""

    def __init__(
        self,
        read: Callable[[list[Message], list[bytes]], None],
        lost: Callable[[str], None],
        *,
        leaf: bool = False,
    ) -> None:
        self._read, self._lost, self._leaf = read, lost, leaf
        self._parser = Parser(leaf=leaf)
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._pieces: list[bytes] = []
        self._ended = asyncio.Event()
        self._why = ""
        self._greeted: asyncio.Future[dict[str, Any]] | None = self._loop.create_future()
        self._pinged: asyncio.Future[None] | None = None
        self.server_id = ""
        self.behind = False
        """So much waits to be written that it would be better to wait."""

    # --- asyncio ----------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Write without delay and say early when too much waits."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=FULL_BYTES)
        sock = transport.get_extra_info("socket")
        if sock is not None:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def data_received(self, data: bytes) -> None:
        """Everything that one read brought, at once."""
        try:
            messages, lines = self._parser.feed(data)
        except (ProtocolError, ValueError, IndexError) as error:
            self.fail(f"it does not speak NATS: {error}")
            return
        for line in lines:
            self._line(line)
        if messages or lines:
            self._read(messages, lines)

    def connection_lost(self, error: Exception | None) -> None:
        """Tell it once, with the server's own reason if it gave one."""
        self._transport = None
        self._ended.set()
        why = self._why or (str(error) if error else "the server closed the connection")
        for one in (self._greeted, self._pinged):
            if one is not None and not one.done():
                one.set_exception(RefusedError(why))
        self._greeted = self._pinged = None
        self._lost(why)

    def pause_writing(self) -> None:
        """Too much waits."""
        self.behind = True

    def resume_writing(self) -> None:
        """No longer."""
        self.behind = False

    # --- speaking ---------------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        """Send bytes with all others of this turn of the loop."""
        if not self._pieces:
            self._loop.call_soon(self._flush)
        self._pieces.append(data)

    def _flush(self) -> None:
        pieces, self._pieces = self._pieces, []
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(b"".join(pieces))

    def fail(self, why: str) -> None:
        """Close it because of something."""
        self._why = self._why or why
        self.abort()

    def abort(self) -> None:
        """Drop it with all that it holds."""
        if self._transport is not None:
            self._transport.abort()

    async def close(self) -> None:
        """Write what waits, then close."""
        self._flush()
        if self._transport is None:
            return
        self._transport.close()
        try:
            async with asyncio.timeout(CLOSING_S):
                await self._ended.wait()
        except TimeoutError:
            self.abort()
            await self._ended.wait()

    def pause(self) -> None:
        """Read nothing for now."""
        if self._transport is not None:
            self._transport.pause_reading()

    def resume(self) -> None:
        """Read on."""
        if self._transport is not None:
            self._transport.resume_reading()

    # --- handshake --------------------------------------------------------------------------

    def _line(self, line: bytes) -> None:
        word = line[:4]
        if word == b"PING":
            self.write(b"PONG\r\n")
        elif word == b"PONG" and self._pinged is not None:
            if not self._pinged.done():
                self._pinged.set_result(None)
            self._pinged = None
        elif word == b"INFO" and self._greeted is not None:
            info = json.loads(line[5:])
            self.server_id = str(info.get("server_id", ""))
            if not self._greeted.done():
                self._greeted.set_result(info)
            self._greeted = None
        elif word == b"-ERR":
            self._why = line[5:].strip(b"' ").decode("utf-8", "replace")

    async def shake_hands(self, access: Access, *, name: str, encrypted: bool) -> None:
        """Be let in, over TLS if that was asked for; raises RefusedError."""
        if self._greeted is not None:
            info = await self._greeted
            if access.tls is not None and not encrypted:
                await self._encrypt(access, info)
        hello = json.dumps(self._hello(access, name)).encode()
        self.write(b"CONNECT %b\r\n" % hello)
        try:
            await self.ping()
        except RefusedError as error:
            if "authorization" in str(error).lower():
                raise RefusedError(_not_let_in(access.user)) from error
            raise

    async def ping(self) -> None:
        """Wait until the server has handled all that was written; raises RefusedError."""
        self._pinged = pinged = self._loop.create_future()
        self.write(b"PING\r\n")
        await pinged

    async def _encrypt(self, access: Access, info: dict[str, Any]) -> None:
        if not (info.get("tls_required") or info.get("tls_available")):
            raise RefusedError("TLS is configured, and the server offers none: nothing was sent")
        if self._transport is None or access.tls is None:
            raise RefusedError("the connection was closed during the handshake")
        host = access.server_name or access.host
        upgraded = await self._loop.start_tls(
            self._transport, self, access.tls, server_hostname=host
        )
        if upgraded is None:
            raise RefusedError("the connection was closed during the handshake")
        self.connection_made(upgraded)

    def _hello(self, access: Access, name: str) -> dict[str, Any]:
        told: dict[str, Any] = {
            "verbose": False,
            "pedantic": False,
            "name": name,
            "headers": True,
            "no_responders": True,
            "protocol": 1,
        }
        if access.user:
            told |= {"user": access.user, "pass": access.password}
        if self._leaf:
            return told | {"server_id": f"ropewalk-{name}", "version": "2.10.0"}
        return told | {"echo": False, "lang": "python", "version": "1"}


def _not_let_in(user: str) -> str:
    who = f"user {user!r}" if user else "a client without a user"
    return f"it does not let {who} in: check the broker's credentials in the federation file"


async def connect(
    access: Access,
    make: Callable[[], Connection],
    *,
    name: str,
    host: str = "",
    port: int = 0,
    limit_s: float = HELLO_S,
) -> Connection:
    """An open connection; raises OSError, TimeoutError, ssl.SSLError or RefusedError."""
    host, port = host or access.host, port or access.port
    try:
        return await _try(access, make, host, port, name, limit_s, encrypted=False)
    except TimeoutError:
        if access.tls is None:
            raise
        # A server with `handshake_first` says nothing before TLS stands.
        return await _try(access, make, host, port, name, limit_s, encrypted=True)


async def _try(
    access: Access,
    make: Callable[[], Connection],
    host: str,
    port: int,
    name: str,
    limit_s: float,
    *,
    encrypted: bool,
) -> Connection:
    context: ssl.SSLContext | None = access.tls if encrypted else None
    server = (access.server_name or access.host) if context else None
    loop = asyncio.get_running_loop()
    connection: Connection | None = None
    try:
        async with asyncio.timeout(limit_s):
            _, connection = await loop.create_connection(
                make, host, port, ssl=context, server_hostname=server
            )
            await connection.shake_hands(access, name=name, encrypted=encrypted)
            return connection
    except BaseException:
        if connection is not None:
            connection.abort()
        raise
