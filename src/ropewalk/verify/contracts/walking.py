"""The steps that messages take from many brokers to one, each once: kernels over rows of next hops.

Messages of one topic to one destination share the ends of their ways; so a way is followed only
until it meets one that was followed before.
"""

from typing import Any, NamedTuple

import numpy as np

from ropewalk.federation.arrays import Bools, Graph, Ints
from ropewalk.kernels import kernel
from ropewalk.routing.table import Rows as HopRows
from ropewalk.routing.trees import fill_rows, net_of
from ropewalk.routing.workers import spread
from ropewalk.verify.contracts.relations import Rows, rows, unique_entries

BLOCK = 512
"""Destinations whose rows of next hops are in memory at once, for each thread."""


class Tours(NamedTuple):
    """Ways to be followed: of tour i, from `start[first[i]:first[i + 1]]` to `to[i]`."""

    topic: Ints
    to: Ints
    first: Ints
    start: Ints

    def part(self, low: int, high: int) -> "Tours":
        """Some of the tours."""
        return Tours(
            self.topic[low:high], self.to[low:high], self.first[low : high + 1], self.start
        )


def tours_of(asked: Rows) -> Tours:
    """Ways as (topic, from, to), put together by destination and topic.

    >>> tours_of(rows([(7, 0, 2), (7, 1, 2), (8, 0, 1)], 3))[1:]
    (array([1, 2], dtype=int32), array([0, 1, 3], dtype=int32), array([0, 0, 1], dtype=int32))
    """
    order = np.lexsort((asked[:, 1], asked[:, 0], asked[:, 2]))
    topic, start, to = np.ascontiguousarray(asked[order].T)
    fresh = np.ones(len(to), np.bool_)
    fresh[1:] = (to[1:] != to[:-1]) | (topic[1:] != topic[:-1])
    first = np.append(np.flatnonzero(fresh), len(to)).astype(np.int32)
    return Tours(topic[fresh], to[fresh], first, start)


def steps(graph: Graph, *several: Tours) -> list[Rows]:
    """(at, topic, next): all steps of tours by the computed tables, each once for a topic.

    For several sets of tours at once: the rows of next hops are what takes time.
    """
    net = net_of(graph)
    kind = np.int16 if graph.brokers <= np.iinfo(np.int16).max else np.int32
    places = [np.searchsorted(one.to, np.arange(graph.brokers + 1)).tolist() for one in several]

    def some(low: int, high: int) -> list[Rows]:
        found = [[rows([], 3)] for _ in several]
        for start in range(low, high, BLOCK):
            stop = min(start + BLOCK, high)
            pairs = zip(several, places, strict=True)
            parts = [one.part(place[start], place[stop]) for one, place in pairs]
            if any(len(part.to) for part in parts):
                hops = np.empty((stop - start, graph.brokers), kind)
                fill_rows(net, start, stop, hops, start)
                for part, into in zip(parts, found, strict=True):
                    into.append(steps_by(hops, part.to - start, part, graph.transit))
        return [unique_entries(np.concatenate(one)) for one in found]

    every = spread(some, graph.brokers)
    return [unique_entries(np.concatenate(one)) for one in zip(*every, strict=True)]


def steps_by(hops: HopRows, row: Ints, tours: Tours, transit: Bools) -> Rows:
    """Steps of tours by rows of next hops; `row` is that of each tour."""
    given = hops, row, *tours, transit
    many = _walk(*given, rows([], 3))
    out = np.empty((many, 3), np.int32)
    _walk(*given, out)
    return out


@kernel
def _walk(
    hops: Any, row: Any, topic: Any, to: Any, first: Any, start: Any, transit: Any, out: Any
) -> int:
    """Follow all ways; write down the steps if there is room, and count them."""
    met = np.full(hops.shape[1], -1, np.int64)
    many = 0
    for i in range(len(to)):
        met[to[i]] = i
        for j in range(first[i], first[i + 1]):
            at = start[j]
            while met[at] != i:
                met[at] = i
                hop = hops[row[i], at]
                if hop < 0:
                    break  # nowhere: the way ends here
                if len(out):
                    out[many, 0] = at
                    out[many, 1] = topic[i]
                    out[many, 2] = hop
                many += 1
                if hop != to[i] and not transit[hop]:
                    break  # an edge carries nothing for others
                at = hop
    return many
