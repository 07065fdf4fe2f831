"""As many messages as acknowledgements let through, between two brokers of a lab."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass
from secrets import randbits, token_hex
from time import monotonic_ns, perf_counter
from typing import Self

from contenders.fast_mqtt import FastMqttEar, FastMqttFeed
from ropewalk.agent.drive.cast import cast_of, urls_of
from ropewalk.agent.drive.clients import Options
from ropewalk.agent.drive.ears import Ear, FastEar
from ropewalk.agent.drive.feeds import FastFeed, Feed
from ropewalk.agent.drive.pace import TICK_S
from ropewalk.agent.drive.payload import Form
from ropewalk.agent.drive.tally import Figures, Span, judge
from ropewalk.errors import LabError
from ropewalk.federation import Federation

WINDOW = 4096
SIZE_BYTES = 100
PROBE_S = 0.2
WARM_UP_S = 60.0
PATIENCE_S = 120.0


@dataclass(frozen=True, slots=True)
class Flow:
    """Messages that went through."""

    seconds: float
    figures: Figures


class Saturation:
    """The fast clients of a federation's one publisher and one subscriber, while it is entered."""

    def __init__(self, federation: Federation, *, named: bool = False) -> None:
        self._named = named
        cast = cast_of(federation)
        self._federation = federation
        self._stream, self._reader = cast.streams[0], cast.readers[0]
        self._form = Form(run=randbits(32), size_bytes=SIZE_BYTES)
        self._feed, self._ear = self._clients(f"load-{token_hex(4)}")
        self._open = AsyncExitStack()

    def _clients(self, name: str) -> tuple[Feed, Ear]:
        make = self._federation.brokers[self._stream.broker].make
        publisher = Options(name=f"{name}-p", window=WINDOW, resend_s=PATIENCE_S, named=self._named)
        subscriber = Options(name=f"{name}-s")
        if make == "nats":
            return FastFeed(self._stream, self._form, publisher), FastEar(self._form, subscriber)
        feed = FastMqttFeed(self._stream, self._form, publisher)
        return feed, FastMqttEar(self._form, subscriber)

    async def __aenter__(self) -> Self:
        reader, stream = self._reader, self._stream
        urls = urls_of(self._federation, reader.broker, "subscribers")
        await self._ear.connect(urls, reader.pattern)
        self._open.push_async_callback(self._ear.close)
        await self._feed.connect(urls_of(self._federation, stream.broker, "publishers"))
        self._open.push_async_callback(self._feed.close)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()

    async def warm_up(self) -> None:
        """Send probes until one comes through."""
        probe = 0
        async with asyncio.timeout(WARM_UP_S):
            while not self._ear.heard.probed:
                probe -= 1
                await self._feed.probe(probe)
                await asyncio.sleep(PROBE_S)

    async def flow(self, messages: int) -> Flow:
        """Send so many and wait for them all; LabError if they do not come."""
        start, start_ns = perf_counter(), monotonic_ns()
        until = len(self._feed.sent) + messages
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self._send(until)
                await self._come(until)
        except TimeoutError:
            come, sent = len(self._ear.heard), len(self._feed.sent)
            raise LabError(f"{come} of {sent} messages came in {PATIENCE_S:g} s") from None
        seconds = perf_counter() - start
        span = Span(start_ns, monotonic_ns())
        return Flow(seconds, judge(self._feed.sent, self._ear.heard.of(0), span))

    async def _send(self, until: int) -> None:
        while (left := until - len(self._feed.sent)) > 0:
            if (count := min(left, self._feed.room)) > 0:
                await self._feed.send(count)
            await asyncio.sleep(TICK_S)

    async def _come(self, until: int) -> None:
        heard, sent = self._ear.heard, self._feed.sent
        while len(heard) < until or sent.acknowledged < until or heard.missing(0, sent):
            await asyncio.sleep(TICK_S)
