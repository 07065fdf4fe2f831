"""The map element: what `map.js` is told, and what it says back."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import nicegui.elements.leaflet as leaflet_package
from nicegui.element import Element
from nicegui.events import GenericEventArguments

from ropewalk.web.scene import Scene

View = Literal["map", "sheet"]
Paint = dict[str, Any]
"""Looks by number: `brokers`, `links`, `paths` of broker numbers, `load` from 0 to 1."""

_LEAFLET = Path(leaflet_package.__file__ or "").parent / "dist"


class NetworkMap(Element, component="map.js"):
    """Brokers and links, on the map or on a sheet."""

    def __init__(
        self,
        scene: Scene,
        *,
        on_pick: Callable[[dict[str, Any]], Any],
        on_region: Callable[[dict[str, Any]], Any],
    ) -> None:
        super().__init__()
        self.add_resource(_LEAFLET)
        self._told: dict[str, Any] = {
            "scene": scene.as_dict(),
            "view": "map" if scene.map is not None else "sheet",
            "paint": {},
            "region": None,
        }
        self._ready = False
        self.on("ready", self._tell_all)
        self.on("pick", lambda event: on_pick(_arguments(event)))
        self.on("region", lambda event: on_region(_arguments(event)))

    @property
    def view(self) -> View:
        """Which of the two is shown."""
        shown: View = self._told["view"]
        return shown

    def set_scene(self, scene: Scene) -> None:
        """Another network, drawn plain; where it has no places on the map, on the sheet."""
        view = self.view if scene.map is not None else "sheet"
        self._tell(scene=scene.as_dict(), view=view, paint={})

    def set_view(self, view: View) -> None:
        """The map, or the sheet."""
        self._tell(view=view)

    def paint(self, paint: Paint) -> None:
        """Colour brokers and links, and draw paths; what is not named is plain."""
        self._tell(paint=paint)

    def set_region(self, region: dict[str, float] | None) -> None:
        """A circle that can be dragged: lat, lng, km; or none."""
        self._tell(region=region)

    def show(self, kind: str, number: int) -> None:
        """Zoom to a link or a broker."""
        self.run_method("show", kind, number)

    # Props would be sent again, scene and all, with every change: only what is new is told.
    def _tell(self, **news: Any) -> None:
        self._told |= news
        if self._ready:
            self.run_method("tell", news)

    def _tell_all(self) -> None:
        self._ready = True
        self.run_method("tell", self._told)


def _arguments(event: GenericEventArguments) -> dict[str, Any]:
    return dict(event.args)
