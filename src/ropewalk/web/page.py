"""The page: the network on the left, a panel for each question on the right.

A console belongs to one browser tab. It holds what that tab looks at (the desk, what is failed,
what is shown on the map) and tells its panels when that changes.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from nicegui import run, ui

from ropewalk.errors import RopewalkError
from ropewalk.web.desk import Desk
from ropewalk.web.given import Given
from ropewalk.web.map import NetworkMap, Paint
from ropewalk.web.outcome import Outcome, outcome_of
from ropewalk.web.scene import Scene, scene_of
from ropewalk.web.verdict import Verdict, verified

What = Literal["desk", "verdict", "failed", "region", "picked"]
Mode = Literal["fail", "look"]
REROUTED = 3
"""So many pairs are drawn when something fails; the others are a click away."""
Listener = Callable[[], Awaitable[None] | None]


@dataclass(frozen=True, slots=True)
class Shown:
    """What a panel wants to see on the map, by names: it lies over what failures paint."""

    paths: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Kind of look (after, before, primary, alternate, witness) and brokers in order."""
    lines: tuple[tuple[str, tuple[tuple[float, float], ...]], ...] = ()
    """Kind of look and places in degrees: ways through the underlay."""
    brokers: dict[str, str] = field(default_factory=dict)
    """Looks by broker: ok, suspect, down, witness, hot."""
    links: dict[str, str] = field(default_factory=dict)
    """The same by link."""
    alone: bool = False
    """Whether what is failed in the what-if is left out: panels that show what is really so."""


