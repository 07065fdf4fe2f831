"""Protocols drawn, whether peers can keep to them, and conversations stepped through."""

from typing import Any

from nicegui import run, ui

from ropewalk.findings import Finding, rules
from ropewalk.web.diagram import CONFIG, MOST_STATES, STYLE, mermaid_of
from ropewalk.web.page import Console, Shown
from ropewalk.web.panels.tab import Tab
from ropewalk.web.protocols import (
    HOW_TO_ADD,
    Drawn,
    Kept,
    State,
    kept,
    protocols_of,
    state_of,
    topics_by_protocol,
)
from ropewalk.web.recorded import Conversation, Recorded, recorded
from ropewalk.web.stepping import Walk, walked

BY_HAND = "by hand"
MOST_CHIPS = 60
COLUMNS: list[dict[str, Any]] = [
    {"name": "over", "label": "over", "field": "over", "align": "left"},
    {"name": "safe", "label": "safe", "field": "safe", "align": "left"},
    {"name": "live", "label": "live", "field": "live", "align": "left"},
]


def protocols_panel(console: Console) -> None:
    """Build it."""
    _Protocols(console).build()


class _Protocols:
    """The panel of one browser tab: a protocol, a conversation, and the step that is looked at."""

    def __init__(self, console: Console) -> None:
        self.console, self.tab = console, Tab()
        self.protocols: dict[str, Drawn] = {}
        self.name: str | None = None
        self.kept: Kept | None = None
        self.recorded = Recorded({}, {})
        self.chosen: str = BY_HAND
        self.walk: Walk | None = None
        self.at = 0
        self.read = False
        self.state: State | None = None

    def build(self) -> None:
        """The whole panel; files are read when its tab is first shown."""
        ui.add_css(STYLE)
        self.choice()
        self.verdict()
        self.steps()
        self.drawing()
        self.tab.changed(self._turned)
        self.console.on("desk", self._renewed)

    async def _turned(self, on: bool) -> None:
        if on:
            self.read = True
            await self._renewed()

    async def _renewed(self) -> None:
        """Read protocols, and the trace's conversations, if they are others than were read.

        The text changes with every key that is pressed in another tab: a step-through stays.
        """
        console, work = self.console, self.console.given.work
        federation = console.desk.federation
        state = state_of(federation, console.given.protocols, work)
        if not self.read or state == self.state:
            return
        self.state = state
        named = frozenset(console.given.desk.federation.protocols.values())
        allowed = None if console.may_change else named
        beside = console.given.protocols
        found = await run.io_bound(protocols_of, federation, beside, allowed)
        if work is not None:
            self.recorded = await run.io_bound(recorded, work, federation) or Recorded({}, {})
        self.protocols = found or {}
        if self.name not in self.protocols:
            self.name = next(iter(self.protocols), None)
        await self._choose(self.name)

    async def _choose(self, name: str | None) -> None:
        """Another protocol: it stands at its beginning."""
        self.name, self.kept, self.chosen, self.at = name, None, BY_HAND, 0
        drawn = self.drawn
        self.walk = walked(drawn.automaton, ()) if drawn and drawn.automaton else None
        self.choice.refresh()
        self.verdict.refresh()
        self._stepped()
        if drawn is not None and drawn.automaton is not None:
            self.kept = await run.io_bound(kept, drawn.automaton)
            if drawn is self.drawn:
                self.verdict.refresh()

    @property
    def drawn(self) -> Drawn | None:
        """The protocol that is looked at."""
        return self.protocols.get(self.name or "")

    # --- the protocol -------------------------------------------------------------------------

    @ui.refreshable_method
    def choice(self) -> None:
        """Which protocol; where there is none, how to add one."""
        if not self.read:
            return
        if not self.protocols:
            ui.label("No topic of this federation follows a protocol. To add one, write:")
            ui.code(HOW_TO_ADD, language="yaml").classes("w-full").mark("how-to-add")
            ui.label("Or look at a file alone: ropewalk serve FILE --protocol PROTOCOL.yaml")
            return
        names = {key: one.name for key, one in self.protocols.items()}
        ui.select(
            names, value=self.name, label="protocol", on_change=lambda e: self._choose(e.value)
        ).props("dense outlined").classes("w-full").mark("protocol")
        topics = topics_by_protocol(self.console.desk.federation).get(self.name or "", [])
        if topics:
            ui.label(f"On {', '.join(topics[:8])}").classes("text-caption rw-wrap")

    @ui.refreshable_method
    def verdict(self) -> None:
        """What is wrong with the file, or what peers need to keep to it."""
        drawn, found = self.drawn, self.kept
        if drawn is None:
            return
        if drawn.refused or drawn.faults:
            ui.label(f"{drawn.file} cannot be shown.").classes("rw-bad rw-wrap").mark("unread")
            ui.label(drawn.refused).classes("rw-wrap")
            _findings(drawn.faults)
            return
        if found is None:
            ui.spinner()
            return
        look = {True: "rw-good", False: "rw-bad", None: ""}[found.good]
        ui.label(found.words).classes(f"{look} rw-wrap").mark("protocol-verdict")
        _findings(found.findings)
        if found.transports:
            keys = ("over", "safe", "live")
            rows = [dict(zip(keys, one, strict=True)) for one in found.transports]
            with ui.expansion("Over each transport").props("dense").classes("w-full"):
                table = ui.table(columns=COLUMNS, rows=rows, row_key="over")
                table.props("dense flat").classes("w-full rw-table")

    @ui.refreshable_method
    def drawing(self) -> None:
        """The automaton with where the conversation stands."""
        if self.walk is None:
            return
        automaton, step = self.walk.automaton, self.walk.steps[self.at]
        if len(automaton.states) > MOST_STATES:
            told = f"{len(automaton.states)} states; those near the present one are drawn."
            ui.label(told).classes("text-caption")
        text = mermaid_of(automaton, step.states, forbidden=bool(step.forbidden))
        ui.mermaid(text, config=CONFIG).classes("w-full rw-diagram").mark("diagram")

    # --- a conversation -----------------------------------------------------------------------

    @ui.refreshable_method
    def steps(self) -> None:
        """The conversation so far, and what may come next."""
        if self.walk is None:
            return
        self._conversations()
        self._chips(self.walk)
        self._buttons(self.walk)
        step = self.walk.steps[self.at]
        if step.forbidden:
            ui.label(f"{step.label} is forbidden: {step.forbidden}").classes("rw-bad rw-wrap").mark(
                "forbidden"
            )
        end = "; it may end here" if self.walk.may_end(self.at) else ""
        ui.label(f"In {self.walk.names(self.at)}{end}.").classes("rw-wrap").mark("stands")
        self._next(self.walk)

    def _conversations(self) -> None:
        some = self.recorded.conversations.get(self.name or "", ())
        if self.recorded.note:
            ui.label(self.recorded.note).classes("text-caption rw-wrap")
        if not some:
            return
        total = self.recorded.total.get(self.name or "", 0)
        names = {BY_HAND: "by hand"} | {
            one.name: f"{one.name}{' (left its protocol)' if one.left else ''}" for one in some
        }
        label = f"conversation: {len(some):,} of {total:,} that were recorded"
        ui.select(
            names,
            value=self.chosen,
            label=label,
            with_input=True,
            on_change=lambda e: self._take(e.value),
        ).props("dense outlined").classes("w-full").mark("conversation")

    def _chips(self, walk: Walk) -> None:
        with ui.row().classes("gap-1 items-center").mark("word"):
            for number, step in list(enumerate(walk.steps))[1:][-MOST_CHIPS:]:
                colour = "negative" if step.forbidden else "primary"
                chip = ui.chip(step.label, color=colour, on_click=lambda n=number: self._go(n))
                look = "text-color=white" if number == self.at else "outline"
                chip.props(f"dense square {look}")

    def _buttons(self, walk: Walk) -> None:
        last = len(walk.steps) - 1
        with ui.row().classes("items-center gap-1 w-full"):
            for icon, to, told in (
                ("first_page", 0, "To the beginning"),
                ("chevron_left", self.at - 1, "A step back"),
                ("chevron_right", self.at + 1, "A step on"),
                ("last_page", last, "To the end"),
            ):
                button = ui.button(icon=icon, on_click=lambda to=to: self._go(to))
                button.props(f'flat dense aria-label="{told}"').tooltip(told)
                button.set_enabled(0 <= to <= last and to != self.at)
            ui.label(f"step {self.at} of {last}").classes("text-caption")
            if self.chosen == BY_HAND:
                word = ui.input(placeholder="or type: ask, order").props("dense outlined")
                word.classes("col").mark("type").on(
                    "keydown.enter", lambda: self._say(str(word.value))
                )

    def _next(self, walk: Walk) -> None:
        """What may come; by hand, as buttons that say it."""
        some = walk.next(self.at)
        ui.label("Next:" if some else "Nothing may come next.").classes("text-caption")
        with ui.row().classes("gap-1"):
            for one in some:
                told = f"{one.who + ', ' if one.who else ''}leads to {' or '.join(one.to)}"
                if self.chosen == BY_HAND:
                    button = ui.button(one.label, on_click=lambda label=one.label: self._add(label))
                    button.props("dense no-caps outline").tooltip(told)
                else:
                    ui.chip(one.label).props("dense outline").tooltip(told)

    # --- what is done -------------------------------------------------------------------------

    def _stepped(self) -> None:
        self.drawing.refresh()
        self.steps.refresh()

    def _go(self, to: int) -> None:
        if self.walk is not None and 0 <= to < len(self.walk.steps):
            self.at = to
            self._stepped()

    def _add(self, label: str) -> None:
        """Say something from where the conversation stands; what came after it is forgotten."""
        if self.walk is not None:
            self._walk((*self.walk.said[: self.at], label))

    def _say(self, text: str) -> None:
        """A whole word, typed."""
        labels = [one.strip() for one in text.split(",")]
        self._walk(tuple(one for one in labels if one))

    def _walk(self, labels: tuple[str, ...], *, seen: bool = False) -> None:
        drawn = self.drawn
        if drawn is not None and drawn.automaton is not None:
            self.walk = walked(drawn.automaton, labels, recorded=seen)
            self.at = 0 if seen else len(self.walk.steps) - 1
            self._stepped()

    def _take(self, name: str) -> None:
        """A recorded conversation from its first step, its brokers on the map; or none."""
        self.chosen = name
        some = self.recorded.conversations.get(self.name or "", ())
        one: Conversation | None = next((one for one in some if one.name == name), None)
        self.console.show(Shown(brokers=dict.fromkeys(one.brokers if one else (), "witness")))
        self._walk(one.labels if one else (), seen=one is not None)


def _findings(findings: tuple[Finding, ...]) -> None:
    for one in findings[:20]:
        ui.label(f"{one.where}: {one.code} {rules()[one.code].name}").classes("text-bold rw-wrap")
        ui.label(one.message).classes("rw-wrap")
