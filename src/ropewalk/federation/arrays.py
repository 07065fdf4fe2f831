"""Names to integers: the graph and the topics of a federation as arrays.

A broker's number is its place in the file, a link's likewise. Every algorithm works on these;
names come back only at the border.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from ropewalk.federation.facts import Attachment, Federation, Topic

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False, slots=True)
class Graph:
    """Brokers and links; neighbours of `u` are `neighbour[first[u]:first[u + 1]]`, ascending."""

    names: tuple[str, ...]
    ends: Ints
    cost: Ints
    latency_ms: Floats
    loss: Floats
    first: Ints
    neighbour: Ints
    link: Ints
    domain: Ints
    transit: Bools

    @property
    def brokers(self) -> int:
        """How many brokers there are."""
        return len(self.names)

    @property
    def links(self) -> int:
        """How many links there are."""
        return len(self.ends)

    def neighbours(self, broker: int) -> Ints:
        """The numbers of a broker's neighbours, ascending."""
        return self.neighbour[self.first[broker] : self.first[broker + 1]]

    def nbytes(self) -> int:
        """Bytes of all arrays together."""
        arrays = (self.ends, self.cost, self.latency_ms, self.loss, self.first)
        return sum(
            a.nbytes for a in (*arrays, self.neighbour, self.link, self.domain, self.transit)
        )


@dataclass(frozen=True, eq=False, slots=True)
class TopicTable:
    """Publishers of topic `t` are `publisher[first_publisher[t]:first_publisher[t + 1]]`, etc."""

    names: tuple[str, ...]
    first_publisher: Ints
    publisher: Ints
    first_subscriber: Ints
    subscriber: Ints
    local: Bools

    @property
    def topics(self) -> int:
        """How many topics there are."""
        return len(self.names)

    def pairs(self) -> int:
        """How many publisher/subscriber pairs there are over all topics."""
        publishers = np.diff(self.first_publisher).astype(np.int64)
        return int(publishers @ np.diff(self.first_subscriber))

    def nbytes(self) -> int:
        """Bytes of all arrays together."""
        arrays = (self.first_publisher, self.publisher, self.first_subscriber, self.subscriber)
        return sum(a.nbytes for a in (*arrays, self.local))


def offsets(counts: npt.ArrayLike) -> Ints:
    """Where each run starts, and where the last one ends.

    >>> offsets([2, 0, 3]).tolist()
    [0, 2, 2, 5]
    """
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int32)


def adjacency(ends: Ints, brokers: int) -> tuple[Ints, Ints, Ints]:
    """Compressed rows of a list of undirected links: first, neighbour, link."""
    links = np.arange(len(ends), dtype=np.int32)
    tail = np.concatenate((ends[:, 0], ends[:, 1]))
    head = np.concatenate((ends[:, 1], ends[:, 0]))
    order = np.lexsort((head, tail))
    counts = np.bincount(tail, minlength=brokers)
    return offsets(counts), head[order], np.concatenate((links, links))[order]


def graph_of(federation: "Federation") -> Graph:
    """Brokers, links and domains of a federation as arrays."""
    from ropewalk.federation.places import link_latency_ms

    names = tuple(federation.brokers)
    number = {name: i for i, name in enumerate(names)}
    links = federation.links
    ends = np.array(
        [(number[a], number[b]) for a, b in (link.between for link in links)], dtype=np.int32
    ).reshape(-1, 2)
    first, neighbour, link_of_arc = adjacency(ends, len(names))
    # A broker outside all domains is a domain of its own, numbered after the declared ones.
    domain = np.arange(len(names), dtype=np.int32) + len(federation.domains)
    transit = np.ones(len(names), dtype=np.bool_)
    for d, members in enumerate(federation.domains.values()):
        edges = [number[name] for name in members.edges]
        domain[edges + [number[name] for name in members.gateways]] = d
        transit[edges] = False
    return Graph(
        names=names,
        ends=ends,
        cost=np.array([link.cost for link in links], dtype=np.int32),
        latency_ms=link_latency_ms(federation, ends),
        loss=np.array([link.loss for link in links], dtype=np.float64),
        first=first,
        neighbour=neighbour,
        link=link_of_arc,
        domain=domain,
        transit=transit,
    )


def topic_table_of(federation: "Federation") -> TopicTable:
    """Topics of a federation as arrays."""
    number = {name: i for i, name in enumerate(federation.brokers)}
    topics: Sequence[Topic] = list(federation.topics.values())
    publishers = [topic.publishers for topic in topics]
    subscribers = [topic.subscribers for topic in topics]
    return TopicTable(
        names=tuple(federation.topics),
        first_publisher=offsets([len(one) for one in publishers]),
        publisher=_numbers(publishers, number),
        first_subscriber=offsets([len(one) for one in subscribers]),
        subscriber=_numbers(subscribers, number),
        local=np.array([topic.scope == "domain" for topic in topics], dtype=np.bool_),
    )


def broker_of(attachment: "Attachment") -> str:
    """The broker that a publisher or subscriber is attached to."""
    return attachment if isinstance(attachment, str) else attachment.broker


def _numbers(lists: Iterable[Iterable["Attachment"]], number: dict[str, int]) -> Ints:
    return np.array(
        [number[broker_of(one)] for attachments in lists for one in attachments], dtype=np.int32
    )
