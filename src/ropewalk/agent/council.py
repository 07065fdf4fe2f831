"""An agent's seat in the council: what it proposes there, and what it does when it is decided."""

from typing import TYPE_CHECKING, Any

from ropewalk.agent.moving import Movers
from ropewalk.agent.policies import Proposer, policies_of
from ropewalk.agent.relief import Relief
from ropewalk.agent.takeover import Takeovers
from ropewalk.federation.facts import Federation
from ropewalk.overlay.events import Carry, GiveBack, TakeOver
from ropewalk.overlay.managing import Managing

if TYPE_CHECKING:
    from ropewalk.agent.process import AgentProcess


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

    def propose(self, federation: Federation) -> None:
        """Read the policies; they are proposed as soon as this agent is the master."""
        self.proposer.base = policies_of(federation, self._plan)

    def look(self) -> None:
        """Every second."""
        now_s = self._edge.now_us / 1e6
        self.proposer.look(now_s)
        self.relief.look(now_s)

    def status(self) -> dict[str, Any]:
        """For people who ask."""
        return {**self.takeovers.status(), "moved_clients": self.movers.moved}

    async def close(self) -> None:
        """Leave nothing running."""
        await self.movers.close()
