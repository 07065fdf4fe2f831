"""Kernels of the forward search: nodes are markings with OMEGA where any number can be reached.

A node that is above one of its ancestors shows a loop that can go on for ever: what it gains
becomes OMEGA at once, and the loop is remembered and tried on every later marking (Finkel, Haddad
and Khmelnitsky 2020). Only markings that no other is above stay alive. Nothing rests on that
pruning: `unclosed` looks at the end whether all that follows is below what is alive.

With moves a loop is not tried elsewhere; what it gains goes round with the moves, so that OMEGA is
where gains come by again and again.
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
EMPTY, TARGET, FULL, TURN_OVER = range(4)
"""How a turn ends: nothing waits, a target is covered, arrays are full, the turn is over."""
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


@kernel
def follow(net: Arrays, before: Any, out: Any, by: Any) -> int:
    """All markings that follow one, and by which rules; how many there are."""
    count = 0
    for rule in range(net.needs.ends.shape[0] - 1):
        if fire(net, rule, before, out[count]):
            by[count] = rule
            count += 1
    return count
