"""The pairs that bridges have to serve, and what becomes of each while something is other.

There may be a million pairs and a thousand failures: of each failure only the pairs are looked at
again that it can have touched.
"""

from collections.abc import Iterable
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ropewalk.federation.arrays import Ints
from ropewalk.routing.trees import Longs
from ropewalk.verify.demand import Demand
from ropewalk.verify.floods import Floods, bridged_pairs
from ropewalk.verify.verdicts import Verdict

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
        touched = set(self.at(other.down))
        for key, pairs in self.by_flood.items():
            if other.of(*key) is not self.floods.of(*key):
                touched.update(pairs)
        for i in touched:
            found[i] = other.fate(*self._named(i))
        return found

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
    def by_flood(self) -> dict[tuple[str, str], list[int]]:
        """Pairs by the floods that decide them."""
        found: dict[tuple[str, str], list[int]] = {}
        for i in range(len(self.pairs)):
            source, to, topic = self._named(i)
            for name in self.floods.owed(topic, to):
                found.setdefault((source, name), []).append(i)
        return found


_NONE = np.zeros(0, np.int32)
