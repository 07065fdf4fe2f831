"""Hallé & Villemaire: their figures, their table, and where the text is wrong."""

from pathlib import Path

import pytest

from ropewalk.protocol import load_automaton
from ropewalk.protocol.automaton import plain_automaton
from ropewalk.protocol.experiment import Case, cases_of, measure, one_way, shuffle_of
from ropewalk.protocol.messenger import Messenger, Rule
from ropewalk.protocol.printed import Outcome, Outcomes
from ropewalk.protocol.realize.verdict import Realizability, realizability

EXAMPLES = Path(__file__).parents[2] / "examples" / "protocols"
FIGURES = ("figure-1", "figure-3", "figure-4-left", "figure-4-right", "figure-5")


def checked(figure: str) -> Realizability:
    return realizability(load_automaton(EXAMPLES / f"{figure}.yaml"))


@pytest.mark.parametrize(
    ("figure", "verdict", "trace", "ends"),
    [
        ("figure-1", "safe-with-messenger-may-abort", "abc", ["4", "6"]),
        ("figure-3", "needs-reordering-protection", "abd", ["4", "7"]),
        ("figure-4-left", "fifo-ok", "", []),
        ("figure-4-right", "safe-with-messenger-may-abort", "ab", ["4", "5"]),
        ("figure-5", "safe-with-messenger", "abd", ["6", "7"]),
    ],
)
def test_each_figure_has_its_verdict_with_the_shortest_run_and_both_beliefs(
    figure: str, verdict: str, trace: str, ends: list[str]
) -> None:
    found = checked(figure)
    assert found.verdict == verdict
    run = found.fifo.run or found.unordered.run
    if not trace:
        assert run is None
        return
    assert run is not None
    assert "".join(run.trace) == trace
    states = found.automaton.states
    assert [states[min(view)] for view in run.views] == ends


def test_safety_and_liveness_are_told_apart() -> None:
    table = {
        figure: [(over.safe, over.live) for over in (one.fifo, one.unordered, one.messenger)]
        for figure in FIGURES
        for one in [checked(figure)]
    }
    assert table == {
        "figure-1": [(False, False), (False, False), (True, False)],
        "figure-3": [(True, True), (False, False), (True, True)],
        "figure-4-left": [(True, True)] * 3,
        "figure-4-right": [(True, False), (True, False), (True, False)],
        "figure-5": [(True, False), (True, False), (True, True)],
    }


def test_the_violation_of_figure_1_is_abc_and_bac_is_legal() -> None:
    """Section II calls bac the violation; the proof of theorem 1 has it the right way round."""
    one = load_automaton(EXAMPLES / "figure-1.yaml")
    legal = {word: one.walk(one.number[letter] for letter in word) >= 0 for word in ("abc", "bac")}
    assert legal == {"abc": False, "bac": True}


def test_figure_2_needs_synchronisation_and_names_the_state_where_both_may_speak() -> None:
    found = checked("rosettanet")
    assert found.verdict == "needs-synchronisation"
    assert found.summary["both_may_speak"] == "ordered"
    [finding] = found.findings("messenger")
    assert finding.code == "P021"
    assert finding.where.line > 0
    assert checked("rosettanet-late").verdict == "fifo-ok"


def tokens(figure: str) -> Outcomes:
    return Outcomes(load_automaton(EXAMPLES / f"{figure}.yaml"))


@pytest.mark.parametrize("figure", ["figure-1", "figure-4-left"])
def test_f1_refuses_states_that_cannot_reach_each_other(figure: str) -> None:
    """f1(2, 3) = f1(3, 2) = fail, as the text has it for both."""
    outcomes = tokens(figure)
    a, b = (outcomes.automaton.number[one] for one in "ab")
    assert outcomes.f1([a], [b]) == outcomes.f1([b], [a]) == Outcome.FAIL


def test_f1_is_used_in_two_ways_of_which_one_notices_later() -> None:
    """Figure 3, a and b overtaken by b: f1(token, state after) against f1(state before, token)."""
    outcomes = tokens("figure-3")
    a, b = (outcomes.automaton.number[one] for one in "ab")
    assert outcomes.f1([a, b], [b]) == Outcome.FAIL  # b comes first: at once
    assert outcomes.f1([], [a, b]) == Outcome.OK  # theorem 1's way: b passes
    assert outcomes.f1([b], [a]) == Outcome.FAIL  # and is noticed with a


def test_a_list_of_states_does_not_tell_which_messages_led_there() -> None:
    """Definition 9 takes "a possible trace" of one: here two have nothing in common."""
    automaton = plain_automaton([[1, 1], [-1, -1]])
    assert automaton.walk([0]) == automaton.walk([1]) == 1
    outcomes = Outcomes(automaton)
    assert outcomes.f2([0], [0]) == outcomes.f2([0], [1]) == Outcome.OK  # states agree in both


