"""Laws of the rivals: a repair that is claimed is one that messages, walked by hand, do take."""

from dataclasses import replace
from random import Random

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropewalk.federation.facts import Federation
from ropewalk.routing.all_pairs import ground_of
from ropewalk.routing.rivals import compare
from ropewalk.routing.rivals.comparison import schemes_of
from ropewalk.routing.rivals.configurations import configurations
from ropewalk.routing.rivals.layers import spare_links
from ropewalk.routing.rivals.redundant import trees_to
from ropewalk.routing.rivals.remote import tunnels
from ropewalk.routing.rivals.scheme import Failures, Repair
from ropewalk.routing.trees import FAR
from tests.laws.walker import INF, Rule, World, faults, plainly, random_graph, stretches, table_of

seeds = st.integers(0, 2**32)
LAYERS = 3


def by_neighbour(world: World, repair: Repair, path: list[int], to: int) -> bool:
    """LFA: to the neighbour, which knows nothing; so it may come back and be mended again."""
    path.append(int(repair.choice[to, path[-1]]))
    if len(path) > 4 * world.n or world.down(*path[-2:]):
        return False
    return plainly(world, repair, path, to, by_neighbour)


def by_tunnel(world: World, repair: Repair, path: list[int], to: int) -> bool:
    """Remote LFA: to the first hop, by old tables to the tunnel's end, by old tables on."""
    at = path[-1]
    if repair.choice[to, at] < world.n:
        return by_neighbour(world, repair, path, to)
    ground = ground_of(world.federation.graph)
    end, _, first = tunnels(ground)
    arc = ground.arc[to, at]
    assert end[arc] == repair.choice[to, at] - world.n
    path.append(int(first[arc]))
    entered = not world.down(*path[-2:])
    return (
        entered
        and world.walk(path, int(end[arc]), lambda u: world.base.hop[int(end[arc])][u])
        and world.walk(path, to, lambda u: world.base.hop[to][u])
    )


def by_labels(world: World, repair: Repair, path: list[int], to: int) -> bool:
    """TI-LFA: the fewest labels that spell the new path, and a walk by them."""
    at = path[-1]
    new = [at]
    while new[-1] != to:
        new.append(world.after.hop[to][new[-1]])
    assert new[1] == repair.choice[to, at]
    pieces = fewest_pieces(world, new[1:])
    assert repair.labels is not None
    assert repair.labels[to, at] == len(pieces) - 1
    path.append(new[1])
    for end, named in pieces:
        if named:
            path.append(end)
        elif not world.walk(path, end, lambda u, end=end: world.base.hop[end][u]):  # type: ignore[misc]
            return False
    return True


def fewest_pieces(world: World, way: list[int]) -> list[tuple[int, bool]]:
    """The end of each piece, and whether it is one named link; the last ends at the destination."""
    best: dict[int, list[tuple[int, bool]]] = {0: []}
    for j in range(1, len(way)):
        options = [[*best[i], (way[j], False)] for i in range(j) if safe(world, way[i], way[j])]
        # A link that is named takes a label even where it is the last.
        options.append([*best[j - 1], (way[j], True)])
        best[j] = min(options, key=len)
    whole = best[len(way) - 1]
    if whole and whole[-1][1]:
        return [*whole, (way[-1], False)]
    return whole or [(way[-1], False)]


def safe(world: World, a: int, b: int) -> bool:
    """Whether all shortest old paths from a to b avoid what is down: as many as there are left."""
    return a == b or count_ways(world, a, b, old=True) == count_ways(world, a, b, old=False)


def count_ways(world: World, a: int, b: int, *, old: bool) -> int:
    if a == b:
        return 1
    row = world.base.distance[b]
    return sum(
        count_ways(world, v, b, old=old)
        for (u, v), cost in world.cost.items()
        if u == a
        and row[v] + cost == row[a]
        and (v == b or world.carries(v))
        and (old or not world.down(u, v))
    )


