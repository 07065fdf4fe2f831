"""Laws of mixed colours: with what messages carry nothing ever loops; without it much does."""

from collections import Counter
from itertools import combinations, pairwise, product
from random import Random

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropewalk.federation.facts import Federation
from ropewalk.federation.generators import generate
from ropewalk.federation.generators.build import numbered
from ropewalk.routing.all_pairs import ground_of
from ropewalk.routing.mixed import Mixed, flights, mixed
from ropewalk.routing.mixed.snapshot import Change, Knowing
from ropewalk.routing.rivals.outage import hops_between, waits
from tests.laws.walker import INF, World, random_graph

seeds = st.integers(0, 2**32)


def labelled(brokers: int) -> list[Federation]:
    """Every connected graph: numbers matter, since the smallest neighbour wins."""
    pairs = list(combinations(range(brokers), 2))
    chosen = [
        some
        for count in range(brokers - 1, len(pairs) + 1)
        for some in combinations(pairs, count)
        if nx.is_connected(nx.Graph(some)) and len(nx.Graph(some)) == brokers
    ]
    return [numbered("every", [(0.0, 0.0)] * brokers, some) for some in chosen]


def check(federation: Federation, knowing: Knowing, change: Change) -> int:
    """No loop with carrying, and within the bound; returns how many cases loop without."""
    carried = mixed(federation, knowing=knowing, change=change, carrying=True)
    counts, n = carried.counts, federation.graph.brokers
    assert counts["loops"] == counts["stuck"] == 0
    assert counts["lost"] == 0 or (knowing == "any" and change == "failure")
    assert carried.longest <= 2 * n
    return mixed(federation, knowing=knowing, change=change).counts["loops"]


@pytest.mark.parametrize("change", ["failure", "recovery"])
@pytest.mark.parametrize("knowing", ["with ends", "any"])
def test_every_graph_of_up_to_five_brokers(knowing: Knowing, change: Change) -> None:
    graphs = [one for brokers in (2, 3, 4, 5) for one in labelled(brokers)]
    assert len(graphs) == 1 + 4 + 38 + 728
    loops = sum(check(one, knowing, change) for one in graphs)
    # A recovery of which both ends know makes a loop only where the link carries three brokers or
    # more, one of them on another's way round: that takes six brokers.
    assert loops == 0 if (knowing, change) == ("with ends", "recovery") else loops > 1000


@pytest.mark.parametrize("change", ["failure", "recovery"])
def test_every_shape_of_six_brokers_and_some_of_seven_numbered_at_random(change: Change) -> None:
    rng, loops = Random(6), 0
    shapes = [g for g in nx.graph_atlas_g() if len(g) in (6, 7) and nx.is_connected(g)]
    for shape in [g for g in shapes if len(g) == 6] + rng.sample(
        [g for g in shapes if len(g) == 7], 60
    ):
        number = rng.sample(range(len(shape)), len(shape))
        pairs = [(number[a], number[b]) for a, b in shape.edges]
        loops += check(numbered("shape", [(0.0, 0.0)] * len(shape), pairs), "with ends", change)
    assert loops > 100


def walked(federation: Federation, change: Change, carrying: bool) -> dict[str, int]:
    """The same counts by walking every message, over every set that has both ends."""
    counts = dict.fromkeys(("cases", "delivered", "loops", "lost", "stuck"), 0)
    for world in World(federation).failures("links"):
        a, b = world.ends[world.link]
        others = [u for u in range(world.n) if u not in (a, b)]
        for choice in product([False, True], repeat=len(others)):
            knows = {a, b} | {u for u, chosen in zip(others, choice, strict=True) if chosen}
            for source, to, _ in world.cases():
                counts["cases"] += 1
                counts[fate(world, knows, source, to, change, carrying)] += 1
    return counts


def fate(
    world: World, knows: set[int], source: int, to: int, change: Change, carrying: bool
) -> str:
    at, informed, seen = source, False, set()
    new, old = (world.after, world.base) if change == "failure" else (world.base, world.after)
    while at != to:
        informed = at in knows or (carrying and informed)
        hop = (new if informed else old).hop[to][at]
        if hop < 0:
            return "stuck"
        if (at, informed) in seen:
            return "loops"
        if change == "failure" and world.down(at, hop):
            return "lost"
        seen.add((at, informed))
        at = hop
    return "delivered"


