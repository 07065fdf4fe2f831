"""A mediator and its messages in words that can be sent and written: names become numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ropewalk.overlay.council.handover import Frontier
from ropewalk.overlay.council.words import Move, Over, Sitting
from ropewalk.placement.reactive import session as s
from ropewalk.placement.reactive.arrows import Phase
from ropewalk.placement.reactive.mediation import Ended, Mediator, Owed, Patience

_PLAIN: Mapping[str, type[s.Message]] = {
    one.__name__.lower(): one
    for one in (s.Accept, s.Ready, s.Ask, s.Stop, s.Hold, s.Moved, s.Serving, s.Cancel, s.Gone)
} | {"cancelled": s.Cancelled}

Frontiers = Mapping[s.SessionId, Frontier]
"""What the clients of a session had got when they left the source."""


@dataclass(frozen=True, slots=True)
class Names:
    """Brokers by number and by name."""

    names: Sequence[str]
    numbers: Mapping[str, int]

    @classmethod
    def of(cls, names: Sequence[str]) -> "Names":
        """From the names in order of their numbers."""
        return cls(names, {name: number for number, name in enumerate(names)})

    def id(self, source: int, number: int) -> s.SessionId:
        """A session's id; raises IndexError for a broker that is none."""
        if source < 0:
            raise IndexError(source)
        return s.SessionId(self.names[source], number)


def as_move(names: Names, message: s.Message, frontiers: Frontiers) -> Move:
    """A message as it is sent."""
    kind, source = type(message).__name__.lower(), names.numbers[message.id.source]
    number = message.id.number
    match message:
        case s.Offer(item=item, clients=clients):
            return Move(kind, source, number, item=item, clients=tuple(sorted(clients)))
        case s.Refuse(reason=reason):
            return Move(kind, source, number, reason=reason)
        case s.Done(stragglers=stragglers):
            return Move(kind, source, number, clients=tuple(sorted(stragglers)))
        case s.Moved():
            return Move(kind, source, number, frontier=frontiers.get(message.id))
        case _:
            return Move(kind, source, number)


def as_message(names: Names, move: Move) -> s.Message:
    """A message as it came; raises KeyError or IndexError for one that is none."""
    id = names.id(move.source, move.number)
    match move.kind:
        case "offer":
            return s.Offer(id, move.item, frozenset(move.clients))
        case "refuse":
            return s.Refuse(id, move.reason)
        case "done":
            return s.Done(id, frozenset(move.clients))
        case kind:
            return _PLAIN[kind](id)


def as_sitting(names: Names, state: Mediator, frontiers: Frontiers) -> Sitting:
    """What of a mediator must survive a restart."""
    one, number = state.session, names.numbers
    owed = tuple(_over(names, e, number[e.target], frontiers) for e in state.owed)
    ended = tuple(_over(names, e, -1, frontiers) for e in state.ended)
    seen = tuple(sorted((number[source], last) for source, last in state.seen.items()))
    if one is None:
        return Sitting(state.number, state.phase.value, owed=owed, ended=ended, seen=seen)
    return Sitting(
        state.number,
        state.phase.value,
        number[one.id.source],
        one.id.number,
        number[one.target],
        one.item,
        tuple(sorted(one.clients)),
        tuple(sorted(state.replayed)),
        owed,
        ended,
        seen,
        frontiers.get(one.id),
    )


def as_mediator(
    names: Names, me: str, patience: Patience, found: Sitting, now_s: float
) -> tuple[Mediator, dict[s.SessionId, Frontier]]:
    """The mediator after a restart: whatever it waits for, it asks for again at once."""
    session = None
    frontiers = {names.id(e.source, e.number): e.answer.frontier for e in found.owed}
    if found.source >= 0:
        id = names.id(found.source, found.session)
        session = s.Session(id, names.names[found.target], found.item, frozenset(found.clients))
        frontiers[id] = found.frontier
    phase = Phase(found.phase)
    wait_s = patience.clients_s if phase is Phase.SERVING else 0.0
    state = Mediator(
        me,
        patience,
        number=found.number,
        phase=phase,
        session=session,
        replayed=frozenset(found.replayed),
        deadline_s=now_s + wait_s if session else None,
        owed=tuple(_owed(names, one) for one in found.owed),
        owed_s=now_s if found.owed else None,
        ended=tuple(_ended(names, one) for one in found.ended),
        seen={names.names[source]: last for source, last in found.seen},
    )
    return state, {id: one for id, one in frontiers.items() if one is not None}


def _over(names: Names, one: Owed | Ended, peer: int, frontiers: Frontiers) -> Over:
    source = names.numbers[one.id.source]
    return Over(source, one.id.number, peer, one.item, as_move(names, one.answer, frontiers))


def _owed(names: Names, one: Over) -> Owed:
    id, answer = names.id(one.source, one.number), as_message(names, one.answer)
    return Owed(id, names.names[one.peer], one.item, answer)


def _ended(names: Names, one: Over) -> Ended:
    return Ended(names.id(one.source, one.number), one.item, as_message(names, one.answer))
