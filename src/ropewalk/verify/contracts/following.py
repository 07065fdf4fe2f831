"""Whether entries of a table lead from one dispatcher to another: kernels over compressed rows."""

from typing import Any

import numpy as np

from ropewalk.federation.arrays import Bools, Ints
from ropewalk.kernels import kernel
from ropewalk.routing.trees import Longs
from ropewalk.verify.contracts.relations import Rows


def leads(table: Rows, asked: Rows, dispatchers: int) -> Bools:
    """Of each (topic, from, to): whether entries of the topic lead there, one after the other.

    An entry (at, topic, source) leads from `at` to `source`, if that is a dispatcher.

    >>> table = np.array([(0, 9, 1), (1, 9, 2), (1, 8, 0)], np.int32)
    >>> leads(table, np.array([(9, 0, 2), (9, 2, 0), (8, 0, 0)], np.int32), 3).tolist()
    [True, False, True]
    """
    if not len(asked):
        return np.zeros(0, np.bool_)
    wanted = np.zeros(max(int(table[:, 1].max(initial=0)), int(asked[:, 0].max())) + 1, np.bool_)
    wanted[asked[:, 0]] = True
    over = table[(table[:, 2] >= 0) & wanted[table[:, 1]]]
    order = np.lexsort((over[:, 0], over[:, 2], over[:, 1]))
    into = over[order, 1].astype(np.int64) * dispatchers + over[order, 2]
    questions = np.lexsort((asked[:, 1], asked[:, 2], asked[:, 0]))
    some = asked[questions]
    found = np.zeros(len(asked), np.bool_)
    _search(into, np.ascontiguousarray(over[order, 0]), some, dispatchers, found)
    answers = np.zeros(len(asked), np.bool_)
    answers[questions] = found
    return answers


@kernel
def _search(into: Longs, at: Ints, asked: Any, dispatchers: int, found: Any) -> None:
    """Backwards from each destination, once for all that ask after it; they stand together."""
    met = np.full(dispatchers, -1, np.int64)
    queue = np.empty(dispatchers, np.int32)
    group = 0
    for i in range(len(asked)):
        topic, to = asked[i, 0], asked[i, 2]
        if i == 0 or topic != asked[i - 1, 0] or to != asked[i - 1, 2]:
            group += 1
            queue[0] = to
            met[to] = group
            length, done = 1, 0
            while done < length:
                key = np.int64(topic) * dispatchers + queue[done]
                done += 1
                entry = np.searchsorted(into, key)
                while entry < len(into) and into[entry] == key:
                    if met[at[entry]] != group:
                        met[at[entry]] = group
                        queue[length] = at[entry]
                        length += 1
                    entry += 1
        found[i] = met[asked[i, 1]] == group
