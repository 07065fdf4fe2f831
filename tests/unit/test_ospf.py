"""OSPF as a rival: adjacencies, flooding, the calculation, and packets that do not arrive."""

from collections.abc import Iterable
from dataclasses import replace
from math import inf

import numpy as np
import pytest

from ropewalk.errors import UsageError
from ropewalk.federation.arrays import Graph
from ropewalk.federation.facts import Federation
from ropewalk.federation.generators import generate
from ropewalk.federation.generators.build import numbered
from ropewalk.overlay.simulate.flooding import lsa_flood
from ropewalk.overlay.simulate.lsa import Ack, Database, Edge, Hello, Lsa, Speech, Stamp, Update
from ropewalk.overlay.simulate.lsdb import Flooding, first_links
from ropewalk.overlay.simulate.ospf import FAST_OSPF, OSPF, OspfRouter
from ropewalk.overlay.simulate.packets import (
    Doing,
    Line,
    Noticed,
    Out,
    Packet,
    PacketNetwork,
)
from ropewalk.overlay.simulate.routers import ByTable
from ropewalk.overlay.simulate.scenario_jia import course_of, ospf_scheme, run_scheme
from ropewalk.routing.table import shortest_rows

UNIT = 1_000_000
PAIR = numbered("pair", [(0.0, 0.0)] * 2, [(0, 1)]).graph


def random_federation(seed: int, brokers: int = 16, links: int = 26) -> Federation:
    rng = np.random.default_rng(seed)
    pairs = {(b - 1, b) for b in range(1, brokers)}
    while len(pairs) < links:
        a, b = sorted(rng.choice(brokers, 2, replace=False).tolist())
        pairs.add((a, b))
    return numbered(f"random-{seed}", [(0.0, 0.0)] * brokers, sorted(pairs))


def said(doings: Iterable[Doing]) -> list[Speech]:
    return [one.packet.body for one in doings if isinstance(one, Out)]


def hear(router: OspfRouter, at: float, speech: Speech) -> list[Doing]:
    return list(router.received(round(at * UNIT), 0, Packet(0, speech)))


def started() -> OspfRouter:
    router = OspfRouter(PAIR, 0, OSPF)
    assert said(router.start(0)) == [Hello(0, frozenset())]
    return router


def full() -> OspfRouter:
    router = started()
    hear(router, 1, Hello(1, frozenset([0])))
    hear(router, 2, Database((), answer=True))
    return router


def test_a_neighbour_that_has_not_heard_us_is_greeted_by_name_and_no_more() -> None:
    router = started()
    assert hear(router, 1, Hello(1, frozenset())) == []
    assert said(router.due(10 * UNIT)) == [Hello(0, frozenset([1]))]


def test_heard_both_ways_databases_are_compared_then_the_link_is_announced() -> None:
    router = started()
    listed = said(hear(router, 1, Hello(1, frozenset([0]))))
    assert listed == [Database((Stamp(0, 1),), answer=False)]
    asked = hear(router, 2, Database((Stamp(1, 7),), answer=False))
    assert [type(one).__name__ for one in said(asked)] == ["Database", "Request"]
    assert hear(router, 3, Database((), answer=True)) == []  # what was asked for has not come
    done = hear(router, 6, Update((Lsa(1, 7, (Edge(0, 0, 1),)),)))
    assert Noticed(0, up=True) in done
    assert Update((Lsa(0, 2, (Edge(0, 1, 1),)),)) in said(done)


def test_an_exchange_that_is_not_answered_is_repeated() -> None:
    router = started()
    hear(router, 1, Hello(1, frozenset([0])))
    assert router.wake_us <= 6 * UNIT
    assert said(router.due(6 * UNIT)) == [Database((Stamp(0, 1),), answer=False)]


def test_a_neighbour_silent_for_the_dead_interval_is_down_and_not_before() -> None:
    router = full()
    for time in range(5, 41):
        assert not any(isinstance(one, Noticed) for one in router.due(time * UNIT))
    assert Noticed(0, up=False) in router.due(41 * UNIT)


def test_a_neighbour_that_no_longer_names_us_has_to_start_anew() -> None:
    assert Noticed(0, up=False) in hear(full(), 12, Hello(1, frozenset()))


