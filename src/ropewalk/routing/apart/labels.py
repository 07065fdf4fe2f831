"""The search behind least exposed paths: labels with the very set of regions that a path meets.

The exact problem (the smallest union of regions along a path) is a minimum-colour path, NP-hard in
general. A label here holds a path's union as bits, so a region counts once however often the path
comes back to it; what is heuristic is only that a node forgets a path for one that is both quicker
and less exposed, and keeps few. On small maps it finds what trying all paths finds.
"""

from typing import Any, NamedTuple

import numpy as np

from ropewalk.federation.arrays import Floats, Ints
from ropewalk.kernels import kernel
from ropewalk.routing.apart.regions import Words
from ropewalk.routing.apart.search import key_of
from ropewalk.routing.trees import MOST_BROKERS, pop, push

LABELS = 2_000
FEWEST, MOST_KEPT = 2, 8
"""A node keeps 2 to 8 labels: as many as make 2,000 in all."""
ENDS = 64
"""Labels that the end keeps: the points of a curve."""
MOST_LABELS = 30_000
"""Labels of one search; if they do not suffice, it is done again with one label per node."""
SAME = 1e-12
_NUMBER = np.int64(MOST_BROKERS - 1)

LABEL = np.dtype(
    [
        ("exposure", "f8"),
        ("delay", "f8"),
        ("node", "i4"),
        ("before", "i4"),
        ("next", "i4"),
        ("hops", "i4"),
        ("dead", "?"),
    ],
    align=True,
)
"""A path from the start to `node`: the label it came from, and the next label of the same node."""


class Task(NamedTuple):
    """What is searched."""

    rows: Words
    """Per link, the words in which a region asked after has a bit."""
    weight: Floats
    kind: Ints
    """Of each of these words: what a bit weighs, and its kind."""
    caps: Floats
    """How much of each kind a path may meet."""
    delay: Floats
    """Per arc."""
    rest: Floats
    """The least delay from each node to the end."""
    start: int
    end: int
    delay_limit: float
    hop_limit: float
    below: float
    """Only paths of less exposure than this are wanted."""
    tie: float
    """What a millisecond weighs between paths that are equally exposed."""
    curve: bool
    """Whether quicker paths that are more exposed are wanted as well."""


