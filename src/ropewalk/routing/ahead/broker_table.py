"""One broker's tables for every colour, as few small arrays: a base row and a patch per failure.

An entry is one number: the destination, and in its last `bits` bits which neighbour is next. Three
kinds of patches: of a single thing, of a set of things beyond its single ones, and, implied, that
nothing is sent to a broker that is down.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ropewalk.federation.arrays import Ints
from ropewalk.kernels import kernel
from ropewalk.routing.ahead.colours import Things
from ropewalk.routing.trees import NOWHERE

Unsigned = npt.NDArray[np.unsignedinteger[Any]]


@dataclass(frozen=True, eq=False)
class BrokerTable:
    """The tables of broker number `at`.

    The patch of thing t is `entry[first[t]:first[t + 1]]`, that of the set `set_key[i]` is
    `set_entry[set_first[i]:set_first[i + 1]]`.
    """

    at: int
    neighbours: Unsigned
    base: Unsigned
    """For every destination which neighbour is next; one past the last for none."""
    first: Unsigned
    entry: Unsigned
    set_key: Unsigned
    set_first: Unsigned
    set_entry: Unsigned
    links: int
    chosen: dict[Things, int] = field(default_factory=dict, repr=False)
    """Chosen sets by what is down: their keys follow after those of all pairs."""

    @property
    def brokers(self) -> int:
        """How many destinations there are, this broker included."""
        return len(self.base)

    @property
    def things(self) -> int:
        """How many things can fail."""
        return len(self.first) - 1

    @cached_property
    def bits(self) -> int:
        """How many bits of an entry say which neighbour."""
        return slot_bits(len(self.neighbours))

    @cached_property
    def hops(self) -> Ints:
        """The broker behind each slot; the last slot is nowhere."""
        return np.append(self.neighbours.astype(np.int32), np.int32(NOWHERE))

    @cached_property
    def base_row(self) -> Ints:
        """Next hops with nothing failed."""
        row = self.hops[self.base]
        row[self.at] = self.at
        return row

    def nbytes(self) -> int:
        """Bytes of all arrays together."""
        return sum(getattr(self, name).nbytes for name in ARRAYS)

    def entries(self) -> int:
        """How many entries all patches have."""
        return len(self.entry) + len(self.set_entry)

    def patch(self, thing: int) -> Unsigned:
        """The entries of a single thing."""
        return self.entry[int(self.first[thing]) : int(self.first[thing + 1])]

    def set_patch(self, things: Things) -> Unsigned:
        """The entries of a set of things beyond those of its single ones."""
        key = self.key(things)
        place = int(np.searchsorted(self.set_key, key)) if key is not None else 0
        if key is None or place == len(self.set_key) or self.set_key[place] != key:
            return self.set_entry[:0]
        return self.set_entry[int(self.set_first[place]) : int(self.set_first[place + 1])]

    def key(self, things: Things) -> int | None:
        """The key of a set of two things or of a chosen set; None for others."""
        if things in self.chosen:
            return self.things * self.things + self.chosen[things]
        return things[0] * self.things + things[1] if len(things) == 2 else None

    def patches(self, things: Things) -> Iterator[Unsigned]:
        """What is laid over the base row one after the other when these things are down."""
        for thing in reversed(things):
            yield self.patch(thing)
        if len(things) > 1 or things in self.chosen:
            yield self.set_patch(things)

    def dead(self, things: Things) -> list[int]:
        """The brokers among some things."""
        return [thing - self.links for thing in things if thing >= self.links]

    def row(self, things: Things) -> Ints:
        """Next hops with these things down, all of them ahead of time; -1 for nowhere."""
        row = self.base_row.copy()
        for patch in self.patches(things):
            row[patch >> self.bits] = self.hops[patch & ((1 << self.bits) - 1)]
        dead = self.dead(things)
        row[dead] = NOWHERE
        if self.at in dead:
            row[:] = NOWHERE
        return row


ARRAYS = ("neighbours", "base", "first", "entry", "set_key", "set_first", "set_entry")
"""The arrays of a broker's table, in the order of its file."""


def is_sound(table: BrokerTable, neighbours: Ints, chosen: int) -> bool:
    """Whether the numbers of a table stay within each other, so that nothing is read beyond."""
    if not np.array_equal(table.neighbours, neighbours):
        return False
    slots, keys, things = len(neighbours), table.set_key, table.things
    return (
        0 <= table.at < table.brokers == things - table.links
        and bool((table.base <= slots).all())
        and _counts_up(table.first, len(table.entry))
        and _counts_up(table.set_first, len(table.set_entry))
        and len(table.set_first) == len(keys) + 1
        and bool((keys[1:] > keys[:-1]).all())
        and (not len(keys) or int(keys[-1]) < things * things + chosen)
        and all(_stays(table, entry) for entry in (table.entry, table.set_entry))
    )


def _counts_up(first: Unsigned, length: int) -> bool:
    ends = len(first) > 0 and int(first[0]) == 0 and int(first[-1]) == length
    return ends and bool((first[1:] >= first[:-1]).all())


def _stays(table: BrokerTable, entry: Unsigned) -> bool:
    wide = entry.astype(np.uint64)
    slot = wide & np.uint64((1 << table.bits) - 1)
    return bool(((wide >> np.uint64(table.bits)) < table.brokers).all()) and bool(
        (slot <= len(table.neighbours)).all()
    )


def slot_bits(neighbours: int) -> int:
    """How many bits it takes to tell so many neighbours and none apart.

    >>> slot_bits(3), slot_bits(4)
    (2, 3)
    """
    return max(1, neighbours.bit_length())


def narrow(values: npt.ArrayLike, largest: int | None = None) -> Unsigned:
    """The same numbers in the smallest unsigned integers that hold them."""
    array = np.asarray(values)
    top = int(array.max(initial=0)) if largest is None else largest
    return array.astype(np.min_scalar_type(top))


@kernel
def lay(row: Any, entry: Any, start: int, stop: int, bits: int, hops: Any) -> None:
    """Lay a patch over a row."""
    mask = (1 << bits) - 1
    for i in range(start, stop):
        row[entry[i] >> bits] = hops[entry[i] & mask]


@kernel
def lift(row: Any, entry: Any, start: int, stop: int, bits: int, base: Any) -> None:
    """Take a patch off a row again."""
    for i in range(start, stop):
        row[entry[i] >> bits] = base[entry[i] >> bits]
