"""What is failed: the colour, where messages go now, topics that are lost, load that moves."""

from typing import Any

from nicegui import ui

from ropewalk.web.outcome import Outcome
from ropewalk.web.page import Console, Shown

COLUMNS: list[dict[Any, Any]] = [
    {"name": "pair", "label": "pair", "field": "pair", "align": "left", "sortable": True},
    {"name": "topics", "label": "topics", "field": "topics", "align": "left"},
    {"name": "route", "label": "route", "field": "route", "align": "left", "classes": "rw-wrap"},
]


def failures_panel(console: Console) -> None:
    """Build it."""

    @ui.refreshable
    def told() -> None:
        outcome = console.outcome
        if outcome is None:
            ui.spinner()
            return
        _chips(console)
        _verdict(outcome)
        if outcome.lost:
            _lost(outcome)
        if console.desk.federation.bridges:
            ui.label("Bridges choose no route: what they carry is in the figures above.")
        _routes(console, outcome)
        _loads(outcome)

    told()
    console.on("failed", told.refresh)


def _chips(console: Console) -> None:
    with ui.row().classes("items-center gap-1"):
        if not console.failed:
            ui.label("Nothing is failed. Click links or brokers on the map, several at once.")
        for name in console.failed:
            ui.chip(
                name, icon="flash_off", color="red-9", text_color="white", removable=True
            ).props("dense").mark(f"failed-{name}").on_value_change(
                lambda _, n=name: console.set_failed(one for one in console.failed if one != n)
            )
        if console.failed:
            ui.button("Heal all", on_click=lambda: console.set_failed(())).props("flat dense")


def _verdict(outcome: Outcome) -> None:
    delivered = outcome.fates.get("delivered", 0)
    with ui.row().classes("items-baseline gap-4 rw-figures"):
        _figure(f"{delivered:,} of {outcome.pairs:,}", "pairs delivered")
        changed = sum(way.changed for way in outcome.ways)
        _figure(f"{changed:,}", "pairs on another way")
        _figure(f"{len(outcome.lost):,}", "topics lost")
        _figure(f"{outcome.colour:,}", "colour")
    ui.label(f"Failure {outcome.failure}").classes("text-caption rw-wrap")


def _figure(value: str, what: str) -> None:
    with ui.column().classes("gap-0"):
        ui.label(value).classes("text-h6 rw-figure")
        ui.label(what).classes("text-caption")


def _lost(outcome: Outcome) -> None:
    with ui.expansion(f"Lost: {', '.join(outcome.lost)[:200]}", icon="error").classes("rw-lost"):
        for topic, pairs in list(outcome.lost.items())[:50]:
            ui.label(topic).classes("text-bold")
            for pair in pairs[:20]:
                ui.label(pair).classes("text-caption q-pl-md")


def _routes(console: Console, outcome: Outcome) -> None:
    ways = outcome.ways
    rows = []
    for number, way in enumerate(ways[:200]):
        said = way.as_dict()
        moved = f"{said['after']}   (was {said['before']})" if way.changed else said["before"]
        rows.append(
            {
                "id": number,
                "pair": f"{way.source} > {way.to}",
                "topics": said["topics"],
                "route": moved,
                "changed": way.changed,
            }
        )

    def chosen(event: object) -> None:
        picked = getattr(event, "args", [None, {}])[1]
        way = ways[int(picked["id"])]
        paths = [("before", way.before)] if way.changed else []
        paths += [("after", way.after)] if way.fate == "delivered" else [("witness", way.after)]
        console.show(Shown(paths=tuple(paths)))

    ui.label("Routes; those that changed come first. Click one to see it.").classes(
        "text-subtitle2"
    )
    table = ui.table(columns=COLUMNS, rows=rows, row_key="id", pagination=12)
    table.props("dense flat wrap-cells").classes("w-full rw-table").mark("routes")
    table.on("rowClick", chosen)
    if len(ways) > 200:
        ui.label(f"The first 200 of {len(ways):,} that were looked at.").classes("text-caption")


def _loads(outcome: Outcome) -> None:
    load, graph = outcome.load, outcome.result.check.graph
    more = load.brokers_after - load.brokers_before
    worst = [b for b in (-more).argsort(kind="stable")[:5].tolist() if more[b] > 0]
    if not worst:
        return
    ui.label("Load that comes on top (client pairs through the broker)").classes("text-subtitle2")
    for b in worst:
        before, after = int(load.brokers_before[b]), int(load.brokers_after[b])
        ui.label(f"{graph.names[b]}: {before:,} -> {after:,}").classes("text-caption")
