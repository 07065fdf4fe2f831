"""Kernels of the backward search: demands, what has to be there before a rule, smallest ones."""

from typing import Any

import numpy as np

from ropewalk.kernels import kernel
from ropewalk.verify.population.engine.arrays import Arrays
from ropewalk.verify.population.engine.forward_tree import below


@kernel
def before_rules(net: Arrays, free: Any, demand: Any, out: Any, by: Any) -> int:
    """Demands before each rule (without moves) that helps with a demand; how many there are.

    `free` places always have enough: nothing is demanded there.
    """
    needs, changes = net.needs, net.changes
    count = 0
    for rule in range(needs.ends.shape[0] - 1):
        helps = False
        for k in range(changes.ends[rule], changes.ends[rule + 1]):
            if changes.by[k] > 0 and demand[changes.at[k]] > 0:
                helps = True
                break
        if not helps:
            continue
        row = out[count]
        row[:] = demand
        for k in range(changes.ends[rule], changes.ends[rule + 1]):
            p = changes.at[k]
            row[p] = max(row[p] - changes.by[k], 0)
        for k in range(needs.ends[rule], needs.ends[rule + 1]):
            p = needs.at[k]
            if not free[p]:
                row[p] = max(row[p], needs.by[k])
        for k in range(changes.ends[rule], changes.ends[rule + 1]):
            if free[changes.at[k]]:
                row[changes.at[k]] = 0
        if below(demand, row):
            continue
        by[count] = rule
        count += 1
    return count


@kernel
def known(rows: Any, alive: Any, count: int, demand: Any) -> bool:
    """Whether a demand is at least one of those that are alive."""
    for i in range(count - 1, -1, -1):
        if below(rows[alive[i]], demand):
            return True
    return False


@kernel
def smaller_die(rows: Any, alive: Any, count: int, dead: Any, demand: Any) -> int:
    """Take out those that are at least a demand; how many are left."""
    kept = 0
    for i in range(count):
        if below(demand, rows[alive[i]]):
            dead[alive[i]] = True
        else:
            alive[kept] = alive[i]
            kept += 1
    return kept


@kernel
def unknown(rows: Any, alive: Any, count: int, some: Any) -> Any:
    """Which of some demands are at least none of those that are alive."""
    found = np.ones(some.shape[0], np.bool_)
    for i in range(some.shape[0]):
        if known(rows, alive, count, some[i]):
            found[i] = False
    return found
