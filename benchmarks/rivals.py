"""Rivals of pre-calculated tables: figure 6-10, coverage, stretch, speed, mixed colours."""

import sys
from collections import Counter
from itertools import combinations
from statistics import mean
from time import perf_counter
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from _measure import cpu_seconds, interleaved, report
from ropewalk.federation.arrays import Graph
from ropewalk.federation.facts import Federation
from ropewalk.federation.generators import generate
from ropewalk.federation.generators.build import numbered
from ropewalk.federation.generators.maps import map_names, topohub_map
from ropewalk.routing.ground import connected_parts
from ropewalk.routing.mixed import flights, mixed
from ropewalk.routing.rivals import compare
from ropewalk.routing.rivals.lengths import path_lengths
from ropewalk.routing.rivals.outage import Timers, outages
from ropewalk.routing.rivals.timeline import FAST, SIX_NODES, timeline

GRAPHS, LAYERS = 6, (2, 3, 4, 6, 8)
ROPEWALK = Timers(hello_ms=20, dead_ms=200, flood_ms=1, spf_delay_ms=50, spf_hold_ms=200)
"""The heartbeat that the agents use, and an OSPF that is tuned to be as fast."""


def bridgeless(seed: int, brokers: int = 32, links: int = 64) -> Federation:
    """A random graph of so many links, the first of the seed that no link's loss cuts."""
    rng = np.random.default_rng(seed)
    pairs = list(combinations(range(brokers), 2))
    while True:
        chosen = [pairs[i] for i in sorted(rng.choice(len(pairs), links, replace=False))]
        made = numbered(f"random-{seed}", [(0.0, 0.0)] * brokers, chosen)
        if joined(made.graph) and all(joined(made.graph, without=e) for e in range(links)):
            return made


def joined(graph: Graph, without: int = -1) -> bool:
    return not connected_parts(graph, np.arange(graph.links) != without).any()


def rounded(figures: dict[str, Any]) -> dict[str, Any]:
    return {k: round(v, 3) if isinstance(v, float) else v for k, v in figures.items()}


def figure_6_10(graphs: list[Federation]) -> dict[str, Any]:
    found = [path_lengths(one.graph, layers=LAYERS) for one in graphs]
    return {
        name: {
            "all_pairs": round(mean(one.mean(name) for one in found), 3),
            "affected": round(mean(one.mean(name, affected=True) for one in found), 3),
            "shares_of_lengths": found[0].frame()[name].round(4).to_dict(),
        }
        for name in found[0].affected
    }


def schemes(graphs: list[Federation]) -> list[dict[str, Any]]:
    """Means over the graphs, and the least and greatest mean stretch."""
    found = [compare(one, layers=LAYERS) for one in graphs]
    rows = []
    for one in found[0].rows:
        same = [each.row(one.scheme, one.failures) for each in found]
        stretches = [row.stretch_mean or 1.0 for row in same]
        rows.append(
            rounded(
                {
                    "scheme": one.scheme,
                    "failures": one.failures,
                    "coverage": mean(row.coverage or 0.0 for row in same),
                    "stretch_mean": mean(stretches),
                    "stretch_spread": [round(min(stretches), 3), round(max(stretches), 3)],
                    "stretch_p95": mean(row.stretch_p95 or 1.0 for row in same),
                    "stretch_max": max(row.stretch_max or 1.0 for row in same),
                    "entries": mean(row.entries for row in same),
                    "tables": one.tables,
                    "labels": max(row.labels for row in same),
                }
            )
        )
    return rows


def loops(graphs: list[Federation]) -> dict[str, Any]:
    """Shares of affected cases that loop while the two ends alone know."""
    plain = [mixed(one).looping for one in graphs]
    carrying = [mixed(one, carrying=True).counts["loops"] for one in graphs]
    return {
        "looping": [round(one, 4) for one in plain],
        "mean": round(mean(plain), 4),
        "loops_carrying": sum(carrying),
    }


def every_graph(brokers: int) -> dict[str, Any]:
    """Every connected graph, every set of brokers that has both ends, every pair and link."""
    pairs = list(combinations(range(brokers), 2))
    total: Counter[str] = Counter()
    for bits in range(1 << len(pairs)):
        chosen = [pair for i, pair in enumerate(pairs) if bits >> i & 1]
        if len(chosen) < brokers - 1:
            continue
        graph = numbered("every", [(0.0, 0.0)] * brokers, chosen).graph
        if not joined(graph):
            continue
        total["graphs"] += 1
        for change in ("failure", "recovery"):
            for carrying in (False, True):
                found = mixed(graph, knowing="with ends", change=change, carrying=carrying)
                name = f"{change}_{'carrying' if carrying else 'plain'}"
                total[f"{name}_cases"] += found.counts["cases"]
                total[f"{name}_loops"] += found.counts["loops"]
    return {"brokers": brokers, **total}