@pytest.mark.parametrize("change", ["failure", "recovery"])
@given(seed=seeds, carrying=st.booleans())
@settings(max_examples=30)
def test_counts_are_those_of_walking_every_message(
    change: Change, seed: int, carrying: bool
) -> None:
    """With costs, disconnected parts and brokers without transit, too."""
    federation = random_graph(Random(seed), most=6)
    found = mixed(federation, knowing="with ends", change=change, carrying=carrying)
    expected = walked(federation, change, carrying)
    assert found.counts == expected
    assert not carrying or expected["loops"] == 0


@given(seed=seeds)
@settings(max_examples=30)
def test_every_witness_can_be_followed(seed: int) -> None:
    federation = random_graph(Random(seed), most=8)
    found: Mixed = mixed(federation)
    names, worlds = federation.graph.names, list(World(federation).failures("links"))
    for e, witness in zip(np.flatnonzero(found.fates[:, 1]).tolist(), found.witnesses, strict=True):
        world, to = worlds[e], names.index(witness.to)
        path = [names.index(name) for name in witness.path]
        assert set(witness.knowing) == {names[u] for u in world.ends[e]}
        assert path.count(path[-1]) == 2
        for at, hop in pairwise(path):
            table = world.after if names[at] in witness.knowing else world.base
            assert table.hop[to][at] == hop
        assert world.after.distance[to][path[0]] < INF


@given(seed=seeds, carrying=st.booleans())
@settings(max_examples=30)
def test_outages_last_while_walking_does_not_get_through(seed: int, carrying: bool) -> None:
    """News goes one hop further at a time, over all links and brokers."""
    federation = random_graph(Random(seed))
    graph = federation.graph
    expected: Counter[int] = Counter()
    net: nx.Graph[int] = nx.Graph(graph.ends.tolist())
    hops = dict(nx.all_pairs_shortest_path_length(net))
    for world in World(federation).failures("links"):
        ends = world.ends[world.link]
        heard = {u: min(hops[end][u] for end in ends) for u in hops[ends[0]]}
        for source, to, _ in world.cases():
            moments = [{u for u in heard if heard[u] <= k} for k in range(world.n)]
            fates = [fate(world, knows, source, to, "failure", carrying) for knows in moments]
            expected[sum(one != "delivered" for one in fates)] += 1
    found = waits(ground_of(graph), hops_between(graph), carrying=carrying)
    assert {k: n for k, n in enumerate(found.tolist()) if n} == dict(expected)


@pytest.mark.parametrize("schedule", ["random", "adversarial"])
@given(seed=seeds, changes=st.integers(1, 4), flood_chance=st.sampled_from([0.0, 0.1, 0.5]))
@settings(max_examples=20)
def test_no_flight_among_fifty_brokers_is_longer_than_the_bound(
    schedule: str, seed: int, changes: int, flood_chance: float
) -> None:
    """At most (changes + 1) x n hops, and no broker is passed more than changes + 1 times."""
    fifty = generate("fifty-broker")
    for flight in flights(
        fifty,
        count=5,
        seed=seed,
        changes=changes,
        flood_chance=flood_chance,
        schedule=schedule,  # type: ignore[arg-type]
    ):
        assert flight.fate == "delivered"
        assert max(flight.path.count(name) for name in set(flight.path)) <= changes + 1


@pytest.mark.parametrize("schedule", ["random", "adversarial"])
def test_without_the_join_flights_go_round(schedule: str) -> None:
    """The control: messages carry nothing, each broker goes by what it knows itself."""
    fifty = generate("fifty-broker")
    found = flights(
        fifty,
        count=150,
        seed=1,
        changes=3,
        flood_chance=0.02,
        schedule=schedule,  # type: ignore[arg-type]
        join=False,
    )
    assert sum(flight.fate == "too long" for flight in found) > 10


def test_brokers_without_transit_can_cut_a_message_off_but_not_make_it_loop() -> None:
    found = 0
    for seed in range(40):
        federation = random_graph(Random(seed))
        if nx.is_connected(nx.Graph(federation.graph.ends.tolist())):
            fates = [flight.fate for flight in flights(federation, count=10, seed=seed)]
            assert "too long" not in fates
            found += fates.count("cut off")
    assert found
