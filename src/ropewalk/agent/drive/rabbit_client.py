"""AMQP 0-9-1 clients with aiormq on a topic exchange: publisher confirms, a queue per subscriber.

aiormq does not reconnect: both clients go round their list of servers by themselves.
"""

import asyncio
from collections.abc import Sequence
from typing import Any, NamedTuple

import aiormq
from aiormq.exceptions import AMQPError
from pamqp.commands import Basic

from ropewalk.agent.brokers.contract import Headers
from ropewalk.agent.drive.clients import BACK_S, CONNECT_S, OnMessage, Options, unreachable
from ropewalk.agent.drive.window import Window
from ropewalk.federation.spelling import from_amqp, pattern_to_amqp, to_amqp

EXCHANGE = "amq.topic"
QUEUE_MS = 300_000
"""So long a broker keeps the queue of a subscriber that is away."""
PREFETCH = 1000
LOST = (AMQPError, OSError, asyncio.InvalidStateError)
"""What a call raises when its connection is gone."""


class _Item(NamedTuple):
    key: str
    payload: bytes
    headers: dict[str, str]
    future: asyncio.Future[int]


class _Session:
    """A connection with one channel that is made anew whenever it breaks."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._closing = False
        self._why = "no answer"
        self._connection: Any = None
        self._channel: Any = None
        self._keeper: asyncio.Task[None] | None = None

    async def _open(self, urls: Sequence[str]) -> None:
        up = asyncio.Event()
        self._keeper = asyncio.create_task(self._keep(urls, up))
        try:
            async with asyncio.timeout(CONNECT_S):
                await up.wait()
        except TimeoutError as error:
            await self.close()
            raise unreachable(self._options, urls, self._why) from error

    async def _keep(self, urls: Sequence[str], up: asyncio.Event) -> None:
        turn = 0
        while not self._closing:
            try:
                async with asyncio.timeout(CONNECT_S):
                    self._connection = await aiormq.connect(urls[turn % len(urls)])
                    channel = await self._connection.channel()
                    await self._begin(channel)
                self._channel = channel
                up.set()
                await asyncio.wait({channel.closing, self._connection.closing})
            except (*LOST, TimeoutError) as error:
                self._why = str(error) or type(error).__name__
            self._channel = None
            await self._leave()
            turn += 1
            await asyncio.sleep(BACK_S)

    async def _begin(self, channel: Any) -> None:
        """What has to be done on a new channel."""
        raise NotImplementedError

    async def _leave(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None and not connection.is_closed:
            await connection.close()

    async def close(self) -> None:
        """Disconnect for good."""
        self._closing = True
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.wait({self._keeper})
        await self._leave()


class RabbitPublisher(_Session):
    """Publishes persistent messages; each is done when the broker has confirmed it."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._window = Window[_Item](size=options.window, resend_s=float("inf"))
        self._tasks: set[asyncio.Task[None]] = set()

    async def connect(self, urls: Sequence[str]) -> None:
        """Connect to the first URL that answers."""
        self._loop = asyncio.get_running_loop()
        await self._open(urls)

    @property
    def room(self) -> int:
        """How many may be published now."""
        return self._window.room if self._channel is not None else 0

    async def publish(
        self, topic: str, payload: bytes, headers: Headers = ()
    ) -> asyncio.Future[int] | None:
        """Publish; sent again over the next connection if this one breaks."""
        future: asyncio.Future[int] = self._loop.create_future()
        item = _Item(to_amqp(topic), payload, dict(headers), future)
        number = self._window.open(item, self._loop.time())
        if self._channel is not None:
            self._send(self._channel, number, item)
        return future

    async def close(self) -> None:
        """Disconnect for good."""
        await super().close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for item in self._window.clear():
            item.future.cancel()

    async def _begin(self, channel: Any) -> None:
        for number, item in self._window.everything(self._loop.time()):
            self._send(channel, number, item)

    def _send(self, channel: Any, number: int, item: _Item) -> None:
        task = self._loop.create_task(self._confirmed(channel, number, item))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _confirmed(self, channel: Any, number: int, item: _Item) -> None:
        properties = Basic.Properties(
            delivery_mode=2,
            message_id=f"{self._options.name}.{number}",
            headers=dict(item.headers),
        )
        try:
            answer = await channel.basic_publish(
                item.payload,
                exchange=EXCHANGE,
                routing_key=item.key,
                properties=properties,
                wait=False,
            )
        except LOST:  # it stays in the window and goes out over the next connection
            return
        flight = self._window.close(number)
        if flight is None or item.future.done():
            return
        if isinstance(answer, Basic.Ack):
            item.future.set_result(flight.tries)
        else:
            item.future.set_exception(ConnectionError("the broker did not confirm it"))


class RabbitSubscriber(_Session):
    """Consumes from a queue of its own that outlives a broken connection."""

    async def connect(self, urls: Sequence[str], pattern: str, on_message: OnMessage) -> None:
        """Connect and subscribe."""
        self._key, self._take = pattern_to_amqp(pattern), on_message
        await self._open(urls)

    async def close(self) -> None:
        """Disconnect for good; the queue goes with the client."""
        if self._channel is not None:
            await self._channel.queue_delete(self._options.name)
        await super().close()

    async def _begin(self, channel: Any) -> None:
        queue = self._options.name
        await channel.queue_declare(queue, arguments={"x-expires": QUEUE_MS})
        await channel.queue_bind(queue, EXCHANGE, self._key)
        await channel.basic_qos(prefetch_count=PREFETCH)
        await channel.basic_consume(queue, self._message)

    async def _message(self, message: Any) -> None:
        headers = message.header.properties.headers or {}
        topic = from_amqp(message.routing_key) or message.routing_key
        self._take(topic, message.body, tuple((k, str(v)) for k, v in headers.items()))
        await message.channel.basic_ack(message.delivery_tag, wait=False)
