"""Minimal MQTT 5 clients for saturation at QoS 1: paho would be the bottleneck of a measurement.

They write all publications, or acknowledgements, of a turn with one call, and do not reconnect.
"""

import asyncio
from collections.abc import Sequence
from time import monotonic_ns
from typing import Any
from urllib.parse import urlsplit

from ropewalk.agent.brokers.mqtt.packets import (
    CONNACK,
    PUBACK,
    SUBACK,
    Ack,
    Packet,
    Publish,
    Reader,
    ack,
    connect,
    publish,
    subscribe,
    topic_bytes,
)
from ropewalk.agent.drive.cast import Stream
from ropewalk.agent.drive.clients import CONNECT_S, Options
from ropewalk.agent.drive.payload import Form
from ropewalk.agent.drive.tally import Heard, Sent

KEEP_ALIVE_S = 600
PACKET_IDS = 65_535
QOS_1 = 2
NO_PROPERTIES = b"\x00"


class _Connection(asyncio.Protocol):
    """A connection to one broker; to be subclassed."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._reader = Reader()
        self._answered = {CONNACK: asyncio.Event(), SUBACK: asyncio.Event()}
        self._writable = True
        self._transport: Any = None

    def _take(self, packets: list[Packet]) -> None:
        raise NotImplementedError

    async def _open(self, urls: Sequence[str]) -> None:
        server, loop = urlsplit(urls[0]), asyncio.get_running_loop()
        host, port = server.hostname or "", server.port or 1883
        self._transport, _ = await loop.create_connection(lambda: self, host, port)
        hello = connect(self._options.name, clean=True, keep_alive_s=KEEP_ALIVE_S)
        await self._ask(hello, CONNACK)

    async def _ask(self, packet: bytes, answer: int) -> None:
        self._transport.write(packet)
        async with asyncio.timeout(CONNECT_S):
            await self._answered[answer].wait()

    async def close(self) -> None:
        """Disconnect for good."""
        self._transport.abort()

    def pause_writing(self) -> None:
        """The broker does not keep up."""
        self._writable = False

    def resume_writing(self) -> None:
        """It does again."""
        self._writable = True

    def data_received(self, data: bytes) -> None:
        """Take all that a read has brought at once."""
        packets = self._reader.feed(data)
        for answer in self._reader.answers:
            if answer.kind in self._answered:
                self._answered[answer.kind].set()
        self._reader.answers.clear()
        if packets:
            self._take(packets)


class FastMqttFeed(_Connection):
    """A stream at QoS 1 with many publications in flight."""

    def __init__(self, stream: Stream, form: Form, options: Options) -> None:
        super().__init__(options)
        self.sent = Sent()
        self.refused: dict[str, int] = {}
        self._form, self._stream = form, stream.number
        self._topic = topic_bytes(stream.topic)
        self._flights: dict[int, int] = {}
        self._last_id = 0

    async def connect(self, urls: Sequence[str]) -> None:
        """Connect to the first URL."""
        await self._open(urls)

    @property
    def room(self) -> int:
        """How many may be sent now."""
        return self._options.window - len(self._flights) if self._writable else 0

    async def send(self, count: int) -> None:
        """Publish the next numbers."""
        first = self.sent.add(count)
        self._publish(range(first, first + count))

    async def probe(self, number: int) -> None:
        """Publish a message that is not counted."""
        self._publish((number,))

    def _publish(self, numbers: Sequence[int]) -> None:
        now_ns = monotonic_ns()
        parts: list[bytes] = []
        for number in numbers:
            # Acknowledgements come in order, so that the oldest number is free again long before.
            self._last_id = self._last_id % PACKET_IDS + 1
            self._flights[self._last_id] = number
            payload = self._form.write(self._stream, number, now_ns)
            parts += publish(self._topic, payload, NO_PROPERTIES, QOS_1, self._last_id)
        self._transport.write(b"".join(parts))

    def _take(self, packets: list[Packet]) -> None:
        for packet in packets:
            if type(packet) is Ack and (number := self._flights.pop(packet.packet_id)) >= 0:
                self.sent.acknowledge(number)


class FastMqttEar(_Connection):
    """A subscriber at QoS 1 that acknowledges all that a read has brought at once."""

    def __init__(self, form: Form, options: Options) -> None:
        super().__init__(options)
        self.heard = Heard()
        self.strange = 0
        self._form = form

    async def connect(self, urls: Sequence[str], pattern: str) -> None:
        """Connect and subscribe."""
        await self._open(urls)
        await self._ask(subscribe(1, pattern, qos=1), SUBACK)

    def _take(self, packets: list[Packet]) -> None:
        some = [one for one in packets if type(one) is Publish]
        self._transport.write(b"".join(ack(PUBACK, one.packet_id) for one in some if one.qos))
        read = self._form.read_many([one.payload for one in some])
        self.strange += len(some) - len(read)
        if len(read):
            self.heard.add_many(read, monotonic_ns())
