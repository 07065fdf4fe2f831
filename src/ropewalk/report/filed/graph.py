"""A federation drawn: brokers at their places on the map, or apart by hops; links and bridges."""

from collections.abc import Collection, Sequence
from html import escape

import numpy as np

from ropewalk.federation.arrays import Floats
from ropewalk.federation.facts import Federation
from ropewalk.federation.names import link_name
from ropewalk.federation.places import broker_positions, on_globe
from ropewalk.report.filed.blocks import Drawing

WIDTH, LEAST_HEIGHT, MOST_HEIGHT = 480.0, 170.0, 440.0
MARGIN = 34.0
MOST_DRAWN, MOST_NAMED, CROWD = 400, 60, 24
NODE = 6.0
LETTER = 5.4
"""Width of a letter of a name, about."""


def drawn(federation: Federation, weak: Collection[str] = ()) -> Drawing | None:
    """The federation as a picture; `weak` are failures that cut pairs off, by name.

    None if there is too much to see anything.
    """
    if len(federation.brokers) > MOST_DRAWN:
        return None
    at, by_place = _laid_out(federation)
    height = float(at[:, 1].max()) + MARGIN
    marks = [*_links(federation, at, weak), *_bridges(federation, at)]
    marks += _brokers(federation, at, weak)
    what = "brokers at their places" if by_place else "brokers, apart by hops"
    caption = f"{federation.name}: {what}; circle NATS, square Mosquitto, triangle RabbitMQ."
    if federation.bridges:
        caption += " Arrows are bridges of the brokers' own, towards where they carry messages."
    if weak:
        caption += " Red: what pairs of publishers and subscribers cannot do without."
    return Drawing(picture(WIDTH, height, f"{federation.name}: {what}", marks), caption)


def picture(width: float, height: float, label: str, marks: Sequence[str]) -> str:
    """Marks as one SVG that takes the width it is given."""
    arrow = (
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6"'
        ' markerHeight="6" orient="auto-start-reverse"><path class="tip" d="M0,0 L8,4 L0,8 z"/>'
        "</marker></defs>"
    )
    defs = arrow if any("#arrow" in one for one in marks) else ""
    return (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{escape(label)}">'
        f"{defs}{''.join(marks)}</svg>"
    )


def _laid_out(federation: Federation) -> tuple[Floats, bool]:
    """Places on the picture, and whether they are those on the map."""
    at = broker_positions(federation)
    by_place = not np.isnan(at).any() and len(np.unique(at, axis=0)) > 1
    if by_place and on_globe(federation):
        stretch = max(float(np.cos(np.radians(at[:, 0].mean()))), 0.2)
        at = np.column_stack([at[:, 1] * stretch, -at[:, 0]])
    elif by_place:
        at = at * [1.0, -1.0]
    else:
        at = _by_hops(federation)
    return _fitted(at), by_place


def _by_hops(federation: Federation) -> Floats:
    """Places whose distances are like the numbers of hops (stress majorization, Gansner 2004)."""
    far = _hops(federation)
    n = len(far)
    at = _scaled(far)
    weight = 1 / np.maximum(far, 1.0) ** 2
    np.fill_diagonal(weight, 0.0)
    for _ in range(120 if n > 1 else 0):
        step = at[:, None] - at[None]
        apart = np.maximum(np.hypot(step[..., 0], step[..., 1]), 1e-9)
        wanted = at[None] + step * (far / apart)[..., None]
        at = (weight[..., None] * wanted).sum(1) / weight.sum(1)[:, None]
    return np.asarray(at)


def _scaled(far: Floats) -> Floats:
    """Where to start: classical scaling, a little apart so that what lies together can part."""
    n = len(far)
    centred = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(-0.5 * centred @ far**2 @ centred)
    vectors *= np.where(vectors[np.abs(vectors).argmax(0), range(n)] < 0, -1.0, 1.0)
    at = np.zeros((n, 2))
    for column in range(min(2, n)):
        at[:, column] = vectors[:, -1 - column] * np.sqrt(max(values[-1 - column], 0.0))
    turn = 2.4 * np.arange(n)
    return np.asarray(at + 0.05 * np.column_stack([np.cos(turn), np.sin(turn)]))


