"""Total order: consumers agree. By the broker's own rank, between every two, and all together.

What each consumer got at one node is a chain of messages. The chains agree with one order if and
only if their union has no cycle. Where ranks grow along all chains there is none, and no graph is
built. Inside a strongly connected set, and only there, two consumers may have opposite orders.
"""

from collections import defaultdict, deque
from collections.abc import Iterator
from itertools import combinations, pairwise

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from ropewalk.kernels import kernel
from ropewalk.pipeline.audit import found as to
from ropewalk.pipeline.audit.bucket import Bucket, Flags, Numbers, Topics
from ropewalk.pipeline.audit.coding import EMPTY, Longs
from ropewalk.pipeline.audit.contracts import TOTAL
from ropewalk.pipeline.audit.rows import DELIVER, NO_RANK, Rows

Chain = list[int]
Step = tuple[int, int]


@kernel
def judge_ranks(
    rows: Rows, topics: Topics, numbers: Numbers, first: Flags
) -> tuple[to.Found, Flags, Flags]:
    """Violations A007; topics in which ranks settle everything; topics that have any ranks."""
    found, count = to.no_lines(), 0
    settled = np.ones(len(topics.runs) - 1, np.bool_)
    ranked = np.zeros(len(topics.runs) - 1, np.bool_)
    for run in range(len(topics.runs) - 1):
        if topics.order[run] != TOTAL:
            continue
        start, stop = topics.runs[run], topics.runs[run + 1]
        best = np.full(numbers.consumers[run], EMPTY, np.int64)
        rank_of = np.full(numbers.messages[run], NO_RANK, np.int64)
        for i in range(start, stop):
            if i > start and rows.node[i] != rows.node[i - 1]:
                best[:] = EMPTY
            if rows.kind[i] != DELIVER or not first[i]:
                continue
            c, m, rank = numbers.consumer[i], numbers.message[i], rows.rank[i]
            if rank == NO_RANK or (rank_of[m] != NO_RANK and rank_of[m] != rank):
                settled[run] = False
            if rank == NO_RANK:
                continue
            ranked[run] = True
            rank_of[m] = rank
            if best[c] == EMPTY or rank > rows.rank[best[c]]:
                best[c] = i
                continue
            settled[run] = False
            if rank < rows.rank[best[c]]:
                found = to.with_room(found, count)
                to.name_message(
                    found, count, to.RANK, rows.topic[i], rows.producer[i], rows.pseq[i],
                    rows.client[i],
                )  # fmt: skip
                found[count, to.EVIDENCE], found[count, to.EVIDENCE + 1] = best[c], i
                count += 1
    return found[:count], settled, ranked


def judge_orders(bucket: Bucket, first: Flags, settled: Flags) -> list[to.Proved]:
    """Violations A008 and A009 of topics whose order is total and not settled by ranks."""
    proved: list[to.Proved] = []
    for run in np.flatnonzero((bucket.topics.order == TOTAL) & ~settled):
        start, stop = bucket.topics.runs[run : run + 2]
        consumers = bucket.numbers.consumers[run]
        into, out = _steps(start, stop, consumers, bucket.rows, bucket.numbers, first)
        message = bucket.numbers.message
        total = int(bucket.numbers.messages[run])
        edges = csr_matrix(
            (np.ones(len(into), np.int8), (message[into], message[out])), shape=(total, total)
        )
        _, label = connected_components(edges, connection="strong")
        in_cycle = np.bincount(label, minlength=1)[label] > 1
        there = np.flatnonzero(first[start:stop]) + start
        sets: dict[int, list[int]] = defaultdict(list)
        for i in there[in_cycle[message[there]]]:
            sets[int(label[message[i]])].append(int(i))
        inside: dict[int, list[Step]] = defaultdict(list)
        for k in np.flatnonzero(label[message[into]] == label[message[out]]):
            inside[int(label[message[into[k]]])].append((int(into[k]), int(out[k])))
        proved += [_cycle(bucket, places, inside[number]) for number, places in sets.items()]
        proved += _opposite(bucket, list(sets.values()))
    return proved


@kernel
def _steps(
    start: int, stop: int, consumers: int, rows: Rows, numbers: Numbers, first: Flags
) -> tuple[Longs, Longs]:
    """First deliveries that follow each other at a consumer and node, as pairs of rows."""
    into = np.empty(stop - start, np.int64)
    out = np.empty(stop - start, np.int64)
    count, last = 0, np.full(consumers, EMPTY, np.int64)
    for i in range(start, stop):
        if i > start and rows.node[i] != rows.node[i - 1]:
            last[:] = EMPTY
        if rows.kind[i] == DELIVER and first[i]:
            c = numbers.consumer[i]
            if last[c] != EMPTY:
                into[count], out[count] = last[c], i
                count += 1
            last[c] = i
    return into[:count], out[:count]


def _cycle(bucket: Bucket, places: list[int], inside: list[Step]) -> to.Proved:
    """A set of messages that no order extends, named by its smallest, with a shortest cycle."""
    rows, message = bucket.rows, bucket.numbers.message
    smallest = min(places, key=lambda i: (rows.producer[i], rows.pseq[i]))
    steps: dict[int, list[Step]] = defaultdict(list)
    for a, b in inside:
        steps[int(message[a])].append((a, b))
    goal = int(message[smallest])
    reached: dict[int, Step] = {}
    waiting = deque([goal])
    while waiting and goal not in reached:
        for a, b in steps[waiting.popleft()]:
            if int(message[b]) not in reached:
                reached[int(message[b])] = (a, b)
                waiting.append(int(message[b]))
    evidence: list[int] = []
    at = goal
    while not evidence or at != goal:
        a, b = reached[at]
        evidence += [b, a]
        at = int(message[a])
    return to.Proved(
        to.GLOBAL,
        int(rows.topic[smallest]),
        int(rows.producer[smallest]),
        int(rows.pseq[smallest]),
        amount=len({int(message[i]) for i in places}),
        evidence=_keys(rows, evidence[::-1]),
    )


def _opposite(bucket: Bucket, sets: list[list[int]]) -> list[to.Proved]:
    """Pairs of consumers that have two messages in opposite orders; each pair once."""
    rows = bucket.rows
    found: dict[tuple[int, int], to.Proved] = {}
    for places in sets:
        chains: dict[int, dict[int, Chain]] = defaultdict(lambda: defaultdict(list))
        for i in places:
            chains[int(rows.client[i])][int(rows.node[i])].append(i)
        for one, other in combinations(sorted(chains), 2):
            if (one, other) in found:
                continue
            for rows_of_both in _clashes(bucket, chains[one], chains[other]):
                found[one, other] = to.Proved(
                    to.PAIRWISE,
                    int(rows.topic[places[0]]),
                    consumer=one,
                    other=other,
                    evidence=_keys(rows, rows_of_both),
                )
                break
    return list(found.values())


def _clashes(bucket: Bucket, one: dict[int, Chain], other: dict[int, Chain]) -> Iterator[Chain]:
    """Rows of two messages that two consumers got in opposite orders."""
    message = bucket.numbers.message
    for theirs in other.values():
        place = {int(message[i]): i for i in theirs}
        for ours in one.values():
            common = [i for i in ours if int(message[i]) in place]
            for a, b in pairwise(common):
                left, right = place[int(message[a])], place[int(message[b])]
                if left > right:
                    yield [a, b, right, left]


def _keys(rows: Rows, places: list[int]) -> tuple[tuple[int, int, int], ...]:
    return tuple((int(rows.node[i]), int(rows.incarnation[i]), int(rows.li[i])) for i in places)
