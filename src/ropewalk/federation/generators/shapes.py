"""Shapes: ring, grid, tree, full mesh, and a ring with random chords."""

from math import cos, pi, sin
from typing import Annotated

import numpy as np

from ropewalk.federation.facts import Federation
from ropewalk.federation.generators.build import MOST_BROKERS, MOST_LINKS, bounded, numbered, sized

SPACING_KM = 100.0


def ring(*, brokers: Annotated[int, "how many brokers"] = 8) -> Federation:
    """Brokers in a circle, each linked to the next."""
    bounded("brokers", brokers, 3, MOST_BROKERS)
    pairs = [(i, (i + 1) % brokers) for i in range(brokers)]
    return numbered(f"ring-{brokers}", _circle(brokers), pairs)


def grid(
    *,
    rows: Annotated[int, "rows of brokers"] = 4,
    columns: Annotated[int, "columns of brokers"] = 4,
) -> Federation:
    """Brokers in rows and columns, each linked to the next in both."""
    bounded("rows", rows, 1, MOST_BROKERS)
    bounded("columns", columns, 1, MOST_BROKERS)
    sized(rows * columns, 2 * rows * columns)
    places = [(SPACING_KM * c, SPACING_KM * r) for r in range(rows) for c in range(columns)]
    across = [
        (r * columns + c, r * columns + c + 1) for r in range(rows) for c in range(columns - 1)
    ]
    down = [
        (r * columns + c, (r + 1) * columns + c) for r in range(rows - 1) for c in range(columns)
    ]
    return numbered(f"grid-{rows}x{columns}", places, across + down)


def tree(
    *,
    depth: Annotated[int, "levels below the root"] = 3,
    fanout: Annotated[int, "children of each broker"] = 2,
) -> Federation:
    """A root with `fanout` children each, down to `depth` levels."""
    bounded("depth", depth, 0, MOST_BROKERS)
    bounded("fanout", fanout, 1, MOST_BROKERS)
    brokers = depth + 1 if fanout == 1 else (fanout ** min(depth + 1, 40) - 1) / (fanout - 1)
    sized(brokers, brokers)
    places: list[tuple[float, float]] = []
    for level in range(depth + 1):
        width = fanout**level
        gap = SPACING_KM * fanout ** (depth - level)
        places += [(gap * (i + 0.5), -SPACING_KM * level) for i in range(width)]
    pairs = [((child - 1) // fanout, child) for child in range(1, len(places))]
    return numbered(f"tree-{fanout}-{depth}", places, pairs)


def mesh(*, brokers: Annotated[int, "how many brokers"] = 6) -> Federation:
    """Every broker linked to every other."""
    bounded("brokers", brokers, 2, MOST_BROKERS)
    sized(brokers, brokers * (brokers - 1) / 2)
    pairs = [(a, b) for a in range(brokers) for b in range(a + 1, brokers)]
    return numbered(f"mesh-{brokers}", _circle(brokers), pairs)


def chords(
    *,
    brokers: Annotated[int, "how many brokers"] = 32,
    links: Annotated[int, "how many links, those of the ring included"] = 64,
    seed: int = 1,
) -> Federation:
    """A ring in random order with random chords: of so many links none can cut it."""
    bounded("brokers", brokers, 3, MOST_BROKERS)
    bounded("links", links, brokers, min(brokers * (brokers - 1) // 2, MOST_LINKS))
    rng = np.random.default_rng(seed)
    around = rng.permutation(brokers).tolist()
    ring_links = zip(around, [*around[1:], around[0]], strict=True)
    chosen = dict.fromkeys((min(pair), max(pair)) for pair in ring_links)
    while len(chosen) < links:
        a, b = sorted(rng.integers(0, brokers, 2).tolist())
        if a != b:
            chosen[a, b] = None
    return numbered(f"chords-{brokers}-{links}-s{seed}", _circle(brokers), sorted(chosen))


def _circle(count: int) -> list[tuple[float, float]]:
    """Places on a circle, neighbours about SPACING_KM apart."""
    radius = SPACING_KM * count / (2 * pi)
    return [
        (radius * sin(2 * pi * i / count), radius * cos(2 * pi * i / count)) for i in range(count)
    ]
