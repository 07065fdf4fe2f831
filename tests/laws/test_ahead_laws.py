"""Tables computed ahead are those of a full recomputation, in every colour."""

from dataclasses import replace
from itertools import combinations
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropewalk.federation.facts import Federation
from ropewalk.routing.ahead import Colours, Lookup, Tables, colours_of, on_demand, tables_of
from ropewalk.routing.ahead.colours import Things
from ropewalk.routing.scenarios import Down
from ropewalk.routing.trees import net_of
from tests.laws.oracle import Oracle, random_federation


def recomputed(federation: Federation, things: Things) -> list[list[int]]:
    """Next hops `[at][to]` by networkx, with these things down."""
    colours, names = colours_of(federation), list(federation.brokers)
    down = colours.down(things)
    oracle = Oracle(
        replace(federation, routes=()),
        frozenset(colours.link_names[e] for e in down.links),
        frozenset(names[b] for b in down.brokers),
        "",
    )
    table = [[-1] * len(names) for _ in names]
    for to in set(range(len(names))) - set(down.brokers):
        distance = oracle.distances(names[to])
        for at in set(range(len(names))) - set(down.brokers):
            hop = oracle.hop(names[at], names[at], names[to], distance) if at != to else names[to]
            table[at][to] = names.index(hop) if hop is not None else -1
    return table


def sets_ahead(tables: Tables) -> list[Things]:
    colours = tables.colours
    up_to_two = [one for k in range(3) for one in combinations(range(colours.things), k)]
    sets = [colours.essential(one) for one in (*up_to_two, *tables.network.ahead.chosen)]
    return [one for one in dict.fromkeys(sets) if tables.network.ahead.covers(one, colours.links)]


def mismatches(tables: Tables, federation: Federation) -> int:
    return sum(
        tables.brokers[at].row(things).tolist() != row
        for things in sets_ahead(tables)
        for at, row in enumerate(recomputed(federation, things))
    )


def some_set(rng: Random, colours: Colours) -> str:
    things = colours.essential(tuple(sorted(rng.sample(range(colours.things), rng.randint(1, 4)))))
    return colours.words(things)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**9))
def test_every_colour_is_as_if_computed_anew(seed: int) -> None:
    rng = Random(seed)
    federation = random_federation(rng, routes=0)
    some = some_set(rng, colours_of(federation))
    asked = rng.choice(
        ["links=1, brokers=1", "links=2", "brokers=2, links=1", "any=2", "brokers=1"]
    )
    assert mismatches(tables_of(federation, [asked, some]), federation) == 0


@pytest.mark.parametrize("part", ["entry", "set_entry", "base"])
def test_a_lost_patch_is_noticed(part: str) -> None:
    federation = random_federation(Random(11), routes=0)
    tables = tables_of(federation, "any=2")
    index, broken = next(
        (i, one) for i, one in enumerate(tables.brokers) if len(getattr(one, part)) > 1
    )
    values = getattr(broken, part).copy()
    mask = (1 << broken.bits) - 1 if part != "base" else 255
    values[-2] = int(values[-2]) & ~mask | (0 if values[-2] & mask else 1)
    brokers = [*tables.brokers]
    brokers[index] = replace(broken, **{part: values})
    assert mismatches(replace(tables, brokers=brokers), federation) > 0


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**9))
def test_a_lookup_follows_any_story_of_failures_and_recoveries(seed: int) -> None:
    rng = Random(seed)
    federation = random_federation(rng, routes=0)
    tables = tables_of(federation, rng.choice(["links=1", "links=1, brokers=1", "any=2"]))
    at = rng.randrange(len(federation.brokers))
    now = Lookup(tables.network, tables.brokers[at])
    down: set[int] = set()
    for _ in range(12):
        down ^= {rng.randrange(tables.colours.things)}
        now.switch(down)
        essential = tables.colours.essential(tuple(sorted(down)))
        assert now.row.tolist() == recomputed(federation, essential)[at]
        assert tables.colours.things_of_number(now.colour) == tuple(sorted(down))
    now.switch(())
    assert np.array_equal(now.row, tables.brokers[at].base_row)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**9))
def test_a_row_searched_in_python_is_that_of_the_kernel(seed: int) -> None:
    rng = Random(seed)
    graph = random_federation(rng, routes=0).graph
    links = tuple(e for e in range(graph.links) if rng.random() < 0.2)
    brokers = tuple(b for b in range(graph.brokers) if rng.random() < 0.1)
    for at in set(range(graph.brokers)) - set(brokers):
        row = on_demand.row_after(net_of(graph), graph.links, at, Down(links, brokers))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(on_demand, "FEW", 0)
            compiled = on_demand.row_after(net_of(graph), graph.links, at, Down(links, brokers))
        assert row.tolist() == compiled.tolist()


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**9), st.integers(1, 10**6))
def test_a_colour_and_its_failures_follow_from_each_other(seed: int, number: int) -> None:
    rng = Random(seed)
    colours = colours_of(random_federation(rng, routes=0))
    things = tuple(sorted(rng.sample(range(colours.things), rng.randint(0, colours.things))))
    assert colours.things_of_number(colours.number(things)) == things
    number = 1 + number % 2**colours.things
    assert colours.number(colours.things_of_number(number)) == number
    assert colours.things_of(str(number)) == colours.things_of(colours.name(number))
