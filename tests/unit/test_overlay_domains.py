"""Domains in the overlay: who has tables, who hears what, and what edges do."""

import pytest

from ropewalk import generate, loads
from ropewalk.errors import UsageError
from ropewalk.federation.facts import Federation
from ropewalk.overlay import Agent, Setup
from ropewalk.overlay.chart import HERE, NONE, chart_of, detour
from ropewalk.overlay.deck import Deck
from ropewalk.overlay.domains import GATEWAYS, HOME, DomainChart
from ropewalk.overlay.events import Burst, Closed, Received, Send
from ropewalk.overlay.gazette import Gazette
from ropewalk.overlay.rules import rules_of
from ropewalk.overlay.runs import singles
from ropewalk.overlay.settings import Settings
from ropewalk.overlay.simulate import Load, parse_faults, plan_of, random_faults, simulate
from ropewalk.overlay.simulate.fleet import Fleet
from ropewalk.overlay.simulate.growth import (
    cost_of,
    failures_of,
    fleet_of,
    in_domains_of,
    keeper_of,
)
from ropewalk.overlay.simulate.world import Physics
from ropewalk.overlay.words import INTEREST, LINKS, Flood, Frame, Item, LinkStates

TWO = """
federation: two
brokers: {a1: {}, a2: {}, x: {}, y: {}, b1: {}, z: {}}
domains:
  a: {gateways: [a1, a2], edges: [x, y]}
  b: {gateways: [b1], edges: [z]}
links:
  - {between: [a1, a2]}
  - {between: [a1, b1]}
  - {between: [a2, b1]}
  - {between: [a1, x]}
  - {between: [a2, x]}
  - {between: [a2, y]}
  - {between: [b1, z]}
topics:
  t: {publishers: [z], subscribers: [x, b1], contract: {delivery: exactly-once, order: fifo}}
"""
PROMOTED = """
federation: an-edge-is-promoted
domains:
  uk: {gateways: [g1, busy], edges: [edge]}
brokers: {g1: {}, busy: {}, edge: {}, far: {}, other: {}}
links:
  - {between: [g1, busy]}
  - {between: [g1, edge]}
  - {between: [busy, edge]}
  - {between: [g1, far], cost: 1}
  - {between: [g1, other], cost: 1}
  - {between: [busy, far], cost: 10}
  - {between: [busy, other], cost: 10}
topics:
  out: {publishers: [edge], subscribers: [far]}
  in: {publishers: [other], subscribers: [edge]}
  own: {publishers: [far], subscribers: [busy]}
"""
"""A broker with clients of its own is the last gateway, over dear links: an edge to be promoted."""
A1, A2, X, Y, B1, Z = range(6)
A1_A2, A1_B1, A2_B1, A1_X, A2_X, A2_Y, B1_Z = range(7)


@pytest.fixture(scope="module")
def two() -> DomainChart:
    chart = chart_of(loads(TWO))
    assert isinstance(chart, DomainChart)
    return chart


def row(chart: DomainChart, at: int, *down: int, dead: tuple[int, ...] = ()) -> list[int]:
    found = chart.roads(at, slow_cost=8).row(down, dead)
    return [found[to] for to in range(len(found))]


def test_only_gateways_have_tables(two: DomainChart) -> None:
    assert len(two.tables.brokers) == 3
    assert two.attached == {X: ((A1, A1_X), (A2, A2_X)), Y: ((A2, A2_Y),), Z: ((B1, B1_Z),)}


def test_edges_send_everything_to_their_first_gateway_that_is_up(two: DomainChart) -> None:
    assert row(two, X) == [A1_X, A2_X, HERE, A2_X, A1_X, A1_X]
    assert row(two, X, A1_X) == [A2_X, A2_X, HERE, A2_X, A2_X, A2_X]
    assert row(two, X, A1_X, A2_X) == [NONE, NONE, HERE, NONE, NONE, NONE]


def test_other_domains_aim_at_an_edges_first_gateway(two: DomainChart) -> None:
    assert row(two, B1)[X] == A1_B1
    assert row(two, B1, A1_B1, A1_A2, dead=(A1,))[X] == A2_B1


def test_who_passes_over_a_gateway_says_so(two: DomainChart) -> None:
    assert row(two, A1, A1_X)[X] == detour(A1_A2)
    assert row(two, A1, A1_X, A1_A2)[X] == detour(A1_B1)
    assert row(two, B1, A1_X)[X] == detour(A2_B1)


def test_an_edge_that_no_gateway_reaches_cannot_be_reached(two: DomainChart) -> None:
    assert row(two, A1, A1_X, A2_X)[X] == NONE


def test_an_edge_keeps_off_a_gateway_that_is_cut_off(two: DomainChart) -> None:
    found = two.roads(X, slow_cost=8).row((), (), (), frozenset({(A1, B1), (A1, A2)}))
    assert found[Z] == A2_X
    assert found[A1] == A1_X


def test_news_of_links_have_their_scope(two: DomainChart) -> None:
    assert two.parts(A1) == {"": GATEWAYS, HOME: two.domain[A1]}
    assert two.parts(X) == {HOME: two.domain[X]}
    assert GATEWAYS in two.audience(A1)
    assert GATEWAYS not in two.audience(X)


