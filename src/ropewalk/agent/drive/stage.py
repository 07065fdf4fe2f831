"""The clients of one run, and its acts: warm up, publish, drain."""

import asyncio
from collections.abc import Iterable
from contextlib import AsyncExitStack
from secrets import randbits, token_hex
from time import monotonic_ns
from typing import Self

from ropewalk.agent.drive.cast import Cast, Reader, Stream, urls_of
from ropewalk.agent.drive.clients import Options, Qos, publisher_of, subscriber_of
from ropewalk.agent.drive.ears import Ear, FastEar, OrdinaryEar
from ropewalk.agent.drive.feeds import FastFeed, Feed, OrdinaryFeed
from ropewalk.agent.drive.pace import Pace, Schedule, Steps
from ropewalk.agent.drive.payload import Form
from ropewalk.agent.drive.plan import DrivePlan
from ropewalk.federation.contracts import Delivery

PROBE_S = 0.2
LOOK_S = 0.02
QOS: dict[Delivery, Qos] = {
    "best-effort": 0,
    "at-most-once": 0,
    "at-least-once": 1,
    "exactly-once": 2,
}


class Stage:
    """One publisher per stream and one subscriber per reader, connected while it is entered."""

    def __init__(self, plan: DrivePlan, cast: Cast) -> None:
        self._plan, self.cast = plan, cast
        self._form = Form(run=randbits(32), size_bytes=plan.size_bytes)
        self._name = f"drive-{token_hex(4)}"
        self.feeds: dict[int, Feed] = {one.number: self._feed(one) for one in cast.streams}
        self.ears: dict[int, Ear] = {one.number: self._ear(one) for one in cast.readers}
        self.skipped = 0
        self._clients = AsyncExitStack()

    def _feed(self, stream: Stream) -> Feed:
        plan = self._plan
        make = plan.federation.brokers[stream.broker].make
        qos = QOS[stream.contract.delivery] if plan.mode == "acked" else 0
        options = Options(
            name=f"{self._name}-p{stream.number}", qos=qos, window=plan.window, tls=plan.tls
        )
        if plan.fast and make == "nats" and qos:
            return FastFeed(stream, self._form, options)
        return OrdinaryFeed(stream, self._form, publisher_of(make, options))

    def _ear(self, reader: Reader) -> Ear:
        plan = self._plan
        make = plan.federation.brokers[reader.broker].make
        options = Options(name=f"{self._name}-s{reader.number}", qos=2, tls=plan.tls)
        if plan.fast and make == "nats":
            return FastEar(self._form, options)
        return OrdinaryEar(self._form, subscriber_of(make, options))

    async def __aenter__(self) -> Self:
        federation = self._plan.federation
        try:
            for reader in self.cast.readers:
                ear = self.ears[reader.number]
                await ear.connect(urls_of(federation, reader.broker, "subscribers"), reader.pattern)
                self._clients.push_async_callback(ear.close)
            for stream in self.cast.streams:
                feed = self.feeds[stream.number]
                await feed.connect(urls_of(federation, stream.broker, "publishers"))
                self._clients.push_async_callback(feed.close)
        except BaseException:
            await self._clients.aclose()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._clients.aclose()

    async def warm_up(self) -> tuple[tuple[Stream, Reader], ...]:
        """Send probes until every subscriber has heard every publisher it is due; who has not."""
        probe, silent = 0, self._silent()
        try:
            async with asyncio.timeout(self._plan.warm_up_s):
                while silent:
                    probe -= 1
                    for number in {stream.number for stream, _ in silent}:
                        if self.feeds[number].room > 0:
                            await self.feeds[number].probe(probe)
                    await self._heard_all(PROBE_S)
                    silent = self._silent()
        except TimeoutError:
            return self._silent()
        return ()

    def _silent(self) -> tuple[tuple[Stream, Reader], ...]:
        ears = self.ears
        return tuple(
            (stream, reader)
            for stream, reader in self.cast.pairs
            if stream.number not in ears[reader.number].heard.probed
        )

    async def _heard_all(self, limit_s: float) -> None:
        end_s = monotonic_ns() / 1e9 + limit_s
        while self._silent() and monotonic_ns() / 1e9 < end_s:
            await asyncio.sleep(LOOK_S)

    async def publish(self, start_s: float) -> None:
        """Publish on every stream at the plan's rate until the time is over."""
        paces = {one.number: self._pace(one.topic, start_s) for one in self.cast.streams}
        async with asyncio.TaskGroup() as group:
            for number, feed in self.feeds.items():
                group.create_task(self._publish(feed, paces[number]))

    def _pace(self, topic: str, start_s: float) -> Pace:
        plan = self._plan
        if plan.bursts is None:
            return Schedule(rate_msgs_s=plan.rate_msgs_s, seconds=plan.seconds, start_s=start_s)
        rates = plan.bursts.rates_msgs_s(topic, plan.steps)
        return Steps(rates_msgs_s=rates, step_s=plan.bursts.step_s, start_s=start_s)

    async def _publish(self, feed: Feed, schedule: Pace) -> None:
        loop = asyncio.get_running_loop()
        while True:
            now_s = loop.time()
            if (count := schedule.due(now_s, len(feed.sent), feed.room)) > 0:
                await feed.send(count)
            if schedule.over(now_s):
                break
            await asyncio.sleep(schedule.next_s(now_s) - loop.time())
        self.skipped += schedule.skipped

    async def drain(self) -> None:
        """Wait for answers and for all that was acknowledged, then for quiet; not for ever."""
        end_ns = monotonic_ns() + round(self._plan.settle_s * 1e9)
        while (now_ns := monotonic_ns()) < end_ns:
            last_ns = max(ear.heard.last_ns for ear in self.ears.values())
            if now_ns - last_ns > self._plan.quiet_s * 1e9 and self._complete():
                return
            await asyncio.sleep(LOOK_S)

    def _complete(self) -> bool:
        if not all(self._answered(stream) for stream in self.cast.streams):
            return False
        return not any(
            self.ears[reader.number].heard.missing(stream.number, self.feeds[stream.number].sent)
            for stream, reader in self.cast.pairs
        )

    def _answered(self, stream: Stream) -> bool:
        """Whether a stream waits for no acknowledgement, or never gets any."""
        feed = self.feeds[stream.number]
        acked = self._plan.mode == "acked" and QOS[stream.contract.delivery] > 0
        refused = sum(feed.refused.values())
        return not acked or feed.sent.acknowledged + refused == len(feed.sent)

    def strange(self) -> int:
        """Messages that came and were not of this run, or changed."""
        return sum(ear.strange for ear in self.ears.values())

    def refused(self) -> dict[str, int]:
        """Refusals for good, by their reason."""
        return _added(feed.refused for feed in self.feeds.values())


def _added(some: Iterable[dict[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for one in some:
        for name, count in one.items():
            total[name] = total.get(name, 0) + count
    return total
