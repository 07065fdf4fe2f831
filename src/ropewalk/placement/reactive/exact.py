"""The best offload among all, where they are few enough to try each one."""

import numpy as np
import numpy.typing as npt

from ropewalk.placement.reactive.books import Books, Station, Subscription, relay_work

MOST = 65_536
"""Assignments that are tried at most."""

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


def few_enough(books: Books, acceptors: tuple[Station, ...]) -> bool:
    """Every way to spread the movable subscriptions over stay and acceptors can be tried."""
    movable = len(_movable(books))
    return movable <= 16 and int((len(acceptors) + 1) ** movable) <= MOST


def best_of_all(books: Books, acceptors: tuple[Station, ...]) -> dict[str, str]:
    """The moves that solve it with the fewest subscriptions; else those that free the most.

    No acceptor goes beyond its limit. Equal ones: fewest acceptors, then the lowest load of any.
    """
    if not _movable(books):
        return {}
    ways = _ways(len(_movable(books)), len(acceptors))
    source = np.full(len(ways), books.source.utilisation)
    loads = np.tile([one.utilisation for one in acceptors], (len(ways), 1))
    for topic in sorted({one.topic for one in _movable(books)}):
        _add_topic(books, acceptors, topic, ways, source, loads)
    limits = np.array([books.limit(one) for one in acceptors])
    used = np.stack([(ways == j + 1).any(axis=1) for j in range(len(acceptors))], axis=1)
    fits: Bools = np.all(~used | (loads <= limits), axis=1)
    return _chosen(books, acceptors, ways, fits, source, used, (loads - limits).max(axis=1))


def _movable(books: Books) -> list[Subscription]:
    return [one for one in books.subscriptions if not one.stays]


def _ways(subscriptions: int, acceptors: int) -> npt.NDArray[np.int64]:
    """A row per assignment, a column per subscription: 0 stays, j goes to the acceptor j - 1."""
    grid = np.indices([acceptors + 1] * subscriptions, dtype=np.int64)
    return grid.reshape(subscriptions, -1).T


def _add_topic(
    books: Books,
    acceptors: tuple[Station, ...],
    name: str,
    ways: npt.NDArray[np.int64],
    source: Floats,
    loads: Floats,
) -> None:
    """Enter what a topic's moves change into the loads of the source and the acceptors."""
    movable = _movable(books)
    columns = [i for i, one in enumerate(movable) if one.topic == name]
    copies = np.array([movable[i].copies_s for i in columns])
    mine, topic = ways[:, columns], books.topics[name]
    source -= (mine > 0) @ copies * books.source.copies_work(1.0)
    if not topic.published_here and not any(
        one.stays for one in books.subscriptions if one.topic == name
    ):
        source -= (mine > 0).all(axis=1) * books.source.topic_work(topic)
    for j, one in enumerate(acceptors):
        loads[:, j] += (mine == j + 1) @ copies * one.copies_work(1.0)
        if name not in one.carries:
            newly = (mine == j + 1).any(axis=1)
            loads[:, j] += newly * one.topic_work(topic)
            source += newly * relay_work(books, topic)


def _chosen(
    books: Books,
    acceptors: tuple[Station, ...],
    ways: npt.NDArray[np.int64],
    fits: Bools,
    source: Floats,
    used: Bools,
    fullest: Floats,
) -> dict[str, str]:
    solved = fits & (source < books.source.low)
    rest = np.where(solved, 0.0, np.where(fits, source.round(12), np.inf))
    moved = (ways > 0).sum(axis=1)
    order = np.lexsort((fullest, used.sum(axis=1), moved, rest))
    best = ways[order[0]]
    return {
        one.name: acceptors[int(to) - 1].name
        for one, to in zip(_movable(books), best, strict=True)
        if to
    }
