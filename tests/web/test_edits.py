"""Edits in a browser that are easily lost: typed and taken back, undone, saved, and opened again."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import Open, Serve, Served, tab
from tests.web.test_console import TOPICS


@pytest.fixture(scope="module")
def console(served: Serve, tmp_path_factory: pytest.TempPathFactory) -> tuple[Served, Path]:
    file = tmp_path_factory.mktemp("edits") / "small.yaml"
    file.write_text(TOPICS, "utf-8")
    return served(file), file


def yaml(page: Page) -> None:
    """Turn to the text, at its end."""
    tab(page, "Edit")
    page.get_by_role("button", name="YAML", exact=True).click()
    page.locator(".cm-content").click()
    page.keyboard.press("Control+End")


def test_what_is_typed_and_taken_back_at_once_does_not_come_again(
    console: tuple[Served, Path], opened: Open
) -> None:
    page = opened(console[0].url)
    yaml(page)
    page.keyboard.type("#")
    page.wait_for_timeout(60)
    page.keyboard.press("Backspace")
    page.wait_for_timeout(1000)
    expect(page.locator(".rw-title")).to_have_text("small: 3 brokers, 3 links, 1 topics")
    expect(page.locator(".cm-content")).not_to_contain_text("]}#")


def test_fields_that_are_valid_together_only_are_filled_one_after_the_other(
    console: tuple[Served, Path], opened: Open
) -> None:
    page = opened(console[0].url)
    tab(page, "Edit")
    bad = page.get_by_text("The text is not valid")
    for field in ("receive_us", "filter_us"):
        page.get_by_label(field).fill("3")
        expect(bad.first).to_be_visible()
    page.get_by_label("send_us").fill("3")
    expect(bad).to_have_count(0)
    expect(page.get_by_role("button", name="Save")).to_be_enabled()


def test_the_form_shows_what_was_undone_and_a_new_tab_what_was_saved(
    console: tuple[Served, Path], opened: Open
) -> None:
    page = opened(console[0].url)
    tab(page, "Edit")
    fails = page.get_by_label("fails")
    fails.fill("0.25")
    expect(page.get_by_role("button", name="Undo")).to_be_enabled()
    page.get_by_role("button", name="Undo").click()
    expect(fails).to_have_value("0")
    fails.fill("0.5")
    expect(page.get_by_role("button", name="Save")).to_be_enabled()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved")).to_be_visible()
    page.reload()
    tab(page, "Edit")
    expect(page.get_by_label("fails")).to_have_value("0.5")
    console[1].write_text(TOPICS, "utf-8")


def test_after_an_edit_paths_and_regions_are_those_of_what_is_there_now(
    console: tuple[Served, Path], opened: Open
) -> None:
    page = opened(console[0].url)
    tab(page, "Paths")
    page.get_by_role("switch", name="Show a region").click()
    page.get_by_label("radius_km").fill("5000")
    expect(page.get_by_text("takes 3 brokers")).to_be_visible()
    yaml(page)
    page.keyboard.press("Control+a")
    page.keyboard.insert_text("federation: tiny\nbrokers: {zz: {at: [49, 5]}}\n")
    expect(page.locator(".rw-title")).to_have_text(re.compile("^tiny"))
    tab(page, "Paths")
    expect(page.get_by_text("takes 1 brokers")).to_be_visible()
    page.get_by_role("button", name="Fail all of it").click()
    tab(page, "Failures")
    expect(page.get_by_text("Failure zz")).to_be_visible()
    page.get_by_role("button", name="Logical").click()  # where no degrees are
    expect(page.locator(".rw-knob")).to_have_count(0)
