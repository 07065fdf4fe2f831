"""Conversations at a broker in corners: nothing that was accepted is lost, doubled or kept for ever."""

from typing import Any

import pytest

from ropewalk.federation.facts import Contract
from ropewalk.overlay.events import (
    Published,
    Subscribed,
)
from ropewalk.overlay.settings import Settings
from ropewalk.overlay.wire import encode_records
from ropewalk.protocol import automaton
from tests.talk_world import (
    DEAL,
    FIGURE_3,
    NOTES,
    World,
    accepted,
    got,
    losing,
    refused,
    say,
    square,
)

# --- what never comes here ----------------------------------------------------------------------


def test_a_reader_that_joins_in_mid_conversation_gets_the_rest() -> None:
    world = World(FIGURE_3)
    world.say(0, "a")
    world.run(50)
    world.hand("c", Subscribed("late", "to/b"))
    world.run(100)
    world.say(0, "b")
    world.run(1_000)
    assert got(world, "c") == []
    world.run(5_000)
    assert (got(world, "d"), got(world, "c")) == (["a", "b"], ["b"])


def test_a_conversation_over_topics_that_are_read_at_different_brokers_loses_nothing() -> None:
    world = square(FIGURE_3, "t1 t2", "b:t1 d:t2")
    say(world, "a", "t1", "a")
    world.run(50)
    say(world, "a", "t2", "b")
    world.run(6_000)
    assert (got(world, "b"), got(world, "d")) == (["a"], ["b"])
    assert world.agent("d").talking.held == 0


def test_a_reader_that_has_forgotten_a_conversation_lets_it_pass_at_once() -> None:
    protocol = automaton(
        "{protocol: p, initial: 0, accepting: [1], messages: {A -> B: [a, b]},"
        " transitions: [0 -> 1: a, 1 -> 2: b, 2 -> 1: a]}"
    )
    world = World(protocol)
    world.agent("d").talking._places["p"].talks._most = 4
    for talk in "xabcdef":
        world.say(0, "a", talk)
        world.run(20)
    world.say(0, "b", "x")
    world.run(50)
    assert got(world, "d") == [*"aaaaaaa", "b"]


def test_when_all_are_unfinished_the_oldest_is_judged_no_more() -> None:
    world = World(DEAL)
    for broker in "ad":
        world.agent(broker).talking._places["p"].talks._most = 20
    for i in range(30):
        world.say(0, "ask", f"old{i}")
        world.run(5)
    world.say(0, "ask", "new")
    world.run(20)
    world.say(1, "offer", "new")
    world.run(20)
    world.say(1, "refuse", "new")
    world.run(20)
    assert [one.ticket for one in refused(world)] == ["refuse"]
    assert len(world.told("too many conversations")) == 2, "once at each broker"
    world.say(1, "refuse", "old0")
    world.run(20)
    assert got(world, "a")[-1] == "refuse", "not judged, and not lost"


@pytest.mark.parametrize("again", ["power", "brokers"])
def test_different_letters_with_one_number_are_both_delivered(again: str) -> None:
    """An origin forgot in a power loss what it had said; or a role speaks at two brokers."""
    world = World(FIGURE_3)
    losing(world, b"a")
    world.say(0, "a")
    world.run(5)
    safe = len(world.logs[0])
    say(world, "a", "to/b", "b", payload=b"b1")
    world.run(30)
    if again == "power":
        world.logs[0] = world.logs[0][:safe]
        world.restart("a")
        world.run(400)
        say(world, "a", "to/b", "b", payload=b"b2")
    else:
        say(world, "c", "to/b", "a", payload=b"a2")
        say(world, "c", "to/b", "b", payload=b"b2")
    world.run(100)
    world.pass_word = lambda *_: True
    world.run(6_000)
    expected = ["a", "b1", "b2"] if again == "power" else ["a", "a2", "b1", "b2"]
    assert sorted(got(world, "d")) == expected
    assert world.agent("d").talking.held == 0


# --- several roles at one broker ----------------------------------------------------------------

GO_X_Y = "{protocol: p, initial: s0, accepting: [s4], messages: {A -> B: [go, fin], A -> C: y, B -> C: x}, "


