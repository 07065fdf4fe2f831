"""Forwards: limits of all that can be reached; safe when they are closed and miss every target."""

from collections.abc import Sequence

import numpy as np

from ropewalk.verify.population.engine import forward_kernels as kernels
from ropewalk.verify.population.engine import forward_tree as trees
from ropewalk.verify.population.engine.arrays import arrays_of, start_of
from ropewalk.verify.population.engine.forward_tree import Tree
from ropewalk.verify.population.engine.unfolding import Way
from ropewalk.verify.population.engine.verdict import OMEGA, GaveUp, Limits, Safe
from ropewalk.verify.population.net import Amounts, Net

METHOD = "forward limits"
TURN = 1_000
"""Markings that are made in a turn."""


class Forward:
    """The forward search in a net, in turns."""

    def __init__(self, net: Net, *, broad: bool = False, most_bytes: int = 2 << 30) -> None:
        self.net, self.arrays, self._most = net, arrays_of(net), most_bytes
        self._tree = _tree(len(net.places), len(net.rules), moving=net.moving)
        self._tree.marks[0] = start_of(net)
        self._tree.parent[0] = self._tree.chain[0] = -1
        self._tree.counts[trees.NODES] = self._tree.counts[trees.ALIVE] = 1
        self._tree.counts[trees.STACK] = 1
        self._tree.signs[0] = trees.signs_of(self._tree.marks[0])
        self._begun, self._broad = False, broad
        trees.seat_all(self._tree)

    @property
    def nodes(self) -> int:
        """How many markings have been made."""
        return int(self._tree.counts[trees.NODES])

    def turn(self, markings: int = TURN) -> Safe | Way | GaveUp | None:
        """Go on for some markings; None if there is no answer yet."""
        if not self._begun:
            self._begun = True
            if trees.on_target(self.arrays, self._tree.marks[0]):
                return self._way(0)
        code = kernels.grow(self.arrays, self._tree, markings, self._broad)
        if code == kernels.TARGET:
            return self._way(int(self._tree.counts[trees.FOUND]))
        if code == kernels.EMPTY:
            every = tuple(range(len(self.net.places)))
            return Safe(METHOD, Limits(every, self._limits()))
        if code == kernels.FULL and not self._larger():
            return GaveUp(METHOD, f"more than {self._most >> 20:,} MB of markings")
        return None

    def raised(self) -> tuple[np.ndarray, Way]:
        """The start, with OMEGA where some way brings more and loses nothing; and those ways."""
        tree, start = self._tree, self._tree.marks[0].copy()
        steps, loops = list[int](), dict[int, Sequence[int]]()
        if self.net.moving:
            return start, Way((), {}, -1)
        for node in tree.alive[: tree.counts[trees.ALIVE]].tolist():
            mark = tree.marks[node]
            if (mark >= tree.marks[0]).all() and ((mark == OMEGA) & (start != OMEGA)).any():
                start[mark == OMEGA] = OMEGA
                way = self._way(node)
                steps += way.steps
                loops |= way.loops
        return start, Way(tuple(steps), loops, -1)

    def _limits(self) -> np.ndarray:
        alive = self._tree.alive[: self._tree.counts[trees.ALIVE]]
        return np.asarray(self._tree.marks[alive])

    def _larger(self) -> bool:
        arrays = {name: getattr(self._tree, name) for name in Tree._fields if name != "counts"}
        if 2 * sum(array.nbytes for array in arrays.values()) > self._most:
            return False
        twice = {name: _twice(array) for name, array in arrays.items()}
        twice["slots"][:] = 0
        self._tree = self._tree._replace(**twice)
        trees.seat_all(self._tree)
        return True

    def _way(self, node: int) -> Way:
        """The steps to a node: rules, and loops with steps of their own."""
        tree, steps = self._tree, list[int]()
        target = next(
            (i for i, one in enumerate(self.net.targets) if _covers(tree.marks[node], one)), -1
        )
        while node != -1:
            steps[:0] = tree.steps[tree.first[node] : tree.last[node]].tolist()
            node = int(tree.parent[node])
        loops: dict[int, Sequence[int]] = {}
        waiting = [-1 - step for step in steps if step < 0]
        while waiting:
            loop = waiting.pop()
            if loop not in loops:
                inner = tree.steps[tree.loop_first[loop] : tree.loop_last[loop]].tolist()
                loops[loop] = inner
                waiting += [-1 - step for step in inner if step < 0]
        return Way(tuple(steps), loops, target)


def _covers(mark: np.ndarray, target: Amounts) -> bool:
    return all(mark[place] >= count for place, count in target)


def _tree(places: int, rules: int, *, moving: bool) -> Tree:
    nodes = max(1 << 12, 2 * rules + 2)
    pairs = 16 * nodes + 4 * places
    long = np.int64
    return Tree(
        marks=np.zeros((nodes, places), np.int32),
        parent=np.zeros(nodes, long),
        chain=np.zeros(nodes, long),
        status=np.zeros(nodes, np.int8),
        first=np.zeros(nodes, long),
        last=np.zeros(nodes, long),
        alive=np.zeros(nodes, long),
        signs=np.zeros(nodes, np.uint64),
        stack=np.zeros(nodes, long),
        steps=np.zeros(8 * nodes + 4 * trees.LONGEST, long),
        loop_first=np.zeros(nodes, long),
        loop_last=np.zeros(nodes, long),
        need_end=np.zeros(nodes + 1, long),
        need_at=np.zeros(pairs, np.int32),
        need_by=np.zeros(pairs, np.int32),
        gain_end=np.zeros(nodes + 1, long),
        gain_at=np.zeros(pairs, np.int32),
        loop_map=np.zeros((nodes if moving else 1, places), np.int32),
        slots=np.zeros(1 << (4 * nodes).bit_length(), long),
        counts=np.zeros(9, long),
    )


def _twice(array: np.ndarray) -> np.ndarray:
    larger = np.zeros((2 * len(array), *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger
