"""Pre-calculated routing tables as in the thesis (Jia 2014, 6.1-6.2), without our repairs.

Heartbeats of three kinds, each with an acknowledgement but the regular one: heartbeat, flood,
link test. A flood names a colour, a node and that node's sequence number; all tables are there
before anything fails, so a node that learns of another colour uses its table at once. Nothing is
carried in data packets, and nothing is kept.

One thing had to be read into the text. 6.1.2 joins the failures of a received colour with those
already known, which never forgets a failure, though figure 6-16 shows the mended link in use. So
here a flood's colour replaces what is known of the links of the node that sent it. That can still
go wrong where floods of both ends of a link cross: Ropewalk's own floods say of each end apart what
it holds for down.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ropewalk.overlay.parts import NEVER
from ropewalk.overlay.simulate.packets import Doing, Noticed, Out, Packet
from ropewalk.overlay.simulate.routers import NO_LINK
from ropewalk.routing.ahead import Lookup, Tables


@dataclass(frozen=True, slots=True, kw_only=True)
class PcrtTimers:
    """In units of time. 6.2: the dead time is four times the heartbeat; the rest is not given."""

    heartbeat: float = 1
    dead: float = 4
    ack: float = 0.5
    """Until a flood or a link test that was not acknowledged is sent again."""


PCRT = PcrtTimers()
"""Heartbeats as often as fast OSPF's hellos, for fairness (6.3.2)."""


class HeartBeat(NamedTuple):
    """The regular one."""


class Flood(NamedTuple):
    """What a node says of the network (figure 6-4); `ack` if it is only given back."""

    colour: int
    node: int
    sequence: int
    ack: bool = False


class LinkTest(NamedTuple):
    """Whether a link works in both directions."""

    ack: bool = False


HEADER_BYTES = 20
"""IP, as for OSPF."""
FLAG_BYTES, NEWS_BYTES = 2, 12
"""Type and ACK flag; colour, node and sequence number (figure 6-4 gives no sizes)."""


def bits_of(said: HeartBeat | Flood | LinkTest) -> int:
    """The size of a packet, with its header.

    >>> bits_of(HeartBeat()), bits_of(Flood(4, 1, 2))
    (176, 272)
    """
    return 8 * (HEADER_BYTES + FLAG_BYTES + NEWS_BYTES * isinstance(said, Flood))


@dataclass(slots=True)
class _Interface:
    """One link: `failed`, else `waiting` for acknowledgements, else normal (figure 6-5)."""

    link: int
    dead_us: int
    failed: bool = False
    test_us: int = -NEVER
    waiting: dict[Flood, int] = field(default_factory=dict)
    """The ACK list: floods and when they are sent again."""


