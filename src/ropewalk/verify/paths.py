"""Actual paths: the row that holds in one scenario, and where it leads."""

from typing import Any, NamedTuple

import numpy as np

from ropewalk.federation.arrays import Ints
from ropewalk.kernels import kernel
from ropewalk.routing.delta import fail, plant, restore
from ropewalk.verify.check import Check
from ropewalk.verify.rows import compose


class Path(NamedTuple):
    """Brokers in order; the last is where the message stays, or the broker it comes back to."""

    brokers: tuple[int, ...]
    arrives: bool

    @property
    def loop(self) -> tuple[int, ...]:
        """The brokers of the cycle at its end, each once; empty if there is none."""
        last = self.brokers[-1]
        return self.brokers[self.brokers.index(last) : -1]


@kernel
def _compose_in(
    net: Any, to: int, rows: Any, group: int, k: int, failures: Any, tree: Any, row: Any
) -> None:
    plant(net, to, tree)
    links = failures.link[failures.first_link[k] : failures.first_link[k + 1]]
    brokers = failures.broker[failures.first_broker[k] : failures.first_broker[k + 1]]
    size, _ = fail(net, to, tree, failures.ends, links, brokers)
    compose(net, rows, group, k, failures.meant, tree)
    for u in range(len(tree.state)):
        row[0, u] = tree.state[u].row
        row[1, u] = tree.state[u].hop
    restore(tree, size, links, brokers)


def row_of(check: Check, to: int, k: int, group: int) -> tuple[Ints, Ints]:
    """The row to a destination that messages of a group meet, and the computed one below it."""
    groups = check.groups(to)
    row = np.empty((2, check.graph.brokers), np.int32)
    tree = check.room(len(groups) + 1).tree
    _compose_in(check.net, to, check.rows(to, groups), group, k, check.failures, tree, row)
    return row[0], row[1]


def rows_in(check: Check, to: int, k: int, source: int) -> tuple[Ints, Ints]:
    """The row to a destination that messages from a source meet, and the computed one below it."""
    return row_of(check, to, k, check.group_of(to, source))


def follow(check: Check, row: Ints, source: int, to: int) -> Path:
    """Where a row leads from a source: to the destination, to a broker that drops it, or round."""
    transit = check.graph.transit
    path = [source]
    while path[-1] != to:
        hop = int(row[path[-1]])
        if hop < 0:
            return Path(tuple(path), arrives=False)
        back = hop in path
        path.append(hop)
        if back or (hop != to and not transit[hop]):
            return Path(tuple(path), arrives=False)
    return Path(tuple(path), arrives=True)


def path_in(check: Check, source: int, to: int, k: int = 0) -> Path:
    """The path of messages between two brokers in a scenario."""
    return follow(check, rows_in(check, to, k, source)[0], source, to)
