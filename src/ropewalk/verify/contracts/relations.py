"""Relations as arrays: a row for each of their members, and what rules do with them."""

import numpy as np
import numpy.typing as npt

from ropewalk.federation.arrays import Bools, Ints
from ropewalk.routing.trees import Longs

Rows = npt.NDArray[np.int32]
"""A relation: a row for each of its members."""


def rows(members: object, width: int) -> Rows:
    """A relation of so many columns.

    >>> rows([(1, 2), (3, 4)], 2).shape, rows([], 3).shape
    ((2, 2), (0, 3))
    """
    return np.array(members, np.int32).reshape(-1, width)


def distinct(keys: Longs) -> Longs:
    """Each number once, in order. (For millions of them faster than numpy's own, which hashes.)

    >>> distinct(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    ordered = np.sort(keys)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


def is_in(keys: Ints | Longs, others: Ints | Longs) -> Bools:
    """Which of the numbers are among the others.

    >>> is_in(np.array([3, 1]), np.array([1, 2])).tolist()
    [False, True]
    """
    if not len(others):
        return np.zeros(len(keys), np.bool_)
    ordered = np.sort(others)
    place = np.minimum(np.searchsorted(ordered, keys), len(ordered) - 1)
    return np.asarray(ordered[place] == keys)


def unique_pairs(pairs: Rows) -> Rows:
    """The rows of a relation of two columns, each once, in order; no number is below zero.

    >>> unique_pairs(rows([(3, 1), (0, 2), (3, 1)], 2)).tolist()
    [[0, 2], [3, 1]]
    """
    keys = distinct((pairs[:, 0].astype(np.int64) << 32) | pairs[:, 1])
    return np.stack((keys >> 32, keys & 0xFFFFFFFF), axis=1).astype(np.int32)


def unique_entries(entries: Rows) -> Rows:
    """The rows of a relation of three columns, each once, in order.

    >>> unique_entries(rows([(3, 1, -1), (0, 2, 5), (3, 1, -1)], 3)).tolist()
    [[0, 2, 5], [3, 1, -1]]
    """
    if not len(entries):
        return entries
    low = entries.min(axis=0).astype(np.int64)
    span = entries.max(axis=0).astype(np.int64) - low + 1
    key = ((entries[:, 0] - low[0]) * span[1] + entries[:, 1] - low[1]) * span[2]
    rest, source = np.divmod(distinct(key + entries[:, 2] - low[2]), span[2])
    at, topic = np.divmod(rest, span[1])
    return np.stack((at + low[0], topic + low[1], source + low[2]), axis=1).astype(np.int32)


def joined(issued: Rows, attached: Rows) -> Rows:
    """(component, topic, dispatcher) for each topic and each dispatcher of a component.

    >>> joined(rows([(0, 7), (1, 8)], 2), rows([(1, 3), (1, 4)], 2)).tolist()
    [[1, 8, 3], [1, 8, 4]]
    """
    order = np.argsort(attached[:, 0], kind="stable")
    component = attached[order, 0]
    first = np.searchsorted(component, issued[:, 0], "left")
    many = np.searchsorted(component, issued[:, 0], "right") - first
    place = np.repeat(first - np.cumsum(many) + many, many) + np.arange(many.sum())
    left = np.repeat(issued, many, axis=0)
    return np.column_stack((left, attached[order[place], 1])).astype(np.int32).reshape(-1, 3)
