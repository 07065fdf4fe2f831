"""The agent's trace: rows as calls came, files whole or not there, and what a crash leaves."""

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import copytree
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ropewalk.agent.clock import now_us
from ropewalk.agent.trace_before import Before, Standing
from ropewalk.agent.tracing import Tracer
from ropewalk.errors import UsageError
from ropewalk.overlay.events import Deliver
from ropewalk.overlay.words import Address, Letter, Run

BROKERS = ("lon", "par", "ber")
Make = Callable[..., Tracer]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[Tracer] = []

    def start(folder: Path = tmp_path, **options: Any) -> Tracer:
        given = {"node": "lon", "incarnation": 1, "names": BROKERS, **options}
        made.append(Tracer(folder, **given))
        made[-1].start()
        return made[-1]

    yield start
    for one in made:
        one.close()


def rows_in(folder: Path) -> list[dict[str, Any]]:
    """All rows that readers see, by life and order; what is missing is left out."""
    tables = [pq.read_table(one) for one in sorted(folder.glob("[!.]*.parquet"))]
    rows = pa.concat_tables(tables, promote_options="default").to_pylist() if tables else []
    rows.sort(key=lambda row: (row["incarnation"], row["li"]))
    return [{name: one for name, one in row.items() if one is not None} for row in rows]


def letter(number: int, *, origin: int = 1, **more: Any) -> Letter:
    return Letter(origin, 7, "a/b", number, b"12345", **more)


def killed(folder: Path, to: Path) -> Path:
    """What the disk holds now: what an agent leaves that is killed."""
    copytree(folder, to)
    return to


def test_that_a_message_left_before_its_log_was_synced_is_within_the_error(
    make: Make, tmp_path: Path
) -> None:
    tracer, ago_us = make(clock_err_ns=lambda: 9), 200_000
    sent = now_us() - ago_us
    tracer.accepted([letter(1, sent_us=sent), letter(2, sent_us=sent + 5)])
    tracer.accepted_run(Run(letter(3, sent_us=sent), Address(2, 0, 9, 1), True, (b"x", b"y"), ()))
    tracer.accepted([letter(5, sent_us=sent)], again=True)  # of a life before: nothing is known
    tracer.close()
    errors = [row["clock_err_ns"] for row in rows_in(tmp_path)]
    assert all(ago_us * 1_000 <= one < 60e9 for one in errors[:4])
    assert errors[4] == 9


def test_a_client_that_comes_with_its_item_is_no_new_subscription(
    make: Make, tmp_path: Path
) -> None:
    tracer = make()
    tracer.subscribed("a/b", "a/b", stood=True)
    tracer.confirmed("a/b", "a/b")
    tracer.unsubscribed("a/b", "a/b")
    tracer.close()
    found = [(row["kind"], row["client"]) for row in rows_in(tmp_path)]
    kinds = ("subscribed", "unsubscribe", "unsubscribed")
    assert found == [(kind, "a/b@lon") for kind in kinds]


def test_every_call_is_a_row_in_its_order(make: Make, tmp_path: Path) -> None:
    tracer = make(epoch=lambda: 4, clock_err_ns=lambda: 9, forward_every=2)
    tracer.connected("c1")
    tracer.subscribed("c1", "a/#", durable=True)
    tracer.confirmed("c1", "a/#")
    tracer.accepted([letter(1, key="k1", producer="feed"), letter(2, origin=2)])
    tracer.forwarded("lon-par", [letter(1), letter(2)])
    tracer.delivered([Deliver(letter(5, order=(1, 2), priority=3), ("c1", "c2"))])
    tracer.dropped(letter(6), "too old")
    tracer.unsubscribed("c1", "a/#")
    tracer.disconnected("c1")
    tracer.sample({"window_ns": 5, "messages_in": 2, "unheard_of": 1})
    tracer.flush()
    assert rows_in(tmp_path) == []
    tracer.close()
    rows = rows_in(tmp_path)
    assert [row["li"] for row in rows] == list(range(13)) == list(range(tracer.rows))
    assert {
        (row["node"], row["incarnation"], row["epoch"], row["clock_err_ns"]) for row in rows
    } == {("lon", 1, 4, 9)}
    plain = ("node", "incarnation", "epoch", "clock_err_ns", "li", "ts_ns")
    told = [{name: one for name, one in row.items() if name not in plain} for row in rows]
    message = {"topic": "a/b", "producer": "par~7", "size_bytes": 5}
    five = {"kind": "deliver", **message, "pseq": 5, "rank": (1 << 40) + 2, "priority": 3}
    zero = {"priority": 0}
    assert told == [
        {"kind": "connect", "client": "c1"},
        {"kind": "subscribe", "topic": "a/#", "client": "c1", "durable": True},
        {"kind": "subscribed", "topic": "a/#", "client": "c1"},
        {"kind": "accepted", **message, "pseq": 1, "client": "feed", "event_id": "k1"} | zero,
        {"kind": "accepted", **message, "pseq": 2, "producer": "ber~7"} | zero,
        {"kind": "forward", **message, "pseq": 2, "link": "lon-par"} | zero,
        five | {"client": "c1"},
        five | {"client": "c2"},
        {"kind": "drop", **message, "pseq": 6, "why": "too old"},
        {"kind": "unsubscribe", "topic": "a/#", "client": "c1"},
        {"kind": "unsubscribed", "topic": "a/#", "client": "c1"},
        {"kind": "disconnect", "client": "c1"},
        {"kind": "sample", "window_ns": 5, "messages_in": 2},
    ]


