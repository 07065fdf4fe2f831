"""Real consoles in a real browser: Debian's chromium, driven by playwright, on this machine only."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, Playwright, ViewportSize, sync_playwright

ROOT = Path(__file__).parents[2]
CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser") if (found := shutil.which(name))), None
)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
START_S = 60
WAIT_MS = 20_000


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if CHROMIUM is None:
        skip = pytest.mark.skip(
            reason="no chromium: `sh tools/browser.sh` installs it where it may"
        )
        for item in items:
            if Path(item.fspath).is_relative_to(Path(__file__).parent):
                item.add_marker(skip)


@dataclass
class Served:
    """A console that runs as its users run it; `url` has its token, `plain` has not."""

    url: str
    process: subprocess.Popen[str]

    @property
    def plain(self) -> str:
        return self.url.partition("?")[0]


Serve = Callable[..., Served]


@pytest.fixture(scope="module")
def served() -> Iterator[Serve]:
    """Start consoles; all of them end with the module."""
    started: list[subprocess.Popen[str]] = []

    def start(file: Path, *options: object) -> Served:
        words = [sys.executable, "-m", "ropewalk", "serve", str(file), "--port", "0"]
        process = subprocess.Popen(
            [*words, *map(str, options)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        started.append(process)
        assert process.stdout is not None
        said = process.stdout.readline()
        found = re.match(r"Open (http://\S+)", said)
        assert found, f"the console said {said!r}"
        return Served(found[1], process)

    yield start
    for process in started:
        process.terminate()
    for process in started:
        process.wait(timeout=20)
        assert process.stdout is not None
        process.stdout.close()


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One chromium for all of these tests."""
    with sync_playwright() as playwright:
        yield from _browser(playwright)


def _browser(playwright: Playwright) -> Iterator[Browser]:
    made = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
    yield made
    made.close()


@dataclass
class Watched:
    """What went wrong in a page while a test looked elsewhere."""

    foreign: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


Open = Callable[..., Page]


@pytest.fixture
def opened(browser: Browser) -> Iterator[Open]:
    """Open pages, each in a context of its own; no page may ask another host or throw."""
    pages: list[tuple[Page, Watched]] = []

    def one(url: str, *, width: int = 1280, height: int = 800, dark: bool = False) -> Page:
        size = ViewportSize(width=width, height=height)
        context = browser.new_context(
            viewport=size, color_scheme="dark" if dark else "light", accept_downloads=True
        )
        context.set_default_timeout(WAIT_MS)
        page, watched = context.new_page(), Watched()
        own = urlsplit(url).netloc
        page.on("request", lambda asked: _note(asked.url, own, watched))
        page.on("pageerror", lambda error: watched.errors.append(str(error)))
        pages.append((page, watched))
        page.goto(url)
        page.wait_for_function("() => window.rwdrawn")
        return page

    yield one
    for page, watched in pages:
        page.context.close()
        assert watched.foreign == [], "the page has asked another host"
        assert watched.errors == []


def _note(url: str, own: str, watched: Watched) -> None:
    parts = urlsplit(url)
    if parts.scheme not in ("data", "blob", "about") and parts.netloc != own:
        watched.foreign.append(url)


def click(page: Page, kind: str, number: int) -> None:
    """Click the middle of a link, or a broker, where the map has drawn it."""
    page.evaluate("([kind, id]) => { window.rwmap.show(kind, id) }", [kind, number])
    page.wait_for_timeout(100)
    x, y = page.evaluate("([kind, id]) => window.rwmap.pixel(kind, id)", [kind, number])
    page.mouse.click(x, y)


def number_of(page: Page, kind: str, name: str) -> int:
    """The number of a link or a broker by its name."""
    section = "links" if kind == "link" else "brokers"
    found: int = page.evaluate(f"(name) => window.rwmap.told.scene.{section}.indexOf(name)", name)
    assert found >= 0, name
    return found


def tab(page: Page, name: str) -> None:
    """Turn to a panel."""
    page.get_by_role("tab", name=name).click()
