"""A map of paths that lie apart: the network in grey, paths in colour, a region to scale."""

from collections.abc import Sequence
from pathlib import Path as File
from typing import TYPE_CHECKING

import numpy as np

from ropewalk.errors import UsageError
from ropewalk.federation.places import EARTH_RADIUS_KM
from ropewalk.routing.apart.terrain import Path, Terrain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#0b5fa5", "#d1495b", "#2a7f62")
LABELS = ("primary", "alternate", "second alternate")
SUFFIXES = (".png", ".svg", ".pdf")
NAME_WIDTH, NAME_HEIGHT = 0.11, 0.022
"""The room that a name takes, as parts of the map."""


def draw_map(
    terrain: Terrain,
    plans: Sequence[Sequence[Path]],
    file: File,
    *,
    title: str,
    region: tuple[tuple[float, float], float] | None = None,
    region_label: str = "a region",
) -> None:
    """Write a map of plans to a file; `region` is a centre and a radius in km.

    Raises UsageError for a file name that is no picture's and for a network without places.
    """
    if file.suffix.lower() not in SUFFIXES:
        raise UsageError(f"{file}: name a picture: {', '.join('*' + one for one in SUFFIXES)}")
    if not file.parent.is_dir():
        raise UsageError(f"{file}: there is no folder {file.parent}: make it, or name another")
    if not plans or np.isnan(terrain.at).any(axis=1).all():
        raise UsageError("there is nothing to draw: no path, or no node that has a place")
    from matplotlib.figure import Figure

    figure = Figure(figsize=_size(terrain), layout="constrained")
    axes = figure.add_subplot()
    _network(axes, terrain)
    for plan in plans:
        _paths(axes, terrain, plan, several=len(plans) > 1)
    if region is not None:
        _region(axes, terrain, *region, region_label)
    _names(axes, terrain, plans)
    _frame(axes, terrain, title)
    figure.savefig(file, dpi=120)


def _size(terrain: Terrain) -> tuple[float, float]:
    """Inches of a picture in which the network fills the frame."""
    wide, high = np.nanmax(_across(terrain), axis=0) - np.nanmin(_across(terrain), axis=0)
    shape = float(wide / max(high * _aspect(terrain), 1e-9))
    return (8 * shape + 1, 8.5) if 0.5 < shape < 1 else (9.0, min(max(8 / max(shape, 0.5), 4), 15))


def _aspect(terrain: Terrain) -> float:
    """How much longer a degree of latitude is than one of longitude, in the middle of the map."""
    if not terrain.globe:
        return 1.0
    return 1 / max(float(np.cos(np.radians(np.nanmean(terrain.at[:, 0])))), 0.2)


def _across(terrain: Terrain) -> np.ndarray:
    """Places as x and y: longitude and latitude, or kilometres."""
    return terrain.at[:, ::-1] if terrain.globe else terrain.at


def _network(axes: "Axes", terrain: Terrain) -> None:
    from matplotlib.collections import LineCollection

    at = _across(terrain)
    lines = [
        line
        for line in at[terrain.graph.ends]
        if not abs(line[0, 0] - line[1, 0]) > 180 or not terrain.globe
    ]
    axes.add_collection(LineCollection(lines, colors="#c9ced6", lw=0.8))
    axes.plot(*at.T, ".", color="#9aa3af", ms=4, zorder=2)


def _paths(axes: "Axes", terrain: Terrain, plan: Sequence[Path], *, several: bool) -> None:
    at = _across(terrain)
    for i, path in enumerate(plan[: len(COLOURS)]):
        known = LABELS[i] in axes.get_legend_handles_labels()[1]
        delay = "" if several else f", {path.delay_ms:.1f} ms"
        axes.plot(
            *at[list(path.nodes)].T,
            "-o",
            color=COLOURS[i],
            lw=1.2 if several else 2.4,
            ms=3 if several else 5,
            alpha=0.5 if several else 0.95,
            zorder=6 - i,
            label="_" if several and known else f"{LABELS[i]}{delay}",
        )
    ends = at[[plan[0].nodes[0], plan[0].nodes[-1]]]
    axes.plot(*ends.T, "s", color="#1f2933", ms=5 if several else 8, zorder=8)


def _region(
    axes: "Axes", terrain: Terrain, centre: tuple[float, float], radius_km: float, label: str
) -> None:
    turn = np.linspace(0, 2 * np.pi, 181)
    x, y = _circle(terrain, centre, radius_km, turn)
    axes.fill(x, y, color="#f2b134", alpha=0.22, lw=0, zorder=1)
    axes.plot(x, y, color="#b7791f", lw=1.4, ls="--", zorder=3, label=label)


def _circle(
    terrain: Terrain, centre: tuple[float, float], radius_km: float, turn: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """A circle on the ground as it looks on the map."""
    if not terrain.globe:
        return centre[0] + radius_km * np.cos(turn), centre[1] + radius_km * np.sin(turn)
    lat, lon, far = np.radians(centre[0]), np.radians(centre[1]), radius_km / EARTH_RADIUS_KM
    north = np.arcsin(np.sin(lat) * np.cos(far) + np.cos(lat) * np.sin(far) * np.cos(turn))
    east = lon + np.arctan2(
        np.sin(turn) * np.sin(far) * np.cos(lat), np.cos(far) - np.sin(lat) * np.sin(north)
    )
    return np.degrees(east), np.degrees(north)


def _names(axes: "Axes", terrain: Terrain, plans: Sequence[Sequence[Path]]) -> None:
    """Names of ends, and of the nodes of a single plan where there is room for them."""
    from matplotlib.patheffects import withStroke

    at = _across(terrain)
    for node in _with_room(terrain, plans):
        axes.annotate(
            terrain.graph.names[node],
            tuple(at[node]),
            textcoords="offset points",
            xytext=(6, 4),
            fontsize=7.5,
            color="#1f2933",
            zorder=9,
            path_effects=[withStroke(linewidth=2.2, foreground="white")],
        )


def _with_room(terrain: Terrain, plans: Sequence[Sequence[Path]]) -> list[int]:
    """Nodes whose names do not lie over each other, the ends before the others."""
    ends = [node for plan in plans for node in (plan[0].nodes[0], plan[0].nodes[-1])]
    inner = [node for path in plans[0] for node in path.nodes] if len(plans) == 1 else []
    at = _across(terrain)
    wide, high = np.nanmax(at, axis=0) - np.nanmin(at, axis=0)
    named: list[int] = []
    for node in dict.fromkeys([*ends, *inner]):
        x, y = np.abs(at[named] - at[node]).T if named else (np.array([]), np.array([]))
        if not ((x < NAME_WIDTH * wide) & (y < NAME_HEIGHT * high)).any():
            named.append(node)
    return named


def _frame(axes: "Axes", terrain: Terrain, title: str) -> None:
    axes.set_aspect(_aspect(terrain))
    axes.set_xlabel("longitude" if terrain.globe else "km")
    axes.set_ylabel("latitude" if terrain.globe else "km")
    axes.margins(0.06)
    axes.set_title(title, loc="left", fontsize=11)
    axes.tick_params(labelsize=8, color="#9aa3af")
    for side in axes.spines.values():
        side.set_color("#d5dae1")
    axes.legend(loc="best", fontsize=8.5, frameon=True, framealpha=0.9, edgecolor="#d5dae1")
