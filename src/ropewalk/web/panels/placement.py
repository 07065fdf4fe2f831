"""A plan before and after: risk and load of every broker, and moves that a click shows."""

import asyncio
from typing import Any

from nicegui import run, ui

from ropewalk.errors import RopewalkError
from ropewalk.web import page
from ropewalk.web.page import Console
from ropewalk.web.panels.tab import Tab
from ropewalk.web.plans import (
    MOST_BROKERS,
    Shown,
    concerned,
    load_options,
    plan_by,
    plan_in,
    risk_options,
)

PATIENCE_S = 180.0
"""The first plan of a machine compiles for half a minute."""
STYLE = """
.rw-chart svg text { fill: #1f2933 !important; stroke: none !important; }
.body--dark .rw-chart svg text { fill: #e5e7eb !important; }
"""
WHOLE = "white-space: nowrap"
COLUMNS: list[dict[str, Any]] = [
    {"name": "n", "label": "", "field": "n", "align": "left"},
    {"name": "item", "label": "item", "field": "item", "align": "left", "classes": "rw-wrap"},
    {"name": "from", "label": "from", "field": "from", "align": "left", "style": WHOLE},
    {"name": "to", "label": "to", "field": "to", "align": "left", "style": WHOLE},
    {"name": "why", "label": "why", "field": "why", "align": "left", "classes": "rw-wrap"},
]
_making = asyncio.Lock()
"""One plan at a time, whoever asks: they take both cores."""


def placement_panel(console: Console) -> None:
    """Build it."""
    given = console.given
    if given.plan is None and given.stats is None:
        ui.label("There is no plan to look at. Give one, or statistics to make one by:")
        for words in (
            "ropewalk place FILE --stats DIR -o plan.yaml",
            "ropewalk serve FILE --plan plan.yaml",
            "ropewalk serve FILE --stats DIR",
        ):
            ui.code(words, language="bash").classes("w-full")
        return
    _Placement(console).build()


class _Placement:
    """The panel of one browser tab."""

    def __init__(self, console: Console) -> None:
        self.console, self.tab = console, Tab()
        self.plan: Shown | None = None
        self.title = ""
        self.fault = ""
        self.stamp: tuple[int, int] | None = None

    def build(self) -> None:
        """The whole panel; a plan file is read when its tab is shown, and when it changes."""
        ui.add_css(STYLE)
        if self.console.given.stats is not None:
            with ui.row().classes("items-center gap-2"):
                self.button = ui.button("Place now", icon="tune", on_click=self._make)
                self.button.props("dense no-caps").mark("place-now")
                ui.label("Nothing is moved by it.").classes("text-caption")
                self.spinner = ui.spinner(size="sm")
                self.spinner.set_visibility(False)
        self.told()
        self.tab.changed(self._turned)
        ui.timer(3.0, self._reread)

    async def _turned(self, on: bool) -> None:
        if on:
            await self._reread()

    async def _reread(self) -> None:
        """The plan file, if it is another than was read; one that was made here stays."""
        path = self.console.given.plan
        if path is None or not self.tab.on or self.title.startswith("Made"):
            return
        try:
            found = path.stat()
        except OSError as error:
            stamp, self.fault = None, f"{path}: cannot be read: {error.strerror}"
        else:
            stamp = (found.st_mtime_ns, found.st_size)
        if stamp == self.stamp and (self.plan is not None or self.fault):
            return
        self.stamp = stamp
        if stamp is not None:
            await self._take(f"Plan {path}", plan_in, path)
        else:
            self.told.refresh()

    async def _make(self) -> None:
        """A plan by the statistics, for the federation as it is on the desk."""
        stats = self.console.given.stats
        if _making.locked():
            ui.notify("A plan is being made already: try again when it is done.")
            return
        self.button.disable()
        self.spinner.set_visibility(True)
        try:
            async with _making, asyncio.timeout(PATIENCE_S):
                await self._take(f"Made now by {stats}", plan_by, stats)
        except TimeoutError:
            ui.notify(f"No plan in {PATIENCE_S:g} s: use ropewalk place.", type="negative")
        finally:
            self.button.enable()
            self.spinner.set_visibility(False)

    async def _take(self, title: str, read: Any, path: Any) -> None:
        try:
            self.plan = await run.io_bound(read, path, self.console.desk.federation)
            self.title, self.fault = title, ""
        except RopewalkError as error:
            self.plan, self.fault = None, str(error)
        self.told.refresh()

    @ui.refreshable_method
    def told(self) -> None:
        """The plan in words, charts and a table."""
        plan = self.plan
        if self.fault:
            ui.label(self.fault).classes("rw-bad rw-wrap").mark("plan-fault")
        if plan is None:
            return
        ui.label(self.title).classes("text-caption rw-wrap")
        for words in plan.words:
            ui.label(words).classes("rw-wrap")
        for note in plan.notes:
            ui.label(f"Note: {note}").classes("rw-wrap text-caption")
        self._charts(plan)
        self._moves(plan)

    def _charts(self, plan: Shown) -> None:
        many = len(plan.brokers)
        more = f" (the {MOST_BROKERS} with the highest risk of {many})" * (many > MOST_BROKERS)
        height = f"height: {60 + 34 * min(many, MOST_BROKERS)}px"
        for words, options in (
            (f"Probability of an overload{more}", risk_options(plan.brokers)),
            ("Load, of what the broker may be given", load_options(plan.brokers)),
        ):
            ui.label(words).classes("text-subtitle2 q-mt-sm")
            ui.echart(options, renderer="svg").classes("w-full rw-chart").style(height)

    def _moves(self, plan: Shown) -> None:
        if not plan.moves:
            ui.label("No moves: everything stays where it is.")
            return
        ui.label("Moves, in their order. Click one to see whom it concerns.").classes(
            "text-subtitle2 q-mt-sm"
        )
        rows = [
            {"id": n, "n": n + 1, "item": one.item, "from": one.source or "nowhere",
             "to": one.target, "why": one.reason}
            for n, one in enumerate(plan.moves)
        ]  # fmt: skip
        table = ui.table(columns=COLUMNS, rows=rows, row_key="id", pagination=10)
        table.props("dense flat wrap-cells").classes("w-full rw-table").mark("moves")
        table.on("rowClick", self._clicked)

    def _clicked(self, event: Any) -> None:
        """The item's clients, and both brokers, on the map."""
        if self.plan is None:
            return
        move = self.plan.moves[int(event.args[1]["id"])]
        path = (("alternate", (move.source, move.target)),) if move.source else ()
        looks = concerned(self.console.desk.federation, move)
        self.console.show(page.Shown(paths=path, brokers=looks))
        ui.notify(
            f"{move.item}: orange from {move.source or 'nowhere'}, blue to {move.target};"
            " its other clients' brokers in purple."
        )
