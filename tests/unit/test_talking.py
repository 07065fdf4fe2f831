"""Protocols on topics: what agents let pass, keep back, refuse, and know after a restart."""

from pathlib import Path
from random import Random

import pytest

from chance import each_once
from ropewalk.overlay.events import Accepted, Published
from ropewalk.overlay.talk.lines import PATIENCE_US
from ropewalk.overlay.talk.past import OVER, Talked
from ropewalk.overlay.talk.talking import Talking
from ropewalk.overlay.talk.token import token_of
from ropewalk.protocol import automaton, load_automaton
from ropewalk.protocol.realize.verdict import realizability
from tests.bench import MS
from tests.talk_world import AT, DEAL, Players, World, overtaken, refused

EXAMPLES = Path(__file__).parents[2] / "examples" / "protocols"


def test_a_conversation_goes_its_way_and_what_is_out_of_turn_is_refused_for_good() -> None:
    world = World(DEAL)
    world.say(0, "ask")
    world.run(20)
    world.say(1, "offer")
    world.run(20)
    world.say(1, "refuse")
    world.say(0, "take")
    world.run(20)
    assert (world.got(0), world.got(1)) == (["offer"], ["ask", "take"])
    [one] = refused(world)
    assert (one.ticket, one.final) == ("refuse", True)
    assert "'refuse' is not allowed in state 'offered'" in one.reason


def test_conversations_on_the_same_topics_do_not_wait_for_each_other() -> None:
    world = World(DEAL)
    world.say(0, "ask", "x")
    world.run(20)
    world.say(0, "take", "x")  # waits for the offer
    world.say(0, "ask", "y")
    world.run(20)
    assert world.got(1) == ["ask", "ask"]
    world.say(1, "offer", "x")
    world.run(20)
    assert world.got(1) == ["ask", "ask", "take"]
    assert not refused(world)


def test_what_waits_too_long_for_the_other_side_is_refused() -> None:
    world = World(DEAL)
    world.say(0, "ask")
    world.say(0, "take")
    world.run(PATIENCE_US / MS - 100)
    assert not refused(world)
    world.run(200)
    [one] = refused(world)
    assert (one.ticket, one.final) == ("take", True)
    assert world.agent("a").memory()["talk"] == 0


def test_what_waits_behind_it_goes_on_then() -> None:
    protocol = automaton(
        "{protocol: p, initial: idle, accepting: [end], messages: {A -> B: [go, fin, note],"
        " B -> A: ok}, transitions: [idle -> on: go, on -> on: note, on -> ready: ok,"
        " ready -> end: fin]}"
    )
    world = World(protocol)
    world.say(0, "go")
    world.run(20)
    world.say(0, "fin")  # waits for ok, which is never said
    world.run(3_000)
    world.say(0, "note")
    world.run(PATIENCE_US / MS - 2_900)
    assert [one.ticket for one in refused(world)] == ["fin"]
    assert world.got(1) == ["go", "note"]


def talking_of(world: World) -> Talking:
    return world.agents[world.number["a"]].talking


def test_a_deadline_is_looked_at_once_however_much_is_said_and_after_a_restart() -> None:
    protocol = automaton(
        "{protocol: p, initial: idle, accepting: [on, late], messages: {A -> B: [go, note],"
        " B -> A: ok}, transitions: [idle -> on: go, on -> on: note, on -> on: ok,"
        " on -> late: {timeout_s: 1, at: A}, late -> late: note, late -> late: ok]}"
    )
    world = World(protocol)
    world.say(0, "go")
    for _ in range(30):
        world.run(20)
        world.say(0, "note")
    assert len(talking_of(world)._sides.alarms) == 1
    world.restart("a")
    world.run(1_500)
    places = talking_of(world)._places.values()
    [(_, messenger)] = [one for place in places for one in place.talks.items()]
    assert messenger.state == "late"


def test_letters_that_overtake_each_other_are_put_in_order_only_where_it_matters() -> None:
    figure = load_automaton(EXAMPLES / "figure-3.yaml")
    world = World(figure)
    first = world.link("a-b")
    held_back: list[object] = []

    def late(broker: int, link: int, word: object) -> bool:
        """The first frame that leaves a is lost, and sent again later."""
        if link == first and type(word).__name__ == "Frame" and not held_back:
            held_back.append(word)
            return False
        return True

    world.pass_word = late
    world.say(0, "a")
    world.run(3)
    world.say(0, "b")
    world.run(400)
    assert held_back
    assert world.got(1) == ["a", "b"]
    world.say(1, "d")
    world.run(20)
    assert [one.ticket for one in refused(world)] == ["d"]


# --- what cannot be judged passes ----------------------------------------------------------------


def test_a_conversation_that_began_elsewhere_passes_and_nothing_of_it_is_lost() -> None:
    world = World(DEAL)
    world.say(0, "take")
    world.run(20)
    world.say(1, "refuse")
    world.run(20)
    assert (world.got(0), world.got(1)) == (["refuse"], ["take"])
    assert not refused(world)


def test_a_message_that_does_not_say_what_it_is_passes() -> None:
    world = World(DEAL)
    world.hand("a", Published(1, "to/b", b"no headers"))
    world.run(20)
    assert world.got(1) == ["no headers"]
    assert world.agent("a").talking.counts["passed"] == 1


