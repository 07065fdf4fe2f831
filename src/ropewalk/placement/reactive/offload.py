"""The offload algorithm: which subscriptions of an overloaded broker go to which brokers.

The source shall end below its low mark, and no acceptor above its limit: its high mark less the
reserve and its deviations. One acceptor is preferred to several. Where all assignments can be tried
(`exact.MOST`: 16 subscriptions with one acceptor, 8 with three), the fewest subscriptions that
solve it are found, or it is certain that none do; beyond that the answer is greedy and says so.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ropewalk.placement.reactive.books import Books, Station, Subscription, loads_after
from ropewalk.placement.reactive.exact import best_of_all, few_enough
from ropewalk.placement.reactive.greedy import greedily


@dataclass(frozen=True, slots=True)
class Rejection:
    """A broker that takes nothing, or a subscription that does not move, and why."""

    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Offload:
    """Who moves where, and every broker's load after it."""

    solved: bool
    """The source ends below its low mark."""
    certain: bool
    """All assignments were tried: if it is not solved, it cannot be."""
    moves: Mapping[str, str]
    """Subscription to acceptor."""
    loads: Mapping[str, float]
    brokers: tuple[Rejection, ...]
    """Candidates that take nothing."""
    subscriptions: tuple[Rejection, ...]
    """Subscriptions that stay."""

    @property
    def acceptors(self) -> tuple[str, ...]:
        """The brokers that take something, by name."""
        return tuple(sorted(set(self.moves.values())))


def relieve(books: Books) -> Offload:
    """The best offload that was found, with the reason of every rejection."""
    if books.source.utilisation < books.source.low:
        return _told(books, {}, certain=True)
    takers = tuple(one for one in books.candidates if not _closed(books, one))
    found = [_moves(books, (one,)) for one in takers]
    alone = any(_solves(books, moves) for moves in found)
    if not alone and len(takers) > 1:
        found.append(_moves(books, takers))
    best = min(found, key=lambda moves: _rank(books, moves), default={})
    return _told(books, best, certain=few_enough(books, takers[:1] if alone else takers))


def _rank(books: Books, moves: dict[str, str]) -> tuple[float, int, int, float, list[str]]:
    """Less is better: what is left to free, acceptors, subscriptions, how full the fullest is."""
    loads, to = loads_after(books, moves), sorted(set(moves.values()))
    left = 0.0 if _solves(books, moves) else round(loads[books.source.name], 12)
    full = [loads[one.name] - books.limit(one) for one in books.candidates if one.name in to]
    return left, len(to), len(moves), round(max(full, default=0.0), 12), to


def _moves(books: Books, acceptors: tuple[Station, ...]) -> dict[str, str]:
    exact = few_enough(books, acceptors)
    return best_of_all(books, acceptors) if exact else greedily(books, acceptors)


def _solves(books: Books, moves: Mapping[str, str]) -> bool:
    return loads_after(books, moves)[books.source.name] < books.source.low


def _told(books: Books, moves: dict[str, str], *, certain: bool) -> Offload:
    loads = loads_after(books, moves)
    solved = loads[books.source.name] < books.source.low
    brokers = [
        Rejection(one.name, _closed(books, one) or _spared(books, one, moves, solved))
        for one in books.candidates
        if one.name not in moves.values()
    ]
    stay = [
        Rejection(one.name, _kept(books, one, moves, loads, solved))
        for one in books.subscriptions
        if one.name not in moves
    ]
    return Offload(solved, certain, moves, loads, tuple(brokers), tuple(stay))


def _closed(books: Books, station: Station) -> str:
    """Why a candidate can take nothing at all; empty if it may."""
    if station.closed:
        return station.closed
    limit = books.limit(station)
    if station.utilisation < limit:
        return ""
    kept = books.reserve + books.deviations * station.deviation
    marks = f"high mark {station.high:g} less {kept:g} kept free"
    return f"it has no room: {station.utilisation:g} of at most {limit:g} ({marks})"


def _spared(books: Books, station: Station, moves: dict[str, str], solved: bool) -> str:
    """Why a candidate with room takes nothing."""
    if solved and not moves:
        return f"not needed: {books.source.name} is below its low mark {books.source.low:g}"
    if solved:
        return f"not needed: {', '.join(sorted(set(moves.values())))} can take what has to move"
    room = books.limit(station) - station.utilisation
    return f"none of what is left to move fits into its room of {room:g} and helps"


def _kept(
    books: Books,
    one: Subscription,
    moves: dict[str, str],
    loads: Mapping[str, float],
    solved: bool,
) -> str:
    """Why a subscription stays."""
    if one.stays:
        return one.stays
    if solved:
        return f"not needed: {books.source.name} ends below {books.source.low:g} without it"
    reasons = [_unfit(books, one, to, moves, loads) for to in books.candidates]
    return "; ".join(reasons) or "there is no other broker"


def _unfit(
    books: Books, one: Subscription, to: Station, moves: dict[str, str], loads: Mapping[str, float]
) -> str:
    """Why a subscription does not go to one candidate, beside the moves that are made."""
    if _closed(books, to):
        return f"{to.name} takes nothing"
    after = loads_after(books, {**moves, one.name: to.name})
    takes, room = after[to.name] - loads[to.name], books.limit(to) - loads[to.name]
    if takes > room:
        return f"{to.name} has room for {max(room, 0):g}, it takes {takes:g}"
    if after[books.source.name] >= loads[books.source.name]:
        return f"moving it to {to.name} frees nothing"
    return f"{to.name} could take it, the search found no use for it"
