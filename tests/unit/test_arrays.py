import numpy as np

from ropewalk.federation import loads
from ropewalk.federation.generators import generate
from ropewalk.federation.places import attached_nodes, distance_km
from tests.unit.test_federation_file import TRADE_NET


def test_edges_carry_no_transit_and_brokers_know_their_domain() -> None:
    graph = loads(TRADE_NET).graph
    assert graph.names == ("lon-gw", "lon-e1", "par-gw")
    assert graph.transit.tolist() == [True, False, True]
    assert graph.domain.tolist() == [0, 0, 1 + 2]


def test_a_link_without_latency_gets_that_of_light_in_fibre() -> None:
    text = """
federation: f
sites: {london: {at: [51.507, -0.128]}, paris: {at: [48.857, 2.352]}}
brokers: {a: {site: london}, b: {site: paris}, c: {}}
links: [{between: [a, b]}, {between: [a, c]}, {between: [b, c], latency_ms: 7}]
"""
    latency_ms = loads(text).graph.latency_ms
    assert 1.6 < latency_ms[0] < 1.8  # 343 km
    assert latency_ms[1:].tolist() == [0.0, 7.0]


def test_topics_become_numbers() -> None:
    text = """
federation: f
brokers: {a: {}, b: {}, c: {}}
topics:
  t: {publishers: [a, {broker: c, client: x}], subscribers: [b]}
  u: {publishers: [b], scope: domain}
  v: {publishers: [c], subscribers: [a, b]}
"""
    table = loads(text).topic_table
    assert table.first_publisher.tolist() == [0, 2, 3, 4]
    assert table.publisher.tolist() == [0, 2, 1, 2]
    assert table.first_subscriber.tolist() == [0, 1, 1, 3]
    assert table.subscriber.tolist() == [1, 0, 1]
    assert table.local.tolist() == [False, True, False]
    assert table.pairs() == 2 * 1 + 0 + 1 * 2


def test_a_federation_without_links_or_topics_has_empty_arrays() -> None:
    federation = loads("{federation: f, brokers: {a: }}")
    assert federation.graph.links == 0
    assert federation.graph.neighbours(0).tolist() == []
    assert federation.topic_table.pairs() == 0


def test_ten_thousand_brokers_are_a_few_megabytes() -> None:
    federation = generate("grid", rows=100, columns=100, topics=10_000)
    assert federation.graph.brokers == 10_000
    assert federation.graph.nbytes() + federation.topic_table.nbytes() < 3e6


def test_brokers_attach_to_the_node_they_name_or_the_nearest() -> None:
    text = """
federation: f
underlay: {nodes: {n: {xy: [0, 0]}, m: {xy: [10, 0]}, lost: {}}}
brokers: {a: {xy: [1, 1]}, b: {xy: [9, 1]}, c: {xy: [9, 1], node: n}, d: {}}
"""
    assert attached_nodes(loads(text)).tolist() == [0, 1, 0, -1]


def test_distances_on_the_globe_cross_the_date_line() -> None:
    west, east = np.array([0.0, -179.5]), np.array([0.0, 179.5])
    assert round(float(distance_km(west, east, globe=True))) == 111
