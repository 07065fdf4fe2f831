"""The kernel of the forward search: nodes that wait are looked at, one after the other.

Nothing rests on what is pruned on the way: the limits that are left are checked as an invariant.
"""

import numpy as np

from ropewalk.kernels import kernel
from ropewalk.verify.population.engine.arrays import Arrays
from ropewalk.verify.population.engine.forward_loops import known_loops, new_loops
from ropewalk.verify.population.engine.forward_tree import (
    DEAD,
    DONE,
    FOUND,
    HEAD,
    STACK,
    WAITING,
    Tree,
    add_node,
    covered,
    fire,
    full,
    on_target,
)

EMPTY, TARGET, FULL, TURN_OVER = range(4)
"""How a turn ends: nothing waits, a target is covered, arrays are full, the turn is over."""


@kernel
def grow(net: Arrays, tree: Tree, turn: int, broad: bool) -> int:
    """Look at what follows waiting nodes, for some markings; how the turn has ended.

    The youngest node first, which finds loops soon; or the oldest, for short ways.
    """
    counts, rules, size = tree.counts, net.needs.ends.shape[0] - 1, tree.marks.shape[1]
    mark = np.empty(size, np.int32)
    hurdle, gain = np.empty(size, np.int32), np.empty(size, np.int32)
    used = np.empty(size + 2, np.int64)  # a loop is used only if it raises a place
    moving = net.moves.at.shape[0] > 0
    while counts[HEAD] < counts[STACK]:
        if full(tree, rules):
            return FULL
        if turn <= 0:
            return TURN_OVER
        if broad:
            node = tree.stack[counts[HEAD]]
            counts[HEAD] += 1
        else:
            counts[STACK] -= 1
            node = tree.stack[counts[STACK]]
        if tree.status[node] != WAITING:
            continue
        turn -= 1
        tree.status[node] = DONE
        for rule in range(rules):
            if not fire(net, rule, tree.marks[node], mark):
                continue
            turn -= 1
            used[0], count = rule, 1
            if not moving:
                count += known_loops(tree, mark, used[1:])
            count, top = new_loops(net, tree, node, mark, used, count, hurdle, gain)
            if covered(tree, mark):
                continue
            chain = node if top == -1 else tree.chain[top]
            new = add_node(tree, node, chain, mark, used, count)
            if on_target(net, mark):
                counts[FOUND] = new
                return TARGET
            if tree.status[node] == DEAD:
                break
            if full(tree, rules):  # the rest of the rules again, with more room
                tree.status[node] = WAITING
                if broad:
                    counts[HEAD] -= 1
                else:
                    tree.stack[counts[STACK]] = node
                    counts[STACK] += 1
                return FULL
    return EMPTY