def test_f2_lets_figure_4_left_pass_only_with_the_differences_swapped() -> None:
    """Definition 9 lets each side replay its own messages; the text needs the other's."""
    outcomes = tokens("figure-4-left")
    a, b = (outcomes.automaton.number[one] for one in "ab")
    assert outcomes.f2([b], [a, b]) == Outcome.OK
    assert outcomes.f2([b], [a, b], mended=False) != Outcome.OK
    outcomes = tokens("figure-4-right")
    assert outcomes.f2([b], [a, b]) == Outcome.FAIL


def test_f2_does_not_repair_figure_5_as_the_text_says_and_the_messenger_here_does() -> None:
    """The text: f2 repairs figure 5. By definition 9 it waits on both sides, for ever."""
    one = load_automaton(EXAMPLES / "figure-5.yaml")
    ends = {}
    rules: tuple[Rule, ...] = ("f2", "horizon")
    for rule in rules:
        a, b = Messenger(one, "A", rule=rule), Messenger(one, "B", rule=rule)
        from_a, from_b = a.put("a").stamped, b.put("b").stamped
        assert from_a is not None
        assert from_b is not None
        ends[rule] = (len(a.get(from_b)), len(b.get(from_a)))
    assert ends == {"f2": (0, 0), "horizon": (1, 1)}


@pytest.mark.parametrize(
    ("rows", "said", "came"),
    [
        # The synchronization point goes by states, whichever messages led there: 0-b-2, 2-a-1,
        # 2-b-1, 1-b-2; b a b comes as b b a: the second b is taken, and a is stuck.
        ([[-1, 2], [-1, 2], [1, 1]], "bab", (0, 2, 1)),
    ],
)
def test_theorem_2_is_false_as_stated(
    rows: list[list[int]], said: str, came: tuple[int, ...]
) -> None:
    """A message is stuck for ever although nothing was lost; by the horizon rule none is."""
    automaton = plain_automaton(rows)
    waiting = {}
    rules: tuple[Rule, ...] = ("f2", "horizon")
    for rule in rules:
        sender, reader = Messenger(automaton, "A", rule=rule), Messenger(automaton, "B", rule=rule)
        sent = [sender.put(one).stamped for one in said]
        for number in came:
            reader.get(sent[number])
        waiting[rule] = reader.waiting
    assert waiting == {"f2": 1, "horizon": 0}


def test_figure_6_comes_out_exactly() -> None:
    one = one_way(load_automaton(EXAMPLES / "figure-6.yaml"))
    case = Case((0, 1, 2), ((1, 1), (2, 2), (3, 0)))
    strict, horizon = measure(one, [case], "strict"), measure(one, [case], "horizon")
    assert (round(strict.wait, 2), round(horizon.wait, 2)) == (2.00, 0.67)


def table_1(name: str, shuffle: str, length: int, traces: int) -> dict[str, tuple[float, float]]:
    one = one_way(load_automaton(EXAMPLES / f"{name}.yaml"))
    cases = cases_of(
        one, traces=traces, length=length, shuffle=shuffle_of(shuffle), every=2, seed=1
    )
    rules: tuple[Rule, ...] = ("strict", "horizon")
    found = {rule: measure(one, cases, rule) for rule in rules}
    assert not any(one.stuck or one.wrong for one in found.values())
    return {rule: (one.wait, one.queue) for rule, one in found.items()}


def test_table_1_the_netconf_row_comes_out_within_a_tenth() -> None:
    """The text gives it to NetConf (-10 %, -2 %), the captions to IOTP: it is NetConf's."""
    found = table_1("netconf", "delay=0..5", 8, 4_000)
    theirs = {"strict": (0.42, 1.81), "horizon": (0.38, 1.77)}
    for rule, pair in theirs.items():
        for ours, printed in zip(found[rule], pair, strict=True):
            assert abs(ours / printed - 1) < 0.1, (rule, ours, printed)


def test_table_1_the_other_row_is_not_reproduced() -> None:
    """1.42 / 5.58 against 0.69 / 2.49: strict ordering alone needs traces of about 200 messages.

    With that setting the four rules that are listed for IOTP let messages wait half as long as
    printed; which further rules were used is not said.
    """
    found = table_1("iotp", "exp=2", 200, 60)
    (wait, queue), (ours, shorter) = found["strict"], found["horizon"]
    assert abs(wait / 1.42 - 1) < 0.1
    assert abs(queue / 5.58 - 1) < 0.15
    assert (round(ours, 1), round(shorter, 1)) == (0.3, 3.2)