def in_flight(count: int = 500) -> list[dict[str, Any]]:
    rows = []
    fifty = generate("fifty-broker")
    for schedule in ("random", "adversarial"):
        for join in (True, False):
            found = list(
                flights(
                    fifty,
                    count=count,
                    seed=1,
                    changes=3,
                    flood_chance=0.05,
                    schedule=schedule,
                    join=join,
                )
            )
            fates = Counter(one.fate for one in found)
            longest = max(one.hops for one in found)
            row: dict[str, Any] = {"schedule": schedule, "join": join, "most_hops": longest}
            rows.append(row | fates)
    return rows


def six_nodes() -> list[dict[str, Any]]:
    """Figures 6-15 to 6-17: when messages get through again, by the new path and the old one."""
    rows = []
    for method in ("OSPF", "PCRT", "PCRT carrying"):
        told = timeline(generate("six-node"), SIX_NODES, FAST, method)
        through = [one for one in told if one.latency_ms is not None]
        again = next(one for one in through if one.sent_ms >= SIX_NODES.fail_ms)
        back = next(
            one
            for one in through
            if one.sent_ms >= SIX_NODES.recover_ms and one.path == told[0].path
        )
        rows.append(
            {
                "method": method,
                "lost": len(told) - len(through),
                "again_s": again.sent_ms / 1000,
                "back_s": back.sent_ms / 1000,
                "latency_units": sorted({(one.latency_ms or 0) / 1000 for one in through}),
            }
        )
    return rows


def distances_by_scipy(graph: Graph) -> None:
    """Distances after every single link's failure, from scratch: what schemes are held to."""
    a, b = graph.ends.T
    for e in range(graph.links):
        up = np.arange(graph.links) != e
        grid = csr_array((np.ones(up.sum()), (a[up], b[up])), shape=(graph.brokers, graph.brokers))
        shortest_path(grid, directed=False, unweighted=True)


def speed(brokers: int) -> dict[str, Any]:
    federation = generate("waxman", brokers=brokers, m=2, seed=1)
    taken = interleaved(
        3,
        scipy_distances_alone=lambda: distances_by_scipy(federation.graph),
        all_schemes=lambda: compare(federation, failures="links"),
    )
    ratio = taken["scipy_distances_alone"] / taken["all_schemes"]
    return {"brokers": brokers, "cpu_s": taken, "scipy_alone_over_all_schemes": round(ratio, 1)}


def large(brokers: int) -> dict[str, Any]:
    federation = generate("waxman", brokers=brokers, m=2, seed=1)
    found = compare(federation)
    return {
        "brokers": brokers,
        "links": len(federation.links),
        "cases": found.row("PCRT").cases + found.row("PCRT", "brokers").cases,
        "cpu_s_all_schemes": round(cpu_seconds(lambda: compare(federation)), 2),
        "cpu_s_outages": round(cpu_seconds(lambda: outages(federation)), 2),
        "cpu_s_mixed": round(cpu_seconds(lambda: mixed(federation)), 2),
        "outages": [
            rounded({"method": r.method, "mean_ms": r.mean_ms, "p95_ms": r.p95_ms})
            for r in outages(federation, ROPEWALK).rows
        ],
        "rows": [
            rounded(
                {
                    "scheme": r.scheme,
                    "failures": r.failures,
                    "coverage": r.coverage,
                    "stretch_mean": r.stretch_mean,
                }
            )
            for r in found.rows
        ],
    }


def all_maps(most_brokers: int) -> dict[str, Any]:
    """Every connected map up to a size."""
    start, taken, left_out = perf_counter(), 0, Counter[str]()
    coverage: dict[str, list[float]] = {}
    stretch: dict[str, list[float]] = {}
    for name in map_names():
        federation = topohub_map(name)
        if federation.graph.brokers > most_brokers or not joined(federation.graph):
            left_out["too large" if joined(federation.graph) else "not connected"] += 1
            continue
        taken += 1
        print(f"  {name}", file=sys.stderr)
        for row in compare(federation).rows:
            if row.cases:
                key = f"{row.scheme}, {row.failures}"
                coverage.setdefault(key, []).append(row.coverage or 0.0)
                if row.stretch_mean is not None:
                    stretch.setdefault(key, []).append(row.stretch_mean)
    return {
        "maps": taken,
        "left_out": dict(left_out),
        "seconds": round(perf_counter() - start, 1),
        "schemes": {
            key: rounded(
                {
                    "maps": len(some),
                    "coverage_mean": mean(some),
                    "coverage_least": min(some),
                    "stretch_mean": mean(stretch[key]),
                    "stretch_worst": max(stretch[key]),
                }
            )
            for key, some in coverage.items()
        },
    }


def main() -> None:
    graphs = [bridgeless(seed) for seed in range(GRAPHS)]
    report(
        "rivals",
        figure_6_10=figure_6_10(graphs),
        schemes=schemes(graphs),
        mixed_ends_know=loops(graphs),
        mixed_every_graph=[every_graph(brokers) for brokers in (4, 5, 6)],
        flights=in_flight(),
        six_nodes=six_nodes(),
        speed=speed(300),
        large=large(1000),
        maps=all_maps(1200),
    )


if __name__ == "__main__":
    main()
