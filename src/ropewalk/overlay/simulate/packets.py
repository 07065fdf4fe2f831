"""The packet-level network of Jia 2014, 6.3.2: every direction of a link is a queue.

A queue serves packets at a fixed bit rate and holds a few; what comes when it is full is dropped.
Control packets wait in the same queues as data. A sender does not see that a link is down: what it
puts on the line until it has found out is lost, and counted. Times are whole microseconds.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any, Protocol

from ropewalk.federation.arrays import Graph
from ropewalk.overlay.parts import NEVER


@dataclass(frozen=True, slots=True)
class Packet:
    """What crosses a link."""

    bits: int
    body: Any
    data: tuple[int, ...] = ()
    """The numbers of the data packets in it; none: it is a control packet."""


@dataclass(frozen=True, slots=True)
class Out:
    """Put a packet into the queue of a link."""

    link: int
    packet: Packet


@dataclass(frozen=True, slots=True)
class Arrived:
    """A data packet is where it was to go."""

    number: int


@dataclass(frozen=True, slots=True)
class Dropped:
    """A node gives a data packet up, and why."""

    number: int
    why: str


@dataclass(frozen=True, slots=True)
class Noticed:
    """A node now holds one of its links for down, or for up again."""

    link: int
    up: bool


Doing = Out | Arrived | Dropped | Noticed


class Node(Protocol):
    """What stands at the ends of links: events in, doings out, in order."""

    @property
    def wake_us(self) -> int:
        """When it wants `due` at the latest."""

    def start(self, now_us: int) -> Iterable[Doing]:
        """It is switched on."""

    def received(self, now_us: int, link: int, packet: Packet) -> Iterable[Doing]:
        """A packet came over a link."""

    def due(self, now_us: int) -> Iterable[Doing]:
        """The time it asked for has come."""

    def publish(self, now_us: int, number: int, to: int) -> Iterable[Doing]:
        """A source at this node has a data packet for another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What a link's two queues are like: 6.3.2 has the same for all."""

    bits_per_unit: int = 10_000
    buffer: int = 10
    """Packets in a queue at most, the one that is being sent included."""
    unit_us: int = 1_000_000

    def service_us(self, bits: int) -> int:
        """How long a packet keeps its queue busy."""
        return bits * self.unit_us // self.bits_per_unit


@dataclass(slots=True)
class Log:
    """All that happened, in order of time."""

    sent: dict[int, int] = field(default_factory=dict)
    """When each data packet was published."""
    arrived: dict[int, list[int]] = field(default_factory=dict)
    """When it was delivered, and delivered again."""
    hops: dict[int, list[tuple[int, int, int]]] = field(default_factory=dict)
    """When it, or a copy of it, came from which node to which."""
    losses: dict[int, list[tuple[int, str, str]]] = field(default_factory=dict)
    """When it, or a copy of it, was lost: where and why."""
    control: list[tuple[int, int, str]] = field(default_factory=list)
    """Control packets: when they were queued, bits, kind."""
    control_lost: int = 0
    noticed: list[tuple[int, int, int, bool]] = field(default_factory=list)
    """When which node found a link down, or up again."""

    def path(self, number: int) -> tuple[int, ...]:
        """The way of the copy that came first, or, of a lost packet, that came last anywhere."""
        hops = self.hops.get(number, [])
        if not hops:
            return ()
        first = self.arrived[number][0] if number in self.arrived else hops[-1][0]
        behind = [hop for hop in hops if hop[0] <= first]
        back = [behind[-1][2], behind[-1][1]]
        for _, source, to in reversed(behind[:-1]):
            if to == back[-1]:
                back.append(source)
        return tuple(reversed(back))


@dataclass(slots=True)
class _Queue:
    """One direction of a link."""

    link: int
    source: int
    to: int
    latency_us: int
    waiting: deque[Packet] = field(default_factory=deque)


