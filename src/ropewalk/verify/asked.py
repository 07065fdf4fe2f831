"""The pairs that bridges have to serve, and what becomes of each while something is other.

There may be a million pairs and a thousand failures: of each failure only the pairs are looked at
again that it can have touched.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from ropewalk.federation.arrays import Bools, Ints
from ropewalk.routing.trees import Longs
from ropewalk.verify.demand import Demand
from ropewalk.verify.flood import Flood
from ropewalk.verify.floods import Floods, bridged_pairs
from ropewalk.verify.verdicts import Verdict

T = TypeVar("T")
Key = tuple[str, str]
"""The broker where a message is published, and its name."""
Fates = npt.NDArray[np.int8]
Other = tuple[Floods, Fates]
"""Floods while something is other than usual, and the fates of all pairs then."""


class Asked:
    """Pairs of brokers and topics, and their fates with nothing failed."""

    def __init__(self, floods: Floods, bridged: Demand) -> None:
        self.floods = floods
        self.pairs = list(bridged_pairs(floods, bridged))
        self.usual: Fates = np.array(
            [floods.fate(*self._named(i)) for i in range(len(self.pairs))], np.int8
        )

    def fates(self, other: Floods) -> Fates:
        """The fates of all pairs while something is other."""
        found = self.usual.copy()
        self._excuse(found, other)
        touched = set(self.at(other.down))
        for key in self._suspects(other):
            if other.of(*key) is not self.floods.of(*key):
                touched.update(self.by_flood[key])
        # Whether a hop limit is to blame depends on where messages would get to without it.
        free, usually_free = other.unlimited(), self.floods.unlimited()
        for key, numbers in self._unserved.items() if self.floods.bridges.most else ():
            if free.of(*key) is not usually_free.of(*key):
                touched.update(numbers)
        for i in touched:
            found[i] = other.fate(*self._named(i))
        return found

    def _suspects(self, other: Floods) -> Iterable[Key]:
        """Floods that may be others than usual: the rest is not looked at."""
        if other.connected or other.cut:
            crossing = (self._by_connection[one] for one in (*other.connected, *other.cut))
            there = (self._by_reached[one] for one in other.turned_ends)
            return {key for keys in (*crossing, *there) for key in keys}
        by = self._by_met if other.moved else self._by_sender
        return {key for one in other.down for key in by[one]}

    def _excuse(self, found: Fates, other: Floods) -> None:
        """Of pairs that are not served with nothing failed, whether they would have to be now."""
        open_to = self._dropped
        if other.down:
            found[self._dropped & ~self._promised] = Verdict.CUT
            open_to = self._dropped & self._promised
        for i in np.flatnonzero(open_to).tolist():
            source, to, _ = self.pairs[i]
            excused = other.excused(source, to, promised=bool(self._promised[i]))
            found[i] = Verdict.CUT if excused else Verdict.BLACK_HOLE

    @cached_property
    def _unserved(self) -> Mapping[Key, list[int]]:
        late = self._dropped | (self.usual == Verdict.TOO_LONG)
        found = {key: [i for i in of if late[i]] for key, of in self.by_flood.items()}
        return {key: numbers for key, numbers in found.items() if numbers}

    @cached_property
    def _dropped(self) -> Bools:
        return np.isin(self.usual, (Verdict.BLACK_HOLE, Verdict.CUT))

    @cached_property
    def _promised(self) -> Bools:
        ends = (self._named(i)[1:] for i in range(len(self.pairs)))
        return np.array([self.floods.promised(topic, to) for to, topic in ends], bool)

    def at(self, brokers: Iterable[str]) -> Ints:
        """The numbers of pairs that have one of some brokers at an end."""
        found = [self.by_end.get(one, _NONE) for one in brokers]
        return np.unique(np.concatenate([_NONE, *found]))

    @staticmethod
    def counts(fates: Fates) -> Longs:
        """How many pairs have each fate."""
        return np.bincount(fates, minlength=len(Verdict)).astype(np.int64)

    def _named(self, i: int) -> tuple[str, str, str]:
        source, to, t = self.pairs[i]
        return source, to, self.floods.topics[t]

    @cached_property
    def by_end(self) -> dict[str, Ints]:
        """Pairs by the brokers at their ends."""
        found: dict[str, list[int]] = {}
        for i, (source, to, _) in enumerate(self.pairs):
            found.setdefault(source, []).append(i)
            if to != source:
                found.setdefault(to, []).append(i)
        return {name: np.array(numbers, np.int32) for name, numbers in found.items()}

    @cached_property
    def _by_connection(self) -> Mapping[int, list[Key]]:
        connections = self.floods.bridges.connections
        return self._floods_by(lambda one: {connections[i] for i in one.crossed})

    @cached_property
    def _by_reached(self) -> Mapping[str, list[Key]]:
        return self._floods_by(lambda one: one.brokers)

    @cached_property
    def _by_met(self) -> Mapping[str, list[Key]]:
        return self._floods_by(lambda one: one.met)

    @cached_property
    def _by_sender(self) -> Mapping[str, list[Key]]:
        return self._floods_by(lambda one: one.senders)

    def _floods_by(self, what: Callable[[Flood], Iterable[T]]) -> Mapping[T, list[Key]]:
        found: dict[T, list[Key]] = defaultdict(list)
        for key in self.by_flood:
            for one in what(self.floods.of(*key)):
                found[one].append(key)
        return found

    @cached_property
    def by_flood(self) -> dict[Key, list[int]]:
        """Pairs by the floods that decide them."""
        found: dict[Key, list[int]] = {}
        for i in range(len(self.pairs)):
            source, to, topic = self._named(i)
            for name in self.floods.owed(topic, to):
                found.setdefault((source, name), []).append(i)
        return found


_NONE = np.zeros(0, np.int32)
