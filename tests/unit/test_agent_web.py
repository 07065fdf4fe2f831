"""The agent's HTTP: what it shows, to whom, and what it turns away."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from itertools import pairwise
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from ropewalk.agent import feed as feed_module
from ropewalk.agent import web as web_module
from ropewalk.agent.metrics import TABLE, Snapshot, Spread, exposition
from ropewalk.agent.web import Web
from ropewalk.errors import UsageError

Ask = Callable[[bytes], Awaitable[tuple[int, dict[str, str], bytes]]]


def fields(**others: Any) -> Any:
    return {
        "token": None,
        "health": list,
        "status": lambda: {"broker": "a"},
        "metrics": lambda: {"ropewalk_log_bytes": 7},
        "brief": dict,
        **others,
    }


def visit(work: Callable[[Ask], Awaitable[None]], host: str = "127.0.0.1", **others: Any) -> None:
    """Start a server and ask it."""

    async def life() -> None:
        web = Web(host, 0, **fields(**others))
        port = await web.start()

        async def ask(request: bytes) -> tuple[int, dict[str, str], bytes]:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request)
            text = await reader.read()
            writer.close()
            await writer.wait_closed()
            head, _, body = text.partition(b"\r\n\r\n")
            first, *rest = head.decode().split("\r\n")
            pairs = (line.partition(": ")[::2] for line in rest)
            return int(first.split()[1]), dict(pairs), body

        async with asyncio.timeout(20):
            try:
                await work(ask)
            finally:
                await web.close()

    asyncio.run(life())


def get(path: str, *lines: str) -> bytes:
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: localhost", *lines, "", ""]).encode()


def test_health_is_200_or_503_with_the_reasons() -> None:
    reasons: list[str] = []

    async def work(ask: Ask) -> None:
        status, head, body = await ask(get("/health"))
        assert (status, json.loads(body)) == (200, {"healthy": True, "reasons": []})
        assert head["Content-Type"] == "application/json"
        reasons.append("the broker is down")
        status, _, body = await ask(get("/health?verbose"))
        assert (status, json.loads(body)["reasons"]) == (503, ["the broker is down"])

    visit(work, health=lambda: reasons)


def test_status_and_metrics_are_shown() -> None:
    async def work(ask: Ask) -> None:
        assert json.loads((await ask(get("/status")))[2]) == {"broker": "a"}
        status, head, body = await ask(get("/metrics"))
        assert (status, b"ropewalk_log_bytes 7.0\n" in body) == (200, True)
        assert head["Content-Type"].startswith("text/plain; version=0.0.4")
        assert int(head["Content-Length"]) == len(body)
        status, head, body = await ask(get("/metrics").replace(b"GET", b"HEAD"))
        assert (status, body) == (200, b"")
        assert int(head["Content-Length"]) > 0

    visit(work)


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (get("/"), 404),
        (get("/status").replace(b"GET", b"POST"), 405),
        (b"nonsense\r\n\r\n", 400),
        (b"GET /status SPDY/3\r\n\r\n", 400),
        (get("/status", "X: " + "y" * 10_000), 431),
        (get("/status").replace(b"localhost", b"evil.example"), 421),
        (get("/status").replace(b"localhost", b"[oops"), 421),
        (get("/events").replace(b"localhost", b"evil.example"), 421),
        (get("/events").replace(b"GET", b"HEAD"), 200),
        (get("/status").replace(b"localhost", b"[::1]:80"), 200),
        (b"GET /status HTTP/1.0\r\n\r\n", 200),
    ],
)
def test_what_makes_no_sense_is_turned_away(request_bytes: bytes, status: int) -> None:
    async def work(ask: Ask) -> None:
        assert (await ask(request_bytes))[0] == status

    visit(work)


@pytest.mark.parametrize("path", ["/health", "/status", "/metrics", "/events", "/none"])
def test_with_a_token_nothing_is_shown_without_it(path: str) -> None:
    async def work(ask: Ask) -> None:
        status, head, body = await ask(get(path))
        assert (status, head["WWW-Authenticate"]) == (401, "Bearer")
        assert b"broker" not in body
        for wrong in ("Bearer secre", "Bearer secret2", "Basic secret", "secret", "Bearer \xe9"):
            assert (await ask(get(path, f"Authorization: {wrong}")))[0] == 401
        right = await ask(get(path, "Authorization: Bearer secret").replace(b"GET", b"HEAD"))
        assert right[0] == (404 if path == "/none" else 200)

    visit(work, host="0.0.0.0", token="secret")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.0.2.1", "broker.test"])
@pytest.mark.parametrize("token", [None, ""])
def test_outside_loopback_a_token_is_needed(host: str, token: str | None) -> None:
    with pytest.raises(UsageError, match="give the agent a token"):
        asyncio.run(Web(host, 0, **fields(token=token)).start())


def test_a_port_that_is_taken_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"127.0.0.1:{port} cannot be listened on"):
            asyncio.run(Web("127.0.0.1", port, **fields()).start())


def test_who_says_nothing_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_module, "_PATIENCE_S", 0.05)

    async def life() -> None:
        web = Web(**fields())
        port = await web.start()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /status HT")
        async with asyncio.timeout(10):
            assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()
        await web.close()

    asyncio.run(life())


def test_closing_drops_those_who_say_nothing_and_too_many_are_turned_away() -> None:
    async def life() -> None:
        web = Web(**fields())
        port = await web.start()
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(33)]
        async with asyncio.timeout(10):
            assert b" 503 " in await silent[-1][0].readline()
            await web.close()
            assert await silent[0][0].read() == b""
        for _, writer in silent:
            writer.close()
            await asyncio.gather(writer.wait_closed(), return_exceptions=True)
        await web.close()

    asyncio.run(life())


def test_a_page_that_fails_is_told_to_the_loop() -> None:
    told: list[Any] = []

    async def work(ask: Ask) -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
        status, _, body = await ask(get("/status"))
        assert status == 500
        assert b"secret" not in body

    def fail() -> None:
        raise KeyError("secret")

    visit(work, status=fail)
    assert isinstance(told[0]["exception"], KeyError)


# --- events -----------------------------------------------------------------------------------


@asynccontextmanager
async def listening(port: int) -> AsyncIterator[asyncio.StreamReader]:
    """A listener's events, after the head of the answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(get("/events"))
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        assert "200 OK" in head
        assert "text/event-stream" in head
        yield reader
    finally:
        writer.close()
        await asyncio.gather(writer.wait_closed(), return_exceptions=True)


