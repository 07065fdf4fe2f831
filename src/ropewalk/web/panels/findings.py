"""What verification finds under every failure; a click shows the witness on the map."""

from collections.abc import Sequence
from typing import Any

from nicegui import run, ui

from ropewalk.errors import RopewalkError
from ropewalk.findings import Finding, rules
from ropewalk.web.page import Console, Shown
from ropewalk.web.verdict import Verdict, verified, witness_of

LOOKS = {
    "error": ("error", "negative"),
    "warning": ("warning", "warning"),
    "note": ("info", "info"),
}
MOST = 100


def findings_panel(console: Console) -> None:
    """Build it; it looks at the federation again whenever its text changes."""
    state: dict[str, Verdict | None] = {"verdict": None}

    @ui.refreshable
    def told() -> None:
        if console.desk.faults:
            ui.label("The text is not valid (the map shows the last that was):").classes("rw-bad")
            _list(console, console.desk.faults)
            return
        verdict = state["verdict"]
        if verdict is None:
            ui.spinner()
            return
        ui.label(verdict.words).classes("rw-good" if verdict.ok else "rw-bad").mark("verdict")
        ui.label(verdict.scope).classes("text-caption")
        _list(console, verdict.findings)

    async def look() -> None:
        if console.desk.faults:
            told.refresh()
            return
        federation = console.desk.federation
        try:
            verdict = await run.io_bound(verified, federation)
        except RopewalkError as error:
            ui.notify(str(error), type="negative")
            return
        if federation is console.desk.federation:
            state["verdict"] = verdict
            told.refresh()

    told()
    console.on("desk", look)
    ui.timer(0.1, look, once=True)


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
