"""An agent's seat in the council: policies, what is said of take-overs, and who is disconnected."""

import asyncio
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from ropewalk import loads
from ropewalk.agent.edge import Edge
from ropewalk.agent.moving import Movers
from ropewalk.agent.policies import AGAIN_S, Proposer, policies_of
from ropewalk.agent.takeover import Takeovers
from ropewalk.errors import UsageError
from ropewalk.overlay import Agent, Setup, chart_of, rules_of
from ropewalk.overlay.council.settings import Pace
from ropewalk.overlay.events import Carry, Due, GiveBack, Happened, Proposed, TakeOver
from ropewalk.placement.reactive.session import Disconnect, Disconnected, SessionId

TRIO = loads("""federation: trio
brokers: {a: {takeover: [b, c]}, b: {}, c: {takeover: [b]}}
links: [{between: [a, b]}, {between: [b, c]}, {between: [a, c]}]
topics:
  t: {publishers: [c], subscribers: [a]}
  u: {publishers: [c], subscribers: [b]}
  v: {publishers: [a], subscribers: [{broker: c, client: x}]}
items: {desk: [t], back: [u], shop: [v]}
""")
LONE = loads("""federation: lone
brokers: {a: {}}
topics: {t: {publishers: [a], subscribers: [a]}}
items: {desk: [t]}
""")


class Said:
    """Keeps what is told."""

    def __init__(self) -> None:
        self.words: list[str] = []

    def tell(self, what: str, about: tuple[Any, ...]) -> None:
        self.words.append(" ".join((what, *map(str, about))))


def agent() -> Agent:
    made = Agent(
        Setup(me=0, chart=chart_of(TRIO), rules=rules_of(TRIO), items=TRIO.items, council=Pace())
    )
    made.start(0, settled=True)
    return made


def test_without_a_plan_takeover_lists_are_the_policies() -> None:
    base = policies_of(TRIO, None)
    assert base is not None
    assert {item: at for item, (at, _) in base.items.items()} == {"desk": "a", "shop": "c"}
    assert base.advice(["a"]).moves == {"desk": "b"}
    assert base.advice(["a", "b"]).moves == {"desk": "c"}
    assert base.advice(["c"]).moves == {"shop": "b"}
    assert base.advice(["b"]).moves == {}
    assert policies_of(loads("federation: f\nbrokers: {a: {}}\n"), None) is None


def test_a_plan_names_its_policies_and_others_are_refused(tmp_path: Path) -> None:
    base, plan = policies_of(TRIO, None), tmp_path / "plan.yaml"
    assert base is not None
    plan.write_text(f"plan: 1\npolicies: {{file: p.json, version: {base.version}}}\n")
    with pytest.raises(UsageError, match=r"p\.json: cannot be read"):
        policies_of(TRIO, plan)
    (tmp_path / "p.json").write_text(base.text())
    assert policies_of(TRIO, plan) == base
    plan.write_text("policies: {file: p.json, version: 0}\n")
    with pytest.raises(UsageError, match="not the policies that"):
        policies_of(TRIO, plan)
    plan.write_text("items: {}\n")
    with pytest.raises(UsageError, match="no plan: `ropewalk place"):
        policies_of(TRIO, plan)


def test_a_master_proposes_policies_until_they_are_decided() -> None:
    lone = Agent(
        Setup(me=0, chart=chart_of(LONE), rules=rules_of(LONE), items=LONE.items, council=Pace())
    )
    lone.start(0, settled=True)
    handed: list[Proposed] = []
    assert lone.managing is not None
    proposer = Proposer(lone.managing, handed.append)
    proposer.base = policies_of(TRIO, None)
    proposer.look(0.0)
    assert handed == []  # nobody is master yet
    while not lone.managing.election.is_master:
        lone.handle(Due(), lone.wake_us)
    proposer.look(1.0)
    proposer.look(1.0 + AGAIN_S / 2)
    assert len(handed) == 1
    proposer.look(1.0 + AGAIN_S)
    assert len(handed) == 2


def test_what_is_taken_over_and_given_back_is_said() -> None:
    core, said = agent(), Said()
    assert core.managing is not None
    core.managing.mirrors.base = policies_of(TRIO, None)
    takeovers = Takeovers(core.managing, "a", said)
    takeovers.take(TakeOver(("shop",)))
    assert takeovers.status()["carries"]["shop"]["of"] == "c"
    takeovers.give_back(GiveBack(("shop", "desk")))
    takeovers.take(TakeOver(("desk",)))
    assert said.words == [
        "takes over shop of c",
        "gives back shop to c",
        "is carried by a mirror desk",
        "is back at its home desk",
    ]
    assert (takeovers.carried, takeovers.lent) == ({}, {})


class Broker:
    """Disconnects clients, at the second attempt."""

    def __init__(self) -> None:
        self.asked: list[set[str]] = []

    async def disconnect(self, clients: Collection[str]) -> list[str]:
        self.asked.append(set(clients))
        if len(self.asked) == 1:
            raise OSError("not now")
        return sorted(clients)


def test_clients_are_disconnected_when_they_have_got_all_and_until_it_is_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ropewalk.agent.moving.AGAIN_S", 0.0)
    handed: list[Happened] = []
    settled, said, broker = [False], Said(), Broker()

    async def run() -> None:
        movers = Movers(broker, handed.append, said, lambda: settled[0])  # type: ignore[arg-type]
        id = SessionId("a", 1)
        for _ in range(2):  # an order may come twice
            movers.carry(Carry("", -1, Disconnect(id, frozenset({"x", "y"}))))
        movers.carry(Carry("desk", 1, None))
        await asyncio.sleep(0.02)
        assert broker.asked == []
        settled[0] = True
        async with asyncio.timeout(5):
            while not handed:
                await asyncio.sleep(0.001)
        assert handed == [Happened(Disconnected(id))]
        assert broker.asked == [{"x", "y"}] * 2
        assert movers.moved == 2
        nobody = SessionId("a", 2)
        movers.carry(Carry("", -1, Disconnect(nobody, frozenset())))
        async with asyncio.timeout(5):
            while len(handed) < 2:
                await asyncio.sleep(0.001)
        assert len(broker.asked) == 2
        await movers.close()

    asyncio.run(run())
    assert said.words == [
        "clients are not disconnected yet not now",
        "move disconnected x, y",
        "move disconnected nobody",
    ]


def test_an_action_that_nobody_carries_out_is_told_and_stops_nothing() -> None:
    said = Said()

    class Silent:
        def __getattr__(self, _name: str) -> Any:
            return lambda *_: None

    async def run() -> None:
        quiet: Any = Silent()
        edge = Edge(agent(), seal=quiet, log=quiet, witness=quiet, tell=said.tell)
        edge.attach(quiet, {})
        edge._act([TakeOver(("desk",)), GiveBack(("desk",))])
        if edge._timer is not None:
            edge._timer.cancel()

    asyncio.run(run())
    assert said.words == ["nobody here carries out TakeOver", "nobody here carries out GiveBack"]
