"""Probabilities to be in time: what is counted, how it is told, and what is refused."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ropewalk.errors import FederationError, UsageError
from ropewalk.federation import load, loads, save
from ropewalk.federation.facts import Federation, Histogram
from ropewalk.federation.generators import generate
from ropewalk.routing.table import shortest_rows
from ropewalk.verify.check import prepare
from ropewalk.verify.demand import demand_of
from ropewalk.verify.latency import Rate, Retry, latency
from ropewalk.verify.latency.arrivals import arrivals
from ropewalk.verify.latency.load import idle, load_of
from ropewalk.verify.latency.model import Ground
from ropewalk.verify.latency.times import Grid, crossing, waiting
from ropewalk.verify.latency.ways import in_time
from ropewalk.verify.result import verify
from tests.conftest import Run

MS = 1_000_000
LINE = """
federation: line
brokers: {a: {}, b: {}, c: {}}
links:
  - {between: [a, b], latency_ms: 3, loss: 0.1}
  - {between: [b, c], latency_ms: 4}
topics:
  t: {publishers: [a], subscribers: [c], contract: {within_ms: %s}}
"""
SQUARE = """
federation: square
brokers: {a: {}, b: {}, c: {}, d: {}}
links:
  - {between: [a, b], latency_ms: 1, loss: 0.2}
  - {between: [b, d], latency_ms: 1}
  - {between: [a, c], latency_ms: 2, loss: 0.2}
  - {between: [c, d], latency_ms: 2}
topics:
  t: {publishers: [a], subscribers: [d], contract: {within_ms: 50, paths: 2, probability: 0.95}}
"""


def line(within: str = "10") -> Federation:
    return loads(LINE % within)


# --- the model ------------------------------------------------------------------------------


def test_a_loss_costs_the_time_of_a_retry() -> None:
    assert latency(line("6.9")).bounds.tolist() == [[0.0, 0.0]]
    assert latency(line("7")).bounds[0].tolist() == pytest.approx([0.9, 0.9])
    assert latency(line("107")).bounds[0].tolist() == pytest.approx([0.99, 0.99])
    assert latency(line("107"), retry=Retry(100 * MS, 0)).bounds[0, 1] == pytest.approx(0.9)
    assert latency(line("107"), retry=Retry(50 * MS)).bounds[0, 0] == pytest.approx(0.999)


def test_constants_are_never_rounded() -> None:
    found = latency(line("7"), slot_ms=2)
    assert found.summary["error"] == 0
    assert found.bounds[0, 0] == pytest.approx(0.9)


def test_two_paths_are_better_than_one() -> None:
    found = latency(loads(SQUARE))
    assert found.asks.second == {(0, 3): (0, 2, 3)}
    assert found.bounds[0].tolist() == pytest.approx([0.96, 0.96])
    assert found.ok
    alone = latency(loads(SQUARE.replace("paths: 2, ", "")))
    assert alone.bounds[0].tolist() == pytest.approx([0.8, 0.8])
    assert [one.code for one in alone.findings] == ["B001"]


def test_a_second_path_counts_while_it_is_up() -> None:
    text = SQUARE.replace("{between: [a, b], ", "{between: [a, b], fails: 0.1, ")
    one = latency(loads(text)).over[0]
    # With a--b down both copies would go over c: that is one path.
    assert (one.low, one.high) == pytest.approx((0.9 * 0.96 + 0.1 * 0.8,) * 2)
    text = SQUARE.replace("{between: [c, d], ", "{between: [c, d], fails: 0.1, ")
    assert latency(loads(text)).over[0].low == pytest.approx(0.9 * 0.96 + 0.1 * 0.8)


def test_a_broker_keeps_messages_for_their_work_and_what_they_wait() -> None:
    grid = Grid(MS, 200)
    calm, busy = waiting(2 * MS, 0.0, grid), waiting(2 * MS, 0.5, grid)
    assert calm.mean_ms(grid) == pytest.approx(2.0)
    assert busy.mean_ms(grid) == pytest.approx(4.0, rel=0.01)  # T / (1 - utilisation)
    assert busy.late[0] == pytest.approx(0.5)
    assert waiting(2 * MS, 1.0, grid).early.sum() == 0


def test_an_histogram_is_late_at_the_end_of_bins_and_early_at_their_start() -> None:
    link = replace(
        line().links[1], histogram=Histogram(edges_ms=(2.0, 4.0, 8.0), counts=(3, 1), error_ms=1.0)
    )
    times = crossing(link, 0, Retry(100 * MS), Grid(MS, 20))
    assert np.flatnonzero(times.late).tolist() == [5, 9]
    assert np.flatnonzero(times.early).tolist() == [1, 3]
    assert times.late[5] == times.early[1] == 0.75


def test_all_pairs_at_once_are_what_single_paths_are() -> None:
    federation = generate("fifty-broker")
    links = tuple(
        replace(one, latency_ms=1.0 + i % 3, loss=0.01 * (i % 4))
        for i, one in enumerate(federation.links)
    )
    federation = replace(federation, links=links)
    model = Ground(federation, idle(federation), Retry(5 * MS), {}).model(20 * MS, MS)
    rows = np.asarray(shortest_rows(federation.graph), np.int32)
    found = arrivals(model, rows, np.arange(50, dtype=np.int32))
    for source, to in ((0, 49), (17, 3), (30, 31), (5, 5)):
        path = [source]
        while path[-1] != to:
            path.append(int(rows[to, path[-1]]))
        assert found[to, source].tolist() == pytest.approx(in_time(model, [tuple(path)]))


def test_hand_made_routes_are_followed_in_failures_too() -> None:
    text = """
