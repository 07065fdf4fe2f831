"""Hand-made entries: what a federation's `routes` say, for each destination.

The first route of the file that holds is taken: one for this broker, source and destination, with
its link up, and meant for this failure if it names any. Sources that no route tells apart share a
plane, so that tables need not be made for every source.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ropewalk.federation.arrays import Graph, Ints
from ropewalk.federation.facts import Federation, Route
from ropewalk.federation.names import BrokerPatterns
from ropewalk.routing.scenarios import Down, Scenarios, resolve

ALWAYS = -1
"""The `when` of an entry that is meant for every failure."""


@dataclass(frozen=True, eq=False, slots=True)
class Group:
    """Entries to one destination that hold for the sources of some planes, the first to hold last.

    In this order they are written over the computed row one after the other.
    """

    planes: frozenset[int]
    at: Ints
    next: Ints
    link: Ints
    when: Ints
    route: Ints


@dataclass(frozen=True, eq=False)
class Entries:
    """All hand-made entries of a federation."""

    plane: Ints
    """The plane of each source."""
    by_destination: Sequence[Sequence[int]]
    """Routes, in the order of the file, that speak of each destination."""
    _at: Sequence[Ints]
    _next: Sequence[int]
    _planes: Sequence[frozenset[int]]
    _when: Sequence[int]
    _graph: Graph = field(repr=False)
    downs: Sequence[tuple[Down, ...]] = ()
    """The failures that routes are meant for; `when` counts in this list."""

    @cached_property
    def planes(self) -> int:
        """How many planes there are."""
        return int(self.plane.max()) + 1

    def at(self, route: int) -> Ints:
        """The brokers that a route is for."""
        return self._at[route]

    def link_between(self, a: int, b: int) -> int:
        """The number of the link between two brokers; 0, which nobody asks after, for none."""
        near = self._graph.neighbours(a)
        place = int(np.searchsorted(near, b))
        found = place < len(near) and near[place] == b
        return int(self._graph.link[self._graph.first[a] + place]) if found else 0

    def groups(self, to: int) -> list[Group]:
        """The entries to a destination, a group for planes that have the same ones."""
        routes = self.by_destination[to]
        if not routes:
            return []
        every = frozenset(range(self.planes))
        partial = [self._planes[r] for r in routes if self._planes[r] != every]
        told_apart: frozenset[int] = frozenset().union(*partial)
        rest = sorted(every - told_apart)
        planes: dict[tuple[int, ...], list[int]] = {}
        for some in [*([plane] for plane in sorted(told_apart)), rest]:
            held = tuple(r for r in routes if some and some[0] in self._planes[r])
            planes.setdefault(held, []).extend(some)
        made = [self._group(to, held, where) for held, where in planes.items() if held]
        return [group for group in made if len(group.at)]

    def _group(self, to: int, routes: tuple[int, ...], planes: list[int]) -> Group:
        rows = [
            (at, hop, self.link_between(at, hop), self._when[r], r)
            for r in reversed(routes)
            for hop in (self._next[r] if self._next[r] >= 0 else to,)
            for at in self._at[r].tolist()
            if at not in (to, hop)
        ]
        columns = np.array(rows, dtype=np.int32).reshape(-1, 5).T
        return Group(frozenset(planes), *columns.copy())


def entries_of(federation: Federation) -> Entries:
    """The hand-made entries of a federation."""
    routes = federation.routes
    names = tuple(federation.brokers)
    number = {name: i for i, name in enumerate(names)}
    patterns = BrokerPatterns({name: one.address for name, one in federation.brokers.items()})
    matched = {p: _numbers(patterns.match(p), number) for p in _patterns(routes)}
    plane, planes = _planes_of([route.from_ for route in routes], matched, len(names))
    by_destination: list[list[int]] = [[] for _ in names]
    for r, route in enumerate(routes):
        for to in matched[route.to].tolist():
            by_destination[to].append(r)
    colours = list(dict.fromkeys(route.colours for route in routes if route.colours))
    known: dict[str, Down] = {text: resolve(federation, text) for one in colours for text in one}
    return Entries(
        plane=plane,
        by_destination=by_destination,
        _at=[matched[route.at] for route in routes],
        _next=[int(matched[route.next][0]) if route.next != "*" else -1 for route in routes],
        _planes=[planes[route.from_] for route in routes],
        _when=[colours.index(route.colours) if route.colours else ALWAYS for route in routes],
        _graph=federation.graph,
        downs=[tuple(known[text] for text in one) for one in colours],
    )


def allowed(entries: Entries, scenarios: Scenarios) -> npt.NDArray[np.bool_]:
    """Whether entries of each `when` are meant for each scenario."""
    meant = np.zeros((max(len(entries.downs), 1), len(scenarios)), np.bool_)
    for row, downs in zip(meant, entries.downs, strict=False):
        for down in downs:
            row |= scenarios.holding(down)
    return meant


def _patterns(routes: Iterable[Route]) -> set[str]:
    return {text for r in routes for text in (r.at, r.from_, r.to, r.next)}


def _numbers(names: Iterable[str], number: dict[str, int]) -> Ints:
    return np.array([number[name] for name in names], np.int32)


def _planes_of(
    patterns: Sequence[str], matched: dict[str, Ints], brokers: int
) -> tuple[Ints, dict[str, frozenset[int]]]:
    """Sources by which patterns they match; and the planes that each pattern stands for."""
    distinct = list(dict.fromkeys(patterns))
    member = np.zeros((len(distinct), brokers), np.bool_)
    for row, pattern in zip(member, distinct, strict=True):
        row[matched[pattern]] = True
    _, plane = np.unique(member, axis=1, return_inverse=True)
    number = plane.reshape(-1).astype(np.int32) if distinct else np.zeros(brokers, np.int32)
    planes = {p: frozenset(number[matched[p]].tolist()) for p in distinct}
    return number, planes
