"""What really happens: the map as the agents say it is, and faults for a lab."""

from datetime import UTC, datetime
from typing import Any

from nicegui import run, ui

from ropewalk.agent.lab.control import order
from ropewalk.errors import RopewalkError
from ropewalk.web.live import Picture
from ropewalk.web.page import Console, Shown
from ropewalk.web.panels.tab import Tab
from ropewalk.web.watcher import Watcher

EVERY_S = 0.3
BROKER_LOOKS = {"up": "ok", "faulty": "suspect", "unreachable": "down"}
LINK_LOOKS = {"up": "ok", "suspect": "suspect", "down": "down", "unknown": "suspect"}
READ_ONLY = "Only who opened the address with its token may break things here."
NO_LAB = "Only a lab is broken from here: ropewalk serve FILE --lab DIR."
LEGEND = "Green: both ends say that it works. Amber: in doubt. Red: down, or not to be heard."
FAULTS = {
    "link": (
        ("Cut", "cut", "{}", "Connections are reset, new ones refused."),
        ("Blackhole", "blackhole", "{}", "Bytes are held, nothing is closed."),
        ("Heal", "heal", "{}", "Let it work again."),
    ),
    "broker": (
        ("Kill broker", "kill", "{}", "SIGKILL; heal starts it again."),
        ("Heal broker", "heal", "{}", "Start it again."),
        ("Kill agent", "kill", "agent:{}", "SIGKILL; heal starts it again."),
        ("Heal agent", "heal", "agent:{}", "Start it again."),
    ),
}
WHOLE, SMALL_HIDE = "white-space: nowrap", "rw-small-hide"
COLUMNS: list[dict[str, Any]] = [
    {"name": "broker", "label": "broker", "field": "broker", "align": "left", "sortable": True},
    {"name": "state", "label": "agent", "field": "state", "align": "left", "sortable": True},
    {"name": "links", "label": "links", "field": "links", "align": "left", "style": WHOLE},
    {"name": "load", "label": "load", "field": "load", "sortable": True},
    {"name": "custody", "label": "custody", "field": "custody", "sortable": True},
    {"name": "delivered", "label": "delivered", "field": "delivered", "sortable": True,
     "classes": SMALL_HIDE, "headerClasses": SMALL_HIDE},
]  # fmt: skip
NEWS: list[dict[str, Any]] = [
    {"name": "at", "label": "UTC", "field": "at", "align": "left"},
    {"name": "broker", "label": "broker", "field": "broker", "align": "left"},
    {"name": "what", "label": "news", "field": "what", "align": "left", "classes": "rw-wrap"},
]
STATE_CELL = """
<q-td :props="props"><span :class="props.row.good ? 'rw-good' : 'rw-bad'">{{ props.value }}</span>
<div class="rw-wrap" v-if="props.row.why">{{ props.row.why }}</div></q-td>
"""


def live_panel(console: Console) -> None:
    """Build it."""
    watcher = console.given.watcher
    if watcher is None:
        ui.label("Nothing is watched. Start the console with a lab, or with a fleet's agents:")
        for words in ("ropewalk serve FILE --lab DIR", "ropewalk serve FILE --agent B=HOST:PORT"):
            ui.code(words, language="bash").classes("w-full")
        return
    _Live(console, watcher).build()


def refusal(console: Console) -> str:
    """Why nothing may be broken from here; empty if it may."""
    if console.given.lab is None:
        return NO_LAB
    return "" if console.may_change else READ_ONLY


