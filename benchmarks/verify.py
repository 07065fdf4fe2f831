"""Verification: tables, checks, failures, models, edits, each against a named rival in this run."""

import resource
from collections.abc import Callable
from dataclasses import replace
from time import process_time
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from _measure import cpu_seconds, interleaved, report
from ropewalk.federation.arrays import Graph
from ropewalk.federation.facts import Federation, Route
from ropewalk.federation.generators import generate
from ropewalk.routing.scenarios import scenarios_of
from ropewalk.routing.table import Rows, shortest_rows
from ropewalk.verify import verify
from ropewalk.verify.judge import tally
from ropewalk.verify.smv import paths_model
from ropewalk.verify.subpaths import select

PAPER_MS = {6: 85, 12: 379, 24: 729, 48: 1069, 96: 9336, 192: 144605, 384: 2591069}
"""Jia 2014, table 5-8: milliseconds to generate the model (not to check it)."""


PAPER_PATHS = {10: 30, 50: 120, 100: 200, 500: 468, 1000: 550, 5000: 570, 10000: 588}
"""Jia 2014, table 5-5: paths tested with its sub-path detection, of five per topic."""


def federation_of(brokers: int, **options: Any) -> Federation:
    """A random connected graph of average degree 4."""
    return generate("waxman", brokers=brokers, m=2, seed=1, **options)


def scipy_tables(graph: Graph) -> None:
    a, b = graph.ends.T
    grid = csr_array((np.ones(len(a)), (a, b)), shape=(graph.brokers, graph.brokers))
    shortest_path(grid, directed=False, unweighted=True, return_predecessors=True)


def by_doubling(rows: Rows) -> int:
    """Delivered pairs by pointer doubling in numpy, as a prototype did it."""
    delivered = 0
    for to in range(len(rows)):
        at = rows[to].astype(np.int32)
        while True:
            further = np.where(at >= 0, at[at], at)
            if (further == at).all():
                break
            at = further
        delivered += int((at == to).sum()) - 1
    return delivered


def one_pass(rows: Rows) -> object:
    """Every byte of a table, read once."""
    return np.bitwise_xor.reduce(rows.view(np.int64), axis=None)


def tables_and_check(brokers: int) -> dict[str, Any]:
    graph = federation_of(brokers).graph
    rows = shortest_rows(graph, threads=1)
    tally(rows, graph.transit, threads=1)
    taken = interleaved(
        3,
        table_scipy=lambda: scipy_tables(graph),
        table=lambda: shortest_rows(graph, threads=1),
        check_doubling=lambda: by_doubling(rows),
        check=lambda: tally(rows, graph.transit, threads=1),
        hundred_passes_over_the_table=lambda: [one_pass(rows) for _ in range(100)],
    )
    pairs, passes = brokers * (brokers - 1), taken["hundred_passes_over_the_table"]
    return {
        "brokers": brokers,
        "cpu_s": taken,
        "table_scipy_over_ours": round(taken["table_scipy"] / taken["table"], 1),
        "check_doubling_over_ours": round(taken["check_doubling"] / taken["check"], 1),
        "pairs_per_s": round(pairs / taken["check"]),
        "check_over_one_pass": round(100 * taken["check"] / passes, 1),
    }


def from_scratch(federation: Federation) -> int:
    """Tables and check of every single-link scenario, each built anew."""
    links, delivered = federation.links, 0
    for e in range(len(links)):
        graph = replace(federation, links=links[:e] + links[e + 1 :]).graph
        delivered += int(tally(shortest_rows(graph, threads=1), graph.transit, threads=1)[0])
    return delivered


