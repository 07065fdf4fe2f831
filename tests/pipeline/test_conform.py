"""Conversations held against their protocols: alone, in the audit, and in plain SQL."""

from collections import Counter
from pathlib import Path
from random import Random
from typing import NamedTuple

import networkx as nx
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
from ropewalk.web.recorded import recorded
from ropewalk.web.stepping import walked
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


def test_the_console_steps_through_the_same_conversations(
    spark: SparkSession, traced: Path
) -> None:
    store, federation = open_store(traced / "store"), walk.load(traced / "federation.yaml")
    protocols = load_automata(federation.protocols, traced)
    counts = conformance(spark, store, federation, protocols).conversations["order-entry"]
    shown = recorded(traced, federation).conversations["order-entry"]
    assert len(shown) == sum(counts.values())
    steps = [walked(protocols["order-entry"], one.labels, recorded=True) for one in shown]
    assert sum(one.over for one in steps) == counts["left"] > 0


def test_the_command_tells_how_conversations_ended(ropewalk: Run, traced: Path) -> None:
    ran = ropewalk("pipeline", "conform", traced, "--json")
    assert ran.code == 1
    counts = ran.document["summary"]["conversations"]["order-entry"]
    assert counts["left"] == len(ran.document["findings"])
    assert counts["ended"] > counts["left"]
    assert ran.document["summary"]["codes"] == {"A013": counts["left"]}
    assert (traced / "conformance" / "violations.parquet").exists()


# --- the kernels --------------------------------------------------------------------------------

DEAL = automaton(
    "{protocol: p, initial: a, accepting: [c], transitions: [a -> b: x, b -> a: y, b -> c: z]}"
)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-2, 2)), max_size=40))
def test_mixed_rows_in_the_order_of_time_are_run_as_each_conversation_by_itself(
    rows: list[tuple[int, int]],
) -> None:
    tables = protocol.tables_of([DEAL])
    state, left = np.zeros(4, np.int32), np.full(4, -1, np.int32)
    talk, letters = ([row[i] for row in rows] for i in (0, 1))
    conversations.run(
        np.array(talk, np.int32), np.array(letters, np.int16), tables.step, state, left
    )
    for c in range(4):
        mine = [i for i, one in enumerate(talk) if one == c]
        expected, gone = _alone([letters[i] for i in mine])
        assert state[c] == expected
        assert left[c] == (mine[gone] if gone >= 0 else -1)


def _alone(letters: list[int]) -> tuple[int, int]:
    """The last state of one conversation, and which of its messages left the protocol, if any."""
    state = 0
    for i, letter in enumerate(letters):
        if letter == protocol.NO_LABEL:
            return protocol.UNKNOWN, -1
        state = DEAL.rows[state][letter] if letter >= 0 else protocol.WRONG
        if state == protocol.WRONG:
            return state, i
    return state, -1


NODES = protocol.nodes_of({(node, 0): 0 for node in range(3)})


class Told(NamedTuple):
    """A row: conversation, time, its clock's error, node, place there, letter."""

    key: int
    ts: int
    err: int
    node: int
    li: int
    letter: int


def piece(bucket: int, rows: list[Told]) -> bytes:
    """Rows as a bucket gives them away."""
    said = np.zeros(protocol.HEADS + len(rows), protocol.SAID)
    said[0]["key"] = bucket
    for i, row in enumerate(rows):
        told = (row.key, row.ts, row.li, row.err, i, row.node, row.letter, 0)
        said[protocol.HEADS + i] = told
    return said.tobytes()


def before(a: Told, b: Told) -> bool:
    """Before, for certain (docs/audit.md)."""
    return a.li < b.li if a.node == b.node else a.ts + a.err < b.ts - b.err


