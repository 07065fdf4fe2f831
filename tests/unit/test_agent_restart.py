"""What an agent that was killed knows of its letters when it is back."""

import asyncio
from collections.abc import Sequence
from typing import Any

from ropewalk.agent.edge import Edge
from ropewalk.overlay import Agent, Setup, chart_of, rules_of
from ropewalk.overlay.lane import Done, KeptRun
from ropewalk.overlay.runs import latest
from ropewalk.overlay.words import Address, Letter, Run
from tests.bench import federation
from tests.unit.test_agent_waiting import Nobody

LINE = federation("a-b b-c")
RUN = Run(Letter(0, 1, "t", 1, b""), Address(2, 0, 1, 1, 0, 0, 1, 0, 1), True, (b"1", b"2", b"3"))


class Witness(Nobody):
    """Notes which letters are said to be in custody."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[int] = []

    def accepted(self, letters: Sequence[Letter], *, again: bool = False) -> None:
        self.seen += [one.number for one in letters]


def test_a_destination_never_has_a_letter_that_the_trace_of_its_origin_lacks() -> None:
    """It leaves before it is safe: killed then, the origin has not told that it accepted it."""
    records = [KeptRun(RUN, "fifo"), Done(2, 0, 1, 2)]  # two of three have even been acknowledged

    async def test() -> None:
        core = Agent(
            Setup(me=0, chart=chart_of(LINE), rules=rules_of(LINE), incarnation=2), records
        )
        some: Any = Nobody()
        witness = Witness()
        edge = Edge(core, seal=some, log=some, witness=witness, tell=some.tell)
        edge.attach(some, {})
        edge.begin(latest(records, 9))
        assert sorted(witness.seen) == [1, 2, 3]
        assert [
            letter.number for lane in core.keeper.everywhere() for letter in lane.letters()
        ] == [3]

    asyncio.run(test())
