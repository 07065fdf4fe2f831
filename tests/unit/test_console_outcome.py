"""What the console says of a failure, beside what plain tables say and what people draw."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropewalk import generate, load, loads
from ropewalk.web.apart import pair_of
from ropewalk.web.land import land_json
from ropewalk.web.outcome import outcome_of
from ropewalk.web.region import struck
from ropewalk.web.scene import scene_of
from ropewalk.web.verdict import verified, witness_of

TAKEN = """\
federation: f
brokers: {a: {}, b: {takeover: [c]}, c: {}, d: {}}
links:
  - {between: [a, b]}
  - {between: [a, d]}
  - {between: [d, c]}
topics:
  t: {publishers: [a], subscribers: [b]}
"""


@settings(max_examples=25)
@given(st.integers(1, 10_000), st.integers(0, 60))
def test_ways_after_a_failure_are_as_short_as_can_be(seed: int, picked: int) -> None:
    federation = generate("waxman", brokers=12, m=2, seed=seed)
    scene = scene_of(federation)
    link = picked % len(scene.links)
    outcome = outcome_of(federation, (scene.links[link],))
    left = nx.Graph()
    left.add_nodes_from(scene.brokers)
    for e, (a, b) in enumerate(scene.ends):
        if e != link:
            left.add_edge(scene.brokers[a], scene.brokers[b], weight=federation.links[e].cost)
    cost = dict(nx.all_pairs_dijkstra_path_length(left))
    for way in outcome.ways:
        reachable = way.to in cost[way.source]
        assert (way.fate == "delivered") is reachable
        if reachable:
            assert nx.path_weight(left, list(way.after), "weight") == cost[way.source][way.to]


@settings(max_examples=25)
@given(st.integers(1, 10_000), st.booleans())
def test_load_is_what_all_ways_together_carry(seed: int, dead_broker: bool) -> None:
    federation = generate("waxman", brokers=9, m=2, seed=seed, topics=6, subscribers=3)
    scene = scene_of(federation)
    outcome = outcome_of(
        federation, ("n1",) if "n1" in scene.brokers and dead_broker else scene.links[:1]
    )
    demand = outcome.result.check.demand
    weight = {
        (scene.brokers[a], scene.brokers[b]): 0
        for a, b in zip(demand.source.tolist(), demand.to.tolist(), strict=True)
    }
    for a, b, count in zip(
        demand.source.tolist(), demand.to.tolist(), demand.weight.tolist(), strict=True
    ):
        weight[scene.brokers[a], scene.brokers[b]] += count
    brokers, links = np.zeros(len(scene.brokers)), np.zeros(len(scene.links))
    numbers = {name: i for i, name in enumerate(scene.brokers)}
    joined = {frozenset(ends): e for e, ends in enumerate(map(tuple, scene.ends))}
    for source, to in weight:
        way = outcome.way(source, to)
        if way.fate != "delivered":
            continue
        nodes = [numbers[name] for name in way.after]
        brokers[nodes] += weight[source, to]
        for a, b in pairwise(nodes):
            links[joined[frozenset((a, b))]] += weight[source, to]
    assert outcome.load.brokers_after.tolist() == brokers.tolist()
    assert outcome.load.links_after.tolist() == links.tolist()


def test_clients_that_are_taken_over_are_followed_to_their_new_broker() -> None:
    outcome = outcome_of(loads(TAKEN), ("b",))
    (way,) = outcome.ways
    assert (way.before, way.after, way.fate) == (("a", "b"), ("a", "d", "c"), "delivered")
    assert outcome.lost == {}
    lost = outcome_of(loads(TAKEN.replace("takeover: [c]", "")), ("b",))
    assert lost.ways[0].fate == "b is down"
    assert lost.lost == {"t": ["a > b: a client's broker is down"]}


def test_the_colour_is_the_number_that_tables_have_for_it() -> None:
    from ropewalk.routing.ahead import colours_of

    federation = generate("six-node")
    for failed in ((), ("b1--b2",), ("b3",), ("b1--b2", "b3")):
        number = outcome_of(federation, failed).colour
        named = colours_of(federation).name(number)
        assert set(named.replace(" ", "").split("+")) == set(failed or ("none",))


def test_a_route_that_goes_round_is_told_as_a_loop() -> None:
    outcome = outcome_of(load("examples/misrouted.yaml"), ())
    assert "in a loop" in {way.fate for way in outcome.ways}
    assert "prices" in outcome.lost


def test_the_witness_of_a_finding_is_a_path_and_the_failure_it_needs() -> None:
    federation = load("examples/misrouted.yaml")
    found = verified(federation).findings[0]
    assert witness_of(found, federation) == (("north", "west", "north"), ())


def test_what_is_not_decided_in_time_is_told_as_such() -> None:
    verdict = verified(generate("waxman", brokers=400, m=3, seed=2), patience_s=0.0)
    assert not verdict.ok
    assert "Not decided" in verdict.words


def test_a_region_takes_the_brokers_in_it_and_the_links_through_it() -> None:
    federation = loads("""\