@pytest.mark.parametrize("keys", [(), ("k1", "", "k3")])
def test_a_run_gives_the_rows_of_its_letters(
    make: Make, tmp_path: Path, keys: tuple[str, ...]
) -> None:
    first = Letter(1, 7, "a/b", 4, b"", 0, 2, "feed")
    run = Run(first, Address(2, 0, 9, 1), True, (b"1", b"", b"333"), keys)
    told = []
    for name, call in (("one", "accepted"), ("other", "accepted_run")):
        tracer = make(tmp_path / name, now_ns=lambda: 5)
        getattr(tracer, call)(run.letters() if call == "accepted" else run)
        tracer.close()
        told.append(rows_in(tmp_path / name))
    assert told[0] == told[1]
    assert [row["pseq"] for row in told[1]] == [4, 5, 6]


def test_segments_stand_by_themselves(make: Make, tmp_path: Path) -> None:
    tracer = make(rows_per_file=3)
    for number in range(1, 21):
        tracer.accepted([letter(number)])
        tracer.delivered([Deliver(letter(number), ("c1",))])
        tracer.flush()
    tracer.renumbered(("lon", "zrh"))
    tracer.accepted([letter(21), letter(22, origin=9)])
    tracer.close()
    rows = rows_in(tmp_path)
    assert [row["li"] for row in rows] == list(range(42))
    assert [row["pseq"] for row in rows if row["kind"] == "deliver"] == list(range(1, 21))
    assert [row["producer"] for row in rows[-3:]] == ["par~7", "zrh~7", "#9~7"]
    assert len(list(tmp_path.glob("*.parquet"))) == 11
    assert not list(tmp_path.glob(".*.rows")), "a clean end leaves no journal"


def test_last_values_for_latecomers_are_no_rows(make: Make, tmp_path: Path) -> None:
    tracer = make()
    tracer.delivered([Deliver(letter(1), ("c1",), retained=True), Deliver(letter(2), ("c1",))])
    tracer.delivered([Deliver(letter(3), ("c1",), retained=True)])
    tracer.close()
    assert [row["pseq"] for row in rows_in(tmp_path)] == [2]


def test_clients_that_a_broker_does_not_tell_apart_are_its_own(make: Make, tmp_path: Path) -> None:
    for node in ("lon", "par"):
        tracer = make(node=node)
        tracer.subscribed("a/#", "a/#")
        tracer.delivered([Deliver(letter(1), ("a/#",))])
        tracer.close()
    assert {row["client"] for row in rows_in(tmp_path)} == {"a/#@lon", "a/#@par"}


def test_kill_9_loses_nothing_that_was_flushed(make: Make, tmp_path: Path) -> None:
    child = os.fork()
    if not child:
        tracer = Tracer(tmp_path, node="lon", incarnation=1, names=BROKERS)
        tracer.start()
        tracer.accepted([letter(number) for number in range(1, 4)])
        tracer.flush()
        tracer.accepted([letter(4)])
        os.kill(os.getpid(), 9)
    os.waitpid(child, 0)
    assert rows_in(tmp_path) == []
    make(incarnation=2).close()
    assert [row["pseq"] for row in rows_in(tmp_path)] == [1, 2, 3]


@pytest.mark.parametrize("suffix", [".rows", ".text"])
@pytest.mark.parametrize("cut", [1, 8, 40, 120])
def test_what_is_torn_is_passed_over(make: Make, tmp_path: Path, suffix: str, cut: int) -> None:
    tracer = make(tmp_path / "whole")
    tracer.accepted([letter(1)])
    tracer.flush()
    tracer.delivered([Deliver(letter(2, key="k"), ("c1", "c2"))])
    tracer.subscribed("c1", "a/#")
    tracer.flush()
    found = killed(tmp_path / "whole", tmp_path / "found")
    (path,) = found.glob(f".*{suffix}")
    path.write_bytes(path.read_bytes()[:-cut] + b"\0" * (200 if cut == 40 else 0))
    faults: list[str] = []
    make(found, incarnation=2, on_fault=faults.append).close()
    assert faults == []
    rows = rows_in(found)
    assert [row["li"] for row in rows] == list(range(len(rows)))
    assert len(rows) < 4
    assert all(row.get("pseq") in (1, 2) for row in rows)


