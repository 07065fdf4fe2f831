"""An agent's connections to its own RabbitMQ: one to take and hear, one to hand over.

Two, because a broker that is short of memory stops reading from who publishes, and acknowledgements
and words have to go on.
"""

import asyncio
import logging
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any

from pamqp import commands

from ropewalk.agent.brokers.contract import Access, Ears, Incoming, Outgoing
from ropewalk.agent.brokers.gathering import hand_over
from ropewalk.agent.brokers.rabbitmq import properties
from ropewalk.agent.brokers.rabbitmq.admin import disconnect
from ropewalk.agent.brokers.rabbitmq.backoff import Backoff, until
from ropewalk.agent.brokers.rabbitmq.frames import Content
from ropewalk.agent.brokers.rabbitmq.layout import Layout, hear_words, take_publications
from ropewalk.agent.brokers.rabbitmq.ledger import Acks
from ropewalk.agent.brokers.rabbitmq.management import Management
from ropewalk.agent.brokers.rabbitmq.post import Post
from ropewalk.agent.brokers.rabbitmq.wire import CLOSE_S, LostError, Wire
from ropewalk.federation.spelling import from_amqp

_log = logging.getLogger(__name__)
_DURABLE, _LIVE, _WORDS = 1, 2, 3


class RabbitLocal:
    """`contract.Local` for RabbitMQ; its clients meet on a topic exchange."""

    def __init__(
        self,
        access: Access,
        ears: Ears,
        *,
        topics: Sequence[str],
        declared: Sequence[str],
        durable: Sequence[str],
        client: str,
        exchange: str = "amq.topic",
        watch_every_ms: int = 500,
        prefetch: int = 2048,
    ) -> None:
        self._access, self._ears, self._prefetch = access, ears, prefetch
        live = tuple(one for one in topics if one not in durable)
        self._layout = Layout(
            me=access.name, client=client, exchange=exchange, durable=tuple(durable), live=live
        )
        self._management = Management(access, ears, exchange, every_ms=watch_every_ms)
        self._declared = () if access.watch else tuple(dict.fromkeys(declared))
        self._names = lru_cache(16384)(self._name)
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._take: Wire | None = None
        self._post = Post(self._layout, ears.delivered)
        self._acks, self._live_acks = Acks(_DURABLE), Acks(_LIVE)
        self._base = self._last = 0
        self._paused = self._is_up = self._is_down = False
        self._held: list[Content] = []
        self._why = ""

    # --- the contract -----------------------------------------------------------------------

    def start(self) -> None:
        """Begin to connect."""
        self._task = asyncio.create_task(self._run())
        self._management.start()

    def deliver(self, messages: Sequence[Outgoing]) -> None:
        """Publish for clients; persistent where the topic's contract asks for it."""
        self._post.give(messages)

    def accept(self, tickets: Sequence[Any]) -> None:
        """Acknowledge them to the broker; those of an older connection come again anyway."""
        base = self._base
        self._settle([ticket - base for ticket in tickets if ticket is not None and ticket > base])

    def refuse(self, ticket: Any, why: str) -> bool:  # noqa: ARG002
        """It stays unacknowledged: AMQP has no way to tell a publisher."""
        return False

    def pause(self) -> None:
        """Hold back what comes; the broker stops at the prefetch."""
        self._paused = True

    def resume(self) -> None:
        """Go on with what was held back."""
        self._paused = False
        self._release()

    @property
    def busy(self) -> bool:
        """Whether the broker is behind, or an alarm blocks publishers."""
        return self._post.busy

    def figures(self) -> dict[str, float]:
        """What the management API said last, and what could not be handed over."""
        return {**self._management.figures, "undeliverable": self._post.undeliverable}

    async def disconnect(self, clients: Collection[str]) -> list[str]:
        """Disconnect all clients that consume from these queues."""
        return await disconnect(self._management.ask, clients)

    async def close(self) -> None:
        """Stop, take leave, disconnect."""
        self._stop.set()
        await self._management.close()
        if self._task is not None:
            await self._task

    # --- the life of a connection -----------------------------------------------------------

    async def _run(self) -> None:
        backoff = Backoff(self._stop)
        for one in self._declared:
            self._ears.subscribed(one, one)
        while not self._stop.is_set():
            try:
                await self._session(backoff)
            except LostError:
                await backoff.wait()

    async def _session(self, backoff: Backoff) -> None:
        take = Wire(self._access, f"{self._layout.client} in", came=self._came)
        give = Wire(self._access, f"{self._layout.client} out", confirmed=self._post.heard)
        try:
            await self._open(take, give)
            backoff.reset()
            await until((take.gone, give.gone), (self._stop,))
            for wire in (take, give):
                if wire.gone.done():
                    raise wire.gone.result()
            await self._leave(take, give)
        except LostError as lost:
            self._post.shut(lost.why)
            self._down(lost.why)
            raise
        finally:
            self._is_up, self._take = False, None
            self._post.shut()
            await asyncio.gather(take.abort(), give.abort())

    async def _open(self, take: Wire, give: Wire) -> None:
        self._begin()
        for wire, channels in ((take, 3), (give, 1)):
            await wire.open()
            for _ in range(channels):
                await wire.channel()
        await give.ask(1, commands.Confirm.Select())
        self._take = take
        self._post.open(give)
        await hear_words(take, self._layout, _WORDS)
        await take_publications(
            take, self._layout, durable=_DURABLE, live=_LIVE, prefetch=self._prefetch
        )
        self._is_up, self._is_down = True, False
        self._ears.up()
        self._release()

    def _begin(self) -> None:
        """Forget the tags and counts of the connection before."""
        self._base = self._last
        self._held.clear()
        self._acks, self._live_acks = Acks(_DURABLE), Acks(_LIVE)

    async def _leave(self, take: Wire, give: Wire) -> None:
        self._is_up = False
        await self._post.drain(CLOSE_S)
        await asyncio.gather(take.close(), give.close())

    def _down(self, why: str) -> None:
        """Tell the agent once; a reason that changes meanwhile is only logged."""
        self._is_up = False
        if not self._is_down:
            self._is_down = True
            self._ears.down(why)
        elif why != self._why:
            _log.warning("%s", why)
        self._why = why

    # --- from clients and neighbours --------------------------------------------------------

    def _came(self, contents: Sequence[Content]) -> None:
        words = [one.body for one in contents if one.channel == _WORDS and one.body]
        if words:
            self._ears.heard(words)
        self._held += [one for one in contents if one.channel != _WORDS]
        self._release()

    def _release(self) -> None:
        if self._held and self._is_up and not self._paused:
            held, self._held = self._held, []
            self._publications(held)

    def _publications(self, contents: Sequence[Content]) -> None:
        found: list[Incoming] = []
        settled: dict[int, list[int]] = {_DURABLE: [], _LIVE: []}
        for one in contents:
            topic = self._names(one.key, one.channel)
            if topic is None or one.channel == _LIVE:
                settled[one.channel].append(one.tag)
            if topic is not None:
                found.append(self._incoming(topic, one))
        hand_over(self._ears, found)
        self._settle(settled[_DURABLE])
        self._put(self._live_acks.settle(settled[_LIVE]))

    def _incoming(self, topic: str, one: Content) -> Incoming:
        said = properties.read(one.properties)
        ticket = None
        if one.channel == _DURABLE:
            ticket = self._last = self._base + one.tag
        return Incoming(
            ticket,
            topic,
            one.body,
            said.producer,
            said.key,
            said.priority,
            headers=said.headers,
        )

    def _name(self, key: str, channel: int) -> str | None:
        """The topic of a routing key, if the agent takes it from this queue."""
        topic = from_amqp(key)
        if topic is None:
            return None
        if self._layout.lasts(topic):
            return topic if channel == _DURABLE else None
        return topic if channel == _LIVE and self._layout.passes(topic) else None

    def _settle(self, tags: Sequence[int]) -> None:
        self._put(self._acks.settle(tags))

    def _put(self, acknowledgements: Sequence[bytes]) -> None:
        if acknowledgements and self._take is not None:
            self._take.put(b"".join(acknowledgements))
