"""Protocols are read from files, and everything wrong with a file is told with its line."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropewalk.errors import ProtocolError
from ropewalk.protocol import automaton, load_automaton
from ropewalk.protocol.guards import Guard, cases, condition

EXAMPLES = Path(__file__).parents[2] / "examples" / "protocols"
ORDER_ENTRY = """\
protocol: order-entry
messages: {trader -> desk: [request, accept], desk -> trader: offer}
initial: idle
accepting: [done]
transitions:
  - idle -> asked: request
  - asked -> offered: offer
  - offered -> asked: request
  - offered -> done: accept
"""


def told(text: str) -> list[str]:
    with pytest.raises(ProtocolError) as caught:
        automaton(text, file="p.yaml")
    return [str(one) for one in caught.value.findings]


def test_a_protocol_is_read_with_its_states_in_the_order_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "order-entry.yaml"
    path.write_text(ORDER_ENTRY)
    one = load_automaton(path)
    assert one.name == "order-entry"
    assert one.states == ("idle", "asked", "offered", "done")
    assert one.labels == ("request", "offer", "accept")
    assert one.roles == ("trader", "desk")
    assert [(letter.sender, letter.receiver) for letter in one.letters] == [(0, 1), (1, 0), (0, 1)]
    assert (one.initial, one.accepting) == (0, frozenset({3}))
    assert one.table.dtype == np.int16
    assert one.table.tolist() == [[1, -1, -1], [-1, 2, -1], [1, -1, 3], [-1, -1, -1]]
    with pytest.raises(ValueError, match="read-only"):
        one.table[0, 0] = 2


def test_a_protocol_without_roles_is_enough_for_audits() -> None:
    one = automaton("{protocol: 1, initial: on, accepting: [no], transitions: [on -> no: yes]}")
    assert (one.name, one.states, one.labels) == ("1", ("on", "no"), ("yes",))
    assert one.roles == ()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("initial: idle", "initial: idel", "p.yaml:3: P006 initial names the state 'idel', which"),
        ("[done]", "[done, gone]", "p.yaml:4: P006 accepting names the state 'gone'"),
        ("[done]", "[]", "p.yaml:4: P003 accepting names no states: write accepting: [STATE]"),
        ("[done]", "done", "p.yaml:4: P003 accepting names no states"),
        ("asked -> offered:", "asked - offered:", "p.yaml:7: P005 'asked - offered' is not one"),
        ("asked -> offered:", "a -> b -> c:", "p.yaml:7: P005 'a -> b -> c' is not one arrow"),
        ("d: offer\n", "d\n", "p.yaml:7: P005 this is no transition with a message: write - FROM"),
        ("d: offer\n", "d:\n", "p.yaml:7: P003 the message is empty: write - FROM -> TO: MESSAGE"),
        ("d: offer\n", "d: [offer]\n", "p.yaml:7: P003 the message is no text"),
        ("d: offer\n", "d: ofer\n", "p.yaml:7: P008 nobody says 'ofer': did you mean 'offer'?"),
        (
            "done: accept",
            "done: request",
            "p.yaml:9: P009 'request' leads from 'offered' to 'done', and in line 8 to 'asked': give",
        ),
        (
            "offered -> asked: request",
            "idle -> asked: request",
            "p.yaml:8: P009 this transition is also in line 6",
        ),
        ("offered -> done", "far -> done", "p.yaml:9: P010 the state 'far' cannot be reached"),
        ("protocol: order-entry", "protocol:", "p.yaml:1: P003 the protocol's name is empty"),
        ("protocol: order-entry\n", "", "p.yaml:1: P003 the protocol's name is missing"),
        ("initial: idle", "start: idle", "p.yaml:3: P004 'start' is not known: use protocol,"),
        ("initial: idle", "inital: idle", "p.yaml:3: P004 'inital' is not known: did you mean in"),
        ("accepting: [done]", "initial: idle", "p.yaml:4: P002 'initial' is written twice"),
        ("accepting: [done]", "accepting: [done", "p.yaml:4: P002 "),
        ("idle\n", "\x07\n", "p.yaml:3: P002 "),
        ("desk -> trader: offer", "desk -> desk: offer", "p.yaml:2: P007 'desk' speaks to itself"),
        ("desk -> trader: offer", "desk - trader: offer", "p.yaml:2: P005 'desk - trader' is not"),
        ("messages:", "roles: [trader, clerk]\nmessages:", "p.yaml:3: P007 no role is called 'desk'"),
        ("trader: offer}", "trader: [offer, accept]}", "p.yaml:2: P008 'accept' is also said by"),
        ("d: offer\n", "d: {message: offer, when: price}\n", "p.yaml:7: P011 'price' is no cond"),
        ("d: offer\n", "d: {message: offer, if: a = b}\n", "p.yaml:7: P004 'if' is not known here"),
        ("d: offer\n", "d: {timeout_s: 0, at: desk}\n", "p.yaml:7: P005 timeout_s is 0: write"),
        ("d: offer\n", "d: {timeout_s: 5, at: clerk}\n", "p.yaml:7: P007 whose deadline is it?"),
        ("d: offer\n", "d: {timeout_s: 5}\n", "p.yaml:7: P007 whose deadline is it?"),
        ("d: offer\n", "d: {message: offer, answer: offer}\n", "p.yaml:7: P008 'offer' is no ans"),
        ("initial: idle", "conversation: 7\ninitial: idle", "p.yaml:3: P003 conversation is told"),
        ("[done]", "[1.5]", "p.yaml:4: P003 a state of accepting is 1.5: write a name"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_line(old: str, new: str, said: str) -> None:
    assert old in ORDER_ENTRY
    assert any(one.startswith(said) for one in told(ORDER_ENTRY.replace(old, new, 1)))


def test_every_fault_is_told_at_once_in_the_order_of_the_lines() -> None:
    text = ORDER_ENTRY.replace("initial: idle", "initial: idel").replace("d: offer\n", "d: ofer\n")
    assert [one.split(" ")[0] for one in told(text)] == ["p.yaml:3:", "p.yaml:7:"]


@pytest.mark.parametrize(
    "text", ["", "# nothing", "just words", "- a list", "transitions: []", "[" * 9999]
)
def test_a_text_that_is_no_protocol_is_refused(text: str) -> None:
    assert all(one.startswith("p.yaml:1: P00") for one in told(text))


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ProtocolError, match=r"nowhere\.yaml: P001 cannot be read"):
        load_automaton(tmp_path / "nowhere.yaml")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ProtocolError, match="save the protocol as UTF-8"):
        load_automaton(tmp_path / "bytes.yaml")


# --- guards, answers, deadlines ----------------------------------------------------------------

GUARDED = """\
protocol: g
messages: {a -> b: order}
initial: s
accepting: [small, large]
transitions:
  - s -> small: {message: order, when: amount <= 100}
  - s -> large: {message: order, when: [amount > 100, kind = "big one"]}
