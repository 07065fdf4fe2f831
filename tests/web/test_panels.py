"""The console's panels that show what files and agents say, each in a browser."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import Open, Serve, click, number_of, tab

LINE = """\
federation: line
brokers: {a: {}, b: {}}
links: [{between: [a, b]}]
topics: {t: {publishers: [a], subscribers: [b]}}
"""


def looks(page: Page, kind: str) -> list[str]:
    """How the map paints links or brokers now."""
    found: list[str] = page.evaluate(f"() => Object.values(window.rwmap.told.paint.{kind})")
    return found


def wait_for_look(page: Page, kind: str, number: int, look: str | None) -> None:
    asked = f"([n, look]) => (window.rwmap.told.paint.{kind}[n] ?? null) === look"
    page.wait_for_function(asked, arg=[number, look])


# --- live ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path]]:
    """A lab of two real brokers with their agents, and its federation file."""
    folder = tmp_path_factory.mktemp("live")
    file = folder / "line.yaml"
    file.write_text(LINE, "utf-8")
    words = [sys.executable, "-m", "ropewalk", "lab", "up", str(file), "--dir", str(folder / "lab")]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("files:"):
            break
    yield file, folder / "lab"
    process.terminate()
    process.stdout.close()
    assert process.wait(timeout=30) == 0


def test_a_lab_is_watched_broken_and_healed(
    lab: tuple[Path, Path], served: Serve, opened: Open
) -> None:
    file, folder = lab
    console = served(file, "--lab", folder)
    page = opened(console.url)
    link = number_of(page, "link", "a--b")
    assert looks(page, "links") == []  # the control: the what-if has nothing of it
    tab(page, "Live")
    wait_for_look(page, "links", link, "ok")
    assert looks(page, "brokers") == ["ok", "ok"]
    reader = opened(console.plain)
    tab(reader, "Live")
    wait_for_look(reader, "links", link, "ok")
    expect(reader.get_by_text("Only who opened the address with its token")).to_be_visible()
    expect(reader.get_by_role("button", name="Cut")).to_have_count(0)

    click(page, "link", link)
    page.get_by_role("button", name="Cut").click()
    wait_for_look(page, "links", link, "down")
    wait_for_look(reader, "links", link, "down")
    expect(reader.get_by_text("Broken in the lab: a--b: cut")).to_be_visible()
    expect(page.get_by_text("link down a--b").first).to_be_visible()
    tab(page, "Failures")
    wait_for_look(page, "links", link, None)  # it was never failed in the what-if
    tab(page, "Live")
    page.get_by_role("button", name="Heal", exact=True).click()
    wait_for_look(page, "links", link, "ok")
    expect(page.get_by_text("Broken in the lab")).to_have_count(0)
