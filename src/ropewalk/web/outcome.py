"""What a failure does: pairs that go another way, topics that are lost, load that moves.

It is what verification says of that one failure (the same tables, take-overs and hand-made
routes), put by pair and by link for a person who looks at a map.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ropewalk.federation import Federation
from ropewalk.federation.arrays import Floats, Graph, Ints
from ropewalk.routing.ahead import colours_of
from ropewalk.routing.scenarios import Down, resolve
from ropewalk.verify import Verdict, verify
from ropewalk.verify.check import Check
from ropewalk.verify.paths import Path, path_in, row_of
from ropewalk.verify.takeover import home, homes_of

if TYPE_CHECKING:
    from ropewalk.verify import Verification

MOST_PAIRS = 400
"""So many pairs are told one by one; of more, those that change come first."""


@dataclass(frozen=True, slots=True)
class Way:
    """A pair of brokers, what it carries, and its path before and after the failure."""

    source: str
    to: str
    topics: tuple[str, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]
    fate: str

    @property
    def changed(self) -> bool:
        """Whether the failure makes a difference to it."""
        return self.before != self.after or self.fate != "delivered"

    def as_dict(self) -> dict[str, Any]:
        """As the page's tables take it."""
        return {
            "from": self.source,
            "to": self.to,
            "topics": _listed(self.topics) or "any",
            "before": " > ".join(self.before),
            "after": " > ".join(self.after) if self.fate == "delivered" else self.fate,
            "fate": self.fate,
            "changed": self.changed,
        }


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one failure does to a federation; `failure` is "none" where nothing is failed."""

    result: "Verification"
    failure: str
    down: Down

    @property
    def last(self) -> int:
        """The number of the scenario that was asked for; that of nothing failed is 0."""
        return len(self.result.check.scenarios) - 1

    @cached_property
    def colour(self) -> int:
        """The number that every broker's table has for this failure."""
        colours = colours_of(self.result.check.federation)
        return colours.number(colours.essential(colours.things_down(self.down)))

    @cached_property
    def fates(self) -> dict[str, int]:
        """How many pairs have each fate, those of none left out; `stranded` is among the cut."""
        counts = self.result.fates[self.last]
        found = {one.name.lower(): int(counts[one]) for one in Verdict if counts[one]}
        return found | ({"stranded": n} if (n := int(self.result.stranded[self.last])) else {})

    @cached_property
    def pairs(self) -> int:
        """How many pairs of clients are owed something."""
        return int(self.result.summary["pairs"])

    @cached_property
    def lost(self) -> dict[str, list[str]]:
        """Topics of which not everything arrives, and the pairs that miss it, with the reason."""
        found: dict[str, list[str]] = {}
        rows = self.result.cases()
        for row in rows[
            rows["failure"] == self.result.check.scenarios.name(self.last)
        ].itertuples():
            source, to, topics, fate = row[2], row[3], row[4], row[5]
            for topic in topics or ["(any topic)"]:
                found.setdefault(str(topic), []).append(f"{source} > {to}: {_words(str(fate))}")
        return found

    @cached_property
    def ways(self) -> list[Way]:
        """Pairs with their paths before and after, those that change first."""
        check = self.result.check
        demand, names = check.demand, check.graph.names
        found = []
        for pair in self._looked_at():
            source, to = int(demand.source[pair]), int(demand.to[pair])
            before = _names(path_in(check, source, to), names)
            after, fate = self._after(source, to)
            topics = tuple(demand.topics(pair))
            found.append(Way(names[source], names[to], topics, before, after, fate))
        return sorted(found, key=lambda way: not way.changed)[:MOST_PAIRS]

    def way(self, source: str, to: str) -> Way:
        """The path between two brokers, whatever they publish."""
        check = self.result.check
        names = check.graph.names
        a, b = names.index(source), names.index(to)
        after, fate = self._after(a, b)
        return Way(source, to, (), _names(path_in(check, a, b), names), after, fate)

    @cached_property
    def load(self) -> "Load":
        """Client pairs that go over each link and through each broker, before and after."""
        before = homes_in(self.result.check.federation, Down())
        return Load(*_flow(self.result, 0, before), *_flow(self.result, self.last, self.homes))

    @cached_property
    def homes(self) -> "Homes":
        """Where the clients of each broker are now."""
        return homes_in(self.result.check.federation, self.down)

    def _looked_at(self) -> list[int]:
        """All pairs where they are few; of many, those to and from what is down, then the rest."""
        demand = self.result.check.demand
        if len(demand.to) <= 4 * MOST_PAIRS:
            return list(range(len(demand.to)))
        near = set(self.down.brokers) | {
            int(end) for link in self.down.links for end in self.result.check.graph.ends[link]
        }
        touched = np.isin(demand.source, list(near)) | np.isin(demand.to, list(near))
        order: list[int] = np.argsort(~touched, kind="stable")[: 4 * MOST_PAIRS].tolist()
        return order

    def _after(self, source: int, to: int) -> tuple[tuple[str, ...], str]:
        check = self.result.check
        names = check.graph.names
        start, end = int(self.homes.publishers[source]), int(self.homes.subscribers[to])
        if start < 0 or end < 0:
            return (), f"{names[source if start < 0 else to]} is down"
        path = path_in(check, start, end, self.last)
        if path.arrives:
            return _names(path, names), "delivered"
        return _names(path, names), "in a loop" if path.loop else "cut off"