def test_the_calculation_waits_for_its_delay_and_its_hold_time() -> None:
    """The first change was at 0, so it is at 5; one at 6 has to wait until 10 after that."""
    router, first = full(), dict[int, float]()
    hear(router, 3, Update((Lsa(1, 1, (Edge(0, 0, 1),)),)))
    for tenth in range(30, 300):
        if tenth == 60:
            more = (Lsa(1, 2, (Edge(0, 0, 1), Edge(1, 2, 1))), Lsa(2, 1, (Edge(1, 1, 1),)))
            hear(router, 6, Update(more))
        if router.wake_us <= tenth * UNIT // 10:
            router.due(tenth * UNIT // 10)
        for to in (1, 2):
            if router.next_link(to) == 0:
                first.setdefault(to, tenth / 10)
    assert first == {1: 5, 2: 15}


def test_an_lsa_goes_on_to_all_others_is_acknowledged_and_repeated_until_it_is() -> None:
    flooding, lsa = Flooding(9, rxmt_us=5), Lsa(1, 4, ())
    for link in (0, 1, 2):
        flooding.open(link)
    told, changed = flooding.updated(0, 1, Update((lsa,)))
    assert changed
    assert told == [(0, Update((lsa,))), (2, Update((lsa,))), (1, Ack((Stamp(1, 4),)))]
    flooding.acked(0, Ack((Stamp(1, 4),)))
    assert flooding.due(4) == []
    assert flooding.due(5) == [(2, Update((lsa,)))]
    assert flooding.updated(6, 2, Update((lsa,))) == ([], False)  # a copy acknowledges as well
    assert flooding.settled


def test_an_old_lsa_is_answered_with_the_newer_one_and_a_known_one_acknowledged() -> None:
    flooding = Flooding(9, rxmt_us=5)
    flooding.open(0)
    flooding.lsdb[1] = Lsa(1, 4, ())
    assert flooding.updated(0, 0, Update((Lsa(1, 3, ()),))) == (
        [(0, Update((Lsa(1, 4, ()),)))],
        False,
    )
    assert flooding.updated(0, 0, Update((Lsa(1, 4, ()),))) == ([(0, Ack((Stamp(1, 4),)))], False)


def test_a_router_that_hears_an_lsa_of_its_own_from_before_a_restart_goes_beyond_it() -> None:
    flooding = Flooding(9, rxmt_us=5)
    flooding.open(0)
    flooding.originate(0, (Edge(0, 1, 1),), stub=False)
    flooding.updated(0, 0, Update((Lsa(9, 40, ()),)))
    assert flooding.lsdb[9] == Lsa(9, 41, (Edge(0, 1, 1),))


def test_a_link_that_only_one_end_names_is_not_used() -> None:
    lsdb = {0: Lsa(0, 1, (Edge(0, 1, 1),)), 1: Lsa(1, 1, ())}
    assert first_links(lsdb, 0) == {}


def test_nothing_goes_through_a_router_without_transit() -> None:
    edges = {(0, 1): 0, (1, 2): 1, (0, 3): 2, (3, 4): 3, (4, 2): 4}
    near: dict[int, list[Edge]] = {u: [] for u in range(5)}
    for (a, b), link in edges.items():
        near[a].append(Edge(link, b, 1))
        near[b].append(Edge(link, a, 1))
    lsdb = {u: Lsa(u, 1, tuple(near[u]), stub=u == 1) for u in range(5)}
    assert first_links(lsdb, 0) == {1: 0, 2: 2, 3: 2, 4: 2}


def network(graph: Graph) -> tuple[PacketNetwork, list[OspfRouter]]:
    routers = [OspfRouter(graph, b, FAST_OSPF) for b in range(graph.brokers)]
    starts = [b * 97_000 % UNIT for b in range(graph.brokers)]
    line = Line(bits_per_unit=10_000_000, buffer=100)
    return PacketNetwork(graph, [ByTable(one) for one in routers], line, starts), routers


def assert_shortest(graph: Graph, routers: list[OspfRouter], down: int | None = None) -> None:
    """By the product's own kernel, with the link left out."""
    left = [e for e in range(graph.links) if e != down]
    pairs = [tuple(graph.ends[e].tolist()) for e in left]
    rows = shortest_rows(numbered("left", [(0.0, 0.0)] * graph.brokers, pairs).graph)
    for at, router in enumerate(routers):
        for to in range(graph.brokers):
            if at != to:
                ends = set(graph.ends[router.next_link(to)].tolist())
                assert ends == {at, int(rows[to, at])}


@pytest.mark.parametrize("seed", range(3))
def test_all_routers_settle_on_canonical_shortest_paths_after_start_failure_and_recovery(
    seed: int,
) -> None:
    graph = random_federation(seed).graph
    extra = next(e for e, (a, b) in enumerate(graph.ends.tolist()) if b - a > 1)
    net, routers = network(graph)
    net.run(15 * UNIT)
    assert_shortest(graph, routers)
    net.at(15 * UNIT, net.set_link, extra, False)
    net.run(25 * UNIT)
    assert_shortest(graph, routers, down=extra)
    net.at(25 * UNIT, net.set_link, extra, True)
    net.run(35 * UNIT)
    assert_shortest(graph, routers)


def test_control_without_a_calculation_everything_is_lost_to_the_end() -> None:
    six = generate("six-node")
    scheme = ospf_scheme("never", replace(FAST_OSPF, spf_delay=inf))
    run = run_scheme(six, scheme, course_of(six), line=Line())
    assert run.measures.lost == run.measures.sent == 150
    assert {one.why for one in run.fates} == {"no route"}


def test_the_flood_of_one_failure_is_counted_exactly() -> None:
    """An LSA crosses every line but the one it came by: 2 (L - 1) - (N - 1) times, for both ends."""
    graph = random_federation(0, brokers=200, links=400).graph
    extra = next(e for e, (a, b) in enumerate(graph.ends.tolist()) if b - a > 1)
    found = lsa_flood(graph, extra)
    assert found.lsas == 2 * (2 * 399 - 199)
    assert found.reached == 200
    assert 2 * 199 <= found.acks <= found.lsas
    with pytest.raises(UsageError, match="no link 400"):
        lsa_flood(graph, 400)