"""


def test_guards_tell_letters_of_a_message_apart() -> None:
    one = automaton(GUARDED)
    letters = {
        name: one.letter_of("order", fields)
        for name, fields in {
            "small": {"amount": 100},
            "large": {"amount": 100.5, "kind": "big one"},
            "neither": {"amount": 200},
            "nothing": None,
            "text": {"amount": "100"},
        }.items()
    }
    ends = {name: one.walk([letter or 0]) for name, letter in letters.items()}
    states = {name: one.states[end] if end >= 0 else None for name, end in ends.items()}
    assert states == {
        "small": "small",
        "large": "large",
        "neither": None,
        "nothing": None,
        "text": None,
    }


def test_guards_that_can_both_hold_are_two_ways_with_an_example() -> None:
    [said] = told(GUARDED.replace("amount > 100", "amount >= 100"))
    assert said.startswith("p.yaml:7: P009 'order' leads from 's' to 'large', and in line 6 to")
    assert "both for amount = 100, kind = big one" in said


@given(
    st.lists(
        st.tuples(
            st.sampled_from("xy"),
            st.sampled_from(["=", "!=", "<", "<=", ">", ">="]),
            st.integers(0, 4),
        ),
        min_size=1,
        max_size=3,
    ),
    st.integers(-1, 5),
    st.sampled_from([0.5, 0]),
    st.integers(-1, 5),
)
def test_every_set_of_guards_that_holds_is_among_the_cases(
    conditions: list[tuple[str, str, int]], x: int, half: float, y: int
) -> None:
    found = [condition(f"{field} {sign} {value}") for field, sign, value in conditions]
    guards = [Guard((one,)) for one in found if one is not None]
    holding = tuple(i for i, guard in enumerate(guards) if guard.holds({"x": x + half, "y": y}))
    known = dict(cases(guards))
    assert holding in known
    for some, fields in known.items():
        assert some == tuple(i for i, guard in enumerate(guards) if guard.holds(fields))


def test_a_request_has_a_state_between_it_and_its_answer() -> None:
    one = load_automaton(EXAMPLES / "order-entry.yaml")
    assert one.states[:3] == ("idle", "idle/ask", "quoted")
    assert one.walk([one.number["ask"], one.number["quote"]]) == 2


def test_a_deadline_is_a_letter_that_nobody_gets() -> None:
    one = load_automaton(EXAMPLES / "rosettanet.yaml")
    [deadline] = one.deadlines
    assert (one.states[deadline.state], deadline.after_us) == ("ordered", 7_200_000_000)
    assert one.letters[deadline.letter].receiver == -1
    assert "timeout of buyer" not in one.of_message


# --- constraints -------------------------------------------------------------------------------

TRADE = """\
protocol: trade
messages: {consumer -> merchant: [ping, inquiry, pay, cancel], merchant -> consumer: paid}
constraints:
  - first: [ping, inquiry]
  - once: ping
  - after: {pay: [inquiry]}
  - never: {cancel: [paid]}
  - alternate: [pay, paid]
