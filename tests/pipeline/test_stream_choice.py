"""Which buckets are judged again, and how windows add up: no Spark, many small traces."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropewalk.pipeline.audit.bucket import bucket
from ropewalk.pipeline.audit.contracts import contracts_of
from ropewalk.pipeline.audit.due import control_rows, due_rows, stretches_of, windows_of
from ropewalk.pipeline.audit.gathering import rows_until
from ropewalk.pipeline.audit.judge import judge
from ropewalk.pipeline.ingest import packing
from ropewalk.pipeline.ingest.checking import checked
from ropewalk.pipeline.ingest.reading import parsed
from ropewalk.pipeline.shapes import VIOLATIONS
from ropewalk.pipeline.store import Stored
from ropewalk.pipeline.stream import closing, windows
from ropewalk.pipeline.stream.changes import differences
from ropewalk.pipeline.stream.closing import NEVER, Judgement
from ropewalk.trace.columns import stored_schema
from ropewalk.trace.ids import id_of
from tests.pipeline.oracle_due import tidy
from tests.pipeline.small_brinks import Row
from tests.pipeline.small_traces import Small, small_trace

BUCKETS = 8
SEEDS = (*range(4000, 4015), *range(4160, 4172))


@dataclass
class Bench:
    """A store in memory, and what of it was judged when."""

    trace: Small
    files: list[tuple[Stored, bytes]] = field(default_factory=list)
    control: list[pa.Table] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    judged: Judgement = field(default_factory=lambda: Judgement(NEVER, {}, {}))
    verdicts: dict[int, pa.Table] = field(default_factory=dict)
    left_alone: int = 0

    def take(self, rows: list[Row]) -> list[Stored]:
        content = "".join(json.dumps(row) + "\n" for row in rows).encode()
        tables = packing.stored(checked(parsed("x.jsonl", content)), 0)
        self.names |= {id_of(row["topic"]): row["topic"] for row in rows if "topic" in row}
        new = []
        for name, table in tables.items():
            parts = packing.scattered(table, BUCKETS) if name == "events" else [(0, b"")]
            for number, piece in parts:
                whole = packing.joined([piece], name) if piece else table
                whole = packing.ordered(whole, packing.KEYS[name]).table
                nodes: Any = tuple(map(tuple, packing.coverage(whole)))
                one = Stored(f"{len(self.files)}", name, number, len(whole), "", nodes)
                self.files.append((one, packing.table_file(whole)))
                new.append(one)
        if "control" in tables:
            self.control.append(tables["control"])
        return new

    def step(self, new: list[Stored], delay: int) -> None:
        """Every bucket is judged; those that would have been left alone must not differ."""
        stored = [one for one, _ in self.files]
        mark = closing.watermark(stored, delay, self.judged.watermark_ns)
        seen: dict[tuple[int, int], int] = {}
        for one in stored:
            for node, incarnation, _, _, latest in one.nodes:
                seen[node, incarnation] = max(latest, seen.get((node, incarnation), latest))
        empty = stored_schema("control").empty_table()
        rows = control_rows(pa.concat_tables([empty, *self.control], promote_options="permissive"))
        rows = [row for row in rows if row.ts <= mark]
        due = due_rows(windows_of(rows), stretches_of(rows, seen, mark), mark, self.names)
        contracts = contracts_of(self.trace.federation, self.names)
        published = dict(self.judged.published_ns)
        for one, content in self.files:
            if one.table == "events" and one in new:
                latest, _ = windows.counts_of(content, 100)
                published[one.bucket] = max(latest, published.get(one.bucket, NEVER))
        now = Judgement(mark, closing.marks_of(due, BUCKETS, mark), published)
        grace = max(self.trace.deadline_ns, int(contracts.within_ns.max(initial=0)))
        events = [one for one in stored if one.table == "events"]
        touched = [one for one in new if one.table == "events"]
        chosen = closing.to_judge(self.judged, now, events, touched, grace)
        for number in {one.bucket for one in events}:
            contents = [
                content
                for one, content in self.files
                if one.table == "events" and one.bucket == number
            ]
            kept = list(rows_until(map(pa.py_buffer, contents), mark))
            found = VIOLATIONS.empty_table()
            if kept:
                found = judge(bucket(kept, contracts, due), self.trace.deadline_ns).violations
            if number not in chosen:
                self.left_alone += 1
                if not found.equals(self.verdicts[number]):
                    raise AssertionError(f"bucket {number} was left alone but differs at {mark}")
            self.verdicts[number] = found
        self.judged = now


def arrivals(trace: Small, random: Random) -> list[list[Row]]:
    """Rows roughly as they happen; some come much later."""
    rows = tidy_rows(trace.rows)
    latest = max(row["ts_ns"] for row in rows)
    count = random.randint(3, 6)
    parts: list[list[Row]] = [[] for _ in range(count)]
    for row in rows:
        at = row["ts_ns"] * count // (latest + 1)
        if random.random() < 0.1:
            at = random.randrange(at, count)
        parts[at].append(row)
    return [part for part in parts if part]


def tidy_rows(rows: list[Row]) -> list[Row]:
    """Each row once."""
    found = {(row["node"], row.get("incarnation", 0), row["li"]): row for row in rows}
    return list(found.values())


def play(seed: int) -> Bench:
    random = Random(seed)
    bench = Bench(small_trace(seed))
    delay = random.choice((0, 100, 400))
    for part in arrivals(bench.trace, random):
        bench.step(bench.take(part), delay)
    for less in (delay // 2, 0):
        bench.step([], less)
    return bench


def test_a_bucket_that_is_left_alone_would_have_been_judged_the_same() -> None:
    left_alone = sum(play(seed).left_alone for seed in SEEDS)
    assert left_alone > 100


TO_JUDGE = closing.to_judge
BROKEN: dict[str, Any] = {
    "only where rows came": lambda before, now, old, new, grace: {one.bucket for one in new},
    "deadlines do not count": lambda before, now, old, new, grace: TO_JUDGE(
        before, now, old, new, 0
    ),
    "due rows do not count": lambda before, now, old, new, grace: TO_JUDGE(
        before, Judgement(now.watermark_ns, before.marks, now.published_ns), old, new, grace
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_worse_choice_misses_something(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closing, "to_judge", BROKEN[name])
    with pytest.raises(AssertionError, match="left alone"):
        [play(seed) for seed in reversed(SEEDS)]


Event = tuple[int, int, bool]
"""Topic, time, and whether it is an `accepted` row (else `publish`)."""
events = st.lists(st.tuples(st.integers(1, 3), st.integers(0, 60), st.booleans()), max_size=30)
batches = st.lists(st.tuples(events, st.integers(0, 15)), min_size=1, max_size=5)
WINDOW = 10


def counts(found: Iterable[Event]) -> pa.Table:
    table: Counter[tuple[int, int, bool]] = Counter(
        (topic, ts // WINDOW, accepted) for topic, ts, accepted in found
    )
    keys = sorted({key[:2] for key in table})
    lines = [(*key, table[(*key, True)], table[(*key, False)]) for key in keys]
    columns = list(zip(*lines, strict=True)) or [()] * 4
    return pa.table([pa.array(one, pa.int64()) for one in columns], schema=windows.COUNTS)


def brute(found: Iterable[Event], watermark: int) -> dict[tuple[int, int], int]:
    """Messages per topic and closed window, from the definition."""
    closed = [one for one in found if (one[1] // WINDOW + 1) * WINDOW <= watermark]
    custody = {topic for topic, _, accepted in closed if accepted}
    chosen = [one for one in closed if one[2] == (one[0] in custody)]
    return dict(Counter((topic, ts // WINDOW) for topic, ts, _ in chosen))


@settings(max_examples=150, deadline=None)
@given(batches)
def test_windows_told_are_those_of_a_batch_job(given: list[tuple[list[Event], int]]) -> None:
    state, mark, net, everything = windows.WINDOWS.empty_table(), NEVER, {}, []
    closed: set[tuple[int, int]] = set()
    for new, delay in given:
        everything += new
        before, mark = mark, max(mark, max((ts for _, ts, _ in everything), default=0) - delay)
        state, changes = windows.told(windows.added(state, counts(new)), WINDOW, before, mark)
        for one in changes:
            key = one.topic, one.window
            assert one.op == windows.CORRECTED or key not in closed, "closed twice"
            closed.add(key)
            net[key] = one.messages
        expected = brute(everything, mark)
        assert {key: one for key, one in net.items() if one} == expected
        told = windows.rates(state).to_pylist()
        assert {(one["topic"], one["window"]): one["messages"] for one in told} == expected


def test_rows_that_count_twice_break_that() -> None:
    state = windows.WINDOWS.empty_table()
    some = [(1, 5, True), (1, 25, True)]
    for _ in range(2):
        state, _ = windows.told(windows.added(state, counts(some)), WINDOW, NEVER, 20)
    assert windows.rates(state).to_pylist() != [{"topic": 1, "window": 0, "messages": 1}]


def test_a_file_is_counted_by_row_and_its_publications_by_their_latest_end() -> None:
    rows = [
        {"ts_ns": 5, "clock_err_ns": 30, "kind": "publish", "li": 0},
        {"ts_ns": 15, "kind": "accepted", "li": 1},
        {"ts_ns": 90, "kind": "deliver", "client": "k", "li": 2},
    ]
    bench = Bench(small_trace(1))
    bench.take([{"node": "n", "topic": "t", "producer": "p", "pseq": 1, **row} for row in rows])
    latest, table = windows.counts_of(bench.files[0][1], 10)
    assert latest == 35
    assert [tuple(one.values())[1:] for one in table.to_pylist()] == [(0, 0, 1), (1, 1, 0)]


def line(code: str, topic: int, amount: int | None = None) -> dict[str, object]:
    return {"code": code, "topic": topic, "amount": amount, "evidence": []}


def test_only_what_was_judged_again_is_withdrawn() -> None:
    before = pa.Table.from_pylist([line("A001", 8), line("A001", 9), line("A013", 9)], VIOLATIONS)
    now = pa.Table.from_pylist([line("A002", 9, 2), line("A011", 8)], VIOLATIONS)
    made = differences(before, now, {1, -1}, 8)
    assert [(one["code"], one["topic"]) for one in made.withdrawn] == [("A001", 9)]
    assert [(one["code"], one["topic"]) for one in made.found] == [("A002", 9), ("A011", 8)]
    assert made.violations["code"].to_pylist() == ["A001", "A002", "A011", "A013"]


def test_an_amount_that_changes_is_told_anew() -> None:
    before = pa.Table.from_pylist([line("A002", 9, 2)], VIOLATIONS)
    made = differences(before, pa.Table.from_pylist([line("A002", 9, 3)], VIOLATIONS), {1}, 8)
    told = [(one["op"], one["amount"], one["topic_name"]) for one in made.lines({9: "t"})]
    assert told == [("withdrawn", 2, "t"), ("found", 3, "t")]


def test_the_watermark_never_goes_back() -> None:
    file = Stored("p", "events", 0, 1, "r", ((1, 0, 0, 0, 500),))
    assert closing.watermark([], 10) == NEVER
    assert closing.watermark([file], 10) == 490
    assert closing.watermark([file], 100, 490) == 490


def test_oracle_and_rows_agree_on_what_is_one_row() -> None:
    rows = small_trace(7).rows
    assert len(tidy_rows(rows)) == len(tidy(rows))
    assert np.all([row["ts_ns"] >= 0 for row in rows])
