"""Rivals and mixed colours: what single cases come to, and what the command line says."""

from dataclasses import replace
from pathlib import Path

import pytest

from ropewalk.errors import UsageError
from ropewalk.federation import Federation, save
from ropewalk.federation.facts import Broker, Domain, Link
from ropewalk.federation.generators import generate
from ropewalk.federation.generators.build import numbered
from ropewalk.routing.all_pairs import MOST_BROKERS, ground_of
from ropewalk.routing.mixed import flights, mixed
from ropewalk.routing.rivals import compare
from ropewalk.routing.rivals.comparison import schemes_of
from ropewalk.routing.rivals.outage import Timers, outages
from ropewalk.routing.rivals.scheme import Repair
from ropewalk.routing.rivals.timeline import FAST, SIX_NODES, timeline
from ropewalk.routing.trees import FAR
from tests.conftest import Run


@pytest.fixture
def route(ropewalk: Run) -> Run:
    """Run a verb of `ropewalk route`."""
    return lambda *arguments: ropewalk("route", *arguments)


def linked(text: str, *, edges: tuple[str, ...] = (), **costs: int) -> Federation:
    """A federation of links such as `a-b b-c`, costs by `ab=3`."""
    pairs = [tuple(pair.split("-")) for pair in text.split()]
    names = sorted({name for pair in pairs for name in pair})
    return Federation(
        name="small",
        brokers={name: Broker() for name in names},
        links=tuple(Link(between=(a, b), cost=costs.get(a + b, 1)) for a, b in pairs),
        domains={"d": Domain(gateways=tuple(n for n in names if n not in edges), edges=edges)},
    )


def repair_of(federation: Federation, name: str, kind: str = "links") -> Repair:
    graph = federation.graph
    scheme = next(s for s in schemes_of(graph, ground_of(graph), (2,)) if s.name == name)
    assert scheme.repair is not None
    return scheme.repair(kind, 0, graph.brokers)  # type: ignore[arg-type]


def test_every_scheme_has_a_row_for_what_it_protects() -> None:
    found = compare(generate("grid", rows=3, columns=3), layers=(2, 4))
    named = {(row.scheme, row.failures) for row in found.rows}
    both = {"PCRT", "LFA", "TI-LFA", "not-via", "MRC-2", "MRC-4", "MRT"}
    layers = {"RRL-2", "RRL-2 source", "RRL-4", "RRL-4 source", "remote LFA"}
    assert named == {(s, "links") for s in both | layers} | {(s, "brokers") for s in both}
    frame = found.frame()
    assert len(frame) == len(found.rows)
    assert (frame["recovered"] <= frame["cases"]).all()
    assert (frame["stretch_mean"].dropna() >= 1).all()


def test_a_tree_has_nothing_that_can_be_recovered() -> None:
    found = compare(generate("tree"))
    assert {(row.cases, row.coverage, row.stretch_mean) for row in found.rows} == {(0, None, None)}


def test_an_expensive_link_round_takes_a_label_per_detour() -> None:
    """a-b fails; c would go back over a-b, the link c-d is dear: node c, then the link c-d."""
    federation = linked("a-b a-c c-d b-d", cd=10)
    repair = repair_of(federation, "TI-LFA")
    a, b = 0, 1
    assert repair.labels is not None
    assert (int(repair.cost[b, a]), int(repair.labels[b, a])) == (12, 1)
    assert repair_of(federation, "LFA").choice[b, a] == -1
    dearer = linked("a-c c-d d-e e-b a-b", de=10)
    assert repair_of(dearer, "TI-LFA").labels[1, 0] == 2  # type: ignore[index]


def test_a_gateway_cannot_repair_through_an_edge_but_the_edge_can_turn_to_another() -> None:
    """x is an edge of two gateways: when g1 loses the way to t, x still has g2; g1 has nothing."""
    federation = linked("g-x h-x g-t h-t", edges=("x",))
    found = compare(federation, failures="links")
    assert found.row("PCRT").coverage == 1
    assert found.row("TI-LFA").coverage < 1  # type: ignore[operator]
    graph = federation.graph
    g, t = graph.names.index("g"), graph.names.index("t")
    assert repair_of(federation, "TI-LFA").cost[t, g] == FAR
    assert found.row("MRT").coverage == found.row("TI-LFA").coverage


def test_isolated_brokers_carry_nothing_in_their_configuration() -> None:
    found = compare(generate("ring", brokers=6), layers=(6,))
    assert found.row("MRC-6", "links").coverage == 1
    assert found.row("MRC-6", "brokers").coverage == 1
    # On a ring there is one way round; what had come half the way goes back over it.
    assert found.row("MRC-6", "brokers").stretch_max == pytest.approx(5 / 3)


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(UsageError, match="no links"):
        compare(Federation(name="alone", brokers={"a": Broker()}))
    with pytest.raises(UsageError, match="0 layers"):
        compare(generate("ring"), layers=(0,))
    many = numbered("many", [(0.0, 0.0)] * (MOST_BROKERS + 1), [(0, 1)])
    with pytest.raises(UsageError, match="too many to compare"):
        compare(many)
    with pytest.raises(UsageError, match="too many sets"):
        mixed(generate("ring", brokers=40), knowing="any")
    with pytest.raises(UsageError, match="two brokers"):
        next(flights(Federation(name="alone", brokers={"a": Broker()}), count=1, seed=1))
    with pytest.raises(UsageError, match="hello_ms is 50"):
        Timers(hello_ms=50, dead_ms=10)
    with pytest.raises(UsageError, match="flood_ms is -1"):
        Timers(flood_ms=-1)
    with pytest.raises(UsageError, match="no link is called so"):
        timeline(generate("ring"), replace(SIX_NODES, link="b1--b9"), FAST, "OSPF")


