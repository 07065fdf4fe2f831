"""The oracle's own checks: small cases by hand, and that small traces come near every rule."""

from collections.abc import Callable
from typing import Any

import pytest

from ropewalk.federation.facts import Contract
from tests.pipeline import oracle_due
from tests.pipeline.oracle import audit, due_rows, judge
from tests.pipeline.small_brinks import Row
from tests.pipeline.small_traces import MOST_ROWS, Small, small_trace, split

SEEDS = range(400)
EVER = 2**62
D = 50


@pytest.fixture(scope="module")
def traces() -> list[Small]:
    return [small_trace(seed) for seed in SEEDS]


def keys(trace: Small, rows: list[Row] | None = None, deadline_ns: int | None = None) -> set[Any]:
    return audit(
        trace.rows if rows is None else rows,
        trace.federation,
        deadline_ns=deadline_ns or trace.deadline_ns,
        protocols=trace.protocols,
    )


def test_small_traces_break_every_rule_and_leave_each_unchecked_at_times(
    traces: list[Small],
) -> None:
    verdicts = [
        judge(one.rows, one.federation, deadline_ns=one.deadline_ns, protocols=one.protocols)
        for one in traces
    ]
    broken = {key[0] for verdict in verdicts for key in verdict.violations}
    assert broken == {f"A{number:03}" for number in range(1, 14)}
    unchecked = {code for verdict in verdicts for code, _ in verdict.unchecked}
    assert unchecked == {"A001", "A003", "A004", "A006", "A007", "A010", "A011", "A012"}
    assert any(not verdict.violations for verdict in verdicts)
    assert all(20 <= len(one.rows) <= MOST_ROWS for one in traces)


def changed(**columns: Callable[[Row], Any]) -> Callable[[Row], Row]:
    return lambda row: {**row, **{name: of(row) for name, of in columns.items()}}


@pytest.mark.parametrize(
    ("codes", "change"),
    [
        ("1 2 3 5 10 11 12", changed(clock_err_ns=lambda _: 0)),
        ("1 2 3 5 10 11 12", changed(clock_err_ns=lambda row: row.get("clock_err_ns", 0) + 1)),
        ("5 6 7 8 9", changed(li=lambda row: row["ts_ns"] * 1000 + row["li"])),
        ("2 5 6 7 8 9 10", changed(redelivered=lambda _: False)),
        ("1 2 5 6 7 8", changed(incarnation=lambda _: 0)),
        ("1", changed(durable=lambda _: False)),
    ],
)
def test_small_traces_lie_so_near_that_each_word_matters(
    traces: list[Small], codes: str, change: Callable[[Row], Row]
) -> None:
    """What is left out of a row changes the verdict: by every rule that depends on it."""
    felt = set()
    for one in traces:
        felt |= {key[0] for key in keys(one) ^ keys(one, [change(row) for row in one.rows])}
    assert {f"A{int(code):03}" for code in codes.split()} <= felt


@pytest.mark.parametrize("deadline_ns", [D - 1, D + 1])
def test_a_nanosecond_of_the_deadline_matters(traces: list[Small], deadline_ns: int) -> None:
    felt = {key[0] for one in traces for key in keys(one) ^ keys(one, deadline_ns=deadline_ns)}
    assert felt == {"A001", "A011", "A012"}


def test_how_a_trace_is_cut_into_files_does_not_matter(traces: list[Small]) -> None:
    for seed, one in enumerate(traces[:60]):
        files = split(one.rows, seed)
        assert sum(map(len, files)) >= len(one.rows)
        assert keys(one) == keys(one, [row for file in files for row in file])


def test_a_trace_is_the_same_for_a_seed() -> None:
    assert small_trace(7).rows == small_trace(7).rows != small_trace(8).rows


def subscription(*steps: tuple[str, int]) -> list[Row]:
    """Steps of one client at one node, with a clock error of 1, and one event to be due."""
    base = {"node": "n", "clock_err_ns": 1}
    rows = [
        {**base, "ts_ns": ts, "li": li, "kind": kind, "topic": "t", "client": "c"}
        for li, (kind, ts) in enumerate(steps)
    ]
    event = {"kind": "publish", "topic": "t", "producer": "p", "pseq": 1}
    return [*rows, {**base, "ts_ns": 1000, "li": 99, **event}]


