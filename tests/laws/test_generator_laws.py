from typing import Any

import networkx as nx
from hypothesis import given, settings
from hypothesis import strategies as st

from ropewalk.federation import Federation, loads
from ropewalk.federation.dump import dump
from ropewalk.federation.generators import GENERATORS, generate

sizes = st.integers(6, 30)
OPTIONS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "ring": st.fixed_dictionaries({"brokers": st.integers(3, 30)}),
    "grid": st.fixed_dictionaries({"rows": st.integers(1, 6), "columns": st.integers(2, 6)}),
    "tree": st.fixed_dictionaries({"depth": st.integers(1, 4), "fanout": st.integers(1, 3)}),
    "mesh": st.fixed_dictionaries({"brokers": st.integers(2, 10)}),
    "waxman": st.fixed_dictionaries(
        {
            "brokers": sizes,
            "m": st.integers(1, 5),
            "growth_type": st.sampled_from(["incremental", "all"]),
            "node_placement": st.sampled_from(["random", "heavy-tailed"]),
        }
    ),
    "barabasi-albert": st.fixed_dictionaries({"brokers": sizes, "m": st.integers(1, 5)}),
    "topohub": st.sampled_from(["sndlib/germany50", "topozoo/Abilene", "gabriel/25/0"]).map(
        lambda name: {"map": name}
    ),
}
calls = st.sampled_from(sorted(GENERATORS)).flatmap(
    lambda name: st.tuples(
        st.just(name), OPTIONS.get(name, st.just({})), st.integers(0, 99), st.integers(0, 5)
    )
)


def as_networkx(federation: Federation) -> "nx.Graph[str]":
    graph: nx.Graph[str] = nx.Graph()
    graph.add_nodes_from(federation.brokers)
    graph.add_edges_from(link.between for link in federation.links)
    return graph


@given(calls)
@settings(max_examples=150)
def test_every_generated_federation_loads_and_is_connected(
    call: tuple[str, dict[str, Any], int, int],
) -> None:
    name, options, seed, topics = call
    federation = generate(name, seed=seed, topics=topics, **options)
    assert loads(dump(federation)) == federation
    assert federation == generate(name, seed=seed, topics=topics, **options)
    if name != "gap-validation":  # its overlay is a single link on purpose
        assert nx.is_connected(as_networkx(federation))


@given(calls)
@settings(max_examples=50)
def test_the_graph_has_the_neighbours_that_networkx_has(
    call: tuple[str, dict[str, Any], int, int],
) -> None:
    name, options, seed, _ = call
    federation = generate(name, seed=seed, **options)
    graph, oracle = federation.graph, as_networkx(federation)
    for i, broker in enumerate(graph.names):
        near = [graph.names[n] for n in graph.neighbours(i)]
        assert set(near) == set(oracle[broker])
        assert list(graph.neighbours(i)) == sorted(graph.neighbours(i))
        for arc in range(graph.first[i], graph.first[i + 1]):
            assert {i, graph.neighbour[arc]} == set(graph.ends[graph.link[arc]])