federation: f
brokers:
  west: {at: [0, 0]}
  east: {at: [0, 10]}
  far: {at: [40, 5]}
links:
  - {between: [west, east]}
  - {between: [west, far]}
""")
    assert struck(federation, (0.0, 5.0), 50.0).links == (0,)
    assert struck(federation, (0.0, 5.0), 50.0).brokers == ()
    hit = struck(federation, (40.0, 5.0), 50.0)
    assert (hit.links, hit.brokers) == ((), (2,))  # a dead broker's links go without saying
    assert struck(federation, (-40.0, -40.0), 50.0) == struck(federation, (-40.0, 0.0), 1.0)


def test_a_region_takes_links_whose_ways_below_it_takes() -> None:
    federation = loads("""\
federation: f
brokers:
  a: {node: p}
  b: {node: r}
links:
  - {between: [a, b]}
underlay:
  nodes: {p: {at: [0, 0]}, q: {at: [30, 5]}, r: {at: [0, 10]}}
  links:
    - {between: [p, q]}
    - {between: [q, r]}
""")
    assert struck(federation, (30.0, 5.0), 20.0).links == (0,)
    assert struck(federation, (0.0, 5.0), 20.0).links == ()


def test_paths_apart_have_both_ends_and_their_places() -> None:
    federation = generate("topohub", map="sndlib/germany50")
    pair = pair_of(federation, "Hamburg", "Muenchen", radius_km=100, method="exposure")
    primary, alternate = pair.lines
    assert (primary.nodes[0], primary.nodes[-1]) == ("Hamburg", "Muenchen")
    assert set(primary.nodes[1:-1]).isdisjoint(alternate.nodes)
    assert len(primary.places) == len(primary.nodes)
    assert pair.avoidable < pair.avoidable_by_primary


def test_the_same_federation_always_looks_the_same_and_nobody_lies_on_another() -> None:
    federation = generate("fifty-broker")
    assert scene_of(federation).sheet == scene_of(federation).sheet
    at = np.array(scene_of(federation).sheet)
    away = np.hypot(*(at[:, None] - at[None]).transpose(2, 0, 1)) + 9 * np.eye(len(at))
    assert away.min() > 0.02
    assert np.abs(at).max() <= 1.1


def test_brokers_of_one_site_are_drawn_apart_and_those_without_a_place_too() -> None:
    federation = loads("""\
federation: f
sites: {london: {at: [51.5, -0.1]}, paris: {at: [48.9, 2.4]}}
brokers: {a: {site: london}, b: {site: london}, c: {site: paris}, d: {}}
""")
    places = scene_of(federation).map
    assert places is not None
    assert len({tuple(one) for one in places}) == 4
    assert np.isfinite(places).all()


@pytest.mark.parametrize(
    ("lat", "lon", "land"),
    [
        (47.2, 19.4, True),
        (44.0, 21.0, True),
        (21.9, 96.1, True),
        (42.0, 50.5, False),
        (43.0, 15.0, False),
        (15.0, 93.0, False),
    ],
)
def test_land_has_no_holes_but_the_sea(lat: float, lon: float, land: bool) -> None:
    import json

    import shapely

    outline = shapely.unary_union(
        [
            shapely.Polygon(
                [p[::-1] for p in rings[0]], [[p[::-1] for p in hole] for hole in rings[1:]]
            ).buffer(0)
            for rings in json.loads(land_json())
        ]
    )
    assert outline.contains(shapely.Point(lon, lat)) is land
