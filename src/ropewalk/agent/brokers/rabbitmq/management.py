"""RabbitMQ's management API: who is bound to the clients' exchange, and the broker's figures."""

import asyncio
import base64
import logging
import ssl
from collections.abc import Awaitable, Callable, Iterable
from time import monotonic_ns
from urllib.parse import quote, urlsplit

import msgspec

from ropewalk.agent.brokers.contract import PREFIX, Access, Ears
from ropewalk.federation.spelling import pattern_from_amqp

_log = logging.getLogger(__name__)
_ANSWER_S = 5.0
_FIGURES_EVERY = 4
"""Rounds of bindings for each round of figures, which cost the broker more."""
_VHOST = quote("/", safe="")

Wants = frozenset[tuple[str, str]]


class _Binding(msgspec.Struct):
    destination: str
    routing_key: str


class _Counts(msgspec.Struct):
    publish: float = 0
    deliver_get: float = 0


class _Overview(msgspec.Struct):
    message_stats: _Counts = msgspec.field(default_factory=_Counts)


class _Node(msgspec.Struct):
    mem_used: float = 0


class _Queue(msgspec.Struct):
    message_bytes: float = 0


class Management:
    """Poll the API: tell of bindings that appear and disappear; keep the last figures.

    While it does not answer, the last known state holds.
    """

    def __init__(self, access: Access, ears: Ears, exchange: str, *, every_ms: int) -> None:
        self._access, self._ears, self._every_s = access, ears, every_ms / 1000
        self._bindings = f"/api/exchanges/{_VHOST}/{quote(exchange, safe='')}/bindings/source"
        self._wants: Wants = frozenset()
        self._last = b""
        self._silent: set[str] = set()
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.figures: dict[str, float] = {}

    def start(self) -> None:
        """Begin to poll, if there is an address."""
        if self._access.watch:
            self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Poll no more."""
        self._stop.set()
        if self._task is not None:
            await self._task

    async def _run(self) -> None:
        rounds = 0
        while not self._stop.is_set():
            await self._attempt("subscriptions", self._look)
            if rounds % _FIGURES_EVERY == 0:
                await self._attempt("figures", self._measure)
            rounds += 1
            try:
                async with asyncio.timeout(self._every_s):
                    await self._stop.wait()
            except TimeoutError:
                continue

    async def _attempt(self, what: str, look: Callable[[], Awaitable[None]]) -> None:
        try:
            async with asyncio.timeout(_ANSWER_S):
                await look()
        except (OSError, TimeoutError, ValueError) as error:
            self._tell(what, str(error) or type(error).__name__)
        else:
            self._silent.discard(what)

    def _tell(self, what: str, why: str) -> None:
        """Say once that the API does not answer."""
        if what not in self._silent:
            self._silent.add(what)
            _log.warning(
                "%s: %s does not show the broker's %s (%s); those known last hold. Check the"
                " management plug-in, its address and the user's `monitoring` tag",
                self._access.name,
                self._access.watch,
                what,
                why,
            )

    async def _look(self) -> None:
        answer = await self._get(self._bindings)
        if answer == self._last:
            return
        bindings = msgspec.json.decode(answer, type=list[_Binding])
        wants = _wants((one.destination, one.routing_key) for one in bindings)
        self._last = answer
        before, self._wants = self._wants, wants
        for subscriber, pattern in sorted(wants - before):
            self._ears.subscribed(subscriber, pattern)
        for subscriber, pattern in sorted(before - wants):
            self._ears.unsubscribed(subscriber, pattern)

    async def _measure(self) -> None:
        overview = msgspec.json.decode(await self._get("/api/overview"), type=_Overview)
        nodes = msgspec.json.decode(await self._get("/api/nodes"), type=list[_Node])
        columns = f"/api/queues/{_VHOST}?columns=name,message_bytes"
        queues = msgspec.json.decode(await self._get(columns), type=list[_Queue])
        self.figures = {
            "messages_in": overview.message_stats.publish,
            "messages_out": overview.message_stats.deliver_get,
            "subscriptions": len(self._wants),
            "store_bytes": sum(one.message_bytes for one in queues),
            "memory_bytes": sum(one.mem_used for one in nodes),
            "read_ns": monotonic_ns(),
        }

    async def _get(self, path: str) -> bytes:
        """A page; ValueError if the API refuses it."""
        return await self.ask("GET", path)

    async def ask(self, method: str, path: str) -> bytes:
        """What the API answers; ValueError if it refuses, OSError if it cannot be reached."""
        url = urlsplit(self._access.watch)
        tls = (self._access.tls or ssl.create_default_context()) if url.scheme == "https" else None
        port = url.port or (443 if tls else 15672)
        reader, writer = await asyncio.open_connection(url.hostname, port, ssl=tls)
        try:
            writer.write(self._request(method, path, str(url.hostname)))
            head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        finally:
            writer.close()
            await writer.wait_closed()
        status = head.split(b"\r\n", 1)[0].decode("latin-1")
        if status.split(" ")[1:2] not in (["200"], ["204"]):
            raise ValueError(f"it answers: {status or 'nothing'}")
        return body

    def _request(self, method: str, path: str, host: str) -> bytes:
        # HTTP/1.0: the answer ends with the connection and is never sent in chunks
        access, changes = self._access, method != "GET"
        user, password = access.user or "guest", access.password if access.user else "guest"
        if changes and access.admin_user:
            user, password = access.admin_user, access.admin_password
        token = base64.b64encode(f"{user}:{password}".encode()).decode()
        return (
            f"{method} {path} HTTP/1.0\r\nHost: {host}\r\nAuthorization: Basic {token}\r\n\r\n"
        ).encode()


def _wants(bindings: Iterable[tuple[str, str]]) -> Wants:
    """Who wants which pattern: queues, and exchanges that pass it on; not the agents' own."""
    found: set[tuple[str, str]] = set()
    for destination, key in bindings:
        pattern = pattern_from_amqp(key)
        if pattern is not None and not destination.startswith(f"{PREFIX}."):
            found.add((destination, pattern))
    return frozenset(found)
