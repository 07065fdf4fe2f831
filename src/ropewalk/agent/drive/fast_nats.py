"""A minimal NATS load client for saturation: nats-py would be the bottleneck of a measurement.

It reads with the agents' codec, hands over at once all that a read has brought, and writes all
publications of a turn with one call. Acknowledgements come to one inbox, `_INBOX.x.NUMBER`. No TLS.
"""

import asyncio
import json
from collections.abc import Callable, Iterable, Sequence
from itertools import cycle
from secrets import token_hex
from typing import Any
from urllib.parse import unquote, urlsplit

from ropewalk.agent.brokers.nats.codec import Message, Parser
from ropewalk.agent.drive.clients import BACK_S, CONNECT_S, Options, unreachable
from ropewalk.agent.drive.window import Window
from ropewalk.federation.spelling import patterns_to_nats, to_nats

SWEEP_S = 0.025


class _Fast(asyncio.Protocol):
    """A connection to one of several servers, made anew when it breaks; to be subclassed."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._why = "no answer"
        self._up, self._lost = asyncio.Event(), asyncio.Event()
        self._writable = False
        self._transport: Any = None
        self._keeper: asyncio.Task[None] | None = None

    def _take(self, messages: list[Message]) -> None:
        raise NotImplementedError

    async def _open(self, urls: Sequence[str], subjects: Sequence[str]) -> None:
        """Connect, and return when the server has confirmed the subscriptions."""
        self._subjects = subjects
        self._keeper = asyncio.create_task(self._keep(urls))
        try:
            async with asyncio.timeout(CONNECT_S):
                await self._up.wait()
        except TimeoutError as error:
            await self.close()
            raise unreachable(self._options, urls, self._why) from error

    async def _keep(self, urls: Sequence[str]) -> None:
        loop = asyncio.get_running_loop()
        for self._server in cycle(map(urlsplit, urls)):
            self._lost.clear()
            try:
                host, port = self._server.hostname or "", self._server.port or 4222
                await loop.create_connection(lambda: self, host, port)
                await self._lost.wait()
            except OSError as error:
                self._why = str(error)
            await asyncio.sleep(BACK_S)

    async def close(self) -> None:
        """Disconnect for good."""
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.wait({self._keeper})
        if self._transport is not None:
            self._transport.abort()
            await self._lost.wait()

    def connection_made(self, transport: Any) -> None:
        """Say who we are and what we want; the answer to PING confirms it."""
        server, self._parser, self._transport = self._server, Parser(), transport
        words = {"verbose": False, "headers": True, "no_responders": True, "lang": "python"}
        if server.username:
            words |= {"user": unquote(server.username), "pass": unquote(server.password or "")}
        wanted = "".join(f"SUB {one} {i}\r\n" for i, one in enumerate(self._subjects, start=1))
        transport.write(f"CONNECT {json.dumps(words)}\r\n{wanted}PING\r\n".encode())

    def connection_lost(self, _why: Exception | None) -> None:
        """Let it be made anew."""
        self._writable, self._transport = False, None
        self._lost.set()

    def pause_writing(self) -> None:
        """The server does not keep up."""
        self._writable = False

    def resume_writing(self) -> None:
        """It does again."""
        self._writable = True

    def data_received(self, data: bytes) -> None:
        """Cut what has come into messages; the rest waits for more."""
        found, lines = self._parser.feed(data)
        for line in lines:
            self._control(line)
        if found:
            self._take(found)

    def _control(self, line: bytes) -> None:
        if line == b"PING":
            self._transport.write(b"PONG\r\n")
        elif line == b"PONG":
            self._writable = True
            self._up.set()
        elif line.startswith(b"-ERR"):
            self._why = line.decode()


class FastSubscriber(_Fast):
    """Subscribes, and hands over the payloads of each read at once."""

    async def connect(
        self, urls: Sequence[str], pattern: str, on_payloads: Callable[[list[bytes]], None]
    ) -> None:
        """Connect and subscribe."""
        self._on_payloads = on_payloads
        await self._open(urls, patterns_to_nats(pattern))

    def _take(self, messages: list[Message]) -> None:
        self._on_payloads([one[4] for one in messages])


class FastPublisher(_Fast):
    """Publishes to one topic; tells the mark of each acknowledged publication and its tries."""

    def __init__(self, options: Options, topic: str, acked: Callable[[int, int], None]) -> None:
        super().__init__(options)
        self._subject, self._acked = to_nats(topic).encode(), acked
        self._inbox = f"_INBOX.{token_hex(8)}".encode()
        self._window = Window[tuple[bytes, int]](size=options.window, resend_s=options.resend_s)

    async def connect(self, urls: Sequence[str]) -> None:
        """Connect to the first URL that answers."""
        self._loop = asyncio.get_running_loop()
        await self._open(urls, [f"{self._inbox.decode()}.*"])
        self._sweeper = self._loop.call_later(SWEEP_S, self._sweep)

    @property
    def room(self) -> int:
        """How many may be published now."""
        return self._window.room if self._writable else 0

    def publish(self, payloads: Sequence[bytes], marks: Sequence[int]) -> None:
        """Publish; what is not acknowledged is sent again until it is."""
        now_s, items = self._loop.time(), zip(payloads, marks, strict=True)
        self._write((self._window.open(item, now_s), item) for item in items)

    async def close(self) -> None:
        """Disconnect for good."""
        if self._up.is_set():
            self._sweeper.cancel()
        await super().close()

    def _write(self, items: Iterable[tuple[int, tuple[bytes, int]]]) -> None:
        write = self._named if self._options.named else self._plain
        self._transport.write(b"".join([write(number, payload) for number, (payload, _) in items]))

    def _plain(self, number: int, payload: bytes) -> bytes:
        where = (self._subject, self._inbox, number)
        return b"PUB %b %b.%d %d\r\n%b\r\n" % (*where, len(payload), payload)

    def _named(self, number: int, payload: bytes) -> bytes:
        where = (self._subject, self._inbox, number)
        head = b"NATS/1.0\r\nNats-Msg-Id: %b.%d\r\n\r\n" % where[1:]
        sizes = (len(head), len(head) + len(payload))
        return b"HPUB %b %b.%d %d %d\r\n%b%b\r\n" % (*where, *sizes, head, payload)

    def _take(self, messages: list[Message]) -> None:
        skip = len(self._inbox) + 1
        for subject, _sid, _reply, _block, payload in messages:
            number = int(subject[skip:])
            if b'"seq"' not in payload or b'"error"' in payload:  # refused, or nobody is there
                self._window.refuse(number, self._loop.time())
            elif (flight := self._window.close(number)) is not None:
                self._acked(flight.item[1], flight.tries)

    def _sweep(self) -> None:
        """Send again what was not answered; all that a lost connection took goes the same way."""
        if self._writable:
            self._write(self._window.overdue(self._loop.time()))
        self._sweeper = self._loop.call_later(SWEEP_S, self._sweep)