def test_a_conversation_that_is_broken_off_is_told_and_loses_nothing() -> None:
    world = World(load_automaton(EXAMPLES / "figure-1.yaml"))
    world.say(0, "a")
    world.say(1, "b")
    world.run(50)
    assert (world.got(0), world.got(1)) == (["b"], ["a"])
    assert {about[:2] for _, about in world.told("conversation broken off")} == {("p", "x")}
    assert len(world.told("conversation broken off")) == 2


def test_figure_5_is_mended_between_agents() -> None:
    world = World(load_automaton(EXAMPLES / "figure-5.yaml"))
    world.say(0, "a")
    world.say(1, "b")
    world.run(50)
    world.say(0, "c")
    world.run(50)
    assert (world.got(0), world.got(1)) == (["b"], ["a", "c"])
    assert not world.told("conversation broken off")


@pytest.mark.parametrize("other", ["transitions", "speakers"])
def test_agents_with_another_version_of_a_protocol_do_not_judge(other: str) -> None:
    """With its own version d would keep b back until a has come, or not know who says it."""
    figure = load_automaton(EXAMPLES / "figure-3.yaml")
    texts = {
        "transitions": "messages: {A -> B: [a, b, c], B -> A: d}, transitions: [1 -> 2: a, 2 -> 3: b]",
        "speakers": "messages: {B -> A: [a, b, c], A -> B: d}, transitions: [1 -> 2: a, 2 -> 3: b]",
    }
    world = World(figure)
    world.setup["protocols"] = {
        "p": automaton("{protocol: p, initial: 1, accepting: [3], " + texts[other] + "}")
    }
    world.restart("d")
    world.run(50)
    overtaken(world)
    assert world.got(1) == ["b"]
    world.pass_word = lambda *_: True
    world.run(800)
    assert world.got(1) == ["b", "a"]


# --- restarts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("who", ["a", "d"])
@pytest.mark.parametrize("after", [1, 2, 3])
def test_a_conversation_goes_on_after_a_restart(who: str, after: int) -> None:
    world = World(DEAL)
    steps = [(0, "ask"), (1, "offer"), (0, "take")]
    for i, (role, message) in enumerate(steps, 1):
        world.say(role, message)
        world.run(40)
        if i == after:
            world.restart(who)
            world.run(400)
    assert (world.got(0), world.got(1)) == (["offer"], ["ask", "take"])
    assert not refused(world)
    world.say(1, "refuse")
    world.run(40)
    assert world.got(0) == ["offer"]
    assert "it has come to its end" in refused(world)[0].reason


def test_a_letter_that_waits_is_there_after_a_restart() -> None:
    world = World(load_automaton(EXAMPLES / "figure-3.yaml"))
    assert overtaken(world)
    assert world.got(1) == []
    assert world.agent("d").talking.held == 1
    world.restart("d")
    world.pass_word = lambda *_: True
    world.run(800)
    assert world.got(1) == ["a", "b"]


def test_a_letter_in_the_log_without_what_it_did_is_followed_again() -> None:
    """Not every letter has a record of its conversation behind it."""
    world = World(DEAL)
    world.say(0, "ask")
    world.run(1)
    assert not any(isinstance(one, Talked) for one in world.logs[0])
    world.restart("a")
    world.run(400)
    world.say(1, "offer")
    world.run(40)
    world.say(0, "take")
    world.run(40)
    assert (world.got(0), world.got(1)) == (["offer"], ["ask", "take"])
    assert world.agent("a").talking.counts["passed"] == 0


def test_conversations_that_are_over_leave_nothing_but_a_note() -> None:
    world = World(DEAL)
    for talk in map(str, range(20)):
        world.say(0, "ask", talk)
        world.run(10)
        world.say(1, "refuse", talk)
        world.run(10)
    for role in (0, 1):
        records = [one for one in world.agent(AT[role]).records() if isinstance(one, Talked)]
        assert len(records) == 20
        assert all(one.memory == OVER for one in records)


def test_what_a_letter_says_is_there_for_the_trace() -> None:
    world = World(DEAL)
    world.say(0, "ask")
    world.run(20)
    [accepted] = [one for _, _, one in world.done if isinstance(one, Accepted)]
    token = token_of(accepted.letter)
    assert token is not None
    assert (token.conversation, token.label) == ("x", "ask")


def test_talks_under_faults_stay_legal_end_alike_and_lose_nothing() -> None:
    """Random protocols that need no luck, links that are cut, agents that are killed."""
    random, talks, restarts = Random(8), 0, 0
    while talks < 40:
        protocol = each_once(random)
        found = realizability(protocol)
        if not found.fifo.ok or not found.messenger.live or len(protocol.states) < 5:
            continue
        talks += 1
        world = World(protocol)
        players = Players(world, random)
        for turn in range(14):
            players.turn(random.choice([1, 3, 8]))
            if turn == 5:
                world.cut(random.choice(["a-b", "b-d", "a-c"]))
            if turn == 9:
                world.pass_word = lambda *_: True
            if random.random() < 0.12:
                restarts += 1
                world.restart(random.choice("ad"))
        players.listen(1_500)
        assert not players.illegal
        assert players.at[0] == players.at[1]
        for role in (0, 1):
            assert sorted(set(world.got(role))) == sorted(players.said[1 - role])
        assert not world.told("conversation broken off")
    assert restarts > 10
