"""Of a graph: which vertices and edges hold it together, and what falls off without them.

Hopcroft and Tarjan's depth-first search, once over all vertices and edges; without recursion, since
a chain of ten thousand brokers is as deep as it is long.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ropewalk.federation.arrays import Ints, adjacency


@dataclass(frozen=True, eq=False, slots=True)
class Cuts:
    """What a graph falls apart without.

    Places are those of the search: a vertex stands before all that hang below it in its tree, so
    what a cut takes off is a run of places, or several.
    """

    vertices: tuple[tuple[int, int, int], ...]
    """(vertex, one, other): without the vertex, one cannot reach the other. Each vertex once."""
    edges: tuple[tuple[int, int], ...]
    """Edges between two parts that nothing else joins, the one met first in front."""
    hanging: tuple[tuple[int, int], ...]
    """(cut vertex, child): without the vertex, all below the child is a part of its own."""
    place: Ints
    """Of each vertex, when it was met."""
    below: Ints
    """Of each vertex, how many places are its own and those below it."""


def cuts_of(edges: Ints, vertices: int) -> Cuts:
    """Cut vertices and cut edges of an undirected graph without parallel edges.

    >>> kite = cuts_of(np.array([(0, 1), (1, 2), (2, 0), (2, 3)], np.int32), 4)
    >>> kite.vertices, kite.edges, kite.hanging
    (((2, 3, 1),), ((2, 3),), ((2, 3),))
    """
    first, neighbour, _ = adjacency(edges, vertices)
    search = _Search(first.tolist(), neighbour.tolist())
    for root in range(vertices):
        if search.found[root] < 0:
            search.from_root(root)
    cut = search.cut_vertices
    return Cuts(
        vertices=tuple(cut.values()),
        edges=tuple(search.cut_edges),
        hanging=tuple(pair for pair in search.hanging if pair[0] in cut),
        place=np.array(search.found, np.int32),
        below=np.array(search.below, np.int32),
    )


def parts_of(edges: Ints, vertices: int) -> Ints:
    """The number of the part that each vertex is in.

    >>> parts_of(np.array([(0, 2)], np.int32), 3).tolist()
    [0, 1, 0]
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    a, b = edges.T
    grid = csr_array((np.ones(len(a)), (a, b)), shape=(vertices, vertices))
    return np.asarray(connected_components(grid, directed=False)[1], np.int32)


class _Search:
    """One depth-first search: `found` is when a vertex was met, `low` the earliest it can reach."""

    def __init__(self, first: Sequence[int], neighbour: Sequence[int]) -> None:
        self.first, self.neighbour = first, neighbour
        many = len(first) - 1
        self.found, self.low, self.above = [-1] * many, [0] * many, [-1] * many
        self.below = [1] * many
        self.clock = 0
        self.cut_vertices: dict[int, tuple[int, int, int]] = {}
        self.cut_edges: list[tuple[int, int]] = []
        self.hanging: list[tuple[int, int]] = []

    def from_root(self, root: int) -> None:
        """Search one part of the graph."""
        self._meet(root)
        stack, at, children = [root], {root: self.first[root]}, 0
        while stack:
            u = stack[-1]
            if at[u] == self.first[u + 1]:
                stack.pop()
                if stack:
                    children += stack[-1] == root
                    self._leave(u, stack[-1], is_root=stack[-1] == root, children=children)
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

    def _meet(self, u: int) -> None:
        self.found[u] = self.low[u] = self.clock
        self.clock += 1

    def _leave(self, u: int, above: int, *, is_root: bool, children: int) -> None:
        self.low[above] = min(self.low[above], self.low[u])
        self.below[above] += self.below[u]
        if self.low[u] > self.found[above]:
            self.cut_edges.append((above, u))
        if self.low[u] < self.found[above]:
            return
        self.hanging.append((above, u))
        if above in self.cut_vertices:
            return
        if not is_root:
            self.cut_vertices[above] = (above, u, self.above[above])
        elif children > 1:  # a root with one child holds nothing together
            self.cut_vertices[above] = (above, u, self._first_child(above))

    def _first_child(self, root: int) -> int:
        found = self.neighbour[self.first[root] : self.first[root + 1]]
        return next(v for v in found if self.above[v] == root)