@dataclass(frozen=True, eq=False, slots=True)
class Load:
    """Client pairs by link and by broker, before and after a failure."""

    links_before: Floats
    brokers_before: Floats
    links_after: Floats
    brokers_after: Floats


def outcome_of(federation: Federation, failed: tuple[str, ...]) -> Outcome:
    """What it does that all of these links and brokers are down at once.

    >>> from ropewalk import generate
    >>> outcome = outcome_of(generate("three-broker"), ("b1--b2",))
    >>> outcome.fates, outcome.colour, outcome.way("b1", "b2").after
    ({'delivered': 3}, 2, ('b1', 'b3', 'b2'))
    """
    failure = "+".join(failed) or "none"
    result = verify(federation, failures=[failure])
    return Outcome(result, failure, resolve(federation, failure) if failed else Down())


def _flow(result: "Verification", k: int, now: "Homes") -> tuple[Floats, Floats]:
    """Client pairs over each link and through each broker in a scenario, all pairs followed."""
    check, demand = result.check, result.check.demand
    graph = check.graph
    links, brokers = np.zeros(graph.links), np.zeros(graph.brokers)
    source, to = now.publishers[demand.source], now.subscribers[demand.to]
    alive = (source >= 0) & (to >= 0)
    source, to, weight = source[alive], to[alive], demand.weight[alive].astype(float)
    order = np.argsort(to, kind="stable")
    source, to, weight = source[order], to[order], weight[order]
    walk = _Walk(graph, links, brokers)
    for end in np.unique(to).tolist():
        mine = slice(*np.searchsorted(to, [end, end + 1]))
        for group, of in _groups(check, end, source[mine]):
            row = row_of(check, end, k, group)[0]
            walk.all(row, source[mine][of], weight[mine][of], end)
    return links, brokers


def _groups(check: Check, to: int, source: Ints) -> Iterator[tuple[int, npt.NDArray[np.bool_]]]:
    """The groups that sources meet on their way to a destination, and which sources are in each."""
    if not check.groups(to):
        yield 0, np.ones(len(source), np.bool_)
        return
    groups = np.array([check.group_of(to, int(one)) for one in source])
    for group in np.unique(groups).tolist():
        yield group, groups == group


class _Walk:
    """Lets all sources of a destination take their hops together, and counts where they come by."""

    def __init__(self, graph: Graph, links: Floats, brokers: Floats) -> None:
        self._graph, self._links, self._brokers = graph, links, brokers
        tail = np.repeat(np.arange(graph.brokers, dtype=np.int64), np.diff(graph.first))
        self._arcs = tail * graph.brokers + graph.neighbour  # ascending: looked up by bisection

    def all(self, row: Ints, at: Ints, weight: Floats, to: int) -> None:
        """Follow a row; what goes round in a loop is let go after as many hops as brokers."""
        np.add.at(self._brokers, at, weight)
        for _ in range(self._graph.brokers):
            going = (at != to) & (row[at] >= 0)
            at, weight = at[going], weight[going]
            if not len(at):
                return
            hop = row[at]
            arc = np.searchsorted(self._arcs, at.astype(np.int64) * self._graph.brokers + hop)
            np.add.at(self._links, self._graph.link[arc], weight)
            np.add.at(self._brokers, hop, weight)
            at = hop


@dataclass(frozen=True, eq=False, slots=True)
class Homes:
    """Where the clients of each broker are: there, at who takes them over, or -1 for nowhere."""

    publishers: Ints
    subscribers: Ints


def homes_in(federation: Federation, down: Down) -> Homes:
    """Where clients are when some brokers are down."""
    lists, everybody = homes_of(federation), range(len(federation.brokers))
    return Homes(
        np.array([home(b, lists.publishers, down.brokers) for b in everybody], np.int32),
        np.array([home(b, lists.subscribers, down.brokers) for b in everybody], np.int32),
    )


def _listed(topics: Sequence[str], most: int = 3) -> str:
    more = f" and {len(topics) - most} more" if len(topics) > most else ""
    return ", ".join(topics[:most]) + more


def _names(path: Path, names: Sequence[str]) -> tuple[str, ...]:
    return tuple(names[b] for b in path.brokers)


def _words(fate: str) -> str:
    known = {one.name.lower(): one.words for one in Verdict}
    return known.get(fate, "a client's broker is down")
