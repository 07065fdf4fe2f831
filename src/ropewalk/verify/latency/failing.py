"""Over failures: the probability to arrive in time when links, brokers and groups may be down.

Where next hops are canonical, only what lies on a message's way can change its way. So the ways
that all parts of a path are up are one case, however many other parts there are; else one of them
is the first that is down, and the message takes another path, which is looked at in the same way.
To destinations that hand-made routes or given tables speak of, the way may depend on any part: then
every part is asked after.
The likeliest cases come first; what is left when the search ends is stated, not forgotten.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from heapq import heappop, heappush
from itertools import count, pairwise
from math import fsum
from typing import Any

import numpy as np

from ropewalk.federation.arrays import Ints, offsets
from ropewalk.federation.facts import Federation
from ropewalk.federation.names import link_name
from ropewalk.kernels import kernel
from ropewalk.routing.delta import fail, plant, tree_room
from ropewalk.routing.ground import members_of_group
from ropewalk.routing.scenarios import Down
from ropewalk.verify.check import Check
from ropewalk.verify.latency.ways import NEVER, Bounds, Brokers
from ropewalk.verify.paths import follow, rows_in
from ropewalk.verify.takeover import GONE, Homes, home

Value = Callable[[tuple[Brokers, ...]], Bounds]
"""The probability to be in time over some paths."""
ENOUGH = 1e-9
"""What may be left of the probability of all cases."""
KEPT = 4096
"""Rows of tables that are kept for pairs that come later."""


@dataclass(frozen=True, slots=True)
class Part:
    """Something that may be down by itself: a link, a broker, or all of a risk group."""

    name: str
    fails: float
    links: frozenset[int]
    brokers: frozenset[int]


def parts_of(federation: Federation) -> tuple[Part, ...]:
    """Everything that has a probability to be down."""
    none: frozenset[int] = frozenset()
    links = (
        Part(link_name(*one.between), one.fails, frozenset({e}), none)
        for e, one in enumerate(federation.links)
    )
    brokers = (
        Part(name, one.fails, none, frozenset({b}))
        for b, (name, one) in enumerate(federation.brokers.items())
    )
    groups = (
        Part(f"group:{name}", one.fails, *map(frozenset, members_of_group(federation, name)))
        for name, one in federation.risk_groups.items()
        if one.fails
    )
    return tuple(one for some in (links, brokers, groups) for one in some if one.fails > 0)


@dataclass(frozen=True, slots=True)
class Way:
    """How a message goes when some parts are down, and which parts could change that."""

    paths: tuple[Brokers, ...]
    depends: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Failing:
    """The parts of a federation that may be down, and the ways of messages round them."""

    check: Check
    parts: Sequence[Part]
    homes: Homes
    _rows: dict[tuple[int, frozenset[int]], Ints] = field(default_factory=dict, repr=False)
    _checks: dict[frozenset[int], Check] = field(default_factory=dict, repr=False)
    _canonical: dict[int, bool] = field(default_factory=dict, repr=False)

    def canonical(self, to: int) -> bool:
        """Whether only what lies on a path to a destination can change it."""
        if to not in self._canonical:
            self._canonical[to] = self.check.table is None and not self.check.groups(to)
        return self._canonical[to]

    def way(self, source: int, to: int, second: Brokers, down: frozenset[int]) -> Way:
        """The way from a publisher's broker to a subscriber's, wherever their clients are then.

        The second path holds while all of it is up and nobody has moved.
        """
        dead = frozenset[int]().union(*(self.parts[i].brokers for i in down))
        start = home(source, self.homes.publishers, dead)
        end = home(to, self.homes.subscribers, dead)
        if start == GONE or end == GONE:
            return Way((), ())  # more failures bring nobody back
        everything = () if self.canonical(end) else tuple(range(len(self.parts)))
        path = self._path(start, end, down)
        if path is None:
            # No link comes back; but if an end failed as well, its clients would be elsewhere.
            return Way((), everything or self._on([(start,), (end,)]))
        paths = [path]
        if second and (start, end) == (source, to) and self._stands(second, down):
            paths.append(second)
        return Way(tuple(paths), everything or self._on(paths))

    def _on(self, paths: Sequence[Brokers]) -> tuple[int, ...]:
        """The parts that lie on some paths."""
        of_link, of_broker = self._where
        between = self.check.entries.link_between
        found = {i for path in paths for b in path for i in of_broker.get(b, ())}
        for path in paths:
            for step in pairwise(path):
                found.update(of_link.get(between(*step), ()))
        return tuple(sorted(found))

    @cached_property
    def _where(self) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
        """The parts that take each link, and each broker, down."""
        links: dict[int, list[int]] = {}
        brokers: dict[int, list[int]] = {}
        for i, part in enumerate(self.parts):
            for e in part.links:
                links.setdefault(e, []).append(i)
            for b in part.brokers:
                brokers.setdefault(b, []).append(i)
        return links, brokers

    def _stands(self, path: Brokers, down: frozenset[int]) -> bool:
        return not down.intersection(self._on([path]))

    def _path(self, start: int, end: int, down: frozenset[int]) -> Brokers | None:
        if self.canonical(end):
            key = end, down
            if key not in self._rows:
                _make_room(self._rows)
                self._rows[key] = self._row(end, self.down(down))
            row = self._rows[key]
        else:
            if down not in self._checks:
                _make_room(self._checks)
                self._checks[down] = _only(self.check, self.down(down))
            row = rows_in(self._checks[down], end, 1 if down else 0, start)[0]
        found = follow(self.check, row, start, end)
        return found.brokers if found.arrives else None

    def _row(self, to: int, down: Down) -> Ints:
        graph = self.check.graph
        row = np.empty(graph.brokers, np.int32)
        tree = tree_room(graph.brokers, graph.links)
        links, brokers = np.array(down.links, np.int32), np.array(down.brokers, np.int32)
        _row_without(self.check.net, to, graph.ends, links, brokers, tree, row)
        return row

    def down(self, parts: frozenset[int]) -> Down:
        """All that is down with some parts; a dead broker's own links go without saying."""
        brokers = frozenset[int]().union(*(self.parts[i].brokers for i in parts))
        links = frozenset[int]().union(*(self.parts[i].links for i in parts))
        ends = self.check.graph.ends
        left = sorted(e for e in links if brokers.isdisjoint(ends[e].tolist()))
        return Down(tuple(left), tuple(sorted(brokers)))


