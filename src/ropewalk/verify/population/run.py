"""A run of a net: how it begins and which rules happen, one after another."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

Step = tuple["int | tuple[Step, ...]", int]
"""A rule's number, or steps in a row, and how often it happens before what is next."""


@dataclass(frozen=True, slots=True)
class Run:
    """A run of a net: what it starts with, and which rules happen, each so many times in a row."""

    start: Mapping[int, int]
    steps: tuple[Step, ...]

    @property
    def length(self) -> int:
        """How many rules happen.

        >>> Run({}, ((7, 2), (((8, 1), (9, 3)), 10))).length
        42
        """
        return _length(self.steps, {})

    def renamed(self, rules: Sequence[int]) -> tuple[Step, ...]:
        """The steps in a net whose rules have other numbers."""
        return _renamed(self.steps, rules, {})

    def flat(self) -> Iterator[tuple[int, int]]:
        """Every rule and how often it happens in a row; a run of runs may be very long.

        >>> list(Run({}, ((7, 2), (((8, 1), (9, 3)), 2))).flat())
        [(7, 2), (8, 1), (9, 3), (8, 1), (9, 3)]
        """
        return _flat(self.steps)


def _length(steps: tuple[Step, ...], known: dict[int, int]) -> int:
    """Steps in a row may be the same object in many places: each is looked at once."""
    if id(steps) not in known:
        known[id(steps)] = sum(
            times * (1 if isinstance(one, int) else _length(one, known)) for one, times in steps
        )
    return known[id(steps)]


def _flat(steps: tuple[Step, ...]) -> Iterator[tuple[int, int]]:
    for one, times in steps:
        if isinstance(one, int):
            yield one, times
        else:
            for _ in range(times):
                yield from _flat(one)


def _renamed(
    steps: tuple[Step, ...], rules: Sequence[int], known: dict[int, tuple[Step, ...]]
) -> tuple[Step, ...]:
    if id(steps) not in known:
        known[id(steps)] = tuple(
            (rules[one] if isinstance(one, int) else _renamed(one, rules, known), times)
            for one, times in steps
        )
    return known[id(steps)]
