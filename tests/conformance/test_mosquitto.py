"""What only Mosquitto has: ACLs, limits on what is in flight, a log that shows subscriptions."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ropewalk.agent.brokers.contract import Outgoing
from ropewalk.agent.brokers.mqtt.watch import NOTICE, SUBSCRIBE, UNSUBSCRIBE, Watch
from tests.conformance.breaker import breaker
from tests.conformance.brokers import MAKES, Broker, Paho, running
from tests.conformance.recorder import Board, Deliverer
from tests.conformance.test_contract import agent, broken, client, go, lane

MOSQUITTO = MAKES["mosquitto"]


@pytest.fixture
def lines() -> list[str]:
    """More lines for the broker's configuration."""
    return []


@pytest.fixture
def broker(tmp_path: Path, lines: list[str]) -> Iterator[Broker]:
    why = MOSQUITTO.missing()
    if why:
        pytest.skip(why)
    with running(replace(MOSQUITTO, settings=tuple(lines)), tmp_path) as found:
        yield found


def rights(folder: Path, *rules: str) -> str:
    (folder / "acl").write_text("\n".join(["user agent", *(f"topic {one}" for one in rules)]))
    return f"acl_file {folder / 'acl'}"


def test_a_forbidden_delivery_is_said_and_not_taken_for_delivered(
    tmp_path: Path, lines: list[str], request: pytest.FixtureRequest
) -> None:
    lines.append(rights(tmp_path, "readwrite _rw/#", "read #"))
    broker: Broker = request.getfixturevalue("broker")

    async def test() -> None:
        async with agent(broker) as ears:
            assert ears.local
            ears.local.deliver([Outgoing("a/b", b"no", id="m")])
            await ears.board.until(lambda: ears.whys)
            assert "not authorised" in ears.whys[0]
            assert "ACL" in ears.whys[0]
            assert ears.confirmed == 0

    go(test())


def test_a_forbidden_lane_says_so(
    tmp_path: Path, lines: list[str], request: pytest.FixtureRequest
) -> None:
    lines.append(rights(tmp_path, "read #"))
    broker: Broker = request.getfixturevalue("broker")

    async def test() -> None:
        board = Board()
        async with agent(broker, board=board), lane(broker, board) as (_, hears):
            await board.until(lambda: hears.whys)
            assert hears.story == ["closed"]
            assert "ACL" in hears.whys[0]

    go(test())


def test_a_broker_with_its_defaults_takes_every_delivery(
    lines: list[str], request: pytest.FixtureRequest
) -> None:
    lines.append("max_inflight_messages 20")
    broker: Broker = request.getfixturevalue("broker")

    async def test() -> None:
        async with agent(broker) as ears:
            assert ears.local
            both = [Outgoing("a/b", b"%d" % n, id=str(n), once=n % 2 == 0) for n in range(500)]
            ears.local.deliver(both)
            await ears.board.until(lambda: ears.confirmed == 500)

    go(test())


def test_exactly_once_holds_when_connections_break(broker: Broker) -> None:
    async def test() -> None:
        async with breaker(broker.port) as proxy:
            access = replace(broker.access(), port=proxy.port)
            async with (
                agent(broker, access=access, ears=Deliverer) as ears,
                client(broker, ears.board) as one,
            ):
                assert isinstance(ears, Deliverer)
                assert isinstance(one, Paho)
                await one.subscribe("a/b")
                every = [b"%d" % n for n in range(500)]
                for start in range(0, 500, 100):
                    some = every[start : start + 100]
                    ears.give([Outgoing("a/b", n, id=n.decode(), once=True) for n in some])
                    await broken(ears, proxy, [one.publish("wide/x", n, qos=2) for n in some])
                await ears.board.until(lambda: len(ears.taken) >= 500 and not ears.left)
                await ears.board.until(lambda: len(one.got) >= 500)
                assert sorted(ears.payloads()) == sorted(every)
                assert sorted(m.payload for m in one.got) == sorted(every)

    go(test())


def test_a_release_whose_answer_is_lost_is_not_delivered_twice(broker: Broker) -> None:
    async def test() -> None:
        async with breaker(broker.port) as proxy:
            access = replace(broker.access(), port=proxy.port)
            async with (
                agent(broker, access=access, ears=Deliverer) as ears,
                client(broker, ears.board) as one,
            ):
                assert isinstance(ears, Deliverer)
                await one.subscribe("a/b")
                proxy.mute_on = b"\x62\x02"  # PUBREL
                ears.give([Outgoing("a/b", b"1", id="1", once=True)])
                await ears.board.until(lambda: one.got)
                assert ears.confirmed == 0  # control: the answer did not come
                proxy.cut()
                await ears.board.until(lambda: ears.story[-1] == "up" and not ears.left)
                ears.give([Outgoing("a/b", b"2", id="2", once=True)])
                await ears.board.until(lambda: one.got[-1].payload == b"2")
                assert [m.payload for m in one.got] == [b"1", b"2"]

    go(test())


def test_subscriptions_in_the_log_are_seen(
    lines: list[str], request: pytest.FixtureRequest
) -> None:
    kinds = ("subscribe", "unsubscribe", "notice")
    lines += ["log_dest topic", *(f"log_type {kind}" for kind in kinds)]
    broker: Broker = request.getfixturevalue("broker")

    async def test() -> None:
        async with agent(broker, declared=("a/b",)) as ears, client(broker, ears.board) as one:
            await one.subscribe("wide/+")
            await ears.board.until(lambda: len(ears.interests) == 2)
            assert ears.interests[0] == ("a/b", "a/b")
            assert ears.interests[1][1] == "wide/+"

    go(test())


def test_the_log_s_lines_are_understood() -> None:
    wants: set[tuple[str, str]] = set()
    watch = Watch(lambda *one: wants.add(one), lambda *one: wants.remove(one), frozenset({"me"}))

    def note(topic: str, text: str) -> set[tuple[str, str]]:
        watch.note(topic, f"1794853725: {text}".encode())
        return wants

    connected = "New client connected from 127.0.0.1:34423 as c x ({}, k60, u'x')."
    note(NOTICE, connected.format("p2, c1"))
    note(SUBSCRIBE, "me 2 a/b")
    note(SUBSCRIBE, "c x 1 a/b c")
    assert note(SUBSCRIBE, "c x 0 $share/g/x/#") == {("c x", "a/b c"), ("c x", "x/#")}
    assert note(UNSUBSCRIBE, "c x a/b c") == {("c x", "x/#")}
    assert note(NOTICE, "Client c x closed its connection.") == set()
    note(NOTICE, connected.format("p5, c1"))
    note(SUBSCRIBE, "c x 1 a")
    assert note(NOTICE, "Client c x disconnected.") == {("c x", "a")}  # it may be kept
    assert note(NOTICE, connected.format("p5, c1")) == set()


def test_an_agent_that_is_closed_while_it_connects_leaves_nothing_behind(broker: Broker) -> None:
    async def test() -> None:
        before = asyncio.all_tasks()
        for _ in range(3):
            async with agent(broker, wait=False):
                await asyncio.sleep(0)
        broker.kill()
        async with agent(broker, wait=False), lane(broker, Board()):
            await asyncio.sleep(0)
        assert asyncio.all_tasks() == before

    go(test())
