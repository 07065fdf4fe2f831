"""Every pair and every changed link, with the knowledge of all brokers standing still.

Which cases loop in plain PCRT while only some brokers know the new colour, and that none does when
messages carry what was known where they passed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ropewalk.errors import UsageError
from ropewalk.federation.arrays import Bools, Graph
from ropewalk.federation.facts import Federation
from ropewalk.federation.names import link_name
from ropewalk.kernels import kernel
from ropewalk.routing.all_pairs import (
    Ground,
    by_destination,
    failing_room,
    ground_of,
    put_up,
    take_down,
)
from ropewalk.routing.delta import plant
from ropewalk.routing.mixed.walking import LOOPS, PATH, walk
from ropewalk.routing.trees import FAR, NOWHERE, Longs

if TYPE_CHECKING:
    import pandas as pd

Knowing = Literal["ends", "with ends", "any"]
"""The two ends of the link alone; every set that has both; every set there is."""
Change = Literal["failure", "recovery"]

MOST_BROKERS_IN_SETS = 14
FATES = ("delivered", "loops", "lost", "stuck")


@dataclass(frozen=True, slots=True)
class Witness:
    """A message that goes round: where, and which brokers knew of the change."""

    link: str
    source: str
    to: str
    knowing: tuple[str, ...]
    path: tuple[str, ...]
    """Up to the broker where it is for the second time."""

    def __str__(self) -> str:
        knowing = ", ".join(self.knowing) or "nobody"
        return f"{self.link} changed, {knowing} know: {' > '.join(self.path)} (for {self.to})"


@dataclass(frozen=True, eq=False)
class Mixed:
    """What becomes of all pairs whose path a changed link is on, and whose ends are connected."""

    graph: Graph
    ground: Ground
    sets: Bools
    """A row for each set of brokers that know; with `knowing="ends"`, one for each link."""
    change: Change
    carrying: bool
    fates: Longs
    """By link: how many are delivered, loop, are lost in the failed link, are stuck."""
    longest: int
    """Most hops over which messages follow changed entries."""
    first_loop: Longs
    """By link: destination, source and set of a case that loops; -1 for none."""

    @property
    def counts(self) -> dict[str, int]:
        """How many cases there are, and how many of each fate."""
        by_fate = {fate: int(n) for fate, n in zip(FATES, self.fates.sum(axis=0), strict=True)}
        return {"cases": int(self.fates.sum()), **by_fate}

    @property
    def looping(self) -> float:
        """The share of cases that loop."""
        return self.counts["loops"] / max(self.counts["cases"], 1)

    @cached_property
    def witnesses(self) -> Sequence[Witness]:
        """A case for each link that has one that loops."""
        links = np.flatnonzero(self.first_loop[:, 0] >= 0)
        return [self._witness(int(e), *self.first_loop[e].tolist()) for e in links]

    def frame(self) -> "pd.DataFrame":
        """A row per link."""
        import pandas as pd

        rows = pd.DataFrame(self.fates, columns=list(FATES))
        rows.insert(0, "link", [self._link_name(e) for e in range(self.graph.links)])
        return rows

    def _link_name(self, e: int) -> str:
        a, b = self.graph.ends[e].tolist()
        return link_name(self.graph.names[a], self.graph.names[b])

    def _witness(self, e: int, to: int, source: int, k: int) -> Witness:
        names = self.graph.names
        followed = trace(self.ground, e, source, to, self.sets[k], self.change, self.carrying)
        seen: list[int] = []
        for at in followed:
            seen.append(at)
            if at in seen[:-1]:
                break
        knowing = tuple(names[u] for u in np.flatnonzero(self.sets[k]))
        path = tuple(names[u] for u in seen)
        return Witness(self._link_name(e), names[source], names[to], knowing, path)


def mixed(
    federation: Federation | Graph,
    *,
    knowing: Knowing = "ends",
    change: Change = "failure",
    carrying: bool = False,
) -> Mixed:
    """Every changed link, every pair whose path it is on, every set of brokers that know of it.

    Raises UsageError where there would be too many sets.

    >>> from ropewalk.federation.generators import generate
    >>> plain = mixed(generate("ring", brokers=5))
    >>> plain.counts["loops"], str(plain.witnesses[0])
    (20, 'b1--b2 changed, b1, b2 know: b2 > b3 > b2 (for b1)')
    >>> mixed(generate("ring", brokers=5), carrying=True).counts["loops"]
    0
    """
    graph = federation if isinstance(federation, Graph) else federation.graph
    ground, sets = ground_of(graph), _sets(graph, knowing)
    fates = np.zeros((graph.links, len(FATES)), np.int64)
    loop = np.full((graph.links, 3), NOWHERE, np.int64)
    longest = 0

    def work(start: int, stop: int) -> tuple[Longs, Longs, int]:
        found = np.zeros_like(fates), np.full_like(loop, NOWHERE)
        room, path = failing_room(ground), np.zeros(PATH * graph.brokers, np.int32)
        options = (change == "recovery", carrying, knowing == "ends", knowing == "any")
        return *found, _count(ground, start, stop, sets, options, room, path, *found)

    for some, loops, most in by_destination(work, ground):
        fates += some
        longest = max(longest, most)
        loop = np.where(loop[:, :1] == NOWHERE, loops, loop)
    return Mixed(graph, ground, sets, change, carrying, fates, longest, loop)


def trace(
    ground: Ground,
    link: int,
    source: int,
    to: int,
    knows: Bools,
    change: Change = "failure",
    carrying: bool = False,
) -> list[int]:
    """The brokers with changed entries that a message passes, until it leaves or goes round."""
    room, path = failing_room(ground), np.full(PATH * len(ground.arc), NOWHERE, np.int32)
    plant(ground.net, to, room.tree)
    a, b = ground.ends[link].tolist()
    hops = room.tree.state["hop"]
    beside = a if hops[a] == b else b
    take_down(ground, to, beside, False, room)
    walk(room.tree.state, source, beside, knows, change == "recovery", carrying, path)
    return list(path[path != NOWHERE].tolist())


def _sets(graph: Graph, knowing: Knowing) -> Bools:
    if knowing == "ends":
        sets = np.zeros((graph.links, graph.brokers), np.bool_)
        sets[np.arange(graph.links)[:, None], graph.ends] = True
        return sets
    if graph.brokers > MOST_BROKERS_IN_SETS:
        most = f"at most {MOST_BROKERS_IN_SETS} brokers have few enough"
        raise UsageError(f"{graph.brokers} brokers have too many sets of brokers: {most}")
    return np.array(list(product([False, True], repeat=graph.brokers)))


@kernel
def _count(
    ground: Any,
    start: int,
    stop: int,
    sets: Any,
    options: Any,
    failing: Any,
    path: Any,
    fates: Any,
    loop: Any,
) -> int:
    _, _, own_set, any_set = options
    state, longest = failing.tree.state, 0
    for to in range(start, stop):
        plant(ground.net, to, failing.tree)
        for at in range(len(state)):
            count, size = take_down(ground, to, at, False, failing)
            if count == 0:
                continue
            e = failing.link[0]
            a, b = ground.ends[e]
            for k in range(e if own_set else 0, e + 1 if own_set else len(sets)):
                if any_set or (sets[k, a] and sets[k, b]):
                    most, loops = _count_one(state, at, sets[k], options, path, fates[e])
                    longest = max(longest, most)
                    if loops != NOWHERE and loop[e, 0] == NOWHERE:
                        loop[e, 0], loop[e, 1], loop[e, 2] = to, loops, k
            put_up(failing, size, False)
    return longest


@kernel
def _count_one(
    state: Any, at: int, knows: Any, options: Any, path: Any, fates: Any
) -> tuple[int, int]:
    """All sources below a broker, under one set; the most hops, and a source that loops or -1."""
    recovered, carrying, _, _ = options
    longest, loops = 0, NOWHERE
    for place in range(state[at].place, state[at].place + state[at].size):
        source = state[place].slot
        if state[source].distance >= FAR:
            continue
        ended = walk(state, source, at, knows, recovered, carrying, path)
        longest = max(longest, ended)
        fates[max(0, -ended)] += 1
        if ended == LOOPS and loops == NOWHERE:
            loops = source
    return longest, loops
