"""What a scheme is: how the broker that finds its next hop gone gets messages to their end.

Only that broker knows of the failure (or, where a scheme switches at the source, only the source);
all others go by tables that were made before. So a scheme is told by one cost for each broker and
destination: of the way from there on. Each broker has one next hop to a destination, so that is
all failures there are.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ropewalk.federation.arrays import Ints
from ropewalk.routing.trees import FAR, Longs

Failures = Literal["links", "brokers"]


@dataclass(frozen=True, eq=False, slots=True)
class Repair:
    """Rows of destinations, columns of brokers whose next hop is gone."""

    cost: Longs
    """Of the way from there on; FAR where the scheme has none."""
    choice: Ints
    """What that broker decides; what it means is the scheme's own (see there)."""
    labels: Ints | None = None
    """How many labels the message is given, where it is given any."""

    def entries(self) -> int:
        """How many entries for repairs there are."""
        return int((self.cost < FAR).sum())


@dataclass(frozen=True, eq=False, slots=True)
class AtSource:
    """Repair by the source: it sends by a layer that lacks the failed link."""

    layer_of_link: Ints
    """-1 for a link that no layer lacks."""
    cost: Callable[[int, int], Longs]
    """By layer, destination and source, for a range of destinations."""


@dataclass(frozen=True, eq=False, slots=True)
class Scheme:
    """A way to repair, and what brokers have to keep for it."""

    name: str
    protects: tuple[Failures, ...]
    repair: Callable[[Failures, int, int], Repair] | None = None
    """For a range of destinations."""
    at_source: AtSource | None = None
    tables: int = 0
    """Whole tables that every broker keeps besides its own."""
    entries: float | None = None
    """Entries per broker besides its table; None: one for each repair."""


def nothing(start: int, stop: int, brokers: int) -> Repair:
    """A repair that mends nothing, to be filled in."""
    shape = (stop - start, brokers)
    return Repair(np.full(shape, FAR), np.full(shape, -1, np.int32), np.zeros(shape, np.int32))
