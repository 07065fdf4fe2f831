"""Random faults on small federations break no promise; and broken agents are found out."""

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from typing import Any

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropewalk.federation import Federation
from ropewalk.federation.facts import Broker, Contract, Domain, Link, Route, Topic
from ropewalk.overlay.agent import Agent, Setup
from ropewalk.overlay.chart import HERE, NONE, Chart, Roads, chart_of
from ropewalk.overlay.interface import Interface
from ropewalk.overlay.rules import rules_of
from ropewalk.overlay.runs import singles
from ropewalk.overlay.settings import Settings
from ropewalk.overlay.simulate import Load, Run, parse_faults, plan_of, simulate
from ropewalk.overlay.simulate.campaign import run_of_seed
from ropewalk.overlay.simulate.cores import Core, Maker
from ropewalk.overlay.simulate.scenarios import ring_of_five
from ropewalk.overlay.words import Frame, Parcel

S = 1_000_000
ONCE = Contract(delivery="exactly-once", order="fifo")
SCHEDULES, CHUNK = 500, 25


def _broken(first: int) -> tuple[list[str], int]:
    """What some seeds break, and how much was due in them."""
    runs = [(seed, run_of_seed(seed, duration_us=S // 2)) for seed in range(first, first + CHUNK)]
    broken = [f"seed {seed}: {run.violations[0].message}" for seed, run in runs if run.violations]
    return broken, sum(1 for _, run in runs for _ in run.account.due())


def test_random_faults_break_no_promise() -> None:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        parts = list(pool.map(_broken, range(0, SCHEDULES, CHUNK)))
    assert [one for broken, _ in parts for one in broken] == []
    assert sum(due for _, due in parts) > 50 * SCHEDULES  # else nothing was asked of them


def kite(contract: Contract = ONCE) -> Federation:
    """a - b, then b to e by c or by d: a link two hops from the origin has a way round it."""
    pairs = (("a", "b"), ("b", "c"), ("b", "d"), ("c", "e"), ("d", "e"))
    return Federation(
        name="kite",
        brokers={name: Broker() for name in "abcde"},
        links=tuple(Link(between=pair, latency_ms=2) for pair in pairs),
        topics={"t": Topic(publishers=("a",), subscribers=("e",), contract=contract)},
    )


def run(of: Federation, faults: str, make: Maker | None = None, **load: Any) -> Run:
    wanted = Load(**{"rate_msgs_s": 200, "duration_us": 2 * S, "settle_us": 8 * S, **load})
    return simulate(of, plan_of(of, parse_faults(faults), wanted), make)


BLACKHOLE_TWO_LINKS_AWAY = "at 1 s blackhole c--e"


def test_blackhole_two_links_away() -> None:
    done = run(kite(), BLACKHOLE_TWO_LINKS_AWAY)
    assert done.violations == ()
    assert len(done.account.first[(4, "e")]) == 400


class Deduplicating(Agent):
    """A broken variant: it drops what it has carried before, as the first prototype did."""

    def __init__(self, setup: Setup, records: Any = ()) -> None:
        super().__init__(setup, records)
        self._carried: set[Any] = set()
        shipping, carry = self.shipping, self.shipping.frame_came

        def once(face: Interface, frame: Frame) -> None:
            carry(face, replace_parcels(frame, tuple(self._new(frame))))

        shipping.frame_came = once  # type: ignore[method-assign]

    def _new(self, frame: Frame) -> Iterator[Parcel]:
        for parcel in singles(frame.parcels):
            if parcel.letter.id not in self._carried or parcel.to[0].to == self.me:
                self._carried.add(parcel.letter.id)
                yield parcel


def replace_parcels(frame: Frame, parcels: tuple[Parcel, ...]) -> Frame:
    """The same frame with other parcels."""
    return Frame(frame.epoch, frame.session, frame.number, parcels, frame.notes, frame.items)


def deduplicating(of: Federation) -> Maker:
    """Makes agents of the broken variant."""
    chart, rules = chart_of(of), rules_of(of)

    def make(me: int, incarnation: int, records: tuple[Any, ...]) -> Core:
        setup = Setup(me=me, chart=chart, rules=rules, incarnation=incarnation)
        return Deduplicating(setup, records)

    return make


def test_deduplication_in_transit_loses_messages_and_is_found_out() -> None:
    of = kite()
    done = run(of, BLACKHOLE_TWO_LINKS_AWAY, deduplicating(of))
    assert "M001" in {one.code for one in done.violations}


def test_without_receipts_from_the_log_a_crash_loses_messages_and_is_found_out() -> None:
    """A broken variant: a publisher is told `accepted` before the record is safe."""

    of = kite()
    chart, rules = chart_of(of), rules_of(of)

    def make(me: int, incarnation: int, records: tuple[Any, ...]) -> Core:
        agent = Agent(Setup(me=me, chart=chart, rules=rules, incarnation=incarnation), records)
        agent.book.logged(1 << 60)
        agent.book.logged = lambda count: None  # type: ignore[method-assign]
        return agent

    from ropewalk.overlay.simulate.world import Physics

    faults = parse_faults("at 900 ms cut a--b for 300 ms; at 1 s crash agent of a for 1 s")
    plan = plan_of(of, faults, Load(rate_msgs_s=500, duration_us=2 * S, settle_us=8 * S))
    slow = Physics(sync_us=20_000)
    assert simulate(of, plan, physics=slow).violations == ()
    assert "M001" in {one.code for one in simulate(of, plan, make, physics=slow).violations}


def _domains() -> Federation:
    of = replace(kite(), domains={"d": Domain(gateways=("c", "e"))})
    topic = Topic(publishers=("c",), subscribers=("e",), scope="domain", contract=ONCE)
    return replace(of, topics={"local": topic})


def _free(order: str) -> Federation:
    return kite(Contract(delivery="at-most-once", order=order))  # type: ignore[arg-type]


def _total() -> Federation:
    contract = Contract(delivery="exactly-once", order="total", home="c")
    topic = Topic(publishers=("a", "e"), subscribers=("a", "d", "e"), contract=contract)
    return replace(kite(), topics={"t": topic})


@pytest.mark.parametrize(
    ("name", "of", "faults"),
    [
        (
            "a subscription survives its broker's restart",
            ring_of_five(),
            "at 1 s crash r0 for 12 ms",
        ),
        (
            "an origin without its disk learns who subscribes before it accepts",
            ring_of_five(),
            "at 830 ms crash r0 without disk for 1010 ms",
        ),
        ("a domain's topic takes no detour", _domains(), "at 1 s cut c--e for 500 ms"),
        (
            "at most once holds across a restart of the destination",
            _free("fifo"),
            "at 960 ms partition a silently for 137 ms; at 1200 ms crash agent of e for 81 ms",
        ),
        (
            "a broker that wakes up alone confirms nothing for others",
            kite(),
            "at 0.4 s stall e for 0.4 s",
        ),
        (
            "what a home kept goes to the next one",
            _total(),
            "at 900 ms partition c for 1400 ms; at 1500 ms stall d for 244 ms",
        ),
        (
            "a home without its disk gets a new term",
            _total(),
            "at 1 s crash c without disk for 0.3 s",
        ),
        ("a reader's restart misses nothing", _total(), "at 1 s crash agent of e for 900 ms"),
        ("words held back for long are not taken for new", kite(), "at 1 s hold c--e for 700 ms"),
        ("a flapping link", kite(), "at 500 ms flap c--e every 60 ms for 1500 ms"),
    ],
)
def test_schedules_that_once_broke_something(name: str, of: Federation, faults: str) -> None:
    done = run(of, faults, late=0.2, leaving=0.2, rate_msgs_s=100)
    assert [one.message for one in done.violations] == [], name


@st.composite
def damaged(draw: st.DrawFn) -> tuple[Federation, frozenset[int], frozenset[int], frozenset[int]]:
    """A small federation; some links down, some brokers held for dead, some links slow."""
    count = draw(st.integers(2, 7))
    pairs = [(a, b) for a in range(count) for b in range(a)]
    some = draw(st.lists(st.sampled_from(pairs), min_size=1, unique=True))
    costs = draw(st.lists(st.integers(1, 5), min_size=len(some), max_size=len(some)))
    of = Federation(
        name="f",
        brokers={f"b{i}": Broker() for i in range(count)},
        links=tuple(
            Link(between=(f"b{a}", f"b{b}"), cost=cost)
            for (a, b), cost in zip(some, costs, strict=True)
        ),
    )
    links = st.frozensets(st.integers(0, len(some) - 1), max_size=3)
    dead = draw(st.frozensets(st.integers(0, count - 1), max_size=2))
    return of, draw(links), dead, draw(links)


@settings(max_examples=60, deadline=None)
@given(damaged())
def test_one_knowledge_leads_everywhere_and_never_round(
    case: tuple[Federation, frozenset[int], frozenset[int], frozenset[int]],
) -> None:
    of, down, dead, slow = case
    chart = chart_of(of)
    rows = [Roads(chart, b).row(down, dead, slow) for b in range(len(chart.names))]
    for to in range(len(rows)):
        graph = nx.Graph()
        graph.add_nodes_from(range(len(rows)))
        graph.add_edges_from(
            ends
            for e, ends in enumerate(chart.link_ends)
            if e not in down and not (dead - {to}).intersection(ends)
        )
        for start in set(range(len(rows))) - dead:
            at, seen = start, {start}
            while rows[at][to] not in (HERE, NONE):
                at = chart.other(rows[at][to], at)
                assert at not in seen
                seen.add(at)
            assert (at == to) == nx.has_path(graph, start, to)


@settings(max_examples=300, deadline=None)
@given(damaged(), st.data())
def test_slow_links_make_no_loop_that_hand_made_routes_do_not_make_without_them(
    case: tuple[Federation, frozenset[int], frozenset[int], frozenset[int]], data: st.DataObject
) -> None:
    of, down, dead, slow = case
    ends = [(a, b) for link in of.links for a, b in (link.between, link.between[::-1])]
    made = [
        Route(at=at, to=data.draw(st.sampled_from(list(of.brokers))), next=next_)
        for at, next_ in data.draw(st.lists(st.sampled_from(ends), min_size=1, max_size=4))
    ]
    routes = tuple(one for one in made if one.at != one.to)
    chart = chart_of(replace(of, routes=routes))
    plain = [Roads(chart, b).row(down, dead) for b in range(len(chart.names))]
    slowly = [Roads(chart, b).row(down, dead, slow) for b in range(len(chart.names))]
    for to in range(len(plain)):
        for start in set(range(len(plain))) - dead:
            assert goes_round(chart, plain, start, to) or not goes_round(chart, slowly, start, to)


def goes_round(chart: Chart, rows: list[list[int]], start: int, to: int) -> bool:
    at, seen = start, {start}
    while rows[at][to] not in (HERE, NONE):
        at = chart.other(rows[at][to], at)
        if at in seen:
            return True
        seen.add(at)
    return False


def test_bounded_stores_stay_bounded_while_a_destination_is_away() -> None:
    of = kite()
    small = Settings(queue=100, window=16, held=64)
    faults = parse_faults("at 500 ms crash e for 3 s")
    plan = plan_of(of, faults, Load(rate_msgs_s=200, duration_us=2 * S, settle_us=20 * S))
    done = simulate(of, plan, settings=small)
    assert done.violations == ()
    assert done.journal.of("refuse")
    assert (
        max(size for (name, _), size in done.journal.peaks.items() if name == "longest lane") == 100
    )
