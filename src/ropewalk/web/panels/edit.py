"""Brokers, links and topics in forms, or the text itself; verified while somebody types."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nicegui import ui

from ropewalk.errors import RopewalkError
from ropewalk.web.desk import MOST_CHARACTERS, Desk
from ropewalk.web.entries import Entry, Key, Section, entry_of, with_entry
from ropewalk.web.forms import FORMS, Field, names_of, put, shown
from ropewalk.web.page import Console
from ropewalk.web.panels.findings import verdict_lines
from ropewalk.web.saving import save_over

NEW = "(new)"
TYPING_S = 0.4
"""How long somebody has to stop typing before the text is looked at."""
APART = "publishers and subscribers apart: change it in the YAML"
ONE: Mapping[Section, str] = {"brokers": "broker", "links": "link", "topics": "topic"}


@dataclass(frozen=True, eq=False, slots=True)
class Meant:
    """What a form has made of an entry, and of which text: it may take several fields to load."""

    base: Desk
    chosen: tuple[Section, str]
    entry: Entry
    text: str


def edit_panel(console: Console) -> None:
    """Build it."""
    _Editor(console).build()


class _Editor:
    """The forms of one console; `drafts` hold what is new and not yet added."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.section: Section = "brokers"
        self.chosen: dict[Section, str] = {}
        self.draft: dict[str, Any] = {}
        self.draft_name = ""
        self.undo: list[str] = []
        self.meant: Meant | None = None
        self._waiting: ui.timer | None = None
        self._own = False

    def build(self) -> None:
        """The whole panel."""
        console = self.console
        with ui.row().classes("items-center gap-2 w-full"):
            self.status()
        kinds = {"brokers": "Brokers", "links": "Links", "topics": "Topics", "text": "YAML"}
        toggle = (
            ui.toggle(kinds, value="brokers").props("dense no-caps unelevated").mark("edit-what")
        )
        with ui.column().classes("w-full") as forms:
            self.form()
        with ui.column().classes("w-full") as text:
            self.text()
        text.set_visibility(False)

        def turned(event: Any) -> None:
            text.set_visibility(event.value == "text")
            forms.set_visibility(event.value != "text")
            if event.value != "text":
                self.section, self.draft, self.draft_name = event.value, {}, ""
                self.form.refresh()

        toggle.on_value_change(turned)
        console.on("desk", self._changed)
        console.on("verdict", self.status.refresh)
        console.on("picked", lambda: self._picked(toggle))

    # --- what there is to say and to keep ---------------------------------------------------

    @ui.refreshable_method
    def status(self) -> None:
        """The verdict, and what to do with what was changed."""
        console = self.console
        with ui.column().classes("w-full gap-1"):
            verdict_lines(console)
            with ui.row().classes("gap-1"):
                name = Path(console.desk.file).name or "federation.yaml"
                name = name if name.endswith((".yaml", ".yml")) else "federation.yaml"
                ui.button(
                    "Download YAML",
                    icon="download",
                    on_click=lambda: ui.download.content(self.area.value or "", name),
                ).props("dense no-caps flat").mark("download")
                undo = ui.button("Undo", icon="undo", on_click=self._undo)
                undo.props("dense no-caps flat").set_enabled(bool(self.undo))
                save = ui.button("Save", icon="save", on_click=self._save)
                save.props("dense no-caps flat").mark("save")
                save.set_enabled(self._why_not_saved() is None)
                if why := self._why_not_saved():
                    save.tooltip(why)

    def _why_not_saved(self) -> str | None:
        console = self.console
        if console.given.file is None:
            return "It was not read from one federation file: download it."
        if not console.may_change:
            return "Saving needs the token: open the address that `ropewalk serve` printed."
        if not console.desk.loaded:
            return "Only what is valid is saved."
        return None if console.desk.changed else "There is nothing to save."

    async def _save(self) -> None:
        console, file = self.console, self.console.given.file
        await self._typed_out()
        if file is None or self._why_not_saved() is not None:
            return
        try:
            save_over(file, console.desk.text, saved=console.desk.saved)
        except RopewalkError as error:
            ui.notify(str(error), type="negative")
            return
        ui.notify(f"Saved {file}.", type="positive")
        await console.set_desk(console.desk.kept())

    async def _undo(self) -> None:
        await self._typed_out()
        if self.undo:
            desk = self.console.desk.typed(self.undo.pop())
            await self.console.set_desk(desk, look=False)
            self.form.refresh()
            await self.console.set_desk(desk)

    # --- forms -------------------------------------------------------------------------------

    @ui.refreshable_method
    def form(self) -> None:
        """The fields of what is chosen."""
        federation, section = self.console.desk.federation, self.section
        names = names_of(federation, section)
        chosen = self.chosen.get(section) or (names[0] if names else NEW)
        if chosen not in names:
            chosen = NEW
        self.chosen[section] = chosen
        select = ui.select([NEW, *names], value=chosen, label=ONE[section], with_input=True)
        select.classes("w-full").props("dense outlined").mark("entry")
        select.on_value_change(self._choose)
        new = chosen == NEW
        if new and section != "links":
            name = ui.input("name", value=self.draft_name).props("dense outlined").classes("w-full")
            name.mark("name").on_value_change(lambda e: setattr(self, "draft_name", e.value or ""))
        entry = self.draft if new else self._entry(chosen)
        with ui.grid(columns=2).classes("w-full gap-2 rw-form"):
            for field in FORMS[section]:
                self._field(field, entry, new=new)
        if new:
            ui.button("Add", icon="add", on_click=self._add).props("dense no-caps").mark("add")
        else:
            ui.button("Remove", icon="delete", on_click=self._remove).props(
                "dense no-caps flat color=negative"
            ).mark("remove")

    def _field(self, field: Field, entry: Mapping[str, Any], *, new: bool) -> None:
        value = shown(entry, field)
        options = list(field.options(self.console.desk.federation)) if field.options else []
        made: Any
        if field.kind == "number":
            made = ui.number(field.label, value=value, format="%.10g").props("debounce=400")
        elif field.kind == "text":
            made = ui.input(field.label, value=value or "").props("debounce=400")
        elif field.kind == "one":
            made = ui.select(options, value=value if value in options else None, label=field.label)
        else:
            given = [*options, *(one for one in value if one not in options)]
            made = ui.select(given, value=value, label=field.label, multiple=True, with_input=True)
            made.props("use-chips")
            if not field.options:
                made.props("new-value-mode=add-unique")
        apart = isinstance(entry.get("takeover"), Mapping) and field.label == "takeover"
        hint = APART if apart else field.hint
        made.props(f'dense outlined stack-label hint="{hint}"').mark(f"field-{field.label}")
        if field.kind in ("many", "pair"):
            made.classes("col-span-2")
        if apart or (field.kind == "pair" and not new):
            made.disable()
        made.on_value_change(lambda event: self._put(field, event.value))

    async def _put(self, field: Field, value: Any) -> None:
        if self.chosen[self.section] == NEW:
            self.draft = put(self.draft, field, value)
            return
        chosen = self.chosen[self.section]
        await self._write(self._key(chosen), put(self._entry(chosen), field, value))

    async def _add(self) -> None:
        federation, section = self.console.desk.federation, self.section
        if section == "links":
            key: Key = len(federation.links)
            if len(self.draft.get("between", ())) != 2:
                ui.notify("A link joins two brokers: choose them under between.", type="warning")
                return
        else:
            key = self.draft_name.strip()
            if not key or key in names_of(federation, section):
                ui.notify("Give it a name that nothing else here has.", type="warning")
                return
        before = self.console.desk.federation
        await self._write(key, self.draft)
        if self.console.desk.federation is not before:
            self.chosen[section] = names_of(self.console.desk.federation, section)[-1]
            self.draft, self.draft_name = {}, ""
            self.form.refresh()

    async def _remove(self) -> None:
        await self._write(self._key(self.chosen[self.section]), None)

    async def _write(self, key: Key, entry: Entry) -> None:
        """Change the text as a form says; only what it has broken itself can it mend."""
        chosen = (self.section, self.chosen[self.section])
        await self._typed_out()
        meant, base = self._meant(), self.console.desk
        if meant is not None and meant.chosen == chosen:
            base = meant.base
        if not base.loaded:
            ui.notify(
                "The text is not valid: mend it, or undo, before using forms.", type="warning"
            )
            return
        text = with_entry(base.text, base.federation, self.section, key, entry)
        self.meant = Meant(base, chosen, entry, text)
        await self._take(text)

    def _meant(self) -> Meant | None:
        """What a form has made, where that does not load and nobody has changed it since."""
        desk, meant = self.console.desk, self.meant
        return meant if meant is not None and not desk.loaded and desk.text == meant.text else None

    def _entry(self, chosen: str) -> dict[str, Any]:
        """An entry as its form has left it."""
        meant = self._meant()
        if meant is not None and meant.chosen == (self.section, chosen) and meant.entry is not None:
            return dict(meant.entry)
        return entry_of(self.console.desk.federation, self.section, self._key(chosen))

    def _key(self, name: str) -> Key:
        federation = self.console.desk.federation
        return names_of(federation, "links").index(name) if self.section == "links" else name

    def _choose(self, event: Any) -> None:
        self.chosen[self.section] = event.value or NEW
        self.draft, self.draft_name = {}, ""
        self.form.refresh()

    # --- the text ----------------------------------------------------------------------------

    def text(self) -> None:
        """The text itself."""
        self.area = ui.codemirror(self.console.desk.text, language="YAML", line_wrapping=True)
        self.area.classes("w-full rw-text").mark("yaml")
        self.area.on_value_change(lambda event: self._typed(event.value))

    def _typed(self, text: str) -> None:
        if self._own:
            return
        self._wait_no_more()  # even where it is the old text again
        if text != self.console.desk.text:
            self._waiting = ui.timer(TYPING_S, self._waited, once=True)

    def _wait_no_more(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    async def _waited(self) -> None:
        self._waiting = None
        await self._take(self.area.value or "")

    async def _typed_out(self) -> None:
        """What is still being waited for is taken before anything else is done with the text."""
        if self._waiting is not None:
            self._wait_no_more()
            await self._take(self.area.value or "", look=False)

    async def _take(self, text: str, *, look: bool = True) -> None:
        desk = self.console.desk
        if len(text) > MOST_CHARACTERS:
            self._show(desk.text)
            ui.notify(
                f"A text of more than {MOST_CHARACTERS:,} characters is not taken: edit it"
                " elsewhere, and use the command line.",
                type="negative",
            )
        elif text != desk.text:
            self.undo.append(desk.text)
            del self.undo[:-100]
            await self.console.set_desk(desk.typed(text), look=look)

    def _show(self, text: str) -> None:
        if self.area.value != text:
            self._own = True
            self.area.set_value(text)
            self._own = False

    # --- what happens elsewhere --------------------------------------------------------------

    def _changed(self) -> None:
        self.status.refresh()
        if self._waiting is None:  # else somebody has typed on
            self._show(self.console.desk.text)
        if self.console.desk.loaded:
            wanted = self.chosen.get(self.section)
            if wanted not in (NEW, *names_of(self.console.desk.federation, self.section)):
                self.form.refresh()

    def _picked(self, toggle: Any) -> None:
        """What is clicked on the map is what its form is about."""
        if self.console.picked is None:
            return
        kind, name = self.console.picked
        section: Section = "links" if kind == "link" else "brokers"
        self.chosen[section] = name
        if toggle.value == section:
            self.form.refresh()
        elif toggle.value != "text":
            toggle.set_value(section)