class PcrtRouter:
    """One node of the thesis' scheme."""

    def __init__(
        self, tables: Tables, me: int, timers: PcrtTimers = PCRT, *, unit_us: int = 1_000_000
    ) -> None:
        graph = tables.network.graph
        self.me, self._colours = me, tables.colours
        self._beat_us = round(timers.heartbeat * unit_us)
        self._dead_us, self._ack_us = round(timers.dead * unit_us), round(timers.ack * unit_us)
        near = slice(int(graph.first[me]), int(graph.first[me + 1]))
        links = graph.link[near].tolist()
        self._link_to: dict[int, int] = dict(
            zip(graph.neighbour[near].tolist(), links, strict=True)
        )
        self._interfaces = {link: _Interface(link, NEVER) for link in links}
        self._lookup = Lookup(tables.network, tables.brokers[me])
        self._sequence = dict.fromkeys(range(graph.brokers), 1)
        self._down: frozenset[int] = frozenset()
        self._next_beat_us = NEVER

    @property
    def colour(self) -> int:
        """What this node takes the network's state for."""
        return self._lookup.colour

    def next_link(self, destination: int) -> int:
        """By the table of the current colour."""
        return self._link_to.get(self._lookup.hop(destination), NO_LINK)

    @property
    def wake_us(self) -> int:
        """The next heartbeat, the end of a silence, or a flood to send again."""
        faces = self._interfaces.values()
        dead = min((one.dead_us for one in faces), default=NEVER)
        again = min((when for one in faces for when in one.waiting.values()), default=NEVER)
        return min(self._next_beat_us, dead, again)

    def start(self, now_us: int) -> Iterable[Doing]:
        """All links are taken for good; the first heartbeat goes out."""
        self._next_beat_us = now_us
        for face in self._interfaces.values():
            face.dead_us = now_us + self._dead_us
        return self.due(now_us)

    def due(self, now_us: int) -> Iterable[Doing]:
        """All that the time has come for."""
        doings: list[Doing] = []
        for face in self._interfaces.values():
            if face.dead_us <= now_us:
                face.failed, face.dead_us = True, NEVER
                doings += self._changed(now_us, face)
            doings += self._again(now_us, face)
        if self._next_beat_us <= now_us:
            self._next_beat_us = now_us + self._beat_us
            doings += [_out(link, HeartBeat()) for link in self._interfaces]
        return doings

    def received(self, now_us: int, link: int, packet: Packet) -> Iterable[Doing]:
        """Anything at all shows that the other end is there (figure 6-6)."""
        face, doings = self._interfaces[link], list[Doing]()
        if not face.failed:
            face.dead_us = now_us + self._dead_us
        elif packet.body != LinkTest(ack=True):
            doings += self._test(now_us, face)
        match packet.body:
            case Flood(_, _, _, ack=True):
                face.waiting.pop(packet.body._replace(ack=False), None)
            case Flood():
                doings += self._told(now_us, link, packet.body)
            case LinkTest(ack=False):
                doings.append(_out(link, LinkTest(ack=True)))
            case LinkTest() if face.failed:
                face.failed, face.dead_us = False, now_us + self._dead_us
                doings += self._changed(now_us, face)
        return doings

    def _changed(self, now_us: int, face: _Interface) -> list[Doing]:
        """One of its own links: another colour, a higher number, and all neighbours are told.

        Over the failed link too, "in case it recovers" (6.1.3).
        """
        self._sequence[self.me] += 1
        self._take(self.me, frozenset())
        news = Flood(self.colour, self.me, self._sequence[self.me])
        return [Noticed(face.link, up=not face.failed), *self._flood(now_us, news)]

    def _told(self, now_us: int, link: int, flood: Flood) -> list[Doing]:
        """Another node's news: taken and passed on if it is new, acknowledged in any case."""
        doings: list[Doing] = [_out(link, flood._replace(ack=True))]
        if flood.sequence <= self._sequence[flood.node]:
            return doings
        self._sequence[flood.node] = flood.sequence
        self._take(flood.node, frozenset(self._colours.things_of_number(flood.colour)))
        return doings + self._flood(now_us, flood, but=link)

    def _take(self, node: int, down: frozenset[int]) -> None:
        """What a node says of its links, but for those that failed here."""
        theirs = frozenset(np.flatnonzero((self._colours.ends == node).any(axis=1)).tolist())
        own = {face.link for face in self._interfaces.values() if face.failed}
        self._down = (self._down - theirs) | (down & theirs) | own
        self._lookup.switch(self._down)

    def _flood(self, now_us: int, flood: Flood, *, but: int = NO_LINK) -> list[Doing]:
        others = [face for face in self._interfaces.values() if face.link != but]
        for face in others:
            face.waiting[flood] = now_us + self._ack_us
        return [_out(face.link, flood) for face in others]

    def _again(self, now_us: int, face: _Interface) -> list[Doing]:
        late = [flood for flood, when in face.waiting.items() if when <= now_us]
        for flood in late:
            face.waiting[flood] = now_us + self._ack_us
        return [_out(face.link, flood) for flood in late]

    def _test(self, now_us: int, face: _Interface) -> list[Doing]:
        """A failed link is heard again: does it work both ways? Asked once in an ACK time."""
        if now_us < face.test_us + self._ack_us:
            return []
        face.test_us = now_us
        return [_out(face.link, LinkTest())]


def _out(link: int, said: HeartBeat | Flood | LinkTest) -> Doing:
    return Out(link, Packet(bits_of(said), said))
