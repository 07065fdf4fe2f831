"""One tab's console without a browser: what is old is not shown, and nobody works for nobody."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest

from ropewalk import generate
from ropewalk.errors import UsageError
from ropewalk.web import layout, page, watcher
from ropewalk.web.audits import changed_at
from ropewalk.web.desk import Desk
from ropewalk.web.given import Given, as_saved
from ropewalk.web.page import Console, Shown
from ropewalk.web.saving import save_over
from ropewalk.web.verdict import Verdict, verified
from ropewalk.web.watcher import Watcher

TEXT = """\
federation: f
brokers: {a: {}, b: {}, c: {}}
links: [{between: [a, b]}, {between: [b, c]}]
"""


def desk(text: str = TEXT) -> Desk:
    return Desk.of(text=text, file="f.yaml")


def console() -> Console:
    return Console(Given(desk=desk()), may_change=False)


def in_a_loop(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    @wraps(test)
    def run(*given: Any, **named: Any) -> None:
        asyncio.run(asyncio.wait_for(test(*given, **named), 60))

    return run


def here(work: Callable[..., Any], *given: Any, **named: Any) -> Any:
    return asyncio.to_thread(work, *given, **named)


@pytest.fixture(autouse=True)
def threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """NiceGUI's threads belong to a server that runs."""
    monkeypatch.setattr("nicegui.run.io_bound", here)


@in_a_loop
async def test_what_somebody_asks_to_see_meanwhile_is_not_painted_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, go, looked_at = console(), Event(), page._looked_at

    def slowly(federation: Any, failed: tuple[str, ...]) -> Any:
        go.wait(10)
        return looked_at(federation, failed)

    monkeypatch.setattr(page, "_looked_at", slowly)
    for asked in (None, Shown(brokers={"c": "witness"})):
        go.clear()
        failing = asyncio.create_task(made.set_failed(["a--b"]))
        await asyncio.sleep(0.05)
        if asked is not None:
            made.show(asked)
        go.set()
        await failing
        assert made.outcome is not None
        assert made.shown == (asked or page.rerouted(made.outcome))


@in_a_loop
async def test_of_many_quick_clicks_only_the_first_and_the_last_are_worked_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, asked, go = console(), list[tuple[str, ...]](), Event()

    def slowly(federation: Any, failed: tuple[str, ...]) -> Any:
        asked.append(failed)
        go.wait(10)
        return looked_at(federation, failed)

    looked_at = page._looked_at
    monkeypatch.setattr(page, "_looked_at", slowly)
    clicks = [asyncio.create_task(made.set_failed(["a--b"] * (n % 2))) for n in range(9)]
    clicks.append(asyncio.create_task(made.set_failed(["b--c"])))
    while not asked:
        await asyncio.sleep(0.01)
    go.set()
    await asyncio.gather(*clicks)
    assert len(asked) == 2
    assert made.outcome is not None
    assert made.outcome.failure == "b--c"


@in_a_loop
async def test_a_verification_that_is_typed_over_is_halted(monkeypatch: pytest.MonkeyPatch) -> None:
    made, halted = console(), list[bool]()
    old = made.desk.federation

    def until_halted(federation: Any, *, halt: Any) -> Verdict:
        for _ in range(500 * (federation is old)):
            if halt[0]:
                break
            Event().wait(0.01)
        halted.append(bool(halt[0]))
        return Verdict(True, str(len(federation.brokers)), "", ())

    monkeypatch.setattr(page, "verified", until_halted)
    first = asyncio.create_task(made.verify())
    await asyncio.sleep(0)
    await made.set_desk(desk("{federation: f, brokers: {a: {}}}"))
    await first
    assert sorted(halted) == [False, True]
    assert made.verdict is not None
    assert made.verdict.words == "1"


