"""Protocols are read from files, and what is wrong with a file is told with its line."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropewalk.errors import UsageError
from ropewalk.protocol import automaton, load_automaton

ORDER_ENTRY = """\
protocol: order-entry
initial: idle
accepting: [done]
transitions:
  - idle -> asked: request
  - asked -> offered: offer
  - offered -> asked: request
  - offered -> done: accept
"""


def test_a_protocol_is_read_with_its_states_in_the_order_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "order-entry.yaml"
    path.write_text(ORDER_ENTRY)
    one = load_automaton(path)
    assert one.name == "order-entry"
    assert one.states == ("idle", "asked", "offered", "done")
    assert one.labels == ("request", "offer", "accept")
    assert (one.initial, one.accepting) == (0, frozenset({3}))
    assert one.table.dtype == np.int16
    assert one.table.tolist() == [[1, -1, -1], [-1, 2, -1], [1, -1, 3], [-1, -1, -1]]
    with pytest.raises(ValueError, match="read-only"):
        one.table[0, 0] = 2


def test_words_that_yaml_takes_for_other_things_stay_words() -> None:
    one = automaton("{protocol: 1, initial: on, accepting: [no], transitions: [on -> no: yes]}")
    assert (one.name, one.states, one.labels) == ("1", ("on", "no"), ("yes",))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("initial: idle", "initial: idel", "p.yaml:2: initial names the state 'idel', which no"),
        ("[done]", "[done, gone]", "p.yaml:3: accepting names the state 'gone'"),
        ("[done]", "[]", "p.yaml:3: accepting names no states: write accepting: [STATE]"),
        ("[done]", "done", "p.yaml:3: accepting names no states"),
        ("asked -> offered:", "asked - offered:", "p.yaml:6: 'asked - offered' is not one arrow"),
        ("asked -> offered:", "asked -> :", "p.yaml:6: 'asked ->' is not one arrow"),
        ("asked -> offered:", "a -> b -> c:", "p.yaml:6: 'a -> b -> c' is not one arrow"),
        (": offer\n", "\n", "p.yaml:6: this is no transition with a label: write - FROM"),
        (": offer\n", ":\n", "p.yaml:6: the label is empty: write - FROM -> TO: LABEL"),
        (": offer\n", ": [offer]\n", "p.yaml:6: the label is no text"),
        (
            "done: accept",
            "done: request",
            "p.yaml:8: 'request' leads from 'offered' to 'done', and in line 7 to 'asked': give",
        ),
        (
            "offered -> asked: request",
            "idle -> asked: request",
            "p.yaml:7: this transition is also in line 5",
        ),
        ("protocol: order-entry", "protocol:", "p.yaml:1: the protocol's name is empty"),
        ("protocol: order-entry\n", "", "p.yaml:1: protocol is missing: add protocol:"),
        ("initial: idle", "start: idle", "p.yaml:2: 'start' is not known: use protocol,"),
        ("accepting: [done]", "initial: idle", "p.yaml:3: initial is written twice"),
        ("accepting: [done]", "accepting: [done", "p.yaml:4: "),
        ("idle\n", "\x07\n", "p.yaml:2: a character that no text has: remove it"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(old: str, new: str, said: str) -> None:
    assert old in ORDER_ENTRY
    with pytest.raises(UsageError) as caught:
        automaton(ORDER_ENTRY.replace(old, new, 1), file="p.yaml")
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    "text", ["", "# nothing", "just words", "- a list", "transitions: []", "[" * 9999]
)
def test_a_text_that_is_no_protocol_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"^protocol:1: .*: "):
        automaton(text)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nowhere\.yaml: cannot be read"):
        load_automaton(tmp_path / "nowhere.yaml")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="save the protocol as UTF-8"):
        load_automaton(tmp_path / "bytes.yaml")


arrows = st.dictionaries(
    st.tuples(st.sampled_from("abcd"), st.sampled_from("xyz")), st.sampled_from("abcd"), min_size=1
)


@given(arrows)
def test_the_table_says_what_the_file_says(arrows: dict[tuple[str, str], str]) -> None:
    start = next(iter(arrows))[0]
    lines = [f"  - {source} -> {target}: {label}" for (source, label), target in arrows.items()]
    head = ["protocol: p", f"initial: {start}", f"accepting: [{start}]", "transitions:"]
    one = automaton("\n".join([*head, *lines]))
    told = {
        (one.states[s], one.labels[label]): one.states[one.table[s, label]]
        for s, label in np.argwhere(one.table >= 0).tolist()
    }
    assert told == arrows
