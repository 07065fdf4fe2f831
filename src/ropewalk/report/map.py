"""A map of paths that lie apart: the network in grey, paths in colour, regions to scale."""

import logging
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path as File
from typing import TYPE_CHECKING

import numpy as np

from ropewalk.errors import UsageError
from ropewalk.federation.places import EARTH_RADIUS_KM
from ropewalk.federation.saving import write_bytes
from ropewalk.routing.apart.regions import Words
from ropewalk.routing.apart.scene import Scene
from ropewalk.routing.apart.study import Study
from ropewalk.routing.apart.terrain import Path, Terrain
from ropewalk.routing.apart.ways import ways

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from shapely.geometry.base import BaseGeometry

COLOURS = ("#0b5fa5", "#d1495b", "#2a7f62")
LABELS = ("primary", "alternate", "second alternate")
SUFFIXES = (".png", ".svg", ".pdf")
NAME_WIDTH, NAME_HEIGHT = 0.11, 0.022
"""The room that a name takes, as parts of the map."""


@dataclass(frozen=True, slots=True)
class Circle:
    """A region to draw: its centre as in the file, its radius, and what the legend says."""

    centre: tuple[float, float]
    radius_km: float
    label: str


@dataclass(frozen=True, slots=True)
class Outline:
    """A polygon to draw, and whether it cuts all paths of a pair."""

    name: str
    shape: "BaseGeometry"
    cuts: bool


def draw_study(found: Study, file: File, *, name: str) -> None:
    """Write a map of all that a study has found."""
    pairs = found.pairs
    title = " - ".join(pairs[0]) if len(pairs) == 1 else f"{len(pairs)} pairs"
    draw_map(
        found.scene.terrain,
        [plan.paths for plan in found.plans],
        file,
        title=f"{name}: {title}",
        circle=_telling_circle(found),
        outlines=_outlines(found),
    )


def _telling_circle(found: Study) -> Circle | None:
    """A circle that cuts all paths of a pair, if possible needlessly, else one over a primary."""
    tests, several = found.tests, " of a pair" if len(found.plans) > 1 else ""
    needless = [(plan.paths, tests.left_to_avoid(plan.paths)) for plan in found.plans]
    all_paths = [(plan.paths, _lost(tests, plan.paths)) for plan in found.plans]
    primary = [(plan.paths[:1], _lost(tests, plan.paths[:1])) for plan in found.plans]
    for paths, bits in (*needless, *all_paths, *primary):
        for kind, number in tests.regions.among(bits & tests.regions.of_circles()):
            where = kind.where(number)
            (x, y), radius = where["centre"], where["radius_km"]
            cut = ("the primary", "both paths", "all three paths")[len(paths) - 1]
            label = f"a region of {radius:g} km that cuts {cut}{several}"
            return Circle((x, y), radius, label)
    return None


def _lost(tests: Scene, paths: Sequence[Path]) -> Words:
    """The regions that cut all of these paths and spare the ends."""
    ends = paths[0].nodes[0], paths[0].nodes[-1]
    return tests.lost(paths) & tests.regions.sparing(*ends)


def _outlines(found: Study) -> list[Outline]:
    cutting = {one["name"] for plan in found.plans for one in found.cut_by(plan)}
    return [
        Outline(name, shape, name in cutting)
        for kind in found.tests.regions.kinds
        for name, shape in zip(kind.names, kind.outlines, strict=False)
    ]


def draw_map(
    terrain: Terrain,
    plans: Sequence[Sequence[Path]],
    file: File,
    *,
    title: str,
    circle: Circle | None = None,
    outlines: Sequence[Outline] = (),
) -> None:
    """Write a map of plans to a file.

    Raises UsageError for a file name that is no picture's and for a network without places.
    """
    check_name(file)
    if not plans or np.isnan(terrain.at).any(axis=1).all():
        raise UsageError("there is nothing to draw: no path, or no node that has a place")
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    from matplotlib.figure import Figure

    figure = Figure(figsize=_size(terrain), layout="constrained")
    axes = figure.add_subplot()
    lines = ways(terrain)
    _network(axes, terrain, lines)
    for plan in plans:
        _paths(axes, terrain, plan, lines, several=len(plans) > 1)
    if circle is not None:
        _circle(axes, terrain, circle)
    for outline in outlines:
        _polygon(axes, outline)
    _names(axes, terrain, plans)
    _frame(axes, terrain, title)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a letter that the font lacks is a box
        picture = BytesIO()
        figure.savefig(picture, dpi=120, format=file.suffix[1:].lower())
    write_bytes(file, picture.getvalue())