def by_detour(world: World, repair: Repair, path: list[int], to: int) -> bool:
    """Not-via: by tables made without what failed to the tunnel's end, by old tables on."""
    end = int(repair.choice[to, path[-1]])
    return world.walk(path, end, lambda u: world.after.hop[end][u]) and world.walk(
        path, to, lambda u: world.base.hop[to][u]
    )


def by_layer(world: World, repair: Repair, path: list[int], to: int) -> bool:
    left_out = spare_links(ground_of(world.federation.graph), LAYERS)
    return in_layer(world, path, to, int(repair.choice[to, path[-1]]), left_out.tolist(), [])


def by_configuration(world: World, repair: Repair, path: list[int], to: int) -> bool:
    graph = world.federation.graph
    made = configurations(graph, ground_of(graph), LAYERS)
    layer = int(repair.choice[to, path[-1]])
    return in_layer(world, path, to, layer, made.link.tolist(), made.broker.tolist())


def in_layer(
    world: World, path: list[int], to: int, layer: int, links: list[int], brokers: list[int]
) -> bool:
    spared = {
        way for e, (a, b) in enumerate(world.ends) if links[e] == layer for way in ((a, b), (b, a))
    }
    kept = {way: cost for way, cost in world.cost.items() if way not in spared}
    table = table_of(
        world.n, kept, lambda u: world.carries(u) and (not brokers or brokers[u] != layer)
    )
    return world.walk(path, to, lambda u: table.hop[to][u])


def by_colour(world: World, repair: Repair, path: list[int], to: int) -> bool:
    near, colour = divmod(int(repair.choice[to, path[-1]]), 2)
    path.append(near)
    hops = trees_to(ground_of(world.federation.graph).net, to)[colour]
    return not world.down(*path[-2:]) and world.walk(path, to, lambda u: int(hops[u]))


RULES: dict[str, Rule] = {
    "LFA": by_neighbour,
    "remote LFA": by_tunnel,
    "TI-LFA": by_labels,
    "not-via": by_detour,
    f"RRL-{LAYERS}": by_layer,
    f"MRC-{LAYERS}": by_configuration,
    "MRT": by_colour,
}
CASES: list[tuple[str, Failures]] = [
    (name, kind)
    for name in RULES
    for kind in ("links", "brokers")
    if kind == "links" or name in ("LFA", "TI-LFA", "not-via", f"MRC-{LAYERS}", "MRT")
]


def repair_of(federation: Federation, name: str, kind: Failures) -> Repair:
    graph = federation.graph
    schemes = schemes_of(graph, ground_of(graph), (LAYERS,))
    scheme = next(one for one in schemes if one.name == name)
    assert scheme.repair is not None
    return scheme.repair(kind, 0, graph.brokers)


@pytest.mark.parametrize(("name", "kind"), CASES)
@given(seed=seeds)
@settings(max_examples=25)
def test_every_claimed_repair_delivers_at_the_claimed_cost(
    name: str, kind: Failures, seed: int
) -> None:
    federation = random_graph(Random(seed))
    assert faults(federation, kind, repair_of(federation, name, kind), RULES[name]) == []


@pytest.mark.parametrize("kind", ["links", "brokers"])
@given(seed=seeds)
@settings(max_examples=12)
def test_the_table_counts_what_walking_counts(kind: Failures, seed: int) -> None:
    federation = random_graph(Random(seed))
    rows = compare(federation, layers=(LAYERS,), failures=kind)
    for name in (name for name, other in CASES if other == kind):
        repair, row = repair_of(federation, name, kind), rows.row(name, kind)
        cases, found = stretches(federation, kind, repair, RULES[name])
        assert (row.cases, row.recovered) == (cases, len(found))
        if found:
            assert row.stretch_mean == pytest.approx(np.mean(found))
            assert row.stretch_max == pytest.approx(max(found))
            p95 = np.quantile(found, 0.95, method="inverted_cdf")
            assert row.stretch_p95 == pytest.approx(p95, abs=0.001)


