"""The agents' workbench with a trace beside each agent, as the agent process keeps it."""

from collections.abc import Iterable
from pathlib import Path
from shutil import copytree

from ropewalk.agent.tracing import Tracer
from ropewalk.federation.facts import Federation
from ropewalk.overlay.events import (
    Accepted,
    Action,
    Confirmed,
    Deliver,
    Event,
    Published,
    Subscribed,
)
from ropewalk.overlay.runs import latest
from tests.bench import MS, Bench

BEGAN_NS = 1_700_000_000_000_000_000


class TracedBench(Bench):
    """Whatever an agent wants done is in its trace first."""

    def __init__(self, of: Federation, folder: Path) -> None:
        self.folder, self.tracers = folder, dict[int, Tracer]()
        self.crashes = self.published = 0
        super().__init__(of)

    def start(self, broker: int, *, settled: bool = False, incarnation: int = 1) -> None:
        name = self.chart.names[broker]
        tracer = self.tracers[broker] = Tracer(
            self.folder / name,
            node=name,
            incarnation=incarnation,
            names=self.chart.names,
            now_ns=lambda: BEGAN_NS + self.now_us * 1_000,
        )
        tracer.start()
        super().start(broker, settled=settled, incarnation=incarnation)
        tracer.accepted(latest(self.agents[broker].records(), 1 << 20)[::-1])
        tracer.flush()

    def crash(self, broker: str) -> None:
        """An agent is killed: its next life finds what is on the disk now."""
        b = self.number[broker]
        self.stop(b)
        here, self.crashes = self.folder / broker, self.crashes + 1
        found = self.folder / f"found-{self.crashes}"
        copytree(here, found)
        self.tracers.pop(b).close()  # of this only the thread is wanted
        here.rename(self.folder.with_name(f"never-{broker}-{self.crashes}"))
        found.rename(here)

    def publish(self, broker: str, count: int = 1, *, topic: str = "t", every_us: int = MS) -> None:
        """Publications that never repeat an earlier one; every second has an id of its own."""
        for i in range(count):
            self.published += 1
            key = f"k{self.published}" if i % 2 else ""
            event = Published(i, topic, str(self.published).encode(), key=key)
            self.hand(broker, event, after_us=i * every_us)

    def hand(self, broker: str | int, event: Event, *, after_us: int = 0) -> None:
        if isinstance(event, Subscribed) and isinstance(broker, str):
            self.tracers[self.number[broker]].subscribed(event.subscriber, event.pattern)
        super().hand(broker, event, after_us=after_us)

    def act(self, broker: int, actions: Iterable[Action]) -> None:
        actions = list(actions)
        tracer = self.tracers[broker]
        tracer.accepted([one.letter for one in actions if isinstance(one, Accepted)])
        tracer.delivered([one for one in actions if isinstance(one, Deliver)])
        for one in actions:
            if isinstance(one, Confirmed) and len(one.by) == len(self.chart.names):
                tracer.confirmed(one.subscriber, one.pattern)
        tracer.flush()
        super().act(broker, actions)

    def close(self) -> None:
        """All traces are complete; a last row of each says how long its agent was there."""
        for tracer in self.tracers.values():
            tracer.sample({"window_ns": 1})
            tracer.close()