def test_what_a_client_says_frees_letters_for_another_of_its_broker() -> None:
    order = "transitions: [s0 -> s1: go, s1 -> s2: x, s2 -> s3: y, s3 -> s4: fin]}"
    world = square(automaton(GO_X_Y + order), "tB tC", "d:tB d:tC")
    say(world, "a", "tB", "go")
    world.run(20)
    say(world, "a", "tC", "y")
    world.run(50)
    assert got(world, "d") == ["go"]
    say(world, "d", "tC", "x")
    world.run(50)
    assert got(world, "d") == ["go", "y"], "x is the broker's own business"


def test_what_the_broker_has_given_before_its_turn_is_not_given_again() -> None:
    order = "transitions: [s0 -> s1: go, s1 -> s2: y, s2 -> s3: x, s3 -> s4: fin]}"
    world = square(automaton(GO_X_Y + order), "tB tC", "d:tB d:tC")
    say(world, "a", "tB", "go")
    world.run(20)
    losing(world, b"y")
    say(world, "a", "tC", "y")
    world.run(10)
    say(world, "d", "tC", "x")
    world.run(20)
    world.pass_word = lambda *_: True
    world.run(6_000)
    assert got(world, "d") == ["go", "y"]


def test_a_role_that_is_through_hides_nothing_of_another() -> None:
    protocol = automaton(
        "{protocol: p, initial: s0, accepting: [s3], messages: {B -> C: [x, y], B -> A: z},"
        " transitions: [s0 -> s1: x, s1 -> s2: y, s2 -> s3: z]}"
    )
    world = square(protocol, "tA tC", "a:tA a:tC")
    losing(world, b"x")
    for topic, message in (("tC", "x"), ("tC", "y"), ("tA", "z")):
        say(world, "d", topic, message)
        world.run(10)
    assert got(world, "a") == ["z"]
    world.pass_word = lambda *_: True
    world.run(800)
    assert got(world, "a") == ["z", "x", "y"]


def test_conversations_between_clients_of_one_broker_go_on_and_end() -> None:
    world = square(DEAL, "to/a to/b", "a:to/a a:to/b")
    for talk in map(str, range(20)):
        say(world, "a", "to/b", "ask", talk)
        say(world, "a", "to/b", "take", talk)
        world.run(5)
        say(world, "a", "to/a", "offer", talk)
        world.run(5)
    assert accepted(world).count("take") == 20, "each waited for its offer, and not the other way"
    assert not refused(world)
    assert world.agent("a").talking.open == 0
    say(world, "a", "to/a", "refuse", "7")
    world.run(5)
    assert [one.ticket for one in refused(world)] == ["refuse"]


def test_readers_who_take_no_part_end_nothing() -> None:
    world = World(DEAL, deliver_local=False)
    for broker in "ad":
        world.hand(broker, Subscribed(f"monitor at {broker}", "#"))
    world.run(100)
    for role, message in ((0, "ask"), (1, "offer"), (1, "refuse"), (0, "take"), (1, "offer")):
        world.say(role, message)
        world.run(30)
    assert [one.ticket for one in refused(world)] == ["refuse", "offer"]
    assert not world.told("conversation broken off")


def test_what_is_said_at_once_when_one_answer_comes_does_not_pile_up() -> None:
    protocol = automaton(
        "{protocol: p, initial: idle, accepting: [ready], messages: {A -> B: go, A -> C: note,"
        " B -> A: ok}, transitions: [idle -> on: go, on -> ready: ok, ready -> ready: note]}"
    )
    world = square(protocol, "tA tB tC", "a:tA d:tB a:tC")
    say(world, "a", "tB", "go")
    world.run(20)
    for i in range(900):
        say(world, "a", "tC", "note", ticket=i)
    say(world, "d", "tA", "ok")
    world.run(100)
    assert accepted(world) == ["go", "ok", *range(900)]


def test_a_role_that_is_not_known_here_does_not_disturb_one_that_waits() -> None:
    world = World(DEAL)
    say(world, "a", "to/b", "ask")
    world.run(20)
    say(world, "a", "to/b", "take")
    say(world, "a", "to/a", "offer")  # its client moved here
    world.run(6_000)
    assert "offer" in accepted(world)


# --- publications that wait ---------------------------------------------------------------------


def test_what_found_no_room_when_its_turn_came_is_said_when_there_is_room() -> None:
    world = World(DEAL, settings=Settings(queue=2))
    world.say(0, "ask")
    world.run(20)
    world.say(0, "take")
    world.run(20)
    a = world.number["a"]
    world.pass_word = lambda b, _link, word: b != a or type(word).__name__ != "Frame"
    for talk in ("q1", "q2"):
        say(world, "a", "to/b", "other", talk)
    world.say(1, "offer")
    world.run(30)
    assert "take" not in accepted(world)
    world.pass_word = lambda *_: True
    world.run(1_000)
    assert "take" in accepted(world)
    assert not refused(world)


