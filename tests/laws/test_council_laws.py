"""Laws of the council: one master, one history, nothing lost or doubled when items move."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropewalk.overlay.council.election import Election
from ropewalk.overlay.parts import Part
from tests.laws.council_world import PACE, Desk, S, World

seeds = st.integers(0, 10**9)
sizes = st.sampled_from([1, 2, 3, 4, 5])
BOUND_US = 5 * S
"""After the last change, members agree within this."""


def elections(world: World) -> list[Election]:
    return [p for d in world.desks for p in d.parts if isinstance(p, Election)]


class OneMaster:
    """At most one master per term, and at most one at a time."""

    def __init__(self, world: World) -> None:
        self.world, self.of_term = world, dict[int, int]()

    def __call__(self) -> None:
        masters = [one for one in elections(self.world) if one.is_master]
        for one in masters:
            assert self.of_term.setdefault(one.term, one.office.me) == one.office.me
            assert not one.in_minority
        assert len(masters) <= 1


def election_world(seed: int, size: int, kind: type[Election] = Election, **how: Any) -> World:
    def staff(desk: Desk) -> list[Part]:
        return [kind(desk, range(size), PACE, group="g")]

    world = World(seed, size, staff, **how)
    world.laws.append(OneMaster(world))
    return world


def agreed(world: World, some: frozenset[int]) -> None:
    found = {(one.master, one.term) for one in elections(world) if one.office.me in some}
    assert len(found) == 1, found
    assert next(iter(found))[0] in some


@settings(max_examples=25)
@given(seeds, sizes)
def test_one_master_per_term_and_time_and_all_agree_when_it_is_calm(seed: int, size: int) -> None:
    world = election_world(seed, size)
    world.trouble(6 * S)
    world.settle()
    world.run(world.now_us + BOUND_US)
    agreed(world, frozenset(range(size)))


@settings(max_examples=15)
@given(seeds)
def test_the_majority_part_of_a_cut_council_agrees_and_the_other_has_no_master(seed: int) -> None:
    world = election_world(seed, 5)
    world.settle()
    world.run(2 * S)
    few = set(world.rng.sample(range(5), 2))
    world.split({me: int(me in few) for me in range(5)})
    world.run(world.now_us + BOUND_US)
    agreed(world, frozenset(range(5)) - few)
    for one in elections(world):
        if one.office.me in few:
            assert one.master is None
            assert one.in_minority


class ReachableCounts(Election):
    """Wrong: a majority of whom it can reach."""

    @property
    def majority(self) -> int:
        return len(self.office.reachable() & set(self.members)) // 2 + 1


def test_a_majority_of_those_reachable_elects_two_masters() -> None:
    world = election_world(1, 5, ReachableCounts, calm=True)
    world.split({me: int(me > 2) for me in range(5)})
    with pytest.raises(AssertionError):
        world.run(3 * S)


@pytest.mark.parametrize("forgetful", [False, True])
def test_a_vote_that_is_not_written_is_given_twice(forgetful: bool) -> None:
    world = election_world(1, 3, calm=True, forgetful=forgetful)
    world.split({0: 0, 1: 0, 2: 1})
    world.run(S)
    assert elections(world)[0].is_master
    world.crash(1)
    world.start(1)
    world.split({0: 0, 1: 1, 2: 1})
    if forgetful:
        with pytest.raises(AssertionError):
            world.run(4 * S)
    else:
        world.run(4 * S)
        agreed(world, frozenset({1, 2}))
