"""Laws of order: each letter once, streams in order, receipts that claim nothing too much."""

from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from ropewalk.overlay.order.takeover import Takeover
from tests.laws.lanes import Line
from tests.laws.total_world import World

SEEDS = st.integers(0, 1 << 32)


@settings(max_examples=150)
@given(SEEDS, st.sampled_from((2, 5, 64)), st.booleans())
def test_a_lane_gives_each_letter_once_and_streams_in_order(
    seed: int, most: int, ordered: bool
) -> None:
    line = Line(seed, most, ordered)
    line.run(120)
    assert not line.doubled()
    assert not line.lost()
    assert not line.origin.kept
    assert not ordered or not line.out_of_order()


@given(SEEDS)
def test_a_lane_never_holds_more_than_it_may(seed: int) -> None:
    line = Line(seed, most=6)
    for _ in range(120):
        line.step()
        extras = sum(len(line.release.extras(i)) for i in line.release.incarnations)
        assert line.release.held + extras <= 6


def test_a_destination_that_delivers_by_arrival_is_found_out() -> None:
    found = 0
    for seed in range(20):
        line = Line(seed, wrong=True)
        line.run(120)
        found += bool(line.out_of_order())
    assert found > 10


@settings(max_examples=80)
@given(SEEDS, st.sampled_from((4, 12, 64)), st.integers(3, 5), st.sampled_from((0.02, 0.06)))
def test_all_readers_of_a_total_order_agree(
    seed: int, most: int, size: int, mishaps: float
) -> None:
    world = World(seed, size, most, mishaps=mishaps)
    world.run(600)
    assert not world.disagreements()
    assert not world.doubled()
    assert not world.lost()
    assert not any(world.kept.values()), "an origin waits for ever"


@settings(max_examples=40)
@given(SEEDS)
def test_tails_that_take_many_notes_come_whole(seed: int) -> None:
    with patch("ropewalk.overlay.order.reading.PIECE", 2):
        world = World(seed, mishaps=0.05, disks_fail=False)
        world.run(500)
    assert not world.disagreements()
    assert not world.doubled()
    assert not world.lost()


def test_a_reader_that_delivers_by_arrival_is_found_out() -> None:
    assert found_out(by_arrival=True) > 5


def test_a_takeover_that_asks_only_some_readers_is_found_out() -> None:
    with patch.object(Takeover, "missing", only_some):
        assert found_out() > 0


def found_out(**world: bool) -> int:
    """How many of some worlds show readers that disagree, or letters doubled or lost."""
    found = 0
    for seed in range(40):
        one = World(seed, size=4, mishaps=0.04, **world)  # type: ignore[arg-type]
        one.run(400)
        found += bool(one.disagreements() or one.doubled() or one.lost())
    return found


def only_some(takeover: Takeover, readers: frozenset[int]) -> set[int]:
    waiting = all_missing(takeover, readers)
    return set() if len(waiting) < len(readers) else waiting


all_missing = Takeover.missing
