"""The console's gate: who may look, who may change things, and what is turned away."""

import asyncio
from collections.abc import MutableMapping
from typing import Any

import pytest

from ropewalk.web.gate import COOKIE, MAY_CHANGE, MOST_BYTES, MOST_SESSIONS, Gate

TOKEN = "a-token-of-the-right-length"
HERE = ("host", "127.0.0.1:8460")


class Inside:
    """The application behind the gate: it answers everything, and remembers what got in."""

    def __init__(self) -> None:
        self.scopes: list[MutableMapping[str, Any]] = []

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        self.scopes.append(scope)
        if scope["type"] == "websocket":
            await send({"type": "websocket.accept"})
            return
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"in"})


def ask(
    gate: Gate,
    *headers: tuple[str, str],
    kind: str = "http",
    path: str = "/",
    query: str = "",
    body: tuple[bytes, ...] = (b"",),
) -> dict[str, Any]:
    """What a request is answered with: status (or the close code), headers and text."""
    sent: list[MutableMapping[str, Any]] = []
    parts: list[MutableMapping[str, Any]] = [
        {"type": "http.request", "body": part, "more_body": i + 1 < len(body)}
        for i, part in enumerate(body)
    ]
    waiting = iter([{"type": "websocket.connect"}] if kind == "websocket" else parts)

    async def receive() -> MutableMapping[str, Any]:
        return next(waiting)

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    scope = {
        "type": kind,
        "path": path,
        "query_string": query.encode(),
        "scheme": "http",
        "headers": [(key.encode(), value.encode()) for key, value in headers],
    }
    asyncio.run(gate(scope, receive, send))
    first = sent[0]
    told = {key.decode(): value.decode() for key, value in first.get("headers", [])}
    status = first.get("status") or first.get("code") or 101
    return {"status": status, **told, "text": b"".join(one.get("body", b"") for one in sent)}


def gate(*, open_to_read: bool = True) -> tuple[Gate, Inside]:
    inside = Inside()
    return Gate(inside, token=TOKEN, open_to_read=open_to_read), inside


def test_on_this_machine_anybody_may_look_and_nobody_may_change() -> None:
    made, inside = gate()
    assert ask(made, HERE)["status"] == 200
    assert inside.scopes[0][MAY_CHANGE] is False


@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_elsewhere_everything_needs_the_token(kind: str) -> None:
    made, inside = gate(open_to_read=False)
    assert ask(made, HERE, kind=kind, path="/land.json")["status"] in (401, 4403)
    assert not inside.scopes
    bearer = ("authorization", f"Bearer {TOKEN}")
    assert ask(made, HERE, bearer, kind=kind)["status"] in (200, 101)
    assert inside.scopes[0][MAY_CHANGE] is True


@pytest.mark.parametrize("header", ["Bearer wrong", f"Basic {TOKEN}", "Bearer", ""])
def test_another_token_is_none(header: str) -> None:
    made, inside = gate()
    ask(made, HERE, ("authorization", header))
    assert inside.scopes[0][MAY_CHANGE] is False


