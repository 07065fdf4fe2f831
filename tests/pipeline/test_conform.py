"""Conversations held against their protocols: alone, in the audit, and in plain SQL."""

from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import ropewalk as walk
from ropewalk.pipeline.audit import conversations, protocol
from ropewalk.pipeline.audit.conform import conformance
from ropewalk.pipeline.audit.job import audit
from ropewalk.pipeline.generate import generate
from ropewalk.pipeline.ingest.job import ingest
from ropewalk.pipeline.store import open_store
from ropewalk.protocol import automaton
from ropewalk.protocol.observed import observed
from ropewalk.protocol.reading import load_automata
from tests.conftest import Run


@pytest.fixture(scope="module")
def traced(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("conform") / "t"
    generate(spark, folder, events=30_000, faults=["protocol"], seed=5)
    ingest(spark, [folder / "traces"], folder / "store")
    return folder


def test_conversations_alone_and_in_the_audit_are_judged_the_same(
    spark: SparkSession, traced: Path
) -> None:
    store, federation = open_store(traced / "store"), walk.load(traced / "federation.yaml")
    protocols = load_automata(federation.protocols, traced)
    alone = conformance(spark, store, federation, protocols)
    among = audit(spark, store, federation, protocols=protocols)
    of_protocol = among.violations.filter(
        np.array([one == "A013" for one in among.violations["code"].to_pylist()])
    )
    assert len(alone.violations) == alone.conversations["order-entry"]["left"] > 0
    assert alone.conversations == among.conversations
    told = [sorted(map(str, one.to_pylist())) for one in (alone.violations, of_protocol)]
    assert told[0] == told[1]


def test_the_command_tells_how_conversations_ended(ropewalk: Run, traced: Path) -> None:
    ran = ropewalk("pipeline", "conform", traced, "--json")
    assert ran.code == 1
    counts = ran.document["summary"]["conversations"]["order-entry"]
    assert counts["left"] == len(ran.document["findings"])
    assert counts["ended"] > counts["left"]
    assert (traced / "conformance" / "violations.parquet").exists()


# --- the kernels --------------------------------------------------------------------------------

DEAL = automaton(
    "{protocol: p, initial: a, accepting: [c], transitions: [a -> b: x, b -> a: y, b -> c: z]}"
)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=40))
def test_mixed_rows_in_the_order_of_time_are_run_as_each_conversation_by_itself(
    rows: list[tuple[int, int]],
) -> None:
    tables = protocol.tables_of([DEAL])
    state = np.zeros(4, np.int32)
    talk, letters = ([row[i] for row in rows] for i in (0, 1))
    off = conversations.run(
        np.array(talk, np.int32), np.array(letters, np.int16), tables.step, state
    )
    expected = [DEAL.walk(letter for one, letter in rows if one == c) for c in range(4)]
    assert state.tolist() == expected
    assert off == sum(one < 0 for one in expected)


def piece(bucket: int, rows: list[tuple[int, int, int, int, int]]) -> bytes:
    """Rows (conversation, time, node, li, letter) as a bucket gives them away."""
    said = np.zeros(len(rows), protocol.SAID)
    for i, (key, ts, node, li, letter) in enumerate(rows):
        said[i] = (key, ts, li, i, node, letter, 0)
    return np.array([bucket], protocol.HEAD).tobytes() + said.tobytes()


def test_rows_of_many_buckets_are_put_in_the_order_of_time_node_and_place() -> None:
    random, tables = Random(1), protocol.tables_of([DEAL])
    for _ in range(200):
        rows = [
            (random.randint(1, 3), random.randint(0, 6), random.randint(0, 1), li, random.randint(0, 2))
            for li in range(random.randint(1, 90))
        ]  # fmt: skip
        split = random.randint(0, len(rows))
        found = conversations.judge([piece(0, rows[:split]), piece(7, rows[split:])], tables)
        ends = Counter(
            "left" if end < 0 else "ended" if end in DEAL.accepting else "open"
            for key in {row[0] for row in rows}
            for end in [DEAL.walk(row[4] for row in sorted(rows, key=_place) if row[0] == key)]
        )
        [counts] = found.counts.to_pylist()
        assert {name: counts[name] for name in ("ended", "open", "left")} == {
            name: ends[name] for name in ("ended", "open", "left")
        }
        assert len(found.off) == ends["left"]


def _place(row: tuple[int, ...]) -> tuple[int, ...]:
    return row[1:4]


def test_what_a_trace_does_not_tell_is_not_held_against_it() -> None:
    bid = automaton(
        "{protocol: p, initial: s, accepting: [t], messages: {A -> B: [bid, stop], B -> A: sold},"
        " transitions: [{s -> low: {message: bid, when: n < 5}}, low -> t: stop,"
        " {s -> high: {message: bid, when: n >= 5}}, high -> t: sold,"
        " {high -> late: {timeout_s: 1, at: A}}, late -> t: stop]}"
    )
    seen = observed(bid)

    def allowed(*labels: str) -> bool:
        state = 0
        for label in labels:
            state = int(seen.table[state, seen.labels.index(label)]) if state >= 0 else -1
        return state >= 0

    assert allowed("bid", "sold")
    assert allowed("bid", "stop")
    assert allowed("bid[n >= 5]", "sold")
    assert allowed("bid[n >= 5]", "stop")
    assert allowed("bid[n < 5]", "stop")
    assert not allowed("bid[n < 5]", "sold")
    assert not allowed("bid", "bid")
