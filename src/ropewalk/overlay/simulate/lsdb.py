"""The link-state database of an OSPF router, reliable flooding, and the calculation on it.

RFC 2328, section 13 (flooding) and 16.1 (shortest paths). `Flooding` knows no hellos: the router
says which links lead to adjacent neighbours.
"""

from heapq import heappop, heappush

from ropewalk.overlay.parts import NEVER
from ropewalk.overlay.simulate.lsa import Ack, Edge, Lsa, Speech, Stamp, Update

Said = list[tuple[int, Speech]]
"""What is said over which links."""


class Flooding:
    """What a router knows, and what its neighbours have not yet acknowledged."""

    def __init__(self, me: int, rxmt_us: int) -> None:
        self.me, self._rxmt_us = me, rxmt_us
        self.lsdb: dict[int, Lsa] = {}
        self._unacked: dict[int, dict[int, tuple[Lsa, int]]] = {}

    @property
    def wake_us(self) -> int:
        """When something has to be sent again."""
        return min(
            (again for link in self._unacked.values() for _, again in link.values()), default=NEVER
        )

    @property
    def settled(self) -> bool:
        """Whether every neighbour has acknowledged everything."""
        return not any(self._unacked.values())

    def open(self, link: int) -> None:
        """The neighbour on a link takes part."""
        self._unacked.setdefault(link, {})

    def close(self, link: int) -> None:
        """It no longer does."""
        self._unacked.pop(link, None)

    def originate(self, now_us: int, edges: tuple[Edge, ...], *, stub: bool) -> Said:
        """The router's own LSA has changed."""
        before = self.lsdb.get(self.me)
        lsa = Lsa(self.me, before.sequence + 1 if before else 1, edges, stub)
        self.lsdb[self.me] = lsa
        return self._flood(now_us, lsa)

    def is_new(self, stamp: Stamp) -> bool:
        """Whether a neighbour's LSA is newer than what is known here."""
        have = self.lsdb.get(stamp.router)
        return have is None or stamp.sequence > have.sequence

    def updated(self, now_us: int, link: int, update: Update) -> tuple[Said, bool]:
        """LSAs came over a link: what to say, and whether anything is new (RFC 2328, 13)."""
        said, acks, changed = Said(), list[Stamp](), False
        for lsa in update.lsas:
            if self.is_new(lsa.stamp):
                changed = True
                acks.append(lsa.stamp)
                said += self._install(now_us, link, lsa)
            elif lsa.sequence < self.lsdb[lsa.router].sequence:
                said.append((link, Update((self.lsdb[lsa.router],))))
            elif self._unacked[link].pop(lsa.router, None) is None:
                acks.append(lsa.stamp)  # else the copy acknowledges ours: 13.5, table 19
        if acks:
            said.append((link, Ack(tuple(acks))))
        return said, changed

    def acked(self, link: int, ack: Ack) -> None:
        """The neighbour has these."""
        waiting = self._unacked.get(link, {})
        for router, sequence in ack.stamps:
            if router in waiting and waiting[router][0].sequence == sequence:
                del waiting[router]

    def due(self, now_us: int) -> Said:
        """Everything again that was not acknowledged in time, a packet per link."""
        said = Said()
        for link, waiting in self._unacked.items():
            late = [lsa for lsa, again in waiting.values() if again <= now_us]
            if late:
                said.append((link, Update(tuple(late))))
            for lsa in late:
                waiting[lsa.router] = lsa, now_us + self._rxmt_us
        return said

    def _install(self, now_us: int, link: int, lsa: Lsa) -> Said:
        if lsa.router == self.me:  # from before a restart: say it better (RFC 2328, 13.4)
            own = self.lsdb.get(self.me, lsa._replace(edges=()))
            self.lsdb[self.me] = own._replace(sequence=lsa.sequence)
            return self.originate(now_us, own.edges, stub=own.stub)
        self.lsdb[lsa.router] = lsa
        self._unacked[link].pop(lsa.router, None)
        return self._flood(now_us, lsa, but=link)

    def _flood(self, now_us: int, lsa: Lsa, *, but: int = -1) -> Said:
        others = [link for link in self._unacked if link != but]
        for link in others:
            self._unacked[link][lsa.router] = lsa, now_us + self._rxmt_us
        return [(link, Update((lsa,))) for link in others]


def first_links(lsdb: dict[int, Lsa], me: int) -> dict[int, int]:
    """The link that each destination's shortest path starts with.

    Canonical, as all tables here: the smallest cost, then the smallest neighbour. A link counts
    only if both its ends name it (RFC 2328, 16.1 (2b)).
    """
    distance, hop = {me: 0}, {me: me}
    heap, done = [(0, me)], set[int]()
    while heap:
        far, u = heappop(heap)
        if u in done:
            continue
        done.add(u)
        if u != me and lsdb[u].stub:
            continue
        for edge in _both_ways(lsdb, u):
            v, further = edge.neighbour, far + edge.cost
            first = v if u == me else hop[u]
            if further < distance.get(v, NEVER):
                distance[v], hop[v] = further, first
                heappush(heap, (further, v))
            elif further == distance[v]:
                hop[v] = min(hop[v], first)
    links = _link_to(lsdb, me)
    return {to: links[first] for to, first in hop.items() if to != me}


def _both_ways(lsdb: dict[int, Lsa], u: int) -> list[Edge]:
    if u not in lsdb:
        return []
    return [
        edge
        for edge in lsdb[u].edges
        if edge.neighbour in lsdb
        and any(back.link == edge.link for back in lsdb[edge.neighbour].edges)
    ]


def _link_to(lsdb: dict[int, Lsa], me: int) -> dict[int, int]:
    """The cheapest link to each neighbour."""
    edges = sorted(_both_ways(lsdb, me), key=lambda edge: (-edge.cost, -edge.link))
    return {edge.neighbour: edge.link for edge in edges}
