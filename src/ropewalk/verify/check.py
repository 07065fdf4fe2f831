"""A federation under all its scenarios, destination by destination.

Only brokers that something is sent to are looked at, spread over the cores. Nothing is kept per
scenario but a few counts, so memory does not grow with their number times the pairs.
"""

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ropewalk.federation.arrays import Bools, Graph, Ints, offsets
from ropewalk.federation.facts import Federation
from ropewalk.routing.entries import Entries, Group, allowed, entries_of
from ropewalk.routing.scenarios import Scenarios, resolve
from ropewalk.routing.table import LAID, Laid, Table
from ropewalk.routing.trees import Longs, Net, Records, net_of
from ropewalk.routing.workers import cores, spread
from ropewalk.verify.demand import Demand
from ropewalk.verify.examine import ASKED, NOTE, Failures, Log, Room, examine, room_for
from ropewalk.verify.judge import ENDLESS
from ropewalk.verify.rows import ENTRY, Rows
from ropewalk.verify.takeover import Homes, Moves, homes_of, moves_of
from ropewalk.verify.verdicts import Verdict

GOING_ON = np.zeros(1, np.bool_)
"""The `halt` of who is in no hurry."""
LOGGED = 4096
"""What goes wrong towards one destination is listed up to this number; it is counted beyond."""


@dataclass(frozen=True, eq=False, slots=True)
class Seen:
    """What was seen of one destination: rows of (scenario, source, destination, pair, verdict).

    Source and destination are where the clients were in that scenario.
    """

    to: int
    scenario: Ints
    source: Ints
    pair: Ints
    verdict: Ints
    mark: npt.NDArray[np.uint64]
    tested: int
    complete: bool


