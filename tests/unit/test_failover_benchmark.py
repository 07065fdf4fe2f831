"""The failover benchmark: what peers are told, when a run has recovered, what may be compared."""

from collections.abc import Iterable
from dataclasses import replace
from time import monotonic_ns
from typing import Any, cast

import numpy as np
import pyarrow as pa

from contenders.audited import Audited
from contenders.outages import Lapse, Traces, broken, cause, near_to, without_fault
from contenders.peers import (
    MOSQUITTO_BRIDGE,
    NATS_LEAF,
    RABBITMQ_FEDERATION,
    bridge_text,
    federation_definitions,
    leaf_text,
)
from contenders.shapes import TOPIC
from contenders.summary import middle, ratios_of, summary_of, table
from contenders.trial import FAULTS, Outcome, flowing, in_step
from ropewalk.agent.drive.cast import Reader, Stream
from ropewalk.agent.drive.plan import DriveResult, Pair
from ropewalk.agent.drive.tally import Arrivals, Figures
from ropewalk.agent.drive.timing import Order
from ropewalk.federation.facts import Contract
from ropewalk.federation.names import link_name
from ropewalk.trace.columns import KIND
from ropewalk.trace.ids import id_of

S = 10**9

WELL = Outcome(
    outage_ms=20.0,
    began_ms=1.0,
    recovered=True,
    quiet_ms=3.0,
    sent=6000,
    undelivered=0,
    lost=0,
    duplicated=0,
    skipped=0,
)
GONE = replace(WELL, outage_ms=12_050.0, recovered=False, undelivered=12_000)
PAIR = "ropewalk_nats / mosquitto_bridge"


def found(**outages_ms: float | None) -> dict[str, Any]:
    """Summaries of one run each; None never recovers."""
    return {
        name: summary_of([GONE if ms is None else replace(WELL, outage_ms=ms)])
        for name, ms in outages_ms.items()
    }


def arrivals(ages_s: Iterable[float], *, late_s: float = 0.0) -> Arrivals:
    """Messages that came so long ago."""
    came_ns = monotonic_ns() - np.array([round(age * 1e9) for age in ages_s], np.int64)
    return Arrivals(np.arange(len(came_ns)), came_ns - round(late_s * 1e9), came_ns)


def test_a_bridge_tries_its_addresses_in_order_and_keeps_its_own_timers() -> None:
    text = bridge_text("a", [2001, 2002])
    assert "address 127.0.0.1:2001 127.0.0.1:2002\n" in text
    assert f"topic {TOPIC} out 1\n" in text
    assert not any(word in text for word in ("restart_timeout", "keepalive", "round_robin"))


def test_a_leaf_knows_no_way_round_the_proxy() -> None:
    text = leaf_text("a", {"client": 1, "leaf": 2, "http": 3}, [[2001, 2002], [2003]])
    assert 'urls: ["nats-leaf://127.0.0.1:2001", "nats-leaf://127.0.0.1:2002"]' in text
    assert 'urls: ["nats-leaf://127.0.0.1:2003"]' in text
    assert "no_advertise: true" in text
    assert text.count("no_randomize: true") == 2


def test_a_federated_exchange_passes_on_what_came_from_further_up() -> None:
    told = federation_definitions({"a": 2001})
    assert told["parameters"][0]["value"] == {"uri": "amqp://127.0.0.1:2001", "max-hops": 2}


def test_every_link_of_every_peer_goes_through_the_proxy() -> None:
    for peer in (MOSQUITTO_BRIDGE, NATS_LEAF, RABBITMQ_FEDERATION):
        links = {link_name(*one.between) for one in peer.federation.links}
        assert set(peer.dials) == links
        assert {one.target for one in FAULTS.values()} <= links | {"b"}
        assert {name for wave in peer.waves for name in wave} == set(peer.federation.brokers)


def test_recovered_is_what_comes_without_a_pause_and_on_time() -> None:
    steady = [n / 10 for n in range(30, 0, -1)]
    assert in_step(arrivals(steady), 2.0)
    assert not in_step(arrivals(steady, late_s=0.6), 2.0)
    assert flowing(arrivals(steady, late_s=0.6), 2.0)
    assert not flowing(arrivals(one for one in steady if not 0.8 < one < 1.5), 2.0)
    assert not flowing(arrivals(steady[:-8]), 2.0)
    assert not in_step(arrivals([]), 2.0)


def test_never_is_longer_than_any_number_and_never_looks_like_one() -> None:
    assert middle([3.0, "never", 1.0]) == 3.0
    assert middle([3.0, "never"]) == "never"
    told = summary_of([WELL, GONE])
    assert told["outage_ms"] == {"median": "never", "worst": "never", "runs": [20.0, "never"]}
    assert (told["at_least_ms"], told["undelivered"], told["lost"]) == (12_050.0, 12_000, 0)


