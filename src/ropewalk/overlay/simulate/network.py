"""The links of a simulated world: words on their way, connections that are closed and made anew."""

from typing import TYPE_CHECKING

from ropewalk.overlay.events import Closed, Received
from ropewalk.overlay.runs import singles
from ropewalk.overlay.simulate.hosts import Host
from ropewalk.overlay.simulate.lanes import Lane, Wire
from ropewalk.overlay.simulate.plan import number_of
from ropewalk.overlay.words import Frame, Word

if TYPE_CHECKING:
    from ropewalk.overlay.simulate.world import World


class Network:
    """All links, and what crosses them."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._at, self._journal = world.at, world.journal
        graph = world.federation.graph
        self.wires = [self._wire(e) for e in range(graph.links)]
        self._hop_limit = world.settings.hop_limit or max(16, 4 * int(graph.transit.sum()))

    def _wire(self, number: int) -> Wire:
        world, graph = self._world, self._world.federation.graph
        a, b = (world.hosts[int(end)] for end in graph.ends[number])
        leaves = int(graph.domain[a.number]) != int(graph.domain[b.number])
        wire = Wire(number, leaves_domain=leaves)
        delay_us, loss = round(1_000 * float(graph.latency_ms[number])), float(graph.loss[number])
        wire.lanes = tuple(
            Lane(wire, one, other, delay_us, loss, f"{world.plan.seed} {one.name} {other.name}")
            for one, other in ((a, b), (b, a))
        )
        for lane in wire.lanes:
            lane.source.lanes[number] = lane
        return wire

    def send(self, host: Host, link: int, word: Word) -> None:
        """A word sets out; it may never arrive."""
        lane = host.lanes[link]
        if type(word) is Frame:
            self._journal.frames += 1
            if word.parcels:
                self._carried(lane, word)
        else:
            self._journal.control += 1
        wire, now_us = lane.wire, self._world.now_us
        if wire.shut or now_us < wire.opens_us:
            return
        if lane.plain:
            lane.last_us = at_us = max(now_us + lane.delay_us, lane.last_us)
            self._world.soon(at_us, self._arrive, (lane, wire.generation, word))
        elif lane.holds:
            lane.held.append(word)
        else:
            for at_us in lane.arrivals(now_us):
                self._at(at_us, self._arrive, lane, wire.generation, word)

    def release(self, lane: Lane) -> None:
        """What a link held back comes through after all."""
        held, lane.held = lane.held, []
        at_us = self._world.now_us + lane.delay_us
        for word in held:
            self._at(at_us, self._arrive, lane, lane.wire.generation, word)

    def _arrive(self, lane: Lane, generation: int, word: Word) -> None:
        if generation == lane.wire.generation and lane.target.agent is not None:
            self._world.hand(lane.target, Received(lane.wire.number, word))

    def _carried(self, lane: Lane, frame: Frame) -> None:
        """Letters that cross a link: are they allowed to?"""
        link, source, limit = lane.wire.number, lane.source.number, self._hop_limit
        for parcel in singles(frame.parcels):
            letter = parcel.letter
            if parcel.hops > limit:
                self._world.note("far", link, source, number_of(letter.payload), parcel.hops)
            if lane.wire.leaves_domain and letter.topic in self._world.clients.domain_topics:
                self._world.note("leak", link, source, number_of(letter.payload), letter.topic)
        if self._world.physics.words:
            told = tuple((number_of(p.letter.payload), p.hops) for p in singles(frame.parcels))
            self._world.note("carry", link, source, told)

    def disconnect(self, host: Host, link: int) -> None:
        """An end aborts the connection; the other end hears of it if anything gets through."""
        lane = host.lanes[link]
        wire = lane.wire
        if not wire.shut:
            self._end(wire)
            wire.opens_us = (
                self._world.now_us + 3 * lane.delay_us + self._world.physics.reconnect_us
            )
            self.tell_closed(lane)

    def shut(self, wire: Wire) -> None:
        """A connection is closed and stays so until `reopen`; the ends are told by the caller."""
        wire.shut += 1
        wire.touched = True
        self._end(wire)

    def reopen(self, wire: Wire) -> None:
        """One reason less for a connection to be closed."""
        wire.shut -= 1
        wire.opens_us = (
            self._world.now_us + 3 * wire.lanes[0].delay_us + self._world.physics.reconnect_us
        )

    def _end(self, wire: Wire) -> None:
        wire.generation += 1
        for lane in wire.lanes:
            lane.held.clear()
            lane.last_us = 0

    def tell_closed(self, lane: Lane) -> None:
        """The end that a lane leads to hears that the connection is closed, one way later."""
        if not (lane.holes or lane.holds):
            event = Closed(lane.wire.number)
            self._at(self._world.now_us + lane.delay_us, self._world.hand, lane.target, event)