"""


@pytest.mark.parametrize(
    ("words", "allowed"),
    [
        ("ping inquiry pay paid pay paid", True),
        ("inquiry cancel cancel", True),
        ("pay", False),
        ("cancel", False),
        ("ping ping", False),
        ("ping pay", False),
        ("inquiry pay pay", False),
        ("inquiry paid", False),
        ("inquiry pay paid cancel", False),
    ],
)
def test_constraints_allow_what_they_say(words: str, allowed: bool) -> None:
    one = automaton(TRADE)
    assert (one.walk(one.number[word] for word in words.split()) >= 0) == allowed


def test_a_conversation_does_not_end_where_something_is_open() -> None:
    one = automaton(TRADE)
    ends = {
        words: one.walk(one.number[word] for word in words.split()) in one.accepting
        for words in ("inquiry", "inquiry pay", "inquiry pay paid")
    }
    assert ends == {"inquiry": True, "inquiry pay": False, "inquiry pay paid": True}


def test_modes_exclude_each_other() -> None:
    one = load_automaton(EXAMPLES / "netconf.yaml")
    words = ["ip vrf", "rd", "router bgp", "route-target"]
    assert one.walk(one.number[word] for word in words[:3]) >= 0
    assert one.walk(one.number[word] for word in words) == -1


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("once: ping", "twice: ping", "p.yaml:5: P012 this is no constraint: write one of first"),
        ("once: ping", "once: pong", "p.yaml:5: P008 nobody says 'pong': write it under messages"),
        ("[pay, paid]", "[pay]", "p.yaml:8: P012 alternate takes two messages"),
        ("{pay: [inquiry]}", "[pay]", "p.yaml:6: P012 after names no messages"),
        (
            "constraints:",
            "initial: a\nconstraints:",
            "p.yaml:3: P003 initial goes with transitions",
        ),
        ("protocol: trade", "protocol: trade\ntransitions: []", "p.yaml:4: P003 there are trans"),
    ],
)
def test_what_is_wrong_with_constraints_is_told(old: str, new: str, said: str) -> None:
    assert any(one.startswith(said) for one in told(TRADE.replace(old, new, 1)))


def test_constraints_without_end_are_refused() -> None:
    names = [f"m{i}" for i in range(16)]
    text = f"protocol: p\nmessages: {{a -> b: [{', '.join(names)}]}}\nconstraints:\n"
    [said] = told(text + f"  - once: [{', '.join(names)}]\n")
    assert "P013 the constraints make more than 32,767 states" in said


def test_the_examples_are_protocols() -> None:
    found = {path.stem for path in EXAMPLES.glob("*.yaml") if load_automaton(path)}
    assert {"figure-1", "rosettanet", "iotp", "netconf", "escrow"} <= found


arrows = st.dictionaries(
    st.tuples(st.sampled_from("abcd"), st.sampled_from("xyz")), st.sampled_from("abcd"), min_size=1
)


@given(arrows)
def test_the_table_says_what_the_file_says(arrows: dict[tuple[str, str], str]) -> None:
    start = next(iter(arrows))[0]
    reached, before = {start}, set[str]()
    while before != reached:
        before = set(reached)
        reached |= {to for (source, _), to in arrows.items() if source in before}
    arrows = {key: to for key, to in arrows.items() if key[0] in reached}
    lines = [f"  - {source} -> {target}: {label}" for (source, label), target in arrows.items()]
    head = ["protocol: p", f"initial: {start}", f"accepting: [{start}]", "transitions:"]
    one = automaton("\n".join([*head, *lines]))
    assert {
        (one.states[s], one.labels[label]): one.states[one.table[s, label]]
        for s, label in np.argwhere(one.table >= 0).tolist()
    } == arrows


def test_answers_to_guarded_requests_are_kept_apart_and_one_request_may_have_several() -> None:
    one = automaton(
        "{protocol: p, initial: s, accepting: [t], messages: {A -> B: ask, B -> A: [yea, nay, never]},"
        " transitions: [s -> t: {message: ask, when: n > 5, answer: yea},"
        " s -> t: {message: ask, when: n <= 5, answer: nay},"
        " s -> t: {message: ask, when: n <= 5, answer: never}]}"
    )
    large, small = (one.letter_of("ask", {"n": n}) for n in (9, 1))
    yea, nay, never = (one.number[name] for name in ("yea", "nay", "never"))
    assert large is not None
    assert small is not None
    allowed = {(a, b): one.walk([a, b]) >= 0 for a in (large, small) for b in (yea, nay, never)}
    assert [pair for pair, may in allowed.items() if may] == [
        (large, yea), (small, nay), (small, never)
    ]  # fmt: skip


@pytest.mark.parametrize("number", ["1e17", str(10**400), "0.1"])
def test_guards_on_numbers_of_any_size_are_exact(number: str) -> None:
    one = automaton(
        "{protocol: p, initial: s, accepting: [t, u], messages: {A -> B: ask}, transitions: ["
        f"s -> t: {{message: ask, when: n > {number}}},"
        f" s -> u: {{message: ask, when: n <= {number}}}]}}"
    )
    assert len(one.states) == 3


@pytest.mark.parametrize(
    ("transition", "said"),
    [
        ("s -> t: timeout of A", "is how deadlines are called"),
        ("s -> t: {timeout_s: 0.0000001, at: A}", "a number from a millionth"),
        ("s -> t: {message: a, when: []}", "when has no condition"),
    ],
)
def test_odd_transitions_are_refused(transition: str, said: str) -> None:
    with pytest.raises(ProtocolError, match=said):
        automaton(
            "{protocol: p, initial: s, accepting: [t], messages: {A -> B: a},"
            f" transitions: [s -> t: a, {transition}]}}"
        )


def test_roles_that_look_like_numbers_have_deadlines() -> None:
    one = automaton(
        "{protocol: p, initial: s, accepting: [t], messages: {1 -> 2: a},"
        " transitions: [s -> t: a, s -> t: {timeout_s: 1, at: 1}]}"
    )
    assert one.deadlines[0].role == 0


def test_a_message_that_constraints_exclude_is_told() -> None:
    with pytest.raises(ProtocolError, match="'a' can never be said"):
        automaton(
            "{protocol: p, messages: {A -> B: [a, b]},"
            " constraints: [{first: [a]}, {after: {a: [b]}}]}"
        )


TWO_CASES = """\
protocol: p
messages: {{A -> B: [o, {other}]}}
initial: s
accepting: [t, u]
transitions:
  - s -> t: {{message: o, when: {first}}}
  - s -> u: {{message: {second}}}
