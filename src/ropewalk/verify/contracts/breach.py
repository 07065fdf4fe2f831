"""What a rule has to say of a style: how often it is broken, and by what."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from ropewalk.federation.arrays import Bools, Ints

SHOWN = 20
"""Breaches of one rule that are told one by one; the rest is counted."""


@dataclass(frozen=True, slots=True)
class Breach:
    """One thing that breaks a rule, in words, and the names it is about."""

    words: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Broken:
    """How often a rule is broken, and the first of what breaks it."""

    count: int = 0
    breaches: tuple[Breach, ...] = ()

    def __bool__(self) -> bool:
        return self.count > 0

    def __add__(self, other: "Broken") -> "Broken":
        return Broken(self.count + other.count, (self.breaches + other.breaches)[:SHOWN])


WHOLE = Broken()
"""Of a rule that holds."""
Words = Callable[[int], tuple[str, tuple[str, ...]]]
"""What breaks the rule in a row: a sentence, and the names in it."""


def broken(bad: Bools | Ints, words: Words) -> Broken:
    """Rows that break a rule, as a mask or by number; words are made only for those shown."""
    places = np.flatnonzero(bad) if bad.dtype == np.bool_ else bad
    return Broken(len(places), tuple(Breach(*words(int(i))) for i in places[:SHOWN]))


def listed(breaches: Iterable[Breach]) -> Broken:
    """Breaches that are few enough to be made one by one."""
    every = tuple(breaches)
    return Broken(len(every), every[:SHOWN])