def test_who_does_not_know_and_who_does_send_a_message_back_and_forth() -> None:
    found = mixed(generate("ring", brokers=5))
    assert (found.counts["cases"], found.counts["loops"]) == (30, 20)
    assert str(found.witnesses[0]) == "b1--b2 changed, b1, b2 know: b2 > b3 > b2 (for b1)"
    frame = found.frame()
    assert frame["loops"].sum() == 20
    assert list(frame["link"])[:2] == ["b1--b2", "b2--b3"]


def test_an_end_that_does_not_know_loses_messages_in_the_failed_link() -> None:
    found = mixed(generate("ring", brokers=4), knowing="any")
    assert found.counts["lost"] > 0
    assert mixed(generate("ring", brokers=4), knowing="any", change="recovery").counts["lost"] == 0


def test_a_flight_without_changes_is_a_shortest_path() -> None:
    ring = generate("ring", brokers=7)
    for flight in flights(ring, count=20, seed=3, changes=0):
        assert (flight.fate, flight.changes) == ("delivered", ())
        assert flight.hops <= 3
        assert (flight.path[0], flight.path[-1]) == (flight.source, flight.to)


def test_flights_of_the_same_seed_are_the_same() -> None:
    fifty = generate("fifty-broker")
    first, second = (list(flights(fifty, count=5, seed=9, changes=3)) for _ in range(2))
    assert first == second


def test_carrying_saves_the_time_of_the_flood_and_ospf_adds_its_delay() -> None:
    timers = Timers(hello_ms=20, dead_ms=60, flood_ms=5, spf_delay_ms=200, switch_ms=1)
    found = outages(generate("fifty-broker"), timers)
    ospf, plain, carrying = (found.of(m) for m in ("OSPF", "PCRT", "PCRT carrying"))
    assert carrying.mean_ms == carrying.max_ms == 50 + 1
    assert carrying.waiting == 0
    assert plain.waiting == ospf.waiting != 0
    assert ospf.mean_ms
    assert plain.mean_ms
    assert ospf.mean_ms - plain.mean_ms == pytest.approx(200 - 1 + 0.15 + 4.9)
    assert plain.lost(1000) == pytest.approx(plain.mean_ms)
    assert list(found.frame()["method"]) == ["OSPF", "PCRT", "PCRT carrying"]


def test_a_federation_that_nothing_can_save_has_no_outages() -> None:
    found = outages(generate("tree")).of("PCRT")
    assert (found.cases, found.mean_ms, found.lost(1)) == (0, None, None)


def test_comparing_on_the_command_line(route: Run, tmp_path: Path) -> None:
    file = tmp_path / "f.yaml"
    save(generate("fifty-broker"), file)
    ran = route("compare", file, "--layers", 2, "--layers", 3, "--rate", 100)
    assert ran.code == 0
    assert max(map(len, ran.out.splitlines())) <= 80
    assert "RRL-3 source" in ran.out
    assert "lost at 100/s" in ran.out
    document = route("compare", file, "--json").document
    assert document["command"] == "route compare"
    summary = document["summary"]
    assert summary["schemes"][0]["scheme"] == "PCRT"
    assert summary["mixed"]["loops"] > summary["mixed"]["loops_carrying"] == 0
    assert [one["method"] for one in summary["outages"]] == ["OSPF", "PCRT", "PCRT carrying"]


def test_a_tree_and_long_names_are_told_in_eighty_columns(route: Run, tmp_path: Path) -> None:
    tree, long = tmp_path / "tree.yaml", tmp_path / "long.yaml"
    save(generate("tree"), tree)
    document = route("compare", tree, "--json").out
    assert "NaN" not in document
    assert " - " in route("compare", tree).out
    names = [f"a-broker-in-a-data-centre-{i}" for i in range(6)]
    ring = tuple(Link(between=(names[i], names[(i + 1) % 6])) for i in range(6))
    save(Federation(name="long", brokers={n: Broker() for n in names}, links=ring), long)
    assert max(map(len, route("compare", long).out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--layers", "0"], "0 layers"),
        (["--hello-ms", "50000"], "hello_ms is 50000"),
        (["--flood-ms", "nan"], "flood_ms is nan"),
    ],
)
def test_wrong_options_are_told_in_one_sentence(
    route: Run, tmp_path: Path, arguments: list[str], said: str
) -> None:
    file = tmp_path / "f.yaml"
    save(generate("ring"), file)
    ran = route("compare", file, *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert ran.err.count("\n") == 1


def test_comparing_on_maps(route: Run) -> None:
    ran = route("compare-maps", "--starting", "sndlib/p", "--most-brokers", 40)
    assert ran.code == 0
    assert max(map(len, ran.out.splitlines())) <= 80
    assert ran.out.startswith("3 maps")
    document = route("compare-maps", "--starting", "sndlib/pdh", "--json").document
    assert document["summary"]["maps"] == 1
    assert {row["map"] for row in document["summary"]["rows"]} == {"sndlib/pdh"}
    none = route("compare-maps", "--starting", "nowhere")
    assert (none.code, none.out) == (2, "")


def test_disconnected_parts_are_compared_each_by_itself() -> None:
    two = linked("a-b b-c a-c d-e e-f d-f")
    one = linked("a-b b-c a-c")
    for row in compare(one).rows:
        assert compare(two).row(row.scheme, row.failures).cases == 2 * row.cases
