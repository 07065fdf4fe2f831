"""Regular shapes: ring, grid, tree, full mesh."""

from math import cos, pi, sin
from typing import Annotated

from ropewalk.federation.facts import Federation
from ropewalk.federation.generators.build import MOST_BROKERS, bounded, numbered, sized

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


def _circle(count: int) -> list[tuple[float, float]]:
    """Places on a circle, neighbours about SPACING_KM apart."""
    radius = SPACING_KM * count / (2 * pi)
    return [
        (radius * sin(2 * pi * i / count), radius * cos(2 * pi * i / count)) for i in range(count)
    ]