class Console:
    """One browser tab's view of a federation."""

    def __init__(self, given: Given, *, may_change: bool) -> None:
        self.given, self.may_change = given, may_change
        self.desk: Desk = given.desk
        self.scene: Scene = scene_of(self.desk.federation)
        self.failed: tuple[str, ...] = ()
        self.outcome: Outcome | None = None
        self.verdict: Verdict | None = None
        self.region: dict[str, float] | None = None
        self.picked: tuple[str, str] | None = None
        """The last thing that was clicked: broker or link, and its name."""
        self.pick_mode: Mode = "fail"
        self.show_mode: Callable[[Mode], object] = lambda _: None
        """Sets the switch for it, where a panel has changed it."""
        self.with_load = False
        self.map: NetworkMap | None = None
        self.shown = Shown()
        self._listeners: dict[str, list[Listener]] = {}
        self._asked = 0
        self._looking = asyncio.Lock()
        self._looked_at = self.desk.federation
        self._halt = np.zeros(1, np.bool_)
        """Ends the verification that is under way."""

    # --- for panels -------------------------------------------------------------------------

    def on(self, what: What, listener: Listener) -> None:
        """Be told when something of this sort has changed."""
        self._listeners.setdefault(what, []).append(listener)

    def show(self, shown: Shown) -> None:
        """Lay something over the map; `Shown()` takes it away."""
        self.shown = shown
        self.paint()

    def set_mode(self, mode: Mode) -> None:
        """What a click on the map does from now on."""
        self.pick_mode = mode
        self.show_mode(mode)

    async def set_desk(self, desk: Desk, *, look: bool = True) -> None:
        """Another text; where it loads, everything is looked at again, now or with the next."""
        before, self.desk = self.desk, desk
        if desk.federation is not before.federation:
            self.stop()  # nobody waits any more for what was typed over
            self.scene = scene_of(desk.federation)
            known = {*self.scene.links, *self.scene.brokers}
            self.failed = tuple(one for one in self.failed if one in known)
            self.shown = Shown()
            self.verdict = None
            if self.map is not None:
                self.map.set_scene(self.scene)
        await self.tell("desk")
        if look and desk.federation is self.desk.federation is not self._looked_at:
            self._looked_at = desk.federation
            await self.set_failed(self.failed)
            if desk.federation is self.desk.federation:  # somebody may have typed on meanwhile
                await self.verify()

    async def verify(self) -> None:
        """Look at the federation under every failure that it is to stand."""
        self.stop()
        federation, halt = self.desk.federation, np.zeros(1, np.bool_)
        self._halt = halt
        try:
            verdict = await run.io_bound(verified, federation, halt=halt)
        except RopewalkError as error:
            verdict = Verdict(False, f"Not verified: {error}", "", ())
        if federation is self.desk.federation:  # somebody may have typed on meanwhile
            self.verdict = verdict
            await self.tell("verdict")

    def stop(self) -> None:
        """Verify no further: it would keep the cores busy for nobody."""
        self._halt.fill(True)

    async def set_failed(self, failed: Iterable[str]) -> None:
        """Other things are down: find out what that does, and show it."""
        known = {*self.scene.links, *self.scene.brokers}
        self.failed = tuple(one for one in dict.fromkeys(failed) if one in known)
        nothing = self.shown = Shown()
        self._asked += 1
        asked = self._asked
        self.paint()
        async with self._looking:  # of many quick clicks only the last is worked out
            if asked != self._asked:
                return
            try:
                outcome = await run.io_bound(_looked_at, self.desk.federation, self.failed)
            except RopewalkError as error:
                ui.notify(str(error), type="negative")
                return
        # Somebody may have clicked on while it was computed, or asked to see something else.
        if outcome is not None and asked == self._asked:
            self.outcome = outcome
            self.show(rerouted(outcome) if self.shown is nothing else self.shown)
            await self.tell("failed")

    async def dragged(self, told: dict[str, Any]) -> None:
        """The circle on the map was dragged; what no map says is not believed."""
        region = {key: told.get(key) for key in ("lat", "lng", "km")}
        known = {key: float(one) for key, one in region.items() if isinstance(one, int | float)}
        if len(known) == len(region) and np.isfinite(list(known.values())).all():
            await self.set_region(known)

    async def set_region(self, region: dict[str, float] | None) -> None:
        """A circle on the map, or none."""
        self.region = region
        if self.map is not None:
            self.map.set_region(region)
        await self.tell("region")

    async def tell(self, what: What) -> None:
        """Tell those who want to know."""
        for listener in self._listeners.get(what, ()):
            done = listener()
            if done is not None:
                await done

    # --- the map ----------------------------------------------------------------------------

    async def clicked(self, pick: dict[str, Any]) -> None:
        """Something on the map was clicked; where several things lie together, which is meant?"""
        near = [
            (str(one.get("kind")), name)
            for one in pick.get("near", ())
            if (name := self._name(one))
        ]
        if len(near) > 1:
            with ui.dialog() as which, ui.card().classes("rw-which"):
                ui.label("Several things lie here. Which one?").classes("text-subtitle2")
                for kind, name in near:
                    ui.button(
                        f"{kind} {name}", on_click=lambda k=kind, n=name: which.submit((k, n))
                    ).props("no-caps outline").classes("w-full")
            chosen = await which
            which.delete()
            if chosen is None:
                return
            near = [chosen]
        if near:
            await self.pick(*near[0])

    async def pick(self, kind: str, name: str) -> None:
        """Take something up; while clicks fail things, fail it, or heal it."""
        self.picked = (kind, name)
        if self.pick_mode == "fail":
            left = tuple(one for one in self.failed if one != name)
            await self.set_failed(left if name in self.failed else (*self.failed, name))
        await self.tell("picked")

    def paint(self) -> None:
        """Colour the map by what is failed and by what is to be shown."""
        if self.map is not None:
            self.map.paint(self._paint())

    def _paint(self) -> Paint:
        brokers = {name: i for i, name in enumerate(self.scene.brokers)}
        links = {name: i for i, name in enumerate(self.scene.links)}
        paint: Paint = {"brokers": {}, "links": {}, "paths": [], "load": None}
        failed = () if self.shown.alone else self.failed
        looks = [dict.fromkeys(failed, "down"), self.shown.brokers, self.shown.links]
        for name, look in (pair for some in looks for pair in some.items()):
            if name in brokers:
                paint["brokers"][brokers[name]] = look
            elif name in links:
                paint["links"][links[name]] = look
        for kind, path in self.shown.paths:
            nodes = [brokers[name] for name in path if name in brokers]
            paint["paths"].append({"nodes": nodes, "kind": kind})
            for node in nodes:
                paint["brokers"].setdefault(node, "broker")
        paint["paths"] += [{"nodes": [], "at": at, "kind": kind} for kind, at in self.shown.lines]
        if self.with_load and self.outcome is not None:
            load = self.outcome.load
            paint["load"] = {
                "links": _shares(load.links_after, load.links_before),
                "brokers": _shares(load.brokers_after, load.brokers_before),
            }
        return paint

    def _name(self, one: dict[str, Any]) -> str:
        """Empty for what is not there any more: somebody may have edited since it was drawn."""
        names = self.scene.links if one.get("kind") == "link" else self.scene.brokers
        number = one.get("id")
        return names[number] if isinstance(number, int) and 0 <= number < len(names) else ""


def rerouted(outcome: Outcome) -> Shown:
    """The first pairs that go another way now, each with the way it went."""
    moved = [way for way in outcome.ways if way.changed and way.fate == "delivered"][:REROUTED]
    return Shown(
        paths=tuple(
            (kind, path)
            for way in moved
            for kind, path in (("before", way.before), ("after", way.after))
        )
    )


def _looked_at(federation: Any, failed: tuple[str, ...]) -> Outcome:
    """All that panels show of a failure, worked out away from the browser's connection."""
    outcome = outcome_of(federation, failed)
    _ = outcome.fates, outcome.ways, outcome.lost, outcome.load, outcome.colour
    return outcome


def _shares(now: Any, before: Any) -> list[float]:
    most = max(float(max(now.max(initial=0), before.max(initial=0))), 1.0)
    return [round(float(one) / most, 3) for one in now]