def _hops(federation: Federation) -> Floats:
    """Hops over links and bridges; what does not hang together is a little further apart."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    number = {name: i for i, name in enumerate(federation.brokers)}
    ends = [tuple(map(int, pair)) for pair in federation.graph.ends]
    ends += [(number[one.from_], number[one.to]) for one in federation.bridges]
    a, b = np.array(ends, np.int64).reshape(-1, 2).T
    grid = csr_array((np.ones(len(a)), (a, b)), shape=(len(number), len(number)))
    far = np.asarray(shortest_path(grid, directed=False, unweighted=True))
    known = far[np.isfinite(far)]
    far[~np.isfinite(far)] = (known.max() if len(known) else 0) + 1
    return far


def _fitted(at: Floats) -> Floats:
    """The same shape inside the picture, and no two brokers on top of each other."""
    wide, high = np.ptp(at, axis=0)
    inner = WIDTH - 2 * MARGIN
    scale = min(inner / max(wide, 1e-9), (MOST_HEIGHT - 2 * MARGIN) / max(high, 1e-9))
    at = (at - at.min(0)) * scale
    turn = 2.4 * np.arange(len(at))  # so that what lies together has a direction to part in
    at = at + np.column_stack([np.cos(turn), np.sin(turn)]) * 0.5
    gap = min(44.0, 0.7 * np.sqrt(inner * MOST_HEIGHT / len(at)))
    for _ in range(80):
        step = at[:, None] - at[None]
        apart = np.hypot(step[..., 0], step[..., 1])
        np.fill_diagonal(apart, np.inf)
        push = np.maximum(gap - apart, 0) / 2 / np.maximum(apart, 1e-9)
        at = at + 0.5 * (step * push[..., None]).sum(1)
        at = np.clip(at, 0, [inner, MOST_HEIGHT])
    at = at - at.min(0)
    spare_x = (inner - np.ptp(at[:, 0])) / 2
    spare_y = max(LEAST_HEIGHT - 2 * MARGIN - float(np.ptp(at[:, 1])), 0) / 2
    return np.asarray(at + np.array([MARGIN + spare_x, MARGIN + spare_y]))


def _links(federation: Federation, at: Floats, weak: Collection[str]) -> list[str]:
    marks = []
    for link, (a, b) in zip(federation.links, federation.graph.ends.tolist(), strict=True):
        name = link_name(*link.between)
        kind = "link weak" if name in weak else "link"
        (x1, y1), (x2, y2) = at[a], at[b]
        marks.append(
            f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}">'
            f"<title>{escape(name)}</title></line>"
        )
    return marks


def _bridges(federation: Federation, at: Floats) -> list[str]:
    """Arrows a little to the right of the way they go, so that there and back are two."""
    number = {name: i for i, name in enumerate(federation.brokers)}
    arrows = {}
    for one in federation.bridges:
        there, back = (number[one.from_], number[one.to]), (number[one.to], number[one.from_])
        if one.direction in ("out", "both"):
            arrows[there] = one
        if one.direction in ("in", "both"):
            arrows[back] = one
    marks = []
    for (a, b), bridge in arrows.items():
        step = at[b] - at[a]
        length = max(float(np.hypot(*step)), 1e-9)
        aside = np.array([-step[1], step[0]]) / length * 3
        start, end = at[a] + aside, at[b] + aside - step / length * (NODE + 3)
        name = escape(f"{bridge.kind} of {bridge.from_} to {bridge.to}")
        marks.append(
            f'<line class="bridge" marker-end="url(#arrow)" x1="{start[0]:.1f}" y1="{start[1]:.1f}"'
            f' x2="{end[0]:.1f}" y2="{end[1]:.1f}"><title>{name}</title></line>'
        )
    return marks


def _brokers(federation: Federation, at: Floats, weak: Collection[str]) -> list[str]:
    named = len(federation.brokers) <= MOST_NAMED
    marks = []
    for (x, y), (name, one) in zip(at.tolist(), federation.brokers.items(), strict=True):
        kind = f"broker {one.make}{' many' if len(federation.brokers) > CROWD else ''}"
        mark = f'<g class="{kind}"><title>{escape(name)}</title>'
        if name in weak:
            mark += f'<circle class="halo" cx="{x:.1f}" cy="{y:.1f}" r="{NODE + 5:.1f}"/>'
        mark += _shape(one.make, x, y)
        if named:
            half = len(name) * LETTER / 2
            middle = min(max(x, half + 2), max(WIDTH - half - 2, half + 2))
            mark += f'<text x="{middle:.1f}" y="{y + NODE + 15:.1f}">{escape(name)}</text>'
        marks.append(f"{mark}</g>")
    return marks


def _shape(make: str, x: float, y: float) -> str:
    if make == "mosquitto":
        left, top, side = x - NODE * 0.9, y - NODE * 0.9, NODE * 1.8
        return f'<rect x="{left:.1f}" y="{top:.1f}" width="{side:.1f}" height="{side:.1f}" rx="1"/>'
    if make == "rabbitmq":
        r = NODE * 1.2
        return (
            f'<path d="M{x:.1f},{y - r:.1f} L{x + r:.1f},{y + r * 0.75:.1f}'
            f' L{x - r:.1f},{y + r * 0.75:.1f} z"/>'
        )
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{NODE:.1f}"/>'
