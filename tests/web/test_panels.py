"""The console's panels that show what files and agents say, each in a browser."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Page, expect

from ropewalk.report.verbs.placing import place
from tests.unit.test_console_audits import FEDERATION, violation, written
from tests.web.conftest import ROOT, Open, Serve, Served, click, number_of, tab

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


@pytest.fixture(scope="module")
def watching(lab: tuple[Path, Path], served: Serve) -> Served:
    """A console on that lab."""
    file, folder = lab
    return served(file, "--lab", folder)


def test_a_lab_is_watched_broken_and_healed(watching: Served, opened: Open) -> None:
    page = opened(watching.url)
    link = number_of(page, "link", "a--b")
    assert looks(page, "links") == []  # the control: the what-if has nothing of it
    tab(page, "Live")
    wait_for_look(page, "links", link, "ok")
    assert looks(page, "brokers") == ["ok", "ok"]
    reader = opened(watching.plain)
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


def test_programs_are_told_the_same_and_pages_of_other_hosts_are_not(watching: Served) -> None:
    live = f"{watching.plain}live"
    with urlopen(live, timeout=20) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        told = json.loads(answer.readline().removeprefix(b"data: "))
    assert [one["broker"] for one in told["agents"]] == ["a", "b"]
    with pytest.raises(HTTPError, match="421"):
        urlopen(Request(live, headers={"Host": "evil.example"}), timeout=20)


# --- protocols ----------------------------------------------------------------------------------

NASTY = """\
protocol: nasty
messages: {"<b>A</b> -> B": ["<script>window.hit = 1</script>", 'say "x" `y`']}
initial: "<img src=x onerror='window.hit = 2'>"
accepting: ['end "q"']
transitions:
  - "<img src=x onerror='window.hit = 2'> -> mid": "<script>window.hit = 1</script>"
  - 'mid -> end "q"': 'say "x" `y`'
"""


@pytest.fixture(scope="module")
def filed(served: Serve, tmp_path_factory: pytest.TempPathFactory) -> tuple[Served, Path]:
    """A console with two protocols and a working folder in which no job has been yet."""
    folder = tmp_path_factory.mktemp("filed")
    file, nasty, work = folder / "f.yaml", folder / "nasty.yaml", folder / "work"
    file.write_text(FEDERATION, "utf-8")
    nasty.write_text(NASTY, "utf-8")
    work.mkdir()
    orders = ROOT / "examples" / "protocols" / "order-entry.yaml"
    return served(file, "--protocol", orders, "--protocol", nasty, "--work", work), work


def test_a_protocol_is_drawn_stepped_through_and_forbids(
    filed: tuple[Served, Path], opened: Open
) -> None:
    page = opened(filed[0].plain)
    tab(page, "Protocols")
    expect(page.get_by_text("FIFO-ok: channels that keep order")).to_be_visible()
    drawn = page.locator(".rw-diagram svg")
    expect(drawn.locator(".node.now")).to_have_text("idle")
    page.get_by_role("button", name="ask", exact=True).click()
    expect(drawn.locator(".node.now")).to_have_text("idle/ask")
    word = page.get_by_placeholder("or type: ask, order")
    expect(page.locator(".rw-bad")).to_have_count(0)  # the control: nothing is forbidden so far
    word.fill("ask, quote, fill, check")
    word.press("Enter")
    expect(page.get_by_text("fill is forbidden: after quote expected: order[")).to_be_visible()
    expect(drawn.locator(".node.off")).to_have_text("quoted")
    page.get_by_role("button", name="A step back").click()
    expect(drawn.locator(".node.now")).to_have_text("quoted")

    page.locator(".q-tab-panel .q-select").first.click()
    page.locator(".q-menu .q-item", has_text="nasty").click()
    expect(drawn).to_contain_text("<script>window.hit = 1</script>")
    expect(drawn.locator(".node.now")).to_have_text("<img src=x onerror='window.hit = 2'>")
    page.get_by_role("button", name="<script>window.hit = 1</script>").click()
    expect(drawn.locator(".node.now")).to_have_text("mid")
    assert page.evaluate("() => window.hit ?? 0") == 0
    assert page.locator(".rw-diagram img, .rw-diagram script").count() == 0


def test_a_federation_without_protocols_says_how_to_add_one(watching: Served, opened: Open) -> None:
    page = opened(watching.plain)
    tab(page, "Protocols")
    expect(page.get_by_text("No topic of this federation follows a protocol")).to_be_visible()
    expect(page.get_by_text("protocols/order-entry.yaml")).to_be_visible()


# --- placement ----------------------------------------------------------------------------------


def test_a_plan_is_shown_before_and_after_and_a_move_on_the_map(
    served: Serve, opened: Open, tmp_path: Path
) -> None:
    example = ROOT / "examples" / "placement"
    plan = tmp_path / "plan.yaml"
    place("examples/placement/federation.yaml", example, failures=0).save(plan)
    page = opened(served(example / "federation.yaml", "--plan", plan).plain)
    tab(page, "Placement")
    expect(page.get_by_text("Highest risk of an overload: 9.9 % (lon-1) today")).to_be_visible()
    drawn = page.locator(".rw-chart svg")
    expect(drawn).to_have_count(2)
    for name in ("lon-1", "lon-2", "slo-1", "slo-2"):
        expect(drawn.first).to_contain_text(name)
    row = page.locator(".rw-table tr", has_text="prices/equity/paris")
    expect(row).to_contain_text("9.8 % less")
    assert looks(page, "brokers") == []  # the control
    row.click()
    wait_for_look(page, "brokers", number_of(page, "broker", "lon-1"), "before")
    wait_for_look(page, "brokers", number_of(page, "broker", "slo-2"), "after")
    wait_for_look(page, "brokers", number_of(page, "broker", "lon-2"), "witness")

    plan.write_text("plan: no plan")
    expect(page.get_by_text(re.compile(r"plan\.yaml: "))).to_be_visible()
    expect(drawn).to_have_count(0)


# --- audit --------------------------------------------------------------------------------------


def test_an_audit_is_shown_with_whom_violations_concern_and_read_again(
    filed: tuple[Served, Path], opened: Open
) -> None:
    console, work = filed
    page = opened(console.plain)
    tab(page, "Audit")
    expect(page.get_by_text("Delivery was not audited yet")).to_be_visible()  # the control
    name = "<img src=x onerror='window.hit = 1'>"
    written(work, [violation("A001", topic=name), violation("A005", consumer=None)])
    expect(page.get_by_text("2 violations in 1,234 rows.")).to_be_visible()
    page.locator(".q-chip", has_text="A001 lost-message 1").click()
    rows = page.locator(".rw-table tbody tr")
    expect(rows).to_have_count(1)
    expect(rows.first).to_contain_text(f"message 1 of feed on {name} never reached app")
    rows.first.click()
    wait_for_look(page, "brokers", number_of(page, "broker", "a"), "witness")
    wait_for_look(page, "brokers", number_of(page, "broker", "c"), "witness")
    wait_for_look(page, "brokers", number_of(page, "broker", "b"), None)
    expect(page.get_by_text(f"ropewalk trace show {work} 1")).to_be_visible()
    assert page.evaluate("() => window.hit ?? 0") == 0
