"""What agents say, put together for the console; and the watcher that follows them."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ropewalk.agent import feed as feed_module
from ropewalk.agent.web import Web
from ropewalk.federation import loads
from ropewalk.web import watcher as watcher_module
from ropewalk.web.live import Brief, Heard, Said, Told, Watched, added, brief_in, picture_of
from ropewalk.web.live import watched_in as watched_in_folder
from ropewalk.web.panels.live import NO_LAB, READ_ONLY, refusal
from ropewalk.web.sse import LONGEST, Events, event_of
from ropewalk.web.watcher import Watcher, watcher_of

LINE = Watched({"a": "http://x", "b": "http://y"}, {"a--b": ("a", "b")})


def saying(broker: str, **links: str) -> Heard:
    return Heard(Brief(broker, links=links))


@pytest.mark.parametrize(
    ("a", "b", "state"),
    [
        (saying("a", b="up"), saying("b", a="up"), "up"),
        (saying("a", b="up"), saying("b", a="down"), "down"),
        (saying("a", b="suspect"), saying("b", a="up"), "suspect"),
        (saying("a", b="up"), saying("b"), "unknown"),
        (saying("a", b="up"), Heard(silent="nobody answers there"), "unknown"),
        (saying("a", b="down"), Heard(silent="nobody answers there"), "down"),
        (Heard(Brief("a", links={"b": "up"}), "it says nothing"), saying("b", a="up"), "unknown"),
        (saying("a", b="wonderful"), saying("b", a="up"), "unknown"),
    ],
)
def test_a_link_is_up_only_if_both_ends_say_so(a: Heard, b: Heard, state: str) -> None:
    assert picture_of(LINE, {"a": a, "b": b}, []).links == {"a--b": state}


def test_links_of_which_no_end_is_watched_are_left_out() -> None:
    links = {"a--b": ("a", "b"), "b--c": ("b", "c"), "c--d": ("c", "d")}
    shown = picture_of(Watched({"b": "http://y"}, links), {"b": saying("b", a="up", c="up")}, [])
    assert shown.links == {"a--b": "unknown", "b--c": "unknown"}


def test_agents_are_told_with_what_is_wrong_with_them() -> None:
    faulty = Heard(Brief("a", faults=["broker a cannot be reached"], links={"b": "down"}))
    shown = picture_of(LINE, {"a": faulty, "b": Heard(silent="it says nothing")}, [])
    told = [(one.state, one.why, one.links) for one in shown.agents]
    assert told == [
        ("faulty", "broker a cannot be reached", "1 down"),
        ("unreachable", "it says nothing", ""),
    ]
    assert picture_of(LINE, {}, []).counts() == {"waiting": 2, "links unknown": 1}
    json.dumps(shown.as_dict(), allow_nan=False)


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"{}", b'{"broker": 7}', b'{"broker": "a", "links": 1}']
)
def test_what_cannot_be_read_is_no_agent(text: bytes) -> None:
    assert brief_in(text, "a").state == "unreachable"
    assert brief_in(b'{"broker": "a", "more": 1}', "a").state == "up"  # the control


def test_news_are_told_once_and_the_newest_first() -> None:
    first = Heard(Brief("a", news=[Said(1.0, "broker up")]))
    both = Heard(Brief("a", news=[Said(1.0, "broker up"), Said(2.0, "link up a--b")]))
    news = added(added(added([], first), both), Heard(silent="it says nothing"))
    assert picture_of(LINE, {}, news).news == (
        Told(2.0, "a", "link up a--b"),
        Told(1.0, "a", "broker up"),
    )


def test_events_are_put_together_from_pieces_and_have_an_end() -> None:
    text = event_of({"a": "x\n\ny"}) + b": beat\r\n\r\n" + event_of([1])
    events = Events()
    found = [one for i in range(len(text)) for one in events.take(text[i : i + 1])]
    assert [json.loads(one) for one in found] == [{"a": "x\n\ny"}, [1]]
    with pytest.raises(ValueError, match="no end"):
        events.take(b"x" * (LONGEST + 1))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"links": {}, "brokers": {}, "agents": []}'])
def test_a_record_that_is_none_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "lab.json").write_text(text)
    with pytest.raises(ValueError, match=r"Expecting value|no lab's record"):
        watched_in_folder(tmp_path)


def test_only_who_may_change_things_may_break_a_lab() -> None:
    def console(lab: Path | None, *, may_change: bool) -> Any:
        return SimpleNamespace(given=SimpleNamespace(lab=lab), may_change=may_change)

    assert refusal(console(Path("lab"), may_change=False)) == READ_ONLY
    assert refusal(console(None, may_change=True)) == NO_LAB
    assert refusal(console(Path("lab"), may_change=True)) == ""  # the control


# --- the watcher --------------------------------------------------------------------------------


class World:
    """Two agents' pages, as the agents themselves have them."""

    def __init__(self) -> None:
        self.briefs: dict[str, dict[str, Any]] = {
            "a": {"broker": "a", "links": {"b": "up"}},
            "b": {"broker": "b", "links": {"a": "up"}},
        }
        self.webs: dict[str, Web] = {}
        self.where: dict[str, str] = {}

    async def start(self, name: str, port: int = 0, token: str | None = None) -> None:
        pages: dict[str, Callable[[], Any]] = {"health": list, "status": dict, "metrics": dict}
        web = Web("127.0.0.1", port, token=token, brief=lambda: self.briefs[name], **pages)
        self.where[name] = f"127.0.0.1:{await web.start()}"
        self.webs[name] = web


