"""One stream's way out: stamps numbers, publishes them and notes what was acknowledged."""

import asyncio
from collections.abc import Sequence
from functools import partial
from time import monotonic_ns
from typing import Protocol

from ropewalk.agent.drive.cast import Stream
from ropewalk.agent.drive.clients import Options, Publisher
from ropewalk.agent.drive.fast_nats import FastPublisher
from ropewalk.agent.drive.payload import Form
from ropewalk.agent.drive.tally import Sent


class Feed(Protocol):
    """What the stage asks of a stream's publisher."""

    sent: Sent
    refused: dict[str, int]
    """Refusals for good, by their reason."""

    async def connect(self, urls: Sequence[str]) -> None:
        """Connect to the first URL that answers."""

    @property
    def room(self) -> int:
        """How many may be sent now."""

    async def send(self, count: int) -> None:
        """Publish the next numbers."""

    async def probe(self, number: int) -> None:
        """Publish a message that is not counted."""

    async def close(self) -> None:
        """Disconnect for good."""


class OrdinaryFeed:
    """A stream through the usual client library of its make."""

    def __init__(self, stream: Stream, form: Form, publisher: Publisher) -> None:
        self.sent = Sent()
        self.refused: dict[str, int] = {}
        self._stream, self._form, self._publisher = stream, form, publisher

    async def connect(self, urls: Sequence[str]) -> None:
        """Connect to the first URL that answers."""
        await self._publisher.connect(urls)

    @property
    def room(self) -> int:
        """How many may be sent now."""
        return self._publisher.room

    async def send(self, count: int) -> None:
        """Publish the next numbers."""
        for _ in range(count):
            number = self.sent.add()
            flight = await self._publish(number)
            if flight is not None:
                flight.add_done_callback(partial(self._answered, number))

    async def probe(self, number: int) -> None:
        """Publish a message that is not counted."""
        await self._publish(number)

    async def close(self) -> None:
        """Disconnect for good."""
        await self._publisher.close()

    async def _publish(self, number: int) -> asyncio.Future[int] | None:
        stream = self._stream
        payload = self._form.write(stream.number, number, monotonic_ns())
        return await self._publisher.publish(stream.topic, payload)

    def _answered(self, number: int, flight: "asyncio.Future[int]") -> None:
        if flight.cancelled():
            return
        if (error := flight.exception()) is not None:
            self.refused[str(error)] = self.refused.get(str(error), 0) + 1
        else:
            self.sent.acknowledge(number, flight.result())


class FastFeed:
    """A stream through the load client of NATS."""

    def __init__(self, stream: Stream, form: Form, options: Options) -> None:
        self.sent = Sent()
        self.refused: dict[str, int] = {}
        self._stream, self._form = stream.number, form
        self._publisher = FastPublisher(options, stream.topic, self._acknowledged)

    async def connect(self, urls: Sequence[str]) -> None:
        """Connect to the first URL that answers."""
        await self._publisher.connect(urls)

    @property
    def room(self) -> int:
        """How many may be sent now."""
        return self._publisher.room

    async def send(self, count: int) -> None:
        """Publish the next numbers."""
        first = self.sent.add(count)
        self._publish(range(first, first + count))

    async def probe(self, number: int) -> None:
        """Publish a message that is not counted."""
        self._publish((number,))

    async def close(self) -> None:
        """Disconnect for good."""
        await self._publisher.close()

    def _publish(self, numbers: Sequence[int]) -> None:
        write, stream, now_ns = self._form.write, self._stream, monotonic_ns()
        self._publisher.publish([write(stream, one, now_ns) for one in numbers], numbers)

    def _acknowledged(self, number: int, tries: int) -> None:
        if number >= 0:
            self.sent.acknowledge(number, tries)
