"""Laws of verification: every fate is the one that following each message by hand gives."""

from dataclasses import replace
from itertools import pairwise
from random import Random

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropewalk.federation.facts import Federation
from ropewalk.federation.generators import generate
from ropewalk.routing import scenarios_of, shortest_paths
from ropewalk.routing.delta import fail, plant, restore, tree_room
from ropewalk.routing.scenarios import link_names
from ropewalk.routing.trees import FAR, grow, net_of
from ropewalk.verify import verify
from ropewalk.verify.repair import repair
from ropewalk.verify.result import Verification
from ropewalk.verify.verdicts import BAD, Verdict
from tests.laws.oracle import Oracle, random_federation, random_route

seeds = st.integers(0, 2**32)


def mismatches(federation: Federation, result: Verification, most_hops: int) -> list[str]:
    scenarios, found = result.check.scenarios, []
    for k in range(len(scenarios)):
        down = scenarios.down(k)
        oracle = Oracle(
            federation,
            frozenset(scenarios.link_names[e] for e in down.links),
            frozenset(scenarios.broker_names[b] for b in down.brokers),
            scenarios.name(k),
            most_hops,
        )
        fates, stranded = oracle.fates()
        fates[Verdict.CUT] += stranded
        if [fates[one] for one in Verdict] != result.fates[k].tolist():
            found.append(scenarios.name(k))
    return found


@given(seeds)
@settings(max_examples=250)
def test_every_fate_in_every_single_failure_is_the_oracles(seed: int) -> None:
    rng = Random(seed)
    federation, most_hops = random_federation(rng), rng.choice([3, 1000])
    result = verify(federation, failures=["any=1"], pairs="topics", most_hops=most_hops)
    assert mismatches(federation, result, most_hops) == []


@given(seeds)
@settings(max_examples=60)
def test_every_fate_in_every_double_failure_is_the_oracles(seed: int) -> None:
    federation = random_federation(Random(seed))
    result = verify(federation, failures=["any=2"], pairs="topics")
    assert mismatches(federation, result, 1000) == []


def test_the_oracle_tells_when_entries_are_forgotten() -> None:
    """The control: a check that knows nothing of hand-made entries does not pass."""
    wrong = 0
    for seed in range(40):
        federation = random_federation(Random(seed))
        forgotten = verify(replace(federation, routes=()), failures=["any=1"], pairs="topics")
        wrong += bool(mismatches(federation, forgotten, 1000))
    assert wrong > 10


@given(seeds)
def test_every_pair_has_one_fate_in_every_scenario(seed: int) -> None:
    result = verify(random_federation(Random(seed)), failures=["any=1"], pairs="topics")
    assert set(result.fates.sum(axis=1).tolist()) == {result.summary["pairs"]}
    assert (result.fates >= 0).all()


@given(seeds)
@settings(max_examples=50)
def test_what_looks_only_at_an_edit_sees_what_a_full_look_sees(seed: int) -> None:
    rng = Random(seed)
    federation = random_federation(rng)
    names = list(federation.brokers)
    result = verify(federation, failures=["any=1"], pairs="topics")
    for _ in range(3):
        routes = list(result.check.federation.routes)
        if routes and rng.random() < 0.4:
            routes.pop(rng.randrange(len(routes)))
        else:
            routes.insert(rng.randint(0, len(routes)), random_route(rng, names, federation.links))
        edited = replace(federation, routes=tuple(routes))
        result = result.after(edited)
        full = verify(edited, failures=["any=1"], pairs="topics")
        assert result.fates.tolist() == full.fates.tolist()
        assert [one.message for one in result.findings] == [one.message for one in full.findings]
        assert result.sight.tested == full.sight.tested