def test_ratios_are_told_only_of_what_recovers() -> None:
    assert ratios_of(found(ropewalk_nats=20.0, mosquitto_bridge=5000.0)) == {
        PAIR: {"ratio": 0.004, "at_most": 0.02, "reached": True}
    }
    assert not ratios_of(found(ropewalk_nats=200.0, mosquitto_bridge=5000.0))[PAIR]["reached"]
    for one in (
        found(ropewalk_nats=20.0, mosquitto_bridge=None),
        found(ropewalk_nats=None, mosquitto_bridge=5000.0),
    ):
        assert ratios_of(one)[PAIR] == {"ratio": None, "at_most": 0.02, "reached": False}
    assert ratios_of(found(ropewalk_nats=20.0)) == {}


def test_the_table_has_a_row_for_each_contender_in_each_fault() -> None:
    some = found(ropewalk_nats=20.4, mosquitto_bridge=None)
    text = table({"faults": {"kill": some}, "ratios": ratios_of(some)})
    assert "| kill | ropewalk_nats | 20 ms | 20 ms | 6,000 | 0 | 0 | 0 |" in text
    never = "never (> 12 s) | never (> 12 s)"
    assert f"| kill | mosquitto_bridge | {never} | 6,000 | 12,000 | 0 | 0 |" in text
    assert f"| {PAIR} | no ratio | 1 / 50 |" in text


def pair(publisher: str, subscriber: str) -> Pair:
    stream = Stream(0, TOPIC, publisher, publisher, Contract())
    return Pair(stream, Reader(0, TOPIC, subscriber, subscriber), cast("Figures", None))


def test_an_outage_has_a_cause_at_an_end_between_the_ends_or_none() -> None:
    orders = (Order(1.0, "kill agent:a"), Order(2.0, "heal agent:a"), Order(9.0, "cut b--c"))
    faults = broken(orders, 20.0)
    assert [(one.what, one.target, one.since_s, one.until_s) for one in faults] == [
        ("kill", "agent:a", 1.0, 2.0),
        ("cut", "b--c", 9.0, 20.0),
    ]
    assert cause(near_to(faults, 1.5), pair("a", "d")) == "at an end"
    assert cause(near_to(faults, 1.5), pair("b", "d")) == "between"
    assert cause(near_to(faults, 9.0), pair("a", "d")) == "between"
    assert cause(near_to(faults, 0.5), pair("a", "d")) is None
    assert cause(near_to(faults, 7.0), pair("a", "d")) is None


class Kept:
    """A store of a few rows: agent a lives twice, agent d all the time, and d once stood still."""

    EVENTS = (
        ("accepted", 1.0, "a", 1),
        ("deliver", 1.0, "d", 1),
        ("accepted", 4.0, "a", 2),
        ("deliver", 4.0, "d", 1),
        ("deliver", 6.05, "d", 1),
        ("accepted", 6.05, "a", 2),
    )

    def table(self, name: str, columns: list[str]) -> pa.Table:
        if name == "samples":
            rows = {
                "node": [id_of("d"), id_of("a")],
                "ts_ns": [9 * S, 9 * S],
                "window_ns": [S, S],
                "stall_us": [150_000, None],
            }
        else:
            kinds, times, nodes, lives = zip(*self.EVENTS, strict=True)
            rows = {
                "topic": [id_of(TOPIC)] * len(kinds),
                "kind": [KIND[one] for one in kinds],
                "ts_ns": [round(one * S) for one in times],
                "node": [id_of(one) for one in nodes],
                "incarnation": list(lives),
            }
        return pa.table({one: rows[one] for one in columns})


def lapse(since_s: float, ms: float) -> Lapse:
    return Lapse(TOPIC, round(since_s * S), round((since_s + ms / 1e3) * S))


def test_an_outage_without_a_fault_is_explained_by_the_traces_or_not_at_all() -> None:
    some: Any = Kept()
    traces, run = Traces(some), DriveResult(stalls=((7.0, 90.0),))
    assert without_fault(traces, run, lapse(2.0, 150)) == "agent away"
    assert without_fault(traces, run, lapse(5.0, 150)) == "unexplained"
    assert without_fault(traces, run, lapse(7.0, 150)) == "clients stood still"
    assert without_fault(traces, run, lapse(7.0, 250)) == "unexplained"
    assert without_fault(traces, run, lapse(8.5, 250)) == "agents stood still"
    assert without_fault(traces, run, lapse(8.5, 350)) == "unexplained"


def test_the_traces_tell_where_messages_stood() -> None:
    some: Any = Kept()
    traces = Traces(some)
    assert traces.where(lapse(2.0, 500)).startswith("nothing was accepted")
    assert traces.where(lapse(6.0, 100)).startswith("at the subscriber's broker")
    missing: Any = Kept()
    missing.EVENTS = tuple(one for one in Kept.EVENTS if one[0] == "accepted")
    assert Traces(missing).where(lapse(6.0, 100)).startswith("accepted and kept")


def test_an_audit_agrees_only_with_the_same_losses_and_only_if_it_looked() -> None:
    looked = Audited(rows=9, quarantined=0, violations={"A001": 2}, lost={"t": 2}, unchecked=[])
    assert looked.agrees({"t": 2})
    assert not looked.agrees({})
    assert not looked.agrees({"t": 1})
    blind = Audited(rows=9, quarantined=0, violations={}, lost={}, unchecked=["A001"])
    assert not blind.agrees({})
