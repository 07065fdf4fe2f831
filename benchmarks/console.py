"""The console in Chromium: until a federation is drawn, and from a click to the painted reroute.

Rival: the same network sent anew and drawn from nothing for each change, as a map that is given
whole layers has to. Prints one JSON document.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from playwright.sync_api import Page, sync_playwright

from ropewalk import generate, save

SIZES = ((50, 2), (1000, 2))
CLICKS = 7


def main() -> None:
    """Measure every size."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        found = [_measured(browser, Path(folder), brokers, m) for brokers, m in SIZES]
        browser.close()
    print(json.dumps({"benchmark": "console", "sizes": found}, indent=2))


def _measured(browser: Any, folder: Path, brokers: int, m: int) -> dict[str, Any]:
    file = folder / f"{brokers}.yaml"
    save(generate("waxman", brokers=brokers, m=m, seed=7, topics=200), file)
    words = [sys.executable, "-m", "ropewalk", "serve", str(file), "--port", "0"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as served:
        assert served.stdout is not None
        url = served.stdout.readline().split()[1].partition("?")[0]
        try:
            _first(browser, url)  # kernels and pages are warm after it
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            drawn = _drawn_s(page, url)
            clicks = [_click_s(page, link) for link in range(CLICKS)]
            anew = [_anew_s(page) for _ in range(CLICKS)]
            paint = [_paint_s(page) for _ in range(CLICKS)]
        finally:
            served.terminate()
    return {
        "brokers": brokers,
        "drawn_s": round(drawn, 2),
        "click_to_reroute_s": round(median(clicks), 3),
        "paint_200_links_ms": round(1000 * median(paint), 1),
        "draw_anew_ms": round(1000 * median(anew), 1),
        "anew_to_paint": round(median(anew) / median(paint), 1),
    }


def _first(browser: Any, url: str) -> None:
    page = browser.new_page()
    _drawn_s(page, url)
    _click_s(page, 0)
    page.close()


def _drawn_s(page: Page, url: str) -> float:
    start = perf_counter()
    page.goto(url)
    page.wait_for_function("() => window.rwdrawn", timeout=60_000)
    took = perf_counter() - start
    page.get_by_text("Failure none").wait_for(timeout=60_000)
    return took


def _click_s(page: Page, link: int) -> float:
    """From a click that fails a link until its reroute is painted; it is healed again after."""
    name = page.evaluate("(i) => window.rwmap.told.scene.links[i]", link)
    start = perf_counter()
    _emit(page, link)
    page.get_by_text(f"Failure {name}", exact=True).wait_for(timeout=60_000)
    took = perf_counter() - start
    _emit(page, link)
    page.get_by_text("Failure none").wait_for(timeout=60_000)
    return took


def _emit(page: Page, link: int) -> None:
    """As the map does when a link is clicked: where exactly it lies is not what is measured."""
    page.evaluate(
        "(id) => window.rwmap.$emit('pick', {kind: 'link', id, near: [{kind: 'link', id}]})", link
    )


def _paint_s(page: Page) -> float:
    """Two hundred links in another colour, told to the map, until the next frame is drawn."""
    return _timed(page, "c.tell({paint: {links: Object.fromEntries(ids.map((i) => [i, look]))}})")


def _anew_s(page: Page) -> float:
    return _timed(page, "c.redraw(false)")


def _timed(page: Page, what: str) -> float:
    program = """
    () => new Promise((done) => {
      const c = window.rwmap, ids = [...Array(200).keys()].filter((i) => c.links[i]);
      const look = (window.rwlook = window.rwlook === "hot" ? "witness" : "hot");
      const start = performance.now();
      WHAT;
      requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - start)));
    })"""
    taken: float = page.evaluate(program.replace("WHAT", what))
    return taken / 1000


if __name__ == "__main__":
    main()
