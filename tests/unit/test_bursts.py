"""Bursts: topics of a group rise together, the same seed gives the same, and rates are kept."""

from pathlib import Path

import numpy as np
import pytest

from ropewalk.agent.drive import DrivePlan
from ropewalk.agent.drive.bursts import Bursts, Group, load_bursts
from ropewalk.agent.drive.pace import Steps
from ropewalk.errors import UsageError
from ropewalk.federation import loads

BURSTS = Bursts(
    groups=(
        Group(("shares/#",), 30, {"market": 0.5}, 0.1),
        Group(("bonds/#",), 30, {"market": -0.5}, 0.1),
        Group(("news",), 10),
    ),
    seed=7,
    step_s=0.5,
)
LONG = 4000


def test_topics_of_a_group_burst_together_and_against_the_other_group() -> None:
    names = ("shares/oil", "shares/tech", "bonds/long", "news")
    rates = np.array([BURSTS.rates_msgs_s(one, LONG) for one in names])
    together = np.corrcoef(rates[:3])
    assert together[0, 1] > 0.9
    assert together[0, 2] < -0.9
    assert rates[0].mean() == pytest.approx(30, rel=0.1)
    assert rates[0].std() == pytest.approx(30 * (0.25 + 0.01) ** 0.5, rel=0.15)
    assert set(rates[3]) == {10.0}


def test_the_same_seed_gives_the_same_rates_however_long_the_run_is() -> None:
    assert BURSTS.rates_msgs_s("shares/oil", 40) == BURSTS.rates_msgs_s("shares/oil", 80)[:40]
    other = Bursts(groups=BURSTS.groups, seed=8)
    assert other.rates_msgs_s("shares/oil", 40) != BURSTS.rates_msgs_s("shares/oil", 40)


def test_a_step_remembers_the_one_before_as_long_as_it_was_told() -> None:
    market = np.array(BURSTS.factor("market", LONG))
    assert np.corrcoef(market[1:], market[:-1])[0, 1] == pytest.approx(np.exp(-0.5), abs=0.06)
    assert market.std() == pytest.approx(1, abs=0.1)


def test_rates_never_fall_below_nothing() -> None:
    wild = Bursts(groups=(Group(("#",), 5, {"f": 3.0}),))
    assert min(wild.rates_msgs_s("t", LONG)) == 0


def test_a_schedule_of_steps_sends_what_the_rates_say() -> None:
    rates = BURSTS.rates_msgs_s("shares/oil", 40)
    steps, sent, now_s = Steps(rates_msgs_s=rates, step_s=0.5, start_s=100.0), 0, 100.0
    counts = [0] * 40
    while not steps.over(now_s):
        due = max(0, steps.due(now_s, sent))
        sent += due
        counts[min(39, int((now_s - 100.0) / 0.5))] += due
        now_s = steps.next_s(now_s)
    assert steps.skipped == 0
    assert np.abs(np.array(counts) - np.array(rates) * 0.5).max() <= 2
    assert sent == pytest.approx(sum(rates) * 0.5, abs=2)


def test_no_more_than_a_step_is_made_up_for_after_a_stall() -> None:
    steps = Steps(rates_msgs_s=[100.0, 100.0], step_s=1, start_s=0)
    assert steps.due(0.9, sent=10) == 80
    assert steps.skipped == 0
    assert steps.due(1.5, sent=0) == 100
    assert steps.skipped == 50


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("seed: 1", "groups"),
        ("groups: []", "length"),
        ("groups: [{topics: [a], rate_msgs_s: fast}]", "rate_msgs_s"),
        ("groups: [{topics: [a], rate_msgs_s: 1, swing: 2}]", "swing"),
        ("groups: [{topics: [a], rate_msgs_s: 1}]\nstep_s: 0", "step_s"),
        ("groups: [", "no YAML"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "bursts.yaml"
    file.write_text(text)
    with pytest.raises(UsageError, match=said):
        load_bursts(file)
    with pytest.raises(UsageError, match="cannot be read"):
        load_bursts(tmp_path / "none.yaml")


def test_a_topic_without_a_group_and_a_run_without_a_step_are_refused() -> None:
    with pytest.raises(UsageError, match="no group of the bursts has this topic"):
        BURSTS.check(["shares/oil", "gold"])
    federation = loads("federation: one\nbrokers: {a: {}}")
    with pytest.raises(UsageError, match="drive for longer"):
        DrivePlan(federation=federation, bursts=BURSTS, seconds=0.1)