@pytest.mark.parametrize(
    ("steps", "due"),
    [
        # may_from, may_until, must_from, a, b
        ([("subscribe", 10)], [(9, EVER, EVER, EVER, -EVER)]),
        ([("subscribed", 10)], [(-EVER, EVER, 11, 11, 1000)]),
        ([("unsubscribe", 10)], [(-EVER, EVER, EVER, EVER, -EVER)]),
        ([("unsubscribed", 10)], [(-EVER, 11, EVER, EVER, -EVER)]),
        ([("subscribe", 10), ("subscribe", 20), ("subscribed", 30)], [(9, EVER, 31, 31, 1000)]),
        ([("subscribed", 10), ("subscribed", 30)], [(-EVER, EVER, 11, 11, 1000)]),
        (
            [("subscribe", 10), ("subscribed", 20), ("unsubscribe", 50), ("unsubscribed", 60)],
            [(9, 61, 21, 21, 49)],
        ),
        (
            [("subscribe", 10), ("subscribed", 20), ("unsubscribe", 50), ("unsubscribe", 70)],
            [(9, EVER, 21, 21, 49)],
        ),
        (
            [("subscribe", 10), ("subscribed", 20), ("unsubscribed", 60)],
            [(9, 61, EVER, EVER, -EVER)],
        ),
        (
            [("subscribed", 20), ("unsubscribe", 50), ("subscribe", 60), ("subscribed", 70)],
            [(-EVER, EVER, 21, 21, 49), (59, EVER, 71, 71, 1000)],
        ),
        (
            [("subscribed", 20), ("unsubscribe", 50), ("subscribed", 70), ("unsubscribed", 80)],
            [(-EVER, EVER, 21, 21, 49), (-EVER, 81, EVER, EVER, -EVER)],
        ),
        # Order at a node is that of li, whatever the clock says.
        ([("subscribed", 20), ("unsubscribed", 10)], [(-EVER, 11, EVER, EVER, -EVER)]),
    ],
)
def test_windows_open_and_close_as_the_table_says(
    steps: list[tuple[str, int]], due: list[tuple[int, ...]]
) -> None:
    assert [row[3:] for row in due_rows(subscription(*steps))] == due


@pytest.mark.parametrize(
    ("steps", "online"),
    [
        ([], [(-EVER, 1000)]),
        ([("connect", 100)], [(101, 1000)]),
        ([("disconnect", 100)], [(-EVER, 99)]),
        ([("connect", 100), ("connect", 200), ("disconnect", 300)], [(101, 199), (201, 299)]),
        ([("disconnect", 100), ("disconnect", 200), ("connect", 300)], [(-EVER, 99), (301, 1000)]),
        ([("connect", 100), ("disconnect", 102), ("disconnect", 400)], []),
        ([("connect", 100), ("disconnect", 103)], [(101, 102)]),
    ],
)
def test_stretches_are_what_is_certain(
    steps: list[tuple[str, int]], online: list[tuple[int, int]]
) -> None:
    rows = oracle_due.tidy(subscription(*steps))
    assert oracle_due.online_of(rows, 1000)("c") == online


def test_a_stretch_ends_with_the_last_row_of_its_incarnation() -> None:
    rows = subscription(("connect", 100))
    rows[1]["incarnation"] = 1
    rows.append({"ts_ns": 400, "node": "n", "li": 5, "kind": "sample"})
    whole = oracle_due.tidy(rows)
    assert oracle_due.online_of(whole, 1000)("c") == [(101, 400)]
    assert oracle_due.online_of(whole, 300)("c") == [(101, 300)]


def delivery(ts: int, node: str, li: int, pseq: int, err: int = 0, **more: Any) -> Row:
    message = {"topic": "t", "producer": "p", "pseq": pseq, "client": "c"}
    return {"ts_ns": ts, "clock_err_ns": err, "node": node, "li": li, "kind": "deliver"} | (
        message | more
    )


@pytest.mark.parametrize(
    ("rows", "breaks"),
    [
        ([delivery(10, "n", 0, 2), delivery(20, "n", 1, 1)], True),
        ([delivery(10, "n", 1, 2), delivery(20, "n", 0, 1)], False),  # by li, not by clock
        ([delivery(10, "n", 0, 2), delivery(20, "m", 0, 1)], True),
        ([delivery(10, "n", 0, 2, 5), delivery(20, "m", 0, 1, 5)], False),  # clocks overlap
        ([delivery(10, "n", 0, 2, 5), delivery(20, "m", 0, 1, 4)], True),
        ([delivery(10, "n", 0, 2, redelivered=True), delivery(20, "n", 1, 1)], False),
        ([delivery(10, "n", 0, 2), delivery(20, "n", 1, 1, redelivered=True)], False),
    ],
)
def test_fifo_is_judged_by_what_is_before_for_certain(rows: list[Row], breaks: bool) -> None:
    found = audit(rows, lambda _: Contract(), deadline_ns=D)
    assert found == ({("A005", "t", "p", 1, "c", None)} if breaks else set())
