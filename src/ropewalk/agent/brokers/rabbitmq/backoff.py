"""How long to wait: before the next try, or until something happens."""

import asyncio
from collections.abc import Iterable
from typing import Any

_FIRST_S = 0.05
_MOST_S = 1.0


class Backoff:
    """50 ms at first, then twice as long each time, to a limit; a stop ends the wait."""

    def __init__(self, stop: asyncio.Event, most_s: float = _MOST_S) -> None:
        self._stop, self._most_s = stop, most_s
        self._next_s = _FIRST_S

    def reset(self) -> None:
        """It has worked: begin anew."""
        self._next_s = _FIRST_S

    async def wait(self) -> None:
        """Wait, longer each time."""
        try:
            async with asyncio.timeout(self._next_s):
                await self._stop.wait()
        except TimeoutError:
            self._next_s = min(2 * self._next_s, self._most_s)


async def until(ends: "Iterable[asyncio.Future[Any]]", events: Iterable[asyncio.Event]) -> None:
    """Wait for the first of them."""
    waits = [asyncio.ensure_future(one.wait()) for one in events]
    await asyncio.wait([*ends, *waits], return_when=asyncio.FIRST_COMPLETED)
    for one in waits:
        one.cancel()
