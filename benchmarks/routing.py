"""Tables ahead of failures: how long they take, how large they are, how fast they are read."""

from dataclasses import replace
from time import perf_counter, process_time
from typing import Any

import networkx as nx
import numpy as np
from numba import njit
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from _measure import cpu_seconds, interleaved, report
from ropewalk.federation.arrays import Graph
from ropewalk.federation.facts import Federation
from ropewalk.federation.generators import generate
from ropewalk.routing.ahead import Lookup, Tables, tables_of
from ropewalk.routing.ahead.broker_table import BrokerTable, lay, lift
from ropewalk.routing.ahead.colours import Things
from ropewalk.routing.ahead.views import condensed_entries
from ropewalk.routing.table import Rows, shortest_rows

SAMPLE = 40
"""Failures that the slow rivals are measured on; they are taken times all failures."""


def damaged(federation: Federation, tables: Tables, things: Things) -> Federation:
    """The federation without what is down; dead brokers stay, without links."""
    down = tables.colours.down(things)
    ends = federation.graph.ends
    kept = tuple(
        link
        for e, link in enumerate(federation.links)
        if e not in down.links and not set(ends[e].tolist()) & set(down.brokers)
    )
    return replace(federation, links=kept)


def recomputed(federation: Federation, tables: Tables, things: Things) -> Rows:
    return shortest_rows(damaged(federation, tables, things).graph)


def clone_of(graph: Graph, link: int) -> "nx.Graph[int]":
    """The graph without a link: what Jia's super broker makes of it for each failure."""
    clone: nx.Graph[int] = nx.Graph()
    clone.add_nodes_from(range(graph.brokers))
    clone.add_edges_from(np.delete(graph.ends, link, axis=0).tolist())
    return clone


def by_networkx(clone: "nx.Graph[int]", broker: int) -> dict[int, int]:
    """Canonical next hops to one broker in one failure, by Dijkstra."""
    before, _ = nx.dijkstra_predecessor_and_distance(clone, broker)
    return {u: min(ways) for u, ways in before.items() if ways}


def by_scipy(graph: Graph, link: int) -> Any:
    """All brokers' tables in one failure."""
    a, b = np.delete(graph.ends, link, axis=0).T
    grid = csr_array((np.ones(len(a)), (a, b)), shape=(graph.brokers, graph.brokers))
    return shortest_path(grid, directed=False, unweighted=True, return_predecessors=True)


def mismatches(federation: Federation, tables: Tables, sets: list[Things]) -> int:
    """Entries that differ from a full recomputation, over all pairs of brokers."""
    wrong = 0
    for things in sets:
        truth = recomputed(federation, tables, things)
        dead = [thing - tables.colours.links for thing in things if thing >= tables.colours.links]
        for one in tables.brokers:
            if one.at not in dead:
                row, expected = one.row(things), truth[:, one.at].copy()
                wrong += int(
                    (row != expected)[[to for to in range(len(row)) if to not in dead]].sum()
                )
    return wrong


def single(brokers: int, links: int) -> dict[str, Any]:
    federation = generate("chords", brokers=brokers, links=links)
    graph, rng = federation.graph, np.random.default_rng(1)
    failed = rng.integers(0, links, SAMPLE).tolist()
    tables, clones = tables_of(federation), {e: clone_of(graph, e) for e in failed}
    for e, clone in clones.items():
        told = {u: int(tables.brokers[u].row((e,))[e % brokers]) for u in range(brokers)}
        assert by_networkx(clone, e % brokers).items() <= told.items()
    taken = interleaved(
        3,
        ours=lambda: tables_of(federation),
        scipy_sample=lambda: [by_scipy(graph, e) for e in failed[:4]],
        networkx_sample=lambda: [by_networkx(one, e % brokers) for e, one in clones.items()],
        rebuilt_sample=lambda: [recomputed(federation, tables, (e,)) for e in failed],
    )
    wall = min(_wall(lambda: tables_of(federation)) for _ in range(3))
    failures = links + brokers
    networkx = taken["networkx_sample"] / len(clones) * failures * brokers
    scipy = taken["scipy_sample"] / 4 * failures
    rebuilt = taken["rebuilt_sample"] / SAMPLE * failures
    checked: list[Things] = [(int(one),) for one in rng.integers(0, failures, 40)]
    sizes = [one.nbytes() for one in tables.brokers]
    return {
        "brokers": brokers,
        "links": links,
        "failures": failures,
        "cpu_s": taken,
        "wall_s_best_of_3": round(wall, 3),
        "networkx_per_broker_and_failure_over_ours": round(networkx / taken["ours"]),
        "the_same_by_wall_clock": round(networkx / wall),
        "scipy_per_failure_over_ours": round(scipy / taken["ours"]),
        "rebuilt_by_our_own_kernel_over_ours": round(rebuilt / taken["ours"]),
        "mismatches": mismatches(federation, tables, checked),
        "entries_checked": len(checked) * brokers * (brokers - 1),
        "entries_per_broker": round(tables.entries() / brokers),
        "condensed_per_broker": round(np.mean([condensed_entries(b) for b in tables.brokers])),
        "bytes_per_broker_mean": round(np.mean(sizes)),
        "bytes_per_broker_max": max(sizes),
        "bytes_of_the_2d_array": brokers * (failures + 1),
    }


def _wall(call: Any) -> float:
    start = perf_counter()
    call()
    return perf_counter() - start


