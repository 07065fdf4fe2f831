"""Samples of a broker: counters become windows, and windows what the detector reads."""

import os
import socket
from collections.abc import Mapping

from ropewalk.agent.lookout import Lookout, listener
from ropewalk.agent.samples import Limits, Sampler, reading_of, window
from ropewalk.federation.facts import Performance
from ropewalk.overlay.council.loads import Load
from ropewalk.placement.reactive.detector import Reading
from ropewalk.trace.columns import SAMPLE

S = 1_000_000_000


def test_counters_count_from_window_to_window_and_others_do_not() -> None:
    before = {"messages_in": 100.0, "bytes_out": 7.0, "subscriptions": 9.0, "cpu_us": 10.5}
    after = {"messages_in": 160.0, "bytes_out": 7.0, "subscriptions": 4.0, "cpu_us": 11.0}
    row = window(before, {**after, "not a column": 1.0}, S)
    assert row == {
        "window_ns": S, "messages_in": 60, "bytes_out": 0, "subscriptions": 4, "cpu_us": 0.5,
    }  # fmt: skip
    assert set(row) <= set(SAMPLE)


def test_a_broker_that_started_anew_has_no_counts_for_that_window() -> None:
    row = window({"messages_in": 100, "bytes_in": 5}, {"messages_in": 3, "bytes_in": 6}, S)
    assert row == {"window_ns": S, "bytes_in": 1}


def test_a_reading_is_held_against_limits_and_what_has_none_is_not_known() -> None:
    row = {
        "window_ns": 2 * S, "messages_in": 1000, "delay_us": 80.0, "store_bytes": 256,
        "cpu_us": 1_000_000.0, "memory_bytes": 50, "bytes_in": 100, "bytes_out": 300,
    }  # fmt: skip
    limits = Limits(
        input_msgs_s=1000, store_bytes=1024, memory_bytes=100, bandwidth_bytes_s=400, cores=2
    )
    assert reading_of(row, limits) == Reading(0.5, 80.0, 0.25, 0.25, 0.5, 0.5)
    assert reading_of(row, Limits()) == Reading(processing_delay_us=80.0, cpu_share=0.5)
    assert reading_of({"window_ns": S, "bytes_in": 1}, limits) == Reading()


def test_a_sampler_asks_broker_and_process_window_by_window() -> None:
    times = iter((0, S, 3 * S))
    counts = iter((5.0, 15.0, 20.0))
    sampler = Sampler(
        lambda: {"messages_in": next(counts)}, os.getpid(), now_ns=lambda: next(times)
    )
    assert sampler.take() is None
    rows = [sampler.take(), sampler.take()]
    assert [row and (row[0]["window_ns"], row[0]["messages_in"]) for row in rows] == [
        (S, 10), (2 * S, 5),
    ]  # fmt: skip
    assert rows[0] is not None
    assert rows[0][0]["memory_bytes"] > 1_000_000
    assert rows[0][0]["cpu_us"] >= 0
    assert rows[0][1].cpu_share is not None


def test_a_process_that_is_gone_is_not_known() -> None:
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    times = iter((0, S))
    sampler = Sampler(dict, child, now_ns=lambda: next(times))
    assert sampler.take() is None
    assert sampler.take() == ({"window_ns": S}, Reading())


def test_costs_of_messages_make_the_load_and_copies_count() -> None:
    limits = Limits(costs=Performance(receive_us=100, filter_us=0, send_us=50), input_msgs_s=1)
    row = {"window_ns": float(S), "messages_in": 1000.0, "messages_out": 4000.0}
    assert reading_of(row, limits).input_ratio == 0.3
    assert reading_of({"window_ns": float(S)}, limits).input_ratio is None


def test_an_overload_that_lasts_is_told_shared_and_over_when_it_is() -> None:
    figures, clock = {"messages_in": 0.0}, [0]
    rows: list[Mapping[str, float]] = []
    shared: list[Load] = []
    told: list[str] = []
    lookout = Lookout(
        Sampler(lambda: figures, limits=Limits(input_msgs_s=100), now_ns=lambda: clock[0] * S),
        row=rows.append,
        share=shared.append,
        others=lambda: {"a": shared[-1]} if shared else {},
        tell=lambda what, about: told.append(" ".join((what, *about))),
        own=lambda: {"stall_us": 7},
        now_s=lambda: float(clock[0]),
    )

    def pass_by(seconds: int, rate_msgs_s: float) -> None:
        for _ in range(seconds):
            clock[0] += 1
            figures["messages_in"] += rate_msgs_s
            lookout.look()

    lookout.look()
    assert (rows, shared) == ([], [])  # one look alone is no window
    pass_by(5, 90)
    assert not shared[-1].causes  # not for long enough yet
    pass_by(1, 90)
    assert shared[-1] == Load(0.9, ("input_ratio",))
    assert told == ["load input utilisation is 0.9, above 0.8 for 5 s (since 1 s)"]
    pass_by(12, 10)
    assert shared[-1] == Load(0.1)
    assert told[1:] == ["load over after 16 s: input utilisation was too high, all is low again"]
    assert len(rows) == len(shared) == 18
    assert all(row["stall_us"] == 7 for row in rows)


def test_the_process_that_listens_is_found() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert listener(server.getsockname()[1]) == os.getpid()
    assert listener(0) is None


def test_figures_that_the_broker_read_before_are_no_window_of_their_own() -> None:
    figures = {"messages_in": 1.0, "read_ns": 1.0 * S}
    sampler = Sampler(lambda: figures)
    assert sampler.take() is None
    assert sampler.take() is None
    figures.update(messages_in=5.0, read_ns=2.5 * S)
    taken = sampler.take()
    assert taken is not None
    assert taken[0] == {"window_ns": 1.5 * S, "messages_in": 4}
