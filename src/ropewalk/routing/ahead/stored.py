"""Stored tables as verification takes them: by destination, what holds in each scenario."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ropewalk.errors import InputError, UsageError
from ropewalk.federation.facts import Federation
from ropewalk.findings import Finding, Where
from ropewalk.kernels import kernel
from ropewalk.routing.ahead.network import same_graph
from ropewalk.routing.ahead.tables import Tables
from ropewalk.routing.scenarios import Scenarios
from ropewalk.routing.table import LAID, Laid, Table, empty_rows
from ropewalk.routing.trees import Longs, Records


@dataclass(frozen=True, eq=False)
class StoredPatches:
    """The patches of all brokers, by destination."""

    tables: Tables

    @cached_property
    def _singles(self) -> tuple[Longs, Records, Longs]:
        brokers = self.tables.brokers
        keys = [np.repeat(np.arange(one.things), np.diff(one.first.astype(int))) for one in brokers]
        return _turned(self.tables, keys, "entry")

    @cached_property
    def _sets(self) -> tuple[Longs, Records, Longs]:
        brokers = self.tables.brokers
        keys = [np.repeat(one.set_key, np.diff(one.set_first.astype(int))) for one in brokers]
        return _turned(self.tables, keys, "set_entry")

    def keys(self, scenarios: Scenarios) -> Longs:
        """The key of every scenario's set, -1 for single things; UsageError for one not ahead."""
        s, colours, ahead = scenarios, self.tables.colours, self.tables.network.ahead
        links, brokers = np.diff(s.first_link), np.diff(s.first_broker)
        found, total = np.full(len(s), -1, np.int64), colours.things
        known = (links + brokers <= ahead.any) | ((links == 0) & (brokers <= ahead.brokers))
        known |= (brokers == 0) & (links <= ahead.links)
        for two in range(3):
            these = np.flatnonzero((links == two) & (brokers == 2 - two))
            parts = [s.link[s.first_link[these] + i] for i in range(two)]
            parts += [colours.links + s.broker[s.first_broker[these] + i] for i in range(2 - two)]
            found[these] = parts[0].astype(np.int64) * total + parts[1]
        for k in np.flatnonzero(~known).tolist():
            things = colours.things_down(s.down(k))
            if things not in ahead.chosen:
                told = f"the tables have no colour for {s.name(k)!r}"
                raise UsageError(f"{told}: let `ropewalk route --failures` write it, too")
            found[k] = total * total + ahead.order[things]
        return found

    def laid(self, to: int, scenarios: Scenarios, keys: Longs) -> Laid:
        """What is laid over the base row to a destination in every scenario."""
        singles, things = self._part(self._singles, to)
        sets, set_keys = self._part(self._sets, to)
        s, total = scenarios, self.tables.colours.things
        first_of = np.searchsorted(things, np.arange(total + 1))
        start, stop = (np.searchsorted(set_keys, keys, side) for side in ("left", "right"))
        order = s.first_link, s.link, s.first_broker, s.broker
        ends = np.zeros(len(s) + 1, np.int64)
        given = (*order, self.tables.colours.links, first_of, singles, start, stop, sets)
        _lay_all(*given, ends, np.empty(0, LAID))
        made = np.empty(int(ends[-1]), LAID)
        _lay_all(*given, ends, made)
        return Laid(ends, made)

    @staticmethod
    def _part(turned: tuple[Longs, Records, Longs], to: int) -> tuple[Records, Longs]:
        first, entries, keys = turned
        part = slice(int(first[to]), int(first[to + 1]))
        return entries[part], keys[part]


def _turned(tables: Tables, keys: list[Any], name: str) -> tuple[Longs, Records, Longs]:
    """Entries of all brokers by destination, then by key; where each destination's start."""
    brokers = tables.brokers
    to = np.concatenate([getattr(one, name).astype(np.int64) >> one.bits for one in brokers])
    key = np.concatenate([one.astype(np.int64) for one in keys])
    entries = np.empty(len(to), LAID)
    entries["at"] = np.repeat([one.at for one in brokers], [len(one) for one in keys])
    masks = [(1 << one.bits) - 1 for one in brokers]
    entries["next"] = np.concatenate(
        [one.hops[getattr(one, name) & mask] for one, mask in zip(brokers, masks, strict=True)]
    )
    order = np.lexsort((key, to))
    first = np.searchsorted(to[order], np.arange(len(brokers) + 1))
    return first, entries[order], key[order]


@kernel
def _lay_all(
    first_link: Any,
    link: Any,
    first_broker: Any,
    broker: Any,
    links: int,
    first_of: Any,
    singles: Any,
    start: Any,
    stop: Any,
    sets: Any,
    ends: Any,
    made: Any,
) -> None:
    """Per scenario the single patches, the smallest thing's last, then the set's own."""
    n = 0
    for k in range(len(ends) - 1):
        for i in range(first_broker[k + 1] - 1, first_broker[k] - 1, -1):
            n = _copy(
                singles, first_of[links + broker[i]], first_of[links + broker[i] + 1], made, n
            )
        for i in range(first_link[k + 1] - 1, first_link[k] - 1, -1):
            n = _copy(singles, first_of[link[i]], first_of[link[i] + 1], made, n)
        n = _copy(sets, start[k], stop[k], made, n)
        ends[k + 1] = n


@kernel
def _copy(entries: Any, start: int, stop: int, made: Any, n: int) -> int:
    for i in range(start, stop):
        if n < len(made):
            made[n] = entries[i]
        n += 1
    return n


def stored_table(tables: Tables, federation: Federation, source: str) -> Table:
    """Tables that were read from a folder, for verification; InputError if they are of others."""
    if not same_graph(federation, tables.network):
        told = "the tables were computed for another graph than the federation has"
        raise InputError([Finding("T006", told, Where(source))])
    rows = empty_rows(federation.graph.brokers)
    for one in tables.brokers:
        rows[:, one.at] = one.base_row
    return Table(federation.graph.names, rows, source=source, patches=StoredPatches(tables))