def _make_room(kept: dict[Any, Any]) -> None:
    """Forget what was found before if it is too much: it can be found again."""
    if len(kept) >= KEPT:
        kept.clear()


@kernel
def _row_without(
    net: Any, to: int, ends: Any, links: Any, brokers: Any, tree: Any, row: Any
) -> None:
    plant(net, to, tree)
    fail(net, to, tree, ends, links, brokers)
    for u in range(len(row)):
        row[u] = tree.state[u].hop


def _only(check: Check, down: Down) -> Check:
    """The same check with one failure, as its scenario 1."""
    links, brokers = down.links, down.brokers
    scenarios = replace(
        check.scenarios,
        first_link=offsets([0, len(links)]),
        link=np.array(links, np.int32),
        first_broker=offsets([0, len(brokers)]),
        broker=np.array(brokers, np.int32),
        titles={},
    )
    return replace(check, scenarios=scenarios)


@dataclass(frozen=True, slots=True)
class Overall:
    """The probability over failures, and what it is made of."""

    low: float
    high: float
    rest: float
    """The probability of cases that were not looked at: in `high`, not in `low`."""
    cases: int
    blame: tuple[tuple[str, float], ...]
    """Parts with the probability of being down and too late or lost then, the worst first."""


def overall(
    failing: Failing,
    ends: tuple[int, int],
    second: Brokers,
    value: Value,
    *,
    most: int,
    enough: float = ENOUGH,
    wanted: float | None = None,
) -> Overall:
    """The probability over all cases of a pair; at most so many are looked at.

    With `wanted` the search ends as soon as it is certain whether so much is reached.
    """
    low: list[float] = []
    high: list[float] = []
    blame: dict[int, float] = {}
    turn, cases = count(), 0
    heap: list[tuple[float, int, frozenset[int], frozenset[int]]] = []
    heappush(heap, (-1.0, next(turn), frozenset(), frozenset()))
    left = 1.0
    while heap and cases < most and left > enough:
        if wanted is not None and (sum(low) >= wanted or sum(high) + left < wanted):
            break
        chance, _, down, up = heappop(heap)
        way = failing.way(*ends, second, down)
        known = value(way.paths) if way.paths else NEVER
        mass = -chance
        for part, share, before in _first_down(failing.parts, way.depends, down, up, mass):
            heappush(heap, (-share, next(turn), down | {part}, before))
            mass -= share
        low.append(mass * known[0])
        high.append(mass * known[1])
        for part in down:
            blame[part] = blame.get(part, 0.0) + mass * (1 - known[0])
        cases, left = cases + 1, left - mass
    rest = fsum(-one[0] for one in heap)
    worst = sorted(blame.items(), key=lambda one: (-one[1], one[0]))
    told = tuple((failing.parts[i].name, cost) for i, cost in worst if cost > 0)
    return Overall(fsum(low), min(fsum(high) + rest, 1.0), rest, cases, told)


def _first_down(
    parts: Sequence[Part],
    depends: Sequence[int],
    down: frozenset[int],
    up: frozenset[int],
    mass: float,
) -> Iterator[tuple[int, float, frozenset[int]]]:
    """The parts that may be the first down, with the probability, and what is up besides."""
    before = set(up)
    for part in depends:
        if part in down or part in before:
            continue
        share = mass * parts[part].fails
        if share > 0:
            yield part, share, frozenset(before)
        mass -= share
        before.add(part)
