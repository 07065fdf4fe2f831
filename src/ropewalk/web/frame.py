"""The frame of the page: header, map with its tools, tabs; and how it looks."""

from collections.abc import Callable
from pathlib import Path

from nicegui import ui

from ropewalk.web.given import Given
from ropewalk.web.map import NetworkMap
from ropewalk.web.page import Console
from ropewalk.web.panels.audit import audit_panel
from ropewalk.web.panels.edit import edit_panel
from ropewalk.web.panels.failures import failures_panel
from ropewalk.web.panels.findings import findings_panel
from ropewalk.web.panels.live import live_panel
from ropewalk.web.panels.paths import paths_panel
from ropewalk.web.panels.placement import placement_panel
from ropewalk.web.panels.protocols import protocols_panel

Build = Callable[[Console], None]

PANELS: tuple[tuple[str, str, Build], ...] = (
    ("Failures", "flash_on", failures_panel),
    ("Findings", "rule", findings_panel),
    ("Edit", "edit", edit_panel),
    ("Paths", "alt_route", paths_panel),
    ("Placement", "balance", placement_panel),
    ("Protocols", "forum", protocols_panel),
    ("Live", "sensors", live_panel),
    ("Audit", "fact_check", audit_panel),
)
"""Tab, icon and panel, in the order in which people need them."""

STYLE = Path(__file__).with_name("style.css")


def build(given: Given, *, may_change: bool) -> Console:
    """Build the page for one tab."""
    console = Console(given, may_change=may_change)
    ui.add_css(STYLE.read_text("utf-8"))
    ui.colors(primary="#1463d2")
    dark = ui.dark_mode(None)
    _header(console, dark)
    with ui.element("div").classes("rw-main"):
        with ui.element("div").classes("rw-left"):
            console.map = NetworkMap(
                console.scene, on_pick=console.clicked, on_region=console.dragged
            )
            console.map.classes("rw-map")
            _tools(console)
            _legend()
        with ui.element("div").classes("rw-right"):
            _tabs(console)
    ui.timer(0.05, lambda: console.set_failed(()), once=True)
    ui.timer(0.1, console.verify, once=True)
    ui.context.client.on_delete(console.stop)
    return console


def _header(console: Console, dark: ui.dark_mode) -> None:
    with ui.header().classes("items-center no-wrap rw-header"):
        ui.label("Ropewalk").classes("text-subtitle1 text-bold")
        title = ui.label().classes("rw-title").mark("title")
        ui.space()
        if not console.may_change:
            ui.badge("read only", color="grey-7").tooltip("Open the address with its token.")
        ui.button(icon="dark_mode", on_click=lambda: dark.set_value(not dark.value)).props(
            "flat round dense color=white"
        ).tooltip("Light or dark")

    def retitle() -> None:
        federation = console.desk.federation
        star = " *" if console.desk.changed else ""
        sizes = f"{len(federation.brokers):,} brokers, {len(federation.links):,} links"
        title.set_text(f"{federation.name}{star}: {sizes}, {len(federation.topics):,} topics")

    def hold() -> None:
        """The browser asks before it closes a tab with edits that are not saved."""
        ask = "(event) => event.preventDefault()" if console.desk.changed else "null"
        ui.run_javascript(f"window.onbeforeunload = {ask}")

    retitle()
    console.on("desk", retitle)
    console.on("desk", hold)


def _tools(console: Console) -> None:
    with ui.element("div").classes("rw-tools"):
        mode = ui.toggle({"fail": "Click fails", "look": "Click selects"}, value="fail")
        mode.props("dense no-caps unelevated").mark("mode")
        mode.on_value_change(lambda event: setattr(console, "pick_mode", event.value))
        console.show_mode = mode.set_value
        view = ui.toggle({"map": "Map", "sheet": "Logical"}).props("dense no-caps unelevated")
        view.set_value("map" if console.scene.map is not None else "sheet")
        view.mark("view").on_value_change(lambda event: _set_view(console, event.value))
        load = ui.checkbox("Load").props("dense").classes("q-px-sm rounded-borders")

        def loaded(event: object) -> None:
            console.with_load = bool(getattr(event, "value", False))
            console.paint()

        load.on_value_change(loaded)


def _set_view(console: Console, view: str) -> None:
    if view == "map" and console.scene.map is None:
        ui.notify("No broker or site has a place on the map: write at: [LATITUDE, LONGITUDE].")
        return
    if console.map is not None:
        console.map.set_view("map" if view == "map" else "sheet")


def _legend() -> None:
    with ui.element("div").classes("rw-legend"):
        for words, colour in (
            ("down", "#c81e1e"),
            ("before", "#e08700"),
            ("now", "#1463d2"),
            ("alternate", "#7a3fc4"),
            ("witness", "#c026a8"),
        ):
            ui.html(f'<span style="--c:{colour}">{words}</span>', sanitize=False)


def _tabs(console: Console) -> None:
    with ui.tabs().props("dense inline-label outside-arrows mobile-arrows align=left") as tabs:
        for name, icon, _ in PANELS:
            ui.tab(name, icon=icon).mark(f"tab-{name.lower()}")
    with ui.tab_panels(tabs, value=PANELS[0][0], keep_alive=True).classes("w-full"):
        for name, _, panel in PANELS:
            with ui.tab_panel(name):
                panel(console)
