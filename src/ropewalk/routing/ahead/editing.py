"""An entry of stored tables changed by hand (Jia 2014, 6.4), in one colour or in all.

All colours of one destination are taken out, changed and put back, so that nothing else changes:
patches that said the same as the changed entry appear, and those that are no longer needed go.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ropewalk.errors import UsageError
from ropewalk.routing.ahead.broker_table import BrokerTable, Unsigned, narrow
from ropewalk.routing.ahead.colours import Things
from ropewalk.routing.ahead.network import Network
from ropewalk.routing.trees import Longs


def edited(
    network: Network, table: BrokerTable, *, to: str, hop: str, failure: str | None = None
) -> BrokerTable:
    """A broker's tables with another next hop for a destination.

    In one failure, or (None) in all in which neither the link nor the neighbour is down. Raises
    UsageError for what is no neighbour, no destination, or no failure of these tables.
    """
    names, colours = network.graph.names, network.colours
    if to not in names or names.index(to) == table.at:
        raise UsageError(f"{to!r} is no destination of broker {names[table.at]!r}")
    near = [names[int(one)] for one in table.neighbours]
    if hop not in near:
        raise UsageError(
            f"{hop!r} is no neighbour of {names[table.at]!r}: it has {', '.join(near)}"
        )
    if failure is not None:
        _refuse_idle(network, table, names.index(to), near.index(hop), failure)
    column, slot = _Column(network, table, names.index(to)), near.index(hop)
    if failure is None:
        neighbour = int(table.neighbours[slot])
        away = {_link_to(network, table, neighbour), colours.links + neighbour}
        column.take_out(set(range(colours.things)))
        column.change(slot, [one for one in column.slots if not away & set(one)])
    else:
        things = colours.essential(colours.things_of(failure))
        column.take_out(set(things) or set(range(colours.things)))
        column.change(slot, [things])
    return column.put_back()


def _refuse_idle(network: Network, table: BrokerTable, to: int, slot: int, failure: str) -> None:
    """UsageError for a colour that is not stored, or in which the entry could not hold."""
    colours, names = network.colours, network.graph.names
    things = colours.essential(colours.things_of(failure))
    if not network.ahead.covers(things, colours.links):
        raise UsageError(f"{failure!r} was not computed ahead: ask for it by --failures")
    neighbour = int(table.neighbours[slot])
    for one in {table.at, to, neighbour} & set(table.dead(things)):
        raise UsageError(f"in {failure!r} the broker {names[one]!r} itself is down")
    if _link_to(network, table, neighbour) in things:
        raise UsageError(f"in {failure!r} the link to {names[neighbour]!r} is down")


def _link_to(network: Network, table: BrokerTable, neighbour: int) -> int:
    graph = network.graph
    place = int(np.searchsorted(graph.neighbours(table.at), neighbour))
    return int(graph.link[graph.first[table.at] + place])


class _Column:
    """One destination's next hop, as a slot, in every colour that a change may touch."""

    def __init__(self, network: Network, table: BrokerTable, to: int) -> None:
        self.network, self.table, self.to = network, table, to
        self._of_thing = self._entries(range(table.things), table.first, table.entry)
        self._of_set = self._entries(table.set_key.tolist(), table.set_first, table.set_entry)
        gone = {table.links + to, table.links + table.at}
        self.singles: list[Things] = [(one,) for one in range(table.things) if one not in gone]
        pairs = [divmod(int(key), table.things) for key in table.set_key.tolist()]
        stored = [one for one in pairs if one[0] < table.things]
        sets: list[Things] = [(), *self.singles, *stored, *network.ahead.chosen]
        self.slots: dict[Things, int] = {one: self.slot(one) for one in sets}

    def slot(self, things: Things) -> int:
        """Which neighbour is next with these things down, by the tables as they are."""
        key = self.table.key(things)
        if key in self._of_set:
            return self._of_set[key]
        found = (self._of_thing[one] for one in things if one in self._of_thing)
        return next(found, int(self.table.base[self.to]))

    def _entries(self, keys: Sequence[int], first: Unsigned, entry: Unsigned) -> dict[int, int]:
        """The slot that each patch has for this destination, if it has one."""
        mine = np.flatnonzero((entry >> self.table.bits) == self.to)
        owner = np.searchsorted(first, mine, side="right") - 1
        slots = entry[mine] & ((1 << self.table.bits) - 1)
        return {int(keys[i]): int(slot) for i, slot in zip(owner, slots, strict=True)}

    def take_out(self, things: set[int]) -> None:
        """Also every pair ahead with one of these things: what it says hangs on theirs."""
        colours, ahead = self.network.colours, self.network.ahead
        if max(ahead.links, ahead.brokers, ahead.any) < 2:
            return
        singles = [one for (one,) in self.singles]
        for pair in {(min(a, b), max(a, b)) for a in things for b in singles if a != b}:
            if ahead.covers(pair, colours.links) and colours.essential(pair) == pair:
                self.slots.setdefault(pair, self.slot(pair))

    def change(self, slot: int, sets: list[Things]) -> None:
        """Another slot in these sets."""
        self.slots |= dict.fromkeys(sets, slot)

    def put_back(self) -> BrokerTable:
        """The tables with this column in place of the old one."""
        table, base = self.table, self.table.base.copy()
        base[self.to] = self.slots[()]
        patch = {one: self.slots[one] for one in self.singles if self.slots[one] != self.slots[()]}
        differ = {
            self._key(one): slot
            for one, slot in self.slots.items()
            if len(one) > 1 and slot != self._implied(one, patch)
        }
        things = range(table.things)
        mine = {one: slot for (one,), slot in patch.items()}
        _, first, entry = self._merged(things, table.first, table.entry, mine)
        keys, set_first, set_entry = self._merged(
            table.set_key.tolist(), table.set_first, table.set_entry, differ
        )
        kept = np.flatnonzero(np.diff(set_first))
        return replace(
            table,
            base=base,
            first=narrow(first),
            entry=narrow(entry, self._top),
            set_key=narrow(keys[kept]),
            set_first=narrow(np.append(set_first[kept], set_first[-1])),
            set_entry=narrow(set_entry, self._top),
        )

    @property
    def _top(self) -> int:
        return (self.table.brokers << self.table.bits) - 1

    def _key(self, things: Things) -> int:
        key = self.table.key(things)
        if key is None:
            raise UsageError(f"{self.network.colours.words(things)}: not computed ahead")
        return key

    def _implied(self, things: Things, single: dict[Things, int]) -> int:
        """What the single patches say of a set: the smallest thing's lies on top."""
        found = (single[(one,)] for one in things if (one,) in single)
        return next(found, self.slots[()])

    def _merged(
        self, keys: Sequence[int], first: Unsigned, entry: Unsigned, mine: dict[int, int]
    ) -> tuple[Longs, Longs, Longs]:
        """Patches by key, with this column's entries in place of the old ones."""
        every = np.union1d(np.array(keys, np.int64), np.array(list(mine), np.int64))
        others = (entry >> self.table.bits) != self.to
        counts = first[1:].astype(np.int64) - first[:-1].astype(np.int64)
        owner = np.repeat(np.array(keys, np.int64), counts)[others]
        owner = np.concatenate((owner, np.array(list(mine), np.int64)))
        own = [(self.to << self.table.bits) | slot for slot in mine.values()]
        packed = np.concatenate((entry[others].astype(np.int64), np.array(own, np.int64)))
        order = np.lexsort((packed, owner))
        ends = np.searchsorted(owner[order], every, side="right")
        return every, np.append(0, ends), packed[order]