def double(brokers: int, links: int, lookups: int) -> dict[str, Any]:
    federation = generate("chords", brokers=brokers, links=links)
    start, cpu = perf_counter(), process_time()
    tables = tables_of(federation, "links=2")
    wall, cpu = perf_counter() - start, process_time() - cpu
    rng = np.random.default_rng(2)
    pairs = {tuple(sorted(rng.choice(links, 2, replace=False).tolist())) for _ in range(400)}
    each = lookups // len(pairs) + 1
    wrong = 0
    for pair in pairs:
        truth = recomputed(federation, tables, pair)
        at, to = rng.integers(0, brokers, (2, each))
        for broker in np.unique(at):
            row = tables.brokers[broker].row(pair)
            wrong += int((row[to[at == broker]] != truth[to[at == broker], broker]).sum())
    rebuilt = (
        cpu_seconds(lambda: [recomputed(federation, tables, p) for p in list(pairs)[:20]]) / 20
    )
    colours = links * (links - 1) // 2
    return {
        "brokers": brokers,
        "links": links,
        "pairs_of_links": colours,
        "wall_s": round(wall, 2),
        "cpu_s": round(cpu, 2),
        "rebuilt_by_our_own_kernel_over_ours": round(rebuilt * colours / cpu),
        "entries_of_pairs": sum(len(one.set_entry) for one in tables.brokers),
        "entries_if_dense": colours * brokers * (brokers - 1),
        "bytes_per_broker_mean": round(np.mean([one.nbytes() for one in tables.brokers])),
        "lookups_verified": each * len(pairs),
        "mismatches": wrong,
    }


@njit(cache=False)
def _read_row(row: Any, to: Any) -> int:
    total = 0
    for i in range(len(to)):
        total += row[to[i]]
    return total


@njit(cache=False)
def _read_array(array: Any, colour: Any, to: Any) -> int:
    total = 0
    for i in range(len(to)):
        total += array[colour[i], to[i]]
    return total


@njit(cache=False)
def _switch_all(
    row: Any, base: Any, entry: Any, first: Any, bits: int, hops: Any, colour: Any
) -> None:
    before = colour[0]
    for now in colour:
        lift(row, entry, first[before], first[before + 1], bits, base)
        lay(row, entry, first[now], first[now + 1], bits, hops)
        before = now


def reading(brokers: int, links: int) -> dict[str, Any]:
    """Nanoseconds of a lookup and of a change of colour; the thesis' array as the rival."""
    tables = tables_of(generate("chords", brokers=brokers, links=links))
    one: BrokerTable = tables.brokers[0]
    rng, times = np.random.default_rng(3), 5_000_000
    to = rng.integers(0, brokers, times).astype(np.int32)
    colour = rng.integers(0, one.things, times).astype(np.int32)
    array = np.array([one.row((t,)) for t in range(one.things)], np.int16)
    row, first = one.base_row.copy(), one.first.astype(np.int64)

    def switches() -> None:
        _switch_all(row, one.base_row, one.entry, first, one.bits, one.hops, colour)

    calls = {
        "sticky_row": lambda: _read_row(row, to),
        "array_one_colour": lambda: _read_array(array, np.zeros_like(colour), to),
        "array_any_colour": lambda: _read_array(array, colour, to),
        "switch": switches,
    }
    for call in calls.values():
        call()
    taken = interleaved(5, **calls)
    return {
        "brokers": brokers,
        "colours": one.things + 1,
        "ns": {name: round(seconds / times * 1e9, 2) for name, seconds in taken.items()},
        "entries_per_patch_mean": round(len(one.entry) / one.things, 2),
        "entries_per_patch_max": int(np.diff(first).max()),
    }


def from_python(brokers: int, links: int) -> dict[str, Any]:
    """What an agent in Python pays: a change of colour, and a row that no patch was made for."""
    tables = tables_of(generate("chords", brokers=brokers, links=links))
    now, rng, times = Lookup(tables.network, tables.brokers[0]), np.random.default_rng(4), 2000
    single = rng.integers(0, tables.colours.things, times).tolist()
    triples = [rng.choice(links, 3, replace=False).tolist() for _ in range(200)]
    now.switch(triples[0])
    taken = interleaved(
        3,
        switches=lambda: [now.switch((one,)) for one in single],
        on_demand=lambda: [Lookup(tables.network, tables.brokers[0]).switch(t) for t in triples],
    )
    return {
        "brokers": brokers,
        "switch_us": round(taken["switches"] / times * 1e6, 1),
        "row_on_demand_ms": round(taken["on_demand"] / len(triples) * 1e3, 2),
    }


def other_costs(brokers: int, links: int) -> dict[str, Any]:
    """The same graph with one link of another cost: the general kernel instead of the sweep."""
    same = generate("chords", brokers=brokers, links=links)
    other = replace(same, links=(replace(same.links[0], cost=2), *same.links[1:]))
    tables_of(other)
    taken = interleaved(3, equal=lambda: tables_of(same), other=lambda: tables_of(other))
    return {"brokers": brokers, "cpu_s": taken, "ratio": round(taken["other"] / taken["equal"], 2)}


if __name__ == "__main__":
    report(
        "routing",
        single=[single(50, 100), single(200, 400), single(1000, 2000)],
        double=[double(50, 100, 100_000), double(200, 400, 100_000), double(500, 1000, 1_000_000)],
        reading=[reading(200, 400), reading(1000, 2000)],
        from_python=from_python(1000, 2000),
        other_costs=other_costs(1000, 2000),
    )
