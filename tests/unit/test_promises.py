"""What topics promise and `verify` refuses, and that agents really do what it is refused for."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ropewalk import loads
from ropewalk.agent.brokers.contract import Outgoing
from ropewalk.agent.brokers.mqtt.outbox import Outbox
from ropewalk.agent.deliveries import Deliveries, Delivery
from ropewalk.federation.contracts import DELIVERY, ORDER, WATCHED, promises_of
from ropewalk.federation.facts import Client, Contract, Federation, Order, Topic
from ropewalk.findings import Finding, rules
from ropewalk.overlay.events import Deliver
from ropewalk.overlay.simulate import Load, Plan, Run, parse_faults, plan_of, simulate
from ropewalk.overlay.simulate.plan import Publication
from ropewalk.overlay.words import Letter
from ropewalk.pipeline.audit import contracts as audited
from ropewalk.verify import verify
from ropewalk.verify.contracts import RULES, Checked, style_of_facts
from ropewalk.verify.contracts.findings import MOST, contracts_of
from ropewalk.verify.contracts.makes import LAST_HOP
from ropewalk.verify.contracts.style_findings import style_findings
from tests import bench as workbench
from tests.conftest import Run as Ropewalk

S = 1_000_000
TRIANGLE = "links: [{between: [a, b]}, {between: [b, c]}, {between: [c, a]}]"


def federation(topic: str, *, brokers: str = "{a: , b: , c: }", more: str = "") -> Federation:
    return loads(f"{{federation: f, brokers: {brokers}, {TRIANGLE}, topics: {{{topic}}}{more}}}")


def found(given: Federation) -> list[tuple[str, str]]:
    return [(one.code, one.severity) for one in verify(given).findings]


def told(given: Federation, code: str) -> Finding:
    (one,) = [one for one in verify(given).findings if one.code == code]
    return one


SURVIVE = ", requirements: {survive: {brokers: 1}}"
RING = "{a: {takeover: [b]}, b: {takeover: [c]}, c: {takeover: [a]}}"


# --- one list of names ----------------------------------------------------------------------


def test_every_promise_is_watched_by_design_and_in_traces() -> None:
    assert set(WATCHED) == {*DELIVERY, *ORDER, "within_ms"} - {"none"}
    codes = {code for one in WATCHED.values() for code in (*one.design, *one.audit)}
    assert codes <= set(rules())
    assert {f"A{i:03}" for i in range(1, 11)} == {code for code in codes if code[0] == "A"}
    assert {f"S{i}" for i in range(18, 25)} <= codes
    assert promises_of("S24") == ("total",)


def test_the_page_has_the_table_of_promises_and_the_rules() -> None:
    page = (Path(__file__).parents[2] / "docs" / "contracts.md").read_text("utf-8")
    for promise, watch in WATCHED.items():
        row = (f"`{promise}`", ", ".join(watch.design) or "nobody", ", ".join(watch.audit))
        assert f"| {' | '.join(row)} |" in page
    for code, rule in RULES.items():
        assert f"| {code} | {rule.words.removesuffix('.')} |" in page


def test_the_audit_takes_its_names_from_the_same_list() -> None:
    assert vars(audited)["DELIVERY"] is DELIVERY
    assert vars(audited)["ORDER"] is ORDER
    assert DELIVERY[audited.EXACTLY_ONCE] == "exactly-once"
    assert ORDER[audited.TOTAL] == "total"


# --- the last hop ---------------------------------------------------------------------------


def once(make: str, more: str = "", delivery: str = "exactly-once") -> Federation:
    contract = f"contract: {{delivery: {delivery}{more}}}"
    brokers = f"{{a: , b: {{make: {make}}}, c: }}"
    return federation(f"t: {{publishers: [a], subscribers: [b], {contract}}}", brokers=brokers)


def test_exactly_once_is_refused_where_the_last_hop_cannot_know_doubles() -> None:
    assert found(once("rabbitmq")) == [("S19", "error")]
    assert found(once("nats")) == [("S19", "note")]  # it depends on who subscribes
    assert found(once("mosquitto")) == [("S19", "note")]  # only if the agent is killed
    assert found(once("rabbitmq", ", idempotent: true")) == []
    assert found(once("rabbitmq", delivery="at-least-once")) == []


def test_at_most_once_may_come_twice_where_brokers_confirm() -> None:
    makes = {make: found(once(make, delivery="at-most-once")) for make in ("nats", "mosquitto")}
    assert makes == {"nats": [("S19", "warning")], "mosquitto": []}


class Wire:
    """An open connection that remembers what was written."""

    open, behind, receive_maximum, maximum_packet_bytes = True, False, 100, 1 << 20

    def __init__(self) -> None:
        self.written: list[bytes] = []

    def write(self, parts: Sequence[bytes]) -> None:
        self.written.append(b"".join(parts))


def test_packet_ids_of_mosquittos_last_hop_outlive_its_connection_and_not_its_agent() -> None:
    """So a message that is handed over again is known as the same, unless the agent was killed."""
    wire, outbox = Wire(), Outbox(lambda _: False)
    some = [Outgoing("t", b"", id=name, once=True) for name in ("one", "two")]
    outbox.begin(wire, session=True)  # type: ignore[arg-type]
    outbox.add(some)
    outbox.pump()
    for again in (outbox, Outbox(lambda _: False)):
        again.begin(wire, session=True)  # type: ignore[arg-type]
        again.add(some[1:])
        again.pump()
    first, connected, killed = wire.written
    duplicate = bytes((0x3C,))  # QoS 2, sent before
    assert connected == duplicate + first[len(first) // 2 + 1 :]
    assert killed == first[: len(first) // 2]  # under another id, as if it was new


def test_the_page_of_brokers_says_what_verify_goes_by() -> None:
    page = (Path(__file__).parents[2] / "docs" / "brokers.md").read_text("utf-8")
    table = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines()]
    head = next(row for row in table if row and row[0] == "")
    told = {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in table if len(row) == 4}
    assert [make.lower() for make in head[1:]] == list(LAST_HOP)
    for make, hop in zip(head[1:], LAST_HOP.values(), strict=True):
        exact = told["last hop, exactly once"][make]
        assert exact.startswith("not possible") != hop.drops_doubles
        assert ("double" in exact) == hop.drops_doubles  # and when there is one nevertheless
        assert told["last hop, at most once"][make].startswith("what was") == hop.gives_again
        order = told["order by priority"][make]
        assert order.startswith("what waits keeps its place") != hop.sorts
        assert order.endswith("publishers cannot give one") != hop.tells_priority


class Forgetful:
    """A broker that confirms nothing."""

    busy = False

    def __init__(self) -> None:
        self.given: list[str] = []

    def deliver(self, messages: Sequence[Outgoing]) -> None:
        self.given += [one.topic for one in messages]


def test_agents_give_again_what_was_not_confirmed_whatever_was_promised() -> None:
    """So at-most-once is not kept there; QoS 0 needs no confirmation, and is not given again."""
    local = Forgetful()
    deliveries = Deliveries(local, lambda _: None, lambda _: None)  # type: ignore[arg-type]
    deliveries.broker_up()
    letter = Letter(0, 1, "at-most-once", 1, b"")
    deliveries.add([Delivery(Outgoing(letter.topic, b""), Deliver(letter, ("c",)))])
    deliveries.broker_down()
    deliveries.broker_up()
    assert local.given == ["at-most-once", "at-most-once"]


def test_what_a_broker_gives_its_own_clients_is_not_the_agents_last_hop() -> None:
    topic = "t: {publishers: [b], subscribers: [b], contract: {delivery: exactly-once}}"
    assert found(federation(topic, brokers="{a: , b: {make: rabbitmq}, c: }")) == []


def test_clients_that_are_taken_over_may_get_a_message_again() -> None:
    topic = "t: {publishers: [a], subscribers: [b], contract: {delivery: exactly-once}}"
    brokers = RING.replace("takeover", "make: mosquitto, takeover")
    assert found(federation(topic, brokers=brokers)) == [("S19", "note")]
    assert found(federation(topic, brokers=brokers, more=SURVIVE)) == [("S19", "warning")]


def test_priorities_end_at_brokers_that_do_not_sort() -> None:
    topic = "t: {publishers: [a], subscribers: [b], contract: {order: priority}}"
    assert found(federation(topic)) == [("S22", "note")]  # nobody can give one
    rabbit = "{a: {make: rabbitmq}, b: , c: }"
    assert found(federation(topic, brokers=rabbit)) == [("S22", "warning")]
    both = rabbit.replace("b: ", "b: {make: rabbitmq}")
    assert found(federation(topic, brokers=both)) == []


# --- bridges --------------------------------------------------------------------------------


def bridged(make: str, qos: int, contract: str = "{}", subscribers: str = "[b]") -> Federation:
    return loads(
        f"{{federation: f, brokers: {{a: {{make: {make}}}, b: {{make: {make}}}, c: }},"
        f" bridges: [{{from: a, to: b, qos: {qos}}}, {{from: a, to: c, qos: {qos}}}],"
        f" topics: {{t: {{publishers: [a], subscribers: {subscribers}, contract: {contract}}}}}}}"
    )


@pytest.mark.parametrize(
    ("make", "qos", "delivery", "expected"),
    [
        ("mosquitto", 0, "best-effort", []),
        ("mosquitto", 0, "at-most-once", []),
        ("mosquitto", 0, "at-least-once", [("S18", "warning")]),
        ("mosquitto", 0, "exactly-once", [("S18", "error")]),
        ("mosquitto", 1, "at-least-once", []),
        ("mosquitto", 1, "at-most-once", [("S15", "error")]),
        ("mosquitto", 1, "exactly-once", [("S15", "error")]),
        ("mosquitto", 2, "exactly-once", []),
        ("nats", 2, "at-least-once", [("S18", "warning")]),
        ("rabbitmq", 0, "at-least-once", []),
        ("rabbitmq", 2, "exactly-once", [("S15", "error")]),
    ],
)
def test_a_bridge_keeps_what_its_make_and_qos_allow(
    make: str, qos: int, delivery: str, expected: list[tuple[str, str]]
) -> None:
    assert found(bridged(make, qos, f"{{delivery: {delivery}}}")) == expected


@pytest.mark.parametrize(
    ("ends", "qos", "contract", "expected"),
    [
        (("mosquitto", "rabbitmq"), 2, "exactly-once", "RabbitMQ makes 1.*: let links carry it"),
        (("mosquitto", "rabbitmq"), 2, "at-most-once", "set qos: 0, or"),
        (("mosquitto", "mosquitto"), 1, "exactly-once", "set qos: 2, or"),
        (("mosquitto", "rabbitmq"), 2, "exactly-once, idempotent: true", ""),
        (("rabbitmq", "rabbitmq"), 0, "exactly-once, idempotent: true", ""),
        (("mosquitto", "rabbitmq"), 2, "at-least-once", ""),
    ],
)
def test_doubles_of_a_bridge_go_by_both_its_ends_and_by_who_reads(
    ends: tuple[str, str], qos: int, contract: str, expected: str
) -> None:
    given = loads(
        f"{{federation: f, brokers: {{a: {{make: {ends[0]}}}, b: {{make: {ends[1]}}}}},"
        f" bridges: [{{from: a, to: b, qos: {qos}}}], topics: {{t: {{publishers: [a],"
        f" subscribers: [b], contract: {{delivery: {contract}}}}}}}}}"
    )
    assert found(given) == ([("S15", "error")] if expected else [])
    for one in verify(given).findings:
        assert re.search(expected, one.message)


def test_a_bridge_is_told_once_with_its_topics_and_only_if_it_is_crossed() -> None:
    given = loads(
        "{federation: f, brokers: {a: {make: mosquitto}, b: , c: },"
        " bridges: [{from: a, to: b, patterns: [t/#]}, {from: a, to: c, patterns: [u]}],"
        " topics: {t/1: {publishers: [a], subscribers: [b]}, t/2: {publishers: [a],"
        " subscribers: [b]}}}"
    )
    one = told(given, "S18")
    assert isinstance(one.witness, dict)
    assert (one.witness["bridge"], one.witness["topics"]) == (1, ["t/1", "t/2"])


def test_bridges_give_no_total_order() -> None:
    assert found(bridged("mosquitto", 2, "{order: total}")) == []  # one reader has one order
    several = bridged("mosquitto", 2, "{order: total}", subscribers="[b, c]")
    assert found(several) == [("S23", "error")]


def test_a_total_order_is_not_split_between_links_and_bridges() -> None:
    text = (
        "{federation: f, brokers: {a: {make: mosquitto}, b: , c: }, links: [{between: [a, b]}],"
        " bridges: [{from: a, to: c, qos: 2}], topics: {t: {publishers: [a], subscribers: [b, c],"
        " contract: {order: total}}}}"
    )
    assert found(loads(text)) == [("S23", "error")]
    assert found(loads(text.replace("[b, c]", "[b]"))) == []
    assert found(loads(text.replace("[b, c]", "[c]"))) == []


# --- whose contract counts ------------------------------------------------------------------


def test_a_name_published_under_a_pattern_has_its_own_contract() -> None:
    """As agents have it: t/x from a is exactly-once, and the bridge loses it."""
    given = loads(
        "{federation: f, brokers: {a: {make: mosquitto}, b: {make: mosquitto}, c: {make:"
        " mosquitto}}, links: [{between: [c, b]}], bridges: [{from: a, to: b, qos: 0}],"
        " topics: {t/x: {publishers: [c], subscribers: [b], contract: {delivery: exactly-once,"
        " idempotent: true}}, t/#: {publishers: [a], contract: {delivery: best-effort}}}}"
    )
    assert found(given) == [("S18", "error")]
    assert told(given, "S18").witness == {
        "bridge": 1,
        "make": "mosquitto",
        "qos": 0,
        "topics": ["t/x"],
    }


def test_publishers_of_a_pattern_publish_names_in_total_order_too() -> None:
    wide = "t/#: {publishers: [b], contract: {order: none}}"
    given = federation(f"{total(name='t/x')}, {wide}")
    assert found(given) == [("S23", "error")]
    assert "b has publishers and subscribers of it" in told(given, "S23").message
    assert found(federation(f"{total(name='t/x')}, {wide.replace('[b]', '[a]')}")) == []


def test_readers_of_a_name_are_not_promised_what_its_pattern_promises() -> None:
    brokers = "{a: , b: {make: rabbitmq}, c: {make: mosquitto}}"
    promise = "contract: {delivery: exactly-once}}"
    topics = (
        f"t/#: {{publishers: [a], subscribers: [c], {promise},"
        " t/x: {publishers: [c], subscribers: [b], contract: {delivery: best-effort}}"
    )
    assert ("S19", "error") not in found(federation(topics, brokers=brokers))
    shadowed = (
        "t/#: {publishers: [c], subscribers: [c], contract: {delivery: best-effort}},"
        f" t/+: {{publishers: [a], subscribers: [b], {promise}"
    )
    assert found(federation(shadowed, brokers=brokers)) == []  # the first pattern of the file


def test_only_promises_of_topics_that_are_asked_for_are_judged() -> None:
    given = federation(
        f"{once_topic(1)}, {once_topic(2)}", brokers="{a: , b: {make: rabbitmq}, c: }"
    )
    one = verify(given, topics=["t1"])
    assert [finding.message.split()[0] for finding in one.findings] == ["t1"]


# --- order ----------------------------------------------------------------------------------


def total(more: str = "", *, readers: str = "[b, c]", name: str = "t", at: str = "[a]") -> str:
    contract = f"{{delivery: at-least-once, order: total{more}}}"
    return f"{name}: {{publishers: {at}, subscribers: {readers}, contract: {contract}}}"


def run(given: Federation, faults: str = "", seconds: float = 2.0) -> Run:
    load = Load(rate_msgs_s=50, duration_us=int(seconds * S), settle_us=8 * S)
    return simulate(given, plan_of(given, parse_faults(faults) if faults else (), load))


def codes(one: Run) -> set[str]:
    return {violation.code for violation in one.violations}


def test_at_most_once_in_total_order_is_refused_and_a_restarted_reader_repeats_itself() -> None:
    topic = total().replace("at-least-once", "at-most-once")
    given = federation(topic, brokers="{a: , b: {make: mosquitto}, c: {make: mosquitto}}")
    assert ("S20", "error") in found(given)
    assert "M002" in codes(run(given, "at 1 s crash agent of b for 1 s"))
    alone = federation(topic.replace("total", "fifo"))
    assert codes(run(alone, "at 1 s crash agent of b for 1 s")) == set()


def square(topic: str) -> Federation:
    """Two near pairs of brokers, far from each other: orders of arrival differ."""
    return loads(
        "{federation: f, brokers: {a: , b: , c: , d: }, links: [{between: [a, b], latency_ms: 1},"
        " {between: [b, c], latency_ms: 20}, {between: [c, d], latency_ms: 1},"
        f" {{between: [d, a], latency_ms: 20}}], topics: {{{topic}}}}}"
    )


def test_a_pattern_has_no_total_order_and_a_name_has() -> None:
    pattern = square(total(name="t/+", readers="[b, d]", at="[a, c]"))
    name = square(total(name="t/x", readers="[b, d]", at="[a, c]"))
    assert (found(pattern), found(name)) == ([("S23", "error")], [])
    assert (codes(run(pattern)), codes(run(name))) == ({"M003"}, set())


def test_a_pattern_with_one_reading_broker_has_the_order_of_that_broker() -> None:
    assert found(federation(total(name="t/+", readers="[b]"))) == []
    assert found(federation(total(name="t/+", readers="[a]"))) == [("S23", "error")]


def test_a_broker_that_publishes_and_reads_a_total_order_is_refused() -> None:
    """It gives its own clients each other's messages at once, and again by number."""
    assert found(federation(total(readers="[a, b]"))) == [("S23", "error")]
    assert found(federation(total(readers="[c, b]"))) == []


