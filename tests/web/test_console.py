"""The console in a browser: what fails, what is edited, who may do it, and that it stays at home."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from ropewalk import generate, load, save, shortest_paths
from tests.web.conftest import Open, Serve, Served, click, number_of, tab

TOPICS = """\
federation: small
sites:
  london: {at: [51.507, -0.128]}
  paris: {at: [48.857, 2.352]}
  berlin: {at: [52.52, 13.405]}
brokers:
  lon: {site: london}  # the head office
  par: {site: paris}
  ber: {site: berlin}
links:
  - {between: [lon, par]}
  - {between: [par, ber]}
  - {between: [lon, ber], cost: 5}
topics:
  prices: {publishers: [lon], subscribers: [ber]}
"""


@pytest.fixture(scope="module")
def fifty(served: Serve, tmp_path_factory: pytest.TempPathFactory) -> Served:
    file = tmp_path_factory.mktemp("fifty") / "fifty-broker.yaml"
    save(generate("fifty-broker"), file)
    return served(file)


@pytest.fixture
def small(served: Serve, tmp_path: Path) -> tuple[Served, Path]:
    file = tmp_path / "small.yaml"
    file.write_text(TOPICS, "utf-8")
    return served(file), file


def test_a_link_that_is_clicked_fails_and_the_route_changes(fifty: Served, opened: Open) -> None:
    page = opened(fifty.plain)
    route = page.locator("tr", has_text="b3 > b1")
    expect(route).to_contain_text("b3 > b11 > b1")
    expect(page.get_by_text("pairs on another way").locator("..")).to_contain_text("0")
    click(page, "link", number_of(page, "link", "b1--b11"))
    expect(page.get_by_text("Failure b1--b11")).to_be_visible()
    expect(route).to_contain_text("b3 > b16 > b1")
    expect(page.get_by_text("pairs on another way").locator("..")).to_contain_text("3")
    painted = page.evaluate("() => window.rwmap.told.paint")
    drawn = [[page_name(page, b) for b in one["nodes"]] for one in painted["paths"]]
    assert ["b3", "b16", "b1"] in drawn
    click(page, "link", number_of(page, "link", "b1--b11"))  # again: it is healed
    expect(page.get_by_text("Failure none")).to_be_visible()
    expect(route).to_contain_text("b3 > b11 > b1")


def page_name(page: Any, broker: int) -> str:
    return str(page.evaluate("(b) => window.rwmap.told.scene.brokers[b]", broker))


def test_several_things_fail_at_once_and_lost_topics_are_told(fifty: Served, opened: Open) -> None:
    page = opened(fifty.plain)
    click(page, "broker", number_of(page, "broker", "b2"))
    expect(page.get_by_text("Lost: weather, sports, stock")).to_be_visible()
    click(page, "link", number_of(page, "link", "b1--b11"))
    expect(
        page.get_by_text(re.compile(r"^Failure b1--b11 \+ b2$|^Failure b2\+b1--b11$"))
    ).to_be_visible()
    expect(page.get_by_text("3 of 6", exact=True)).to_be_visible()
    page.get_by_role("button", name="Heal all").click()
    expect(page.get_by_text("6 of 6", exact=True)).to_be_visible()


def test_what_the_page_shows_is_what_the_tables_say(fifty: Served, opened: Open) -> None:
    """The oracle is the plain table, not the code behind the page."""
    page = opened(fifty.plain)
    table = shortest_paths(generate("fifty-broker"))
    at, way = "b1", ["b1"]
    while at != "b50":
        at = table.hop(at, "b50") or "nowhere"
        way.append(at)
    expect(page.locator("tr", has_text="b1 > b50")).to_contain_text(" > ".join(way))


def test_a_broker_that_is_edited_changes_the_verification(
    small: tuple[Served, Path], opened: Open
) -> None:
    console, file = small
    page = opened(console.url)
    tab(page, "Edit")
    expect(
        page.get_by_text("Everything that could be delivered is delivered.").first
    ).to_be_visible()
    page.get_by_role("button", name="YAML", exact=True).click()
    area = page.locator(".cm-content")
    area.click()
    page.keyboard.press("Control+End")
    page.keyboard.type(
        "routes:\n- {at: lon, to: ber, next: par}\n- {at: par, to: ber, next: lon}\n"
    )
    bad = page.get_by_text(re.compile("The configuration is not right: 1 error"))
    expect(bad.first).to_be_visible()
    tab(page, "Findings")
    card = page.locator(".rw-finding", has_text="V002").first
    card.click()
    page.wait_for_function(
        "() => (window.rwmap.told.paint.paths ?? []).some((p) => p.kind === 'witness')"
    )
    assert file.read_text("utf-8") == TOPICS, "nothing is saved unasked"


def test_a_form_that_gives_a_broker_another_make_breaks_a_promise_and_mends_it(
    served: Serve, opened: Open, tmp_path: Path
) -> None:
    file = tmp_path / "fifty.yaml"
    save(generate("fifty-broker"), file)
    promised = "contract: {delivery: exactly-once}"
    text = file.read_text("utf-8").replace("subscribers: [b1]}", f"subscribers: [b1], {promised}}}")
    assert promised in text
    file.write_text(text, "utf-8")
    page = opened(served(file).url)
    tab(page, "Edit")
    good = page.get_by_text("Everything that could be delivered is delivered.").first
    expect(good).to_be_visible()
    for make, told in (("rabbitmq", page.get_by_text("not right: 1 error").first), ("nats", good)):
        page.get_by_label("make").click()
        page.get_by_role("option", name=make).click()
        expect(told).to_be_visible()
        tab(page, "Findings")
        drops = page.locator(".rw-finding", has_text="RabbitMQ drops no message")
        expect(drops).to_have_count(1 if make == "rabbitmq" else 0)
        tab(page, "Edit")


def test_a_form_changes_one_line_and_save_writes_it(
    small: tuple[Served, Path], opened: Open
) -> None:
    console, file = small
    page = opened(console.url)
    tab(page, "Edit")
    page.get_by_label("fails").fill("0.25")
    expect(page.get_by_role("button", name="Save")).to_be_enabled()
    with page.expect_download() as loading:
        page.get_by_role("button", name="Download YAML").click()
    changed = Path(loading.value.path()).read_text("utf-8")
    assert (
        changed.replace(
            "  lon: {site: london, fails: 0.25}", "  lon: {site: london}  # the head office"
        )
        == TOPICS
    )
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved")).to_be_visible()
    assert load(file).brokers["lon"].fails == 0.25


def test_a_value_that_is_wrong_is_told_with_its_line(
    small: tuple[Served, Path], opened: Open
) -> None:
    console, file = small
    page = opened(console.url)
    tab(page, "Edit")
    page.get_by_label("fails").fill("7")
    expect(page.get_by_text("The text is not valid").first).to_be_visible()
    expect(page.get_by_text(f"{file}:7").first).to_be_visible()
    expect(page.get_by_role("button", name="Save")).to_be_disabled()
    page.get_by_role("button", name="Undo").click()
    expect(
        page.get_by_text("Everything that could be delivered is delivered.").first
    ).to_be_visible()


def test_alternate_paths_and_a_region_that_is_dragged(
    served: Serve, opened: Open, tmp_path: Path
) -> None:
    file = tmp_path / "germany.yaml"
    save(generate("topohub", map="sndlib/germany50"), file)
    page = opened(served(file).plain)
    tab(page, "Paths")
    for label, name in (("from", "Hamburg"), ("to", "Muenchen")):
        page.get_by_label(label, exact=True).fill(name)
        page.get_by_role("option", name=name, exact=True).click()
    page.get_by_role("button", name="Find paths").click()
    expect(page.get_by_text(re.compile("^alternate: "))).to_be_visible()
    page.wait_for_function(
        "() => window.rwmap.told.paint.paths.map((p) => p.kind).join() === 'primary,alternate'"
    )
    page.get_by_role("switch", name="Show a region").click()
    words = page.get_by_text(re.compile(r"^100 km around"))
    expect(words).to_be_visible()
    before = words.inner_text()
    knob = page.locator(".rw-knob").first.bounding_box()
    assert knob is not None
    page.mouse.move(knob["x"] + 10, knob["y"] + 10)
    page.mouse.down()
    page.mouse.move(knob["x"] + 60, knob["y"] - 90, steps=5)
    page.mouse.up()
    expect(words).not_to_have_text(before)
    page.get_by_role("button", name="Fail all of it").click()
    tab(page, "Failures")
    expect(page.get_by_role("button", name="Heal all")).to_be_visible()


def test_names_are_text_whatever_they_look_like(
    served: Serve, opened: Open, tmp_path: Path
) -> None:
    file = tmp_path / "odd.yaml"
    odd = "<img src=x onerror=window.hit=1>"
    file.write_text(TOPICS.replace("prices:", f'"{odd}":').replace("small", "odd"), "utf-8")
    page = opened(served(file).url)
    expect(page.locator("tr", has_text="onerror")).to_be_visible()
    for name in ("Findings", "Edit", "Paths", "Failures"):
        tab(page, name)
    click(page, "broker", 0)
    expect(page.get_by_text("Lost: <img")).to_be_visible()
    assert page.evaluate("() => window.hit") is None


def test_who_has_no_token_may_look_and_not_save(small: tuple[Served, Path], opened: Open) -> None:
    console, _ = small
    page = opened(console.plain)
    expect(page.get_by_text("read only")).to_be_visible()
    tab(page, "Edit")
    page.get_by_label("fails").fill("0.25")
    expect(
        page.get_by_text("Everything that could be delivered is delivered.").first
    ).to_be_visible()
    expect(page.get_by_role("button", name="Save")).to_be_disabled()


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_nothing_sticks_out_sideways(fifty: Served, opened: Open, width: int, height: int) -> None:
    page = opened(fifty.plain, width=width, height=height)
    for name in ("Failures", "Findings", "Edit", "Paths"):
        tab(page, name)
        page.wait_for_timeout(150)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width, name
