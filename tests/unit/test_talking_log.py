"""Conversations and the log: small records, and nothing lost, doubled or brought back by them."""

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from ropewalk.agent.deliveries import Deliveries, delivery_of
from ropewalk.overlay.events import (
    Action,
    Deliver,
    Logged,
    Send,
    Write,
)
from ropewalk.overlay.talk import sides
from ropewalk.overlay.talk.past import Talked
from ropewalk.overlay.wire import encode_records
from ropewalk.protocol import Automaton, automaton
from tests.talk_world import (
    DEAL,
    FIGURE_3,
    NOTES,
    World,
    got,
    losing,
    overtaken,
    say,
)


def size(records: Iterable[Any]) -> int:
    return len(encode_records(list(records)))


def test_a_letter_that_waits_is_in_the_log_once() -> None:
    protocol = automaton(
        "{protocol: p, initial: 0, accepting: [1], messages: {A -> B: [first, more]},"
        " transitions: [0 -> 1: first, 1 -> 1: more]}"
    )
    world = World(protocol)
    losing(world, b"first")
    world.say(0, "first")
    before = len(world.logs[3])
    for i in range(100):
        say(world, "a", "to/b", "more", ticket=i, payload=b"z" * 10_000)
    world.run(300)
    assert world.agent("d").talking.held == 100
    assert size(world.logs[3][before:]) < 1.5 * 100 * 10_000


def test_of_many_letters_few_have_a_record_of_how_far_their_conversation_is() -> None:
    world = World(NOTES)
    world.say(0, "go")
    world.run(20)
    world.say(1, "ok")
    world.run(20)
    before = len(world.logs[0])
    for i in range(320):
        say(world, "a", "to/b", "note", ticket=i)
    world.run(100)
    assert sum(isinstance(one, Talked) for one in world.logs[0][before:]) == 10
    world.restart("a")
    world.run(400)
    say(world, "a", "to/b", "note", ticket="next")
    world.run(100)
    assert len(got(world, "d")) == 322
    assert world.agent("d").talking.counts["broken"] == 0


def test_ids_of_clients_do_not_bring_back_what_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sides, "LAST_OVER", 2)
    world = World(DEAL)
    for talk in map(str, range(10)):
        say(world, "a", "to/b", "ask", talk, key=f"k{talk}")
        world.run(10)
        world.say(1, "refuse", talk)
        world.run(10)
    world.logs[0] = world.agent("a").records()
    world.restart("a")
    world.run(100)
    assert world.agent("a").talking.open == 0


@pytest.mark.parametrize("now", ["another", "none"])
def test_letters_that_waited_come_after_a_restart_with_another_protocol_or_none(now: str) -> None:
    world = World(FIGURE_3)
    overtaken(world)
    assert world.agent("d").talking.held == 1
    world.setup["protocols"] = {"p": DEAL} if now == "another" else {}
    world.restart("d")
    world.run(20)
    assert world.agent("d").memory()["talk"] == 1
    world.logs[3] = world.agent("d").records()  # the log may be cut down meanwhile
    world.restart("d")
    world.pass_word = lambda *_: True
    world.run(3_000)
    assert got(world, "d") == ["a", "b"]


class Slow:
    """A broker that confirms when it is told to."""

    busy = False

    def __init__(self) -> None:
        self.given: list[Any] = []

    def deliver(self, some: Sequence[Any]) -> None:
        self.given += some


class Confirming(World):
    """Broker d is behind the real queue of deliveries, whose log is all that a crash leaves."""

    def __init__(self, protocol: Automaton) -> None:
        super().__init__(protocol)
        self.slow, self.log, self.confirms = Slow(), list[Any](), True
        d = self.number["d"]
        self.queue = Deliveries(self.slow, self.log.extend, lambda _some: None)  # type: ignore[arg-type]
        self.queue.up = True
        self.queue._written = self.queue._logged = self._written[d]
        self.before, self.log[:] = list(self.logs[d]), [None] * self._written[d]

    def act(self, broker: int, actions: Iterable[Action]) -> None:
        actions = list(actions)
        if broker != self.number["d"] or not hasattr(self, "queue"):
            super().act(broker, actions)
            return
        core = self.agents[broker]
        self.queue.add([delivery_of(core, one) for one in actions if isinstance(one, Deliver)])
        if records := [one.record for one in actions if isinstance(one, Write)]:
            self.queue.behind(records)
        if self.confirms and self.slow.given:
            self.queue.delivered(len(self.slow.given))
        for one in actions:
            if isinstance(one, Send):
                self._say(broker, one.link, one.word)
            elif not isinstance(one, Write):
                self.done.append((self.now_us, broker, one))
        if safe := self.queue.safe(len(self.log)):
            self._push(self.now_us, broker, Logged(safe))
        self._wake(broker)

    def crash(self) -> None:
        """Agent and broker die together, with all that was not confirmed."""
        self.logs[self.number["d"]] = self.before + [one for one in self.log if one is not None]
        del self.queue
        self.done.clear()
        self.restart("d")


def test_letters_that_waited_and_were_not_confirmed_are_given_again_after_a_crash() -> None:
    world = Confirming(FIGURE_3)
    overtaken(world)
    assert world.agent("d").talking.held == 1
    world.confirms = False
    world.pass_word = lambda *_: True
    world.run(1_500)
    assert [one.payload for one in world.slow.given] == [b"a", b"b"]
    world.crash()
    world.run(5_000)
    assert got(world, "d") == ["a", "b"]
    assert world.agent("a").memory()["custody"] == 0


def test_and_not_given_again_once_they_were_confirmed() -> None:
    world = Confirming(FIGURE_3)
    overtaken(world)
    world.pass_word = lambda *_: True
    world.run(1_500)
    world.crash()
    world.run(5_000)
    assert got(world, "d") == []