@pytest.mark.parametrize(("order", "again"), [("total", [0, 1, 2]), ("fifo", [])])
def test_agents_give_their_own_clients_what_the_broker_gave_them_in_total_order(
    order: Order, again: list[int]
) -> None:
    """Agents beside brokers have them serve their own clients (`deliver_local`)."""
    topic = Topic(publishers=("a",), subscribers=("a", "b"), contract=Contract(order=order))
    given = workbench.federation("a-b b-c c-a", topics={"t": topic})
    bench = workbench.Bench(given, deliver_local=False)
    for one in ("a", "b"):
        bench.subscribe(one)
    bench.run(500)
    bench.publish("a", 3)
    bench.run(500)
    assert (bench.delivered("a"), bench.delivered("b")) == (again, [0, 1, 2])


def local(home: str = "", order: str = "total", survive: str = "") -> Federation:
    """A domain of the last three brokers of five."""
    contract = f"{{order: {order}{home}}}"
    return loads(
        "{federation: f, domains: {u: {gateways: [c, d, e]}},"
        " brokers: {a: , b: , c: {takeover: [e]}, d: {takeover: [e]}, e: {takeover: [d]}},"
        " links: [{between: [a, b]}, {between: [b, c]}, {between: [c, d]}, {between: [d, e]},"
        " {between: [e, a]}, {between: [e, c]}], topics: {t: {publishers: [c], subscribers: [d],"
        f" scope: domain, contract: {contract}}}}}{survive}}}"
    )


