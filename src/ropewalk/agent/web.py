"""The agent's HTTP: health, status, metrics and events, to be read and nothing else.

It listens on loopback unless told otherwise, and then needs a token. Requests are small, answered
at once, one by connection; what is slow or large is turned away. Only events go on.
"""

import asyncio
import ipaddress
from collections.abc import Callable, Sequence
from contextlib import suppress
from hmac import compare_digest
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from ropewalk.agent.feed import Brief, Feed
from ropewalk.agent.metrics import CONTENT_TYPE, Snapshot, exposition
from ropewalk.errors import UsageError

_HEADER_BYTES = 8192
_PATIENCE_S = 5.0
_CONNECTIONS = 32
_JSON = "application/json"
_TEXT = "text/plain; charset=utf-8"


class Answer(NamedTuple):
    """What a request is answered with."""

    status: HTTPStatus
    kind: str
    body: bytes
    more: tuple[str, ...] = ()
    """Further header lines."""
    goes_on: bool = False
    """Whether it is not a body that ends, but events as they come."""


class Web:
    """A small server for GET requests.

    `health` returns the reasons why the agent is not well (none if it is), `status` anything that
    JSON can say, `metrics` a snapshot, `brief` what listeners are told when it changes.
    """

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        token: str | None,
        health: Callable[[], Sequence[str]],
        status: Callable[[], Any],
        metrics: Callable[[], Snapshot],
        brief: Callable[[], Brief],
    ) -> None:
        self._host, self._port, self._token = host, port, token
        self._health, self._status, self._metrics = health, status, metrics
        self._feed = Feed(brief)
        self._pages: dict[str, Callable[[], Answer]] = {
            "/health": self._health_page,
            "/status": self._status_page,
            "/metrics": self._metrics_page,
            "/events": self._events_page,
        }
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()

    async def start(self) -> int:
        """Listen; returns the port.

        Raises UsageError without a token outside loopback, or if the port cannot be had.
        """
        if not self._token and not is_loopback(self._host):
            raise UsageError(
                f"{self._host or 'every address'} can be reached from outside: give the agent a "
                "token for its HTTP, or let it listen on 127.0.0.1"
            )
        try:
            self._server = await asyncio.start_server(
                self._accept, self._host, self._port, limit=_HEADER_BYTES
            )
        except OSError as error:
            raise UsageError(
                f"{self._host}:{self._port} cannot be listened on ({error.strerror}): "
                "choose another port"
            ) from error
        return int(self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        """Stop listening and drop what is under way."""
        if self._server is None:
            return
        self._server.close()
        serving = list(self._serving)
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)
        await self._server.wait_closed()
        await asyncio.sleep(0)  # Aborted connections are closed in the loop's next turn.
        self._server = None

    # --- a connection -------------------------------------------------------------------------

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_PATIENCE_S):
                answer, with_body = await self._answer(reader)
            if answer.goes_on and with_body:
                await self._feed.follow(reader, writer)
                return
            async with asyncio.timeout(_PATIENCE_S):
                writer.write(_bytes_of(answer, with_body=with_body))
                await writer.drain()
                writer.close()
                await writer.wait_closed()
        except (TimeoutError, ConnectionError, asyncio.IncompleteReadError):
            pass  # It went away, or is too slow to be waited for.
        except Exception as error:
            told = {"message": "events cannot be told", "exception": error}
            asyncio.get_running_loop().call_exception_handler(told)
        finally:
            writer.transport.abort()

    async def _answer(self, reader: asyncio.StreamReader) -> tuple[Answer, bool]:
        """The answer to a request, and whether its body is wanted."""
        if len(self._serving) > _CONNECTIONS:
            return _told(HTTPStatus.SERVICE_UNAVAILABLE, "too many connections"), True
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            return _told(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "too long"), True
        first, *rest = head.decode("latin-1").split("\r\n")
        words = first.split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            return _told(HTTPStatus.BAD_REQUEST, "no HTTP/1 request"), True
        fields = {name.strip().lower(): value.strip() for name, _, value in _pairs(rest)}
        return self._judged(words[0], words[1], fields), words[0] != "HEAD"

    def _judged(self, method: str, target: str, fields: dict[str, str]) -> Answer:
        if not self._is_meant(fields):
            return _told(HTTPStatus.MISDIRECTED_REQUEST, "this agent has another name")
        if not self._may(fields.get("authorization", "")):
            return _told(HTTPStatus.UNAUTHORIZED, "a token is needed", "WWW-Authenticate: Bearer")
        if method not in ("GET", "HEAD"):
            return _told(HTTPStatus.METHOD_NOT_ALLOWED, "to be read only", "Allow: GET, HEAD")
        page = self._pages.get(target.partition("?")[0])
        if page is None:
            return _told(HTTPStatus.NOT_FOUND, "see " + " ".join(self._pages))
        try:
            return page()
        except Exception as error:
            told = {"message": f"{target} cannot be shown", "exception": error}
            asyncio.get_running_loop().call_exception_handler(told)
            return _told(
                HTTPStatus.INTERNAL_SERVER_ERROR, "it cannot be shown: see the agent's log"
            )

    def _may(self, authorization: str) -> bool:
        if not self._token:
            return True
        kind, _, token = authorization.partition(" ")
        return kind.lower() == "bearer" and compare_digest(
            token.strip().encode("latin-1"), self._token.encode()
        )

    def _is_meant(self, fields: dict[str, str]) -> bool:
        """Whether it asks for this host, where no token keeps out pages that a browser shows."""
        if self._token or "host" not in fields:
            return True
        with suppress(ValueError):
            return is_loopback(urlsplit(f"//{fields['host']}").hostname or "")
        return False

    # --- pages --------------------------------------------------------------------------------

    def _health_page(self) -> Answer:
        reasons = list(self._health())
        status = HTTPStatus.SERVICE_UNAVAILABLE if reasons else HTTPStatus.OK
        body = msgspec.json.encode({"healthy": not reasons, "reasons": reasons})
        return Answer(status, _JSON, body + b"\n")

    def _status_page(self) -> Answer:
        return Answer(HTTPStatus.OK, _JSON, msgspec.json.encode(self._status()) + b"\n")

    def _metrics_page(self) -> Answer:
        return Answer(HTTPStatus.OK, CONTENT_TYPE, exposition(self._metrics()))

    def _events_page(self) -> Answer:
        if self._feed.full:
            return _told(HTTPStatus.SERVICE_UNAVAILABLE, "too many listen already")
        return Answer(HTTPStatus.OK, "text/event-stream", b"", goes_on=True)


def _pairs(lines: list[str]) -> list[tuple[str, str, str]]:
    return [line.partition(":") for line in lines]


def _told(status: HTTPStatus, text: str, *more: str) -> Answer:
    return Answer(status, _TEXT, f"{text}\n".encode(), more)


def _bytes_of(answer: Answer, *, with_body: bool) -> bytes:
    lines = (
        f"HTTP/1.1 {answer.status.value} {answer.status.phrase}",
        f"Content-Type: {answer.kind}",
        f"Content-Length: {len(answer.body)}",
        "Cache-Control: no-store",
        "X-Content-Type-Options: nosniff",
        "Connection: close",
        *answer.more,
    )
    head = "\r\n".join(lines) + "\r\n\r\n"
    return head.encode("latin-1") + (answer.body if with_body else b"")


def is_loopback(host: str) -> bool:
    """Whether a host, as an address or `localhost`, is this machine and no other can reach it."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
