"""What OSPF floods when one link of a large network fails: LSAs, acknowledgements, and how long.

Only the flooding is simulated, packet by packet, by the same code that the router uses; both ends
find the link down at time 0. Lines take the links' own latencies and hold back nothing.
"""

from dataclasses import dataclass
from heapq import heappop, heappush

from ropewalk.errors import UsageError
from ropewalk.federation.arrays import Graph
from ropewalk.overlay.parts import NEVER
from ropewalk.overlay.simulate.lsa import Ack, Edge, Lsa, Speech, Update, bits_of
from ropewalk.overlay.simulate.lsdb import Flooding, Said


@dataclass(frozen=True, slots=True)
class FloodCount:
    """What it took until every router knew."""

    lsas: int
    """LSAs sent over links, repetitions included."""
    acks: int
    """Packets of acknowledgements."""
    bits: int
    converged_us: int
    """When the last router that can be reached had both ends' LSAs."""
    quiet_us: int
    """When the last packet had come."""
    reached: int
    """Routers that have both."""


def lsa_flood(
    graph: Graph, link: int, *, rxmt_us: int = 5_000_000, least_us: int = 1
) -> FloodCount:
    """Fail one link and count; a hop takes the link's latency, at least `least_us`.

    >>> from ropewalk.federation.generators import generate
    >>> lsa_flood(generate("six-node").graph, 1)
    FloodCount(lsas=14, acks=10, bits=15872, converged_us=4, quiet_us=5, reached=6)
    """
    if not 0 <= link < graph.links:
        raise UsageError(f"there is no link {link} here: write 0 to {graph.links - 1}")
    run = _Run(graph, link, rxmt_us, least_us)
    for end in graph.ends[link].tolist():
        run.fail(end)
    return run.finish()


class _Run:
    def __init__(self, graph: Graph, link: int, rxmt_us: int, least_us: int) -> None:
        self._ends, self._down = graph.ends.tolist(), link
        self._late_us = [max(least_us, round(1000 * ms)) for ms in graph.latency_ms.tolist()]
        self._routers = [Flooding(b, rxmt_us) for b in range(graph.brokers)]
        everything = {b: Lsa(b, 1, _edges(graph, b)) for b in range(graph.brokers)}
        for router in self._routers:
            router.lsdb.update(everything)
            for edge in everything[router.me].edges:
                if edge.link != link:
                    router.open(edge.link)
        self._events: list[tuple[int, int, int, int, Speech | None]] = []
        self._wakes = [NEVER] * graph.brokers
        self._order = self._lsas = self._acks = self._bits = 0
        self._converged_us = self._now_us = 0

    def fail(self, end: int) -> None:
        """An end of the link says so."""
        router = self._routers[end]
        left = tuple(one for one in router.lsdb[end].edges if one.link != self._down)
        self._send(end, router.originate(0, left, stub=False))

    def finish(self) -> FloodCount:
        """Until everything is acknowledged."""
        while self._events:
            now_us, _, at, link, speech = heappop(self._events)
            if speech is not None:
                self._now_us = now_us
                self._receive(at, link, speech)
            elif self._wakes[at] == now_us and not self._routers[at].settled:
                self._now_us = now_us
                self._send(at, self._routers[at].due(now_us))
        ends = self._ends[self._down]
        reached = sum(all(one.lsdb[end].sequence > 1 for end in ends) for one in self._routers)
        return FloodCount(
            self._lsas, self._acks, self._bits, self._converged_us, self._now_us, reached
        )

    def _receive(self, at: int, link: int, speech: Speech) -> None:
        router = self._routers[at]
        if isinstance(speech, Ack):
            router.acked(link, speech)
        elif isinstance(speech, Update):
            said, changed = router.updated(self._now_us, link, speech)
            if changed:
                self._converged_us = self._now_us
            self._send(at, said)

    def _send(self, at: int, said: Said) -> None:
        for link, speech in said:
            self._lsas += len(speech.lsas) if isinstance(speech, Update) else 0
            self._acks += isinstance(speech, Ack)
            self._bits += bits_of(speech)
            a, b = self._ends[link]
            self._push(self._now_us + self._late_us[link], b if at == a else a, link, speech)
        wake_us = self._routers[at].wake_us
        if wake_us < NEVER and wake_us != self._wakes[at]:
            self._wakes[at] = wake_us
            self._push(wake_us, at, -1, None)

    def _push(self, when_us: int, at: int, link: int, speech: Speech | None) -> None:
        self._order += 1
        heappush(self._events, (when_us, self._order, at, link, speech))


def _edges(graph: Graph, at: int) -> tuple[Edge, ...]:
    near = range(int(graph.first[at]), int(graph.first[at + 1]))
    links = [(int(graph.link[arc]), int(graph.neighbour[arc])) for arc in near]
    return tuple(Edge(link, other, int(graph.cost[link])) for link, other in links)
