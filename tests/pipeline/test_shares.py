"""The interval of a share holds what it promises on windows that are alike, the naive does not."""

from collections.abc import Iterator
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import lfilter

from ropewalk.errors import UsageError
from ropewalk.pipeline.shares import (
    Reals,
    effective_windows,
    naive_share_of,
    share_of,
    wilson,
)

SEED, ROUNDS = 20151, 400


def series(rng: np.random.Generator, windows: int, memory: float) -> Reals:
    """A first-order autoregressive series of variance 1."""
    steps = rng.normal(size=windows + 400) * np.sqrt(1 - memory**2)
    made: Reals = lfilter([1], [1, -memory], steps)[400:]
    return made


def iter_series(rng: np.random.Generator, windows: int, memory: float) -> Iterator[Reals]:
    return (series(rng, windows, memory) for _ in range(ROUNDS))


def bursts(rng: np.random.Generator, windows: int, busy_s: float, calm_s: float) -> Reals:
    """A load that is 1 in bursts and 0 between them, for so many windows on average each."""
    lasting = rng.geometric(1 / np.tile([busy_s, calm_s], windows // 10))
    made = np.repeat(np.tile([1.0, 0.0], windows // 10), lasting)
    return made[100 : windows + 100]


@pytest.mark.parametrize("memory", [0.5, 0.8, 0.9])
@pytest.mark.parametrize("truth", [0.05, 0.2])
def test_intervals_cover_where_the_naive_ones_do_not(memory: float, truth: float) -> None:
    rng = np.random.default_rng(SEED)
    brink = NormalDist().inv_cdf(1 - truth)
    covered = naive = 0
    for _ in range(ROUNDS):
        values = series(rng, 3600, memory)
        ours, other = share_of(values > brink, values), naive_share_of(values > brink)
        covered += ours.low <= truth <= ours.high
        naive += other.low <= truth <= other.high
    assert 0.90 <= covered / ROUNDS <= 0.99
    assert naive / ROUNDS < 0.90
    assert naive / ROUNDS < covered / ROUNDS - 0.05


def test_intervals_cover_bursts() -> None:
    rng = np.random.default_rng(SEED)
    covered = naive = 0
    for _ in range(ROUNDS):
        values = bursts(rng, 3600, 12, 108)
        ours, other = share_of(values > 0.5, values), naive_share_of(values > 0.5)
        covered += ours.low <= 0.1 <= ours.high
        naive += other.low <= 0.1 <= other.high
    assert 0.90 <= covered / ROUNDS <= 0.99
    assert naive / ROUNDS < 0.75


def test_few_separate_bursts_can_be_told_by_the_effective_windows() -> None:
    """Where the interval is too narrow: less than five effective windows in which it happened."""
    rng = np.random.default_rng(SEED)
    brink = NormalDist().inv_cdf(0.95)
    found = [share_of(values > brink, values) for values in iter_series(rng, 600, 0.98)]
    assert 0.75 <= np.mean([one.low <= 0.05 <= one.high for one in found]) < 0.9
    assert np.mean([one.share * one.effective_windows < 5 for one in found]) > 0.95


def test_independent_windows_lose_little() -> None:
    rng = np.random.default_rng(SEED)
    widths = []
    for _ in range(ROUNDS):
        happened = rng.random(3600) < 0.05
        ours, other = share_of(happened), naive_share_of(happened)
        widths.append((ours.high - ours.low) / (other.high - other.low))
    assert 1.0 < np.mean(widths) < 1.4


def test_never_is_less_sure_where_values_are_alike() -> None:
    """No window is over: that alone would look like 3,600 independent windows."""
    values = series(np.random.default_rng(SEED), 3600, 0.95)
    never = np.zeros(3600, bool)
    blind, ours, naive = share_of(never), share_of(never, values), naive_share_of(never)
    assert ours.low == naive.low == 0
    assert ours.high > 3 * naive.high
    assert blind.effective_windows == 3600 > 10 * ours.effective_windows
    always = share_of(~never, values)
    assert always.low == pytest.approx(1 - ours.high)
    assert always.high == 1


@given(st.lists(st.booleans(), min_size=1, max_size=300), st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_the_interval_holds_the_share_and_the_naive_interval(
    happened: list[bool], level: float
) -> None:
    ours = share_of(np.array(happened), level=level)
    naive = naive_share_of(np.array(happened), level=level)
    assert 0 <= ours.low <= ours.share <= ours.high <= 1
    assert ours.low <= naive.low + 1e-12
    assert naive.high <= ours.high + 1e-12
    assert 0 < ours.effective_windows <= len(happened)


def test_a_higher_level_is_wider() -> None:
    happened = series(np.random.default_rng(SEED), 500, 0.5) > 1
    low, high = share_of(happened, level=0.8), share_of(happened, level=0.99)
    assert high.low < low.low < low.high < high.high


def test_known_values() -> None:
    assert effective_windows(np.ones(7)) == 7
    assert wilson(0.0, 10, 1.96)[0] == 0
    assert wilson(0.5, 10, 0.0) == (0.5, 0.5)
    with pytest.raises(UsageError, match="no windows"):
        share_of(np.zeros(0, bool))
    with pytest.raises(UsageError, match="level 95"):
        share_of(np.zeros(3, bool), level=95)