def watching(work: Callable[[World, Watcher], Awaitable[None]], **options: Any) -> None:
    async def life() -> None:
        world = World()
        for name in world.briefs:
            await world.start(name, token=options.get("wants"))
        given = loads("{federation: f, brokers: {a: , b: }, links: [{between: [b, a]}]}")
        watcher = watcher_of(given, None, list(world.where.items()), options.get("token", ""))
        assert watcher is not None
        try:
            async with asyncio.timeout(20):
                await work(world, watcher)
        finally:
            await watcher.close()
            await asyncio.gather(*(web.close() for web in world.webs.values()))

    asyncio.run(life())


async def until(watcher: Watcher, holds: Callable[[Any], bool]) -> Any:
    while not holds(watcher.picture()):
        await asyncio.sleep(0.01)
    return watcher.picture()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_module, "EVERY_S", 0.01)
    monkeypatch.setattr(watcher_module, "LOOK_S", 0.02)
    monkeypatch.setattr(watcher_module, "TELL_S", 0.01)
    monkeypatch.setattr(watcher_module, "BACKOFF_S", (0.02, 0.05))


def test_changes_are_followed_and_an_agent_that_ends_is_unreachable_until_it_is_back() -> None:
    async def work(world: World, watcher: Watcher) -> None:
        await until(watcher, lambda shown: shown.links == {"a--b": "up"})
        world.briefs["b"] = {"broker": "b", "links": {"a": "down"}}
        await until(watcher, lambda shown: shown.links == {"a--b": "down"})
        world.briefs["b"] = {"broker": "b", "links": {"a": "up"}}
        await until(watcher, lambda shown: shown.links == {"a--b": "up"})
        await world.webs["b"].close()
        shown = await until(watcher, lambda shown: shown.agents[1].state == "unreachable")
        assert (shown.agents[0].state, shown.links) == ("up", {"a--b": "unknown"})
        await until(watcher, lambda shown: "nobody answers" in shown.agents[1].why)
        await world.start("b", int(world.where["b"].rpartition(":")[2]))
        await until(watcher, lambda shown: shown.links == {"a--b": "up"})

    watching(work)


@pytest.mark.parametrize(("token", "state"), [("secret", "up"), ("", "unreachable")])
def test_agents_that_want_a_token_are_shown_it(token: str, state: str) -> None:
    async def work(_: World, watcher: Watcher) -> None:
        shown = await until(watcher, lambda shown: shown.agents[0].state != "waiting")
        assert shown.agents[0].state == state
        assert ("--agents-token" in shown.agents[0].why) == (state == "unreachable")

    watching(work, wants="secret", token=token)


def test_nobody_is_followed_while_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watcher_module, "LINGER_S", 0.2)

    async def work(world: World, watcher: Watcher) -> None:
        def listeners() -> int:
            return world.webs["a"]._feed.listeners

        await asyncio.sleep(0.1)
        assert listeners() == 0
        await until(watcher, lambda shown: shown.agents[0].state == "up")
        assert listeners() == 1
        await asyncio.sleep(0.6)
        assert listeners() == 0
        await until(watcher, lambda shown: shown.agents[0].state == "up")  # it begins again

    watching(work)


def test_programs_are_told_the_picture_when_it_changes() -> None:
    async def work(world: World, watcher: Watcher) -> None:
        told = watcher.events()
        async for event in told:
            shown = json.loads(event.removeprefix(b"data: "))
            if shown["links"] == {"a--b": "up"}:
                world.briefs["a"] = {"broker": "a", "links": {"b": "suspect"}}
            if shown["links"] == {"a--b": "suspect"}:
                break
        assert watcher.listeners == 1
        await told.aclose()  # type: ignore[attr-defined]
        assert watcher.listeners == 0

    watching(work)


def test_programs_are_let_go_when_the_console_ends_and_when_there_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def work(_: World, watcher: Watcher) -> None:
        first = watcher.events()
        assert (await anext(first)).startswith(b"data: ")
        monkeypatch.setattr(watcher_module, "MOST_LISTENERS", 1)
        assert watcher.full
        assert [one async for one in watcher.events()] == []
        assert (await anext(first)).startswith(b"data: ")  # the control: that one goes on
        watcher.over = lambda: True
        assert [one async for one in first] == []
        assert watcher.listeners == 0

    watching(work)


def test_a_lab_that_comes_and_goes_is_followed(tmp_path: Path) -> None:
    async def life() -> None:
        world = World()
        await world.start("a")
        watcher = Watcher(lab=tmp_path)
        record = {
            "agents": {"a": {"http": f"http://{world.where['a']}", "fault": None}},
            "brokers": {"a": {"fault": "kill"}},
            "links": {},
        }
        async with asyncio.timeout(20):
            assert "No lab runs" in watcher.picture().note
            (tmp_path / "lab.json").write_text(json.dumps(record))
            shown = await until(watcher, lambda one: one.agents and one.agents[0].state == "up")
            assert shown.broken == {"a": "kill"}
            (tmp_path / "lab.json").unlink()
            await until(watcher, lambda one: one.note and not one.agents)
            await watcher.close()
            await world.webs["a"].close()

    asyncio.run(life())


def test_where_nothing_is_given_nothing_is_watched() -> None:
    assert watcher_of(loads("{federation: f, brokers: {a: }}"), None, [], "") is None