async def event(reader: asyncio.StreamReader) -> Any:
    text = (await reader.readuntil(b"\n\n")).decode()
    return json.loads(text.removeprefix("data: ")) if text.startswith("data: ") else text.strip()


def follow(work: Callable[[int], Awaitable[None]], brief: Callable[[], Any]) -> None:
    """Start a server whose events are these."""

    async def life() -> None:
        web = Web(**fields(brief=brief))
        port = await web.start()
        async with asyncio.timeout(20):
            try:
                await work(port)
            finally:
                await web.close()

    asyncio.run(life())


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_module, "EVERY_S", 0.005)
    monkeypatch.setattr(feed_module, "FIGURES_EVERY_S", 0.5)


def test_events_tell_what_matters_at_once_and_figures_now_and_then(quick: None) -> None:
    now: dict[str, Any] = {"links": {"b": "up"}, "figures": {"published": 1}}
    looks = 0

    def brief() -> Any:
        nonlocal looks
        looks += 1
        return now

    async def work(port: int) -> None:
        clock = asyncio.get_running_loop().time
        await asyncio.sleep(0.05)
        assert looks == 0  # nobody listens
        async with listening(port) as reader:
            assert await event(reader) == now
            began_s = clock()
            now["figures"] = {"published": 2}
            assert (await event(reader))["figures"] == {"published": 2}
            assert clock() - began_s > 0.4
            began_s = clock()
            now["links"] = {"b": "down"}
            assert (await event(reader))["links"] == {"b": "down"}
            assert clock() - began_s < 0.4
        await asyncio.sleep(0.1)
        before = looks
        await asyncio.sleep(0.05)
        assert looks == before  # it has gone away

    follow(work, brief)