@pytest.mark.parametrize("delivery", ["at-least-once", "exactly-once"])
def test_a_repetition_of_what_waits_is_the_same_message(delivery: Any) -> None:
    contract = Contract(delivery=delivery, order="none")
    world = square(NOTES, "to/a to/b", "a:to/a d:to/b", contract)
    say(world, "a", "to/b", "go")
    world.run(20)
    for ticket in ("first", "again"):
        say(world, "a", "to/b", "note", ticket=ticket, key="id-1")
        world.run(100)
    say(world, "d", "to/a", "ok")
    world.run(100)
    assert got(world, "d") == ["go", "note"]
    assert accepted(world) == ["go", "ok", "first", "again"]


def test_all_who_repeat_what_is_refused_are_told_and_may_try_again() -> None:
    world = World(NOTES)
    world.say(0, "go")
    world.run(20)
    for ticket in ("first", "again"):
        say(world, "a", "to/b", "note", ticket=ticket, key="id-1")
    world.run(5_100)
    assert [one.ticket for one in refused(world)] == ["first", "again"]
    world.say(1, "ok")
    world.run(20)
    say(world, "a", "to/b", "note", ticket="third", key="id-1")
    world.run(20)
    assert accepted(world)[-1] == "third"


def test_a_message_that_the_protocol_does_not_have_is_refused_and_ends_nothing() -> None:
    world = World(DEAL)
    for role, message in ((0, "ask"), (0, "tkae"), (1, "offer"), (1, "refuse")):
        world.say(role, message)
        world.run(20)
    assert [one.ticket for one in refused(world)] == ["tkae", "refuse"]
    assert "deal has no message 'tkae'" in refused(world)[0].reason


def test_a_stamp_that_a_client_wrote_changes_nothing() -> None:
    world = World(DEAL)
    world.say(0, "ask")
    world.run(20)
    world.say(0, "take", **{"Ropewalk-Stamp": "garbage"})
    world.run(20)
    assert world.got(1) == ["ask"]


@pytest.mark.parametrize("name", ["\\ud800", "c" * 100_000])
def test_ids_that_no_log_can_keep_are_not_judged(name: str) -> None:
    protocol = automaton(
        "{protocol: p, initial: idle, accepting: [on], conversation: {field: id},"
        " messages: {A -> B: go}, transitions: [idle -> on: go]}"
    )
    world = World(protocol)
    payload = b'{"id":"' + name.encode() + b'"}'
    world.hand("a", Published(1, "to/b", payload, headers=(("message", "go"),)))
    world.run(20)
    assert accepted(world) == [1]
    assert got(world, "d") == [payload.decode()]
    assert world.agent("a").talking.counts["passed"] == 1
    encode_records(world.logs[0])


# --- deadlines ----------------------------------------------------------------------------------


def test_a_deadline_that_may_not_pass_yet_is_looked_at_again_later() -> None:
    protocol = automaton(
        "{protocol: p, initial: s0, accepting: [s3, late], messages: {B -> A: [a, b], A -> B: z},"
        " transitions: [s0 -> s1: a, s0 -> s2: b, s1 -> s3: b, s2 -> s3: a, s3 -> s4: z,"
        " s4 -> s4: z, s2 -> late: {timeout_s: 1, at: A}]}"
    )
    world = World(protocol)
    losing(world, b"a")
    world.say(1, "a")
    world.run(5)
    world.say(1, "b")
    world.run(2_000)
    assert world.got(0) == ["b"]
    world.pass_word = lambda *_: True
    world.run(1_000)
    assert world.got(0) == ["b", "a"]


def test_deadlines_of_conversations_that_are_over_are_forgotten() -> None:
    protocol = automaton(
        "{protocol: p, initial: idle, accepting: [on, late], messages: {A -> B: go, B -> A: ok},"
        " transitions: [idle -> on: go, on -> done: ok, on -> late: {timeout_s: 86400, at: A}]}"
    )
    world = World(protocol)
    for talk in map(str, range(200)):
        world.say(0, "go", talk)
        world.run(5)
        world.say(1, "ok", talk)
        world.run(5)
    alarms = world.agent("a").talking._sides.alarms
    assert len(alarms) == 0
    assert len(alarms._heap) < 100
