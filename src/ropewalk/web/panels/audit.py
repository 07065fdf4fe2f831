"""What the pipeline's audit found: counts, kinds, violations; a click shows whom one concerns."""

from typing import Any

from nicegui import run, ui

from ropewalk.web.audits import MOST_OF_A_KIND, Audited, Stamp, Violation, audited, stamp_of
from ropewalk.web.page import Console, Shown
from ropewalk.web.panels.tab import Tab

EVERY_S = 3.0
TONES = {"bad": "rw-bad", "good": "rw-good"}
ALL = ""
COLUMNS: list[dict[str, Any]] = [
    {"name": "number", "label": "number", "field": "number", "align": "left", "sortable": True},
    {"name": "code", "label": "code", "field": "code", "align": "left", "sortable": True},
    {"name": "words", "label": "what", "field": "words", "align": "left", "classes": "rw-wrap"},
]


def audit_panel(console: Console) -> None:
    """Build it."""
    work = console.given.work
    if work is None:
        ui.label("No results are looked at. Have traces audited, and open their folder:")
        for words in ("ropewalk pipeline all DIR", "ropewalk serve FILE --work DIR"):
            ui.code(words, language="bash").classes("w-full")
        return
    _Audit(console).build()


class _Audit:
    """The panel of one browser tab."""

    def __init__(self, console: Console) -> None:
        self.console, self.tab = console, Tab()
        self.stamp: Stamp | None = None
        self.found: Audited | None = None
        self.kind = ALL
        self.picked: Violation | None = None

    def build(self) -> None:
        """The whole panel; it looks for newer results while its tab is shown."""
        self.told()
        self.command()
        self.violations()
        self.tab.changed(self._turned)
        ui.timer(EVERY_S, self._look)

    async def _turned(self, on: bool) -> None:
        if on:
            await self._look()

    async def _look(self) -> None:
        """Read the folder again if a job has written there."""
        folder = self.console.given.work
        if folder is None or not self.tab.on:
            return
        stamp = stamp_of(folder)
        if stamp == self.stamp:
            return
        self.stamp = stamp
        self.found = await run.io_bound(audited, folder, self.console.desk.federation)
        self.picked = None
        for one in (self.told, self.command, self.violations):
            one.refresh()

    @ui.refreshable_method
    def told(self) -> None:
        """Verdict, counts and kinds."""
        found = self.found
        if found is None:
            ui.spinner()
            return
        ui.label(found.folder).classes("text-caption rw-wrap")
        if found.fault:
            ui.label(found.fault).classes("rw-wrap rw-bad").mark("audit-fault")
        else:
            look = "rw-good" if found.good else "rw-bad"
            ui.label(found.words).classes(look).mark("audit-verdict")
        with ui.row().classes("items-baseline gap-4"):
            for name, value, tone in found.figures:
                with ui.column().classes("gap-0"):
                    ui.label(value).classes(f"text-h6 rw-figure {TONES.get(tone, '')}")
                    ui.label(name).classes("text-caption")
        for note in found.notes:
            ui.label(note).classes("rw-wrap text-caption")
        if found.kinds:
            self._kinds(found)

    def _kinds(self, found: Audited) -> None:
        some = [one for one in found.kinds if one.count]
        none = [f"{one.code} {one.name}" for one in found.kinds if not one.count]
        with ui.row().classes("gap-1"):
            for one in some:
                chip = ui.chip(
                    f"{one.code} {one.name} {one.count:,}",
                    color="negative",
                    on_click=lambda code=one.code: self._only(code),
                )
                chip.props("dense outline").tooltip("Show only these")
        if none:
            ui.label(f"No violation of {', '.join(none)}.").classes("text-caption rw-wrap")

    @ui.refreshable_method
    def command(self) -> None:
        """How to see the rows behind the violation that is picked."""
        if self.found is None or self.picked is None:
            return
        concerned = ", ".join(self.picked.brokers) or "no broker of this federation"
        ui.label(f"Violation {self.picked.number} concerns {concerned}. Its rows:").classes(
            "rw-wrap"
        ).mark("concerns")
        ui.code(self.found.command(self.picked.number), language="bash").classes("w-full")

    @ui.refreshable_method
    def violations(self) -> None:
        """The violations, of one kind or of all."""
        found = self.found
        if found is None or not found.violations:
            return
        some = [one for one in found.violations if self.kind in (ALL, one.code)]
        total = sum(one.count for one in found.kinds if self.kind in (ALL, one.code))
        with ui.row().classes("items-center gap-2"):
            ui.label(f"Violations{f' {self.kind}' * bool(self.kind)}").classes("text-subtitle2")
            if self.kind:
                ui.button("All kinds", on_click=lambda: self._only(ALL)).props("flat dense no-caps")
        if len(some) < total:
            ui.label(
                f"{len(some):,} of {total:,}: the first {MOST_OF_A_KIND} of every kind."
            ).classes("text-caption")
        rows = [{"number": one.number, "code": one.code, "words": one.words} for one in some]
        table = ui.table(columns=COLUMNS, rows=rows, row_key="number", pagination=10)
        table.props("dense flat wrap-cells").classes("w-full rw-table").mark("violations")
        table.on("rowClick", lambda event: self._pick(int(event.args[1]["number"])))

    def _only(self, kind: str) -> None:
        self.kind = kind
        self.violations.refresh()

    def _pick(self, number: int) -> None:
        """The brokers concerned on the map."""
        some = self.found.violations if self.found is not None else ()
        self.picked = next((one for one in some if one.number == number), None)
        if self.picked is not None:
            self.console.show(Shown(brokers=dict.fromkeys(self.picked.brokers, "witness")))
        self.command.refresh()
