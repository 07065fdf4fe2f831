"""An overloaded broker sheds items to brokers that its clients know, if that helps."""

from typing import Any

import pytest

from ropewalk import loads
from ropewalk.agent.relief import Relief, choose
from ropewalk.overlay import Agent, Setup, chart_of, rules_of
from ropewalk.overlay.council.loads import Load
from ropewalk.overlay.council.settings import Pace
from ropewalk.overlay.events import Due, Happened, MoveItem, Subscribed
from ropewalk.overlay.words import Letter
from ropewalk.placement.reactive.offload import Offload

TEXT = """federation: busy
brokers:
  a: {takeover: [b, c], capacity: {receive_us: 100, filter_us: 0, send_us: 100}}
  b: {capacity: {receive_us: 100, filter_us: 0, send_us: 100}}
  c: {}
links: [{between: [a, b]}, {between: [b, c]}, {between: [a, c]}]
topics:
  small: {publishers: [c], subscribers: [a]}
  large: {publishers: [c], subscribers: [a]}
items: {small: [small], large: [large]}
"""
BUSY = loads(TEXT)
HOT = {"a": Load(0.9, ("input_ratio",)), "b": Load(0.1)}
RATES = {"small": 200.0, "large": 2000.0}


def test_the_item_that_frees_enough_goes_to_who_has_room() -> None:
    chosen = choose(BUSY, "a", HOT, RATES, {})
    assert isinstance(chosen, Offload)
    assert (chosen.moves, chosen.solved) == ({"large": "b"}, True)


@pytest.mark.parametrize(
    ("text", "known", "said"),
    [
        (TEXT, {"a": HOT["a"]}, "b has not said how loaded it is; c has no capacity"),
        (TEXT, {"b": HOT["b"]}, "a has not said how loaded it is"),
        (TEXT.replace("takeover: [b, c], ", ""), HOT, "a has no takeover list"),
    ],
)
def test_what_is_missing_for_a_choice_is_said(text: str, known: Any, said: str) -> None:
    chosen = choose(loads(text), "a", known, RATES, {})
    assert isinstance(chosen, str)
    assert said in chosen


def test_what_is_in_total_order_stays_and_a_broker_that_suffers_too_takes_nothing() -> None:
    total = loads(TEXT.replace("subscribers: [a]}", "subscribers: [a], contract: {order: total}}"))
    chosen = choose(total, "a", HOT, RATES, {})
    assert isinstance(chosen, Offload)
    assert not chosen.moves
    assert "in total order" in str(chosen.subscriptions[0])
    suffering = choose(BUSY, "a", {**HOT, "b": Load(0.1, ("cpu_share",))}, RATES, {})
    assert isinstance(suffering, Offload)
    assert not suffering.moves


def test_an_overload_begins_one_move_and_then_waits() -> None:
    agent = Agent(
        Setup(me=0, chart=chart_of(BUSY), rules=rules_of(BUSY), items=BUSY.items, council=Pace())
    )
    agent.start(0, settled=True)
    assert agent.managing is not None
    handed: list[MoveItem] = []
    told: list[str] = []
    relief = Relief(
        BUSY,
        "a",
        agent.managing,
        loads=lambda: HOT,
        hand=handed.append,
        tell=lambda what, about: told.append(" ".join((what, *about))),
    )
    agent.handle(Subscribed("client", "large"), 1)
    relief.look(1.0)
    assert (handed, told) == ([], [])  # what it frees is not known yet
    for second in (2, 3):
        for number in range(2000 * second, 2000 * (second + 1)):
            agent.front.deliver(Letter(2, 1, "large", number, b""), late=False)
        relief.look(float(second))
        assert relief.rates == {"large": 2000.0}
        assert handed == [MoveItem("large", 1, ())]  # one, and not again at once
    assert told == ["sheds large to b"]


def test_loads_are_told_to_the_neighbours_and_forgotten_when_they_are_old() -> None:
    agent = Agent(
        Setup(me=0, chart=chart_of(BUSY), rules=rules_of(BUSY), items=BUSY.items, council=Pace())
    )
    agent.start(0, settled=True)
    assert agent.managing is not None
    told = agent.managing.loads
    agent.handle(Happened(Load(0.5)), 1)
    assert told.known() == {0: Load(0.5)}
    assert told.heard(2, 1, Load(0.7))
    assert not told.heard(2, 1, "something else")
    assert told.known() == {0: Load(0.5), 1: Load(0.7)}
    agent.handle(Due(), 6_000_000)
    assert told.known() == {}