@pytest.mark.parametrize("kind", ["links", "brokers"])
@given(seed=seeds)
@settings(max_examples=15)
def test_the_entries_of_pcrt_are_those_that_differ_from_the_base_table(
    kind: Failures, seed: int
) -> None:
    federation = random_graph(Random(seed))
    differing = sum(
        world.after.hop[to][at] not in (-1, world.base.hop[to][at])
        for world in World(federation).failures(kind)
        for to in range(world.n)
        for at in range(world.n)
    )
    row = compare(federation, layers=(LAYERS,), failures=kind).row("PCRT", kind)
    assert row.entries * federation.graph.brokers == pytest.approx(differing)


@given(seed=seeds)
@settings(max_examples=25)
def test_switching_at_the_source_is_a_path_in_a_layer_without_the_link(seed: int) -> None:
    federation = random_graph(Random(seed))
    graph = federation.graph
    left_out = spare_links(ground_of(graph), LAYERS).tolist()
    found, cases = [], 0
    for world in World(federation).failures("links"):
        for source, to, _ in world.cases():
            cases += 1
            path = [source]
            layer = left_out[world.link]
            if layer >= 0 and in_layer(world, path, to, layer, left_out, []):
                found.append(world.length(path) / world.after.distance[to][source])
    row = compare(federation, layers=(LAYERS,), failures="links").row(f"RRL-{LAYERS} source")
    assert (row.cases, row.recovered) == (cases, len(found))
    assert not found or row.stretch_mean == pytest.approx(np.mean(found))


def unclaimed(federation: Federation, kind: Failures, name: str) -> list[tuple[World, int, int]]:
    """Failures that a scheme does not repair although the repairing broker is still connected."""
    repair = repair_of(federation, name, kind)
    return [
        (world, to, at)
        for world in World(federation).failures(kind)
        for _, to, at in world.cases()
        if repair.cost[to, at] >= FAR and world.after.distance[to][at] < INF
    ]


@pytest.mark.parametrize("kind", ["links", "brokers"])
@given(seed=seeds)
@settings(max_examples=30)
def test_ti_lfa_and_redundant_trees_repair_all_that_can_be_repaired(
    kind: Failures, seed: int
) -> None:
    federation = random_graph(Random(seed))
    assert unclaimed(federation, kind, "TI-LFA") == []
    assert unclaimed(federation, kind, "MRT") == []


@given(seed=seeds)
@settings(max_examples=30)
def test_not_via_repairs_every_link_and_every_broker_that_is_no_cut(seed: int) -> None:
    federation = random_graph(Random(seed), edges=False)
    assert unclaimed(federation, "links", "not-via") == []
    cuts = set(nx.articulation_points(nx.Graph(federation.graph.ends.tolist())))
    left = unclaimed(federation, "brokers", "not-via")
    assert {world.broker for world, _, _ in left} <= cuts


@given(seed=seeds)
@settings(max_examples=30)
def test_remote_alternates_repair_every_link_where_costs_are_equal(seed: int) -> None:
    """RFC 7490: with equal costs and the extended P-space, link coverage is full."""
    made = random_graph(Random(seed), edges=False)
    federation = replace(made, links=tuple(replace(link, cost=1) for link in made.links))
    assert unclaimed(federation, "links", "remote LFA") == []


@given(seed=seeds)
@settings(max_examples=30)
def test_two_labels_repair_any_link_where_costs_are_the_same_both_ways(seed: int) -> None:
    federation = random_graph(Random(seed), edges=False)
    labels = repair_of(federation, "TI-LFA", "links").labels
    assert labels is not None
    assert labels.max() <= 2


@given(seed=seeds)
@settings(max_examples=30)
def test_an_alternate_is_found_wherever_the_inequality_holds(seed: int) -> None:
    """RFC 5286, 3.1, by counting shortest paths instead of adding distances."""
    federation = random_graph(Random(seed))
    for world, to, at in unclaimed(federation, "links", "LFA"):
        for u, near in world.cost:
            if u != at or world.down(at, near) or not (near == to or world.carries(near)):
                continue
            without = replace(World(federation), broker=at)
            safe_way = near == to or (
                world.base.distance[to][near] < INF
                and count_ways(without, near, to, old=True)
                == count_ways(without, near, to, old=False)
            )
            assert not safe_way


