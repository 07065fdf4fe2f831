"""The row that holds in a scenario: the computed or the given one, with entries laid over it."""

from typing import Any, NamedTuple

import numpy as np

from ropewalk.federation.arrays import Ints
from ropewalk.kernels import kernel
from ropewalk.routing.table import Laid
from ropewalk.routing.trees import NOWHERE, Records

ENTRY = np.dtype([("at", "i4"), ("next", "i4"), ("link", "i4"), ("when", "i4"), ("route", "i4")])


class Rows(NamedTuple):
    """What is laid over the computed row, a group of entries for each set of sources.

    Group 0 has none. `given` is the user's own row, which then replaces the computed one; `laid`
    what stored tables lay over it in each scenario.
    """

    given: Ints
    laid: Laid
    first: Ints
    entries: Records


@kernel
def _is_up(entry: Any, tree: Any) -> bool:
    """Whether something can go where an entry sends it."""
    return entry.next >= 0 and not (tree.cut[entry.link] or tree.state[entry.next].dead)


@kernel
def _holds(entry: Any, k: int, meant: Any, tree: Any) -> bool:
    return (entry.when < 0 or meant[entry.when, k]) and _is_up(entry, tree)


@kernel
def changed(rows: Any, group: int, k: int, meant: Any, tree: Any) -> bool:
    """Whether an entry holds now that did not hold with nothing failed, or the other way round."""
    for i in range(rows.first[group], rows.first[group + 1]):
        entry = rows.entries[i]
        before = entry.when < 0 or meant[entry.when, 0]
        if before != _holds(entry, k, meant, tree):
            return True
    return False


@kernel
def compose(net: Any, rows: Any, group: int, k: int, meant: Any, tree: Any) -> None:
    """The row that holds in scenario k, whose failures the tree already knows.

    A given row has nothing to fall back on. Of the entries the first of the file comes last.
    """
    state = tree.state
    for u in range(len(state)):
        state[u].row = state[u].hop
        if len(rows.given):
            state[u].row = rows.given[u]
            if _is_down(net, tree, u, rows.given[u]):
                state[u].row = NOWHERE
    if len(rows.laid.first):
        for i in range(rows.laid.first[k], rows.laid.first[k + 1]):
            u, v = rows.laid.entries[i].at, rows.laid.entries[i].next
            state[u].row = NOWHERE if _is_down(net, tree, u, v) else v
    for i in range(rows.first[group], rows.first[group + 1]):
        entry = rows.entries[i]
        if _holds(entry, k, meant, tree):
            state[entry.at].row = entry.next
        elif entry.route < 0 and meant[entry.when, k]:
            state[entry.at].row = NOWHERE  # a given table has nothing else for this failure


@kernel
def _is_down(net: Any, tree: Any, u: int, v: int) -> bool:
    """Whether nothing can go from u to its neighbour v now."""
    if v < 0 or tree.state[v].dead:
        return True
    for arc in range(net.nodes[u].first, net.nodes[u + 1].first):
        if net.arcs[arc].to == v and tree.cut[net.arcs[arc].link]:
            return True
    return False
