"""An agent's seat in the council: what it proposes there, and what it does when it is decided."""

import asyncio
from typing import TYPE_CHECKING, Any

from ropewalk.agent.moving import Movers
from ropewalk.agent.policies import Proposer, moves_of, policies_of
from ropewalk.agent.rehoming import Rehoming
from ropewalk.agent.relief import Relief
from ropewalk.agent.takeover import Takeovers
from ropewalk.federation.facts import Federation
from ropewalk.overlay.events import Carry, GiveBack, TakeOver
from ropewalk.overlay.managing import Managing

if TYPE_CHECKING:
    from ropewalk.agent.process import AgentProcess

LOOK_S = 0.1
"""Between two looks at the moves of a plan."""


class Seat:
    """The edge's part in take-overs and moves."""

    def __init__(self, agent: "AgentProcess", managing: Managing) -> None:
        edge, orders = agent.edge, agent.orders
        self._edge, self._plan = edge, orders.plan
        self.proposer = Proposer(managing, edge.hand)
        self.takeovers = Takeovers(managing, orders.broker, agent.news)
        edge.also(TakeOver, self.takeovers.take)
        edge.also(GiveBack, self.takeovers.give_back)
        self.movers = Movers(agent.local, edge.hand, agent.news, lambda: edge.deliveries.settled)
        edge.also(Carry, self.movers.carry)
        self.relief = Relief(
            orders.federation,
            orders.broker,
            managing,
            loads=agent.loads,
            hand=edge.hand,
            tell=agent.news.tell,
        )
        self.rehoming = Rehoming(managing, orders.broker, hand=edge.hand, tell=agent.news.tell)
        self._carrying_out: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._carrying_out.set_result(None)

    def propose(self, federation: Federation) -> None:
        """Read the policies; they are proposed as soon as this agent is the master."""
        base = self.proposer.base = policies_of(federation, self._plan)
        if base is not None and self._plan is not None:
            self.rehoming.plan(base.version, moves_of(self._plan))
            if self.rehoming.busy and self._carrying_out.done():
                self._carrying_out = asyncio.get_running_loop().create_task(self._carry_out())

    async def _carry_out(self) -> None:
        """While a plan has moves that are not over."""
        while self.rehoming.busy:
            self.rehoming.look(self._edge.now_us / 1e6)
            await asyncio.sleep(LOOK_S)

    def look(self) -> None:
        """Every second."""
        now_s = self._edge.now_us / 1e6
        self.proposer.look(now_s)
        self.relief.look(now_s)

    def status(self) -> dict[str, Any]:
        """For people who ask."""
        moves = {"plan": self.rehoming.version, "moves": self.rehoming.status()}
        return {**self.takeovers.status(), "moved_clients": self.movers.moved, **moves}

    async def close(self) -> None:
        """Leave nothing running."""
        self._carrying_out.cancel()
        await asyncio.gather(self._carrying_out, return_exceptions=True)
        await self.movers.close()
