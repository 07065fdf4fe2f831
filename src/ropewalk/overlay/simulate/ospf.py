"""OSPF on point-to-point links (RFC 2328) as a pure state machine: the rival of Jia 2014, 6.3.2.

Hellos find neighbours and their silence, LSAs are flooded and acknowledged, and the shortest paths
are calculated some time after the database has changed. Left out, all to OSPF's advantage: the
election of a master in the database exchange (a round trip), the rate limit on arriving LSAs, the
time that a calculation and writing the table take.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import IntEnum
from math import isinf

from ropewalk.federation.arrays import Graph
from ropewalk.overlay.parts import NEVER
from ropewalk.overlay.simulate.lsa import Ack, Database, Edge, Hello, Request, Update, bits_of
from ropewalk.overlay.simulate.lsdb import Flooding, Said, first_links
from ropewalk.overlay.simulate.packets import Doing, Noticed, Out, Packet
from ropewalk.overlay.simulate.routers import NO_LINK


@dataclass(frozen=True, slots=True, kw_only=True)
class OspfTimers:
    """In units of time; names and defaults of RFC 2328, and of 6.1 for the calculation."""

    hello_interval: float = 10
    router_dead_interval: float = 40
    rxmt_interval: float = 5
    """Until an LSA that was not acknowledged, or a step of an exchange, is sent again."""
    min_ls_interval: float = 5
    """Between two LSAs of the same router."""
    spf_delay: float = 5
    """From a change in the database to the calculation; infinite: there is none."""
    spf_hold_time: float = 10
    """Between two calculations."""


OSPF = OspfTimers()
"""What Jia 2014, 6.1 calls typical; a unit of time is a second."""

FAST_OSPF = OspfTimers(
    hello_interval=1,
    router_dead_interval=4,
    rxmt_interval=0.5,
    min_ls_interval=0.5,
    spf_delay=1,
    spf_hold_time=2,
)
""""Fast" OSPF, as in `routing.rivals.timeline`: 6.3.2 gives no values but that hellos are fast."""

EAGER_OSPF = replace(FAST_OSPF, spf_delay=0.1, spf_hold_time=0.2)
"""The same with hardly a wait before the calculation, as routers of today are often set."""


class State(IntEnum):
    """Of a neighbour (RFC 2328, 10.1); 2-Way, ExStart and Loading are passed in no time here."""

    DOWN = 0
    INIT = 1
    EXCHANGE = 2
    FULL = 3


@dataclass(slots=True)
class _Neighbour:
    edge: Edge
    state: State = State.DOWN
    dead_us: int = NEVER
    again_us: int = NEVER
    told: bool = False
    """It has acknowledged our list."""
    wanted: frozenset[int] = frozenset()
    """Routers whose LSAs it has newer than we."""


class OspfRouter:
    """One router. A table of next links is only as new as its last calculation."""

    def __init__(
        self, graph: Graph, me: int, timers: OspfTimers = OSPF, *, unit_us: int = 1_000_000
    ) -> None:
        self.me, self._timers, self._unit_us = me, timers, unit_us
        near = range(int(graph.first[me]), int(graph.first[me + 1]))
        arcs = [(int(graph.link[arc]), int(graph.neighbour[arc])) for arc in near]
        self._near = {
            link: _Neighbour(Edge(link, other, int(graph.cost[link]))) for link, other in arcs
        }
        self._stub = not bool(graph.transit[me])
        self._flooding = Flooding(me, self._us(timers.rxmt_interval))
        self._table: dict[int, int] = {}
        self._hello_us = self._spf_us = self._originate_us = NEVER
        self._calculated_us = self._originated_us = -NEVER

    def next_link(self, destination: int) -> int:
        """By the last calculation."""
        return self._table.get(destination, NO_LINK)

    @property
    def wake_us(self) -> int:
        """The next hello, the end of a silence, something to send again or to calculate."""
        near = self._near.values()
        return min(
            self._hello_us,
            self._spf_us,
            self._originate_us,
            self._flooding.wake_us,
            min((one.dead_us for one in near), default=NEVER),
            min((one.again_us for one in near), default=NEVER),
        )

    def start(self, now_us: int) -> Iterable[Doing]:
        """Say hello."""
        self._hello_us = now_us
        self._originate_us = now_us
        return self.due(now_us)

    def due(self, now_us: int) -> Iterable[Doing]:
        """All that the time has come for."""
        doings: list[Doing] = []
        for near in self._near.values():
            if near.dead_us <= now_us:
                doings += self._fall(now_us, near, State.DOWN)
            if near.again_us <= now_us:
                doings += self._exchange(now_us, near)
        if self._originate_us <= now_us:
            doings += self._originate(now_us)
        doings += _outs(self._flooding.due(now_us))
        if self._spf_us <= now_us:
            self._calculate(now_us)
        if self._hello_us <= now_us:
            doings += self._greet(now_us)
        return doings

    def received(self, now_us: int, link: int, packet: Packet) -> Iterable[Doing]:
        """What a neighbour says."""
        near = self._near[link]
        match packet.body:
            case Hello(_, heard):
                return self._greeted(now_us, near, heard)
            case Database():
                return self._listed(now_us, near, packet.body)
            case Request(routers):
                known = [self._flooding.lsdb[one] for one in routers if one in self._flooding.lsdb]
                return _outs([(link, Update(tuple(known)))])
            case Update() if near.state >= State.EXCHANGE:
                return self._updated(now_us, near, packet.body)
            case Ack():
                self._flooding.acked(link, packet.body)
        return []

    def _greet(self, now_us: int) -> list[Doing]:
        self._hello_us = now_us + self._us(self._timers.hello_interval)
        heard = [one.edge.neighbour for one in self._near.values() if one.state > State.DOWN]
        hello = Hello(self.me, frozenset(heard))
        return _outs([(link, hello) for link in self._near])

    def _greeted(self, now_us: int, near: _Neighbour, heard: frozenset[int]) -> list[Doing]:
        near.dead_us = now_us + self._us(self._timers.router_dead_interval)
        near.state = max(near.state, State.INIT)
        if self.me not in heard:  # 1-WayReceived: it has started anew
            return self._fall(now_us, near, State.INIT)
        return self._meet(now_us, near) if near.state == State.INIT else []

    def _meet(self, now_us: int, near: _Neighbour) -> list[Doing]:
        """Each has heard the other: they compare what they have (RFC 2328, 10.8)."""
        near.state, near.told, near.wanted = State.EXCHANGE, False, frozenset()
        self._flooding.open(near.edge.link)
        return self._exchange(now_us, near)

    def _exchange(self, now_us: int, near: _Neighbour) -> list[Doing]:
        """Say, or say again, what the neighbour has not answered."""
        near.again_us = now_us + self._us(self._timers.rxmt_interval)
        said, link = Said(), near.edge.link
        if not near.told:
            stamps = tuple(lsa.stamp for lsa in self._flooding.lsdb.values())
            said.append((link, Database(stamps, answer=False)))
        if near.wanted:
            said.append((link, Request(tuple(sorted(near.wanted)))))
        return _outs(said)

    def _listed(self, now_us: int, near: _Neighbour, database: Database) -> list[Doing]:
        if near.state == State.DOWN:
            return []
        doings = self._meet(now_us, near) if near.state == State.INIT else []
        if database.answer:
            near.told = True
            return [*doings, *self._finish(now_us, near)]
        said: Said = [(near.edge.link, Database((), answer=True))]
        new = frozenset(one.router for one in database.stamps if self._flooding.is_new(one))
        if new:
            said.append((near.edge.link, Request(tuple(sorted(new)))))
            near.wanted |= new
        return [*doings, *_outs(said), *self._finish(now_us, near)]

    def _updated(self, now_us: int, near: _Neighbour, update: Update) -> list[Doing]:
        said, changed = self._flooding.updated(now_us, near.edge.link, update)
        near.wanted -= {lsa.router for lsa in update.lsas}
        if changed:
            self._calculate_later(now_us)
        return [*_outs(said), *self._finish(now_us, near)]

    def _finish(self, now_us: int, near: _Neighbour) -> list[Doing]:
        """The neighbour is full once both have what the other has."""
        if near.state != State.EXCHANGE or not near.told or near.wanted:
            return []
        near.state, near.again_us = State.FULL, NEVER
        return [Noticed(near.edge.link, up=True), *self._originate_later(now_us)]

    def _fall(self, now_us: int, near: _Neighbour, state: State) -> list[Doing]:
        """The neighbour is silent, or does not know us."""
        before, near.state, near.again_us = near.state, state, NEVER
        if state == State.DOWN:
            near.dead_us = NEVER
        self._flooding.close(near.edge.link)
        if before != State.FULL:
            return []
        return [Noticed(near.edge.link, up=False), *self._originate_later(now_us)]

    def _originate_later(self, now_us: int) -> list[Doing]:
        least_us = self._us(self._timers.min_ls_interval)
        self._originate_us = max(now_us, self._originated_us + least_us)
        return self._originate(now_us) if self._originate_us <= now_us else []

    def _originate(self, now_us: int) -> list[Doing]:
        self._originated_us, self._originate_us = now_us, NEVER
        edges = tuple(one.edge for one in self._near.values() if one.state == State.FULL)
        before = self._flooding.lsdb.get(self.me)
        if before is not None and before.edges == edges:
            return []
        self._calculate_later(now_us)
        return _outs(self._flooding.originate(now_us, edges, stub=self._stub))

    def _calculate_later(self, now_us: int) -> None:
        """Wait for more news (spfDelay), and since the last calculation (spfHoldTime)."""
        if self._spf_us == NEVER and not isinf(self._timers.spf_delay):
            hold_us = self._calculated_us + self._us(self._timers.spf_hold_time)
            self._spf_us = max(now_us + self._us(self._timers.spf_delay), hold_us)

    def _calculate(self, now_us: int) -> None:
        self._calculated_us, self._spf_us = now_us, NEVER
        self._table = first_links(self._flooding.lsdb, self.me)

    def _us(self, units: float) -> int:
        return round(units * self._unit_us)


def _outs(said: Said) -> list[Doing]:
    return [Out(link, Packet(bits_of(speech), speech)) for link, speech in said]