def test_a_delivery_that_is_made_again_after_a_crash_is_marked(make: Make, tmp_path: Path) -> None:
    tracer = make(tmp_path / "whole")
    tracer.delivered([Deliver(letter(one), ("c1",)) for one in (1, 2)])
    tracer.flush()
    found = killed(tmp_path / "whole", tmp_path / "found")
    again = make(found, incarnation=2)
    again.delivered([Deliver(letter(2), ("c1", "c2")), Deliver(letter(3), ("c1",))])
    again.close()
    rows = [(row["pseq"], row["client"], row.get("redelivered", False)) for row in rows_in(found)]
    assert rows == [
        (1, "c1", False),
        (2, "c1", False),
        (2, "c1", True),
        (2, "c2", False),
        (3, "c1", False),
    ]


def test_and_so_is_one_beside_messages_of_conversations_that_are_told_again() -> None:
    """They bring a mark of their own, and a file with two columns of one name is lost."""
    told = {"ts_ns": [1, 2], "li": [1, 2], "kind": ["publish", "deliver"], "pseq": [9, 7]}
    names = {"topic": ["t", "t"], "producer": ["p", "p"], "client": [None, "c"]}
    before = Before(Standing())
    before.left(pa.table(told | names))
    marked = before.marked(pa.table(told | names | {"redelivered": [True, None]}))
    assert marked.column_names.count("redelivered") == 1
    assert marked["redelivered"].to_pylist() == [True, True]


def test_parts_of_a_trace_without_any_message_are_kept_after_a_crash(
    make: Make, tmp_path: Path
) -> None:
    said: list[str] = []
    tracer = make(tmp_path / "whole")
    tracer.delivered([Deliver(letter(1), ("c1",))])
    tracer.flush()
    found = killed(tmp_path / "whole", tmp_path / "found")
    again = make(found, incarnation=2)
    again.sample({"window_ns": 5})
    again.flush()
    third = killed(found, tmp_path / "third")
    again.close()
    last = make(third, incarnation=3, on_fault=said.append)
    last.connected("c1")
    last.close()
    kinds = [(row["incarnation"], row["kind"]) for row in rows_in(third)]
    assert kinds == [(1, "deliver"), (2, "sample"), (3, "connect")]
    assert [(row["incarnation"], row["kind"]) for row in rows_in(found)] == kinds[:2]
    assert not said


@pytest.mark.parametrize("clean", [True, False])
def test_who_left_while_the_agent_was_away_is_no_longer_due(
    make: Make, tmp_path: Path, clean: bool
) -> None:
    tracer = make(tmp_path / "whole", now_ns=lambda: 1_000)
    for client in ("stays", "goes", "went"):
        tracer.subscribed(client, "a/#")
    tracer.unsubscribed("went", "a/#")
    tracer.flush()
    if clean:
        tracer.close()
    found = killed(tmp_path / "whole", tmp_path / "found")
    again = make(found, incarnation=2, now_ns=lambda: 9_000)
    again.subscribed("stays", "a/#")
    again.settled()
    while again.rows == 1:
        again.flush()
    again.close()
    ended = [row for row in rows_in(found) if row["incarnation"] == 2][1:]
    assert [(row["kind"], row["client"], row["ts_ns"]) for row in ended] == [
        ("unsubscribe", "goes", 1_000),
        ("unsubscribed", "goes", 9_000),
    ]


def test_the_oldest_files_go_when_there_are_too_many_bytes(make: Make, tmp_path: Path) -> None:
    faults: list[str] = []
    tracer = make(rows_per_file=1, max_bytes=30_000, on_fault=faults.append)
    for number in range(1, 41):
        tracer.accepted([letter(number)])
        tracer.flush()
    tracer.close()
    numbers = [row["pseq"] for row in rows_in(tmp_path)]
    assert 0 < len(numbers) < 40
    assert numbers == list(range(41 - len(numbers), 41))
    assert sum(one.stat().st_size for one in tmp_path.iterdir()) <= 30_000
    assert tracer.deleted_bytes > 0
    assert "its oldest" in faults[0]


def test_a_full_disk_costs_rows_and_not_the_agent(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults: list[str] = []
    now_s = [0.0]
    monkeypatch.setattr("ropewalk.agent.tracing.monotonic", lambda: now_s[0])
    tracer = make(on_fault=faults.append)
    tracer.accepted([letter(1)])
    tracer.flush()
    write, full = os.write, OSError(errno.ENOSPC, "No space left on device")

    def refuse(_file: int, _content: bytes) -> int:
        raise full

    monkeypatch.setattr(os, "write", refuse)
    for number in (2, 3, 4):
        tracer.accepted([letter(number)])
        tracer.flush()
    monkeypatch.setattr(os, "write", write)
    now_s[0] += 2
    tracer.accepted([letter(5)])
    tracer.flush()
    tracer.close()
    assert [(row["pseq"], row["li"]) for row in rows_in(tmp_path)] == [(1, 0), (5, 4)]
    assert tracer.dropped_rows == 3
    assert len(faults) == 1
    assert "No space left" in faults[0]


def test_a_life_is_traced_once(make: Make, tmp_path: Path) -> None:
    tracer = make()
    tracer.accepted([letter(1)])
    tracer.close()
    with pytest.raises(UsageError, match="incarnation 1 of lon"):
        Tracer(tmp_path, node="lon", incarnation=1, names=BROKERS).start()
    make(node="par").close()
    make(incarnation=2).close()
