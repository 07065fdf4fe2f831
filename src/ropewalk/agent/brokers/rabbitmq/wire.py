"""One AMQP connection: log in, ask, publish; many frames per read, one write per loop turn."""

import asyncio
import ssl
import struct
from collections.abc import Callable, Sequence
from typing import Any, cast

from pamqp import commands
from pamqp import frame as pamqp_frame
from pamqp.exceptions import PAMQPException

from ropewalk.agent.brokers.contract import Access
from ropewalk.agent.brokers.rabbitmq.frames import BEAT, Confirm, Content, Method, Reader

CONNECT_S = 0.3
TLS_CONNECT_S = 1.0
LOGIN_S = 3.0
CLOSE_S = 1.0
HEARTBEAT_S = 10
_HIGH_BYTES = 1 << 20
_PROTOCOL = b"AMQP\x00\x00\x09\x01"
_ACCESS_REFUSED, _RESOURCE_LOCKED = 403, 405


class LostError(Exception):
    """The connection is gone, or was never there; `code` is AMQP's where the broker gave one."""

    def __init__(self, why: str, code: int = 0) -> None:
        self.why, self.code = why, code
        super().__init__(why)


def _nothing(_: Any) -> None:
    """Take no notice."""


class Wire(asyncio.Protocol):
    """A connection; `came` and `confirmed` get all that one read brought, at once.

    A channel that the broker closes ends the connection: its user starts over from a clean state.
    """

    def __init__(
        self,
        access: Access,
        client: str,
        *,
        came: Callable[[Sequence[Content]], None] = _nothing,
        confirmed: Callable[[Sequence[Confirm]], None] = _nothing,
    ) -> None:
        self._access, self._client = access, client
        self._came, self._confirmed = came, confirmed
        self._loop = asyncio.get_running_loop()
        self.gone: asyncio.Future[LostError] = self._loop.create_future()
        self._closed: asyncio.Future[None] = self._loop.create_future()
        self._transport: asyncio.Transport | None = None
        self._reader = Reader()
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._out: list[bytes] = []
        self._out_bytes = 0
        self._full = self.blocked = False
        self._read_since_beat = self._wrote_since_beat = True
        self._silent_beats = 0
        self._channels = 0
        self.frame_max = 4096

    @property
    def where(self) -> str:
        """The broker and its address, for messages."""
        return f"{self._access.name} ({self._access.host}:{self._access.port})"

    @property
    def busy(self) -> bool:
        """Whether the broker reads more slowly than we write, or not at all (an alarm)."""
        return self._full or self.blocked or self._out_bytes > _HIGH_BYTES

    @property
    def waiting_bytes(self) -> int:
        """What is written and has not left yet."""
        left = self._transport.get_write_buffer_size() if self._transport else 0
        return self._out_bytes + left

    # --- connecting -------------------------------------------------------------------------

    async def open(self) -> None:
        """Connect and log in; LostError says why not."""
        try:
            async with asyncio.timeout(CONNECT_S if self._access.tls is None else TLS_CONNECT_S):
                await self._dial()
            async with asyncio.timeout(LOGIN_S):
                await self._login()
        except TimeoutError:
            self._lose(LostError(f"{self.where} does not answer"))
        except ssl.SSLError as error:
            self._lose(LostError(f"{self.where}: no TLS connection: {error}"))
        except OSError as error:
            self._lose(LostError(f"{self.where} cannot be reached: {error.strerror or error}"))
        if self.gone.done():
            raise self.gone.result()

    async def _dial(self) -> None:
        tls = self._access.tls
        await self._loop.create_connection(
            lambda: self,
            self._access.host,
            self._access.port,
            ssl=tls,
            server_hostname=self._access.host if tls is not None else None,
        )

    async def _login(self) -> None:
        start = await self._answer(0, _PROTOCOL)
        tune = await self._ask(0, self._credentials(start.mechanisms))
        self.frame_max = tune.frame_max or 131072
        agreed = commands.Connection.TuneOk(tune.channel_max, self.frame_max, HEARTBEAT_S)
        self.put(pamqp_frame.marshal(agreed, 0))
        await self._ask(0, commands.Connection.Open())
        self._loop.call_later(HEARTBEAT_S / 2, self._beat)

    def _credentials(self, mechanisms: str) -> commands.Connection.StartOk:
        """A name and password; the client certificate where there is no name."""
        user, password = self._access.user, self._access.password
        if not user and self._access.tls is not None and "EXTERNAL" in mechanisms.split():
            mechanism, response = "EXTERNAL", ""
        else:
            mechanism = "PLAIN"
            response = f"\0{user or 'guest'}\0{password if user else 'guest'}"
        can = dict.fromkeys(
            (
                "authentication_failure_close",
                "basic.nack",
                "connection.blocked",
                "consumer_cancel_notify",
                "publisher_confirms",
            ),
            True,
        )
        says: dict[str, Any] = {
            "product": "ropewalk",
            "connection_name": self._client,
            "capabilities": can,
        }
        return commands.Connection.StartOk(says, mechanism, response)

    # --- asking and writing -----------------------------------------------------------------

    async def channel(self) -> int:
        """Open the next channel: 1, 2, 3..."""
        self._channels += 1
        await self._ask(self._channels, commands.Channel.Open())
        return self._channels

    async def ask(self, channel: int, method: Any) -> Any:
        """Send a method and wait for its answer; LostError if there will be none."""
        try:
            async with asyncio.timeout(LOGIN_S):
                return await self._ask(channel, method)
        except TimeoutError:
            self._lose(LostError(f"{self.where} does not answer {method.name}"))
            raise self.gone.result() from None

    def tell(self, channel: int, method: Any) -> None:
        """Send a method that has no answer."""
        self.put(pamqp_frame.marshal(method, channel))

    async def _ask(self, channel: int, method: Any) -> Any:
        return await self._answer(channel, pamqp_frame.marshal(method, channel))

    async def _answer(self, channel: int, question: bytes) -> Any:
        if self.gone.done():
            raise self.gone.result()
        self.put(question)
        self._answers[channel] = self._loop.create_future()
        try:
            return await self._answers[channel]
        finally:
            del self._answers[channel]

    def put(self, data: bytes) -> None:
        """Write, together with all else that this loop turn writes."""
        if not self._out:
            self._loop.call_soon(self._flush)
        self._out.append(data)
        self._out_bytes += len(data)

    def _flush(self) -> None:
        if self._out and self._transport is not None and not self.gone.done():
            self._transport.write(b"".join(self._out))
            self._wrote_since_beat = True
        self._out.clear()
        self._out_bytes = 0

    def _beat(self) -> None:
        if self.gone.done():
            return
        self._silent_beats = 0 if self._read_since_beat else self._silent_beats + 1
        if self._silent_beats > 3:
            self._lose(LostError(f"{self.where} has been silent for {2 * HEARTBEAT_S} s"))
            return
        if not self._wrote_since_beat:
            self.put(BEAT)
        self._read_since_beat = self._wrote_since_beat = False
        self._loop.call_later(HEARTBEAT_S / 2, self._beat)

    # --- what the transport tells -----------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=_HIGH_BYTES)

    def data_received(self, data: bytes) -> None:
        """Take apart what came and tell of it by kind."""
        self._read_since_beat = True
        try:
            items = self._reader.feed(data)
        except (ValueError, LookupError, struct.error, PAMQPException) as error:
            self._lose(LostError(f"{self.where} does not speak AMQP 0-9-1: {error}"))
            return
        contents = [one for one in items if type(one) is Content]
        confirms = [one for one in items if type(one) is Confirm]
        if contents:
            self._came(contents)
        if confirms:
            self._confirmed(confirms)
        if len(contents) + len(confirms) < len(items):
            for one in items:
                if type(one) is Method:
                    self._method(one.channel, one.frame)

    def _method(self, channel: int, frame: Any) -> None:
        match frame:
            case commands.Connection.Close() | commands.Channel.Close():
                self._lose(LostError(self._closing(frame), frame.reply_code or 0))
            case commands.Basic.Cancel():
                self._lose(LostError(f"{self.where}: a queue of the agent's was deleted"))
            case commands.Connection.Blocked() | commands.Connection.Unblocked():
                self.blocked = isinstance(frame, commands.Connection.Blocked)
            case _:
                answer = self._answers.get(channel)
                if answer is not None and not answer.done():
                    answer.set_result(frame)

    def _closing(self, frame: Any) -> str:
        if frame.reply_code == _RESOURCE_LOCKED or "exclusive use" in frame.reply_text:
            return f"{self.where} already has an agent of this name: {frame.reply_text}; stop it"
        if frame.reply_code == _ACCESS_REFUSED:
            user = self._access.user or "guest"
            return (
                f"{self.where} refuses user '{user}': {frame.reply_text}; check the broker's"
                " `credentials` in the federation file and the user's permissions"
            )
        return f"{self.where} closed the connection: {frame.reply_text}"

    def pause_writing(self) -> None:
        """The broker reads more slowly than we write."""
        self._full = True

    def resume_writing(self) -> None:
        """It has caught up."""
        self._full = False

    def connection_lost(self, exc: Exception | None) -> None:
        """The transport is closed."""
        self._lose(LostError(f"{self.where} closed the connection{f': {exc}' if exc else ''}"))
        if not self._closed.done():
            self._closed.set_result(None)

    # --- ending -----------------------------------------------------------------------------

    def _lose(self, why: LostError) -> None:
        if self.gone.done():
            return
        self.gone.set_result(why)
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(why)
        if self._transport is not None:
            self._transport.abort()

    def drop(self) -> None:
        """Drop the connection with all that waits to be written."""
        self._lose(LostError(f"the connection to {self.where} was dropped"))

    async def abort(self) -> None:
        """Drop it, and wait until it is gone."""
        self.drop()
        if self._transport is not None:
            await self._closed

    async def close(self) -> None:
        """Write what is waiting, take leave and disconnect."""
        if not self.gone.done():
            try:
                async with asyncio.timeout(CLOSE_S):
                    await self._ask(0, commands.Connection.Close(200, "goodbye", 0, 0))
            except (TimeoutError, LostError):
                pass
        await self.abort()
