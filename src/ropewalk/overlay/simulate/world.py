"""The simulated world: a heap of things to happen, in whole virtual microseconds.

One `World` is one run. The same federation, plan and settings give the same journal, down to the
last entry: events at the same time happen in the order in which they were scheduled.
"""

import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

from ropewalk.federation.facts import Federation
from ropewalk.overlay.chart import Chart
from ropewalk.overlay.events import (
    Action,
    Carry,
    Deliver,
    Disconnect,
    Due,
    Event,
    GiveBack,
    Logged,
    Send,
    TakeOver,
    Tell,
    Write,
)
from ropewalk.overlay.parts import NEVER
from ropewalk.overlay.settings import Settings
from ropewalk.overlay.simulate.breaking import Breaker
from ropewalk.overlay.simulate.clients import Clients
from ropewalk.overlay.simulate.cores import Maker, begin
from ropewalk.overlay.simulate.faults import last_end_us
from ropewalk.overlay.simulate.hosts import Host
from ropewalk.overlay.simulate.journal import Journal
from ropewalk.overlay.simulate.movers import Movers
from ropewalk.overlay.simulate.network import Network
from ropewalk.overlay.simulate.plan import Plan
from ropewalk.overlay.simulate.turns import Turns

DUE = Due()
REST_US = 600_000
"""When all has been quiet for so long after the last fault, nothing can come any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Physics:
    """How the world around the agents behaves when nothing is wrong."""

    sync_us: int = 300
    """How long a disk takes to make records safe."""
    reconnect_us: int = 1_000
    """Beyond three ways over the link: how long a new connection takes."""
    retry_us: int = 20_000
    """Until a publisher tries again; doubled each time."""
    most_retry_us: int = 1_000_000
    sample_us: int = 200_000
    """How often stores are looked at."""
    payload_bytes: int = 8
    settled: bool = False
    """At the beginning all agents know that all links work; otherwise they have to find out."""
    words: bool = False
    """Whether the journal tells which letters cross which links."""


class World:
    """Brokers, links, clients and faults of one run."""

    def __init__(
        self,
        federation: Federation,
        plan: Plan,
        make: Maker,
        settings: Settings | None = None,
        physics: Physics | None = None,
        charts: Sequence[Chart] = (),
    ) -> None:
        self.federation, self.plan, self.make = federation, plan, make
        self.settings, self.physics = settings or Settings(), physics or Physics()
        self.journal = Journal()
        self.now_us = 0
        self._heap: list[tuple[Any, ...]] = []
        self._count = 0
        self.hosts = [Host(b, name) for b, name in enumerate(federation.graph.names)]
        self.clients = Clients(self)
        self.network = Network(self)
        self.turns = Turns(self, charts)
        self.movers = Movers(self)
        self.breaker = Breaker(self)
        self._quiet_us = _last_act_us(plan) + REST_US
        self._calm = 0
        self._send = self.network.send
        self._acts: dict[type, Callable[[Host, Any], None]] = {
            Deliver: self.clients.deliver,
            Write: self._write,
            Disconnect: lambda host, action: self.network.disconnect(host, action.link),
            Tell: lambda host, action: self.note("tell", host.number, action.what, action.about),
            TakeOver: self.movers.taken_over,
            GiveBack: lambda host, action: self.note("give back", host.number, action.items),
            Carry: self.movers.carry,
            **self.clients.acts,
        }

    # What happens when.

    def at(self, time_us: int, act: Callable[..., None], *facts: Any) -> None:
        """Let something happen at a time, or now if that is past."""
        self._count += 1
        heappush(self._heap, (max(time_us, self.now_us), self._count, act, facts))

    def soon(self, time_us: int, act: Callable[..., None], facts: tuple[Any, ...]) -> None:
        """The same for what happens most often; the time is not past."""
        self._count = count = self._count + 1
        heappush(self._heap, (time_us, count, act, facts))

    def note(self, kind: str, where: int, *facts: Any) -> None:
        """Write down what happened."""
        self.journal.entries.append((self.now_us, kind, where, *facts))

    def run(self) -> Journal:
        """Let everything happen until the plan's end."""
        self.turns.begin()
        for host in self.hosts:
            if self.turns.present(host):
                self.start(host, settled=self.physics.settled)
        self.clients.begin()
        self.movers.begin()
        self.breaker.begin()
        self.at(self.physics.sample_us, self._sample)
        collecting = gc.isenabled()
        gc.disable()  # a run makes no cycles, and looking for them takes a third of the time
        try:
            self.journal.events = self._loop()
        finally:
            if collecting:
                gc.enable()
        self.now_us = self.plan.end_us
        self._look()
        for host in self.hosts:
            self.journal.custody |= host.agent.custody() if host.agent else host.kept
        return self.journal

    def _loop(self) -> int:
        heap, end_us, pop, events = self._heap, self.plan.end_us, heappop, 0
        while heap and heap[0][0] <= end_us:
            self.now_us, _, act, facts = pop(heap)
            act(*facts)
            events += 1
        return events

    def _sample(self) -> None:
        self._look()
        if self.now_us < self._quiet_us:
            self._calm = 0
        else:
            self._calm = self._calm + 1 if self._at_rest() else 0
        if self._calm * self.physics.sample_us >= REST_US:
            self._heap.clear()  # nothing but beats would follow
        else:
            self.at(self.now_us + self.physics.sample_us, self._sample)

    def _at_rest(self) -> bool:
        """Nobody is away, waits for anything, keeps anything or holds anything for down."""
        return (
            self.turns.done
            and not self.movers.away
            and all(
                host.agent is not None
                and not host.things
                and not host.waiting
                and not host.backlog
                and not host.inbox
                and not host.agent.custody()
                for host in self.turns.members
            )
        )

    def _look(self) -> None:
        peaks = self.journal.peaks
        for host in self.hosts:
            if host.agent is not None:
                for name, size in host.agent.memory().items():
                    key = (name, host.number)
                    if size > peaks.get(key, -1):
                        peaks[key] = size

    # What agents do.

    def start(self, host: Host, *, settled: bool = False) -> None:
        """An agent starts, with what its log holds."""
        host.incarnation += 1
        host.life += 1
        host.logged, host.due_us, host.busy_us, host.things = 0, -1, self.now_us, ()
        host.kept = set()
        host.agent = self.make(host.number, host.incarnation, tuple(host.disk.safe))
        self.note("start", host.number, host.incarnation)
        self._after(host, begin(host.agent, self._local(host), settled=settled))
        self.turns.welcome(host)
        self.clients.welcome(host)

    def crash(self, host: Host, *, disk: bool) -> None:
        """An agent is gone at once."""
        if host.agent is None:
            if not disk:
                self.note("crash", host.number, False, frozenset(host.kept))
                host.disk.crash(disk=False)
                host.kept = set()
            return
        custody = host.agent.custody()
        host.kept = custody if disk else set()
        self.note("crash", host.number, disk, frozenset(custody))
        host.agent, host.things = None, ()
        host.life += 1
        host.inbox.clear()
        host.disk.crash(disk=disk)
        self.clients.bereave(host)

    def hand(self, host: Host, event: Event) -> None:
        """Something happens to an agent: now, or when it gets round to it."""
        agent = host.agent
        if agent is None:
            return
        if host.busy_us > self.now_us or host.inbox:
            host.inbox.append(event)
            return
        clock = host.clock
        now_us = self.now_us if clock is None else clock.local(self.now_us)
        self._after(host, agent.handle(event, now_us))
        if host.slow_us:
            self.occupy(host, self.now_us + host.slow_us)

    def occupy(self, host: Host, until_us: int) -> None:
        """Nothing is handled until then."""
        host.busy_us = max(host.busy_us, until_us)
        if until_us < NEVER:
            self.at(until_us, self._resume, host, host.life)

    def _resume(self, host: Host, life: int) -> None:
        """Words that came meanwhile are read before timers run, as event loops do."""
        if host.life != life:
            return
        inbox = host.inbox
        while inbox and host.busy_us <= self.now_us:
            waiting, host.inbox = inbox, type(inbox)()
            event = waiting.popleft()
            self.hand(host, event)
            waiting.extend(host.inbox)
            host.inbox = inbox = waiting
        if host.busy_us <= self.now_us:
            self._wake(host)

    def _after(self, host: Host, actions: list[Action]) -> None:
        agent = host.agent
        if agent is None:
            return
        for action in actions:
            if type(action) is Send:
                self._send(host, action.link, action.word)
            else:
                self._acts[type(action)](host, action)
        if agent.things != host.things:
            host.things = agent.things
            self.note("things", host.number, host.things)
        if host.clock is not None or not self.now_us <= host.due_us <= agent.wake_us:
            self._wake(host)

    def _wake(self, host: Host) -> None:
        """Schedule the next `Due`, unless one is scheduled that comes early enough."""
        wake_us = host.agent.wake_us if host.agent is not None else NEVER
        if wake_us >= NEVER:
            return
        if host.clock is not None:
            wake_us = host.clock.true(wake_us)
        wake_us = max(wake_us, self.now_us)
        if host.due_us < self.now_us or wake_us < host.due_us:
            host.due_us = wake_us
            self._count += 1
            heappush(self._heap, (wake_us, self._count, self._due, (host, host.life, wake_us)))

    def rewake(self, host: Host) -> None:
        """Its clock has changed: what was scheduled by the old one no longer holds."""
        host.due_us = -1
        self._wake(host)

    def _due(self, host: Host, life: int, due_us: int) -> None:
        agent = host.agent
        if host.life != life or host.due_us != due_us or agent is None:
            return
        host.due_us = -1
        if host.busy_us > self.now_us:
            # One that stands still looks at its timers when it goes on; a slow one in their turn.
            if host.slow_us and DUE not in host.inbox:
                host.inbox.append(DUE)
            return
        if agent.wake_us > self._local(host):
            self._wake(host)
        else:
            self.hand(host, DUE)

    def _local(self, host: Host) -> int:
        return self.now_us if host.clock is None else host.clock.local(self.now_us)

    # Disks.

    def _write(self, host: Host, action: Write) -> None:
        host.disk.waiting.append(action.record)
        if not host.disk.syncing:
            self._sync(host)

    def _sync(self, host: Host) -> None:
        host.disk.syncing = len(host.disk.waiting)
        self.at(self.now_us + self.physics.sync_us, self._synced, host, host.life)

    def _synced(self, host: Host, life: int) -> None:
        disk = host.disk
        if host.life != life:
            return
        disk.safe += disk.waiting[: disk.syncing]
        del disk.waiting[: disk.syncing]
        host.logged += disk.syncing
        disk.syncing = 0
        if disk.waiting:
            self._sync(host)
        self.hand(host, Logged(host.logged))


def _last_act_us(plan: Plan) -> int:
    """When clients and faults have done all that they are going to do."""
    wishes = (max(one.at_us, one.until_us or 0) for one in plan.wishes)
    published = (one.at_us for one in plan.publications)
    turns = (one.at_us for one in plan.charts)
    moves = (one.at_us for one in plan.moves)
    return max([last_end_us(plan.faults), *wishes, *published, *turns, *moves])