def ends(rows: tuple[Told, ...], known: dict[tuple[Told, ...], set[int]]) -> set[int]:
    """Last states of a conversation over all orders that are possible; -2 if nobody can tell."""
    if not rows:
        return {0}
    if rows not in known:
        known[rows] = set()
        for last in rows:
            if any(before(last, other) for other in rows if other is not last):
                continue
            rest = ends(tuple(one for one in rows if one is not last), known)
            known[rows] |= {protocol.UNKNOWN} & rest
            for state in rest - {protocol.UNKNOWN}:
                to = protocol.UNKNOWN if last.letter == protocol.NO_LABEL else -1
                known[rows].add(DEAL.rows[state][last.letter] if last.letter >= 0 else to)
        known[rows].discard(-1)
    return known[rows]


def possible(rows: list[Told]) -> bool:
    """Whether clocks and nodes do not contradict each other."""
    graph = nx.DiGraph([(a, b) for a in rows for b in rows if a is not b and before(a, b)])
    return bool(nx.is_directed_acyclic_graph(graph))


def first_order(rows: list[Told]) -> list[Told]:
    """By time, each row with the largest so far at its node."""
    latest: dict[int, int] = {}
    when = {}
    for one in sorted(rows, key=lambda row: row.li):
        when[one] = latest[one.node] = max(one.ts, latest.get(one.node, 0))
    return sorted(rows, key=lambda row: (when[row], row.node, row.li))


def judged(rows: list[Told]) -> str:
    """What is to be said of one conversation."""
    state, _ = _alone([row.letter for row in first_order(rows)])
    if state == protocol.WRONG:
        return "left" if possible(rows) and not ends(tuple(rows), {}) else "unknown"
    if state == protocol.UNKNOWN:
        return "unknown"
    return "ended" if state in DEAL.accepting else "open"


def random_rows(random: Random, many: int, width: int) -> list[Told]:
    return [
        Told(
            random.randint(1, 3),
            li // 2 + random.randint(0, width),
            random.choice([0, 0, 1, width]),
            random.randint(0, 2),
            li,
            random.choice([0, 0, 1, 1, 2, 2, -1, -2] if random.random() < 0.2 else [0, 1]),
        )
        for li in range(many)
    ]


def test_a_conversation_is_wrong_if_it_is_in_every_order_that_the_clocks_allow() -> None:
    random, tables, seen = Random(1), protocol.tables_of([DEAL]), Counter[str]()
    for turn in range(600):
        rows = random_rows(random, random.randint(1, 20), turn % 4)
        split = random.randint(0, len(rows))
        mixed = random.sample(rows, len(rows))
        pieces = [piece(0, mixed[:split]), piece(7, mixed[split:])]
        found = conversations.judge(pieces, tables, NODES)
        told = Counter(
            judged([row for row in rows if row.key == key]) for key in {row.key for row in rows}
        )
        [counts] = found.counts.to_pylist()
        assert {name: counts[name] for name in ("ended", "open", "left", "unknown")} == {
            name: told[name] for name in ("ended", "open", "left", "unknown")
        }
        assert len(found.off) == told["left"]
        seen += told
    assert min(seen[name] for name in ("ended", "open", "left", "unknown")) > 5, seen


def test_long_conversations_are_sorted_too_and_never_tried_for_ever() -> None:
    tables = protocol.tables_of([DEAL])
    right = [Told(1, i, 0, i % 2, i, i % 2) for i in range(5_000)]
    for rows, how in (
        (right, "open"),
        ([one._replace(letter=1 - one.letter) for one in right], "left"),
        ([one._replace(letter=0, err=10_000) for one in right], "left"),
        ([one._replace(letter=1 - one.letter, err=10_000) for one in right], "unknown"),
        ([one._replace(letter=0, err=protocol.NO_CLOCK) for one in right], "left"),
        ([one._replace(letter=1 - one.letter, err=protocol.NO_CLOCK) for one in right], "unknown"),
    ):
        mixed = Random(1).sample(rows, len(rows))
        [counts] = conversations.judge([piece(0, mixed)], tables, NODES).counts.to_pylist()
        assert counts[how] == 1, (how, counts)


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