def test_listeners_share_a_look(quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_module, "EVERY_S", 0.1)
    looks: list[float] = []

    def brief() -> Any:
        looks.append(asyncio.get_running_loop().time())
        return {}

    async def work(port: int) -> None:
        async with AsyncExitStack() as stack:
            for _ in range(4):
                await event(await stack.enter_async_context(listening(port)))
            await asyncio.sleep(0.5)
        assert all(after - before > 0.08 for before, after in pairwise(looks))
        assert len(looks) > 2  # the control: it does look

    follow(work, brief)


def test_where_nothing_changes_a_beat_is_heard(
    quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_module, "BEAT_S", 0.05)

    async def work(port: int) -> None:
        async with listening(port) as reader:
            assert [await event(reader) for _ in range(3)] == [{}, ": beat", ": beat"]

    follow(work, dict)


def test_so_many_listen_and_no_more(quick: None) -> None:
    async def work(port: int) -> None:
        async with AsyncExitStack() as stack:
            for _ in range(feed_module.MOST):
                await event(await stack.enter_async_context(listening(port)))
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(get("/events"))
            assert b"too many listen already" in await reader.read()
            writer.close()
        await asyncio.sleep(0.1)
        async with listening(port) as reader:  # the control: those have gone
            assert await event(reader) == {}

    follow(work, dict)


def test_events_that_cannot_be_told_end_and_are_told_to_the_loop(quick: None) -> None:
    told: list[Any] = []
    briefs: Iterator[dict[str, Any]] = iter([{}])

    async def work(port: int) -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
        async with listening(port) as reader:
            assert await event(reader) == {}
            with suppress(ConnectionError):
                assert await reader.read() == b""

    def brief() -> Any:
        try:
            return next(briefs)
        except StopIteration:
            raise KeyError("secret") from None

    follow(work, brief)
    assert isinstance(told[0]["exception"], KeyError)


# --- metrics ----------------------------------------------------------------------------------


def everything() -> Snapshot:
    spread = Spread(((0.001, 2), (0.01, 5)), 6, 0.5)
    return {
        one.name: (spread if one.kind == "histogram" else 3)
        if not one.labels
        else {tuple("x" for _ in one.labels): spread if one.kind == "histogram" else 3}
        for one in TABLE
    }


def test_every_metric_of_the_table_is_read_by_prometheus_under_its_name() -> None:
    families = list(text_string_to_metric_families(exposition(everything()).decode()))
    samples = {sample.name for family in families for sample in family.samples}
    for one in TABLE:
        assert one.name in samples or f"{one.name}_bucket" in samples
    assert len(families) == len(TABLE)
    assert {family.documentation for family in families} == {one.help for one in TABLE}


def test_names_are_spelt_as_prometheus_wants_them() -> None:
    for one in TABLE:
        assert one.name.endswith("_total") == (one.kind == "counter")
        assert one.name.startswith(("messaging_", "ropewalk_"))
    assert len({one.name for one in TABLE}) == len(TABLE)


def test_labels_and_histograms_are_shown() -> None:
    text = exposition(
        {
            "ropewalk_refused_words_total": {"forged": 2},
            "messaging_process_duration_seconds": {
                ("nats", "deliver"): Spread(((0.001, 2), (0.01, 5)), 6, 0.5)
            },
        }
    ).decode()
    assert 'ropewalk_refused_words_total{reason="forged"} 2.0\n' in text
    way = 'messaging_system="nats"'
    for line in (
        f'_bucket{{le="0.01",messaging_operation_name="deliver",{way}}} 5.0',
        f'_bucket{{le="+Inf",messaging_operation_name="deliver",{way}}} 6.0',
        f'_sum{{messaging_operation_name="deliver",{way}}} 0.5',
    ):
        assert f"messaging_process_duration_seconds{line}\n" in text


def test_a_name_that_the_table_does_not_have_is_refused() -> None:
    with pytest.raises(ValueError, match="ropewalk_surprise"):
        exposition({"ropewalk_surprise": 1})
