"""Tables as Jia 2014 prints them: per colour (6-1), condensed (6-4), as an array (6-2, 6-3).

These are views of the patches: the thesis stores the array, which is as long as all tables.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ropewalk.federation.arrays import Ints
from ropewalk.routing.ahead.broker_table import BrokerTable
from ropewalk.routing.ahead.colours import Colours, Things
from ropewalk.routing.trees import NOWHERE


@dataclass(frozen=True, slots=True)
class SuperEntry:
    """An entry of the condensed table, and the colours in which it holds (table 6-4)."""

    address: int
    to: int
    next: int
    colours: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class SuperTable:
    """The condensed table of a broker and the lookup array into it.

    `array[to, i]` is the address of the entry that holds in colour `colours[i]`; 0 for none. The
    thesis' (6-3) prints next hops in their place: `next_hops`.
    """

    entries: tuple[SuperEntry, ...]
    colours: tuple[int, ...]
    array: Ints
    next_hops: Ints

    def bound(self, neighbours: int) -> int:
        """The most entries there can be: every destination by every neighbour (6-1)."""
        return (len(self.array) - 1) * neighbours

    def uncondensed(self) -> int:
        """Entries of all tables together (6-8, and 6-9 with the sign put right)."""
        return (len(self.array) - 1) * len(self.colours)


def super_table(table: BrokerTable, colours: Colours, sets: Iterable[Things]) -> SuperTable:
    """The condensed table for these failures, entries in the order in which the thesis finds them.

    >>> from ropewalk import generate
    >>> from ropewalk.routing.ahead import tables_of
    >>> tables = tables_of(generate("three-broker"), "links=1")
    >>> found = super_table(tables.broker("b1"), tables.colours, [(), (0,), (1,), (2,)])
    >>> [(one.to, one.next, one.colours) for one in found.entries]
    [(1, 1, (1, 3, 4)), (2, 2, (1, 2, 4)), (1, 2, (2,)), (2, 1, (3,))]
    """
    chosen = list(sets)
    numbers = tuple(colours.number(one) for one in chosen)
    hops = np.array([table.row(one) for one in chosen]).T
    address: dict[tuple[int, int], int] = {}
    held: dict[tuple[int, int], list[int]] = {}
    array = np.zeros(hops.shape, np.int32)
    for i, number in enumerate(numbers):
        for to in np.flatnonzero(hops[:, i] != NOWHERE).tolist():
            if to != table.at:
                key = (to, int(hops[to, i]))
                array[to, i] = address.setdefault(key, len(address) + 1)
                held.setdefault(key, []).append(number)
    entries = tuple(SuperEntry(at, *key, tuple(held[key])) for key, at in address.items())
    return SuperTable(entries, numbers, array, hops)


def condensed_entries(table: BrokerTable) -> int:
    """How many entries the condensed table of all single failures has, without making it.

    >>> from ropewalk import generate
    >>> from ropewalk.routing.ahead import tables_of
    >>> condensed_entries(tables_of(generate("three-broker"), "links=1").broker("b1"))
    4
    """
    own = np.arange(table.brokers) != table.at
    base = np.flatnonzero(own & (table.base < len(table.neighbours)))
    known = (base.astype(np.int64) << table.bits) | table.base[base]
    patched = table.entry[(table.entry & ((1 << table.bits) - 1)) < len(table.neighbours)]
    return len(np.union1d(known, patched.astype(np.int64)))


def failure_table(colours: Colours, sets: Iterable[Things]) -> list[tuple[int, str]]:
    """The colour and failure mapping (table 6-3).

    >>> from ropewalk import generate
    >>> from ropewalk.routing.ahead import colours_of
    >>> failure_table(colours_of(generate("three-broker")), [(), (0,)])
    [(1, 'none'), (2, 'b1--b2')]
    """
    return [(colours.number(one), colours.words(one)) for one in sets]
