"""Laws of order: each letter once, streams in order, receipts that claim nothing too much."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws.lanes import Line

SEEDS = st.integers(0, 1 << 32)


@settings(max_examples=300)
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
