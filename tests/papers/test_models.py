"""The papers' own topologies: every fact that their texts give holds in our models."""

import math
from itertools import combinations

import networkx as nx
import numpy as np
import pytest

from ropewalk.federation.facts import Performance
from ropewalk.federation.generators import generate
from ropewalk.federation.generators.papers import (
    GAP_LINKS,
    GAP_NODES,
    SIX_BROKER_ADDRESSES,
    TABLE_5_1,
)
from ropewalk.federation.names import matching
from ropewalk.federation.places import distance_km, node_positions
from tests.laws.test_generator_laws import as_networkx


def numbers(text: str) -> list[int]:
    """`3,7,19-22` as numbers."""
    ranges = [part.partition("-") for part in text.split(",")]
    return [n for low, _, high in ranges for n in range(int(low), int(high or low) + 1)]


# Jia 2014, table 5-7: (broker, next hop): destinations. 42 is printed twice, 43 never.
VIA_11 = "3,7,11,19-30,32-44"
VIA_16 = "2,4,5,6,8,9,10,12-18,20,31,45-50"
TABLE_5_7 = {
    (1, 11): VIA_11,
    (1, 16): VIA_16,
    (2, 11): "7,8,9,11,12,19,21-30,32-50",
    (2, 16): "1,3,10,14,16,31",
    (2, 18): "4,5,6,13,15,17,18,20",
    (3, 11): VIA_11,
    (3, 16): VIA_16,
}


@pytest.fixture(scope="module")
def fifty() -> "nx.Graph[int]":
    names = as_networkx(generate("fifty-broker"))
    return nx.relabel_nodes(names, {name: int(name[1:]) for name in names})


@pytest.mark.parametrize(
    ("broker", "neighbours"),
    [
        (1, {11, 16}),  # table 5-6 and 5.3.3
        (2, {11, 16, 18}),  # table 5-6 without 16, table 5-7 and 5.3.3 with it
        (3, {11, 16}),  # table 5-6
        (11, {19, 26, 1, 2, 3}),  # 5.3.3
        (16, {31, 17, 1, 2, 3}),  # 5.3.3
        (17, {13, 16, 18}),  # 5.2.7, figure 5-10
    ],
)
def test_fifty_brokers_have_the_neighbours_of_the_text(
    fifty: "nx.Graph[int]", broker: int, neighbours: set[int]
) -> None:
    assert set(fifty[broker]) == neighbours


def test_fifty_brokers_have_the_paths_of_the_text(fifty: "nx.Graph[int]") -> None:
    assert list(nx.all_shortest_paths(fifty, 1, 13)) == [[1, 16, 17, 13]]  # figure 5-8, 5.4.1
    assert list(nx.all_shortest_paths(fifty, 12, 18)) == [[12, 14, 13, 17, 18]]  # 5.2.7


def test_every_next_hop_of_table_5_7_lies_on_a_shortest_path(fifty: "nx.Graph[int]") -> None:
    hops = dict(nx.all_pairs_shortest_path_length(fifty))
    wrong = [
        (at, via, to)
        for (at, via), destinations in TABLE_5_7.items()
        for to in numbers(destinations)
        if hops[via][to] + 1 != hops[at][to]
    ]
    # The row of broker 3 is printed as a copy of broker 1's, so it leads from 3 to 3.
    assert wrong == [(3, 11, 3)]
    # Broker 31 is printed under next hop 11 as well, but it is a neighbour of 16 and 11 is not.
    assert hops[11][31] > hops[16][31]


def test_no_single_failure_cuts_the_fifty_brokers(fifty: "nx.Graph[int]") -> None:
    assert nx.is_biconnected(fifty)


def test_fifty_brokers_have_the_topics_of_table_5_6() -> None:
    topics = generate("fifty-broker").topics
    published = {name: topic.publishers[0] for name, topic in topics.items()}
    assert (
        published.items() >= {"weather": "b1", "films": "b1", "sports": "b2", "music": "b3"}.items()
    )
    assert "b13" in topics["weather"].subscribers  # 5.2.6
    assert {name for name, topic in topics.items() if "b2" in topic.subscribers} == {
        "weather",
        "stock",
    }


def test_three_brokers_take_each_other_over_in_a_ring() -> None:
    brokers = generate("three-broker").brokers
    assert {name: one.takeover.publishers for name, one in brokers.items()} == {
        "b1": ("b2",),
        "b2": ("b3",),
        "b3": ("b1",),
    }