federation: f
brokers: {a: {}, b: {}, c: {}}
links:
  - {between: [a, c], latency_ms: 9}
  - {between: [a, b], latency_ms: 1, fails: 0.1}
  - {between: [b, c], latency_ms: 1, fails: 0.2}
topics: {t: {publishers: [a], subscribers: [c], contract: {within_ms: 5, probability: 0.7}}}
routes:
  - {at: a, to: c, next: b}
"""
    found = latency(loads(text))
    assert found.bounds[0, 0] == 1
    # With a--b down, or b--c (b then sends it back: a loop), it is late or lost.
    assert found.over[0].low == pytest.approx(0.72)
    assert found.over[0].rest == 0
    assert found.ok


def test_clients_that_nobody_takes_over_are_counted_as_missed() -> None:
    text = LINE % "107" + "risk_groups: {}\n"
    alone = loads(text.replace("c: {}}", "c: {fails: 0.25}}"))
    taken = loads(text.replace("c: {}}", "c: {fails: 0.25, takeover: [b]}}"))
    assert latency(alone).over[0].low == pytest.approx(0.99 * 0.75)
    assert latency(taken).over[0].low == pytest.approx(0.99)
    assert latency(alone).over[0].blame[0][0] == "c"


def test_rates_load_every_broker_on_the_way() -> None:
    text = """
federation: f
brokers:
  a: {capacity: {receive_us: 100, filter_us: 10, send_us: 50}}
  b: {capacity: {receive_us: 100, filter_us: 10, send_us: 50}}
  c: {}
  d: {}
