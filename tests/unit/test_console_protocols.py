"""Protocols in the console: stepped through, drawn without being believed, read from a trace."""

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ropewalk.federation import Federation, load
from ropewalk.pipeline.store import Manifest, Stored, write_manifest
from ropewalk.protocol import Automaton, automaton, load_automaton
from ropewalk.trace.columns import KIND
from ropewalk.web import recorded as recorded_module
from ropewalk.web.diagram import MOST_STATES, escaped, mermaid_of, near
from ropewalk.web.protocols import NOT_NAMED, kept, protocols_of, state_of, topics_by_protocol
from ropewalk.web.recorded import recorded
from ropewalk.web.stepping import walked

EXAMPLES = Path(__file__).parents[2] / "examples" / "protocols"
LATE = """
protocol: p
messages: {a -> b: [order, chase], b -> a: [accept]}
initial: start
accepting: [done]
transitions:
  - start -> small: {message: order, when: amount <= 10}
  - start -> large: {message: order, when: amount > 10}
  - small -> done: accept
  - large -> late: {timeout_s: 5, at: a}
  - late -> large: chase
  - large -> done: accept
"""


@pytest.fixture(scope="module")
def orders() -> Automaton:
    return load_automaton(EXAMPLES / "order-entry.yaml")


# --- a conversation -------------------------------------------------------------------------------


def test_a_word_is_followed_to_its_end(orders: Automaton) -> None:
    walk = walked(orders, ["ask", "quote", "order[order.amount <= 1000]", "fill"])
    assert [walk.names(one) for one in (0, 2, 4)] == ["idle", "quoted", "filled"]
    assert [walk.may_end(one) for one in range(5)] == [False, False, False, False, True]
    assert not walk.over
    assert walk.next(4) == []
    assert [(one.label, one.who) for one in walk.next(0)] == [("ask", "trader to desk")]


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (["quote"], "at the beginning expected: ask"),
        (["ask", "fill"], "after ask expected: quote"),
        (["ask", "<script>"], "order-entry has no '<script>'; after ask expected: quote"),
    ],
)
def test_a_step_that_is_forbidden_is_told_with_what_was_expected(
    orders: Automaton, said: list[str], why: str
) -> None:
    walk = walked(orders, [*said, "more"])
    assert walk.said == tuple(said)  # nothing after it is judged
    assert walk.over
    assert walk.steps[-1].forbidden == why
    assert walk.steps[-1].states == walk.steps[-2].states


def test_of_a_trace_several_states_are_possible_and_deadlines_pass_unseen() -> None:
    late = automaton(LATE)
    walk = walked(late, ["order", "chase", "accept"], recorded=True)
    assert (walk.over, walk.names(1), walk.names(3)) == (False, "small or large or late", "done")
    assert {one.label for one in walk.next(1)} == {"accept", "chase"}
    by_hand = walked(late, ["order[amount > 10]", "chase"])  # the control: a person sees deadlines
    assert by_hand.over
    deadline = next(one.label for one in walked(late, ["order"]).next(1) if "deadline" in one.who)
    assert not walked(late, ["order", deadline, "chase"]).over


# --- the drawing ----------------------------------------------------------------------------------


def test_nothing_of_a_file_means_anything_to_mermaid() -> None:
    nasty = ["<script>alert(1)</script>", 'a "b"', "`c`", "x; y --> [*]", "%%{init: 1}%%", "#35;\n"]
    for name in nasty:
        assert re.fullmatch(r"(?:[A-Za-z0-9 ._-]|#\d+;)+", escaped(name))
    table = automaton(
        "{protocol: p, initial: '\"] <b>', accepting: [e], transitions: ["
        "{'\"] <b> -> e': '<img src=x onerror=alert(1)>'}]}"
    )
    for line in mermaid_of(table, frozenset({0})).splitlines():
        rest = line.removeprefix('state "').replace('" as s', "")
        assert "<img" not in line
        assert '"' not in rest


def test_the_present_state_is_marked_and_a_large_protocol_is_drawn_near_it(
    orders: Automaton,
) -> None:
    assert "class s0 now" in mermaid_of(orders, frozenset({0}))
    assert "class s0 off" in mermaid_of(orders, frozenset({0}), forbidden=True)
    large = load_automaton(EXAMPLES / "netconf.yaml")
    assert len(large.states) > MOST_STATES >= len(near(large, frozenset({40})))
    assert 40 in near(large, frozenset({40}))
    drawn = mermaid_of(large, frozenset({40}))
    assert drawn.count(" as s") == len(near(large, frozenset({40})))
    assert len(near(orders, frozenset())) == len(orders.states)  # the control


# --- files ----------------------------------------------------------------------------------------


def named(tmp_path: Path, path: str) -> Federation:
    file = tmp_path / "f.yaml"
    file.write_text(
        f"federation: f\nbrokers: {{a: , b: }}\nlinks: [{{between: [a, b]}}]\n"
        f"topics: {{t: {{publishers: [a], subscribers: [b], protocol: p}}}}\n"
        f"protocols: {{p: {path}}}\n"
    )
    return load(file)


