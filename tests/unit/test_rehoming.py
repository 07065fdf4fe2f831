"""A plan is carried out by agents: each its own moves, in the plan's order, once."""

import json
from pathlib import Path
from typing import Any

import pytest

from ropewalk import loads
from ropewalk.agent.lab.layout import layout_of
from ropewalk.agent.lab.planning import Planning, moved
from ropewalk.agent.lab.ports import Ports
from ropewalk.agent.policies import moves_of, policies_of
from ropewalk.agent.rehoming import PATIENCE_S, PlannedMove, Rehoming
from ropewalk.errors import UsageError
from ropewalk.overlay import Agent, Setup, chart_of, rules_of
from ropewalk.overlay.council.settings import Pace
from ropewalk.overlay.events import MoveItem, Subscribed, Unsubscribed
from ropewalk.placement.policies.cases import Case, CaseBase
from ropewalk.report.lab import plan_findings, plan_text

TEXT = """federation: three
brokers: {a: {takeover: [b]}, b: {takeover: [a]}, c: {}}
links: [{between: [a, b]}, {between: [b, c]}, {between: [a, c]}]
topics:
  x: {publishers: [c], subscribers: [a, {broker: a, client: second}]}
  y: {publishers: [c], subscribers: [b]}
items: {x: [x], y: [y]}
"""
THREE = loads(TEXT)
BASE = CaseBase(
    {"x": ("b", 0.0), "y": ("a", 0.0)},
    tuple(THREE.brokers),
    (Case("peak", frozenset(), {}, 0.0, {}),),
)
TO_B, TO_A = PlannedMove("x", "a", "b"), PlannedMove("y", "b", "a")


class Bench:
    """The moves of a plan at agent a."""

    def __init__(self, *moves: PlannedMove) -> None:
        self.agent = Agent(
            Setup(
                me=0,
                chart=chart_of(THREE),
                rules=rules_of(THREE),
                items=THREE.items,
                council=Pace(),
            )
        )
        self.agent.start(0, settled=True)
        assert self.agent.managing is not None
        self.managing: Any = self.agent.managing
        self.handed: list[MoveItem] = []
        self.told: list[str] = []
        self.moves = Rehoming(
            self.managing,
            "a",
            hand=self.handed.append,
            tell=lambda what, about: self.told.append(" ".join((what, *about))),
        )
        self.moves.plan("1", moves)

    def decided(self) -> "Bench":
        """The council has the plan's policies."""
        self.managing.mirrors.base = BASE
        self.moves.version = BASE.version
        return self

    def states(self) -> list[str]:
        return [one["state"] for one in self.moves.status()]


def test_nothing_moves_before_the_council_has_decided() -> None:
    bench = Bench(TO_B)
    bench.agent.handle(Subscribed("client", "x"), 1)
    bench.moves.look(1.0)
    assert not bench.handed
    bench.decided().moves.look(2.0)
    assert bench.handed == [MoveItem("x", 1, ())]
    assert bench.states() == ["moving"]


def test_a_move_is_over_when_its_clients_have_gone_and_is_made_once() -> None:
    bench = Bench(TO_B).decided()
    bench.agent.handle(Subscribed("client", "x"), 1)
    bench.moves.look(1.0)
    bench.moves.look(1.5)
    assert len(bench.handed) == 1  # the other agent may take its time
    bench.moves.look(2.5)
    assert len(bench.handed) == 2
    bench.agent.handle(Unsubscribed("client", "x"), 2)
    bench.moves.look(3.0)
    assert (bench.states(), bench.moves.busy) == (["done"], False)
    bench.agent.handle(Subscribed("client", "x"), 3)
    bench.moves.look(9.0)
    assert len(bench.handed) == 2


def test_an_earlier_move_of_another_broker_is_waited_for() -> None:
    bench = Bench(TO_A, TO_B).decided()
    bench.agent.handle(Subscribed("client", "x"), 1)
    bench.managing.carrying._interests.remote["y"] = {1}
    bench.moves.look(1.0)
    assert (bench.handed, bench.states()) == ([], ["waiting", "waiting"])
    bench.managing.carrying._interests.remote["y"] = {0}
    bench.moves.look(2.0)
    assert bench.states() == ["done", "moving"]
    assert bench.handed == [MoveItem("x", 1, ())]


def test_what_does_not_go_is_told_and_passed_over() -> None:
    bench = Bench(TO_A, TO_B).decided()
    bench.managing.carrying._interests.remote["y"] = {1}
    bench.moves.look(1.0)
    bench.moves.look(2.0 + PATIENCE_S)
    assert bench.states() == ["passed over", "done"]
    assert bench.told == ["does not move y from b to a"]


def test_an_empty_plan_file_is_none_yet_and_a_bad_one_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text("")
    base = policies_of(THREE, file)
    assert base is not None  # of the takeover lists
    assert base.items["x"][0] == "a"
    assert moves_of(file) == ()
    file.write_text("moves: [{item: x, from: a, to: b}]\npolicies: {file: p.json, version: '0'}\n")
    assert moves_of(file) == (TO_B,)
    (tmp_path / "p.json").write_text(BASE.text())
    with pytest.raises(UsageError, match="not the policies that"):
        policies_of(THREE, file)
    for text in ("moves: [x]", "just words", "a: [", "moves: [{item: x}]"):
        file.write_text(text)
        with pytest.raises(UsageError, match="no plan"):
            moves_of(file)
    with pytest.raises(UsageError, match="cannot be read"):
        moves_of(tmp_path / "none.yaml")


def test_the_lab_s_file_has_subscribers_where_their_items_have_gone() -> None:
    found = moved(THREE, [TO_B])
    first, second = found.topics["x"].subscribers
    assert first == "b"
    assert not isinstance(second, str)
    assert (second.broker, second.client) == ("b", "second")
    assert found.topics["y"].subscribers == ("b",)
    assert found.topics["x"].publishers == ("c",)


def test_items_that_stayed_are_findings_and_those_under_way_are_no_success() -> None:
    row = {"item": "x", "from": "a", "to": "b", "state": "done"}
    told: dict[str, Any] = {"moves": [row], "over": True, "seconds": 2.0}
    assert plan_findings(told, "plan.yaml") == ("ok", [])
    assert plan_text(told) == "x: a > b, done\n1 of 1 items moved after 2.0 s."
    outcome, found = plan_findings({**told, "moves": [{**row, "state": "passed over"}]}, "p")
    assert (outcome, [one.code for one in found]) == ("findings", ["L003"])
    assert plan_findings({**told, "over": False}, "p")[0] == "undecided"
    assert json.dumps(told)


def test_a_plan_of_another_federation_is_refused_by_the_lab(tmp_path: Path) -> None:
    ports = Ports()
    try:
        layout = layout_of(THREE, tmp_path, ports)
        plan = tmp_path / "given.yaml"
        other = CaseBase({}, ("elsewhere",), (Case("peak", frozenset(), {}, 0.0, {}),))
        for base, item, said in ((other, "x", "no broker elsewhere"), (BASE, "z", "no z there")):
            policies = f"{{file: given.policies.json, version: '{base.version}'}}"
            plan.write_text(f"moves: [{{item: {item}, from: a, to: b}}]\npolicies: {policies}\n")
            (tmp_path / "given.policies.json").write_text(base.text())
            with pytest.raises(UsageError, match=said):
                Planning(layout, THREE).begin(plan)
        plan.write_text("")
        with pytest.raises(UsageError, match="it is empty"):
            Planning(layout, THREE).begin(plan)
    finally:
        ports.close()
