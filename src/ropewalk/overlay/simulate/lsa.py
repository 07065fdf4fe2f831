"""What OSPF routers say to each other (RFC 2328, appendix A), and how many bits it takes.

Links are point to point. Ages and checksums are left out: nothing gets old in these runs.
"""

from collections.abc import Iterable
from typing import NamedTuple

HEADERS_BYTES = 20 + 24
"""IP and OSPF."""
LSA_HEADER_BYTES = 20


class Edge(NamedTuple):
    """A link to a neighbour in an LSA."""

    link: int
    neighbour: int
    cost: int


class Lsa(NamedTuple):
    """A router's links to its full neighbours; of a router, the highest sequence number counts."""

    router: int
    sequence: int
    edges: tuple[Edge, ...]
    stub: bool = False
    """It carries no transit (RFC 6987)."""

    @property
    def stamp(self) -> "Stamp":
        """What tells it from others of the same router."""
        return Stamp(self.router, self.sequence)


class Stamp(NamedTuple):
    """The header of an LSA."""

    router: int
    sequence: int


class Hello(NamedTuple):
    """I am here, and have heard these."""

    sender: int
    heard: frozenset[int]


class Database(NamedTuple):
    """All that a router has, or the answer that such a list has come."""

    stamps: tuple[Stamp, ...]
    answer: bool


class Request(NamedTuple):
    """Of these routers the neighbour has newer LSAs."""

    routers: tuple[int, ...]


class Update(NamedTuple):
    """LSAs."""

    lsas: tuple[Lsa, ...]


class Ack(NamedTuple):
    """These have come."""

    stamps: tuple[Stamp, ...]


Speech = Hello | Database | Request | Update | Ack


def bits_of(speech: Speech) -> int:
    """The size of a packet, with its headers.

    >>> bits_of(Hello(1, frozenset([2, 3])))
    576
    """
    match speech:
        case Hello(_, heard):
            body = 20 + 4 * len(heard)
        case Database(stamps, _):
            body = 8 + LSA_HEADER_BYTES * len(stamps)
        case Request(routers):
            body = 12 * len(routers)
        case Update(lsas):
            body = 4 + _lsa_bytes(lsas)
        case Ack(stamps):
            body = LSA_HEADER_BYTES * len(stamps)
    return 8 * (HEADERS_BYTES + body)


def _lsa_bytes(lsas: Iterable[Lsa]) -> int:
    return sum(LSA_HEADER_BYTES + 4 + 12 * len(one.edges) for one in lsas)
