"""Loops of a forward search: what can go on for ever is taken as done, at once.

A node that is above one of its ancestors shows a loop. What it gains becomes OMEGA, and the loop is
remembered and tried on every later marking (Finkel, Haddad and Khmelnitsky 2020). With moves a loop
is not tried elsewhere; what it gains goes round with the moves, so that OMEGA is where gains come
by again and again.
"""

from typing import Any

import numpy as np

from ropewalk.kernels import kernel
from ropewalk.verify.population.engine.arrays import Arrays
from ropewalk.verify.population.engine.forward_tree import (
    GAINS,
    LONGEST,
    LOOPS,
    LOST,
    NEEDS,
    OMEGA,
    STEPS,
    Tree,
    below,
    full,
)


@kernel
def known_loops(tree: Tree, mark: Any, used: Any) -> int:
    """Raise a marking by all loops that it allows, and write them down; how many there were."""
    count = 0
    changed = True
    while changed:
        changed = False
        for loop in range(tree.counts[LOOPS]):
            allowed = True
            for k in range(tree.need_end[loop], tree.need_end[loop + 1]):
                if mark[tree.need_at[k]] < tree.need_by[k]:
                    allowed = False
                    break
            if not allowed:
                continue
            raised = False
            for k in range(tree.gain_end[loop], tree.gain_end[loop + 1]):
                if mark[tree.gain_at[k]] < OMEGA:
                    mark[tree.gain_at[k]] = OMEGA
                    raised = True
            if raised:
                used[count] = -1 - loop
                count += 1
                changed = True
    return count


@kernel
def write_loop(tree: Tree, ancestor: int, node: int, used: Any, count: int) -> Any:
    """Write the steps from an ancestor behind all steps; where they end, or -1 if they are many."""
    length, at = count, node
    while at != ancestor:
        length += tree.last[at] - tree.first[at]
        at = tree.parent[at]
    if length > LONGEST:
        return -1
    end = tree.counts[STEPS] + length
    put = end - count
    for i in range(count):
        tree.steps[put + i] = used[i]
    at = node
    while at != ancestor:
        size = tree.last[at] - tree.first[at]
        put -= size
        for i in range(size):
            tree.steps[put + i] = tree.steps[tree.first[at] + i]
        at = tree.parent[at]
    return end


@kernel
def measure_loop(net: Arrays, tree: Tree, end: int, hurdle: Any, gain: Any) -> None:
    """What a loop without moves needs, and what it brings, by places; OMEGA for any number."""
    hurdle[:] = 0
    gain[:] = 0
    for z in range(tree.counts[STEPS], end):
        step = tree.steps[z]
        if step >= 0:
            for k in range(net.needs.ends[step], net.needs.ends[step + 1]):
                p = net.needs.at[k]
                if gain[p] < OMEGA:
                    hurdle[p] = max(hurdle[p], net.needs.by[k] - gain[p])
            for k in range(net.changes.ends[step], net.changes.ends[step + 1]):
                p = net.changes.at[k]
                if gain[p] < OMEGA:
                    gain[p] += net.changes.by[k]
        else:
            loop = -1 - step
            for k in range(tree.need_end[loop], tree.need_end[loop + 1]):
                p = tree.need_at[k]
                if gain[p] < OMEGA:
                    need = tree.need_by[k]
                    hurdle[p] = max(hurdle[p], need if need == OMEGA else need - gain[p])
            for k in range(tree.gain_end[loop], tree.gain_end[loop + 1]):
                gain[tree.gain_at[k]] = OMEGA


@kernel
def keep_loop(tree: Tree, end: int, hurdle: Any, gain: Any, mark: Any) -> Any:
    """Raise a marking by a loop and remember it; False if it raises nothing."""
    counts = tree.counts
    need, gained, raised = counts[NEEDS], counts[GAINS], False
    for p in range(mark.shape[0]):
        if gain[p] < 0:
            hurdle[p] = OMEGA
        if hurdle[p] > 0:
            tree.need_at[need], tree.need_by[need] = p, hurdle[p]
            need += 1
        if gain[p] > 0 and hurdle[p] < OMEGA:
            tree.gain_at[gained] = p
            gained += 1
            if mark[p] < OMEGA:
                mark[p] = OMEGA
                raised = True
    if raised:
        loop = counts[LOOPS]
        tree.loop_first[loop], tree.loop_last[loop] = counts[STEPS], end
        tree.need_end[loop + 1], tree.gain_end[loop + 1] = need, gained
        counts[NEEDS], counts[GAINS], counts[STEPS] = need, gained, end
        counts[LOOPS] = loop + 1
    return raised


@kernel
def keep_moving_loop(net: Arrays, tree: Tree, end: int, ancestor: int, mark: Any) -> Any:
    """The same with moves: what is gained goes where the moves of the loop take it."""
    size = mark.shape[0]
    counts, loop = tree.counts, tree.counts[LOOPS]
    to = np.arange(size)
    for z in range(counts[STEPS], end):
        step = tree.steps[z]
        for p in range(size):
            if to[p] == LOST:
                continue
            if step < 0:
                to[p] = tree.loop_map[-1 - step, to[p]]
                continue
            for k in range(net.moves.ends[step], net.moves.ends[step + 1]):
                if net.moves.at[k] == to[p]:
                    to[p] = net.moves.by[k]
                    break
    before = tree.marks[ancestor]
    gained, raised = np.zeros(size, np.bool_), False
    for p in range(size):
        at = p
        for _ in range(size):
            at = to[at] if at != LOST else LOST
        if at == LOST:
            tree.loop_map[loop, p] = LOST
            continue
        # `at` is on a cycle: its place there after a multiple of the cycle's length
        length, other = 1, to[at]
        while other != at:
            length, other = length + 1, to[other]
        for _ in range(-size % length):
            at = to[at]
        tree.loop_map[loop, p] = at
        if before[p] < mark[p]:
            for _ in range(length):
                gained[at] = True
                at = to[at]
    for p in range(size):
        if gained[p] and mark[p] < OMEGA:
            mark[p] = OMEGA
            raised = True
    if raised:
        tree.loop_first[loop], tree.loop_last[loop] = counts[STEPS], end
        tree.need_end[loop + 1], tree.gain_end[loop + 1] = counts[NEEDS], counts[GAINS]
        counts[STEPS], counts[LOOPS] = end, loop + 1
    return raised


@kernel
def new_loops(
    net: Arrays, tree: Tree, node: int, mark: Any, used: Any, count: int, hurdle: Any, gain: Any
) -> Any:
    """Raise a marking by loops from its ancestors on; how many steps, and the topmost ancestor."""
    moving = net.moves.at.shape[0] > 0
    ancestor, top = node, -1
    while ancestor != -1:
        before = tree.marks[ancestor]
        if below(before, mark):
            top = ancestor
            if not below(mark, before) and not full(tree, 0):  # without room: not this loop
                end = write_loop(tree, ancestor, node, used, count)
                if end >= 0:
                    if moving:
                        raised = keep_moving_loop(net, tree, end, ancestor, mark)
                    else:
                        measure_loop(net, tree, end, hurdle, gain)
                        raised = keep_loop(tree, end, hurdle, gain, mark)
                    if raised:
                        used[count] = -tree.counts[LOOPS]
                        count += 1
        ancestor = tree.chain[ancestor]
    return count, top