def check_name(file: File) -> None:
    """UsageError for a file name that is no picture's, or whose folder is not there."""
    if file.suffix.lower() not in SUFFIXES:
        raise UsageError(f"{file}: name a picture: {', '.join('*' + one for one in SUFFIXES)}")
    if not file.parent.is_dir():
        raise UsageError(f"{file}: there is no folder {file.parent}: make it, or name another")


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


def _network(axes: "Axes", terrain: Terrain, lines: Sequence[Sequence[np.ndarray]]) -> None:
    from matplotlib.collections import LineCollection

    pieces = [piece for line in lines for piece in line]
    axes.add_collection(LineCollection(pieces, colors="#c9ced6", lw=0.8))
    axes.plot(*_across(terrain).T, ".", color="#9aa3af", ms=4, zorder=2)


def _paths(
    axes: "Axes",
    terrain: Terrain,
    plan: Sequence[Path],
    lines: Sequence[Sequence[np.ndarray]],
    *,
    several: bool,
) -> None:
    at = _across(terrain)
    for i, path in enumerate(plan[: len(COLOURS)]):
        known = LABELS[i] in axes.get_legend_handles_labels()[1]
        delay = "" if several else f", {path.delay_ms:.1f} ms"
        axes.plot(
            *_joined([piece for link in path.links for piece in lines[link]]).T,
            color=COLOURS[i],
            lw=1.2 if several else 2.4,
            alpha=0.5 if several else 0.95,
            zorder=6 - i,
            label="_" if several and known else f"{LABELS[i]}{delay}",
        )
        nodes = at[list(path.nodes)].T
        axes.plot(*nodes, "o", color=COLOURS[i], ms=3 if several else 5, zorder=6 - i)
    ends = at[[plan[0].nodes[0], plan[0].nodes[-1]]]
    axes.plot(*ends.T, "s", color="#1f2933", ms=5 if several else 8, zorder=8)


def _joined(pieces: Sequence[np.ndarray]) -> np.ndarray:
    """Lines as one, with a gap after each: a row of NaN lifts the pen."""
    gap = np.full((1, 2), np.nan)
    return np.vstack([gap, *(part for piece in pieces for part in (piece, gap))])


def _circle(axes: "Axes", terrain: Terrain, circle: Circle) -> None:
    x, y = _rim(terrain, circle.centre, circle.radius_km, np.linspace(0, 2 * np.pi, 181))
    axes.fill(x, y, color="#f2b134", alpha=0.22, lw=0, zorder=1)
    axes.plot(x, y, color="#b7791f", lw=1.4, ls="--", zorder=3, label=circle.label)


def _polygon(axes: "Axes", outline: Outline) -> None:
    """A polygon with its name in it; the first of a sort tells the legend what the colour means."""
    import shapely
    from matplotlib.patheffects import withStroke

    colour = "#c2410c" if outline.cuts else "#7c6f9b"
    label = "a polygon that cuts all paths" if outline.cuts else "a polygon"
    for part in shapely.get_parts(outline.shape):
        known = label in axes.get_legend_handles_labels()[1]
        rim = np.asarray(part.exterior.coords)[:, :2].T
        axes.fill(*rim, color=colour, alpha=0.25 if outline.cuts else 0.12, lw=0, zorder=1)
        axes.plot(*rim, color=colour, lw=1.4, zorder=3, label="_" if known else label)
        for hole in part.interiors:
            axes.plot(*np.asarray(hole.coords)[:, :2].T, color=colour, lw=1.4, zorder=3)
    middle = outline.shape.representative_point()
    axes.annotate(
        outline.name,
        (middle.x, middle.y),
        ha="center",
        fontsize=8,
        color=colour,
        zorder=9,
        parse_math=False,
        path_effects=[withStroke(linewidth=2.2, foreground="white")],
    )


def _rim(
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
            parse_math=False,
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
    axes.set_title(title, loc="left", fontsize=11, parse_math=False)
    axes.tick_params(labelsize=8, color="#9aa3af")
    for side in axes.spines.values():
        side.set_color("#d5dae1")
    legend = axes.legend(loc="best", fontsize=8.5, framealpha=0.9, edgecolor="#d5dae1")
    legend.set_zorder(10)
