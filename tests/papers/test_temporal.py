"""Jia 2014, 5.1.2 and 5.2 to 5.4: its specifications, as printed and as they were meant."""

from dataclasses import replace

import pytest

from ropewalk.federation.facts import Federation, Route
from ropewalk.federation.generators import generate
from ropewalk.verify.logic.answering import Answer, answer
from ropewalk.verify.logic.library import question
from ropewalk.verify.logic.stepping import Budget
from ropewalk.verify.logic.world import Manner, world_of

MOVED = "X (!(attached(p1) = b1) & !(attached(s1) = b1) & attached(p1) = b2 & attached(s1) = b2)"
BACK = "X (attached(p1) = b1 & attached(s1) = b1 & !(attached(p1) = b2) & !(attached(s1) = b2))"
SERVED = " | ".join(f"subscribed(s1, topic{i}) & publishes(p{i}, topic{i})" for i in (1, 2, 3))


def asked(federation: Federation, text: str, *failures: str) -> Answer:
    world = world_of(federation, failures or ["none"], manner=Manner(timing="lockstep"))
    return answer(question(text), world, Budget())


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        (f"G !up(b1) -> {MOVED}", True),  # (5-1) as printed: vacuous, broker 1 is up at the start
        (f"G (!up(b1) -> {MOVED})", True),  # as meant
        ("G (!up(b1) -> X attached(p1) = b3)", False),  # the control: 3 takes nothing from 1
        (SERVED, True),  # (5-2), of the start
        (f"G ((Y !up(b1)) & up(b1)) -> {BACK}", True),  # (5-3) as printed: vacuous
        (f"G ((Y !up(b1)) & up(b1) -> {BACK})", True),
        ("G ((Y !up(b1)) & up(b1) -> X attached(p1) = b2)", False),
    ],
)
def test_the_three_brokers(text: str, holds: bool) -> None:
    assert asked(generate("three-broker"), text, "brokers=1").holds is holds


def test_as_printed_the_first_rule_says_nothing() -> None:
    """With the wrong broker in it, (5-1) is still true: its G ends before the arrow."""
    wrong = "G !up(b1) -> X attached(p1) = b3"
    assert asked(generate("three-broker"), wrong, "brokers=1").holds is True


def test_every_topic_of_the_six_brokers_is_reachable() -> None:
    """(5-7)."""
    assert asked(generate("six-broker"), "EF at(message) = to(message)").holds is True


def test_the_misrouted_topic_is_not() -> None:
    """5.2.5: broker 4 sends everything to broker 6."""
    six = generate("six-broker")
    to_six = Route(at="b4", to="b5", next="b6", colours=("none",))
    wrong = replace(six, routes=(to_six, *six.routes))
    found = asked(wrong, "EF at(A, b5) = to(A, b5)")
    assert found.holds is False
    path = asked(wrong, "F at(A, b5) = b5").witness
    assert path is not None
    assert [one["loc"] for one in path["states"]][:4] == ["b1", "b2", "b4", "b6"]


def test_a_pair_of_the_fifty_brokers() -> None:
    """(5-10)."""
    here = "from(message) = b1 & to(message) = b13"
    text = f"{here} & at(message) = b1 -> AF ({here} & at(message) = b13)"
    assert asked(generate("fifty-broker"), text).holds is True


def test_the_rule_against_loops_is_about_a_variable_that_never_changes() -> None:
    """(5-12) is false wherever it is asked; what it means is that nothing comes back."""
    six = generate("six-broker")
    assert asked(six, "from(message) = b1 & EX (AF from(message) != b1)").holds is False
    once = "AG (at(message) = b1 -> AX AG at(message) != b1)"
    assert asked(six, f"to(message) != b1 -> {once}").holds is True
