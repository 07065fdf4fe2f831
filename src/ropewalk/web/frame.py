"""The frame of the page: header, map with its tools, tabs; and how it looks."""

from collections.abc import Callable

from nicegui import ui

from ropewalk.web.given import Given
from ropewalk.web.map import NetworkMap
from ropewalk.web.page import Console
from ropewalk.web.panels.failures import failures_panel
from ropewalk.web.panels.findings import findings_panel

Build = Callable[[Console], None]

PANELS: tuple[tuple[str, str, Build], ...] = (
    ("Failures", "flash_on", failures_panel),
    ("Findings", "rule", findings_panel),
)
"""Tab, icon and panel, in the order in which people need them."""

STYLE = """
.rw-header { height: 50px; padding: 0 14px; gap: 12px; }
body { font-family: system-ui, "DejaVu Sans", sans-serif; }
.nicegui-content { padding: 0; gap: 0; }
.rw-main { display: grid; grid-template-columns: minmax(0, 1fr) 470px; width: 100%;
  height: calc(100vh - 50px); }
.rw-left { position: relative; min-height: 0; }
.rw-map { position: absolute; inset: 0; background: #f8fafc; }
.body--dark .rw-map { background: #101820; }
.rw-map .leaflet-container { background: transparent; font: inherit; }
.rw-tools { position: absolute; left: 56px; top: 8px; right: 8px; z-index: 500;
  display: flex; gap: 6px; flex-wrap: wrap; pointer-events: none; }
.rw-tools > * { pointer-events: auto; background: var(--rw-card); }
.rw-legend { position: absolute; left: 8px; bottom: 8px; z-index: 500; padding: 4px 10px;
  border-radius: 6px; background: var(--rw-card); font-size: 12px; display: flex; gap: 12px; }
.rw-legend span::before { content: ""; display: inline-block; width: 18px; height: 0;
  border-top: 4px solid var(--c); vertical-align: middle; margin-right: 5px; }
:root { --rw-card: #ffffffe8; --rw-bad: #b91c1c; --rw-good: #15803d; }
.body--dark { --rw-card: #1c2733e8; --rw-bad: #ff8a8a; --rw-good: #4ade80; }
.rw-right { overflow: auto; border-left: 1px solid #8884; min-width: 0; }
.rw-right .q-tab-panel { padding: 12px; }
.rw-right .q-tab { padding: 0 10px; min-height: 44px; }
.rw-right .q-tab__label { font-size: 12px; text-transform: none; }
.leaflet-tooltip.rw-name { background: none; border: 0; box-shadow: none; padding: 0; font-size: 11px;
  color: #1f2933; text-shadow: 0 0 3px #fff, 0 0 3px #fff, 0 0 3px #fff; }
.leaflet-tooltip.rw-name::before { display: none; }
.body--dark .leaflet-tooltip.rw-name { color: #e5e7eb; text-shadow: 0 0 3px #000, 0 0 3px #000, 0 0 3px #000; }
.rw-knob { background: #b7791f; border: 3px solid #fff; border-radius: 50%; cursor: grab; }
.rw-wrap { white-space: normal; overflow-wrap: anywhere; }
.rw-where { overflow-wrap: anywhere; opacity: .8; }
.rw-bad { color: var(--rw-bad); font-weight: 600; }
.rw-good { color: var(--rw-good); font-weight: 600; }
.rw-figure { line-height: 1.3; font-variant-numeric: tabular-nums; }
.rw-finding { cursor: pointer; }
.rw-table td, .rw-table th { padding: 4px 6px !important; font-size: 12px; }
.rw-table tbody tr { cursor: pointer; }
.rw-title { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
@media (max-width: 900px) {
  .rw-main { display: block; height: auto; }
  .rw-left { height: 55vh; }
  .rw-right { border-left: 0; border-top: 1px solid #8884; overflow: visible; }
  .rw-legend { font-size: 11px; gap: 8px; padding: 3px 6px; }
  .rw-small-hide { display: none !important; }
}
"""


def build(given: Given, *, may_change: bool) -> Console:
    """Build the page for one tab."""
    console = Console(given, may_change=may_change)
    ui.add_css(STYLE)
    ui.colors(primary="#1463d2")
    dark = ui.dark_mode(None)
    _header(console, dark)
    with ui.element("div").classes("rw-main"):
        with ui.element("div").classes("rw-left"):
            console.map = NetworkMap(
                console.scene, on_pick=console.clicked, on_region=console.set_region
            )
            console.map.classes("rw-map")
            _tools(console)
            _legend()
        with ui.element("div").classes("rw-right"):
            _tabs(console)
    ui.timer(0.05, lambda: console.set_failed(()), once=True)
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

    retitle()
    console.on("desk", retitle)


def _tools(console: Console) -> None:
    with ui.element("div").classes("rw-tools"):
        mode = ui.toggle({"fail": "Click fails", "look": "Click selects"}, value="fail")
        mode.props("dense no-caps unelevated").mark("mode")
        mode.on_value_change(lambda event: setattr(console, "pick_mode", event.value))
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