def test_protocols_are_read_from_beside_the_federation_and_faults_are_findings(
    tmp_path: Path,
) -> None:
    (tmp_path / "p.yaml").write_text(LATE)
    bad = tmp_path / "bad.yaml"
    bad.write_text("{protocol: bad}")
    federation = named(tmp_path, "p.yaml")
    found = protocols_of(federation, [bad, tmp_path / "none.yaml"])
    assert found["p"].automaton is not None
    assert [len(one.faults) > 0 for one in found.values()] == [False, True, True]
    assert topics_by_protocol(federation) == {"p": ["t"]}


def test_only_other_protocols_files_or_results_are_read_again(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(LATE)
    federation = named(tmp_path, "p.yaml")
    state = state_of(federation, [], tmp_path)
    renamed = load(tmp_path / "f.yaml")
    assert state_of(renamed, [], tmp_path) == state  # the text may say other things
    (tmp_path / "p.yaml").write_text(LATE + "\n")
    other = state_of(federation, [], tmp_path)
    assert other != state
    stored(tmp_path, SAID)
    assert state_of(federation, [], tmp_path) != other


def test_who_only_looks_cannot_have_other_files_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("word: 7")
    federation = named(tmp_path, "secret")
    refused = protocols_of(federation, allowed=frozenset({"p.yaml"}))["p"]
    assert (refused.refused, refused.faults, refused.automaton) == (NOT_NAMED, (), None)
    assert protocols_of(federation, allowed=frozenset({"secret"}))["p"].faults  # the control


def test_the_verdict_is_that_of_protocol_check() -> None:
    fine, clash = (
        kept(load_automaton(EXAMPLES / "escrow.yaml")),
        kept(load_automaton(EXAMPLES / "iotp.yaml")),
    )
    assert (fine.good, fine.findings) == (True, ())
    assert fine.words.startswith("FIFO-ok")
    assert (clash.good, [one.code for one in clash.findings]) == (False, ["P021"])
    assert clash.transports[0] == ("channels that keep order", "no", "no")


# --- a trace --------------------------------------------------------------------------------------


def stored(folder: Path, said: list[tuple[int, str | None, str, str, int]]) -> None:
    """A store with publications: time, conversation, label, topic, number; kinds are all publish."""
    store = folder / "store"
    ids = {name: i for i, name in enumerate(["t", "u", "c1", "c2", "ask", "quote", "fill", "a"])}
    rows = {
        "kind": pa.array([KIND["publish"]] * len(said), pa.int8()),
        "topic": pa.array([ids[one[3]] for one in said], pa.int64()),
        "conversation": pa.array(
            [None if one[1] is None else ids[one[1]] for one in said], pa.int64()
        ),
        "label": pa.array([ids[one[2]] for one in said], pa.int64()),
        "ts_ns": pa.array([one[0] for one in said], pa.int64()),
        "producer": pa.array([ids["a"]] * len(said), pa.int64()),
        "pseq": pa.array([one[4] for one in said], pa.int64()),
        "node": pa.array([ids["a"]] * len(said), pa.int64()),
        "li": pa.array(range(len(said)), pa.int64()),
    }
    (store / "names").mkdir(parents=True)
    pq.write_table(pa.table(rows), store / "events.parquet")
    files = [Stored("events.parquet", "events", 0, len(said), "r")]
    for column in ("topic", "conversation", "label", "node"):
        path = f"names/{column}.parquet"
        names = pa.table({"id": list(ids.values()), "name": list(ids)})
        pq.write_table(names, store / path)
        files.append(Stored(path, f"names/{column}", 0, len(ids), "r"))
    write_manifest(store, Manifest(1, tuple(files)))


SAID: list[tuple[int, str | None, str, str, int]] = [
    (30, "c1", "fill", "t", 3),
    (10, "c1", "ask", "t", 1),
    (20, "c1", "quote", "t", 2),
    (25, "c1", "ask", "t", 1),  # told again by an agent that was killed
    (15, "c2", "ask", "t", 4),
    (16, None, "ask", "t", 5),
    (17, "c2", "quote", "u", 6),  # a topic that follows no protocol
]


def test_conversations_are_read_in_the_order_of_time(tmp_path: Path) -> None:
    stored(tmp_path, SAID)
    found = recorded(tmp_path, named(tmp_path, "p.yaml"))
    told = {one.name: (one.labels, one.brokers, one.left) for one in found.conversations["p"]}
    assert told == {
        "c1": (("ask", "quote", "fill"), ("a",), False),
        "c2": (("ask",), ("a",), False),
    }
    assert found.total == {"p": 2}


def test_a_folder_without_a_trace_or_with_too_long_a_one_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    federation = named(tmp_path, "p.yaml")
    assert "pipeline ingest" in recorded(tmp_path, federation).note
    stored(tmp_path, SAID)
    assert recorded(tmp_path, federation).note == ""  # the control
    monkeypatch.setattr(recorded_module, "MOST_ROWS", 3)
    assert "too long" in recorded(tmp_path, federation).note