@pytest.mark.parametrize(
    "more",
    [
        "  - {between: [x, y]}\n",
        "  - {between: [b1, x]}\n",
        "  - {between: [x, z]}\n",
    ],
)
def test_where_edges_have_other_links_all_brokers_have_tables(more: str) -> None:
    text = TWO.replace("topics:", f"{more}topics:")
    assert not isinstance(chart_of(loads(text)), DomainChart)
    with pytest.raises(UsageError, match="does not go on"):
        chart_of(loads(text), before=chart_of(loads(TWO)), epoch=2)


def test_a_federation_that_began_flat_stays_so() -> None:
    first = chart_of(generate("three-broker"))
    assert not isinstance(chart_of(loads(TWO), before=first, epoch=2), DomainChart)


def test_an_edge_that_dies_costs_nobody_outside_a_word() -> None:
    federation = in_domains_of(60, size=10)
    fleet = fleet_of(federation, chart_of(federation))
    fleet.run(500_000)
    costs = {
        what: cost_of(fleet, what, link, broker)
        for what, link, broker in failures_of(fleet.chart)
        if what != "gateway"
    }
    assert (costs["edge"].told, costs["edge"].outside) == (9, 0)
    # And of a link between gateways edges hear nothing: there are twelve gateways.
    assert costs["gateway link"].told == 12


def test_an_edge_that_is_away_holds_up_no_subscription_in_other_domains() -> None:
    federation = loads(TWO)
    faults = parse_faults("at 100 ms crash y for 6 s")
    load = Load(rate_msgs_s=5, duration_us=1_000_000, settle_us=8_000_000, late=1.0)
    run = simulate(federation, plan_of(federation, faults, load, seed=3))
    assert not run.violations
    confirmed = [us for us, _, broker, *_ in run.journal.of("confirm") if broker == B1]
    assert confirmed
    assert min(confirmed) < 3_000_000


def test_random_faults_break_no_promise_in_domains() -> None:
    federation = loads(TWO)
    for seed in range(6):
        faults = random_faults(federation, 4, seed=seed, duration_us=1_000_000)
        load = Load(rate_msgs_s=20, duration_us=1_000_000, settle_us=15_000_000)
        assert not simulate(federation, plan_of(federation, faults, load, seed=seed)).violations


def test_a_broker_with_clients_carries_nothing_for_others_until_it_is_the_only_gateway() -> None:
    federation, busy, killed_us = loads(PROMOTED), 1, 1_000_000
    faults = parse_faults("at 1 s crash g1 for 10 s")
    load = Load(rate_msgs_s=100, duration_us=2_000_000, settle_us=2_000_000)
    run = simulate(
        federation, plan_of(federation, faults, load, seed=3), physics=Physics(words=True)
    )
    assert not run.violations
    carried = [us for us, _, _, sender, *_ in run.journal.of("carry") if sender == busy]
    assert carried
    assert min(carried) > killed_us


def test_a_burst_goes_round_a_link_that_is_down() -> None:
    """A way on which others are told what to avoid is a way."""
    federation = loads(TWO)
    agent = Agent(Setup(me=A1, chart=chart_of(federation), rules=rules_of(federation)))
    agent.start(0, settled=True)
    agent.handle(Received(A1_X, Flood((Item(INTEREST, X, "u", 1, 1, True),))), 0)
    agent.handle(Closed(A1_X), 1)
    done = agent.handle(Burst("u", [b"1", b"2"], [1, 2]), 2)
    frames = [(one.link, one.word) for one in done if isinstance(one, Send)]
    sent = [(link, word) for link, word in frames if isinstance(word, Frame) and word.parcels]
    assert [link for link, _ in sent] == [A1_A2]
    parcels = list(singles(sent[0][1].parcels))
    assert [(one.letter.payload, one.avoid) for one in parcels] == [
        (b"1", (A1_X,)),
        (b"2", (A1_X,)),
    ]


def test_news_of_two_brokers_do_not_cancel_out_in_the_digest() -> None:
    chart = chart_of(generate("six-broker"))
    one, other = (Gazette(Deck(0, chart, Settings(), 1)) for _ in range(2))
    for broker in (1, 2):
        one.take(Item(LINKS, broker, "", 1, 1, LinkStates()))
        other.take(Item(LINKS, broker, "", 1, 2, LinkStates()))
    assert one.digest(chart.audience(0)) != other.digest(chart.audience(0))


def detected(federation: Federation, *, lazy: bool) -> tuple[int, int, list[tuple[int, ...]]]:
    chart = chart_of(federation)
    delays = [3_000] * len(chart.link_ends)
    fleet = Fleet(chart, rules_of(federation), delays, lazy=lazy, seed=5)
    fleet.run(700_000)
    fleet.cut(2)
    fleet.run(1_700_000)
    fleet.kill(3)
    start_us, fleet.tally.first_us = fleet.now_us, None
    fleet.run(start_us + 1_000_000)
    return fleet.tally.first_us or 0, fleet.tally.things_us, sorted(fleet.colours())


@pytest.mark.parametrize("federation", [generate("grid", rows=3, columns=3), loads(TWO)])
def test_beats_that_are_not_simulated_change_nothing(federation: Federation) -> None:
    lazy, full = (detected(federation, lazy=one) for one in (True, False))
    beat_us = Settings().beat_us
    assert lazy[2] == full[2]
    assert abs(lazy[0] - full[0]) <= beat_us
    assert abs(lazy[1] - full[1]) <= beat_us


def test_an_origin_keeps_what_nobody_acknowledges() -> None:
    assert len(keeper_of(50, 10).custody()) == 50
