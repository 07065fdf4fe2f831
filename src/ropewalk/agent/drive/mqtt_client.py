"""MQTT 5 clients with paho, whose network loop runs in a thread of its own and feeds ours.

paho knows one server: whenever a connection fails or ends, it is given the next of the list.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Any
from urllib.parse import unquote, urlsplit

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from ropewalk.agent.brokers.contract import Headers
from ropewalk.agent.drive.clients import BACK_S, CONNECT_S, OnMessage, Options, unreachable

SESSION_S = 300
"""So long a broker keeps what comes for a subscriber that is away."""
REFUSED = 0x80
"""From this reason code on a packet was refused."""
KEEPALIVE_S = 60
SECURE = ("mqtts", "ssl", "tls")


class _Bridge:
    """Hands what happens in paho's thread over to the loop, many at a time."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[tuple[Callable[..., None], tuple[Any, ...]]] = deque()
        self._told = False

    def put(self, call: Callable[..., None], *arguments: Any) -> None:
        """Have something called on the loop; called in paho's thread."""
        self._waiting.append((call, arguments))
        if not self._told:
            self._told = True
            self._loop.call_soon_threadsafe(self._take)

    def _take(self) -> None:
        self._told = False
        while self._waiting:
            call, arguments = self._waiting.popleft()
            call(*arguments)


class _Connection:
    """A paho client that goes round a list of servers.

    `entered` is called in paho's thread when a broker has let it in, with whether the broker still
    has its session; without it the client is ready then.
    """

    def __init__(
        self, options: Options, urls: Sequence[str], entered: Callable[[bool], None] | None = None
    ) -> None:
        self._options = options
        self._urls = urls
        self._entered = entered or (lambda _: self.hand(self.ready))
        self._bridge = _Bridge()
        self._servers = cycle(urls)
        self._why = "no answer"
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.up = False
        self.down: Callable[[], None] = lambda: None
        self.paho = self._made()

    def _made(self) -> Any:
        made: Any = mqtt.Client(
            CallbackAPIVersion.VERSION2, client_id=self._options.name, protocol=mqtt.MQTTv5
        )
        made.max_inflight_messages_set(self._options.window)
        made.reconnect_delay_set(BACK_S, BACK_S)
        made.on_connect, made.on_disconnect = self._on_connect, self._on_disconnect
        made.on_connect_fail = self._on_connect_fail
        if any(urlsplit(url).scheme in SECURE for url in self._urls):
            made.tls_set_context(self._options.tls)
        return made

    async def open(self) -> None:
        """Connect, and wait until it is ready."""
        self._choose()
        self.paho.loop_start()
        try:
            async with asyncio.timeout(CONNECT_S):
                await self._ready
        except TimeoutError as error:
            await self.close()
            raise unreachable(self._options, self._urls, self._why) from error

    async def close(self) -> None:
        """Disconnect; the broker forgets the session."""
        last = _properties(PacketTypes.DISCONNECT, SessionExpiryInterval=0)
        self.paho.disconnect(properties=last)
        await asyncio.to_thread(self.paho.loop_stop)

    def hand(self, call: Callable[..., None], *arguments: Any) -> None:
        """Have something called on the loop's thread."""
        self._bridge.put(call, *arguments)

    def ready(self) -> None:
        """The client can be used: called on the loop's thread."""
        self.up = True
        if not self._ready.done():
            self._ready.set_result(None)

    def _choose(self) -> None:
        """Make the next server of the list the one that paho connects to."""
        server = urlsplit(next(self._servers))
        if server.username:
            self.paho.username_pw_set(unquote(server.username), unquote(server.password or ""))
        session = _properties(PacketTypes.CONNECT, SessionExpiryInterval=SESSION_S)
        port = server.port or (8883 if server.scheme in SECURE else 1883)
        host = server.hostname or "localhost"
        self.paho.connect_async(host, port, KEEPALIVE_S, clean_start=False, properties=session)

    def _on_connect(self, _client: Any, _data: Any, flags: Any, code: Any, _more: Any) -> None:
        if code.is_failure:
            self._why = str(code)
        else:
            self._entered(flags.session_present)

    def _on_disconnect(self, *_: Any) -> None:
        self.up = False
        self.hand(self.down)
        if len(self._urls) > 1:
            self._choose()

    def _on_connect_fail(self, *_: Any) -> None:
        self._why = "refused or not there"
        if len(self._urls) > 1:
            self._choose()


