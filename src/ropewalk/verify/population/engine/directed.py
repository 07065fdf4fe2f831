"""Forwards to the target: the marking first from which least seems to be left to do.

How much is left is told by linear programs (`equation.Distance`), whose weights are kept: the most
that any of them says about a marking costs one product, and a program is solved only for markings
that are followed. Finds short runs in nets that are unsafe; of safe nets it says nothing, unless
they are finite (Blondin, Haase and Offtermatt 2021).
"""

from heapq import heappop, heappush

import numpy as np

from ropewalk.verify.population.engine import forward_tree as trees
from ropewalk.verify.population.engine.arrays import arrays_of, start_of
from ropewalk.verify.population.engine.equation import Distance
from ropewalk.verify.population.engine.shortening import shortened
from ropewalk.verify.population.engine.verdict import GaveUp, Unsafe
from ropewalk.verify.population.net import Net

METHOD = "directed search"
GREED = 2.0
"""What is left counts so many times what is done: runs are at most so many times too long."""
MOST_LEFT = 1_000_000
"""Markings times targets that are looked at at once: nets have thousands of both."""
PYTHON_BYTES = 400
"""What a marking takes beside its numbers."""
MOST_KEPT = 64
"""Weights that are kept; the oldest go first."""


class Directed:
    """The directed search in a net, in turns."""

    def __init__(self, net: Net, *, most_bytes: int = 1 << 30) -> None:
        self.net, self._arrays, self._most = net, arrays_of(net), most_bytes
        self._distance = Distance(net)
        places = len(net.places)
        self._targets = np.zeros((len(net.targets), places), np.int64)
        for row, target in zip(self._targets, net.targets, strict=True):
            for place, count in target:
                row[place] = count
        self._weights = np.zeros((0, places))
        self._out = np.zeros((len(net.rules) + 1, places), np.int32)
        self._by = np.zeros(len(net.rules) + 1, np.int64)
        self._seen: dict[bytes, int] = {}
        self._marks: list[bytes] = []
        self._parent: list[int] = []
        self._rule: list[int] = []
        self._depth: list[int] = []
        self._heap: list[tuple[float, int, int, bool]] = []
        self._add(start_of(net), -1, -1, 0, 0.0)

    @property
    def nodes(self) -> int:
        """How many markings have been seen."""
        return len(self._marks)

    def turn(self, markings: int = 8) -> Unsafe | GaveUp | None:
        """Follow some markings; None if there is no answer yet."""
        for _ in range(markings):
            if not self._heap:
                return GaveUp(METHOD, "all markings have been seen")
            if len(self._marks) * (4 * len(self.net.places) + PYTHON_BYTES) > self._most:
                return GaveUp(METHOD, f"more than {self._most >> 20:,} MB of markings")
            _, _, node, exact = heappop(self._heap)
            mark = np.frombuffer(self._marks[node], np.int32)
            if (mark >= self._targets).all(axis=1).any():
                run = shortened(self.net, self._steps(node))
                return Unsafe(METHOD, run) if run else GaveUp(METHOD, "the run is too long")
            if not exact:
                self._look(mark, node)
            else:
                self._follow(mark, node)
        return None

    def _look(self, mark: np.ndarray, node: int) -> None:
        """Solve the program for a marking, and let it wait for its turn again.

        Of several targets only those are asked about that may be the nearest.
        """
        left = self._all_left(mark[None, :])[0]
        asked = np.zeros(len(left), np.bool_)
        while not asked[nearest := int(left.argmin())]:
            lacks = self._targets[nearest] - np.minimum(mark, 1 << 20)
            left[nearest], weights = self._distance.least(lacks)
            self._weights = np.vstack([self._weights[1 - MOST_KEPT :], weights])
            asked[nearest] = True
        if left[nearest] < float("inf"):
            self._push(node, float(left[nearest]), exact=True)

    def _follow(self, mark: np.ndarray, node: int) -> None:
        count = trees.follow(self._arrays, mark, self._out, self._by)
        some = self._out[:count]
        left = self._left(some)
        for i in range(count):
            if left[i] < trees.OMEGA:
                self._add(some[i], int(self._by[i]), node, self._depth[node] + 1, float(left[i]))

    def _left(self, some: np.ndarray) -> np.ndarray:
        """The most that the weights which are kept say is left to do to the nearest target."""
        block = max(1, MOST_LEFT // len(self._targets))
        found = np.zeros(len(some))
        for at in range(0, len(some), block):
            found[at : at + block] = self._all_left(some[at : at + block]).min(axis=1)
        return found

    def _all_left(self, some: np.ndarray) -> np.ndarray:
        """The same for each target."""
        if not len(self._weights):
            return np.zeros((len(some), len(self._targets)))
        done = np.where(self._distance.free, 0, some) @ self._weights.T
        aims = np.where(self._distance.free, 0, self._targets) @ self._weights.T
        left = np.zeros((len(some), len(aims)))
        for mine, aim in zip(done.T, aims.T, strict=True):
            np.maximum(left, aim[None, :] - mine[:, None], out=left)
        return left

    def _add(self, mark: np.ndarray, rule: int, parent: int, depth: int, left: float) -> None:
        key = mark.tobytes()
        if self._seen.get(key, depth + 1) <= depth:
            return
        self._seen[key] = depth
        self._marks.append(key)
        self._parent.append(parent)
        self._rule.append(rule)
        self._depth.append(depth)
        self._push(len(self._marks) - 1, left, exact=False)

    def _push(self, node: int, left: float, *, exact: bool) -> None:
        depth = self._depth[node]
        heappush(self._heap, (depth + GREED * left, -depth, node, exact))

    def _steps(self, node: int) -> list[int]:
        found = list[int]()
        while self._rule[node] != -1:
            found.append(self._rule[node])
            node = self._parent[node]
        return found[::-1]
