"""One reader's way in: reads what comes and notes it."""

from collections.abc import Sequence
from time import monotonic_ns
from typing import Protocol

from ropewalk.agent.brokers.contract import Headers
from ropewalk.agent.drive.clients import Options, Subscriber
from ropewalk.agent.drive.fast_nats import FastSubscriber
from ropewalk.agent.drive.payload import Form
from ropewalk.agent.drive.tally import Heard


class Ear(Protocol):
    """What the stage asks of a reader's subscriber."""

    heard: Heard
    strange: int
    """Messages that are not of this run, or were changed on the way."""

    async def connect(self, urls: Sequence[str], pattern: str) -> None:
        """Connect and subscribe."""

    async def close(self) -> None:
        """Disconnect for good."""


class OrdinaryEar:
    """A reader with the usual client library of its make."""

    def __init__(self, form: Form, subscriber: Subscriber) -> None:
        self.heard = Heard()
        self.strange = 0
        self._form, self._subscriber = form, subscriber

    async def connect(self, urls: Sequence[str], pattern: str) -> None:
        """Connect and subscribe."""
        await self._subscriber.connect(urls, pattern, self._take)

    async def close(self) -> None:
        """Disconnect for good."""
        await self._subscriber.close()

    def _take(self, _topic: str, payload: bytes, _headers: Headers) -> None:
        read = self._form.read(payload)
        if read is None:
            self.strange += 1
        else:
            self.heard.add(*read, monotonic_ns())


class FastEar:
    """A reader with the load client of NATS."""

    def __init__(self, form: Form, options: Options) -> None:
        self.heard = Heard()
        self.strange = 0
        self._form = form
        self._subscriber = FastSubscriber(options)

    async def connect(self, urls: Sequence[str], pattern: str) -> None:
        """Connect and subscribe."""
        await self._subscriber.connect(urls, pattern, self._take)

    async def close(self) -> None:
        """Disconnect for good."""
        await self._subscriber.close()

    def _take(self, payloads: list[bytes]) -> None:
        read = self._form.read_many(payloads)
        self.strange += len(payloads) - len(read)
        if len(read):
            self.heard.add_many(read, monotonic_ns())
