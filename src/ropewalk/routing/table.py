"""Next hops of all pairs as one integer array: computed, or given whole by the user.

Row `to`, column `at`: so all that decides the fate of messages to one broker lies together.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from ropewalk.federation.arrays import Graph, Ints
from ropewalk.federation.facts import Federation
from ropewalk.routing.trees import NOWHERE, Longs, Records, fill_rows, net_of
from ropewalk.routing.workers import spread

if TYPE_CHECKING:
    import pandas as pd

    from ropewalk.routing.ahead.stored import StoredPatches

Rows = npt.NDArray[np.int16] | npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Table:
    """Where a message at `at` for `to` goes next: `next[to, at]`, or -1 for nowhere.

    A broker's own entry is itself. `special` holds entries that a given table has for one failure.
    """

    names: Sequence[str]
    next: Rows
    special: "Special | None" = None
    source: str = "computed"
    patches: "StoredPatches | None" = None
    """What stored tables lay over `next` in each failure."""

    @cached_property
    def _number(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}

    def hop(self, at: str, to: str) -> str | None:
        """The neighbour that `at` sends messages for `to` to.

        >>> from ropewalk import generate
        >>> shortest_paths(generate("six-broker")).hop("b1", "b5")
        'b2'
        """
        found = int(self.next[self._number[to], self._number[at]])
        return None if found == NOWHERE else self.names[found]

    def entries(self) -> Iterator[tuple[str, str, str]]:
        """Every entry as (at, to, next); none for pairs without a next hop."""
        for to, row in enumerate(self.next):
            for at in np.flatnonzero(row >= 0):
                if at != to:
                    yield self.names[int(at)], self.names[to], self.names[int(row[at])]

    def frame(self) -> "pd.DataFrame":
        """A row per entry, as `read_table` reads it."""
        import pandas as pd

        return pd.DataFrame(self.entries(), columns=["at", "to", "next"])


LAID = np.dtype([("at", "i4"), ("next", "i4")])


class Laid(NamedTuple):
    """What is laid over a row in scenario k: `entries[first[k]:first[k + 1]]`, the last on top."""

    first: Longs
    entries: Records


@dataclass(frozen=True, eq=False, slots=True)
class Special:
    """Entries of a given table that hold in one failure only."""

    to: Ints
    at: Ints
    next: Ints
    failure: Ints
    failures: tuple[str, ...]
    line: Ints


def shortest_paths(federation: Federation) -> Table:
    """The canonical table: smallest cost, then smallest neighbour number, for all pairs."""
    return Table(federation.graph.names, shortest_rows(federation.graph))


def shortest_rows(graph: Graph, *, threads: int | None = None) -> Rows:
    """Canonical next hops for all pairs; disconnected pairs are -1."""
    net = net_of(graph)
    rows = empty_rows(graph.brokers)
    spread(lambda start, stop: fill_rows(net, start, stop, rows), graph.brokers, parts=threads)
    return rows


def empty_rows(brokers: int) -> Rows:
    """Room for the next hops of all pairs, in the smallest integers that hold them."""
    kind: type[np.signedinteger] = np.int16 if brokers <= np.iinfo(np.int16).max else np.int32
    return np.empty((brokers, brokers), kind)