def test_a_home_outside_of_its_topics_domain_is_refused_and_refuses_all() -> None:
    assert found(local(", home: a")) == [("S23", "error")]
    assert "the first broker of the file" in told(local(), "S23").message
    assert found(local(", home: e")) == []
    assert found(local(", home: a", order="fifo")) == []
    assert run(local(", home: a")).journal.of("accept") == []
    assert run(local(", home: e")).journal.of("accept") != []


def test_a_home_that_reads_its_topic_must_not_be_lost() -> None:
    brokers = "{a: {takeover: [b]}, b: {takeover: [c]}, c: {takeover: [b]}, d: , e: }"
    links = TRIANGLE[:-1] + ", {between: [c, d]}, {between: [d, e]}, {between: [e, a]}]"
    text = f"{{federation: f, brokers: {brokers}, {links}, topics: {{{{}}}}{SURVIVE}}}"
    reader = loads(text.replace("{}", total(", home: b")))
    other = loads(text.replace("{}", total(", home: d")))
    assert (found(reader), found(other)) == ([("S24", "error")], [])
    assert "M001" in codes(run(reader, "at 1 s crash b"))
    assert codes(run(other, "at 1 s crash d")) == codes(run(other, "at 1 s crash b")) == set()


def test_the_next_home_of_a_domains_topic_must_be_in_it() -> None:
    assert found(local(", home: e", survive=SURVIVE)) == [("S24", "error")]
    assert found(local(", home: e", order="fifo", survive=SURVIVE)) == []
    refused = run(local(", home: e"), "at 1 s crash e").journal.of("refuse")
    assert any("outside the topic's domain" in entry[-1] for entry in refused)


