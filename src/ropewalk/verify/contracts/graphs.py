"""Of a graph: which vertices and edges hold it together, and a cycle if there is one.

Hopcroft and Tarjan's depth-first search, once over all vertices and edges; without recursion, since
a chain of ten thousand brokers is as deep as it is long.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ropewalk.federation.arrays import Ints, adjacency


@dataclass(frozen=True, slots=True)
class Cuts:
    """What a graph falls apart without."""

    vertices: tuple[tuple[int, int, int], ...]
    """(vertex, one, other): without the vertex, one cannot reach the other. Each vertex once."""
    edges: tuple[tuple[int, int], ...]
    """Edges between two parts that nothing else joins."""
    cycle: tuple[int, ...]
    """The vertices of a cycle in order; empty for a forest."""


def cuts_of(edges: Ints, vertices: int) -> Cuts:
    """Cut vertices, cut edges and a cycle of an undirected graph without parallel edges.

    >>> import numpy as np
    >>> kite = np.array([(0, 1), (1, 2), (2, 0), (2, 3)], np.int32)
    >>> cuts_of(kite, 4)
    Cuts(vertices=((2, 3, 1),), edges=((2, 3),), cycle=(0, 1, 2))
    """
    first, neighbour, _ = adjacency(edges, vertices)
    search = _Search(first.tolist(), neighbour.tolist())
    for root in range(vertices):
        if search.found[root] < 0:
            search.from_root(root)
    return Cuts(tuple(search.cut_vertices.values()), tuple(search.cut_edges), search.cycle)


class _Search:
    """One depth-first search: `found` is when a vertex was met, `low` the earliest it can reach."""

    def __init__(self, first: Sequence[int], neighbour: Sequence[int]) -> None:
        self.first, self.neighbour = first, neighbour
        many = len(first) - 1
        self.found, self.low, self.above = [-1] * many, [0] * many, [-1] * many
        self.clock = 0
        self.cut_vertices: dict[int, tuple[int, int, int]] = {}
        self.cut_edges: list[tuple[int, int]] = []
        self.cycle: tuple[int, ...] = ()

    def from_root(self, root: int) -> None:
        """Search one part of the graph."""
        self._meet(root)
        stack, at, below = [root], {root: self.first[root]}, 0
        while stack:
            u = stack[-1]
            if at[u] == self.first[u + 1]:
                stack.pop()
                if stack:
                    below += stack[-1] == root
                    self._leave(u, stack[-1], is_root=stack[-1] == root, below=below)
                continue
            v = self.neighbour[at[u]]
            at[u] += 1
            if self.found[v] < 0:
                self.above[v] = u
                self._meet(v)
                at[v] = self.first[v]
                stack.append(v)
            elif v != self.above[u]:
                self.low[u] = min(self.low[u], self.found[v])
                if not self.cycle and self.found[v] < self.found[u]:
                    self.cycle = self._cycle(u, v)

    def _meet(self, u: int) -> None:
        self.found[u] = self.low[u] = self.clock
        self.clock += 1

    def _leave(self, u: int, above: int, *, is_root: bool, below: int) -> None:
        self.low[above] = min(self.low[above], self.low[u])
        if self.low[u] > self.found[above]:
            self.cut_edges.append((above, u))
        if self.low[u] < self.found[above] or above in self.cut_vertices:
            return
        if not is_root:
            self.cut_vertices[above] = (above, u, self.above[above])
        elif below > 1:  # a root with one child holds nothing together
            self.cut_vertices[above] = (above, u, self._first_child(above))

    def _first_child(self, root: int) -> int:
        found = self.neighbour[self.first[root] : self.first[root + 1]]
        return next(v for v in found if self.above[v] == root)

    def _cycle(self, u: int, back_to: int) -> tuple[int, ...]:
        way = [u]
        while way[-1] != back_to:
            way.append(self.above[way[-1]])
        return tuple(reversed(way))