@in_a_loop
async def test_of_texts_that_follow_each_other_fast_only_the_last_is_verified(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, seen = console(), list[str]()

    def noted(federation: Any, *, halt: Any) -> Verdict:
        seen.append(federation.name)
        return Verdict(True, "", "", ())

    monkeypatch.setattr(page, "verified", noted)
    texts = [f"{{federation: f{n}, brokers: {{a: }}}}" for n in range(5)]
    await asyncio.gather(*(made.set_desk(desk(text)) for text in texts))
    assert seen == ["f4"]


def test_a_verification_may_be_halted_before_it_has_begun() -> None:
    halt = np.ones(1, np.bool_)
    assert "Not decided" in verified(desk().federation, halt=halt).words


@in_a_loop
async def test_what_cannot_be_verified_is_told_and_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(*_: Any, **__: Any) -> Verdict:
        raise UsageError("too many scenarios")

    monkeypatch.setattr(page, "verified", refused)
    made = console()
    await made.verify()
    assert made.verdict is not None
    assert not made.verdict.ok
    assert "too many scenarios" in made.verdict.words


@in_a_loop
async def test_what_is_not_there_any_more_cannot_fail() -> None:
    made = console()
    await made.set_failed(["a--b", "gone", "c"])
    assert made.failed == ("a--b", "c")
    for pick in ({"near": [{"kind": "link", "id": 7}]}, {"near": [{"kind": "broker", "id": -1}]}):
        await made.clicked(pick)
    await made.clicked({"near": [{}]})
    assert made.failed == ("a--b", "c")
    assert made.picked is None


@pytest.mark.parametrize("told", [{}, {"lat": None, "lng": 0, "km": 1}, {"lat": 1, "lng": 2}])
@in_a_loop
async def test_a_region_that_no_map_says_is_not_believed(told: dict[str, Any]) -> None:
    made = console()
    await made.dragged(told)
    assert made.region is None
    await made.dragged({"lat": 1, "lng": 2, "km": 3})
    assert made.region == {"lat": 1.0, "lng": 2.0, "km": 3.0}


# --- the file --------------------------------------------------------------------------------


def given_of(file: Path, text: str = TEXT) -> Given:
    file.write_text(text, "utf-8")
    return Given(desk=Desk.of(text=text, file=str(file)), file=file)


def test_a_tab_opens_the_file_as_it_is_now(tmp_path: Path) -> None:
    given = given_of(tmp_path / "f.yaml")
    assert as_saved(given) is given
    assert given.file is not None
    given.file.write_text("{federation: f, brokers: {z: {}}}", "utf-8")
    now = as_saved(given).desk
    assert list(now.federation.brokers) == ["z"]
    assert not now.changed
    given.file.write_text("federation: [", "utf-8")
    broken = as_saved(given).desk
    assert not broken.loaded
    assert broken.federation is given.desk.federation
    for bad in (b"\xff\xfe", None):
        given.file.unlink() if bad is None else given.file.write_bytes(bad)
        assert as_saved(given) is given


def test_saving_keeps_line_ends_rights_and_links(tmp_path: Path) -> None:
    file, link = tmp_path / "f.yaml", tmp_path / "link.yaml"
    file.write_bytes(b"\xef\xbb\xbfa: 1\r\nb: 2\r\n")
    file.chmod(0o600)
    link.symlink_to(file)
    save_over(link, "a: 1\nb: 3\n", saved="a: 1\nb: 2\n")
    assert file.read_bytes() == b"\xef\xbb\xbfa: 1\r\nb: 3\r\n"
    assert link.is_symlink()
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("now", [b"a: 2\n", b"\xff", None])
def test_what_somebody_else_changed_is_not_saved_over(tmp_path: Path, now: bytes | None) -> None:
    file = tmp_path / "f.yaml"
    if now is not None:
        file.write_bytes(now)
    with pytest.raises(UsageError, match="download yours"):
        save_over(file, "a: 3\n", saved="a: 1\n")
    assert (file.read_bytes() if now is not None else None) == now


def test_a_path_that_can_be_none_has_not_changed() -> None:
    assert changed_at(Path("a\0b")) == (0, 0)


# --- what everybody would wait for --------------------------------------------------------------


def test_many_brokers_are_laid_out_in_few_steps_and_once_for_every_tab(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps: list[int] = []
    pushed = layout._pushed

    def counted(at: Any, near: float) -> Any:
        steps.append(len(at))
        return pushed(at, near)

    monkeypatch.setattr(layout, "_pushed", counted)
    federation = generate("ring", brokers=901)
    first = layout.layout_of(federation.graph)
    assert len(steps) < layout.STEPS / 5
    steps.clear()
    assert np.array_equal(layout.layout_of(federation.graph), first)
    assert not steps


def test_a_listener_too_many_is_let_go_and_the_others_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(watcher, "MOST_LISTENERS", 1)

    async def listening() -> None:
        made = Watcher()
        kept = made.events()
        await anext(kept)
        assert [one async for one in made.events()] == []
        made.version += 1
        assert await asyncio.wait_for(anext(kept), 10)
        assert made.listeners == 1
        await made.close()

    asyncio.run(listening())