def test_half_of_the_brokers_number_nothing() -> None:
    topic = total(", home: a", readers="[b]")
    pair = loads(
        "{federation: f, brokers: {a: {takeover: [b]}, b: {takeover: [a]}},"
        f" links: [{{between: [a, b]}}], topics: {{{topic}}}{SURVIVE}}}"
    )
    assert "majority" in told(pair, "S24").message


def test_a_home_behind_a_link_that_may_fail_is_refused() -> None:
    brokers = "{a: , b: , c: , h: , i: , j: , k: , l: }"
    links = TRIANGLE[:-1] + ", {between: [c, h]}, {between: [h, i]}, {between: [i, j]},"
    links += " {between: [j, k]}, {between: [k, l]}, {between: [l, h]}]"
    more = ", requirements: {survive: {links: 1}}"
    text = f"{{federation: f, brokers: {brokers}, {links}, topics: {{{{}}}}{more}}}"
    far = loads(text.replace("{}", total(", home: h")))
    assert told(far, "S24").witness == {
        "topic": "t",
        "delivery": "at-least-once",
        "order": "total",
        "home": "h",
        "failure": "c--h",
    }
    fifo = loads(text.replace("{}", total().replace("total", "fifo")))
    assert found(fifo) == []  # with the same failure, messages themselves arrive


