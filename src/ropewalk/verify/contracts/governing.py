"""Which entry of the file governs a message: its name's own, else the first pattern that matches.

As agents go by it (`overlay/rules.py`), whatever entry a message is published or subscribed under.
A cell is some names that one entry governs, with the entries that publish all of them and those
that subscribe to them: everybody of the one side owes to everybody of the other.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ropewalk.federation.arrays import Bools, Ints
from ropewalk.federation.facts import Federation
from ropewalk.federation.topics import common, is_pattern, meeting
from ropewalk.routing.trees import Longs
from ropewalk.verify.contracts.relations import Rows, is_in, joined, unique_pairs


class Cells(NamedTuple):
    """Names by who governs, publishes and subscribes to them; entries by number."""

    topic: Ints
    """Of each cell, the entry that governs it."""
    published: Rows
    """(cell, entry)"""
    subscribed: Rows
    """(cell, entry)"""


def cells_of(names: Sequence[str]) -> Cells:
    """Cells of a file's entries.

    >>> cells = cells_of(["t/x", "t/#"])
    >>> cells.topic.tolist(), cells.published.tolist(), cells.subscribed.tolist()
    ([0, 1], [[0, 0], [0, 1], [1, 1]], [[0, 0], [0, 1], [1, 1]])
    """
    patterns = [i for i, name in enumerate(names) if is_pattern(name)]
    plain = np.ones(len(names), np.bool_)
    plain[patterns] = False
    one, other = meeting(names)
    singles = np.flatnonzero(plain).astype(np.int32)
    cell = np.cumsum(plain, dtype=np.int32) - 1
    matched = plain[one]  # what meets a plain name is a pattern that matches it
    own = np.stack((cell[singles], singles), axis=1)
    mine = np.concatenate((own, np.stack((cell[one[matched]], other[matched]), axis=1)))
    wide = np.array(list(_triples(names, patterns, one, other)), np.int32).reshape(-1, 3)
    numbers = len(singles) + np.arange(len(wide), dtype=np.int32)
    return Cells(
        np.concatenate((singles, wide[:, 0])),
        np.concatenate((mine, np.stack((numbers, wide[:, 1]), axis=1))),
        np.concatenate((mine, np.stack((numbers, wide[:, 2]), axis=1))),
    )


def _triples(
    names: Sequence[str], patterns: Sequence[int], one: Ints, other: Ints
) -> Iterator[tuple[int, int, int]]:
    """(pattern, as published, as subscribed) of names that are the first one's to govern."""
    known, met = set(names), {pattern: {pattern} for pattern in patterns}
    wide = np.isin(one, patterns) & np.isin(other, patterns)
    for a, b in zip(one[wide].tolist(), other[wide].tolist(), strict=True):
        met[a].add(b)
    for first in patterns:
        # What an earlier pattern publishes or wants is governed by that one, or by one before it.
        near = sorted(b for b in met[first] if b >= first)
        before = [names[b] for b in met[first] if b < first]
        free: dict[str, bool] = {}
        for p in near:
            for s in sorted(met[p].intersection(near)):
                shared = common(names[p], names[s])
                both = common(names[first], shared) if shared else None
                if both is not None and both not in free:
                    free[both] = _is_free(both, known, before)
                if both is not None and free[both]:
                    yield first, p, s


def _is_free(names: str, known: set[str], before: Sequence[str]) -> bool:
    """Whether no entry of its own and no earlier pattern governs all of some names."""
    own = names in known and not is_pattern(names)
    return not own and not any(common(one, names) == names for one in before)


class Sides:
    """(cell, broker) of publishers and of readers, of some of the topics."""

    def __init__(self, federation: Federation, cells: Cells, chosen: Bools) -> None:
        table = federation.topic_table
        self.domain, self.local = federation.graph.domain, table.local[cells.topic]
        kept = chosen[cells.topic]
        self.published = cells.published[kept[cells.published[:, 0]]]
        self.subscribed = cells.subscribed[kept[cells.subscribed[:, 0]]]
        self.publishing = _at(self.published, table.first_publisher, table.publisher)
        self.reading = _at(self.subscribed, table.first_subscriber, table.subscriber)

    def keys(self, side: Rows, part: Ints | None = None) -> Longs:
        """Numbers that are the same of those in a cell who owe to each other, and of one part.

        What has `scope: domain` is owed inside of a domain.
        """
        cell, broker = side[:, 0].astype(np.int64), side[:, 1]
        domain = np.where(self.local[cell], self.domain[broker] + 1, 0)
        key = cell * (int(self.domain.max(initial=0)) + 2) + domain
        return key if part is None else key * (int(part.max(initial=0)) + 1) + part[broker]

    def owed(self, side: Rows, others: Rows) -> Bools:
        """Which have somebody among the others to owe to, or be owed by."""
        return is_in(self.keys(side), self.keys(others))


def _at(cells: Rows, first: Ints, broker: Ints) -> Rows:
    """(cell, broker) of (cell, entry) and a column of the table of topics, each once."""
    entry = np.repeat(np.arange(len(first) - 1, dtype=np.int32), np.diff(first))
    return unique_pairs(joined(cells[:, ::-1], np.stack((entry, broker), axis=1))[:, 1:])