class _Live:
    """The panel of one browser tab."""

    def __init__(self, console: Console, watcher: Watcher) -> None:
        self.console, self.watcher = console, watcher
        self.tab = Tab()
        self.seen = -1
        self.picture = Picture()
        self.shown: Shown | None = None
        self.mode = console.pick_mode
        self.counted: tuple[Any, ...] = ()

    def build(self) -> None:
        """The whole panel; it looks for news while its tab is shown."""
        self.summary()
        self.faults()
        self.agents = ui.table(columns=COLUMNS, rows=[], row_key="broker", pagination=12)
        self.agents.props("dense flat wrap-cells").classes("w-full rw-table").mark("agents")
        self.agents.add_slot("body-cell-state", STATE_CELL)
        self.agents.on("rowClick", self._row)
        ui.label("News").classes("text-subtitle2 q-mt-sm")
        self.news = ui.table(columns=NEWS, rows=[], row_key="id", pagination=10)
        self.news.props("dense flat wrap-cells").classes("w-full rw-table").mark("news")
        self.tab.changed(self._turned)
        self.console.on("picked", self.faults.refresh)
        self.console.on("failed", self._paint_again)
        ui.timer(EVERY_S, self._look)

    @ui.refreshable_method
    def summary(self) -> None:
        """How many agents and links are how."""
        picture = self.picture
        if picture.note:
            ui.label(picture.note).classes("rw-wrap rw-bad").mark("live-note")
            return
        counts = picture.counts()
        agents, links = len(picture.agents), len(picture.links)
        with ui.row().classes("items-baseline gap-4"):
            _figure(f"{counts['up']} of {agents}", "agents well", counts["up"] == agents)
            _figure(f"{counts['links up']} of {links}", "links up", counts["links up"] == links)
            _figure(f"{sum(one.custody for one in picture.agents):,}", "in custody", True)
        ui.label(LEGEND).classes("text-caption")
        for name, fault in picture.broken.items():
            ui.label(f"Broken in the lab: {name}: {fault}").classes("text-caption rw-bad")

    @ui.refreshable_method
    def faults(self) -> None:
        """Buttons for what is picked on the map."""
        why = refusal(self.console)
        if why:
            ui.label(why).classes("text-caption rw-wrap").mark("live-refused")
            return
        if self.picture.note:
            return
        picked = self.console.picked
        with ui.row().classes("items-center gap-1"):
            if picked is None:
                ui.label("Click a link or a broker on the map to break it in the lab.")
            else:
                kind, name = picked
                ui.label(name).classes("text-bold").mark("live-picked")
                for words, what, target, told in FAULTS.get(kind, ()):
                    self._button(words, what, target.format(name), told)
            if self.picture.broken:
                self._button("Heal all", "heal", "all", "Heal everything that was broken.")

    def _button(self, words: str, what: str, target: str, told: str) -> None:
        colour = "positive" if what == "heal" else "negative"
        ui.button(words, on_click=lambda: self._order(what, target), color=colour).props(
            "dense no-caps outline padding='2px 8px'"
        ).tooltip(told)

    async def _order(self, what: str, target: str) -> None:
        """Break something in the lab, or heal it."""
        why, lab = refusal(self.console), self.console.given.lab
        if why or lab is None:
            ui.notify(why, type="negative")
            return
        question = {"do": "fault", "what": what, "target": target, "value": None}
        try:
            answer = await run.io_bound(order, lab, question) or {"done": []}
        except (RopewalkError, OSError) as error:
            ui.notify(str(error), type="negative")
            return
        ui.notify("; ".join(answer["done"]) or "nothing was broken", type="info")

    # --- as it changes ------------------------------------------------------------------------

    def _turned(self, on: bool) -> None:
        """Clicks select while this is shown: what is really so is not a game of what-if."""
        if on:
            self.mode = self.console.pick_mode
            self.console.set_mode("look")
            self.seen, self.shown = -1, None
            self._look()
            return
        self.console.set_mode(self.mode)
        self.console.show(Shown())

    def _look(self) -> None:
        if not self.tab.on:
            return
        picture = self.watcher.picture()
        if self.seen == self.watcher.version:
            return
        self.seen, self.picture = self.watcher.version, picture
        counted = (picture.note, picture.broken, picture.counts(), _custody(picture))
        if counted != self.counted:
            self.counted = counted
            self.summary.refresh()
            self.faults.refresh()
        self.agents.set_visibility(not picture.note)
        self.agents.rows = _agent_rows(picture)
        self.news.rows = _news_rows(picture)
        self._paint()

    def _paint(self) -> None:
        picture = self.picture
        shown = Shown(
            alone=True,
            brokers={
                one.broker: BROKER_LOOKS[one.state]
                for one in picture.agents
                if one.state in BROKER_LOOKS
            },
            links={name: LINK_LOOKS[state] for name, state in picture.links.items()},
        )
        if shown != self.shown or self.console.shown is not self.shown:
            self.shown = shown
            self.console.show(shown)

    def _paint_again(self) -> None:
        """What-if has painted over it."""
        if self.tab.on:
            self._paint()

    def _row(self, event: Any) -> None:
        """A broker that is clicked in the table is picked, and shown."""
        name = str(event.args[1]["broker"])
        brokers = self.console.scene.brokers
        if name in brokers and self.console.map is not None:
            self.console.picked = ("broker", name)
            self.console.map.show("broker", brokers.index(name))
            self.faults.refresh()


def _figure(value: str, what: str, well: bool) -> None:
    with ui.column().classes("gap-0"):
        ui.label(value).classes(f"text-h6 rw-figure{'' if well else ' rw-bad'}")
        ui.label(what).classes("text-caption")


def _custody(picture: Picture) -> int:
    return sum(one.custody for one in picture.agents)


def _agent_rows(picture: Picture) -> list[dict[str, Any]]:
    return [
        {
            "broker": one.broker,
            "state": one.state,
            "good": one.state == "up",
            "why": one.why,
            "links": one.links,
            "load": "" if one.utilisation is None else f"{one.utilisation:.0%}",
            "custody": one.custody,
            "delivered": one.delivered,
        }
        for one in picture.agents
    ]


def _news_rows(picture: Picture) -> list[dict[str, Any]]:
    return [
        {
            "id": number,
            "at": f"{datetime.fromtimestamp(one.at, UTC):%H:%M:%S.%f}"[:-5],
            "broker": one.broker,
            "what": one.what,
        }
        for number, one in enumerate(picture.news)
    ]
