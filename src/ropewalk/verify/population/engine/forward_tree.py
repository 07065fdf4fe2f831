"""The tree of a forward search: markings with OMEGA where any number can be reached, in arrays.

Nodes that no other is above are alive; the others are dead, and stay as ancestors.
"""

from typing import Any, NamedTuple

import numpy as np

from ropewalk.kernels import kernel
from ropewalk.verify.population.engine.arrays import Arrays

OMEGA = 1 << 28
LOST = -1

WAITING, DONE, DEAD = 0, 1, 2
NODES, ALIVE, LOOPS, STACK, STEPS, NEEDS, GAINS, FOUND, HEAD = range(9)
"""Places in `counts`: how much of each array is in use; the node that covers a target."""
LONGEST = 50_000
"""Steps from an ancestor that are looked at; longer loops are not remembered."""


class Tree(NamedTuple):
    """Nodes, the loops found, and lists of steps: a rule's number, or -1 - a loop's."""

    marks: np.ndarray
    parent: np.ndarray
    chain: np.ndarray
    """The next ancestor that a loop may start from: not what the node itself is above."""
    status: np.ndarray
    first: np.ndarray
    """Steps of a node from its parent, and of a loop: `steps[first:last]`."""
    last: np.ndarray
    alive: np.ndarray
    signs: np.ndarray
    """Beside `alive`: 64 bits of each marking; one that is below another has no bit more."""
    stack: np.ndarray
    steps: np.ndarray
    loop_first: np.ndarray
    loop_last: np.ndarray
    need_end: np.ndarray
    need_at: np.ndarray
    need_by: np.ndarray
    gain_end: np.ndarray
    gain_at: np.ndarray
    loop_map: np.ndarray
    """With moves only: where a loop takes each place's tokens, if it happens often enough."""
    slots: np.ndarray
    """Every node by its marking, in a hash table (a node's number and 1 more; its size is 2**n)."""
    counts: np.ndarray


@kernel
def below(a: Any, b: Any) -> bool:
    """Whether a marking is nowhere above another."""
    for i in range(a.shape[0]):
        if a[i] > b[i]:
            return False
    return True


@kernel
def fire(net: Arrays, rule: int, before: Any, after: Any) -> bool:
    """Write what follows into `after`; False where the rule cannot happen."""
    needs, changes, moves = net.needs, net.changes, net.moves
    for k in range(needs.ends[rule], needs.ends[rule + 1]):
        if before[needs.at[k]] < needs.by[k]:
            return False
    for p in range(before.shape[0]):
        after[p] = before[p]
    first, last = moves.ends[rule], moves.ends[rule + 1]
    for k in range(first, last):
        after[moves.at[k]] = 0
    for k in range(first, last):
        to = moves.by[k]
        if to != LOST:
            after[to] = min(OMEGA, after[to] + before[moves.at[k]])
    for k in range(changes.ends[rule], changes.ends[rule + 1]):
        p = changes.at[k]
        if after[p] < OMEGA:
            after[p] += changes.by[k]
            if after[p] < 0:
                return False
    return True


@kernel
def follow(net: Arrays, before: Any, out: Any, by: Any) -> int:
    """All markings that follow one, and by which rules; how many there are."""
    count = 0
    for rule in range(net.needs.ends.shape[0] - 1):
        if fire(net, rule, before, out[count]):
            by[count] = rule
            count += 1
    return count


@kernel
def signs_of(mark: Any) -> Any:
    """Which places are marked, in 64 bits; of a small net also, which have two or more."""
    bits, size = np.uint64(0), mark.shape[0]
    for p in range(size):
        if mark[p] > 0:
            bits |= np.uint64(1) << np.uint64(p & 63)
            if size <= 32 and mark[p] > 1:
                bits |= np.uint64(1) << np.uint64(p + 32)
    return bits


@kernel
def slot_of(tree: Tree, mark: Any) -> Any:
    """The slot that holds a node with this marking, or that would."""
    value = np.uint64(14695981039346656037)
    for i in range(mark.shape[0]):
        value = (value ^ np.uint64(mark[i])) * np.uint64(1099511628211)
    mask = tree.slots.shape[0] - 1
    at = np.int64(value >> np.uint64(20)) & mask
    while tree.slots[at] != 0:
        other = tree.marks[tree.slots[at] - 1]
        same = True
        for i in range(mark.shape[0]):
            if other[i] != mark[i]:
                same = False
                break
        if same:
            break
        at = (at + 1) & mask
    return at


@kernel
def seat_all(tree: Tree) -> None:
    """Fill the hash table anew."""
    for node in range(tree.counts[NODES]):
        tree.slots[slot_of(tree, tree.marks[node])] = node + 1


@kernel
def covered(tree: Tree, mark: Any) -> bool:
    """Whether a marking is below one that is alive; the youngest are most alike.

    One that there is already is: if its node is dead, something alive is above it.
    """
    if tree.slots[slot_of(tree, mark)] != 0:
        return True
    signs = signs_of(mark)
    for i in range(tree.counts[ALIVE] - 1, -1, -1):
        if signs & ~tree.signs[i] == 0 and below(mark, tree.marks[tree.alive[i]]):
            return True
    return False


@kernel
def on_target(net: Arrays, mark: Any) -> bool:
    """Whether a marking covers a target."""
    targets = net.targets
    for g in range(targets.ends.shape[0] - 1):
        met = True
        for k in range(targets.ends[g], targets.ends[g + 1]):
            if mark[targets.at[k]] < targets.by[k]:
                met = False
                break
        if met:
            return True
    return False


@kernel
def full(tree: Tree, rules: int) -> Any:
    """Whether the arrays may be too small for all that follows one node."""
    counts, size = tree.counts, tree.marks.shape[1]
    return (
        counts[NODES] + rules >= tree.status.shape[0]
        or counts[STACK] + rules >= tree.stack.shape[0]
        or counts[LOOPS] + 1 >= tree.loop_first.shape[0]
        or counts[STEPS] + 2 * LONGEST + size >= tree.steps.shape[0]
        or counts[NEEDS] + size >= tree.need_at.shape[0]
        or counts[GAINS] + size >= tree.gain_at.shape[0]
    )


@kernel
def add_node(tree: Tree, parent: int, chain: int, mark: Any, used: Any, count: int) -> Any:
    """A new node, waiting; those that are below it die."""
    counts = tree.counts
    kept, signs = 0, signs_of(mark)
    for i in range(counts[ALIVE]):
        other = tree.alive[i]
        if tree.signs[i] & ~signs == 0 and below(tree.marks[other], mark):
            tree.status[other] = DEAD
        else:
            tree.alive[kept], tree.signs[kept] = other, tree.signs[i]
            kept += 1
    node, put = counts[NODES], counts[STEPS]
    tree.slots[slot_of(tree, mark)] = node + 1
    tree.marks[node] = mark
    tree.parent[node], tree.chain[node], tree.status[node] = parent, chain, WAITING
    for i in range(count):
        tree.steps[put + i] = used[i]
    tree.first[node], tree.last[node] = put, put + count
    tree.alive[kept], tree.signs[kept] = node, signs
    tree.stack[counts[STACK]] = node
    counts[ALIVE] = kept + 1
    counts[NODES] += 1
    counts[STEPS] += count
    counts[STACK] += 1
    return node
