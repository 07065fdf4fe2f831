"""Properties of federations: verdicts, the paths that show them, and two judges to compare with."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod
from random import Random
from typing import Any, Literal

import pytest

from ropewalk.federation.facts import Federation, Takeover
from ropewalk.federation.generators import generate
from ropewalk.verify import verify
from ropewalk.verify.logic.answering import Answer, answer
from ropewalk.verify.logic.checking import check
from ropewalk.verify.logic.library import LIBRARY, named, question
from ropewalk.verify.logic.model import Spec
from ropewalk.verify.logic.modelling import Part, parts_of
from ropewalk.verify.logic.stepping import Budget
from ropewalk.verify.logic.world import Manner, World, world_of
from ropewalk.verify.verdicts import Verdict
from tests.laws.logic_oracle import Explicit, holds_on_lasso, is_lasso
from tests.laws.oracle import random_federation

THREE, SIX = generate("three-broker"), generate("six-broker")
LEAVES = "G (!up(b1) -> F attached(p1) = b2)"
TIMINGS: tuple[Literal["free", "lockstep"], ...] = ("free", "lockstep")


def ask(
    of: Federation,
    text: str,
    failures: Sequence[str] | None = None,
    *,
    pairs: Literal["topics", "all"] | None = None,
    budget: Budget | None = None,
    **manner: Any,
) -> Answer:
    world = world_of(of, failures, manner=Manner(**manner), pairs=pairs)
    return answer(question(text), world, budget or Budget())


def by_name(name: str, world: World) -> dict[str, bool | None]:
    return {one.text: answer(one, world, Budget()).holds for one in named(name, world)}


def broken(name: str, of: Federation, **manner: Any) -> Answer:
    (one,) = named(name, world_of(of))
    found = ask(of, one.text, **manner)
    assert found.holds is False
    return found


def states(found: Answer) -> list[dict[str, Any]]:
    assert found.witness is not None
    return list(found.witness["states"])


@pytest.mark.parametrize("timing", TIMINGS)
@pytest.mark.parametrize("name", LIBRARY)
def test_every_property_by_name_holds_of_three_brokers(
    name: str, timing: Literal["free", "lockstep"]
) -> None:
    world = world_of(THREE, manner=Manner(timing))
    assert set(by_name(name, world).values()) == {True}


@pytest.mark.parametrize(
    ("manner", "name", "holds"),
    [
        (Manner(), "no-bounce", True),
        (Manner(), "never-lost", True),
        (Manner(), "arrives", False),
        (Manner("lockstep"), "eventually-delivered", True),
        (Manner("lockstep"), "arrives", False),
        (Manner(forwarding="plain"), "eventually-delivered", True),
        (Manner(forwarding="plain"), "no-bounce", False),
        (Manner(resend=False), "never-lost", False),
    ],
)
def test_messages_between_all_of_three_brokers(manner: Manner, name: str, holds: bool) -> None:
    world = world_of(THREE, manner=manner, pairs="all")
    assert set(by_name(name, world).values()) == {holds}


@pytest.mark.parametrize("timing", TIMINGS)
@pytest.mark.parametrize(
    ("name", "holds"),
    [
        ("returns-after-recovery", True),
        ("eventually-delivered", True),
        ("no-bounce", True),
        ("never-lost", True),
        ("arrives", False),
    ],
)
def test_properties_by_name_of_six_brokers(
    name: str, holds: bool, timing: Literal["free", "lockstep"]
) -> None:
    world = world_of(SIX, manner=Manner(timing))
    assert set(by_name(name, world).values()) == {holds}


def test_of_six_brokers_only_the_first_has_takers() -> None:
    verdicts = by_name("failover-rehomes", world_of(SIX))
    assert [text for text, holds in verdicts.items() if holds] == [
        "G (!up(b1) -> F (up(b1) | attached(publisher:b1) in {b2}))",
        "G (!up(b1) -> F (up(b1) | attached(subscriber:b1) in {b3}))",
    ]
    assert len(verdicts) == 7


def test_without_takers_clients_get_nowhere() -> None:
    """The control: the first of three brokers loses its takers, the others keep theirs."""
    alone = replace(THREE.brokers["b1"], takeover=Takeover())
    lonely = replace(THREE, brokers={**THREE.brokers, "b1": alone})
    verdicts = by_name("failover-rehomes", world_of(lonely))
    assert {"up(b1)" in text: holds for text, holds in verdicts.items()} == {
        True: False,
        False: True,
    }
    found = ask(lonely, "G attached(p1) = b1")
    assert found.steps[-1] == "step 3: p1 has no broker"
    assert ask(lonely, "G attached(p1) in {b1, nowhere}").holds
    assert ask(THREE, "G attached(p1) != nowhere").holds


def test_a_message_bounces_only_if_it_does_not_carry_what_was_known() -> None:
    found = broken("no-bounce", SIX, forwarding="plain")
    assert found.title == "messages from b5 to b1"
    last = found.steps[-1]
    assert "goes back to" in last
    breach = states(found)[found.witness["breach"] if found.witness else 0]
    assert breach["bounced"] is True
    assert by_name("no-bounce", world_of(SIX, manner=Manner(forwarding="carrying"))) == {
        "G (bounced(message) -> O hurried)": True
    }


def test_a_message_is_lost_only_if_it_is_not_sent_again() -> None:
    found = broken("never-lost", SIX, resend=False)
    assert found.steps[-1].endswith("the message is dropped")
    assert "lost" in {one["loc"] for one in states(found)}
    assert ask(SIX, "G at(message) != lost", resend=True).holds


def test_a_broker_that_fails_and_recovers_too_fast_keeps_its_client() -> None:
    found = ask(THREE, LEAVES)
    assert found.holds is False
    assert found.trace is not None
    assert {one["colour"] for one in found.trace.loop} == {"none", "b1"}
    assert {one["at.p1"] for one in found.trace.loop} == {"b1"}
    assert found.steps == (
        "step 1: nothing has failed; p1 is at b1",
        "step 2: b1 fails",
        "then again from step 1, for ever: b1 recovers",
    )
    assert found.witness is not None
    assert found.witness["loop_from"] == len(found.trace.stem)


def test_in_lockstep_clients_move_with_the_next_step() -> None:
    moves = "G (!up(b1) -> X attached(p1) = b2)"
    assert ask(THREE, moves, ["brokers=1"], timing="lockstep").holds
    assert ask(THREE, moves, ["brokers=1"]).holds is False
    two_down = ask(THREE, moves, ["brokers=2"], timing="lockstep")
    assert two_down.holds is False
    assert "b1 and b2 fail" in two_down.steps[1]


@pytest.mark.parametrize("timing", TIMINGS)
@pytest.mark.parametrize(
    ("text", "failures", "holds"),
    [
        ("F delivered(A, b5)", ["none"], True),
        ("F (delivered(A, b5) & delivered(A, b2))", ["none"], True),
        ("from(A, b5) = b1 & to(A, b5) = b5 & at(A, b5) = b1", ["none"], True),
        ("at(A, b5) = b1 U at(A, b5) = b2 U at(A, b5) = b4 U delivered(A, b5)", ["none"], True),
        ("G (delivered(A, b5) -> O at(A, b5) = b4)", ["b2"], True),
        ("F delivered(A, b5)", None, False),
        ("F delivered(A, b5)", ["b2"], False),
        ("F G up(b2) -> F delivered(A, b5)", ["b2"], True),
        ("F G steady & F G reachable(A, b5) -> F delivered(A, b5)", ["b2"], True),
        ("G (delivered(A, b5) -> G delivered(A, b5))", ["b2"], True),
        ("EF delivered(A, b5) & EG !delivered(A, b5)", ["b2"], True),
        ("EG !delivered(A, b5)", ["b6"], False),
        ("G reachable(A, b5)", ["b2"], False),
        ("G reachable(A, b5)", ["b6"], True),
    ],
)
def test_messages_of_one_topic_to_one_broker(
    text: str,
    failures: list[str] | None,
    holds: bool,
    timing: Literal["free", "lockstep"],
) -> None:
    assert ask(SIX, text, failures, timing=timing).holds is holds


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("AG (connected(b1, b2) | !up(b1) | !up(b2))", True),
        ("AG connected(b1, b2)", False),
        ("AG (up(b1) <-> connected(b1, b1))", True),
        ("G (up(b1--b2) -> connected(b1, b2))", True),
        ("G (knows(b2) = colour)", False),
        ("F G steady -> F G (knows(b2) = colour | !up(b2))", True),
        ("G (knows(b2) = b1 -> O colour = b1)", True),
        ("G (colour = b1 -> !up(b1) & up(b2) & !up(b1--b2))", True),
        ('G (colour = "b1--b2" <-> !up(b1--b2) & up(b1) & up(b2))', True),
        ('G (colour in {none, b1, b2, b3, "b1--b2", "b1--b3", "b2--b3"})', True),
        ("AG EF colour = none", True),
        ("AF colour = b1", False),
        ("steady & colour = none", True),
        ("G (colour = b1 & Y colour = none -> !steady)", True),
        ("G (colour = b1 & Y colour = b1 -> steady)", True),
        ("G subscribed(s1, topic1)", False),
        ("G F subscribed(s1, topic1)", True),
        ("G !subscribed(s1, topic2)", True),
        ("G publishes(p1, topic1) & G !publishes(p1, topic2)", True),
        ("G attached(publisher:b1) in (b1 union b2)", True),
        ("G attached(subscriber:b1) = b1", False),
        ("EF (attached(p1) = attached(p2))", True),
        ("EF (hurried & knows(b1) = none)", True),
        ("G (hurried & knows(b1) = none -> !steady)", True),
    ],
)
def test_other_things_that_can_be_asked(text: str, holds: bool) -> None:
    assert ask(THREE, text).holds is holds


def test_in_lockstep_every_broker_knows_at_once() -> None:
    assert ask(THREE, "G (knows(b2) = colour)", timing="lockstep").holds


def test_where_nothing_fails_nothing_changes() -> None:
    assert ask(THREE, "G (up(b1) & steady & colour = none & attached(p1) = b1)", ["none"]).holds
    assert ask(THREE, "G (knows(b1) = none & !hurried & up(b1--b2))", ["none"]).holds
    found = ask(THREE, "F !up(b1)", ["none"])
    assert found.steps == (
        "step 1: nothing can fail",
        "so it stays for ever (step 1)",
    )


def test_a_path_tells_what_is_heard() -> None:
    found = broken("no-bounce", SIX, forwarding="plain")
    words = " ".join(found.steps)
    assert "b1 fails" in words
    assert "b2 hears of b1" in words
    assert "goes to b4" in words
    recovered = ask(THREE, "G (knows(b2) = none -> H knows(b2) = none)", ["b1"])
    assert "b2 hears that all works" in recovered.steps[-1]


def test_a_path_tells_what_is_sent_again() -> None:
    found = ask(SIX, "F delivered(A, b5)", timing="lockstep")
    assert found.title == "messages from b1 to b5"
    assert found.steps == (
        "step 1: nothing has failed; the message is at b1",
        "step 2: b2 fails; the message goes to b2",
        "then again from step 1, for ever: b2 recovers; the message is sent again from b1",
    )


def test_two_messages_are_told_apart() -> None:
    found = ask(SIX, "G !(delivered(A, b5) & delivered(A, b2))", ["none"])
    assert found.title == "messages from b1 to b2, messages from b1 to b5"
    assert "message 1 is at b1; message 2 is at b1" in found.steps[0]


def test_out_of_time_is_no_verdict() -> None:
    found = ask(SIX, "G at(message) != lost", budget=Budget(clock=lambda: 1.0, until=0.0))
    assert (found.holds, found.reason, found.parts) == (None, "out of time", 1)
    assert found.witness is None


def test_out_of_nodes_is_no_verdict() -> None:
    found = ask(SIX, "G at(message) != lost", budget=Budget(nodes=1))
    assert (found.holds, found.reason) == (None, "more than 1 nodes")


FORMULAS = [
    (LEAVES, None),
    ("F G up(b1) -> F G attached(p1) = b1", None),
    ("G (attached(p1) = b2 -> O !up(b1))", None),
    ("AG (attached(p1) = b2 -> AF attached(p1) = b1)", None),
    ("AG EF (attached(p1) = b2 & attached(s1) = b1)", ["b1"]),
    ("F G steady -> F G (knows(b2) = colour | !up(b2))", ["b1--b2", "b2"]),
    ("G (knows(b2) = colour)", ["b2"]),
    ("AF delivered(message)", ["b1--b2"]),
    ("AF delivered(message)", ["b1"]),
    ("F G up(b1--b2) -> F delivered(message)", ["b1--b2"]),
    ("F G steady -> F delivered(message)", ["b1--b2"]),
    ("AG (EF delivered(message))", ["b1"]),
    ("G (at(message) = to(message) -> O at(message) = from(message))", ["b1--b2"]),
    ("E [!delivered(message) U !up(b1--b2)]", ["b1--b2"]),
]
SMALL = 7_000
"""The judge looks at every state, and at every pair of those that are: more takes it minutes."""


def small(text: str, failures: Sequence[str] | None, manner: Manner) -> Iterator[Part]:
    world = world_of(THREE, failures, manner=manner, pairs="all")
    for part in parts_of(question(text).formula, world, text):
        if prod(map(len, part.model.domains.values())) <= SMALL:
            yield part


@pytest.mark.parametrize("timing", TIMINGS)
@pytest.mark.parametrize(("text", "failures"), FORMULAS)
def test_verdicts_are_those_of_a_judge_who_looks_at_every_state(
    text: str, failures: list[str] | None, timing: Literal["free", "lockstep"]
) -> None:
    compared = 0
    for part in list(small(text, failures, Manner(timing)))[:2]:
        kind = question(text).kind
        spec = Spec("ctl" if kind == "ctl" else "ltl", part.formula)
        explicit = Explicit(part.model)
        outcome = check(part.model, spec)
        assert outcome.holds is explicit.holds(spec), part.title
        compared += 1
        if kind == "ltl" and outcome.trace and not part.model.helpers:
            stem, loop = outcome.trace.stem, outcome.trace.loop
            assert is_lasso(part.model, stem, loop)
            formula = explicit.rules.unfolded(spec.formula)
            assert not holds_on_lasso(formula, stem, loop, explicit.rules.defines)
    assert compared


@pytest.mark.parametrize("resend", [True, False])
@pytest.mark.parametrize("forwarding", ["carrying", "plain"])
@pytest.mark.parametrize(
    "text",
    ["G at(message) != lost", "F G steady -> F delivered(message)", "EG !delivered(message)"],
)
def test_the_judge_agrees_on_every_manner_of_sending(
    text: str, forwarding: Literal["carrying", "plain"], resend: bool
) -> None:
    for part in list(small(text, ["b1--b2"], Manner("free", forwarding, resend)))[:1]:
        spec = Spec("ctl" if question(text).kind == "ctl" else "ltl", part.formula)
        assert check(part.model, spec).holds is Explicit(part.model).holds(spec), part.title


@pytest.mark.parametrize("batch", range(4))
def test_where_nothing_fails_verdicts_are_those_of_the_arrays(batch: int) -> None:
    for seed in range(10 * batch, 10 * batch + 10):
        federation = random_federation(Random(seed))
        result = verify(federation, failures=[], pairs="all")
        delivered = bool(result.fates[0, Verdict.DELIVERED] == result.summary["pairs"])
        world = world_of(federation, ["none"], pairs="all")
        for text in ("AF at(message) = to(message)", "F delivered(message)"):
            found = answer(question(text), world, Budget())
            assert found.holds is delivered, (seed, text, found.title, found.steps)


def test_the_federations_compared_are_of_both_kinds() -> None:
    results = [
        verify(random_federation(Random(seed)), failures=[], pairs="all") for seed in range(40)
    ]
    good = [one.fates[0, Verdict.DELIVERED] == one.summary["pairs"] for one in results]
    assert 5 <= sum(good) <= 35
    assert any(route.from_ != "*" for one in results for route in one.check.federation.routes)


@pytest.mark.parametrize(
    "text",
    [
        "AF delivered(message)",
        "F G steady & F G reachable(message) -> F delivered(message)",
        "G (steady -> reachable(message))",
        "AG EF delivered(message)",
        "G (attached(subscriber:b1) = b1 -> up(b1))",
        "F G up(b1) -> F G attached(publisher:b1) = b1",
        "G came(message) != b2",
        "AG (connected(b0, b1) -> EX !connected(b0, b1))",
        "G at(message) != lost",
    ],
)
def test_failures_that_make_no_difference_may_be_told_apart(text: str) -> None:
    """A model has one colour for all failures that mean the same, unless colours are asked after."""
    always = "AG" if question(text).kind == "ctl" else "G"
    apart = question(f"({text}) & {always} (colour = none | TRUE)")
    for seed in (1, 2, 3):
        federation = random_federation(Random(seed))
        manner = Manner("lockstep", resend=bool(seed % 2))
        world = world_of(federation, ["any=1"], manner=manner, pairs="all")
        alike = answer(question(text), world, Budget()).holds
        assert alike is answer(apart, world, Budget()).holds, seed
