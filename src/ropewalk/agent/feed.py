"""What listeners are told of an agent as it changes: server-sent events.

It looks only while somebody listens, a few times a second at most, and all listeners share a look.
What matters is told at once; figures, which change with every message, once a second.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

EVERY_S = 0.2
FIGURES_EVERY_S = 1.0
BEAT_S = 10.0
PATIENCE_S = 5.0
"""A listener that takes nothing for so long is let go."""
MOST = 8
"""Listeners at a time."""
HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n"
    b"X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"
)
BEAT = b": beat\n\n"

Brief = Mapping[str, Any]
"""What JSON can say; under `figures` what changes all the time."""


class Feed:
    """Tells listeners what `brief` returns, whenever that is something else."""

    def __init__(self, brief: Callable[[], Brief]) -> None:
        self._brief = brief
        self._looked_s = -EVERY_S
        self._state, self._whole = b"", b""
        self.listeners = 0

    @property
    def full(self) -> bool:
        """Whether nobody more can listen."""
        return self.listeners >= MOST

    async def follow(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Tell one listener until it goes away; TimeoutError if it takes nothing more."""
        self.listeners += 1
        try:
            writer.write(HEAD)
            await self._tell(reader, writer)
        finally:
            self.listeners -= 1

    async def _tell(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        clock = asyncio.get_running_loop().time
        state, whole, told_s = b"", b"", -BEAT_S
        while not (reader.at_eof() or writer.transport.is_closing()):
            now_s = clock()
            self._look(now_s)
            late = self._whole != whole and now_s - told_s >= FIGURES_EVERY_S
            if self._state != state or late:
                state, whole, told_s = self._state, self._whole, now_s
                writer.write(b"data: " + whole + b"\n\n")
            elif now_s - told_s >= BEAT_S:
                told_s = now_s
                writer.write(BEAT)
            async with asyncio.timeout(PATIENCE_S):
                await writer.drain()
            await asyncio.sleep(EVERY_S)

    def _look(self, now_s: float) -> None:
        """Look, unless another listener made it look a moment ago."""
        if now_s - self._looked_s < EVERY_S * 0.9:
            return
        self._looked_s = now_s
        brief = self._brief()
        self._state = msgspec.json.encode({k: one for k, one in brief.items() if k != "figures"})
        self._whole = msgspec.json.encode(brief)
