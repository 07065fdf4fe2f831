"""An offload by the largest useful moves first, for more subscriptions than can all be tried.

A move is one subscription, or all that a topic has left. Two orders are followed to their end: most
relief per subscription, and most relief for the room it takes; the better result counts. It may
miss a solution that exists.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from ropewalk.placement.reactive.books import (
    Books,
    Station,
    Subscription,
    loads_after,
    relay_work,
)

TINY = 1e-9


@dataclass(frozen=True, slots=True)
class _Option:
    """A move that can be made now: who goes where, what it frees and what it takes."""

    subscriptions: tuple[Subscription, ...]
    to: Station
    frees: float
    takes: float


@dataclass(slots=True)
class _Ledger:
    """The books while moves are being made."""

    books: Books
    acceptors: tuple[Station, ...]
    source: float
    loads: dict[str, float]
    left: dict[str, list[Subscription]] = field(default_factory=dict)
    """Subscriptions still at the source that may move, by topic, most copies first."""
    bound: set[str] = field(default_factory=set)
    """Topics with subscriptions that stay."""
    carried: set[tuple[str, str]] = field(default_factory=set)
    """Topic and acceptor that carries it, also by moves made."""
    moves: dict[str, str] = field(default_factory=dict)

    def options(self) -> Iterator[_Option]:
        for group in self.left.values():
            for to in self.acceptors:
                for option in (self.option(tuple(group), to), *self.singles(group, to)):
                    if option.frees > 0 and option.takes <= self.room(to):
                        yield option

    def singles(self, group: list[Subscription], to: Station) -> Iterator[_Option]:
        """Of one topic's subscriptions the largest that fits and the smallest that ends it.

        Within a topic more copies free more and take more: no other one is ever chosen.
        """
        if len(group) > 1:
            options, room = (self.option((one,), to) for one in group), self.room(to)
            yield from islice((one for one in options if one.takes <= room), 1)
            need = self.source - self.books.source.low
            small = bisect_left(group, True, key=lambda one: self.option((one,), to).frees <= need)
            if small:
                yield self.option((group[small - 1],), to)

    def option(self, chosen: tuple[Subscription, ...], to: Station) -> _Option:
        topic = self.books.topics[chosen[0].topic]
        copies_s = sum(one.copies_s for one in chosen)
        frees, takes = self.books.source.copies_work(copies_s), to.copies_work(copies_s)
        if (topic.name, to.name) not in self.carried:
            takes += to.topic_work(topic)
            frees -= relay_work(self.books, topic)
        whole = len(chosen) == len(self.left[topic.name]) and topic.name not in self.bound
        if whole and not topic.published_here:
            frees += self.books.source.topic_work(topic)
        return _Option(chosen, to, frees, takes)

    def room(self, to: Station) -> float:
        return self.books.limit(to) - self.loads[to.name]

    def make(self, option: _Option) -> None:
        topic, gone = option.subscriptions[0].topic, {one.name for one in option.subscriptions}
        self.left[topic] = [one for one in self.left[topic] if one.name not in gone]
        if not self.left[topic]:
            del self.left[topic]
        self.carried.add((topic, option.to.name))
        self.moves |= dict.fromkeys(sorted(gone), option.to.name)
        self.source -= option.frees
        self.loads[option.to.name] += option.takes


def greedily(books: Books, acceptors: tuple[Station, ...]) -> dict[str, str]:
    """The moves of the better order, without those that turn out not to be needed."""
    tries = [_follow(books, acceptors, order) for order in (_by_subscription, _by_room)]
    return min(tries, key=lambda moves: _worth(books, moves))


def _follow(
    books: Books, acceptors: tuple[Station, ...], order: Callable[[_Option], float]
) -> dict[str, str]:
    ledger = _opened(books, acceptors)
    while ledger.source >= books.source.low:
        best = _best(ledger, order)
        if best is None:
            break
        ledger.make(best)
    return _trimmed(books, ledger.moves)


def _best(ledger: _Ledger, order: Callable[[_Option], float]) -> _Option | None:
    """The smallest move that ends it, if one does; else the first by the order."""
    options = list(ledger.options())
    need = ledger.source - ledger.books.source.low
    ending = [one for one in options if one.frees > need]
    if ending:
        return min(ending, key=lambda one: (len(one.subscriptions), one.frees, *_names(one)))
    return min(
        options, key=lambda one: (-order(one), -ledger.room(one.to), *_names(one)), default=None
    )


def _by_subscription(option: _Option) -> float:
    return option.frees / len(option.subscriptions)


def _by_room(option: _Option) -> float:
    return option.frees / option.takes if option.takes else float("inf")


def _names(option: _Option) -> tuple[str, str]:
    return option.to.name, option.subscriptions[0].name


def _opened(books: Books, acceptors: tuple[Station, ...]) -> _Ledger:
    loads = {one.name: one.utilisation for one in acceptors}
    ledger = _Ledger(books, acceptors, books.source.utilisation, loads)
    for one in sorted(books.subscriptions, key=lambda one: (-one.copies_s, one.name)):
        if one.stays:
            ledger.bound.add(one.topic)
        else:
            ledger.left.setdefault(one.topic, []).append(one)
    ledger.carried = {(topic, one.name) for one in acceptors for topic in one.carries}
    return ledger


def _trimmed(books: Books, moves: dict[str, str]) -> dict[str, str]:
    """Without each move that is not needed, the smallest first."""
    source, low = books.source, books.source.low
    left = loads_after(books, moves)[source.name]
    if left >= low:
        return moves
    gone = [one for one in books.subscriptions if one.name in moves]
    for one in sorted(gone, key=lambda one: (one.copies_s, one.name)):
        # It brings back its copies at least, less what sending the topic on costs.
        least = source.copies_work(one.copies_s) - relay_work(books, books.topics[one.topic])
        if left + least < low + TINY:
            fewer = {name: to for name, to in moves.items() if name != one.name}
            load = loads_after(books, fewer)[source.name]
            moves, left = (fewer, load) if load < low else (moves, left)
    return moves


def _worth(books: Books, moves: dict[str, str]) -> tuple[float, int]:
    """Less is better: what is left to free, then how many move."""
    left = loads_after(books, moves)[books.source.name]
    return (0.0 if left < books.source.low else round(left, 12), len(moves))
