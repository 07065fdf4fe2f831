"""Laws of the council: one master, one history, nothing lost or doubled when items move."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropewalk.overlay.council.cases import CaseLog
from ropewalk.overlay.council.election import Election
from ropewalk.overlay.council.handover import Delivered, Frontier
from ropewalk.overlay.council.settings import Pace
from ropewalk.overlay.council.shelf import fold, newest_cases
from ropewalk.overlay.council.words import Appoint, Body, Cases, Entry, Opaque, Switch
from ropewalk.overlay.parts import Part
from tests.laws.council_world import PACE, Desk, S, World
from tests.laws.mirror_world import HOMES, Town
from tests.laws.moving_world import faults, moving_world

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


# One history.


class History:
    """What members were told is decided: the same entry at the same number, for all and for ever."""

    def __init__(self, size: int, kind: type[Election] = Election, pace: Pace = PACE) -> None:
        self.size, self.kind, self.pace = size, kind, pace
        self.at: dict[int, Entry] = {}

    def staff(self, desk: Desk) -> list[Part]:
        last = [0]

        def told(now_us: int, entry: Entry) -> None:
            assert entry.number > last[0]
            last[0] = entry.number
            assert self.at.setdefault(entry.number, entry) == entry

        election = self.kind(desk, range(self.size), self.pace, group="g")
        return [election, CaseLog(desk, election, on_commit=told)]


def propose(world: World, body: Body) -> None:
    for desk in world.desks:
        for part in desk.parts:
            if isinstance(part, CaseLog):
                part.propose(world.now_us, body)


def logs(world: World) -> list[CaseLog]:
    return [p for d in world.desks for p in d.parts if isinstance(p, CaseLog)]


def busy(world: World, until_us: int) -> None:
    """Something is proposed all the time."""
    for at_us in range(0, until_us, 130_000):
        name = f"n{world.rng.randrange(6)}"
        body: Body = Opaque(name, b"%d" % at_us) if at_us % 3 else Appoint(name, at_us)
        world.later(at_us, lambda body=body: propose(world, body))  # type: ignore[misc]


@settings(max_examples=25)
@given(seeds, st.sampled_from([2, 3, 4, 5]), st.sampled_from([2, 64]))
def test_all_members_are_told_the_same_history(seed: int, size: int, tail: int) -> None:
    history = History(size, pace=Pace(tail=tail, note_bytes=300))
    world = World(seed, size, history.staff)
    world.laws.append(OneMaster(world))
    busy(world, 6 * S)
    world.trouble(6 * S)
    world.settle()
    world.run(world.now_us + BOUND_US)
    propose(world, Opaque("last", b""))
    world.run(world.now_us + S)
    ends = {fold(one.committed) for one in logs(world)}
    assert len(ends) == 1
    assert next(iter(ends))[-1].body == Opaque("last", b"")
    assert next(iter(ends)) == fold([history.at[n] for n in sorted(history.at)])


bodies = st.one_of(
    st.builds(Opaque, st.sampled_from("ab"), st.just(b"")),
    st.builds(Appoint, st.sampled_from("ab"), st.just(1)),
    st.builds(Switch, st.just((1,)), st.just(())),
    st.builds(
        Cases, st.sampled_from(["v", "w"]), st.sampled_from([0, 1]), st.just(2), st.just("t")
    ),
)


@given(st.lists(bodies, max_size=12), st.integers(0, 12))
def test_folding_early_changes_nothing(found: list[Body], at: int) -> None:
    entries = [Entry(1, number, body) for number, body in enumerate(found, 1)]
    whole = fold(entries)
    assert fold([*fold(entries[:at]), *entries[at:]]) == whole
    assert newest_cases(whole) == newest_cases(entries)
    assert len([one for one in whole if not isinstance(one.body, Cases)]) <= 5


# Controls.


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


def test_a_majority_of_those_reachable_decides_two_histories() -> None:
    history = History(5, ReachableCounts)
    world = World(1, 5, history.staff, calm=True)
    world.split({me: int(me > 2) for me in range(5)})
    with pytest.raises(AssertionError):
        world.run(3 * S)


# Mirrors.


@settings(max_examples=10)
@given(seeds, st.sets(st.integers(0, 4), min_size=1, max_size=2))
def test_items_of_dead_brokers_are_carried_by_others_and_come_home(
    seed: int, dead: set[int]
) -> None:
    town = Town(seed)
    world = town.world
    world.settle()
    world.run(2 * S)
    town.publish_cases()
    world.run(4 * S)
    for me in sorted(dead):
        world.crash(me)
        world.run(world.now_us + world.rng.randrange(1, S))
    world.run(world.now_us + 3 * S)
    for item, carriers in town.carriers().items():
        assert len(carriers) == 1, item
        assert carriers == {HOMES[item]} or HOMES[item] in dead
    for me in sorted(dead):
        world.start(me)
    world.run(world.now_us + 15 * S)
    assert town.carriers() == {item: {home} for item, home in HOMES.items()}
    assert {tuple(one.moves) for one in town.mirrors()} == {()}


@settings(max_examples=6)
@given(seeds)
def test_whatever_happened_all_items_are_home_when_it_is_calm(seed: int) -> None:
    town = Town(seed)
    town.world.run(2 * S)
    town.publish_cases()
    town.world.trouble(12 * S)
    town.world.settle()
    town.world.run(town.world.now_us + 2 * S)
    town.publish_cases()
    town.world.run(town.world.now_us + 20 * S)
    assert town.carriers() == {item: {home} for item, home in HOMES.items()}


# Moving.


@settings(max_examples=40)
@given(seeds)
def test_an_item_that_moves_loses_and_doubles_nothing(seed: int) -> None:
    world, item = moving_world(seed)
    assert not [one for desk in world.desks for one in desk.told]
    assert faults(item) == {"lost": set(), "twice": set()}


def test_without_the_frontier_letters_come_twice() -> None:
    assert any(faults(moving_world(seed, skips=False)[1])["twice"] for seed in range(5))


def test_without_the_buffer_letters_are_lost() -> None:
    assert any(faults(moving_world(seed, buffers=False)[1])["lost"] for seed in range(5))


letters = st.sets(
    st.tuples(st.integers(0, 1), st.integers(1, 2), st.sampled_from("ab"), st.integers(1, 12))
)


@given(letters, letters)
def test_a_frontier_covers_exactly_what_was_delivered(some: set[Any], others: set[Any]) -> None:
    one, other = Frontier.of(some), Frontier.of(others)
    every = [(o, i, t, n) for o in (0, 1) for i in (1, 2) for t in "ab" for n in range(14)]
    assert {id for id in every if one.covers(id)} == some
    assert one.join(other) == other.join(one) == Frontier.of(some | others)
    assert one.join(one) == one
    for _, ranges in one.streams:
        assert all(left[1] + 1 < right[0] for left, right in pairwise(ranges))


@given(letters)
def test_a_frontier_that_is_full_forgets_but_never_claims_too_much(some: set[Any]) -> None:
    book = Delivered(most_ranges=2, most_streams=3)
    for id in some:
        book.add(id)
    found = {id for id in some if book.covers(id)}
    assert book.exact == (found == some)
    frontier = book.frontier()
    assert all(frontier.covers(id) == (id in found) for id in some)
    assert len(frontier.streams) <= 3
    assert all(len(ranges) <= 2 for _, ranges in frontier.streams)
