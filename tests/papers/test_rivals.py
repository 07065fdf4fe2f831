"""Jia 2014, 6.3: figure 6-10, the comparison with OSPF, and what its text leaves out."""

from functools import cache
from statistics import mean

import networkx as nx
import numpy as np
import pytest

from ropewalk.federation.facts import Federation
from ropewalk.federation.generators import generate
from ropewalk.federation.generators.build import numbered
from ropewalk.routing.mixed import mixed
from ropewalk.routing.rivals import Row, compare
from ropewalk.routing.rivals.lengths import Lengths, path_lengths
from ropewalk.routing.rivals.outage import Method
from ropewalk.routing.rivals.timeline import FAST, SIX_NODES, Told, timeline

SEEDS, LAYERS = range(4), (2, 3, 4, 8)


@cache
def bridgeless(seed: int, brokers: int = 32, links: int = 64) -> Federation:
    """A random graph of so many links, the first of the seed that no link's loss cuts."""
    rng = np.random.default_rng(seed)
    pairs = [(a, b) for a in range(brokers) for b in range(a + 1, brokers)]
    while True:
        chosen = [pairs[i] for i in sorted(rng.choice(len(pairs), links, replace=False))]
        graph: nx.Graph[int] = nx.Graph(chosen)
        if len(graph) == brokers and nx.is_connected(graph) and not nx.has_bridges(graph):
            return numbered(f"random-{seed}", [(0.0, 0.0)] * brokers, chosen)


@cache
def lengths() -> list[Lengths]:
    return [path_lengths(bridgeless(seed).graph, layers=LAYERS) for seed in SEEDS]


@cache
def rows(scheme: str) -> list[Row]:
    return [found.row(scheme) for found in comparisons()]


@cache
def comparisons() -> list:  # type: ignore[type-arg]
    return [compare(bridgeless(seed), layers=LAYERS, failures="links") for seed in SEEDS]


def test_figure_6_10_pcrt_is_nearest_to_the_failure_free_lengths_then_more_layers() -> None:
    """The shape: failure-free < PCRT < RRL with eight layers < ... < with two."""
    order = ["failure-free", "PCRT", "RRL-8", "RRL-4", "RRL-3"]
    for found in lengths():
        means = [found.mean(name) for name in order]
        assert means == sorted(means)
        frame = found.frame()
        assert np.allclose(frame.sum(), 1)
        # The longer the path, the more RRL has of it.
        assert frame["RRL-3"].iloc[-1] >= frame["PCRT"].iloc[-1]


@pytest.mark.parametrize(
    ("scheme", "every", "affected"),
    [
        ("failure-free", 2.518, 2.83),
        ("PCRT", 2.545, 3.51),
        ("RRL-8", 2.552, 3.70),
        ("RRL-4", 2.565, 4.04),
        ("RRL-3", 2.579, 4.37),
    ],
)
def test_mean_lengths_are_those_of_an_independent_prototype(
    scheme: str, every: float, affected: float
) -> None:
    """Other random graphs of the same size: means over graphs differ by the spread of the seeds."""
    assert mean(one.mean(scheme) for one in lengths()) == pytest.approx(every, abs=0.06)
    ours = mean(one.mean(scheme, affected=True) for one in lengths())
    assert ours == pytest.approx(affected, abs=0.25)


def test_the_plot_hides_the_difference_because_few_pairs_are_affected() -> None:
    for one in lengths():
        affected = len(one.affected["PCRT"])
        assert affected / (affected + len(one.other)) == pytest.approx(0.04, abs=0.005)


@pytest.mark.parametrize(
    ("scheme", "coverage", "stretch"),
    [
        ("PCRT", 1.0, 1.00),
        ("LFA", 0.593, 1.06),
        ("remote LFA", 1.0, 1.20),
        ("TI-LFA", 1.0, 1.20),
        ("not-via", 1.0, 1.41),
        ("RRL-2", 0.968, 1.91),
        ("RRL-3", 1.0, 1.45),
        ("RRL-4", 1.0, 1.36),
        ("RRL-8", 1.0, 1.25),
    ],
)
def test_coverage_and_stretch_are_those_of_an_independent_prototype(
    scheme: str, coverage: float, stretch: float
) -> None:
    tolerance = 0.2 if scheme == "RRL-2" else 0.08
    ours = [(row.coverage or 0.0, row.stretch_mean or 0.0) for row in rows(scheme)]
    assert mean(one for one, _ in ours) == pytest.approx(coverage, abs=0.05)
    assert mean(one for _, one in ours) == pytest.approx(stretch, abs=tolerance)


def test_node_layers_with_the_last_hop_done_right_cover_all_and_redundant_trees_do() -> None:
    """The prototype left 2 to 3 % of last hops uncovered, and its red and blue went 1.74 round."""
    assert {row.coverage for row in rows("MRC-8")} == {1.0}
    assert {row.coverage for row in rows("MRT")} == {1.0}
    assert mean(row.stretch_mean or 0 for row in rows("MRT")) < 1.74


def test_the_only_scheme_that_guarantees_shortest_paths_is_not_the_only_one() -> None:
    """6.3.1 claims it of PCRT; TI-LFA's repair is the shortest way from where it starts."""
    for row in rows("TI-LFA"):
        assert row.coverage == 1
        assert row.labels <= 2


def test_plain_pcrt_loops_while_only_the_ends_know_and_carrying_does_not() -> None:
    """6.4 calls it "temporary inconsistencies"; the prototype counted 28.5 % of affected cases."""
    shares = [mixed(bridgeless(seed)).looping for seed in SEEDS]
    assert mean(shares) == pytest.approx(0.285, abs=0.05)
    for seed in SEEDS:
        assert mixed(bridgeless(seed), carrying=True).counts["loops"] == 0


@cache
def six_nodes(method: Method) -> list[Told]:
    return timeline(generate("six-node"), SIX_NODES, FAST, method)


def phases(method: Method) -> list[tuple[tuple[str, ...] | None, float]]:
    """Paths one after the other, None while messages are lost, and when each began."""
    found: list[tuple[tuple[str, ...] | None, float]] = []
    for one in six_nodes(method):
        path = one.path if one.latency_ms is not None else None
        if not found or found[-1][0] != path:
            found.append((path, one.sent_ms))
    return found


@pytest.mark.parametrize("method", ["OSPF", "PCRT", "PCRT carrying"])
def test_figures_6_15_and_6_16_have_the_papers_paths_and_four_phases(method: Method) -> None:
    short, round_ = ("b1", "b2", "b3"), ("b1", "b2", "b6", "b5", "b3")
    assert [path for path, _ in phases(method)] == [short, None, round_, short]
    assert phases(method)[1][1] == SIX_NODES.fail_ms
    latency = {one.path: one.latency_ms for one in six_nodes(method) if one.latency_ms is not None}
    assert latency == {short: 200, round_: 400}


def test_pcrt_reconverges_sooner_in_both_directions_and_loses_less() -> None:
    """Figures 6-15 to 6-17: the same detection, and no wait for a calculation."""
    (_, _, (_, ospf_again), (_, ospf_back)) = phases("OSPF")
    (_, _, (_, pcrt_again), (_, pcrt_back)) = phases("PCRT")
    assert SIX_NODES.fail_ms < pcrt_again < ospf_again
    assert SIX_NODES.recover_ms < pcrt_back < ospf_back
    lost = [sum(one.latency_ms is None for one in six_nodes(m)) for m in ("OSPF", "PCRT")]
    assert lost[1] < lost[0]