def test_a_home_behind_one_of_very_many_links_that_may_fail_is_refused() -> None:
    stubs = [f"s{i:03}" for i in range(250)]
    links = [("h", "i"), ("i", "j"), ("j", "h"), *(("h", one) for one in stubs), ("h", "c")]
    links += [("a", "b"), ("b", "c"), ("c", "a")]
    brokers = ", ".join(f"{one}: " for one in ("h", "i", "j", *stubs, "a", "b", "c"))
    ends = ", ".join(f"{{between: [{a}, {b}]}}" for a, b in links)
    given = loads(
        f"{{federation: f, brokers: {{{brokers}}}, links: [{ends}],"
        f" topics: {{{total(', home: i')}}}, requirements: {{survive: {{links: 1}}}}}}"
    )
    witness = told(given, "S24").witness
    assert isinstance(witness, dict)
    assert witness["failure"] == "c--h"


def test_a_total_order_needs_a_home_and_a_majority_that_links_lead_to() -> None:
    text = (
        "{federation: f, brokers: {a: , b: , c: , d: , e: }, links: [{between: [a, b]},"
        " {between: [c, d]}, {between: [d, e]}], topics: {T}}"
    )
    far = loads(text.replace("T", total(", home: a", at="[c]", readers="[d]")))
    assert "no links join d to its home a" in told(far, "S23").message
    near = loads(text.replace("T", total(", home: e", at="[c]", readers="[d]")))
    assert "S23" not in {code for code, _ in found(near)}
    few = loads(text.replace("T", total(", home: a", at="[a]", readers="[b]")))
    assert "no links join b to a majority" in told(few, "S23").message


