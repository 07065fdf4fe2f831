"""Charts as inline SVG: risks of brokers on a logarithmic scale, and outages in time."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import log10
from typing import Literal

from ropewalk.report.filed.blocks import Drawing
from ropewalk.report.filed.graph import picture

WIDTH, LEFT, RIGHT, ROW = 480.0, 112.0, 24.0, 24.0
TOP, BOTTOM = 26.0, 24.0
FLOOR = 1e-6
"""Smaller risks are drawn here."""
TICKS = ((1e-6, "0.0001 %"), (1e-4, "0.01 %"), (1e-2, "1 %"), (1.0, "100 %"))
MOST_ROWS = 40
NAME = 17
Mark = Literal["today", "after", "observed"]
SAYS: dict[Mark, str] = {"today": "before", "after": "predicted", "observed": "observed"}


@dataclass(frozen=True, slots=True)
class Point:
    """A risk, and where it surely lies."""

    mark: Mark
    value: float
    low: float | None = None
    high: float | None = None


def risk_chart(rows: Sequence[tuple[str, Sequence[Point]]], caption: str) -> Drawing:
    """A line per broker, the highest risk first."""
    rows = sorted(rows, key=lambda row: -max((one.value for one in row[1]), default=0.0))
    shown = rows[:MOST_ROWS]
    height = TOP + ROW * len(shown) + BOTTOM
    marks = [*_legend(shown), *_axis(height)]
    for i, (name, points) in enumerate(shown):
        y = TOP + ROW * (i + 0.5)
        marks.append(_name(name, y))
        if len(points) > 1:
            ends = sorted(_x(one.value) for one in points)
            marks.append(_line("span", ends[0], ends[-1], y))
        marks += [mark for one in points for mark in _point(one, y)]
    if len(rows) > len(shown):
        caption += f" {len(rows) - len(shown)} more brokers have less risk."
    return Drawing(picture(WIDTH, height, caption, marks), caption)


def _x(risk: float) -> float:
    part = (log10(max(risk, FLOOR)) - log10(FLOOR)) / -log10(FLOOR)
    return LEFT + part * (WIDTH - LEFT - RIGHT)


def _axis(height: float) -> list[str]:
    marks = []
    for value, text in TICKS:
        x = _x(value)
        marks.append(
            f'<line class="grid" x1="{x:.1f}" y1="{TOP:.1f}" x2="{x:.1f}"'
            f' y2="{height - BOTTOM:.1f}"/><text class="tick" x="{x:.1f}"'
            f' y="{height - BOTTOM + 14:.1f}">{text}</text>'
        )
    return marks


def _legend(rows: Sequence[tuple[str, Sequence[Point]]]) -> list[str]:
    there = {one.mark for _, points in rows for one in points}
    marks, x = [], LEFT
    for mark, text in SAYS.items():
        if mark in there:
            marks += _shape(mark, x + 5, 11)
            marks.append(f'<text class="key" x="{x + 14:.1f}" y="15">{text}</text>')
            x += 26 + 6.2 * len(text)
    return marks


def _point(one: Point, y: float) -> list[str]:
    marks = []
    if one.low is not None and one.high is not None:
        marks.append(_line("interval", _x(one.low), _x(one.high), y))
    return [*marks, *_shape(one.mark, _x(one.value), y)]


def _shape(mark: Mark, x: float, y: float) -> list[str]:
    if mark == "observed":
        return [
            f'<path class="observed" d="M{x:.1f},{y - 5:.1f} l5,5 l-5,5 l-5,-5 z"/>',
        ]
    return [f'<circle class="{mark}" cx="{x:.1f}" cy="{y:.1f}" r="4.5"/>']


def _line(kind: str, x1: float, x2: float, y: float) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y:.1f}" x2="{x2:.1f}" y2="{y:.1f}"/>'


def _name(name: str, y: float) -> str:
    short = name if len(name) <= NAME else f"{name[: NAME - 2]}.."
    title = f"<title>{escape(name)}</title>"
    return f'<text class="row" x="{LEFT - 10:.1f}" y="{y + 4:.1f}">{title}{escape(short)}</text>'


def outage_chart(
    rows: Sequence[tuple[str, Sequence[tuple[float, float]]]],
    seconds: float,
    caption: str,
    faults: Sequence[float] = (),
) -> Drawing:
    """A line per publisher and subscriber, with bars where nothing came (start s, length ms)."""
    rows = sorted(rows, key=lambda row: -max((ms for _, ms in row[1]), default=0.0))
    shown = rows[:MOST_ROWS]
    height = TOP - 12 + ROW * len(shown) + BOTTOM
    wide = WIDTH - LEFT - RIGHT
    marks = []
    for part in range(5):
        x = LEFT + wide * part / 4
        marks.append(
            f'<line class="grid" x1="{x:.1f}" y1="{TOP - 12:.1f}" x2="{x:.1f}"'
            f' y2="{height - BOTTOM:.1f}"/><text class="tick" x="{x:.1f}"'
            f' y="{height - BOTTOM + 14:.1f}">{seconds * part / 4:.3g} s</text>'
        )
    for at_s in faults:
        x = LEFT + wide * min(max(at_s / max(seconds, 1e-9), 0.0), 1.0)
        marks.append(
            f'<line class="fault" x1="{x:.1f}" y1="{TOP - 12:.1f}" x2="{x:.1f}"'
            f' y2="{height - BOTTOM:.1f}"/>'
        )
    for i, (name, outages) in enumerate(shown):
        y = TOP - 12 + ROW * (i + 0.5)
        marks += [_name(name, y), _line("quiet", LEFT, LEFT + wide, y)]
        for at_s, ms in outages:
            x = LEFT + wide * min(max(at_s / max(seconds, 1e-9), 0.0), 1.0)
            long = max(wide * ms / 1000 / max(seconds, 1e-9), 2.0)
            marks.append(
                f'<rect class="outage" x="{x:.1f}" y="{y - 5:.1f}" height="10"'
                f' width="{min(long, LEFT + wide - x + 2):.1f}">'
                f"<title>{ms:.0f} ms from {at_s:.2f} s</title></rect>"
            )
    if len(rows) > len(shown):
        caption += f" {len(rows) - len(shown)} more had shorter ones."
    return Drawing(picture(WIDTH, height, caption, marks), caption)
