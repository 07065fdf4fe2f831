"""Routers that send data by a table of their own: what any of them must offer."""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from ropewalk.overlay.simulate.packets import Arrived, Doing, Dropped, Out, Packet

MOST_HOPS = 64
"""A packet that has gone so far is dropped, as IP does."""

DATA_BITS = 1_000
"""Of a data packet (Jia 2014, 6.3.2)."""

NO_LINK = -1
"""Where the table has no way."""


class Data(NamedTuple):
    """The body of a data packet."""

    number: int
    to: int
    hops: int


class Router(Protocol):
    """A routing protocol at one node, as a pure state machine."""

    me: int

    @property
    def wake_us(self) -> int:
        """When it wants `due` at the latest."""

    def start(self, now_us: int) -> Iterable[Doing]:
        """It is switched on."""

    def received(self, now_us: int, link: int, packet: Packet) -> Iterable[Doing]:
        """A control packet came over a link."""

    def due(self, now_us: int) -> Iterable[Doing]:
        """The time it asked for has come."""

    def next_link(self, destination: int) -> int:
        """The link that data for a node takes now; -1 for none."""


class ByTable:
    """A node that forwards data by its router's table, hop by hop, and keeps nothing."""

    def __init__(self, router: Router) -> None:
        self.router = router

    @property
    def wake_us(self) -> int:
        """When the router wants to be woken."""
        return self.router.wake_us

    def start(self, now_us: int) -> Iterable[Doing]:
        """The router starts."""
        return self.router.start(now_us)

    def due(self, now_us: int) -> Iterable[Doing]:
        """The router is woken."""
        return self.router.due(now_us)

    def received(self, now_us: int, link: int, packet: Packet) -> Iterable[Doing]:
        """Data goes on; all else is for the router."""
        if isinstance(packet.body, Data):
            return [self._forward(packet.body)]
        return self.router.received(now_us, link, packet)

    def publish(self, now_us: int, number: int, to: int) -> Iterable[Doing]:  # noqa: ARG002
        """Data sets out."""
        return [self._forward(Data(number, to, 0))]

    def _forward(self, data: Data) -> Doing:
        if data.to == self.router.me:
            return Arrived(data.number)
        if data.hops >= MOST_HOPS:
            return Dropped(data.number, "hop limit")
        link = self.router.next_link(data.to)
        if link == NO_LINK:
            return Dropped(data.number, "no route")
        onward = data._replace(hops=data.hops + 1)
        return Out(link, Packet(DATA_BITS, onward, (data.number,)))