def any_neighbour(world: World, repair: Repair) -> Repair:
    """LFA without its inequality: the nearest other neighbour."""
    cost, choice = np.full_like(repair.cost, FAR), np.full_like(repair.choice, -1)
    for to in range(world.n):
        for (at, near), step in world.cost.items():
            whole = step + world.base.distance[to][near]
            if at != to and near != world.base.hop[to][at] and whole < cost[to, at]:
                cost[to, at], choice[to, at] = whole, near
    return Repair(cost, choice)


def test_a_neighbour_without_the_inequality_is_caught() -> None:
    broken = 0
    for seed in range(30):
        federation = random_graph(Random(seed))
        wrong = any_neighbour(World(federation), repair_of(federation, "LFA", "links"))
        broken += bool(faults(federation, "links", wrong, by_neighbour))
    assert broken > 10


def forgetful(world: World, repair: Repair, path: list[int], to: int) -> bool:
    """One hop of the repair, then by the old tables as if nothing were marked."""
    at = path[-1]
    world.walk(path, to, lambda u: world.after.hop[to][u] if u == at else -1)
    return len(path) <= 4 * world.n and plainly(world, repair, path, to, forgetful)


@pytest.mark.parametrize("name", ["TI-LFA", "not-via", f"RRL-{LAYERS}", f"MRC-{LAYERS}", "MRT"])
def test_a_message_that_loses_its_mark_is_caught(name: str) -> None:
    """Labels, tunnels, layers and colours are what keeps messages from coming back."""
    broken = 0
    for seed in range(30):
        federation = random_graph(Random(seed))
        repair = repair_of(federation, name, "links")
        broken += bool(faults(federation, "links", repair, forgetful))
    assert broken > 3


def test_a_tunnel_to_just_any_broker_is_caught() -> None:
    """Remote LFA without P-space and Q-space: through a tunnel to the broker at hand."""
    broken = 0
    for seed in range(40):
        federation = random_graph(Random(seed), edges=False)
        repair = repair_of(federation, "remote LFA", "links")
        n = federation.graph.brokers

        def anywhere(world: World, _: Repair, path: list[int], to: int, n: int = n) -> bool:
            end = (path[-1] + 1) % n
            return world.walk(path, end, lambda u: world.base.hop[end][u]) and world.walk(
                path, to, lambda u: world.base.hop[to][u]
            )

        broken += bool(faults(federation, "links", repair, anywhere))
    assert broken > 10


def test_the_last_hop_by_the_configuration_of_its_broker_alone_is_caught() -> None:
    """MRC needs the configuration that isolates the link there, not always the broker's."""
    broken = 0
    for seed in range(30):
        federation = random_graph(Random(seed), edges=False)
        graph = federation.graph
        made = configurations(graph, ground_of(graph), LAYERS)
        right = repair_of(federation, f"MRC-{LAYERS}", "links")
        choice, base = right.choice.copy(), World(federation).base
        for to in range(graph.brokers):
            for at in graph.neighbours(to):
                if base.hop[to][at] == to and made.broker[to] >= 0:
                    choice[to, at] = made.broker[to]
        wrong = replace(right, choice=choice)
        broken += bool(faults(federation, "links", wrong, by_configuration))
    assert broken > 3


def test_always_the_same_colour_is_caught() -> None:
    broken = 0
    for seed in range(20):
        federation = random_graph(Random(seed), edges=False)
        right, net = repair_of(federation, "MRT", "links"), ground_of(federation.graph).net
        blue = np.array([2 * trees_to(net, to)[0] for to in range(federation.graph.brokers)])
        wrong = replace(right, choice=np.where(right.cost < FAR, blue, -1))
        broken += bool(faults(federation, "links", wrong, by_colour))
    assert broken > 10