def test_table_5_1_is_the_shortest_path_table_of_the_six_brokers() -> None:
    """But for messages from broker 4 itself to 5 and 6: its last row says 1.0.0.*, not 1.0.*.*."""
    federation = generate("six-broker")
    graph = as_networkx(federation)
    address = dict(zip(federation.brokers, SIX_BROKER_ADDRESSES, strict=True))
    name = {a: b for b, a in address.items()}
    gaps = set()
    for source in address:
        for to in address:
            for at in nx.shortest_path(graph, source, to)[:-1]:
                rows = [
                    hop
                    for loc, src, dest, hop in TABLE_5_1
                    if all(
                        matching(pattern, [address[broker]])
                        for pattern, broker in ((loc, at), (src, source), (dest, to))
                    )
                ]
                if not rows:
                    gaps.add((source, to))
                    continue
                assert len(rows) == 1, (source, to, at)
                hop = to if rows[0] == "*" else name[rows[0]]
                assert hop == nx.shortest_path(graph, at, to)[1]
    assert gaps == {("b4", "b5"), ("b4", "b6")}


def test_six_nodes_have_the_two_paths_of_the_text() -> None:
    graph = as_networkx(generate("six-node"))
    assert nx.shortest_path(graph, "b1", "b3") == ["b1", "b2", "b3"]
    graph.remove_edge("b2", "b3")
    assert list(nx.all_shortest_paths(graph, "b1", "b3")) == [["b1", "b2", "b6", "b5", "b3"]]
    # The source's queue has number 29: queues in and out per direction of every link, then it.
    assert 2 * 2 * len(generate("six-node").links) + 1 == 29


def test_the_gap_graph_has_the_weight_and_the_paths_of_the_text() -> None:
    federation = generate("gap-validation")
    names = list(federation.underlay.nodes)
    at = node_positions(federation)
    graph: nx.Graph[str] = nx.Graph()
    for a, b in (link.between for link in federation.underlay.links):
        km = distance_km(at[names.index(a)], at[names.index(b)], globe=False)
        graph.add_edge(a, b, weight=float(km))
    assert graph.size(weight="weight") == pytest.approx(66.083829, abs=1e-6)
    assert nx.shortest_path(graph, "s", "t", weight="weight") == ["s", "n1", "t"]
    assert nx.path_weight(graph, ["s", "n5", "t"], "weight") == 16
    assert nx.path_weight(graph, ["s", "n2", "t"], "weight") < 15  # the delay limit of 5.4.2
    # Table 5-1: which paths survive a region (only nodes fail, ends count).
    paths = (["s", "n1", "t"], ["s", "n2", "t"], ["s", "n5", "t"])
    for centre, radius, alive in (
        ((5, 5), 5, [0, 0, 1]),
        ((3, 3), 5, [0, 0, 0]),
        ((6, 2), 4, [0, 1, 0]),
    ):
        outside = {name for name in names if math.dist(at[names.index(name)], centre) > radius}
        assert [int(set(path) <= outside) for path in paths] == alive


def test_only_one_set_of_links_gives_the_gap_graph_its_weight() -> None:
    at = {name: np.array(xy) for name, xy in GAP_NODES.items()}
    known = {
        frozenset(pair.split("-")) for pair in ("s-n1", "n1-t", "s-n2", "n2-t", "s-n5", "n5-t")
    }
    others = [pair for pair in map(frozenset, combinations(at, 2)) if pair not in known]

    def weight(pair: frozenset[str]) -> float:
        a, b = pair
        return math.dist(at[a], at[b])

    sums = np.zeros(1)
    for pair in others:  # every set of further links, as the bits of its place in the array
        sums = np.concatenate((sums, sums + weight(pair)))
    missing = 66.083829 - sum(map(weight, known))
    (only,) = np.flatnonzero(np.abs(sums - missing) < 2e-6)
    chosen = {pair for bit, pair in enumerate(others) if only >> bit & 1}
    assert chosen | known == {frozenset(pair.split("-")) for pair in GAP_LINKS.split()}


def test_performance_reproduces_the_thesis() -> None:
    # Wang 2015, table 4-5 and the figures below it: r = 10, n = 3 give 4688 messages a second.
    activemq = Performance(receive_us=48.81, filter_us=0.162, send_us=16.4)
    assert int(activemq.capacity_msgs_s(filters=3, replication=10)) == 4688
    assert Performance(receive_us=0, filter_us=0, send_us=0).capacity_msgs_s(
        filters=1, replication=1
    ) == float("inf")