"""


@pytest.mark.parametrize(
    ("one", "other"), [("1", "true"), ("0", "false"), ("1", "'1'"), ("true", "'true'")]
)
def test_a_number_a_truth_and_a_text_are_three_things(one: str, other: str) -> None:
    text = TWO_CASES.format(other="x", first=f"x = {one}", second=f'o, when: "x = {other}"')
    made = automaton(text)
    assert len(set(made.labels)) == len(made.labels) == 3
    fields = {"1": 1, "0": 0, "true": True, "false": False, "'1'": "1", "'true'": "true"}
    ways = [made.rows[0][made.letter_of("o", {"x": fields[text]}) or 0] for text in (one, other)]
    assert [made.states[way] for way in ways] == ["t", "u"]


@pytest.mark.parametrize("name", ["o[x > 1]", "o[else]"])
def test_a_message_is_not_called_as_a_case_of_another(name: str) -> None:
    text = TWO_CASES.format(other=f'"{name}"', first="x > 1", second=f'"{name}"')
    what = f"p.yaml:7: P008 {name!r} would be the name of two messages"
    assert told(text) == [f"{what}: give one of them another name"]


@pytest.mark.parametrize("constant", ["[" * 5_000, "a" + " " * 1_000_000 + "b"])
def test_odd_constants_are_texts(constant: str) -> None:
    found = condition(f" x = {constant} ")
    assert found is not None
    assert found.constant == constant


def test_what_is_never_said_after_itself_is_said_once() -> None:
    text = "{{protocol: p, messages: {{A -> B: [a, b]}}, constraints: [{}]}}"
    never, once = (automaton(text.format(one)) for one in ("never: {a: [a]}", "once: a"))
    assert never.table.tolist() == once.table.tolist()
    [said] = told(text.format("after: {a: [b, a]}"))
    assert said == (
        "p.yaml:1: P012 'a' only after itself could never be said: name what goes before it"
    )
