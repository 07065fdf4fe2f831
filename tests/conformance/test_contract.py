"""What every adapter promises its agent, on a real broker and with an ordinary client."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import uvloop

from ropewalk.agent.brokers.contract import Access, Headers, Lane, Outgoing
from tests.conformance.breaker import Breaker, breaker
from tests.conformance.brokers import MAKES, Broker, Client, Make, running
from tests.conformance.recorder import Board, Deliverer, Recorder

TOPICS = ("a/b", "wide/#")
HEADERS = (("content-type", "text/plain"), ("trace", "42"), ("trace", "again: ü"))


def headers_for(make: Make) -> Headers:
    return HEADERS if make.repeats else tuple(dict(HEADERS).items())


@pytest.fixture(params=MAKES)
def make(request: pytest.FixtureRequest) -> Make:
    found = MAKES[request.param]
    why = found.missing()
    if why:
        pytest.skip(why)
    return found


@pytest.fixture
def broker(make: Make, tmp_path: Path) -> Iterator[Broker]:
    with running(make, tmp_path) as found:
        yield found


def go(test: Coroutine[Any, Any, None], *, tls: bool = False) -> None:
    """On the loop that agents use."""
    (asyncio if tls else uvloop).run(test)


@asynccontextmanager
async def agent(
    broker: Broker,
    *,
    board: Board | None = None,
    access: Access | None = None,
    wait: bool = True,
    ears: type[Recorder] = Recorder,
    **options: Any,
) -> AsyncIterator[Recorder]:
    """An adapter at work, and what it says."""
    recorder = ears(board or Board())
    settings = {"topics": TOPICS, "declared": (), "durable": TOPICS, "client": "rw-b", **options}
    recorder.local = broker.make.local(access or broker.access(), recorder, **settings)
    recorder.local.start()
    try:
        if wait:
            await recorder.board.until(lambda: "up" in recorder.story)
        yield recorder
    finally:
        await recorder.local.close()


@asynccontextmanager
async def client(broker: Broker, board: Board) -> AsyncIterator[Client]:
    """An ordinary client."""
    found: Client = broker.make.client(broker, board.poke)
    try:
        yield found
    finally:
        await found.close()


@asynccontextmanager
async def lane(broker: Broker, board: Board) -> AsyncIterator[tuple[Lane, Recorder]]:
    """A neighbour's lane to this broker."""
    recorder = Recorder(board)
    found = broker.make.lane(broker.access(), recorder, client="rw-a-lane")
    found.start()
    try:
        yield found, recorder
    finally:
        await found.close()


def test_what_a_client_publishes_arrives_with_its_headers(broker: Broker) -> None:
    headers = headers_for(broker.make)

    async def test() -> None:
        async with agent(broker) as ears, client(broker, ears.board) as one:
            await one.publish("elsewhere/x", b"undeclared")
            await one.publish("a/b", b"plain")
            await one.publish("wide/x y/z", b"with", headers=headers)
            await ears.board.until(lambda: len(ears.taken) >= 2)
            assert [(m.topic, m.payload, m.headers) for m in ears.taken] == [
                ("a/b", b"plain", ()),
                ("wide/x y/z", b"with", headers),
            ]

    go(test())


def test_what_is_delivered_reaches_clients_and_is_not_echoed(broker: Broker) -> None:
    headers = headers_for(broker.make)

    async def test() -> None:
        async with agent(broker) as ears, client(broker, ears.board) as one:
            assert ears.local
            await one.subscribe("wide/#")
            ears.local.deliver(
                [
                    Outgoing("wide/1", b"first", headers, id="m1"),
                    Outgoing("wide/2", b"once", id="m2", once=True),
                    Outgoing("wide/3", b"", id="m3"),
                ]
            )
            await ears.board.until(lambda: len(one.got) >= 3 and ears.confirmed == 3)
            assert sorted((m.topic, m.payload, m.headers) for m in one.got) == [
                ("wide/1", b"first", headers),
                ("wide/2", b"once", ()),
                ("wide/3", b"", ()),
            ]
            await one.publish("wide/4", b"last")
            await ears.board.until(lambda: ears.taken)
            assert ears.payloads() == [b"last"]

    go(test())


