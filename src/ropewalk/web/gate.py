"""Who gets in: an ASGI gate in front of everything, websockets and files included.

Reading from this machine needs no token, changing does; from elsewhere everything does. The token
is shown once (`?token=`, or a bearer header); a browser gets a session of its own for it.
"""

from collections.abc import Awaitable, Callable, MutableMapping
from hmac import compare_digest
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from secrets import token_urlsafe
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from ropewalk.agent.web import is_loopback

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

COOKIE = "ropewalk_session"
MAY_CHANGE = "ropewalk.may_change"
"""In a request's scope: whether whoever asks has shown the token."""
MOST_BYTES = 4 << 20
"""Of a request's body: files that somebody opens are smaller."""
MOST_SESSIONS = 256

HEADERS = (
    (
        b"content-security-policy",
        b"default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; "
        b"style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; "
        b"connect-src 'self'; frame-ancestors 'none'; base-uri 'self'; form-action 'self'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
)


class RefusedError(Exception):
    """A request that is turned away, with what it is told."""

    def __init__(self, status: HTTPStatus, text: str) -> None:
        super().__init__(text)
        self.status, self.text = status, text


class Gate:
    """Stands before an ASGI application; `open_to_read` is for consoles on loopback."""

    def __init__(self, app: App, *, token: str, open_to_read: bool, cookie: str = COOKIE) -> None:
        self.app, self._cookie = app, cookie
        self._token, self._open = token, open_to_read
        self._sessions: dict[str, None] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it here."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        try:
            headers = _headers(scope)
            _check_path(scope)
            self._check_names(headers)
            if scope["type"] == "http" and (given := _given_token(scope)) is not None:
                await self._begin(scope, send, given)
                return
            scope[MAY_CHANGE] = self._may_change(headers)
            _check_size(headers)
        except RefusedError as refused:
            await _refuse(scope, receive, send, refused)
            return
        except ValueError:
            await _refuse(scope, receive, send, RefusedError(HTTPStatus.BAD_REQUEST, "bad request"))
            return
        try:
            await self.app(_without_proxy(scope), _counted(receive), _armoured(send))
        except RefusedError as refused:  # a body that turned out to be too large
            await _refuse(scope, receive, send, refused)

    def _check_names(self, headers: dict[str, str]) -> None:
        """A page of another host may make a browser ask here: it must not get an answer."""
        host = headers.get("host", "")
        if self._open and not is_loopback(urlsplit(f"//{host}").hostname or ""):
            raise RefusedError(HTTPStatus.MISDIRECTED_REQUEST, "this console has another name")
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != host:
            raise RefusedError(HTTPStatus.FORBIDDEN, "a page of another host may not ask")
        # Scripts and images are asked for without an origin. A link that is followed may lead here.
        site, mode = headers.get("sec-fetch-site"), headers.get("sec-fetch-mode")
        if site in ("cross-site", "same-site") and mode != "navigate":
            raise RefusedError(HTTPStatus.FORBIDDEN, "a page of another host may not ask")

    def _may_change(self, headers: dict[str, str]) -> bool:
        known = self._known(headers)
        if not known and not self._open:
            raise RefusedError(HTTPStatus.UNAUTHORIZED, "a token is needed: open /?token=TOKEN")
        return known

    def _known(self, headers: dict[str, str]) -> bool:
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and self._is_token(given.strip()):
            return True
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self._cookie)
        except CookieError:
            return False
        return cookie is not None and cookie.value in self._sessions

    def _is_token(self, given: str) -> bool:
        return compare_digest(given.encode(), self._token.encode())

    async def _begin(self, scope: Scope, send: Send, given: str) -> None:
        """A session for who has the token: its address is kept out of histories and logs."""
        if not self._is_token(given):
            raise RefusedError(HTTPStatus.UNAUTHORIZED, "that is not this console's token")
        session = token_urlsafe(32)
        while len(self._sessions) >= MOST_SESSIONS:
            self._sessions.pop(next(iter(self._sessions)))
        self._sessions[session] = None
        pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        rest = urlencode([(key, value) for key, value in pairs if key != "token"])
        # One slash: a path that begins with two would be another host's address, and to browsers a
        # backslash is a slash.
        target = quote("/" + scope["path"].lstrip("/")) + (f"?{rest}" if rest else "")
        cookie = f"{self._cookie}={session}; Path=/; HttpOnly; SameSite=Strict"
        secure = "; Secure" if scope.get("scheme") == "https" else ""
        headers = [
            (b"location", target.encode()),
            (b"set-cookie", (cookie + secure).encode()),
            (b"content-length", b"0"),
            (b"cache-control", b"no-store"),
        ]
        await send({"type": "http.response.start", "status": 303, "headers": headers})
        await send({"type": "http.response.body", "body": b""})


def _check_path(scope: Scope) -> None:
    """No file here is called so, and what looks for one stumbles over it."""
    if any(ord(one) < ord(" ") for one in scope["path"]):
        raise RefusedError(HTTPStatus.BAD_REQUEST, "bad request")


def _check_size(headers: dict[str, str]) -> None:
    if int(headers.get("content-length") or 0) > MOST_BYTES:
        raise RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "that is too large")


def _headers(scope: Scope) -> dict[str, str]:
    return {
        key.decode("latin-1").lower(): value.decode("latin-1") for key, value in scope["headers"]
    }


def _given_token(scope: Scope) -> str | None:
    pairs = dict(parse_qsl(scope.get("query_string", b"").decode("latin-1")))
    return pairs.get("token")


def _without_proxy(scope: Scope) -> Scope:
    """Headers that only a proxy may set are believed from nobody."""
    kept = [one for one in scope["headers"] if not one[0].lower().startswith(b"x-forwarded-")]
    return {**scope, "headers": kept}


def _counted(receive: Receive) -> Receive:
    """Bodies without a length are counted as they come."""
    got = 0

    async def counted() -> MutableMapping[str, Any]:
        nonlocal got
        message = await receive()
        got += len(message.get("body", b"")) if message["type"] == "http.request" else 0
        if got > MOST_BYTES:
            raise RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "that is too large")
        return message

    return counted


def _armoured(send: Send) -> Send:
    async def armoured(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *HEADERS]}
        await send(message)

    return armoured


async def _refuse(scope: Scope, receive: Receive, send: Send, refused: RefusedError) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 4403, "reason": refused.text})
        return
    body = f"{refused.text}\n".encode()
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        *((b"www-authenticate", b"Bearer") for _ in range(refused.status == 401)),
        *HEADERS,
    ]
    await send({"type": "http.response.start", "status": int(refused.status), "headers": headers})
    await send({"type": "http.response.body", "body": body})
