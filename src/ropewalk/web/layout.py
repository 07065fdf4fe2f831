"""Places for brokers on a sheet of paper: neighbours near each other, everybody apart.

Springs pull along links and everybody pushes everybody (Fruchterman and Reingold 1991), from a
start that has nothing random in it, so that the same federation always looks the same.
"""

from functools import lru_cache

import numpy as np

from ropewalk.federation.arrays import Floats, Graph, Ints

STEPS = 120
QUICK, FEWEST = 300, 8
"""With more brokers than this there are fewer steps: people wait, and so does every other tab."""
MOST = 2000
"""Above this many brokers pushing everybody costs too much; then the start alone has to do."""
MOVED = 0.12
"""How far a broker may go in the first step; the sheet is about two wide."""


def layout_of(graph: Graph) -> Floats:
    """A row (x, y) per broker, within -1 and 1.

    >>> from ropewalk import generate
    >>> at = layout_of(generate("six-node").graph)
    >>> at.shape, bool(abs(at).max() <= 1)
    ((6, 2), True)
    """
    return _laid(graph.brokers, np.asarray(graph.ends, np.int32).tobytes()).copy()


@lru_cache(maxsize=16)  # for every tab, and for edits that join nobody anew
def _laid(brokers: int, links: bytes) -> Floats:
    ends = np.frombuffer(links, np.int32).reshape(-1, 2)
    at = _start(brokers, ends)
    if 2 < brokers <= MOST:
        at = _relaxed(at, ends)
    at = at - (at.max(axis=0) + at.min(axis=0)) / 2
    return np.asarray(at / max(float(np.abs(at).max()), 1e-9))


def _start(brokers: int, ends: Ints) -> Floats:
    """Smooth over the graph where that can be computed (its slowest modes), else a circle."""
    turn = np.linspace(0, 2 * np.pi, brokers, endpoint=False)
    circle = np.column_stack([np.cos(turn), np.sin(turn)])
    if not 4 <= brokers <= MOST or not len(ends):
        return circle
    laplacian = np.zeros((brokers, brokers))
    for a, b in ends:
        laplacian[a, b] -= 1
        laplacian[b, a] -= 1
    laplacian -= np.diag(laplacian.sum(axis=1))
    modes = np.linalg.eigh(laplacian)[1][:, 1:3]
    modes = modes / np.maximum(np.abs(modes).max(axis=0), 1e-9)
    # Eigenvectors are known up to their sign only: the first broker decides it.
    modes = modes * np.where(modes[np.abs(modes).argmax(axis=0), [0, 1]] < 0, -1, 1)
    return np.asarray(0.7 * modes + 0.3 * circle)


def _relaxed(at: Floats, ends: Ints) -> Floats:
    near = 1.6 / np.sqrt(len(at))
    a, b = ends[:, 0], ends[:, 1]
    steps = max(FEWEST, int(STEPS * min(1.0, (QUICK / len(at)) ** 2)))
    for step in range(steps):
        push = _pushed(at, near)
        along = at[b] - at[a]
        pull = along * (np.hypot(*along.T) / near)[:, None]
        np.add.at(push, a, pull)
        np.add.at(push, b, -pull)
        push -= 0.15 * at  # keeps parts that no link joins on the sheet
        far = np.maximum(np.hypot(*push.T), 1e-12)
        at = at + push * (np.minimum(far, MOVED * (1 - step / steps)) / far)[:, None]
    return at


def _pushed(at: Floats, near: float) -> Floats:
    x, y = (one[:, None] - one for one in at.T)
    weight = near**2 / np.maximum(x**2 + y**2, 1e-6)
    return np.column_stack([(x * weight).sum(axis=1), (y * weight).sum(axis=1)])


def apart(at: Floats, gap: float) -> Floats:
    """Brokers in the very same place, put on a small ring around it so that each can be clicked.

    >>> apart(np.zeros((2, 2)), 1.0).round(2).tolist()
    [[0.5, 0.87], [-0.5, -0.87]]
    """
    spread = at.copy()
    for rows in _together(at):
        turn = np.pi / 3 + np.arange(len(rows)) * 2 * np.pi / len(rows)
        ring = np.column_stack([np.cos(turn), np.sin(turn)])
        spread[rows] += gap * max(1.0, len(rows) / 6) * ring
    return spread


def _together(at: Floats) -> list[list[int]]:
    """Brokers that share a place, by place."""
    found: dict[tuple[float, ...], list[int]] = {}
    for row, place in enumerate(at):
        found.setdefault(tuple(np.round(place, 5)), []).append(row)
    return [rows for rows in found.values() if len(rows) > 1]