@given(seeds)
@settings(max_examples=60)
def test_a_repair_holds_and_makes_nothing_worse(seed: int) -> None:
    federation = random_federation(Random(seed))
    result = verify(federation, failures=["links=1"], pairs="topics")
    repaired = repair(result)
    again = verify(repaired.federation, failures=["links=1"], pairs="topics")
    bad = [int(one.fates[:, list(BAD)].sum()) for one in (result, again)]
    assert bad[1] <= bad[0]
    assert (again.fates[:, Verdict.DELIVERED] >= result.fates[:, Verdict.DELIVERED]).all()
    assert bad[1] < bad[0] or not repaired.repairs
    steps = [one.bad_before for one in repaired.repairs]
    assert steps == sorted(steps, reverse=True)


@given(seeds)
@settings(max_examples=40)
def test_every_witness_can_be_followed(seed: int) -> None:
    """Every hop of a bad path is a link, and it ends as the finding says."""
    federation = random_federation(Random(seed))
    links = set(link_names(federation))
    for one in verify(federation, failures=["any=1"], pairs="topics").findings:
        if one.code in ("V001", "V002", "V003", "V004", "V005"):
            witness = one.witness
            assert isinstance(witness, dict)
            path = witness["path"]
            assert all("--".join(sorted(pair)) in links for pair in pairwise(path))
            if one.code in ("V001", "V002"):
                assert path.count(path[-1]) == 2
            assert (path[-1] == witness["to"]) == (one.code in ("V004", "V005"))


@given(st.sampled_from(["waxman", "barabasi-albert", "grid", "ring"]), st.integers(0, 99))
@settings(max_examples=12)
def test_the_table_is_networkx_shortest_paths_with_smallest_neighbours(
    shape: str, seed: int
) -> None:
    sizes = {"grid": {"rows": 5, "columns": 6}, "ring": {"brokers": 17}}
    federation = generate(shape, seed=seed, **sizes.get(shape, {"brokers": 40}))
    graph: nx.Graph[int] = nx.Graph(federation.graph.ends.tolist())
    table, hops = shortest_paths(federation).next, dict(nx.all_pairs_shortest_path_length(graph))
    for to in graph:
        for at in set(graph) - {to}:
            near = [v for v in sorted(graph[at]) if hops[v][to] + 1 == hops[at][to]]
            assert table[to, at] == near[0]


@pytest.mark.parametrize("costs", [(1,), (1, 2, 5)])
@given(seed=seeds)
@settings(max_examples=15)
def test_what_a_failure_changes_is_what_a_new_tree_has(costs: tuple[int, ...], seed: int) -> None:
    """The delta kernel against growing the damaged graph's tree from nothing."""
    rng = Random(seed)
    made = generate("waxman", brokers=30, m=2, seed=seed % 1000)
    links = tuple(replace(link, cost=rng.choice(costs)) for link in made.links)
    federation = replace(made, links=links)
    graph = federation.graph
    net, tree, fresh = net_of(graph), tree_room(30, graph.links), tree_room(30, graph.links)
    scenarios = scenarios_of(federation, ["links=1", "brokers=1"])
    to = rng.randrange(30)
    plant(net, to, tree)
    untouched = tree.state["hop"].copy()
    for k in range(len(scenarios)):
        down = scenarios.down(k)
        dead = [np.array(part, np.int32) for part in (down.links, down.brokers)]
        if to in down.brokers:
            continue
        size, _ = fail(net, to, tree, graph.ends, *dead)
        kept = [
            link
            for e, link in enumerate(links)
            if e not in down.links and not set(graph.ends[e].tolist()) & set(down.brokers)
        ]
        grow(net_of(replace(federation, links=tuple(kept)).graph), to, fresh.state, fresh.heap)
        alive = np.setdiff1d(np.arange(30), down.brokers)
        assert (tree.state["hop"][alive] == fresh.state["hop"][alive]).all()
        assert (tree.state["distance"][alive] == fresh.state["distance"][alive]).all()
        restore(tree, size, *dead)
        assert (tree.state["hop"] == untouched).all()
    assert (tree.state["distance"] < FAR).all()
