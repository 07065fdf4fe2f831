"""Messages in flight while links fail and recover and the news spreads, all in any order.

What a broker knows of a link is how often it has changed: odd is down, and the greater number is
the newer. A message carries the greatest numbers known where it passed; a broker joins them with
its own, routes by the result, and keeps nothing of it. While the numbers stay the same the message
follows one tree of shortest paths, so it takes at most n - 1 hops between two changes of them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from ropewalk.errors import UsageError
from ropewalk.federation.arrays import Graph, Ints
from ropewalk.federation.facts import Federation
from ropewalk.federation.names import link_name
from ropewalk.routing.delta import fail, plant, restore, tree_room
from ropewalk.routing.ground import connected_parts
from ropewalk.routing.trees import NOWHERE, net_of

Versions = npt.NDArray[np.int16]
Schedule = Literal["random", "adversarial"]
CHANGE_CHANCE, AGAIN_CHANCE = 0.3, 0.4


@dataclass(frozen=True, slots=True)
class Flight:
    """Where a message went and how it ended."""

    source: str
    to: str
    path: tuple[str, ...]
    changes: tuple[str, ...]
    """Links in the order in which they changed: down, and up again when named a second time."""
    fate: Literal["delivered", "too long", "cut off"]

    @property
    def hops(self) -> int:
        """How many links it crossed."""
        return len(self.path) - 1


def flights(
    federation: Federation,
    *,
    count: int,
    seed: int,
    changes: int = 2,
    flood_chance: float = 0.3,
    schedule: Schedule = "random",
    join: bool = True,
) -> Iterator[Flight]:
    """So many flights, with up to so many changes each; the same seed gives the same ones.

    With `join` off every broker goes by its own knowledge alone, as in plain PCRT. A flight is too
    long when it takes more than (changes + 1) x n hops; with `join` none does. It is cut off where
    brokers without transit leave it no way. Raises UsageError for a single broker.

    >>> from ropewalk.federation.generators import generate
    >>> fifty = generate("fifty-broker")
    >>> {flight.fate for flight in flights(fifty, count=20, seed=1)} <= {"delivered", "cut off"}
    True
    """
    if len(federation.brokers) < 2:
        raise UsageError("a flight needs two brokers: the federation has one")
    rng, graph, roads = np.random.default_rng(seed), federation.graph, _Roads(federation.graph)
    for _ in range(count):
        yield _Sky(graph, roads, rng, changes, flood_chance, schedule, join).fly()


class _Roads:
    """Next hops to a broker with some links down, kept once they are made."""

    def __init__(self, graph: Graph) -> None:
        self._graph, self._net = graph, net_of(graph)
        self._tree = tree_room(graph.brokers, graph.links)
        self._known: dict[tuple[int, bytes], Ints] = {}
        self._links = {frozenset(pair): e for e, pair in enumerate(graph.ends.tolist())}

    def link(self, a: int, b: int) -> int:
        return self._links[frozenset((a, b))]

    def to(self, broker: int, versions: Versions) -> Ints:
        down = np.flatnonzero(versions % 2).astype(np.int32)
        key = broker, down.tobytes()
        if key not in self._known:
            none = np.zeros(0, np.int32)
            plant(self._net, broker, self._tree)
            size, _ = fail(self._net, broker, self._tree, self._graph.ends, down, none)
            self._known[key] = self._tree.state["hop"].copy()
            restore(self._tree, size, down, none)
        return self._known[key]


@dataclass
class _Sky:
    """One flight: what is true, what each broker knows, and where the message is."""

    graph: Graph
    roads: _Roads
    rng: np.random.Generator
    most_changes: int
    flood_chance: float
    schedule: Schedule
    join: bool
    parts: int = field(init=False)
    truth: Versions = field(init=False)
    known: Versions = field(init=False)
    carried: Versions = field(init=False)
    path: list[int] = field(init=False)
    to: int = field(init=False)
    changes: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        graph = self.graph
        self.truth = np.zeros(graph.links, np.int16)
        self.known = np.zeros((graph.brokers, graph.links), np.int16)
        self.carried = self.truth.copy()
        self.parts = len(set(connected_parts(graph).tolist()))
        source, self.to = self.rng.choice(graph.brokers, 2, replace=False).tolist()
        self.path = [source]

    def fly(self) -> Flight:
        tries = self.most_changes
        while self.path[-1] != self.to:
            if len(self.path) - 1 > (self.most_changes + 1) * self.graph.brokers:
                return self._landed("too long")
            if tries and self.rng.random() < CHANGE_CHANCE:
                tries -= 1
                self._change()
            elif not self._news_first() and not self._move() and not self._wait(tries):
                return self._landed("cut off")
        return self._landed("delivered")

    def _wait(self, tries: int) -> bool:
        """Whether there is something to wait for: news, or a link that may come back."""
        return self._spread(self._pending()) or tries > 0

    def _change(self) -> None:
        """A link changes that cuts nothing off: one that did before, or one ahead of the message.

        Both ends know at once: nobody sends into a link that is down.
        """
        ahead = self._ahead()
        again = self.changes and self.rng.random() < AGAIN_CHANCE
        choices = self.changes if again or not ahead else ahead
        if not choices:
            return
        e = choices[int(self.rng.integers(len(choices)))]
        up = self.truth % 2 == 0
        up[e] ^= True
        if len(set(connected_parts(self.graph, up).tolist())) == self.parts:
            self.truth[e] += 1
            self.known[self.graph.ends[e], e] = self.truth[e]
            self.changes.append(e)

    def _ahead(self) -> list[int]:
        """Links on the way from where the message is, if all brokers knew all."""
        hops, at, found = self.roads.to(self.to, self.truth), self.path[-1], []
        while at != self.to and hops[at] != NOWHERE:
            found.append(self.roads.link(at, int(hops[at])))
            at = int(hops[at])
        return found

    def _news_first(self) -> bool:
        """Whether news went one link on before the message moves."""
        pending = self._pending()
        if self.schedule == "adversarial":
            # News reaches the broker that has the message just when it sends the message back.
            return self._spread([arc for arc in pending if self._turns_back(arc)])
        return self.rng.random() < self.flood_chance and self._spread(pending)

    def _pending(self) -> list[tuple[int, int]]:
        """Links that are up and over which one end has news for the other."""
        up = self.graph.ends[self.truth % 2 == 0]
        arcs = np.concatenate((up, up[:, ::-1]))
        news = (self.known[arcs[:, 0]] > self.known[arcs[:, 1]]).any(axis=1)
        return [(u, v) for u, v in arcs[news].tolist()]

    def _spread(self, arcs: Sequence[tuple[int, int]]) -> bool:
        if not arcs:
            return False
        u, v = arcs[int(self.rng.integers(len(arcs)))]
        self.known[v] = np.maximum(self.known[v], self.known[u])
        return True

    def _turns_back(self, arc: tuple[int, int]) -> bool:
        u, at = arc
        if at != self.path[-1] or len(self.path) < 2:
            return False
        after = np.maximum(self.known[at], self.known[u])
        return bool(self._hop(after) == self.path[-2])

    def _hop(self, own: Versions) -> int:
        versions = np.maximum(self.carried, own) if self.join else own
        return int(self.roads.to(self.to, versions)[self.path[-1]])

    def _move(self) -> bool:
        own = self.known[self.path[-1]]
        hop = self._hop(own)
        self.carried = np.maximum(self.carried, own) if self.join else own.copy()
        if hop == NOWHERE:
            return False
        self.path.append(hop)
        return True

    def _landed(self, fate: Literal["delivered", "too long", "cut off"]) -> Flight:
        names, ends = self.graph.names, self.graph.ends.tolist()
        return Flight(
            source=names[self.path[0]],
            to=names[self.to],
            path=tuple(names[u] for u in self.path),
            changes=tuple(link_name(*(names[u] for u in ends[e])) for e in self.changes),
            fate=fate,
        )
