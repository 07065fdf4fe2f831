"""Alternate paths that lie apart on the map, and a region to drag over them."""

from typing import Any

from nicegui import run, ui

from ropewalk.errors import RopewalkError
from ropewalk.federation.places import broker_positions
from ropewalk.routing.scenarios import Down
from ropewalk.web.apart import Pair, pair_of
from ropewalk.web.page import Console, Shown
from ropewalk.web.region import struck

METHODS = {
    "exposure": "least exposed",
    "joint": "both chosen together",
    "gap": "GAP (Wang 2015)",
    "eksp": "eKSP",
    "disjoint": "disjoint",
}
DEFAULT_KM = 100.0


def paths_panel(console: Console) -> None:
    """Build it."""
    _Paths(console).build()


class _Paths:
    """The panel's fields, the pair that is shown, and what the region takes."""

    def __init__(self, console: Console) -> None:
        self.console = console
        regions = console.desk.federation.requirements.regions
        self.radius_km = regions.radius_km if regions is not None else DEFAULT_KM
        self.method = "exposure"
        self.ends: list[str | None] = [None, None]
        self.pair: Pair | None = None
        self.hit = Down()
        self._asked = 0

    def build(self) -> None:
        """The whole panel."""
        ui.label("Alternate path").classes("text-subtitle2")
        self.form()
        self.told()
        ui.separator()
        ui.label("Region").classes("text-subtitle2")
        ui.label("Drag the middle to move it, the rim to make it larger.").classes("text-caption")
        with ui.row().classes("items-center gap-2"):
            self.switch = ui.switch("Show a region").mark("region")
            self.switch.on_value_change(lambda event: self._toggle(on=bool(event.value)))
            ui.button("Fail all of it", icon="flash_on", on_click=self._fail).props(
                "dense no-caps"
            ).mark("fail-region")
        self.region()
        self.console.on("region", self._struck)
        self.console.on("desk", self._renewed)
        self.console.on("picked", self._picked)

    @ui.refreshable_method
    def form(self) -> None:
        """From, to, how far a disaster reaches, and the method."""
        names = list(self.console.desk.federation.brokers)
        with ui.grid(columns=2).classes("w-full gap-2"):
            for i, label in enumerate(("from", "to")):
                value = self.ends[i] if self.ends[i] in names else None
                end = ui.select(names, value=value, label=label, with_input=True)
                end.props("dense outlined").mark(f"path-{label}")
                end.on_value_change(lambda event, at=i: self._end(at, event.value))
            radius = ui.number("radius_km", value=self.radius_km, min=0.1).props("dense outlined")
            radius.on_value_change(self._radius)
            method = ui.select(METHODS, value=self.method, label="method").props("dense outlined")
            method.on_value_change(lambda event: setattr(self, "method", event.value))
        ui.button("Find paths", icon="alt_route", on_click=self._find).props("dense no-caps").mark(
            "find"
        )

    def _end(self, at: int, name: str | None) -> None:
        self.ends[at] = name

    @ui.refreshable_method
    def told(self) -> None:
        """The paths in words."""
        if self.pair is None:
            return
        for line in self.pair.lines:
            ui.label(f"{line.kind}: {line.delay_ms:.2f} ms, {line.hops} hops").classes("text-bold")
            ui.label(" > ".join(line.nodes)).classes("rw-wrap").mark(f"path-{line.kind}")
        ui.label(self.pair.words).classes("rw-wrap text-caption")

    @ui.refreshable_method
    def region(self) -> None:
        """What the region takes down."""
        region = self.console.region
        if region is None:
            return
        graph = self.console.desk.federation.graph
        brokers = [graph.names[b] for b in self.hit.brokers]
        centre = f"{region['lat']:.2f}, {region['lng']:.2f}"
        ui.label(f"{region['km']:,.0f} km around {centre}").mark("region-words")
        ui.label(
            f"takes {len(brokers)} brokers and {len(self.hit.links)} links besides: "
            + (", ".join(brokers[:20]) or "no broker")
        ).classes("rw-wrap").mark("region-takes")

    # --- what people do ----------------------------------------------------------------------

    async def _find(self) -> None:
        source, to = self.ends
        if source is None or to is None or source == to:
            ui.notify("Choose two brokers.", type="warning")
            return
        federation = self.console.desk.federation
        try:
            pair = await run.io_bound(
                pair_of,
                federation,
                source,
                to,
                radius_km=float(self.radius_km),
                method=self.method,  # type: ignore[arg-type]
            )
        except RopewalkError as error:
            ui.notify(str(error), type="negative")
            return
        if pair is None or federation is not self.console.desk.federation:
            return  # the console is being stopped, or somebody has edited meanwhile
        self.pair, lines = pair, pair.lines
        self.told.refresh()
        self.console.show(
            Shown(
                paths=tuple((line.kind, line.nodes) for line in lines if not line.places),
                lines=tuple((line.kind, line.places) for line in lines if line.places),
                brokers={source: "primary", to: "primary"},
            )
        )

    async def _toggle(self, *, on: bool) -> None:
        if not on:
            await self.console.set_region(None)
            return
        at = broker_positions(self.console.desk.federation)
        if self.console.scene.map is None:
            ui.notify(
                "A region needs places on the map: at: [LATITUDE, LONGITUDE].", type="warning"
            )
            self.switch.set_value(False)
            return
        if self.console.map is not None and self.console.map.view != "map":
            ui.notify("A region is drawn on the map: choose Map above the network.")
        lat, lng = at[~_nowhere(at)].mean(axis=0).tolist()
        await self.console.set_region({"lat": lat, "lng": lng, "km": float(self.radius_km)})

    async def _struck(self) -> None:
        self._asked += 1
        asked, region, hit = self._asked, self.console.region, Down()
        federation = self.console.desk.federation
        if region is not None:
            at = (region["lat"], region["lng"])
            hit = await run.io_bound(struck, federation, at, region["km"]) or hit
        # It may have been dragged on, or the text edited, while it was computed.
        if asked == self._asked and federation is self.console.desk.federation:
            self.hit = hit
            self.region.refresh()

    async def _fail(self) -> None:
        if self.console.region is None:
            ui.notify("Show a region first, and drag it to where it strikes.", type="warning")
            return
        scene = self.console.scene
        names = [scene.brokers[b] for b in self.hit.brokers]
        await self.console.set_failed([*names, *(scene.links[e] for e in self.hit.links)])

    async def _radius(self, event: Any) -> None:
        if event.value and event.value > 0:
            self.radius_km = float(event.value)
            if self.console.region is not None:
                await self.console.set_region({**self.console.region, "km": self.radius_km})

    async def _renewed(self) -> None:
        self.pair, self.hit = None, Down()
        self.form.refresh()
        self.told.refresh()
        if self.console.region is not None and self.console.scene.map is None:
            self.switch.set_value(False)
        await self._struck()

    def _picked(self) -> None:
        """Brokers that are selected on the map become the ends, one after the other."""
        if self.console.picked is None or self.console.pick_mode != "look":
            return
        kind, name = self.console.picked
        if kind == "broker":
            self.ends = (
                [self.ends[1], name] if None not in self.ends else [self.ends[0] or name, name]
            )
            if self.ends[0] == self.ends[1]:
                self.ends[1] = None
            self.form.refresh()


def _nowhere(at: Any) -> Any:
    return (at != at).any(axis=1)
