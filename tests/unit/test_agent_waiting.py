"""What an agent cannot take waits: in order, by topic, and without costing the agent its time."""

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import Any, cast

from ropewalk.agent.brokers.contract import Incoming
from ropewalk.agent.brokers.gathering import hand_over
from ropewalk.agent.edge import Edge
from ropewalk.agent.waiting import HEAD, MANY
from ropewalk.overlay.events import Accepted, Burst, Event, Logged, Published, Refused
from ropewalk.overlay.parts import NEVER

STEP_S = 0.1


class Full:
    """A core whose custody takes only so many of each topic."""

    wake_us = NEVER

    def __init__(self, **room: int) -> None:
        self.room, self.taken, self.tries = room, list[tuple[str, bytes]](), 0

    def handle_all(self, events: Iterable[Event], now_us: int) -> list[Any]:
        out: list[Any] = []
        for event in events:
            if isinstance(event, Logged):  # stands for whatever makes room
                self.room = {topic: room + event.count for topic, room in self.room.items()}
            elif isinstance(event, Burst):
                out += map(self._told, event.each())
            elif isinstance(event, Published):
                out.append(self._told(event))
        return out

    def _told(self, event: Published) -> Any:
        self.tries += 1
        if self.room[event.topic] <= 0:
            return Refused(event.ticket, "custody is full", event)
        self.room[event.topic] -= 1
        self.taken.append((event.topic, event.payload))
        return Accepted(event.ticket, event)  # type: ignore[arg-type]


class Nobody:
    """Broker, log, seal and witness: all they do is note whether clients have to wait."""

    wants_compaction = False

    def __init__(self) -> None:
        self.paused = False

    def pause(self) -> None:
        self.paused = True

    def resume(self) -> None:
        self.paused = False

    def refuse(self, handle: Any, why: str) -> bool:
        return False

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_: None


class Bench(Edge):
    """An edge around a core that is full."""

    def __init__(self, core: Full) -> None:
        some: Any = Nobody()
        self.nobody, anything = some, cast("Any", core)
        super().__init__(anything, seal=some, log=some, witness=some, tell=some.tell)
        self.attach(some, {})

    def _saw(self, letters: Any) -> None:
        """Nobody has subscribed."""

    def publish(self, topic: str, numbers: Iterable[int]) -> None:
        hand_over(self, [Incoming(None, topic, b"%d" % one) for one in numbers])


def of(core: Full, topic: str) -> list[int]:
    return [int(payload) for name, payload in core.taken if name == topic]


async def taken(core: Full, topic: str, numbers: Iterable[int]) -> None:
    """All of these are taken, in order, however slow the machine is."""
    expected, end = list(numbers), time.monotonic() + 30
    while len(of(core, topic)) < len(expected) and time.monotonic() < end:
        await asyncio.sleep(STEP_S)
    assert of(core, topic) == expected


def test_what_is_refused_is_tried_again_in_order_and_holds_up_no_other_topic() -> None:
    async def test() -> None:
        core = Full(full=3, free=10_000)
        edge = Bench(core)
        edge.publish("full", range(2000))
        edge.publish("free", range(2000))
        await taken(core, "free", range(2000))
        assert of(core, "full") == [0, 1, 2]
        core.room["full"] = 10_000
        edge.publish("full", range(2000, 2100))  # these must not overtake those that wait
        await taken(core, "full", range(2100))

    asyncio.run(test())


def test_room_that_comes_between_two_publications_lets_none_overtake() -> None:
    async def test() -> None:
        core = Full(t=1)
        edge = Bench(core)
        edge.publish("t", range(3))
        edge.hand(Logged(9))
        edge.publish("t", range(3, 6))
        await taken(core, "t", range(6))

    asyncio.run(test())


def test_trying_again_costs_little_however_many_wait_and_clients_wait_when_they_are_many() -> None:
    async def test() -> None:
        core = Full(t=0)
        edge = Bench(core)
        edge.publish("t", range(MANY))
        await asyncio.sleep(STEP_S)
        assert not edge.nobody.paused
        before, start = core.tries, time.monotonic()
        edge.publish("t", range(MANY, 2 * MANY))
        await asyncio.sleep(STEP_S)
        assert edge.nobody.paused
        rounds = (time.monotonic() - start) / 0.005 + 2
        assert core.tries - before <= HEAD * rounds, "each round tries the head alone"
        core.room["t"] = 10**6
        await taken(core, "t", range(2 * MANY))
        await asyncio.sleep(STEP_S)
        assert not edge.nobody.paused

    asyncio.run(test())