def test_fifo_is_not_fenced_when_a_named_client_moves() -> None:
    topic = "t: {publishers: [{broker: a, client: feed}], subscribers: [b]}"
    assert found(federation(topic, brokers=RING, more=SURVIVE)) == [("S21", "warning")]
    assert found(federation(topic, brokers=RING)) == []  # nobody has asked for take-overs
    unnamed = topic.replace("{broker: a, client: feed}", "a")
    assert found(federation(unnamed, brokers=RING, more=SURVIVE)) == []
    none = topic[:-1] + ", contract: {order: none}}"
    assert found(federation(none, brokers=RING, more=SURVIVE)) == []
    reader = "t: {publishers: [a]}, t/#: {publishers: [c], subscribers: [{broker: b, client: d}]}"
    moved = verify(federation(reader, brokers=RING, more=SURVIVE)).findings
    assert "may reach d after newer messages" in moved[0].message
    assert {one.code for one in moved} == {"S21"}


def test_clients_that_move_are_told_of_where_somebody_is_owed_and_by_the_names_contract() -> None:
    topic = "t: {publishers: [{broker: a, client: feed}], subscribers: [b], scope: domain}"
    domain = ", domains: {u: {gateways: [a, b, c]}}" + SURVIVE
    assert found(federation(topic, brokers=RING, more=domain)) == [("S21", "warning")]
    apart = topic.replace("[{", "[c, {").replace("[b]", "[b, {broker: b, client: app}]")
    away = ", domains: {u: {gateways: [b, c]}}" + SURVIVE
    clients = told(federation(apart, brokers=RING, more=away), "S21").message
    assert "app moves" in clients
    assert "feed" not in clients
    unread = "t: {publishers: [{broker: a, client: feed}]}, u: {publishers: [a], subscribers: [b]}"
    assert found(federation(unread, brokers=RING, more=SURVIVE)) == [("V009", "warning")]
    none = "t/x: {publishers: [c], subscribers: [b], contract: {order: none}},"
    none += " t/#: {publishers: [{broker: a, client: feed}]}"
    assert "S21" not in {code for code, _ in found(federation(none, brokers=RING, more=SURVIVE))}