class PacketNetwork:
    """Nodes, the queues between them, and a log; `at` and `run` move time on."""

    def __init__(
        self, graph: Graph, nodes: Sequence[Node], line: Line, starts_us: Sequence[int]
    ) -> None:
        self.log, self.line, self.nodes, self.names = Log(), line, nodes, graph.names
        self._queues: dict[tuple[int, int], _Queue] = {}
        for link, (a, b) in enumerate(graph.ends.tolist()):
            latency_us = round(1000 * graph.latency_ms[link])
            self._queues[link, a] = _Queue(link, a, b, latency_us)
            self._queues[link, b] = _Queue(link, b, a, latency_us)
        self._up = [True] * graph.links
        self._breaks = [0] * graph.links
        self._events: list[tuple[int, int, Any, tuple[Any, ...]]] = []
        self._order = 0
        self._wakes = [NEVER] * len(nodes)
        for node, start_us in enumerate(starts_us):
            self.at(start_us, self._start, node)

    def at(self, when_us: int, what: Any, *about: Any) -> None:
        """Have something done at a time; what is for the same time is done in this order."""
        self._order += 1
        heappush(self._events, (when_us, self._order, what, about))

    def run(self, until_us: int) -> Log:
        """Let everything happen that is due until then."""
        while self._events and self._events[0][0] <= until_us:
            now_us, _, what, about = heappop(self._events)
            what(now_us, *about)
        return self.log

    def publish(self, now_us: int, node: int, number: int, to: int) -> None:
        """A source at a node sends a data packet."""
        self.log.sent[number] = now_us
        self._do(now_us, node, self.nodes[node].publish(now_us, number, to))

    def set_link(self, _: int, link: int, up: bool) -> None:
        """A link breaks, or is mended; its ends are not told."""
        self._up[link] = up
        self._breaks[link] += not up

    def _start(self, now_us: int, node: int) -> None:
        self._do(now_us, node, self.nodes[node].start(now_us))

    def _do(self, now_us: int, node: int, doings: Iterable[Doing]) -> None:
        for doing in doings:
            match doing:
                case Out(link, packet):
                    self._offer(now_us, self._queues[link, node], packet)
                case Arrived(number):
                    self.log.arrived.setdefault(number, []).append(now_us)
                case Dropped(number, why):
                    self._lose(now_us, (number,), self.names[node], why)
                case Noticed(link, up):
                    self.log.noticed.append((now_us, node, link, up))
        self._wake_later(now_us, node)

    def _wake_later(self, now_us: int, node: int) -> None:
        wake_us = max(now_us, self.nodes[node].wake_us)
        if wake_us < NEVER and wake_us != self._wakes[node]:
            self._wakes[node] = wake_us
            self.at(wake_us, self._wake, node)

    def _wake(self, now_us: int, node: int) -> None:
        if self._wakes[node] == now_us:  # else it has asked for another time since
            self._wakes[node] = NEVER
            self._do(now_us, node, self.nodes[node].due(now_us))

    def _offer(self, now_us: int, queue: _Queue, packet: Packet) -> None:
        if not packet.data:
            self.log.control.append((now_us, packet.bits, type(packet.body).__name__))
        if len(queue.waiting) >= self.line.buffer:
            self._lose(now_us, packet.data, self._line_name(queue), "queue full")
            return
        queue.waiting.append(packet)
        if len(queue.waiting) == 1:
            self._serve(now_us, queue)

    def _serve(self, now_us: int, queue: _Queue) -> None:
        done_us = now_us + self.line.service_us(queue.waiting[0].bits)
        self.at(done_us, self._served, queue, self._breaks[queue.link], self._up[queue.link])

    def _served(self, now_us: int, queue: _Queue, breaks: int, was_up: bool) -> None:
        packet = queue.waiting.popleft()
        if queue.waiting:
            self._serve(now_us, queue)
        arrives_us = now_us + queue.latency_us
        self.at(arrives_us, self._arrive, queue, packet, breaks, was_up)

    def _arrive(
        self, now_us: int, queue: _Queue, packet: Packet, breaks: int, was_up: bool
    ) -> None:
        if not was_up or breaks != self._breaks[queue.link]:
            self._lose(now_us, packet.data, self._line_name(queue), "link down")
            return
        for number in packet.data:
            self.log.hops.setdefault(number, []).append((now_us, queue.source, queue.to))
        doings = self.nodes[queue.to].received(now_us, queue.link, packet)
        self._do(now_us, queue.to, doings)

    def _lose(self, now_us: int, data: tuple[int, ...], where: str, why: str) -> None:
        self.log.control_lost += not data
        for number in data:
            self.log.losses.setdefault(number, []).append((now_us, where, why))

    def _line_name(self, queue: _Queue) -> str:
        return f"{self.names[queue.source]} > {self.names[queue.to]}"
