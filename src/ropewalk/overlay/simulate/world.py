"""The simulated world: a heap of things to happen, in whole virtual microseconds.

One `World` is one run. The same federation, plan and settings give the same journal, down to the
last entry: events at the same time happen in the order in which they were scheduled.
"""

from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

from ropewalk.federation.facts import Federation
from ropewalk.overlay.events import (
    Action,
    Deliver,
    Disconnect,
    Due,
    Event,
    Logged,
    Received,
    Send,
    Tell,
    Write,
)
from ropewalk.overlay.events import Closed as ClosedEvent
from ropewalk.overlay.parts import NEVER
from ropewalk.overlay.settings import Settings
from ropewalk.overlay.simulate.breaking import Breaker
from ropewalk.overlay.simulate.clients import Clients
from ropewalk.overlay.simulate.cores import Maker
from ropewalk.overlay.simulate.hosts import Host
from ropewalk.overlay.simulate.journal import Journal
from ropewalk.overlay.simulate.lanes import Lane, Wire
from ropewalk.overlay.simulate.plan import Plan, number_of
from ropewalk.overlay.words import Frame, Word

DUE = Due()


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
    ) -> None:
        self.federation, self.plan, self.make = federation, plan, make
        self.settings, self.physics = settings or Settings(), physics or Physics()
        self.journal = Journal()
        self.now_us = 0
        self._heap: list[tuple[Any, ...]] = []
        self._count = 0
        graph = federation.graph
        self.hosts = [Host(b, name) for b, name in enumerate(graph.names)]
        self.wires = [self._wire(e) for e in range(graph.links)]
        self.clients = Clients(self)
        self.breaker = Breaker(self)
        self.hop_limit = self.settings.hop_limit or max(16, 4 * int(graph.transit.sum()))
        self._acts: dict[type, Callable[[Host, Any], None]] = {
            Deliver: self.clients.deliver,
            Write: self._write,
            Disconnect: lambda host, action: self.disconnect(host, action.link),
            Tell: lambda host, action: self.note("tell", host.number, action.what, action.about),
            **self.clients.acts,
        }

    def _wire(self, number: int) -> Wire:
        graph, seed = self.federation.graph, self.plan.seed
        a, b = (self.hosts[int(end)] for end in graph.ends[number])
        leaves = int(graph.domain[a.number]) != int(graph.domain[b.number])
        wire = Wire(number, leaves_domain=leaves)
        delay_us, loss = round(1_000 * float(graph.latency_ms[number])), float(graph.loss[number])
        wire.lanes = tuple(
            Lane(wire, one, other, delay_us, loss, f"{seed} {one.name} {other.name}")
            for one, other in ((a, b), (b, a))
        )
        for lane in wire.lanes:
            lane.source.lanes[number] = lane
        return wire

    # What happens when.

    def at(self, time_us: int, act: Callable[..., None], *facts: Any) -> None:
        """Let something happen at a time, or now if that is past."""
        self._count += 1
        heappush(self._heap, (max(time_us, self.now_us), self._count, act, facts))

    def note(self, kind: str, where: int, *facts: Any) -> None:
        """Write down what happened."""
        self.journal.entries.append((self.now_us, kind, where, *facts))

    def run(self) -> Journal:
        """Let everything happen until the plan's end."""
        for host in self.hosts:
            self.start(host)
        self.clients.begin()
        self.breaker.begin()
        self.at(self.physics.sample_us, self._sample)
        heap, end_us, pop, events = self._heap, self.plan.end_us, heappop, 0
        while heap and heap[0][0] <= end_us:
            self.now_us, _, act, facts = pop(heap)
            act(*facts)
            events += 1
        self.now_us = end_us
        self.journal.events = events
        self._look()
        for host in self.hosts:
            self.journal.custody |= host.agent.custody() if host.agent else host.kept
        return self.journal

    def _sample(self) -> None:
        self._look()
        self.at(self.now_us + self.physics.sample_us, self._sample)

    def _look(self) -> None:
        peaks = self.journal.peaks
        for host in self.hosts:
            if host.agent is not None:
                for name, size in host.agent.memory().items():
                    key = (name, host.number)
                    if size > peaks.get(key, -1):
                        peaks[key] = size

    # What agents do.

    def start(self, host: Host) -> None:
        """An agent starts, with what its log holds."""
        host.incarnation += 1
        host.life += 1
        host.logged, host.due_us, host.busy_us, host.things = 0, -1, self.now_us, ()
        host.kept = set()
        host.agent = self.make(host.number, host.incarnation, tuple(host.disk.safe))
        self.note("start", host.number, host.incarnation)
        self._after(host, host.agent.start(self._local(host)))
        self.clients.welcome(host)

    def crash(self, host: Host, *, disk: bool) -> None:
        """An agent is gone at once."""
        if host.agent is None:
            if not disk:
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

    # Links.

    def _send(self, host: Host, link: int, word: Word) -> None:
        lane = host.lanes[link]
        if type(word) is Frame:
            self.journal.frames += 1
            if word.parcels:
                self._carried(lane, word)
        else:
            self.journal.control += 1
        wire, now_us = lane.wire, self.now_us
        if wire.shut or now_us < wire.opens_us:
            return
        if lane.plain:
            at_us = now_us + lane.delay_us
            if at_us < lane.last_us:
                at_us = lane.last_us
            lane.last_us = at_us
            self._count += 1
            facts = (lane, wire.generation, word)
            heappush(self._heap, (at_us, self._count, self._arrive, facts))
        elif lane.holds:
            lane.held.append(word)
        else:
            for at_us in lane.arrivals(now_us):
                self.at(at_us, self._arrive, lane, wire.generation, word)

    def release(self, lane: Lane) -> None:
        """What a link held back comes through after all."""
        held, lane.held = lane.held, []
        for word in held:
            self._count += 1
            facts = (lane, lane.wire.generation, word)
            at_us = self.now_us + lane.delay_us
            heappush(self._heap, (at_us, self._count, self._arrive, facts))

    def _arrive(self, lane: Lane, generation: int, word: Word) -> None:
        if generation == lane.wire.generation and lane.target.agent is not None:
            self.hand(lane.target, Received(lane.wire.number, word))

    def _carried(self, lane: Lane, frame: Frame) -> None:
        """Letters that cross a link: are they allowed to?"""
        link, source, limit = lane.wire.number, lane.source.number, self.hop_limit
        for parcel in frame.parcels:
            letter = parcel.letter
            if parcel.hops > limit:
                self.note("far", link, source, number_of(letter.payload), parcel.hops)
            if lane.wire.leaves_domain and letter.topic in self.clients.domain_topics:
                self.note("leak", link, source, number_of(letter.payload), letter.topic)
        if self.physics.words:
            told = tuple((number_of(p.letter.payload), p.hops) for p in frame.parcels)
            self.note("carry", link, source, told)

    def disconnect(self, host: Host, link: int) -> None:
        """An end aborts the connection; the other end hears of it if anything gets through."""
        lane = host.lanes[link]
        wire = lane.wire
        if not wire.shut:
            self._end(wire)
            wire.opens_us = self.now_us + 3 * lane.delay_us + self.physics.reconnect_us
            self.tell_closed(lane)

    def shut(self, wire: Wire) -> None:
        """A connection is closed and stays so until `reopen`; the ends are told by the caller."""
        wire.shut += 1
        wire.touched = True
        self._end(wire)

    def reopen(self, wire: Wire) -> None:
        """One reason less for a connection to be closed."""
        wire.shut -= 1
        wire.opens_us = self.now_us + 3 * wire.lanes[0].delay_us + self.physics.reconnect_us

    def _end(self, wire: Wire) -> None:
        wire.generation += 1
        for lane in wire.lanes:
            lane.held.clear()
            lane.last_us = 0

    def tell_closed(self, lane: Lane) -> None:
        """The end that a lane leads to hears that the connection is closed, one way later."""
        if not (lane.holes or lane.holds):
            event = ClosedEvent(lane.wire.number)
            self.at(self.now_us + lane.delay_us, self.hand, lane.target, event)

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