def test_many_deliveries_are_all_confirmed_in_order(broker: Broker) -> None:
    async def test() -> None:
        async with agent(broker) as ears, client(broker, ears.board) as one:
            assert ears.local
            await one.subscribe("a/b")
            for start in range(0, 3000, 500):
                ears.local.deliver(
                    [Outgoing("a/b", b"%d" % n, id=str(n)) for n in range(start, start + 500)]
                )
            await ears.board.until(lambda: ears.confirmed == 3000 and len(one.got) == 3000)
            assert [int(m.payload) for m in one.got] == list(range(3000))

    go(test())


def must_keep(broker: Broker) -> None:
    if not broker.make.keeps:
        pytest.skip(f"{broker.make.name}: publishers wait for the agent's own answer instead")


def test_only_what_was_not_accepted_comes_again(broker: Broker) -> None:
    must_keep(broker)

    async def test() -> None:
        board = Board()
        async with agent(broker, board=board) as ears, client(broker, board) as one:
            assert ears.local
            ears.accepts = False
            for payload in (b"kept", b"left"):
                await one.publish("a/b", payload)
            await board.until(lambda: len(ears.taken) == 2)
            ears.local.accept([ears.taken[0].ticket])
            await asyncio.sleep(0)  # written by the next turn of the loop
        async with agent(broker, board=board) as ears:
            await board.until(lambda: ears.taken)
            assert ears.payloads() == [b"left"]

    go(test())


def test_what_is_published_while_the_agent_is_away_comes_when_it_is_back(broker: Broker) -> None:
    must_keep(broker)

    async def test() -> None:
        board = Board()
        async with agent(broker, board=board):
            pass
        async with client(broker, board) as one:
            for n in range(50):
                await one.publish("wide/x", b"%d" % n)
        async with agent(broker, board=board) as ears:
            await board.until(lambda: len(ears.taken) == 50)
            assert ears.payloads() == [b"%d" % n for n in range(50)]

    go(test())


def test_a_broker_that_dies_is_down_and_up_when_it_is_back(broker: Broker) -> None:
    async def test() -> None:
        async with agent(broker) as ears:
            broker.kill()
            await ears.board.until(lambda: ears.story == ["up", "down"])
            assert ears.whys[0].startswith("b: ")
            broker.start()
            await ears.board.until(lambda: ears.story == ["up", "down", "up"])
            async with client(broker, ears.board) as one:
                await one.publish("a/b", b"again")
                await ears.board.until(lambda: ears.payloads() == [b"again"])

    go(test())


async def broken(
    ears: Recorder, proxy: Breaker, publishing: list[Coroutine[Any, Any, None]]
) -> None:
    """Break the agent's connections as soon as the first of these has come, and wait for them."""
    past, ups = len(ears.taken), ears.story.count("up")
    sent = asyncio.gather(*publishing)
    await ears.board.until(lambda: len(ears.taken) > past)
    proxy.cut()
    await sent
    await ears.board.until(lambda: ears.story.count("up") > ups)


def test_connections_that_break_on_the_way_lose_nothing(broker: Broker) -> None:
    async def test() -> None:
        async with breaker(broker.port) as proxy:
            access = replace(broker.access(), port=proxy.port)
            async with (
                agent(broker, access=access, ears=Deliverer) as ears,
                client(broker, ears.board) as one,
            ):
                assert isinstance(ears, Deliverer)
                await one.subscribe("a/b")
                every = [b"%d" % n for n in range(400)]
                for start in range(0, 400, 100):
                    some = every[start : start + 100]
                    ears.give([Outgoing("a/b", n, id=n.decode()) for n in some])
                    await broken(ears, proxy, [one.publish("wide/x", n) for n in some])
                await ears.board.until(lambda: {*every} <= {*ears.payloads()} and not ears.left)
                await ears.board.until(lambda: {*every} <= {m.payload for m in one.got})

    go(test())