def test_what_a_failed_broker_kept_comes_after_what_its_client_published_elsewhere() -> None:
    given = federation("t: {publishers: [a, c], subscribers: [b]}")
    plan = plan_of(given, parse_faults("at 1 s cut a--b for 2 s; at 1 s cut c--a for 2 s"))
    first = [Publication(i, 1_200_000 + i * 1000, 0, "t", "feed") for i in range(5)]
    second = [Publication(5 + i, 2 * S + i * 1000, 2, "t", "feed") for i in range(5)]
    moved = Plan((*first, *second), plan.wishes, plan.faults, plan.end_us)
    given_out = [entry[4] for entry in simulate(given, moved).journal.of("deliver")]
    assert given_out == [5, 6, 7, 8, 9, 0, 1, 2, 3, 4]


# --- style, and the rest --------------------------------------------------------------------


def test_a_client_that_wants_the_same_at_two_brokers_gets_it_twice() -> None:
    both = "subscribers: [{broker: b, client: d}, {broker: c, client: d}]"
    assert found(federation(f"t: {{publishers: [a], {both}}}")) == [("S5", "warning")]
    apart = "t: {publishers: [a], subscribers: [{broker: b, client: d}]},"
    apart += " u: {publishers: [a], subscribers: [{broker: c, client: d}]}"
    assert found(federation(apart)) == []
    wide = apart.replace("u:", "t/#:")
    assert found(federation(wide)) == [("S5", "warning")]


def test_a_client_of_very_many_topics_at_two_brokers_is_looked_at_by_what_meets() -> None:
    """Comparing each with each would be two hundred million questions."""
    at = {name: (Client(broker=name, client="d"),) for name in ("b", "c")}
    topics = {
        f"t/{i}": Topic(publishers=("a",), subscribers=at["b" if i % 2 else "c"])
        for i in range(20_000)
    }
    given = replace(federation("t: {publishers: [a], subscribers: [b]}"), topics=topics)
    assert [one.code for one in style_findings(given, Checked(style_of_facts([]), {}), ())] == []
    wide = {**topics, "+/7": Topic(publishers=("a",), subscribers=at["c"])}
    (one,) = style_findings(replace(given, topics=wide), Checked(style_of_facts([]), {}), ())
    assert one.message.startswith("client d wants t/7 and +/7 at b and at c")


def test_entries_of_a_client_at_two_brokers_are_not_mixed_up() -> None:
    """Nothing leads t to c, and nothing has to; nor does fifo of u, which has none, need a fence."""
    topics = (
        "t: {publishers: [a], subscribers: [{broker: b, client: app}]},"
        " u: {publishers: [b], subscribers: [{broker: c, client: app}], contract: {order: none}}"
    )
    astray = ", routes: [{at: a, to: c, next: b}, {at: b, to: a, next: c}]"
    given = federation(topics, more=astray)
    assert [one.code for one in verify(given, failures="none").findings] == []
    moving = federation(
        topics, brokers="{a: {takeover: [b]}, b: , c: {takeover: [b]}}", more=SURVIVE
    )
    assert "S21" not in {code for code, _ in found(moving)}


def test_parts_that_nothing_joins_are_told_unless_something_is_owed_across() -> None:
    text = (
        "{federation: f, brokers: {a: , b: , c: , d: }, links: [{between: [a, b]}, {between:"
        " [c, d]}], topics: {t: {publishers: [a], subscribers: [b]}, u: {publishers: [c],"
        " subscribers: [d]}}}"
    )
    assert found(loads(text)) == [("S4", "note")]
    owed = text.replace("subscribers: [b]", "subscribers: [d]")
    assert "S4" not in {code for code, _ in found(loads(owed))}
    bridge = text.replace("topics", "bridges: [{from: b, to: c, patterns: [x]}], topics")
    assert found(loads(bridge)) == []


