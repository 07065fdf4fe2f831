"""Single failures that part the graph, and whether a total order stops in one of them.

Brokers stand in the order of a depth-first search (`graphs`), so what a failure takes off is a run
of places or several, and everything else is the rest. Counting ends of a topic in all runs at once
takes two binary searches for each.
"""

from typing import NamedTuple

import numpy as np

from ropewalk.federation.arrays import Bools, Graph, Ints
from ropewalk.federation.facts import Survive
from ropewalk.federation.names import link_name
from ropewalk.routing.trees import Longs
from ropewalk.verify.contracts.graphs import Cuts

NOTHING = -1
Counts = tuple[Longs, Longs]
"""How many are in each run, and how many in the rest of each failure."""


class Ends(NamedTuple):
    """Brokers of a topic: some that publish to some that read, all that read, and the home.

    All are different; there is one of each.
    """

    sources: Ints
    readers: Ints
    every: Ints
    home: int


class Falls:
    """The failures of one link or one broker that have to be survived and part the graph."""

    def __init__(self, graph: Graph, cuts: Cuts, part: Ints, survive: Survive) -> None:
        self._graph, self._place, self._part = graph, cuts.place, part
        links = list(cuts.edges) if survive.links else []
        brokers = [vertex for vertex, _, _ in cuts.vertices] if survive.brokers else []
        self.what = [*links, *((broker, NOTHING) for broker in brokers)]
        number = {broker: len(links) + i for i, broker in enumerate(brokers)}
        below = [(i, child) for i, (_, child) in enumerate(links)]
        below += sorted((number[v], child) for v, child in cuts.hanging if v in number)
        self._fall, child = np.array(below, np.int32).reshape(-1, 2).T
        self._start = cuts.place[child]
        self._stop = self._start + cuts.below[child]
        at = np.array([broker for broker, _ in self.what], np.int32)
        self._home_part = part[at]
        single = np.array([far == NOTHING for _, far in self.what], np.bool_)
        self._dead = np.where(single, cuts.place[at], len(part))
        off = np.bincount(self._fall, self._stop - self._start, len(at)).astype(np.int64)
        rest = np.bincount(part, minlength=1)[self._home_part] - off - single
        self._of_home: dict[int, Counts] = {}
        self._majority = (2 * (self._stop - self._start) > len(part), 2 * rest > len(part))

    def name(self, fall: int) -> str:
        """What fails."""
        names, (one, other) = self._graph.names, self.what[fall]
        return names[one] if other == NOTHING else link_name(names[one], names[other])

    def stopping(self, ends: Ends) -> Bools:
        """Failures in which some are joined to publishers and nobody numbers there.

        That takes a majority of all brokers, and the home, or everybody who knows what it did.
        All ends and the home are in one part of the graph as it is without failures.
        """
        sources, readers = self._counts(ends.sources), self._counts(ends.readers)
        every = readers if len(ends.every) == len(ends.readers) else self._counts(ends.every)
        home = self._home(ends.home)
        of_runs, of_rest = (
            (sources[i] > 0)
            & (readers[i] > 0)
            & ~(self._majority[i] & ((home[i] > 0) | (every[i] == len(ends.every))))
            for i in (0, 1)
        )
        of_rest[self._fall[of_runs]] = True
        return np.asarray(of_rest & (self._home_part == self._part[ends.home]))

    def _counts(self, brokers: Ints) -> Counts:
        places = np.sort(self._place[brokers])
        runs = np.searchsorted(places, self._stop) - np.searchsorted(places, self._start)
        gone = np.bincount(self._fall, runs, len(self.what)).astype(np.int64)
        dead = places[np.minimum(np.searchsorted(places, self._dead), len(places) - 1)]
        return runs, len(places) - gone - (dead == self._dead)

    def _home(self, broker: int) -> Counts:
        """Many topics have the same home."""
        if broker not in self._of_home:
            self._of_home[broker] = self._counts(np.array([broker], np.int32))
        return self._of_home[broker]
