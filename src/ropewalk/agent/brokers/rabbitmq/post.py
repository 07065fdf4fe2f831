"""What is handed to the clients of a broker: published, confirmed, and told of in order."""

import asyncio
import logging
import re
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache

from ropewalk.agent.brokers.contract import Outgoing
from ropewalk.agent.brokers.rabbitmq import frames, properties
from ropewalk.agent.brokers.rabbitmq.backoff import until
from ropewalk.agent.brokers.rabbitmq.frames import Confirm
from ropewalk.agent.brokers.rabbitmq.layout import MOST_KEY_BYTES, Layout
from ropewalk.agent.brokers.rabbitmq.ledger import Confirms
from ropewalk.agent.brokers.rabbitmq.wire import Wire
from ropewalk.federation.spelling import to_amqp

_log = logging.getLogger(__name__)
_CHANNEL = 1
_MOST_UNCONFIRMED = 8192
_DENIED_AGAIN_S = 0.5
_HEADER_BYTES = 20
_TOO_LARGE = re.compile(r"message size \d+ is larger than (?:configured )?max size (\d+)")


class Post:
    """Publish messages and tell how many of the first ones are confirmed.

    What cannot be carried (a topic of more than 255 bytes, headers that do not fit into a frame, a
    payload above the broker's `max_message_size`) counts as handed over, or it would be tried for
    ever: it is counted, and logged once a topic.
    """

    def __init__(self, layout: Layout, delivered: Callable[[int], None]) -> None:
        self._layout, self._delivered = layout, delivered
        self._routes = lru_cache(16384)(self._route)
        self._wire: Wire | None = None
        self._confirms = Confirms()
        self._told = self.undeliverable = 0
        self._complained: set[str] = set()
        self._idle = asyncio.Event()
        self._most_bytes = sys.maxsize

    def open(self, wire: Wire) -> None:
        """Go on with a new connection, and count from nothing."""
        self._wire, self._confirms, self._told = wire, Confirms(), 0

    def shut(self, why: str = "") -> None:
        """The connection is gone; if a payload was too large, the broker has said the limit."""
        self._wire = None
        if limit := _TOO_LARGE.search(why):
            self._most_bytes = int(limit[1])

    async def drain(self, most_s: float) -> None:
        """Wait until all is confirmed, but not for ever."""
        self._idle.clear()
        try:
            async with asyncio.timeout(most_s):
                while self._wire is not None and len(self._confirms):
                    await until((self._wire.gone,), (self._idle,))
                    if self._wire.gone.done():
                        break
        except TimeoutError:
            _log.warning("%s: %d deliveries unconfirmed", self._layout.me, len(self._confirms))

    @property
    def busy(self) -> bool:
        """Whether the broker is behind, or an alarm blocks publishers."""
        if self._wire is None:
            return True
        return self._wire.busy or len(self._confirms) >= _MOST_UNCONFIRMED

    def give(self, messages: Sequence[Outgoing]) -> None:
        """Publish; persistent where the topic's contract asks for it."""
        if self._wire is None:
            return
        before = self.undeliverable
        for one in messages:
            data = self._encoded(one, self._wire.frame_max)
            if data is None:
                self._confirms.skipped()
            else:
                self._confirms.sent(data)
                self._wire.put(data)
        if self.undeliverable > before:
            asyncio.get_running_loop().call_soon(self.heard, ())

    def heard(self, confirms: Sequence[Confirm]) -> None:
        """The broker has confirmed or denied."""
        counts = self._confirms
        denied = [one for confirm in confirms for one in counts.heard(confirm)]
        if denied:
            asyncio.get_running_loop().call_later(_DENIED_AGAIN_S, self._again, counts, denied)
        if counts.first > self._told and self._wire is not None:
            self._told = counts.first
            self._delivered(counts.first)
        if not len(counts):
            self._idle.set()

    def _again(self, counts: Confirms, denied: Sequence[tuple[int, bytes]]) -> None:
        """Publish once more what the broker denied, unless the connection is another by now."""
        if counts is self._confirms and self._wire is not None:
            counts.again(denied)
            self._wire.put(b"".join(data for _, data in denied))

    def _encoded(self, one: Outgoing, frame_max: int) -> bytes | None:
        route = self._routes(one.topic)
        if route is None:
            self._complain(one.topic, "AMQP allows 255 bytes for its name")
            return None
        if len(one.payload) > self._most_bytes:
            self._complain(one.topic, f"the broker takes {self._most_bytes} bytes at most")
            return None
        method, second, lasting = route
        said = properties.write(
            one.headers, id=one.id, priority=one.priority, lasting=lasting, entries=second
        )
        if len(said) + _HEADER_BYTES > frame_max:
            self._complain(one.topic, "its headers do not fit into one AMQP frame")
            return None
        return method + frames.content(_CHANNEL, said, one.payload, frame_max)

    def _route(self, topic: str) -> tuple[bytes, bytes, bool] | None:
        """The method frame, the entry of the second key, and whether it is persistent."""
        key = to_amqp(topic)
        if len(key.encode()) > MOST_KEY_BYTES:
            return None
        method = frames.publish(_CHANNEL, self._layout.exchange, key)
        second = properties.hidden_route(self._layout.second_key(topic))
        return method, second, self._layout.lasts(topic)

    def _complain(self, topic: str, why: str) -> None:
        self.undeliverable += 1
        if topic not in self._complained and len(self._complained) < 1000:
            self._complained.add(topic)
            _log.warning(
                "%s: messages on %.300s are not handed to clients: %s", self._layout.me, topic, why
            )
