"""Carries out the one step of a move that needs the broker: clients are disconnected.

The core orders it (`Carry` with a `Disconnect`) when the target keeps all that comes, and the
source gives these clients nothing more. They reconnect by their own lists. There is no way back
from here, so it is tried until the broker has done it; the core asks again by itself as well.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from ropewalk.agent.brokers.contract import Disconnects, Local
from ropewalk.agent.takeover import Tells
from ropewalk.overlay.events import Carry, Happened
from ropewalk.placement.reactive.session import Disconnect, Disconnected, SessionId

AGAIN_S, SETTLING_S = 0.5, 0.005


class Movers:
    """Has clients disconnected, one session at a time."""

    def __init__(
        self,
        local: Local,
        hand: Callable[[Happened], None],
        news: Tells,
        settled: Callable[[], bool],
    ) -> None:
        """`settled`: whether the broker has all that was to be delivered."""
        self._local, self._hand, self._news, self._settled = local, hand, news, settled
        self._tasks: dict[SessionId, asyncio.Task[None]] = {}
        self.moved = 0
        """Clients that were disconnected so that they move."""

    def carry(self, action: Carry) -> None:
        """An order of the mediator; it may come twice."""
        order: Any = action.order
        if isinstance(order, Disconnect) and order.id not in self._tasks:
            task = asyncio.get_running_loop().create_task(self._disconnect(order))
            self._tasks[order.id] = task
            task.add_done_callback(lambda _: self._tasks.pop(order.id, None))

    async def _disconnect(self, order: Disconnect) -> None:
        while not self._settled():  # what they have got is said already
            await asyncio.sleep(SETTLING_S)
        while order.clients:
            try:
                gone = await self._ask(order.clients)
                break
            except (OSError, TimeoutError) as error:
                self._news.tell("clients are not disconnected yet", (str(error) or "no answer",))
                await asyncio.sleep(AGAIN_S)
        else:
            gone = []
        self.moved += len(gone)
        self._news.tell("move", ("disconnected", ", ".join(gone[:8]) or "nobody"))
        self._hand(Happened(Disconnected(order.id)))

    async def _ask(self, clients: frozenset[str]) -> list[str]:
        if not isinstance(self._local, Disconnects):
            raise OSError("this broker has no way to disconnect clients")
        return await self._local.disconnect(clients)

    async def close(self) -> None:
        """Try no more."""
        tasks = list(self._tasks.values())
        for one in tasks:
            one.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