def kept_by(nodes: int) -> int:
    """How many labels each of so many nodes keeps."""
    return min(MOST_KEPT, max(FEWEST, LABELS // nodes))


@kernel
def compact(link: Any, useful: Any, asked: Any, words: Any, own: Any) -> Any:
    """Of useful links, the words in which a region asked after has a bit, then words of its own."""
    rows = np.empty((len(link), len(words) + own.shape[1]), np.uint64)
    for e in np.flatnonzero(useful):
        for i in range(len(words)):
            rows[e, i] = link[e, words[i]] & asked[words[i]]
        for i in range(own.shape[1]):
            rows[e, len(words) + i] = own[e, i]
    return rows


@kernel
def label_paths(net: Any, task: Any, kept: int, most: int) -> Any:
    """All labels, and the first of those at the end (-1 if it was not reached)."""
    labels = np.empty(most, LABEL)
    union = np.empty((most, len(task.weight)), np.uint64)
    met = np.empty((most, len(task.caps)))
    union[0, :] = 0
    met[0, :] = 0.0
    head = np.full(len(net.nodes) - 1, -1, np.int64)
    heap = np.empty(most + 2, np.int64)
    _begin(labels, head, task.start)
    new, length = 1, push(heap, 0, key_of(0.0, 0))
    while length and new < most:
        at = pop(heap, length) & _NUMBER
        length -= 1
        u = labels[at].node
        if u == task.end and not task.curve:
            break
        if labels[at].dead or u == task.end or labels[at].hops >= task.hop_limit:
            continue
        if at and not net.nodes[u].transit:
            continue
        for arc in range(net.nodes[u].first, net.nodes[u + 1].first):
            v = net.arcs[arc].to
            if labels[at].delay + task.delay[arc] + task.rest[v] > task.delay_limit:
                continue
            _extend(labels, at, new, v, task.delay[arc])
            if _beaten(task, labels, head, new):
                continue  # whatever the link adds: most arcs end here, and that is cheap
            labels[new].exposure += _added(task, net.arcs[arc].link, at, new, union, met)
            if labels[new].exposure >= task.below or _beaten(task, labels, head, new):
                continue
            if not _make_room(task, labels, head, new, ENDS if v == task.end else kept):
                continue
            labels[new].next = head[v]
            head[v] = new
            for i in range(len(task.weight)):
                union[new, i] = union[at, i] | task.rows[net.arcs[arc].link, i]
            key = key_of(labels[new].exposure + task.tie * labels[new].delay, new)
            length = push(heap, length, key)
            new += 1
            if new == most:
                break
    return labels[:new], head[task.end]


@kernel
def _begin(labels: Any, head: Any, start: int) -> None:
    labels[0].node = start
    labels[0].before = -1
    labels[0].next = -1
    labels[0].exposure = 0.0
    labels[0].delay = 0.0
    labels[0].hops = 0
    labels[0].dead = False
    head[start] = 0


@kernel
def _extend(labels: Any, at: int, new: int, node: int, delay: float) -> None:
    """Write down a label one link farther; it counts only when it is put in a list."""
    labels[new].node = node
    labels[new].before = at
    labels[new].exposure = labels[at].exposure
    labels[new].delay = labels[at].delay + delay
    labels[new].hops = labels[at].hops + 1
    labels[new].dead = False


@kernel
def _added(task: Any, e: int, at: int, new: int, union: Any, met: Any) -> float:
    """What a link adds to a label's exposure; infinite beyond a cap. `met[new]` gets the sums."""
    added = 0.0
    for k in range(len(task.caps)):
        met[new, k] = met[at, k]
    for i in range(len(task.weight)):
        fresh = task.rows[e, i] & ~union[at, i]
        if fresh:
            more = task.weight[i] * ones(fresh)
            added += more
            met[new, task.kind[i]] += more
    for k in range(len(task.caps)):
        if met[new, k] > task.caps[k]:
            return np.inf
    return added


@kernel
def _as_good(one: Any, other: Any, hop_limit: float) -> bool:
    """Whether a label is as good as another of the same node in all that counts."""
    return bool(
        one.exposure <= other.exposure + SAME
        and one.delay <= other.delay + SAME
        and (hop_limit == np.inf or one.hops <= other.hops)
    )


@kernel
def _beaten(task: Any, labels: Any, head: Any, new: int) -> bool:
    """Whether a label of its node, or a whole path to the end, is as good as the new one."""
    v = labels[new].node
    at = head[v]
    while at >= 0:
        if _as_good(labels[at], labels[new], task.hop_limit):
            return True
        at = labels[at].next
    at = head[task.end]
    while at >= 0:
        quicker = labels[at].delay <= labels[new].delay + task.rest[v] + SAME
        if labels[at].exposure <= labels[new].exposure + SAME and (quicker or not task.curve):
            return True
        at = labels[at].next
    return False


@kernel
def _make_room(task: Any, labels: Any, head: Any, new: int, kept: int) -> bool:
    """Drop labels that the new one beats, or the most exposed of too many; False: it is the one."""
    v = labels[new].node
    at, before, size, worst = head[v], -1, 0, -1
    while at >= 0:
        after = labels[at].next
        if _as_good(labels[new], labels[at], task.hop_limit):
            _unlink(labels, head, v, before, at)
        else:
            if worst < 0 or labels[at].exposure > labels[worst].exposure:
                worst = at
            before = at
            size += 1
        at = after
    if size < kept:
        return True
    if labels[worst].exposure <= labels[new].exposure:
        return False
    at, before = head[v], -1
    while at != worst:
        at, before = labels[at].next, at
    _unlink(labels, head, v, before, worst)
    return True


@kernel
def _unlink(labels: Any, head: Any, v: int, before: int, gone: int) -> None:
    """Take a label out of its node's list, in which it comes after `before` (-1: first)."""
    labels[gone].dead = True
    if before < 0:
        head[v] = labels[gone].next
    else:
        labels[before].next = labels[gone].next


@kernel
def ones(word: Any) -> Any:
    """How many bits of a word are set."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))
