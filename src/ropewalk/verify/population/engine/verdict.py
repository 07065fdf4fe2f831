"""What an engine may answer: unsafe with a run, safe with an invariant. No answer is no verdict."""

from dataclasses import dataclass

import numpy as np

from ropewalk.verify.population.net import Amounts
from ropewalk.verify.population.run import Run

OMEGA = 1 << 28
"""Any number of tokens. Amounts in nets stay far below it (a million at most)."""


@dataclass(frozen=True, slots=True)
class Limits:
    """An invariant: every marking that is reached is below one of these, where they say anything.

    A row has a number for each of `places`, OMEGA for any number; `empty` places are never marked;
    about the rest nothing is said.
    """

    places: tuple[int, ...]
    rows: np.ndarray
    empty: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """How many limits there are."""
        return len(self.rows)

    def __str__(self) -> str:
        return f"{self.size:,} limit{'s' * (self.size != 1)} of all that can be reached"


Fractions = tuple[Amounts, ...]
"""A proof that a demand cannot be met even if rules may happen in fractions.

Each of these weights takes away the rules that no solution of the net's equation uses; between
them go those that the rest cannot enable from the start, or from which the rest does not lead to
the demand; until the demand itself cannot be met.
"""


@dataclass(frozen=True, slots=True)
class Basis:
    """An invariant: no marking that is reached has all that one of these demands has."""

    demands: tuple[Amounts, ...] = ()
    bounds: tuple[Amounts, ...] = ()
    """Weights: their sum over the tokens is never above what it is at the start."""
    excluded: tuple[tuple[Amounts, Fractions], ...] = ()
    """Demands that rules in fractions cannot meet; each with the proof of it."""
    empty: tuple[int, ...] = ()
    """Places that are never marked."""

    @property
    def size(self) -> int:
        """How many demands and bounds there are."""
        return len(self.demands) + len(self.bounds) + len(self.excluded)

    def __str__(self) -> str:
        parts = (
            (len(self.demands), "demand", "that cannot be met"),
            (len(self.bounds), "weighted sum", "that cannot rise"),
            (len(self.excluded), "demand", "that fractions cannot meet"),
            (len(self.empty) * (not self.size), "place", "that cannot be marked"),
        )
        told = [
            f"{count:,} {one}{'s' * (count != 1)} {what}" for count, one, what in parts if count
        ]
        return ", ".join(told) or "nothing leads to what is asked about"


Invariant = Limits | Basis


@dataclass(frozen=True, slots=True)
class Safe:
    """No target can be reached; the invariant shows it."""

    method: str
    invariant: Invariant


@dataclass(frozen=True, slots=True)
class Unsafe:
    """A target is reached by a run."""

    method: str
    run: Run


@dataclass(frozen=True, slots=True)
class GaveUp:
    """A method cannot go on: it needs more memory than it may have, or the net is not its kind."""

    method: str
    reason: str


Answer = Safe | Unsafe | GaveUp