def single_links(brokers: int) -> dict[str, Any]:
    federation = federation_of(brokers)
    result = verify(federation, failures=["links=1"], pairs="all")
    assert int(result.fates[1:, 0].sum()) == from_scratch(federation)
    taken = interleaved(
        3,
        rebuilt_from_scratch=lambda: from_scratch(federation),
        ours=lambda: verify(federation, failures=["links=1"], pairs="all"),
    )
    return {
        "brokers": brokers,
        "scenarios": len(result.check.scenarios),
        "cpu_s": taken,
        "scratch_over_ours": round(taken["rebuilt_from_scratch"] / taken["ours"], 1),
    }


def models() -> list[dict[str, Any]]:
    """Model generation and check at the sizes of table 5-8."""
    rows = []
    for brokers, paper_ms in PAPER_MS.items():
        federation = federation_of(brokers, topics=brokers, subscribers=min(5, brokers))
        start = process_time()
        result = verify(federation, failures=[], pairs="topics")
        checked = process_time()
        lines = paths_model(result.check).count("\n")
        done = process_time()
        rows.append(
            {
                "brokers": brokers,
                "check_ms": round(1000 * (checked - start), 1),
                "model_ms": round(1000 * (done - checked), 1),
                "model_lines": lines,
                "paper_model_ms": paper_ms,
            }
        )
    return rows


def sub_paths() -> list[dict[str, Any]]:
    """Paths to be tested, with and without sub-path detection, at the sizes of table 5-5."""
    rows = []
    for topics, paper in PAPER_PATHS.items():
        federation = generate("fifty-broker", topics=topics, subscribers=5)
        result = verify(federation, failures=[])
        rows.append(
            {
                "topics": topics,
                "paths": result.summary["paths_total"],
                "tested": result.summary["paths_tested"],
                "tested_by_the_papers_rule": len(select(result.check, rule="paper").tested),
                "paper_tested": paper,
            }
        )
    return rows


def double_links() -> dict[str, Any]:
    federation = federation_of(50, topics=10_000, subscribers=5)
    scenarios = len(scenarios_of(federation, ["links=2"]))
    seconds = cpu_seconds(lambda: verify(federation, failures=["links=2"]))
    return {"pairs": 50_000, "scenarios": scenarios, "cpu_s": round(seconds, 3)}


def an_edit(brokers: int, edits: int = 20) -> dict[str, Any]:
    """One hand-made entry changed: looking again only where it matters, or at everything."""
    federation = federation_of(brokers)
    a, b = federation.links[7].between
    changed = [
        replace(federation, routes=(Route(at=a, to=f"b{i + 30}", next=b),)) for i in range(edits)
    ]
    result = verify(federation, failures=[], pairs="all")
    for one in changed[:2]:
        assert (result.after(one).fates == verify(one, failures=[], pairs="all").fates).all()

    def all_of(look: Callable[[Federation], object]) -> Callable[[], object]:
        return lambda: [look(one) for one in changed]

    taken = interleaved(
        3,
        full=all_of(lambda one: verify(one, failures=[], pairs="all")),
        after_the_edit=all_of(result.after),
    )
    return {
        "brokers": brokers,
        "edits": edits,
        "cpu_s": taken,
        "full_over_edit": round(taken["full"] / taken["after_the_edit"], 1),
    }


def large(brokers: int) -> dict[str, Any]:
    federation = federation_of(brokers, topics=2 * brokers, subscribers=5)
    seconds = cpu_seconds(lambda: verify(federation, failures=["links=1"]))
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "brokers": brokers,
        "scenarios": len(federation.links) + 1,
        "pairs": 10 * brokers,
        "cpu_s": round(seconds, 1),
        "peak_mb": round(peak_mb),
    }


def main() -> None:
    small = verify(federation_of(12), failures=["any=1"])
    paths_model(small.check)  # kernels are compiled, or loaded
    report(
        "verify",
        tables=tables_and_check(5000),
        single_links=single_links(384),
        table_5_5=sub_paths(),
        table_5_8=models(),
        double_links=double_links(),
        edit=an_edit(1000),
        large=large(10_000),
    )


if __name__ == "__main__":
    main()
