"""What hangs together: risk groups with links whose underlay path they cut; connected parts."""

from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from ropewalk.federation.arrays import Bools, Graph, Ints
from ropewalk.federation.facts import Federation
from ropewalk.federation.names import link_name
from ropewalk.federation.places import attached_nodes, distance_km, node_positions, on_globe


def connected_parts(graph: Graph, up: Bools | None = None) -> Ints:
    """The number of the part that each broker is in, by all links or by those that are up."""
    a, b = (graph.ends if up is None else graph.ends[up]).T
    from scipy.sparse import csr_array  # late: agents start without it
    from scipy.sparse.csgraph import connected_components

    grid = csr_array((np.ones(len(a)), (a, b)), shape=(graph.brokers, graph.brokers))
    return np.asarray(connected_components(grid, directed=False)[1])


def members_of_group(federation: Federation, group: str) -> tuple[set[int], set[int]]:
    """Links and brokers, by number, that are down when all of a risk group is."""
    links = {e for e, link in enumerate(federation.links) if group in link.risk_groups}
    brokers = {b for b, one in enumerate(federation.brokers.values()) if group in one.risk_groups}
    nodes = {n for n, one in federation.underlay.nodes.items() if group in one.risk_groups}
    ways = [one.between for one in federation.underlay.links if group in one.risk_groups]
    if nodes or ways:
        over = members_over(federation, nodes, ways)
        links, brokers = links | over[0], brokers | over[1]
    return links, brokers


def members_over(
    federation: Federation, nodes: set[str], ways: Iterable[tuple[str, str]]
) -> tuple[set[int], set[int]]:
    """Links and brokers, by number, that are down with these underlay nodes and links."""
    cut = {link_name(a, b) for a, b in ways}
    links = {
        e
        for e, path in enumerate(underlay_paths(federation))
        if nodes.intersection(path) or cut & {link_name(a, b) for a, b in pairwise(path)}
    }
    names = list(federation.underlay.nodes)
    attached = attached_nodes(federation).tolist()
    return links, {b for b, node in enumerate(attached) if node >= 0 and names[node] in nodes}


def underlay_paths(federation: Federation) -> list[tuple[str, ...]]:
    """The underlay nodes of every link: as written, else the shortest way; empty if unknown."""
    names = list(federation.underlay.nodes)
    attached = attached_nodes(federation)
    starts = sorted({int(attached[a]) for a, _ in federation.graph.ends} - {-1})
    before = dict(zip(starts, _predecessors(federation, starts), strict=True))
    paths = []
    for link, (a, b) in zip(federation.links, federation.graph.ends.tolist(), strict=True):
        start, end = int(attached[a]), int(attached[b])
        found = link.via or (_walk(before[start], start, end, names) if start in before else ())
        paths.append(found)
    return paths


def _predecessors(federation: Federation, sources: list[int]) -> np.ndarray:
    number = {name: i for i, name in enumerate(federation.underlay.nodes)}
    ends = [(number[a], number[b]) for a, b in (one.between for one in federation.underlay.links)]
    at, globe = node_positions(federation), on_globe(federation)
    km = [
        one.length_km
        if one.length_km is not None
        else float(np.nan_to_num(distance_km(at[a], at[b], globe=globe), nan=1.0))
        for one, (a, b) in zip(federation.underlay.links, ends, strict=True)
    ]
    if not sources or not ends:
        return np.full((len(sources), len(number)), -9999)
    a, b = np.array(ends).T
    lengths = np.maximum(km, 1e-9)  # a length of nothing would be read as no link
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    grid = csr_array((lengths, (a, b)), shape=(len(number), len(number)))
    _, before = dijkstra(grid, directed=False, indices=sources, return_predecessors=True)
    return np.asarray(before)


def _walk(before: np.ndarray, start: int, end: int, names: list[str]) -> tuple[str, ...]:
    path = [end]
    while path[-1] != start:
        step = int(before[path[-1]]) if path[-1] >= 0 else -1
        if step < 0:
            return ()
        path.append(step)
    return tuple(names[node] for node in reversed(path))
