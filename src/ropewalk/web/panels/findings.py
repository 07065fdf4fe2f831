"""What verification finds under every failure; a click shows the witness on the map."""

from collections.abc import Sequence
from typing import Any

from nicegui import ui

from ropewalk.findings import Finding, rules
from ropewalk.web.page import Console, Shown
from ropewalk.web.verdict import witness_of

LOOKS = {
    "error": ("error", "negative"),
    "warning": ("warning", "warning"),
    "note": ("info", "info"),
}
MOST = 100


def findings_panel(console: Console) -> None:
    """Build it."""

    @ui.refreshable
    def told() -> None:
        verdict_lines(console)
        if console.desk.loaded and console.verdict is not None:
            ui.label(console.verdict.scope).classes("text-caption")
            _list(console, console.verdict.findings)

    told()
    console.on("desk", told.refresh)
    console.on("verdict", told.refresh)


def verdict_lines(console: Console) -> None:
    """The verdict in a line, or what is wrong with the text; where it is being looked at, so."""
    if not console.desk.loaded:
        ui.label("The text is not valid; the map shows the last that was.").classes("rw-bad")
        _list(console, console.desk.faults)
    elif console.verdict is None:
        with ui.row().classes("items-center gap-2"):
            ui.spinner(size="sm")
            ui.label("Verifying ...")
    else:
        good = "rw-good" if console.verdict.ok else "rw-bad"
        ui.label(console.verdict.words).classes(good).mark("verdict")


def _list(console: Console, findings: Sequence[Finding]) -> None:
    for finding in findings[:MOST]:
        icon, colour = LOOKS[finding.severity]
        with ui.card().props("flat bordered").classes("w-full q-pa-sm rw-finding") as card:
            with ui.row().classes("items-center gap-2 no-wrap"):
                ui.icon(icon, color=colour)
                ui.label(f"{finding.code} {rules()[finding.code].name}").classes("text-bold")
                ui.label(str(finding.where)).classes("text-caption rw-where")
            ui.label(finding.message).classes("rw-wrap")
            with ui.expansion("What to do").props("dense").classes("w-full"):
                ui.label(rules()[finding.code].meaning).classes("rw-wrap")
                ui.label(rules()[finding.code].fix).classes("rw-wrap")
        card.on("click", lambda _, one=finding: _show(console, one))
    if len(findings) > MOST:
        ui.label(f"{len(findings) - MOST} more; `ropewalk verify` tells all.")


async def _show(console: Console, finding: Finding) -> None:
    """The witness on the map, with the failure that it is about."""
    path, failed = witness_of(finding, console.desk.federation)
    if failed != console.failed:
        await console.set_failed(failed)
    paths: tuple[Any, ...] = (("witness", path),) if len(path) > 1 else ()
    console.show(Shown(paths=paths, brokers=dict.fromkeys(path, "witness")))