def test_a_broker_that_is_not_there_at_the_start_is_said_once(broker: Broker) -> None:
    async def test() -> None:
        broker.kill()
        async with agent(broker, wait=False) as ears:
            await ears.board.until(lambda: ears.story == ["down"])
            broker.start()
            await ears.board.until(lambda: ears.story == ["down", "up"])

    go(test())


def test_a_wrong_password_is_said_clearly_and_loses_nothing(broker: Broker) -> None:
    async def test() -> None:
        board = Board()
        async with agent(broker, board=board):
            pass
        wrong = broker.access(password="wrong")
        async with agent(broker, board=board, access=wrong, wait=False) as ears:
            await board.until(lambda: ears.whys)
            assert "b: " in ears.whys[0]
            assert "'agent'" in ears.whys[0]
            assert "credentials" in ears.whys[0]
            assert "wrong" not in ears.whys[0]
            if broker.make.keeps:
                async with client(broker, board) as one:
                    await one.publish("a/b", b"meanwhile")
            assert ears.story == ["down"]
        async with agent(broker, board=board) as ears:
            if broker.make.keeps:
                await board.until(lambda: ears.payloads() == [b"meanwhile"])

    go(test())


def test_tls_carries_everything(make: Make, tmp_path: Path) -> None:
    async def test(broker: Broker) -> None:
        async with (
            agent(broker) as ears,
            client(broker, ears.board) as one,
            lane(broker, ears.board) as (way, hears),
        ):
            assert ears.local
            await one.subscribe("wide/#")
            await one.publish("a/b", b"in")
            ears.local.deliver([Outgoing("wide/x", b"out")])
            await ears.board.until(lambda: "opened" in hears.story)
            way.send([b"word"])
            await ears.board.until(lambda: ears.words and ears.taken and one.got)
            assert (ears.payloads(), ears.words, one.got[0].payload) == ([b"in"], [b"word"], b"out")

    with running(make, tmp_path, tls=True) as broker:
        go(test(broker), tls=True)


def test_an_agent_that_was_told_tls_never_speaks_without(broker: Broker) -> None:
    async def test() -> None:
        access = broker.access(tls=True)
        async with agent(broker, access=access, wait=False) as ears:
            await ears.board.until(lambda: ears.whys)
            assert ears.story == ["down"]
            assert "TLS" in ears.whys[0]

    go(test(), tls=True)


def test_a_certificate_of_an_unknown_authority_is_refused(make: Make, tmp_path: Path) -> None:
    async def test(broker: Broker) -> None:
        unknown = replace(broker.access(), tls=ssl.create_default_context())
        async with agent(broker, access=unknown, wait=False) as ears:
            await ears.board.until(lambda: ears.whys)
            assert ears.story == ["down"]
            assert "certificate" in ears.whys[0]

    with running(make, tmp_path, tls=True) as broker:
        go(test(broker), tls=True)


def test_words_of_a_lane_are_heard_in_order(broker: Broker) -> None:
    async def test() -> None:
        async with agent(broker) as ears, lane(broker, ears.board) as (way, hears):
            await ears.board.until(lambda: "opened" in hears.story)
            words = [b"%d" % n for n in range(2000)]
            for start in range(0, 2000, 100):
                way.send(words[start : start + 100])
                await asyncio.sleep(0)
            await ears.board.until(lambda: len(ears.words) == 2000)
            assert ears.words == words
            assert not ears.taken

    go(test())


def test_a_lane_is_closed_when_its_broker_dies_and_opens_again(broker: Broker) -> None:
    async def test() -> None:
        async with agent(broker) as ears, lane(broker, ears.board) as (way, hears):
            await ears.board.until(lambda: hears.story[-1:] == ["opened"])
            broker.kill()
            await ears.board.until(lambda: hears.story[-1] == "closed")
            way.send([b"dropped"])
            broker.start()
            await ears.board.until(lambda: hears.story[-1] == "opened")
            way.send([b"after"])
            await ears.board.until(lambda: ears.words)
            assert ears.words == [b"after"]

    go(test())