def test_a_broker_that_holds_others_together_is_told_where_brokers_may_fail() -> None:
    text = (
        "{federation: f, brokers: {a: {takeover: [b]}, b: {takeover: [a]}, c: }, links: [{between:"
        " [a, b]}, {between: [b, c]}], topics: {t: {publishers: [a], subscribers: [b]}}"
    )
    assert found(loads(text + "}")) == []
    assert found(loads(text + SURVIVE + "}")) == [("S6", "note")]
    cut = text.replace("subscribers: [b]", "subscribers: [c]").replace(
        "c: }", "c: {takeover: [a]}}"
    )
    assert {code for code, _ in found(loads(cut + SURVIVE + "}"))} == {"V007"}


def test_many_findings_of_one_code_are_bounded_and_counted() -> None:
    many = ", ".join(once_topic(i) for i in range(MOST + 30))
    result = verify(federation(many, brokers="{a: , b: {make: rabbitmq}, c: }"))
    assert Counter(one.code for one in result.findings) == {"S19": MOST + 1}
    assert result.findings[-1].message == "30 more like these"
    assert result.summary["contracts"] == {"S19": MOST + 30}


def test_the_worst_of_a_code_is_told_first_and_the_rest_stands_at_a_line_of_its_own() -> None:
    many = ", ".join(once_topic(i) for i in range(MOST + 5))
    bad = "bad: {publishers: [a], subscribers: [c], contract: {delivery: exactly-once}}"
    brokers = "{a: , b: {make: nats}, c: {make: rabbitmq}}"
    findings = verify(federation(f"{many}, {bad}", brokers=brokers)).findings
    assert [one.severity for one in findings] == ["error", *["note"] * MOST]
    assert findings[0].message.startswith("bad promises")
    assert (findings[-1].message, findings[-1].severity) == ("6 more like these", "note")


def test_lost_subscriptions_are_all_counted() -> None:
    """Routes that send messages round: of a table more is wrong than is told one by one."""
    topics = ", ".join(f"t{i}: {{publishers: [a], subscribers: [c]}}" for i in range(MOST + 30))
    routes = ", routes: [{at: a, to: c, next: b}, {at: b, to: c, next: a}]"
    given = federation(topics, more=routes)
    contracts = contracts_of(given)
    assert dict(contracts.counts) == {"S13": MOST + 30, "S14": MOST + 30}
    last = [one.message for one in contracts.findings if "more" in one.message]
    assert last == ["30 more like these", "30 more like these"]


def once_topic(i: int) -> str:
    return f"t{i}: {{publishers: [a], subscribers: [b], contract: {{delivery: exactly-once}}}}"


def test_without_topics_or_time_nothing_is_said_of_contracts() -> None:
    given = once("rabbitmq")
    assert [one.code for one in verify(given, pairs="all").findings] == []
    late = verify(given, halt=np.ones(1, np.bool_))
    assert (late.outcome, late.summary["contracts"]) == ("undecided", {})
    assert "contracts" in late.summary["not_checked"]


def test_verify_says_what_cannot_be_promised_and_where(ropewalk: Ropewalk, tmp_path: Path) -> None:
    file = tmp_path / "f.yaml"
    file.write_text(rules()["S19"].example, "utf-8")
    ran = ropewalk("verify", file)
    assert ran.code == 1
    assert ran.out.startswith(f"{file}:4: error S19: t promises exactly-once, but at b RabbitMQ")
    assert ran.out.endswith(
        "Everything that could be delivered is delivered, but not as promised.\n"
    )


def lines(some: Iterable[str]) -> list[str]:
    return [line.strip() for line in some]


def test_explain_teaches_a_rule_with_its_promises_and_an_example(ropewalk: Ropewalk) -> None:
    said = lines(ropewalk("explain", "S15").out.splitlines())
    assert "The smallest that breaks it:" in said
    assert said[-1] == "once t"
    facts = ropewalk("explain", "S15", "--json").document["summary"]["S15"]
    assert facts["promises"] == ["at-most-once", "exactly-once"]
    assert facts["example"].startswith("dispatcher a b c")
    assert "Watches over fifo" in ropewalk("explain", "A005").out
    assert "example" not in ropewalk("explain", "F020", "--json").document["summary"]["F020"]