def test_a_token_in_the_address_begins_a_session_and_leaves_the_address() -> None:
    made, inside = gate(open_to_read=False)
    begun = ask(made, HERE, path="/", query=f"token={TOKEN}&tab=edit")
    assert (begun["status"], begun["location"]) == (303, "/?tab=edit")
    cookie = begun["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert TOKEN not in cookie
    assert ask(made, HERE, ("cookie", cookie.partition(";")[0]))["status"] == 200
    assert inside.scopes[0][MAY_CHANGE] is True
    assert ask(made, HERE, ("cookie", f"{COOKIE}=made-up"))["status"] == 401


def test_a_wrong_token_in_the_address_is_refused_and_begins_nothing() -> None:
    made, inside = gate()
    refused = ask(made, HERE, query="token=wrong")
    assert refused["status"] == 401
    assert "set-cookie" not in refused
    assert not inside.scopes


def test_the_way_back_from_the_token_leads_nowhere_else() -> None:
    made, _ = gate()
    begun = ask(made, HERE, path="//elsewhere.example/x", query=f"token={TOKEN}")
    assert begun["location"] == "/elsewhere.example/x"
    begun = ask(made, HERE, path="/\\elsewhere.example/ü", query=f"token={TOKEN}")
    assert begun["location"] == "/%5Celsewhere.example/%C3%BC"


def test_paths_that_no_file_has_are_refused_before_anybody_looks_for_them() -> None:
    made, inside = gate()
    for path in ("/a\0b", "/a\r\nb"):
        assert ask(made, HERE, path=path)["status"] == 400
        assert ask(made, HERE, path=path, query=f"token={TOKEN}")["status"] == 400
    assert not inside.scopes


def test_a_fault_of_the_application_is_not_answered_twice() -> None:
    async def faulty(scope: Any, receive: Any, send: Any) -> None:
        raise ValueError("inside")

    with pytest.raises(ValueError, match="inside"):
        ask(Gate(faulty, token=TOKEN, open_to_read=True), HERE)


def test_sessions_are_bounded_the_oldest_goes_first() -> None:
    made, inside = gate()
    cookies = [
        ask(made, HERE, query=f"token={TOKEN}")["set-cookie"].partition(";")[0]
        for _ in range(MOST_SESSIONS + 1)
    ]
    for cookie, known in ((cookies[0], False), (cookies[-1], True)):
        ask(made, HERE, ("cookie", cookie))
        assert inside.scopes[-1][MAY_CHANGE] is known


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:8460", 200),
        ("[::1]:8460", 200),
        ("127.0.0.1", 200),
        ("rebound.example:8460", 421),
        ("127.0.0.1.example", 421),
        ("", 421),
    ],
)
def test_a_name_that_was_rebound_to_this_machine_gets_no_answer(host: str, status: int) -> None:
    made, _ = gate()
    assert ask(made, ("host", host))["status"] == status


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(
    ("origin", "let_in"),
    [("http://127.0.0.1:8460", True), ("http://other.example", False), ("null", False)],
)
def test_pages_of_other_hosts_may_not_ask(kind: str, origin: str, let_in: bool) -> None:
    made, inside = gate()
    ask(made, HERE, ("origin", origin), kind=kind)
    assert bool(inside.scopes) is let_in


def test_a_large_body_is_refused_by_its_length_and_as_it_comes() -> None:
    made, inside = gate()
    assert ask(made, HERE, ("content-length", str(MOST_BYTES + 1)))["status"] == 413
    assert not inside.scopes
    half = b"x" * (MOST_BYTES // 2 + 1)
    assert ask(made, HERE, body=(half, half))["status"] == 413
    assert ask(made, HERE, body=(half,))["status"] == 200
    assert ask(made, HERE, ("content-length", "many"))["status"] == 400


def test_headers_of_proxies_are_believed_from_nobody() -> None:
    made, inside = gate()
    ask(made, HERE, ("X-Forwarded-Prefix", "//evil.example"), ("x-forwarded-for", "10.0.0.1"))
    assert [key for key, _ in inside.scopes[0]["headers"]] == [b"host"]


def test_answers_tell_the_browser_to_stay_at_home() -> None:
    made, _ = gate()
    for told in (ask(made, HERE), ask(made, ("host", "other.example"))):
        policy = told["content-security-policy"]
        assert "default-src 'self'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "http:" not in policy
        assert told["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("cookie", ['a="', f"{COOKIE}", "; ; ;", "\x00"])
def test_cookies_that_make_no_sense_are_none(cookie: str) -> None:
    made, inside = gate()
    assert ask(made, HERE, ("cookie", cookie))["status"] == 200
    assert inside.scopes[0][MAY_CHANGE] is False


@pytest.mark.parametrize(
    ("site", "mode", "status"),
    [
        ("cross-site", "no-cors", 403),
        ("same-site", "no-cors", 403),
        ("cross-site", "navigate", 200),
        ("same-origin", "cors", 200),
        ("none", "navigate", 200),
    ],
)
def test_scripts_and_images_of_other_pages_are_refused_links_are_not(
    site: str, mode: str, status: int
) -> None:
    made, _ = gate()
    told = ask(made, HERE, ("sec-fetch-site", site), ("sec-fetch-mode", mode))
    assert told["status"] == status


def test_consoles_of_one_host_have_sessions_of_their_own() -> None:
    inside = Inside()
    made = [
        Gate(inside, token=TOKEN, open_to_read=True, cookie=f"{COOKIE}_{port}") for port in (1, 2)
    ]
    both = "; ".join(
        ask(one, HERE, query=f"token={TOKEN}")["set-cookie"].partition(";")[0] for one in made
    )
    for one in made:
        ask(one, HERE, ("cookie", both))
        assert inside.scopes[-1][MAY_CHANGE] is True
