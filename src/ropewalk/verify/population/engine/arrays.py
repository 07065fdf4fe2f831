"""A net as arrays, for kernels: each rule's needs, changes and moves in one row after the other."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ropewalk.verify.population.engine.verdict import OMEGA
from ropewalk.verify.population.net import Net


class Rows(NamedTuple):
    """Rows of pairs: row i is `at[ends[i]:ends[i + 1]]`, with `by` beside it."""

    ends: np.ndarray
    at: np.ndarray
    by: np.ndarray


class Arrays(NamedTuple):
    """A net's rules and targets."""

    needs: Rows
    changes: Rows
    moves: Rows
    targets: Rows


def rows(given: Sequence[Sequence[tuple[int, int]]]) -> Rows:
    """Rows of pairs as arrays."""
    ends = np.zeros(len(given) + 1, np.int64)
    np.cumsum([len(row) for row in given], out=ends[1:])
    flat = np.array([pair for row in given for pair in row], np.int64).reshape(-1, 2)
    return Rows(ends, flat[:, 0].astype(np.int32), flat[:, 1].astype(np.int32))


def arrays_of(net: Net) -> Arrays:
    """A net's rules and targets as arrays."""
    return Arrays(
        rows([rule.needs for rule in net.rules]),
        rows([rule.changes for rule in net.rules]),
        rows([rule.moves for rule in net.rules]),
        rows(net.targets),
    )


def start_of(net: Net) -> np.ndarray:
    """What a net starts with; OMEGA where there may be any number more."""
    found = np.array(net.start, np.int32).reshape(len(net.places))
    found[sorted(net.open)] = OMEGA
    return found
