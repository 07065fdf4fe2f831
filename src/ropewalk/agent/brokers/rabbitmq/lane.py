"""A lane: words put into a neighbour's RabbitMQ for its agent."""

import asyncio
from collections.abc import Sequence

from pamqp import commands

from ropewalk.agent.brokers.contract import PREFIX, Access, Hears
from ropewalk.agent.brokers.rabbitmq import frames
from ropewalk.agent.brokers.rabbitmq.backoff import Backoff, until
from ropewalk.agent.brokers.rabbitmq.frames import Content
from ropewalk.agent.brokers.rabbitmq.wire import LostError, Wire

_FAR_BEHIND_BYTES = 8 << 20
_PROBE_MOST_S = 0.2
_NOT_FOUND = 404
_TRANSIENT = b"\x10\x00\x01"


class RabbitLane:
    """`contract.Lane` for RabbitMQ.

    Every word is `mandatory`: the broker gives back what no agent hears. An empty word, which
    agents take no notice of, asks whether one listens before the lane is said to be open.
    """

    def __init__(self, access: Access, hears: Hears, *, client: str) -> None:
        self._access, self._hears, self._client = access, hears, client
        self._method = frames.publish(1, PREFIX, access.name, True)
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._wire: Wire | None = None
        self._deaf = asyncio.Event()
        self._open = False
        self._told = ""

    def start(self) -> None:
        """Begin to connect."""
        self._task = asyncio.create_task(self._run())

    def send(self, words: Sequence[bytes]) -> None:
        """Publish words; dropped while the lane is not open, blocked or far behind."""
        wire = self._wire
        if wire is None or not self._open or wire.blocked:
            return
        if wire.waiting_bytes < _FAR_BEHIND_BYTES:
            self._put(wire, words)

    def _put(self, wire: Wire, words: Sequence[bytes]) -> None:
        for word in words:
            wire.put(self._method)
            wire.put(frames.content(1, _TRANSIENT, word, wire.frame_max))

    def abort(self) -> None:
        """Drop the connection with all that it still holds; another follows."""
        if self._wire is not None:
            self._wire.drop()

    async def close(self) -> None:
        """Disconnect for good."""
        self._stop.set()
        if self._task is not None:
            await self._task

    async def _run(self) -> None:
        backoff = Backoff(self._stop)
        while not self._stop.is_set():
            try:
                await self._session(backoff)
            except LostError as lost:
                self._closed("its agent does not listen" if lost.code == _NOT_FOUND else lost.why)
                await backoff.wait()

    async def _session(self, backoff: Backoff) -> None:
        wire = Wire(self._access, self._client, came=self._came_back)
        self._wire = wire
        try:
            await wire.open()
            await wire.channel()
            backoff.reset()
            while not self._stop.is_set():
                await self._listens(wire)
                self._opened()
                await until((wire.gone,), (self._deaf, self._stop))
                if wire.gone.done():
                    raise wire.gone.result()
        finally:
            self._open = False
            self._wire = None
            await wire.close()

    async def _listens(self, wire: Wire) -> None:
        """Ask until the neighbour's agent hears us."""
        pause = Backoff(self._stop, _PROBE_MOST_S)
        while not self._stop.is_set():
            self._deaf.clear()
            self._put(wire, [b""])
            # what nobody hears comes back before the answer to whatever is asked after it
            await wire.ask(1, commands.Basic.Qos())
            if not self._deaf.is_set():
                return
            self._closed("its agent does not listen")
            await pause.wait()

    def _came_back(self, _: Sequence[Content]) -> None:
        self._deaf.set()
        if self._open:
            self._closed("its agent does not listen")

    def _opened(self) -> None:
        if not self._stop.is_set() and not self._deaf.is_set():
            self._open, self._told = True, ""
            self._hears.opened(self._access.name)

    def _closed(self, why: str) -> None:
        """Say so once for each reason."""
        self._open = False
        if self._told != why and not self._stop.is_set():
            self._told = why
            self._hears.closed(self._access.name, why)