def _properties(kind: int, **fields: Any) -> Any:
    made: Any = Properties(kind)  # type: ignore[no-untyped-call]
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def _user_properties(headers: Headers) -> Any:
    return _properties(PacketTypes.PUBLISH, UserProperty=list(headers)) if headers else None


class MqttPublisher:
    """Publishes with QoS 0, 1 or 2; paho sends again what a broken connection left open."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._waiting: dict[int, asyncio.Future[int]] = {}
        self._again: set[int] = set()

    async def connect(self, urls: Sequence[str]) -> None:
        """Connect to the first URL that answers."""
        self._loop = asyncio.get_running_loop()
        self._connection = _Connection(self._options, urls)
        self._connection.down = self._was_cut
        self._connection.paho.on_publish = self._on_publish
        await self._connection.open()

    @property
    def room(self) -> int:
        """How many may be published now."""
        return self._options.window - len(self._waiting) if self._connection.up else 0

    async def publish(
        self, topic: str, payload: bytes, headers: Headers = ()
    ) -> asyncio.Future[int] | None:
        """Publish with the QoS of the client."""
        qos = self._options.qos
        sent = self._connection.paho.publish(
            topic, payload, qos, properties=_user_properties(headers)
        )
        if not qos:
            return None
        future: asyncio.Future[int] = self._loop.create_future()
        self._waiting[sent.mid] = future
        return future

    async def close(self) -> None:
        """Disconnect for good."""
        await self._connection.close()
        for future in self._waiting.values():
            future.cancel()

    def _on_publish(self, _client: Any, _data: Any, mid: int, code: Any, _more: Any) -> None:
        self._connection.hand(self._answered, mid, code)

    def _answered(self, mid: int, code: Any) -> None:
        future = self._waiting.pop(mid, None)
        tries = 2 if mid in self._again else 1
        self._again.discard(mid)
        if future is None or future.done():
            return
        if code.value >= REFUSED:
            future.set_exception(ConnectionError(str(code)))
        else:
            future.set_result(tries)

    def _was_cut(self) -> None:
        """Have it noted that paho sends again what was in flight, perhaps out of turn."""
        self._again |= self._waiting.keys()


class MqttSubscriber:
    """Subscribes with a session that outlives a broken connection."""

    def __init__(self, options: Options) -> None:
        self._options = options

    async def connect(self, urls: Sequence[str], pattern: str, on_message: OnMessage) -> None:
        """Connect and subscribe."""
        self._pattern, self._take = pattern, on_message
        connection = _Connection(self._options, urls, self._entered)
        self._connection = connection
        connection.paho.on_subscribe = self._on_subscribe
        connection.paho.on_message = self._on_message
        await connection.open()

    async def close(self) -> None:
        """Disconnect for good."""
        await self._connection.close()

    def _entered(self, session_present: bool) -> None:
        if session_present:
            self._connection.hand(self._connection.ready)
        else:
            self._connection.paho.subscribe(self._pattern, self._options.qos)

    def _on_subscribe(self, _client: Any, _data: Any, _mid: int, codes: Any, _more: Any) -> None:
        if not codes[0].is_failure:
            self._connection.hand(self._connection.ready)

    def _on_message(self, _client: Any, _data: Any, message: Any) -> None:
        headers = tuple(getattr(message.properties, "UserProperty", ()))
        self._connection.hand(self._take, message.topic, message.payload, headers)
