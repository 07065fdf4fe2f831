from collections import Counter
from statistics import mean
from typing import Any

import networkx as nx
import pytest

from ropewalk.errors import UsageError
from ropewalk.federation.generators import generate
from ropewalk.federation.generators.maps import map_names
from ropewalk.federation.places import broker_positions, distance_km
from tests.laws.test_generator_laws import as_networkx


@pytest.mark.parametrize(
    ("name", "options", "brokers", "links"),
    [
        ("ring", {"brokers": 7}, 7, 7),
        ("grid", {"rows": 3, "columns": 5}, 15, 22),
        ("tree", {"depth": 3, "fanout": 3}, 40, 39),
        ("mesh", {"brokers": 9}, 9, 36),
        ("waxman", {"brokers": 200, "m": 4}, 200, 1 + 2 + 3 + 4 * 196),
        ("barabasi-albert", {"brokers": 200, "m": 3}, 200, 1 + 2 + 3 * 197),
        ("topohub", {"map": "sndlib/germany50"}, 50, 88),
        ("three-broker", {}, 3, 3),
        ("six-broker", {}, 6, 5),
        ("fifty-broker", {}, 50, 75),
        ("six-node", {}, 6, 7),
    ],
)
def test_sizes_are_as_the_shape_says(
    name: str, options: dict[str, Any], brokers: int, links: int
) -> None:
    graph = generate(name, **options).graph
    assert (graph.brokers, graph.links) == (brokers, links)


def test_waxman_growth_prefers_near_nodes_and_beta_lengthens_links() -> None:
    def mean_length_km(beta: float) -> float:
        federation = generate("waxman", brokers=300, m=3, beta=beta, seed=4)
        at, ends = broker_positions(federation), federation.graph.ends
        return float(distance_km(at[ends[:, 0]], at[ends[:, 1]], globe=False).mean())

    short, long = mean_length_km(0.03), mean_length_km(1.0)
    assert short < 0.5 * long
    assert long < 5_214  # the mean distance of two random points in a square of side 10,000


def test_barabasi_albert_growth_makes_hubs() -> None:
    hubs = nx.degree_histogram(as_networkx(generate("barabasi-albert", brokers=400, m=2)))
    even = nx.degree_histogram(as_networkx(generate("waxman", brokers=400, m=2, beta=1.0)))
    assert len(hubs) > 1.5 * len(even)


def test_heavy_tailed_placement_crowds_some_squares() -> None:
    def fullest_square(placement: str) -> int:
        federation = generate("waxman", brokers=1_000, node_placement=placement)
        squares = Counter(map(tuple, (broker_positions(federation) // 1_000).tolist()))
        return max(squares.values())

    assert fullest_square("heavy-tailed") > 2 * fullest_square("random")


def test_another_seed_gives_another_federation() -> None:
    assert generate("waxman", seed=1) != generate("waxman", seed=2)


def test_real_maps_have_their_lengths_and_places() -> None:
    germany = generate("topohub", map="sndlib/germany50")
    assert germany.brokers["Aachen"].at == (50.76, 6.04)
    assert min(link.latency_ms or 0 for link in germany.links) > 25 * 0.0049
    plane = generate("topohub", map="gabriel/25/0")
    assert next(iter(plane.brokers.values())).xy is not None


def test_all_maps_of_topohub_are_known() -> None:
    names = map_names()
    assert len(names) > 700
    for name in names[::40]:
        assert generate("topohub", map=name).graph.brokers > 1


def test_random_topics_have_different_subscribers_none_of_them_the_publisher() -> None:
    for brokers in (6, 60):
        federation = generate("mesh", brokers=brokers, topics=500, subscribers=5, seed=3)
        for topic in federation.topics.values():
            assert len({*topic.publishers, *topic.subscribers}) == 6
        publishers = [topic.publishers[0] for topic in federation.topics.values()]
        counts = [publishers.count(name) for name in federation.brokers]
        assert max(counts) < 5 * mean(counts)


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("torus", {}, "no generator is called 'torus'"),
        ("ring", {"brokers": 2}, "--brokers is 2"),
        ("grid", {"rows": 0}, "--rows is 0"),
        ("waxman", {"m": 0}, "--m is 0"),
        ("waxman", {"beta": 0}, "--beta 0"),
        ("waxman", {"hs": 10, "ls": 100}, "--ls is 100"),
        ("topohub", {"map": "sndlib/germany5"}, "did you mean 'sndlib/germany50'"),
        ("topohub", {"map": "../../etc/passwd"}, "no map"),
        ("ring", {"topics": 5, "subscribers": 8}, "from 0 to 7"),
        ("ring", {"topics": -1}, "--topics is -1"),
        ("ring", {"seed": -1}, "--seed is -1"),
        ("ring", {"foo": 1}, "ring has no option 'foo': it has brokers"),
        ("ring", {"brokers": "5"}, "brokers is '5'"),
        ("ring", {"brokers": 5.5}, "brokers is 5.5"),
        ("waxman", {"growth_type": "sideways"}, "growth_type is 'sideways'"),
        ("waxman", {"hs": float("nan")}, "hs is nan"),
        ("waxman", {"brokers": 3, "m": 5}, "--m is 5: it must be from 1 to 2"),
        ("waxman", {"node_placement": "heavy-tailed", "ls": 1e-9}, "--ls is 1e-09"),
        ("tree", {"depth": 60}, "would make"),
        ("mesh", {"brokers": 100_000}, "would make"),
        ("grid", {"rows": 1000, "columns": 1000}, "would make 1,000,000 brokers"),
    ],
)
def test_options_out_of_range_are_refused(name: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        generate(name, **options)