@dataclass(frozen=True, eq=False)
class Check:
    """Everything that decides the fate of messages: graph, entries, scenarios, demand."""

    federation: Federation
    scenarios: Scenarios
    demand: Demand
    entries: Entries
    table: Table | None = None
    most_hops: int | None = None
    moving: bool = True
    """Whether clients of failed brokers are taken over."""
    _rooms: threading.local = field(default_factory=threading.local, repr=False)

    @cached_property
    def graph(self) -> Graph:
        """Brokers and links."""
        return self.federation.graph

    @cached_property
    def net(self) -> Net:
        """The graph as the kernels take it."""
        return net_of(self.graph)

    @cached_property
    def moves(self) -> Moves:
        """Messages of clients that are taken over."""
        homes = homes_of(self.federation)
        if not self.moving:
            nobody: list[tuple[int, ...]] = [()] * self.graph.brokers
            homes = Homes(nobody, nobody)
        return moves_of(self.demand, homes, self.scenarios)

    @cached_property
    def first_move(self) -> Ints:
        """Where the moved messages to each destination start."""
        brokers = np.arange(self.graph.brokers + 1)
        return np.searchsorted(self.moves.to, brokers).astype(np.int32)

    @cached_property
    def failures(self) -> Failures:
        """The scenarios as the kernel takes them."""
        s = self.scenarios
        meant = allowed(self.entries, s)
        if self.table is not None and self.table.special is not None:
            more = [s.holding(resolve(self.federation, one)) for one in self.table.special.failures]
            meant = np.concatenate((meant, more))
        return Failures(
            self.graph.ends,
            s.first_link,
            s.link,
            s.first_broker,
            s.broker,
            meant,
            *_turned(s.first_link, s.link, self.graph.links),
            *_turned(s.first_broker, s.broker, self.graph.brokers),
        )

    @cached_property
    def destinations(self) -> list[int]:
        """Brokers that anything is sent to, in any scenario."""
        return list(np.unique(np.concatenate((self.demand.to, self.moves.to))).tolist())

    def groups(self, to: int) -> list[Group]:
        """Hand-made entries to a destination, those of a given table's failures below them."""
        groups = self.entries.groups(to)
        special = self._special(to)
        if special is None:
            return groups
        covered = frozenset[int]().union(*(group.planes for group in groups))
        rest = frozenset(range(self.entries.planes)) - covered
        groups = [Group(g.planes, *map(_joined, special, _columns(g))) for g in groups]
        return [*groups, *([Group(rest, *special)] if rest else [])]

    def _special(self, to: int) -> tuple[Ints, ...] | None:
        special = self.table.special if self.table is not None else None
        rows = np.flatnonzero(special.to == to) if special is not None else ()
        if special is None or not len(rows):
            return None
        at, hop = special.at[rows], special.next[rows]
        link = np.array([self.entries.link_between(*pair) for pair in zip(at, hop, strict=True)])
        # Their `when` counts on after the routes' own; routes are numbered below zero.
        when = special.failure[rows] + max(len(self.entries.downs), 1)
        columns = (at, hop, link, when, -1 - special.line[rows])
        return tuple(column.astype(np.int32) for column in columns)

    def group_of(self, to: int, source: int) -> int:
        """The number of the group that a source's messages to a destination meet; 0 for none."""
        plane = int(self.entries.plane[source])
        groups = enumerate(self.groups(to), start=1)
        return next((number for number, one in groups if plane in one.planes), 0)

    def rows(self, to: int, groups: Sequence[Group]) -> Rows:
        """What is laid over the computed row to a destination."""
        given = np.zeros(0, np.int32) if self.table is None else self.table.next[to]
        first = offsets([0, *(len(group.at) for group in groups)])
        entries = np.zeros(first[-1], ENTRY)
        for group, start, stop in zip(groups, first[1:], first[2:], strict=False):
            for name, column in zip(ENTRY.names or (), _columns(group), strict=True):
                entries[name][start:stop] = column
        return Rows(given.astype(np.int32), self._laid(to), first, entries)

    def _laid(self, to: int) -> Laid:
        """What stored tables lay over the base row to a destination; nothing without them."""
        patches = self.table.patches if self.table is not None else None
        if patches is None or self._keys is None:
            return Laid(np.zeros(0, np.int64), np.zeros(0, LAID))
        return patches.laid(to, self.scenarios, self._keys)

    @cached_property
    def _keys(self) -> Longs | None:
        """Where stored tables have the patch of each scenario."""
        patches = self.table.patches if self.table is not None else None
        return patches.keys(self.scenarios) if patches is not None else None

    def asked(self, to: int, groups: Sequence[Group]) -> tuple[Records, Ints]:
        """The messages to a destination, and the pair that each belongs to."""
        group_of_plane = np.zeros(self.entries.planes, np.int32)
        for number, group in enumerate(groups, start=1):
            group_of_plane[list(group.planes)] = number
        pairs = np.arange(self.demand.first[to], self.demand.first[to + 1], dtype=np.int32)
        source = self.demand.source[pairs]
        if groups:
            order = np.lexsort((source, group_of_plane[self.entries.plane[source]]))
            pairs, source = pairs[order], source[order]
        moved = slice(self.first_move[to], self.first_move[to + 1])
        pair = np.concatenate((pairs, self.moves.pair[moved]))
        asked = np.zeros(len(pair), ASKED)
        asked["source"] = np.concatenate((source, self.moves.source[moved]))
        asked["scenario"][: len(pairs)] = -1
        asked["scenario"][len(pairs) :] = self.moves.scenario[moved]
        asked["group"] = group_of_plane[self.entries.plane[asked["source"]]]
        asked["weight"], asked["local"] = self.demand.weight[pair], self.demand.local[pair]
        return asked, pair

    def room(self, groups: int) -> Room:
        """This thread's scratch, with a row for so many groups."""
        room: Room | None = getattr(self._rooms, "room", None)
        if room is None or len(room.fates) < groups:
            room = room_for(self.graph.brokers, self.graph.links, groups)
            self._rooms.room = room
        return room

    def look(
        self, to: int, counts: Longs, *, everything: bool = False, halt: Bools = GOING_ON
    ) -> Seen:
        """One destination under every scenario; its fates are added to the counts."""
        groups = self.groups(to)
        rows = self.rows(to, groups)
        asked, pair = self.asked(to, groups)
        most_hops = ENDLESS if self.most_hops is None else self.most_hops
        room = self.room(len(groups) + 1)

        def run(counts: Longs, log: Log) -> int:
            given = self.net, to, rows, self.failures, asked, most_hops, everything
            return int(examine(*given, room, counts, log, halt))

        log = _log(LOGGED)
        tested = run(counts, log)
        length = int(log.length[0])
        if everything and length > LOGGED:
            log = _log(length)
            run(np.zeros_like(counts), log)
        notes = log.notes[: min(length, len(log.notes))]
        return Seen(
            to=to,
            scenario=notes["scenario"].copy(),
            source=asked["source"][notes["asked"]],
            pair=pair[notes["asked"]],
            verdict=notes["verdict"].copy(),
            mark=notes["print"].copy(),
            tested=tested,
            complete=len(notes) == length,
        )

    def look_at(self, destinations: Sequence[int], *, halt: Bools = GOING_ON) -> "Sight":
        """Several destinations, spread over the cores, until `halt` is set."""

        def some(start: int, stop: int) -> Sight:
            counts = np.zeros((len(self.scenarios), len(Verdict)), np.int64)
            seen = []
            for to in destinations[start:stop]:
                before = counts.copy() if halt is not GOING_ON else counts
                one = self.look(to, counts, halt=halt)
                if halt[0]:
                    counts = before  # what was only half looked at is not counted
                    break
                seen.append(one)
            tested = sum(one.tested for one in seen)
            return Sight(counts, [one for one in seen if len(one.pair)], tested)

        # Made once here, not by every thread for itself.
        _ = self.net, self.moves, self.first_move, self.failures, self.demand.first, self._keys
        few = len(destinations) < 2 * cores()
        return Sight.together(spread(some, len(destinations), parts=1 if few else None))


@dataclass(frozen=True, eq=False, slots=True)
class Sight:
    """What was seen of several destinations; `counts` are differences from scenario 0."""

    counts: Longs
    seen: list[Seen]
    tested: int

    @staticmethod
    def together(sights: Iterable["Sight"]) -> "Sight":
        """The sum of all."""
        parts = list(sights)
        return Sight(
            np.sum([one.counts for one in parts], axis=0),
            [seen for one in parts for seen in one.seen],
            sum(one.tested for one in parts),
        )


def prepare(
    federation: Federation,
    scenarios: Scenarios,
    demand: Demand,
    *,
    table: Table | None = None,
    most_hops: int | None = None,
    moving: bool = True,
) -> Check:
    """A check of a federation, ready to look at destinations."""
    entries = entries_of(federation)
    return Check(federation, scenarios, demand, entries, table, most_hops, moving)


def _turned(first: Ints, part: Ints, parts: int) -> tuple[Ints, Ints]:
    """The scenarios of each part, from the parts of each scenario."""
    scenario = np.repeat(np.arange(len(first) - 1, dtype=np.int32), np.diff(first))
    return offsets(np.bincount(part, minlength=parts)), scenario[np.argsort(part, kind="stable")]


def _log(length: int) -> Log:
    return Log(np.zeros(length, NOTE), np.zeros(1, np.int64))


def _columns(group: Group) -> tuple[Ints, ...]:
    return group.at, group.next, group.link, group.when, group.route


def _joined(below: Ints, above: Ints) -> Ints:
    return np.concatenate((below, above))
