"""NATS clients with nats-py: plain publications, or acknowledged ones with many in flight.

nats-py's own `js.publish` waits for each acknowledgement. Here all of them come to one inbox, and a
publication that stays unanswered is sent again with the same `Nats-Msg-Id`, as its user would.
"""

import asyncio
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import nats
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from ropewalk.agent.brokers.contract import Headers
from ropewalk.agent.drive.clients import BACK_S, CONNECT_S, OnMessage, Options, unreachable
from ropewalk.agent.drive.window import Window
from ropewalk.federation.spelling import from_nats, patterns_to_nats, to_nats

SWEEP_S = 0.025


async def settled(client: Client) -> None:
    """Return when the server has handled all subscriptions of a client.

    nats-py writes the first PING ahead of what still waits to be written: only the answer to the
    second says that this has arrived.
    """
    await client.flush()
    await client.flush()


class PubAck(msgspec.Struct):
    """What acknowledges a publication."""

    stream: str
    seq: int


_PUB_ACK = msgspec.json.Decoder(PubAck)


class _Item(NamedTuple):
    subject: str
    payload: bytes
    headers: dict[str, str]
    future: asyncio.Future[int]


async def _connected(options: Options, urls: Sequence[str], **more: Any) -> Client:
    told: list[str] = []

    async def failed(error: Exception) -> None:
        told[:] = [str(error) or type(error).__name__]

    try:
        async with asyncio.timeout(CONNECT_S):
            return await nats.connect(
                list(urls),
                name=options.name,
                dont_randomize=True,
                max_reconnect_attempts=-1,
                reconnect_time_wait=BACK_S,
                error_cb=failed,
                tls=options.tls,
                **more,
            )
    except (NatsError, OSError, TimeoutError) as error:
        why = told[0] if told else str(error) or "no answer"
        raise unreachable(options, urls, why) from error


class NatsPublisher:
    """Publishes; with qos 1 and 2 it waits for a PubAck for each message."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._acked = options.qos > 0
        self._window = Window[_Item](size=options.window)
        self._sweeper: asyncio.Task[None] | None = None
        self._closing = False

    async def connect(self, urls: Sequence[str]) -> None:
        """Connect to the first URL that answers."""
        self._nats = await _connected(self._options, urls, reconnected_cb=self._reconnected)
        self._loop = asyncio.get_running_loop()
        self._inbox = self._nats.new_inbox()
        if self._acked:
            await self._nats.subscribe(f"{self._inbox}.*", cb=self._answered)
            await settled(self._nats)
            self._sweeper = asyncio.create_task(self._sweep())

    @property
    def room(self) -> int:
        """How many may be published now."""
        return self._window.room if self._nats.is_connected else 0

    async def publish(
        self, topic: str, payload: bytes, headers: Headers = ()
    ) -> asyncio.Future[int] | None:
        """Publish; resent by itself until it is acknowledged."""
        subject, named = to_nats(topic), dict(headers)
        if not self._acked:
            await self._nats.publish(subject, payload, headers=named or None)
            return None
        future: asyncio.Future[int] = self._loop.create_future()
        item = _Item(subject, payload, named, future)
        number = self._window.open(item, self._loop.time())
        named.setdefault("Nats-Msg-Id", f"{self._inbox}.{number}")
        await self._send(number, item)
        return future

    async def close(self) -> None:
        """Disconnect for good."""
        self._closing = True
        if self._sweeper is not None:
            self._sweeper.cancel()
            await asyncio.wait({self._sweeper})
        for item in self._window.clear():
            item.future.cancel()
        await self._nats.close()

    async def _send(self, number: int, item: _Item) -> None:
        reply = f"{self._inbox}.{number}"
        await self._nats.publish(item.subject, item.payload, reply, headers=item.headers)

    async def _answered(self, message: Msg) -> None:
        number = int(message.subject.rpartition(".")[2])
        try:
            _PUB_ACK.decode(message.data)
        except msgspec.DecodeError:  # nobody there to answer, or a refusal
            self._window.refuse(number, self._loop.time())
            return
        flight = self._window.close(number)
        if flight is not None and not flight.item.future.done():
            flight.item.future.set_result(flight.tries)

    async def _reconnected(self) -> None:
        """What was in flight may have been lost with the old connection."""
        await self._resend(self._window.everything(self._loop.time()))

    async def _sweep(self) -> None:
        while not self._closing:
            await asyncio.sleep(SWEEP_S)
            if self._nats.is_connected:
                await self._resend(self._window.overdue(self._loop.time()))

    async def _resend(self, late: list[tuple[int, _Item]]) -> None:
        for number, item in late:
            try:
                await self._send(number, item)
            except NatsError:  # disconnected meanwhile: all of it goes out again afterwards
                return


class NatsSubscriber:
    """Subscribes to a pattern; never drops what it is slow to take."""

    def __init__(self, options: Options) -> None:
        self._options = options

    async def connect(self, urls: Sequence[str], pattern: str, on_message: OnMessage) -> None:
        """Connect and subscribe."""

        async def take(message: Msg) -> None:
            topic = from_nats(message.subject) or message.subject
            on_message(topic, message.data, tuple((message.headers or {}).items()))

        self._nats = await _connected(self._options, urls)
        for subject in patterns_to_nats(pattern):
            await self._nats.subscribe(
                subject, cb=take, pending_msgs_limit=0, pending_bytes_limit=0
            )
        await settled(self._nats)

    async def close(self) -> None:
        """Disconnect for good."""
        await self._nats.close()