def test_an_aborted_lane_comes_back(broker: Broker) -> None:
    async def test() -> None:
        async with agent(broker) as ears, lane(broker, ears.board) as (way, hears):
            await ears.board.until(lambda: hears.story[-1:] == ["opened"])
            way.abort()
            await ears.board.until(lambda: hears.story[-2:] == ["closed", "opened"])
            way.send([b"after"])
            await ears.board.until(lambda: ears.words == [b"after"])

    go(test())


def test_a_lane_is_closed_when_the_agent_beyond_stops_listening(broker: Broker) -> None:
    if not broker.make.notices_silence:
        pytest.skip(f"{broker.make.name} does not tell that nobody listens")

    async def test() -> None:
        board = Board()
        async with lane(broker, board) as (way, hears):
            async with agent(broker, board=board):
                await board.until(lambda: hears.story[-1:] == ["opened"])
            async with asyncio.timeout(10):
                while hears.story[-1] != "closed":
                    way.send([b"anybody?"])
                    await asyncio.sleep(0.01)
            async with agent(broker, board=board):
                await board.until(lambda: hears.story[-1] == "opened")

    go(test())


def test_a_pause_stops_publications_but_neither_words_nor_confirmations(broker: Broker) -> None:
    async def test() -> None:
        async with (
            agent(broker) as ears,
            client(broker, ears.board) as one,
            lane(broker, ears.board) as (way, hears),
        ):
            assert ears.local
            await one.subscribe("wide/#")
            await ears.board.until(lambda: "opened" in hears.story)
            ears.local.pause()
            publishing = asyncio.create_task(one.publish("a/b", b"held"))
            ears.local.deliver([Outgoing("wide/x", b"out", id="m")])
            way.send([b"word"])
            await ears.board.until(lambda: ears.words and ears.confirmed == 1 and one.got)
            assert not ears.taken
            ears.local.resume()
            await ears.board.until(lambda: {*ears.payloads()} == {b"held"})
            await publishing

    go(test())


def test_overlapping_patterns_bring_one_message(broker: Broker) -> None:
    async def test() -> None:
        patterns = ("a/+", "+/b", "a/b/#")
        async with (
            agent(broker, topics=patterns, durable=("+/b",)) as ears,
            client(broker, ears.board) as one,
        ):
            for n in range(20):
                await one.publish("a/b", b"%d" % n)
            await one.publish("a/end", b"end")
            await ears.board.until(lambda: b"end" in ears.payloads())
            assert sorted(ears.payloads()) == sorted([*(b"%d" % n for n in range(20)), b"end"])

    go(test())


def test_declared_patterns_are_said(broker: Broker) -> None:
    if broker.make.watch(broker):
        pytest.skip(f"{broker.make.name} shows what its clients want")

    async def test() -> None:
        async with agent(broker, declared=("wide/+", "wide/+", "a/b")) as ears:
            assert {pattern for _, pattern in ears.interests} >= {"wide/+", "a/b"}

    go(test())


def test_retained_messages_stay_retained(broker: Broker) -> None:
    if not broker.make.retains:
        pytest.skip(f"{broker.make.name} knows no retained messages")

    async def test() -> None:
        async with agent(broker) as ears, client(broker, ears.board) as one:
            assert ears.local
            await one.publish("a/b", b"last value", retain=True)
            ears.local.deliver([Outgoing("wide/x", b"kept", id="m", retain=True)])
            await ears.board.until(lambda: ears.taken and ears.confirmed == 1)
            assert ears.taken[0].retain
            await one.subscribe("wide/#")
            await ears.board.until(lambda: one.got)
            assert (one.got[0].payload, one.got[0].retain) == (b"kept", True)

    go(test())


def test_figures_are_the_broker_s_own(broker: Broker) -> None:
    if not broker.make.figures:
        pytest.skip(f"{broker.make.name} shows figures at its monitoring port only")

    async def test() -> None:
        async with agent(broker) as ears:
            assert ears.local
            async with asyncio.timeout(15):
                while ears.local.figures().get("subscriptions", 0) < 1:
                    await asyncio.sleep(0.02)

    go(test())