links: [{between: [a, b]}, {between: [b, c]}, {between: [b, d]}]
topics: {t/+: {publishers: [a], subscribers: [c, d, b]}}
"""
    federation = loads(text)
    check = prepare(federation, verify(federation).check.scenarios, demand_of(federation))
    load = load_of(check, {"t/x": Rate(600, 2), "t/y": Rate(400, 2)})
    # a takes 1,000 messages a second in and sends one copy; b sends two on and one to a client.
    assert load.utilisation.tolist() == pytest.approx([0.17, 0.27, 0, 0])
    assert load.service_ns.tolist() == pytest.approx([170_000, 270_000, 0, 0])
    found = latency(federation, within_ms=5, rates={"t/x": Rate(4000, 1)})
    assert found.summary["overloaded"] == ["b"]
    assert found.bounds.max() == 0


def test_undecided_pairs_are_looked_at_with_finer_slots() -> None:
    text = LINE.replace("latency_ms: 4}", "latency_ms: 4, jitter: {shape: normal, sd_ms: 1}}")
    text = text.replace(", loss: 0.1", "")
    federation = loads(text % "9.4, probability: 0.991")
    found = latency(federation)
    assert found.slot_ns[0] < 9.4 * MS / 64
    assert found.outcome in ("ok", "findings")
    rough = latency(federation, slot_ms=1)
    assert rough.outcome == "undecided"
    assert [(one.code, one.severity) for one in rough.findings] == [("B003", "warning")]


def test_the_hop_that_costs_most_is_the_one_that_would_gain_most() -> None:
    (one,) = latency(line("7")).findings
    witness: Any = one.witness
    assert witness["worst_hop"] == "a--b"
    assert [step["hop"] for step in witness["hops"]] == ["at a", "a--b", "b--c"]
    assert witness["hops"][1]["gain"] == pytest.approx(0.1)
    assert one.where.line == 8


def test_measured_latencies_stand_in_for_the_file() -> None:
    seen = {"a--b": Histogram(edges_ms=(1.0, 2.0), counts=(5,))}
    found = latency(line("6.1"), measured=seen)
    assert found.bounds[0].tolist() == [1.0, 1.0]


def test_the_frame_has_a_row_for_each_pair() -> None:
    frame = latency(generate("six-broker"), pairs="all", within_ms=5).frame()
    assert len(frame) == 30
    assert (frame["low"] <= frame["high"]).all()


# --- the file -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("jitter: {shape: normall, sd_ms: 1}", "F015"),
        ("jitter: {shape: normal}", "F010"),
        ("jitter: {shape: normal, sd: 1}", "write sd_ms: NUMBER"),
        ("jitter: {shape: normal, sd_ms: 0}", "F013"),
        ("jitter: {shape: normal, sd_ms: 2ms}", "F014"),
        ("jitter: normal", "write {shape: lognormal, sd_ms: 2}"),
        ("latency_ms: 0, jitter: {shape: lognormal, sd_ms: 1}", "F045"),
        ("jitter: {shape: lognormal, sd_ms: 1}", "F045"),
        ("histogram: {edges_ms: [0, 1], counts: [1, 1]}", "write 3 edges_ms"),
        ("histogram: {edges_ms: [0, 1, 1], counts: [1, 1]}", "rising order"),
        ("histogram: {edges_ms: [0, 1], counts: [0]}", "counted nothing"),
        ("histogram: {edges_ms: [0], counts: [1]}", "at least 2 entries"),
        ("histogram: {edges_ms: [-1, 1], counts: [1]}", "F013"),
        (
            "latency_ms: 1, jitter: {shape: normal, sd_ms: 1}, histogram: {edges_ms: [0, 1], counts: [1]}",
            "keep one of them",
        ),
    ],
)
def test_a_link_that_makes_no_distribution_is_told_at_its_line(field: str, said: str) -> None:
    text = (
        f"federation: f\nbrokers: {{a: {{}}, b: {{}}}}\nlinks:\n  - {{between: [a, b], {field}}}\n"
    )
    with pytest.raises(FederationError) as caught:
        loads(text)
    (one,) = caught.value.findings
    assert said in f"{one.code} {one.message}"
    assert one.where.line == 4


def test_a_probability_above_one_is_refused() -> None:
    with pytest.raises(FederationError, match="it is a probability"):
        line("10, probability: 1.5")


def test_both_forms_of_a_file_keep_how_latencies_spread(tmp_path: Path) -> None:
    text = LINE % "10, probability: 0.5"
    text = text.replace(
        "latency_ms: 4}", "histogram: {edges_ms: [0, 1.5], counts: [7], error_ms: 1}}"
    )
    text = text.replace("loss: 0.1}", "jitter: {shape: normal, sd_ms: 2}}")
    federation = loads(text)
    for name in ("f.yaml", "f.parquet"):
        save(federation, tmp_path / name)
        assert load(tmp_path / name) == federation


# --- the command ----------------------------------------------------------------------------


def test_the_command_tells_pairs_that_miss_and_where_time_goes(
    ropewalk: Run, tmp_path: Path
) -> None:
    file = tmp_path / "line.yaml"
    file.write_text(LINE % "7")
    plain = ropewalk("verify", file)
    assert "Not checked: contract.within_ms." in plain.out
    ran = ropewalk("verify", file, "--latency")
    assert ran.code == 1
    assert "line.yaml:8: error B001: t from a to c arrives within 7 ms" in ran.out
    assert "most is spent on a--b" in ran.out
    assert "Not checked" not in ran.out
    assert all(len(text) <= 80 for text in ran.out.partition("In time")[2].splitlines())
    summary = ropewalk("verify", file, "--latency", "--json").document["summary"]["latency"]
    assert (summary["pairs"], summary["missed"], summary["worst_hop"]) == (1, 1, "a--b")
    assert ropewalk("verify", file, "--latency", "--retry-ms", "1").code == 1
    file.write_text(LINE % "15")
    assert ropewalk("verify", file, "--latency", "--retry-ms", "1").code == 0


def test_the_command_says_undecided_with_its_own_exit_code(ropewalk: Run, tmp_path: Path) -> None:
    file = tmp_path / "line.yaml"
    jitter = "latency_ms: 4, jitter: {shape: normal, sd_ms: 1}}"
    text = LINE.replace("latency_ms: 4}", jitter).replace(", loss: 0.1", "")
    file.write_text(text % "9.4, probability: 0.991")
    ran = ropewalk("verify", file, "--latency", "--slot-ms", "1")
    assert ran.code == 3
    assert "B003" in ran.out


def test_all_pairs_need_a_bound(ropewalk: Run, tmp_path: Path) -> None:
    file = tmp_path / "line.yaml"
    file.write_text(LINE % "7")
    ran = ropewalk("verify", file, "--latency", "--pairs", "all")
    assert ran.code == 2
    assert "give --within-ms" in ran.err
    ran = ropewalk(
        "verify", file, "--latency", "--pairs", "all", "--within-ms", "9", "--probability", "0.9"
    )
    assert "In time: 6 pairs, missed: none." in ran.out


def test_a_topic_over_bridges_is_left_out_and_said(ropewalk: Run, tmp_path: Path) -> None:
    file = tmp_path / "f.yaml"
    file.write_text(
        "{federation: f, brokers: {a: {}, b: {}}, bridges: [{from: a, to: b}],"
        " topics: {t: {publishers: [a], subscribers: [b], contract: {within_ms: 5}}}}"
    )
    ran = ropewalk("verify", file, "--latency")
    assert "Not looked at: the time of 1 pair over bridges." in ran.out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--within-ms", "5"), "--within-ms goes with --latency"),
        (("--stats", "x"), "--stats goes with --latency"),
        (("--latency", "--within-ms", "0"), "--within-ms 0: write milliseconds"),
        (("--latency", "--within-ms", "nan"), "--within-ms nan: write milliseconds"),
        (("--latency", "--retry-ms", "-1"), "--retry-ms -1"),
        (("--latency", "--slot-ms", "inf"), "--slot-ms inf"),
        (("--latency", "--slot-ms", "0.001", "--within-ms", "9000"), "give a larger --slot-ms"),
        (("--latency", "--probability", "2"), "--probability 2"),
        (("--latency", "--stats", "nowhere"), "nowhere: there is no such folder"),
        (("--latency", "--latency-from", "nowhere"), "nowhere: cannot be read"),
        (("--latency", "--observed", "x.csv"), "leave out --latency"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    ropewalk: Run, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    file = tmp_path / "line.yaml"
    text = (
        LINE % "7"
        if "9000" not in options
        else (LINE % "7").replace(", contract: {within_ms: 7}", "")
    )
    file.write_text(text)
    ran = ropewalk("verify", file, *options)
    assert ran.code == 2
    assert said in ran.err
    assert "Traceback" not in ran.err + ran.out


def test_latencies_of_another_federation_are_refused(ropewalk: Run, tmp_path: Path) -> None:
    file, seen = tmp_path / "line.yaml", tmp_path / "latencies.yaml"
    file.write_text(LINE % "7")
    seen.write_text("links: [{between: [x, y], histogram: {edges_ms: [0, 1], counts: [1]}}]")
    ran = ropewalk("verify", file, "--latency", "--latency-from", tmp_path)
    assert ran.code == 2
    assert "none of its links is in line" in ran.err
    seen.write_text("links: [{between: [b, a], histogram: {edges_ms: [0, 1], counts: [1]}}]")
    assert ropewalk("verify", file, "--latency", "--latency-from", tmp_path).code == 0


def test_rates_without_any_capacity_are_refused(ropewalk: Run, tmp_path: Path) -> None:
    file = tmp_path / "line.yaml"
    file.write_text(LINE % "7")
    (tmp_path / "means.csv").write_text("topic,mean_msgs_s\nt,10\n")
    (tmp_path / "covariance.csv").write_text("topic,t\nt,1\n")
    ran = ropewalk("verify", file, "--latency", "--stats", tmp_path)
    assert ran.code == 2
    assert "no broker has a `capacity`" in ran.err


def test_a_bound_that_nobody_gives_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="--within-ms"):
        latency(generate("six-broker"), pairs="all")
