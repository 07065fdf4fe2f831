from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropewalk.errors import UsageError
from ropewalk.pipeline.rates.peaks import Loads, Peak, PeakRule, peak_of

HOUR_S = 3600


def loads_from(counts: dict[int, int], window_s: int, first: int, last: int) -> Loads:
    windows = sorted(counts)
    return Loads(
        window_s * 10**9,
        first,
        last,
        np.array(windows, np.int64),
        np.array([counts[w] for w in windows], np.int64),
    )


def listed(peak: Peak) -> list[int]:
    return [w for a, b in zip(peak.starts, peak.stops, strict=True) for w in range(a, b)]


@st.composite
def traffic(draw: st.DrawFn) -> tuple[dict[int, int], int, int, int]:
    """Loads over up to four days, with windows from 5 minutes to more than an hour."""
    window_s = draw(st.sampled_from([300, 420, 900, 3600, 5000]))
    first = draw(st.integers(-400, 400))
    last = first + draw(st.integers(0, 4 * 24 * HOUR_S // window_s))
    counts = draw(
        st.dictionaries(st.integers(first, last), st.integers(1, 4), min_size=1, max_size=40)
    )
    return counts, window_s, first, last


def busiest_by_hand(
    counts: dict[int, int], window_s: int, first: int, last: int, k: int
) -> list[int]:
    """Every hour of every day that has messages, sorted by load; no array in sight."""
    hours: dict[int, list[int]] = {}
    for w in range(first, last + 1):
        hours.setdefault(w * window_s // HOUR_S, []).append(w)
    chosen: list[int] = []
    for day in {hour // 24 for hour in hours}:
        own = [hour for hour in hours if hour // 24 == day]
        load = {hour: sum(counts.get(w, 0) for w in hours[hour]) for hour in own}
        if any(load.values()):
            for hour in sorted(own, key=lambda h: (-load[h], h))[:k]:
                chosen += hours[hour]
    return sorted(chosen)


@given(traffic(), st.integers(1, 5))
def test_the_busiest_hours_are_those_found_by_hand(
    case: tuple[dict[int, int], int, int, int], k: int
) -> None:
    peak = peak_of(loads_from(*case), PeakRule("busiest", hours=k))
    assert listed(peak) == busiest_by_hand(*case, k)
    assert peak.windows == len(listed(peak))


@given(traffic(), st.sampled_from([0.0, 0.1, 0.5, 0.9, 0.95, 1.0]))
def test_the_quantile_counts_windows_without_messages(
    case: tuple[dict[int, int], int, int, int], quantile: float
) -> None:
    counts, _, first, last = case
    loads = [counts.get(w, 0) for w in range(first, last + 1)]
    least = np.quantile(loads, quantile, method="inverted_cdf")
    peak = peak_of(loads_from(*case), PeakRule("quantile", quantile=quantile))
    assert listed(peak) == [w for w in range(first, last + 1) if counts.get(w, 0) >= least]


@given(traffic())
def test_all_windows_are_the_whole_span(case: tuple[dict[int, int], int, int, int]) -> None:
    loads = loads_from(*case)
    peak = peak_of(loads, PeakRule("all"))
    assert listed(peak) == list(range(loads.first, loads.last + 1))
    assert peak.windows == loads.span


@given(
    traffic(), st.sampled_from(["busiest", "quantile", "all"]), st.lists(st.integers(-900, 2000))
)
def test_a_peak_holds_its_windows_and_no_other(
    case: tuple[dict[int, int], int, int, int], kind: Any, asked: Sequence[int]
) -> None:
    peak = peak_of(loads_from(*case), PeakRule(kind))
    inside = set(listed(peak))
    assert peak.holds(np.array(asked, np.int64)).tolist() == [w in inside for w in asked]


def test_ties_go_to_the_earlier_hour_and_empty_windows_of_it_count() -> None:
    peak = peak_of(loads_from({5 * 12 + 3: 7, 9 * 12: 7}, 300, 0, 287), PeakRule())
    assert listed(peak) == list(range(60, 72))


def test_a_day_without_messages_has_no_busiest_hour() -> None:
    loads = loads_from({3: 1, 24 * 3 + 5: 1}, HOUR_S, 0, 24 * 4 - 1)
    assert listed(peak_of(loads, PeakRule())) == [3, 24 * 3 + 5]


def test_one_wrong_clock_does_not_fill_the_memory() -> None:
    loads = loads_from({0: 1, 2 * 10**9: 1}, 1, 0, 2 * 10**9)
    assert peak_of(loads, PeakRule()).windows == HOUR_S + (2 * 10**9) % HOUR_S + 1
    assert peak_of(loads, PeakRule("all")).windows == 2 * 10**9 + 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "rush"}, "write busiest, quantile, between or all"),
        ({"hours": 0}, "from 1 to 24"),
        ({"quantile": 1.5}, "from 0 to 1"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        PeakRule(**options)


def test_rules_say_what_they_choose() -> None:
    assert PeakRule("busiest", hours=3).text == "the 3 busiest hours of each UTC day"
    assert "0.9" in PeakRule("quantile", quantile=0.9).text
    assert PeakRule("all").text == "all windows"


def test_windows_between_two_times_are_those_that_begin_there() -> None:
    loads = loads_from({5: 1, 9: 4}, 1, 3, 20)
    rule = PeakRule("between", from_ns=4_500_000_000, until_ns=10_000_000_000)
    assert listed(peak_of(loads, rule)) == [5, 6, 7, 8, 9]
    assert rule.text == "windows of 5.5 s from 00:00:04 UTC on"
    early = PeakRule("between", from_ns=0, until_ns=5_000_000_000)
    assert listed(peak_of(loads, early)) == [3, 4]
    never = PeakRule("between", from_ns=10**12, until_ns=10**12 + 1)
    assert peak_of(loads, never).windows == 0
    with pytest.raises(UsageError, match="later than the beginning"):
        PeakRule("between", from_ns=1, until_ns=1)
