"""What RabbitMQ's adapter does on a real broker; ordinary clients are aiormq's."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any

import aiormq
import pytest
from aiormq.abc import DeliveredMessage

from ropewalk.agent.brokers.contract import Access, Disconnects, Incoming, Outgoing
from ropewalk.agent.brokers.rabbitmq import RabbitLane, RabbitLocal
from ropewalk.errors import UsageError
from ropewalk.overlay.events import Burst
from tests.conformance.rabbit import MOST_BYTES, Rabbit

PROPERTIES = aiormq.spec.Basic.Properties
LIMIT_S = 20


class Told:
    """Keeps all that an adapter or a lane tells, and wakes who waits for it."""

    def __init__(self) -> None:
        self.messages: list[Incoming] = []
        self.words: list[bytes] = []
        self.wants: set[tuple[str, str]] = set()
        self.counts: list[int] = []
        self.story: list[str] = []
        self.accepting: RabbitLocal | None = None
        self._changed = asyncio.Event()

    def missing(self, patterns: frozenset[str]) -> None:
        self.story.append(f"missing {sorted(patterns)}")

    def burst(self, some: Burst) -> None:
        self.published(some.each())

    def published(self, messages: Sequence[Incoming]) -> None:
        self.messages += messages
        if self.accepting is not None:
            self.accepting.accept([one.ticket for one in messages])
        self._changed.set()

    def heard(self, words: Sequence[bytes]) -> None:
        self.words += words
        self._changed.set()

    def subscribed(self, subscriber: str, pattern: str) -> None:
        self.wants.add((subscriber, pattern))
        self._changed.set()

    def unsubscribed(self, subscriber: str, pattern: str) -> None:
        self.wants.remove((subscriber, pattern))
        self._changed.set()

    def delivered(self, count: int) -> None:
        self.counts.append(count)
        self._changed.set()

    def up(self) -> None:
        self._tell("up")

    def down(self, why: str) -> None:
        self._tell(f"down: {why}")

    def opened(self, neighbour: str) -> None:
        self._tell(f"opened {neighbour}")

    def closed(self, neighbour: str, why: str) -> None:
        self._tell(f"closed {neighbour}: {why}")

    def _tell(self, what: str) -> None:
        self.story.append(what)
        self._changed.set()

    async def until(self, so: Callable[[], bool]) -> None:
        async with asyncio.timeout(LIMIT_S):
            while not so():
                self._changed.clear()
                await self._changed.wait()


@asynccontextmanager
async def agent(
    access: Access, *, accepts: bool = True, up: bool = True, **other: Any
) -> AsyncIterator[tuple[RabbitLocal, Told]]:
    told = Told()
    given = {"topics": ["d/#", "v/#"], "durable": ["d/#"], "declared": [], "client": access.name}
    local = RabbitLocal(access, told, **{**given, **other})
    told.accepting = local if accepts else None
    local.start()
    try:
        if up:
            await told.until(lambda: "up" in told.story)
        yield local, told
    finally:
        await local.close()


@asynccontextmanager
async def lane(access: Access) -> AsyncIterator[tuple[RabbitLane, Told]]:
    told = Told()
    one = RabbitLane(access, told, client="other")
    one.start()
    try:
        yield one, told
    finally:
        await one.close()


@asynccontextmanager
async def client(rabbit: Rabbit) -> AsyncIterator[Any]:
    connection = await aiormq.connect(f"amqp://guest:guest@127.0.0.1:{rabbit.port}/")
    try:
        yield await connection.channel()
    finally:
        await connection.close()


async def publish(channel: Any, key: str, body: bytes, **said: Any) -> None:
    await channel.basic_publish(
        body, exchange="amq.topic", routing_key=key, properties=PROPERTIES(**said)
    )


async def subscribe(channel: Any, *keys: str) -> tuple[str, "asyncio.Queue[DeliveredMessage]"]:
    queue = (await channel.queue_declare(exclusive=True)).queue
    for key in keys:
        await channel.queue_bind(queue, "amq.topic", key)
    got: asyncio.Queue[DeliveredMessage] = asyncio.Queue()
    await channel.basic_consume(queue, got.put, no_ack=True)
    return queue, got


def run(test: Coroutine[Any, Any, None]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(60):
            await test

    asyncio.run(limited())


def test_what_clients_publish_arrives_with_its_name_and_headers(rabbit: Rabbit) -> None:
    async def go() -> None:
        async with agent(rabbit.access("names")) as (_, told), client(rabbit) as channel:
            headers = {"a": "ä", "n": 5, "t": True, "x-mqtt-publish-qos": 1}
            await publish(channel, "u.x", b"not declared")
            await publish(
                channel,
                "d.x/y.z",
                b"payload",
                headers=headers,
                content_type="text/plain",
                correlation_id="c",
                reply_to="r",
                expiration="60000",
                message_id="m-1",
                user_id="guest",
                priority=7,
            )
            await publish(channel, "v.live", b"")
            await told.until(lambda: len(told.messages) == 2)
            told.messages.sort(key=lambda one: one.topic)
            first, second = told.messages
            assert (first.topic, first.payload, first.key) == ("d/x.y/z", b"payload", "m-1")
            assert (first.producer, first.priority) == ("guest", 7)
            assert dict(first.headers) == {
                "content-type": "text/plain",
                "correlation-id": "c",
                "reply-to": "r",
                "expiration": "60000",
                "a": "ä",
                "n": "5",
                "t": "true",
            }
            assert (second.topic, second.payload, second.ticket) == ("v/live", b"", None)

    run(go())


def test_deliveries_reach_clients_and_never_come_back(rabbit: Rabbit) -> None:
    async def go() -> None:
        async with (
            agent(rabbit.access("echo")) as (local, told),
            agent(rabbit.access("other")) as (_, other),
            client(rabbit) as channel,
        ):
            _, got = await subscribe(channel, "d.*", "v.#")
            _, longer = await subscribe(channel, "*.*.#")
            _, short = await subscribe(channel, "*")
            said = (("content-type", "x"), ("expiration", "soon"), ("a", "ä"), ("CC", "d.other"))
            local.deliver([Outgoing("d/a", b"1", said, id="id", priority=3), Outgoing("v/b", b"2")])
            local.deliver([Outgoing("v", b"3"), Outgoing("v/a/b/c/d", b"4" * 300_000)])
            await told.until(lambda: told.counts[-1:] == [4])
            found = [await got.get() for _ in range(4)]
            assert [one.body[:1] for one in found] == [b"1", b"2", b"3", b"4"]
            first = found[0].header.properties
            assert first.headers == {"expiration": "soon", "a": "ä"}
            assert (first.content_type, first.message_id, first.priority) == ("x", "id", 3)
            assert [one.header.properties.delivery_mode for one in found] == [2, 1, 1, 1]
            assert len(found[3].body) == 300_000
            # the second key leads nothing astray: `v` has one level, `*.*.#` wants two
            assert [(await longer.get()).body[:1] for _ in range(3)] == [b"1", b"2", b"4"]
            assert (await short.get()).body == b"3"
            assert longer.empty()
            assert short.empty()
            # controls: a client's own word on the same topics comes, and other agents hear ours
            await publish(channel, "d.a", b"client's")
            await told.until(lambda: bool(told.messages))
            await other.until(lambda: len(other.messages) == 5)
            assert [one.payload for one in told.messages] == [b"client's"]

    run(go())


def test_a_publication_is_acknowledged_only_when_it_is_accepted(rabbit: Rabbit) -> None:
    async def go() -> None:
        access = rabbit.access("acks")
        async with agent(access, accepts=False) as (local, told), client(rabbit) as channel:
            for number in range(6):
                await publish(channel, "d.x", b"%d" % number)
            await told.until(lambda: len(told.messages) == 6)
            assert local.refuse(told.messages[0].ticket, "full") is False
            local.accept([told.messages[i].ticket for i in (5, 2)])
            local.accept([told.messages[i].ticket for i in (1, 2)])
        stale = [one.ticket for one in told.messages]
        async with agent(access, accepts=False) as (local, told):
            await told.until(lambda: len(told.messages) == 3)
            assert [one.payload for one in told.messages] == [b"0", b"3", b"4"]
            local.accept([one.ticket for one in told.messages])
            local.accept([*stale, *stale])
        async with agent(access) as (_, told), client(rabbit) as channel:
            await publish(channel, "d.x", b"last")
            await told.until(lambda: bool(told.messages))
            assert [one.payload for one in told.messages] == [b"last"]

    run(go())


def test_durable_topics_wait_for_the_agent_and_live_ones_do_not(rabbit: Rabbit) -> None:
    async def go() -> None:
        access = rabbit.access("away")
        async with agent(access):
            pass
        async with client(rabbit) as channel:
            await publish(channel, "v.x", b"live")
            await publish(channel, "d.x", b"durable", delivery_mode=2)
        async with agent(access) as (_, told):
            await told.until(lambda: bool(told.messages))
            assert [one.payload for one in told.messages] == [b"durable"]

    run(go())


def test_confirms_are_counted_from_the_first(rabbit: Rabbit) -> None:
    async def go() -> None:
        async with agent(rabbit.access("counts")) as (local, told), client(rabbit) as channel:
            _, got = await subscribe(channel, "d.count")
            for at in range(0, 3000, 100):
                local.deliver([Outgoing("d/count", b"%d" % (at + i)) for i in range(100)])
            await told.until(lambda: told.counts[-1:] == [3000])
            assert told.counts == sorted(set(told.counts))
            assert [int((await got.get()).body) for _ in range(3000)] == list(range(3000))
            assert not local.busy

    run(go())


def test_what_amqp_cannot_carry_is_counted_and_does_not_stop_the_rest(
    rabbit: Rabbit, caplog: pytest.LogCaptureFixture
) -> None:
    async def go() -> None:
        async with agent(rabbit.access("long")) as (local, told):
            long = Outgoing("d/" + "x" * 300, b"")
            wide = Outgoing("d/x", b"", (("h", "v" * 200_000),))
            local.deliver([long, Outgoing("d/y", b""), wide, long])
            await told.until(lambda: told.counts[-1:] == [4])
            assert local.figures()["undeliverable"] == 3
            assert [one.getMessage()[-20:] for one in caplog.records] == [
                "5 bytes for its name",
                " into one AMQP frame",
            ]

    run(go())


def test_a_message_that_the_broker_will_not_take_closes_it_only_once(rabbit: Rabbit) -> None:
    async def go() -> None:
        async with agent(rabbit.access("huge")) as (local, told):
            messages = [Outgoing("d/x", b"x" * (MOST_BYTES + 1)), Outgoing("d/x", b"small")]
            local.deliver(messages)
            await told.until(lambda: told.story[1:2] != [] and told.story[-1] == "up")
            assert "larger than" in told.story[1]
            local.deliver(messages)
            await told.until(lambda: told.counts[-1:] == [2])
            assert local.figures()["undeliverable"] == 1
            assert len(told.story) == 3

    run(go())


def test_names_that_rabbitmq_cannot_have_are_refused_at_once(rabbit: Rabbit) -> None:
    given: dict[str, Any] = {"topics": [], "declared": [], "durable": [], "client": "b"}
    for access, other, text in (
        (rabbit.access("two words"), {}, "use letters, digits"),
        (rabbit.access("b"), {"topics": ["x" * 256]}, "allows 255 bytes for a topic"),
    ):
        with pytest.raises(UsageError, match=text):
            RabbitLocal(access, Told(), **{**given, **other})


def test_what_the_broker_denies_is_given_again(rabbit: Rabbit) -> None:
    async def go() -> None:
        async with agent(rabbit.access("denied")) as (local, told), client(rabbit) as channel:
            limits = {"x-max-length": 1, "x-overflow": "reject-publish"}
            queue = (await channel.queue_declare(exclusive=True, arguments=limits)).queue
            await channel.queue_bind(queue, "amq.topic", "d.full")
            local.deliver([Outgoing("d/full", b"1"), Outgoing("d/full", b"2")])
            await told.until(lambda: told.counts == [1])
            got: asyncio.Queue[DeliveredMessage] = asyncio.Queue()
            await channel.basic_consume(queue, got.put, no_ack=True)
            await told.until(lambda: told.counts == [1, 2])
            assert [(await got.get()).body for _ in range(2)] == [b"1", b"2"]

    run(go())


def test_bindings_come_and_go_as_subscriptions(rabbit: Rabbit) -> None:
    async def go() -> None:
        access = rabbit.access("watch", watch=rabbit.api)
        async with agent(access, declared=["d/never"], watch_every_ms=50) as (local, told):
            async with client(rabbit) as channel:
                queue, _ = await subscribe(channel, "d.*.x", "d.#.y", "v.#")
                wanted = {(queue, "d/+/x"), (queue, "d/#"), (queue, "v/#")}
                await told.until(lambda: told.wants == wanted)
                await channel.queue_unbind(queue, "amq.topic", "v.#")
                await told.until(lambda: told.wants == wanted - {(queue, "v/#")})
            await told.until(lambda: not told.wants)
            async with asyncio.timeout(LIMIT_S):
                while local.figures().get("memory_bytes", 0) < 1e6:
                    await asyncio.sleep(0.05)

    run(go())


def test_clients_of_a_queue_are_disconnected_and_others_stay(rabbit: Rabbit) -> None:
    async def go() -> None:
        access = rabbit.access("kick", watch=rabbit.api)
        async with agent(access, watch_every_ms=50) as (local, told):
            goes = await aiormq.connect(f"amqp://guest:guest@127.0.0.1:{rabbit.port}/")
            async with client(rabbit) as channel:
                stays, _ = await subscribe(channel, "k.stays")
                queue, _ = await subscribe(await goes.channel(), "k.goes")
                wanted = {(queue, "k/goes"), (stays, "k/stays")}
                await told.until(lambda: told.wants == wanted)
                assert isinstance(local, Disconnects)
                assert len(await local.disconnect({queue})) == 1
                await told.until(lambda: told.wants == {(stays, "k/stays")})
                assert goes.is_closed
                assert await local.disconnect({queue}) == []
                wrong = rabbit.access("kick", watch=f"http://127.0.0.1:{rabbit.port}")
                with pytest.raises((OSError, TimeoutError)):
                    await RabbitLocal(
                        wrong, told, topics=(), declared=(), durable=(), client="kick"
                    ).disconnect({queue})

    run(go())


def test_an_api_that_does_not_answer_is_told_once_and_declared_ones_hold_without_it(
    rabbit: Rabbit, caplog: pytest.LogCaptureFixture
) -> None:
    async def go() -> None:
        wrong = rabbit.access("api", watch=f"http://127.0.0.1:{rabbit.port}")
        async with agent(wrong, watch_every_ms=10) as (_, told):
            await asyncio.sleep(0.1)
            assert told.wants == set()
        said = [one.getMessage().split(" (")[0].split("show ")[1] for one in caplog.records]
        assert said == ["the broker's subscriptions", "the broker's figures"]
        async with agent(rabbit.access("api"), declared=["d/+"]) as (_, told):
            assert told.wants == {("d/+", "d/+")}

    run(go())


def test_words_arrive_in_order_also_while_publications_pause(rabbit: Rabbit) -> None:
    async def go() -> None:
        access = rabbit.access("words")
        async with (
            agent(access) as (local, told),
            lane(access) as (to, link),
            client(rabbit) as channel,
        ):
            await link.until(lambda: link.story == ["opened words"])
            local.pause()
            await publish(channel, "d.x", b"held")
            words = [b"%d" % number for number in range(2000)] + [b"x" * 300_000]
            to.send(words[:1000])
            to.send(words[1000:])
            await told.until(lambda: len(told.words) == len(words))
            assert told.words == words
            assert told.messages == []
            local.resume()
            await told.until(lambda: bool(told.messages))
            to.abort()
            await link.until(lambda: link.story[-1] == "opened words" and len(link.story) == 3)

    run(go())


def test_a_lane_is_closed_while_nobody_listens(rabbit: Rabbit) -> None:
    async def go() -> None:
        access = rabbit.access("deaf")
        deaf = "closed deaf: its agent does not listen"
        async with lane(access) as (to, link):
            await link.until(lambda: link.story == [deaf])
            async with agent(access):
                await link.until(lambda: link.story == [deaf, "opened deaf"])
            to.send([b"anybody?"])
            await link.until(lambda: link.story == [deaf, "opened deaf", deaf])

    run(go())


def test_a_wrong_password_is_told_once_with_the_next_step(rabbit: Rabbit) -> None:
    async def go() -> None:
        access = rabbit.access("closed", password="wrong")
        async with agent(access, up=False) as (_, told), lane(access) as (_, link):
            await told.until(lambda: bool(told.story))
            await link.until(lambda: bool(link.story))
            await asyncio.sleep(0.3)  # several more attempts
            for story in (told.story, link.story):
                assert len(story) == 1
                assert "closed (127.0.0.1:" in story[0]
                assert "refuses user 'guest': ACCESS_REFUSED" in story[0]
                assert "check the broker's `credentials`" in story[0]

    run(go())


def test_a_second_agent_of_the_same_name_is_refused(rabbit: Rabbit) -> None:
    async def go() -> None:
        async with (
            agent(rabbit.access("twin")),
            agent(rabbit.access("twin"), up=False) as (_, second),
        ):
            await second.until(lambda: bool(second.story))
            assert "already has an agent of this name" in second.story[0]

    run(go())


def test_tls_is_spoken_where_it_is_asked_for_and_nothing_else(rabbit: Rabbit) -> None:
    async def go() -> None:
        tls = rabbit.trusting()
        sure = rabbit.access("sure", port=rabbit.tls_port, tls=tls)
        async with agent(sure) as (_, told), lane(sure) as (to, link):
            await link.until(lambda: link.story == ["opened sure"])
            to.send([b"word" * 10_000])
            await told.until(lambda: told.words == [b"word" * 10_000])
        async with lane(rabbit.access("plain", tls=tls)) as (_, link):
            await link.until(lambda: bool(link.story))
            assert "no TLS" in link.story[0] or "closed the connection" in link.story[0]

    run(go())


def test_a_memory_alarm_makes_the_adapter_busy(rabbit: Rabbit) -> None:
    async def go() -> None:
        async with agent(rabbit.access("alarm")) as (local, told):
            await asyncio.to_thread(rabbit.control, "set_vm_memory_high_watermark", "0.00001")
            try:
                local.deliver([Outgoing("d/x", b"1")])  # who does not publish is not told
                async with asyncio.timeout(LIMIT_S):
                    while not local.busy:
                        await asyncio.sleep(0.01)
            finally:
                await asyncio.to_thread(rabbit.control, "set_vm_memory_high_watermark", "0.4")
            await told.until(lambda: told.counts == [1])
            assert not local.busy

    run(go())


def test_a_broker_that_dies_is_down_and_comes_back_with_what_it_had(rabbit: Rabbit) -> None:
    async def go() -> None:
        access = rabbit.access("crash")
        async with agent(access, accepts=False) as (local, told), lane(access) as (_, link):
            await link.until(lambda: link.story == ["opened crash"])
            async with client(rabbit) as channel:
                await publish(channel, "d.x", b"kept", delivery_mode=2)
            await told.until(lambda: len(told.messages) == 1)
            await asyncio.to_thread(rabbit.kill)
            await told.until(lambda: len(told.story) == 2)
            await link.until(lambda: len(link.story) > 1)
            rabbit.launch()
            await asyncio.to_thread(rabbit.ready)
            await told.until(lambda: len(told.story) == 3)
            await link.until(lambda: link.story[-1] == "opened crash")
            assert [one.split(":")[0] for one in told.story] == ["up", "down", "up"]
            await told.until(lambda: len(told.messages) == 2)
            assert [one.payload for one in told.messages] == [b"kept", b"kept"]
            local.accept([one.ticket for one in told.messages])
            local.deliver([Outgoing("d/x", b"new")])
            await told.until(lambda: told.counts == [1])

    run(go())
