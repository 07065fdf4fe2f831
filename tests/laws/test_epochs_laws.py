"""Laws of epochs: brokers and links join and leave under traffic, and nothing is lost by it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropewalk import loads
from ropewalk.federation.facts import Federation
from ropewalk.overlay.chart import Chart, chart_of
from ropewalk.overlay.epochs import Epochs
from ropewalk.overlay.simulate import Load, Run, parse_faults, plan_of, random_faults, simulate
from ropewalk.overlay.simulate.turning import random_turns
from ropewalk.overlay.simulate.turns import Turn, Turns, whole_of

S = 1_000_000
SQUARE = """
federation: square
domains: {west: {gateways: [a, b], edges: []}}
brokers: {a: {}, b: {}, c: {}, d: {}}
links:
  - {between: [a, b], latency_ms: 3}
  - {between: [b, c], latency_ms: 10}
  - {between: [c, d], latency_ms: 3}
  - {between: [d, a], latency_ms: 10}
topics:
  once: {publishers: [a, d], subscribers: [b, c], contract: {delivery: exactly-once, order: fifo}}
  least: {publishers: [c], subscribers: [a, d], contract: {delivery: at-least-once, order: none}}
  here: {publishers: [a], subscribers: [b], scope: domain, contract: {delivery: exactly-once}}
  loose: {publishers: [a], subscribers: [c], contract: {delivery: best-effort, order: none}}
"""


def square() -> Federation:
    return loads(SQUARE)


def without(federation: Federation, *, link: frozenset[str] = frozenset(), broker: str = "") -> Any:
    """The federation after a link or a broker has left."""
    links = (one for one in federation.links if broker not in one.between)
    kept = tuple(one for one in links if frozenset(one.between) != link)
    brokers = {name: one for name, one in federation.brokers.items() if name != broker}
    return replace(federation, links=kept, brokers=brokers)


def run(turns: tuple[Turn, ...], *, seed: int = 1, faults: Any = (), rate: float = 50) -> Run:
    federation = square()
    load = Load(rate_msgs_s=rate, duration_us=2 * S, settle_us=15 * S)
    plan = plan_of(whole_of(federation, turns), faults, load, seed=seed)
    return simulate(federation, replace(plan, charts=turns))


@given(st.integers(0, 10**6))
@settings(max_examples=12, deadline=None)
def test_nothing_is_lost_or_doubled_while_the_chart_changes_and_things_fail(seed: int) -> None:
    turns = random_turns(square(), 1 + seed % 3, seed=seed, duration_us=2 * S)
    faults = random_faults(whole_of(square(), turns), seed % 4, seed=seed, duration_us=2 * S)
    done = run(turns, seed=seed, faults=faults)
    assert not done.violations
    assert len(done.journal.of("chart")) == len(turns)


def test_an_agent_that_dies_before_it_has_the_chart_holds_nobody_up() -> None:
    later = without(square(), link=frozenset("bc"))
    faults = parse_faults("at 900 ms crash c for 4 s")
    done = run((Turn(S, later),), faults=faults)
    switched = [entry[0] for entry in done.journal.of("tell") if entry[3] == "epoch"]
    assert not done.violations
    assert len([us for us in switched if us < 3 * S]) == 3


def test_a_broker_that_leaves_is_drained_first(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = (Turn(S, without(square(), broker="d")),)
    faults = parse_faults("at 900 ms partition d for 1 s")
    assert not run(turns, faults=faults).violations
    monkeypatch.setattr(Turns, "_drained", lambda _self, _host: True)
    assert "M001" in {one.code for one in run(turns, faults=faults).violations}


def test_what_a_broker_that_left_wanted_fills_no_queue() -> None:
    done = run((Turn(S, without(square(), broker="c")),))
    assert not done.violations
    assert not done.journal.custody


def went_round(done: Run) -> int:
    """How often a message was dropped because it had crossed too many links."""
    return sum(entry[3] == "hop limit" for entry in done.journal.of("tell"))


def test_tables_come_first_and_the_switch_after(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = (Turn(S, without(square(), link=frozenset("bc"))),)
    assert not went_round(run(turns, rate=200, seed=2))
    monkeypatch.setattr(Epochs, "_has", lambda _self, _broker: 99)
    assert went_round(run(turns, rate=200, seed=2))


def numbered_anew(chart: Chart) -> Chart:
    """A chart whose domains are numbered as the tables number them."""
    return replace(chart, domain_number=())


@pytest.mark.parametrize(("spoil", "same"), [(lambda chart: chart, True), (numbered_anew, False)])
def test_domains_keep_their_numbers(spoil: Callable[[Chart], Chart], same: bool) -> None:
    first = chart_of(square())
    more = {"east": replace(square().domains["west"], gateways=("c",))}
    second = replace(square(), domains={**more, **square().domains})
    charts = spoil(first), spoil(chart_of(second, epoch=2, before=first))
    assert (charts[0].domain[0] == charts[1].domain[0]) is same
