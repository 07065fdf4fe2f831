"""The mediator of one broker: a pure state machine that moves an item from a source to a target.

Events in, actions out; `arrows.TABLE` says what leads where. A broker is in one session at a time
and refuses offers meanwhile. Messages may be lost, late or doubled: whoever waits repeats, and what
belongs to an ended session gets the answer it ended with. An event that cannot happen raises
StoryError with the events that led there.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ropewalk.errors import StoryError, UsageError
from ropewalk.placement.reactive import session as s
from ropewalk.placement.reactive.arrows import SOURCE, TABLE, TARGET, Arrow, Phase, Scene
from ropewalk.placement.reactive.session import Action, Event, Message, Session, SessionId

TOLD = 40
"""Events that a story holds."""
REMEMBERED = 32
"""Ended sessions that a source or a target can still answer for."""

_WORDS: Mapping[type, str] = {
    s.Begin: "begin",
    s.Abort: "abort",
    s.PeerDead: "peer dead",
    s.Connected: "connected",
    **{one: one.__name__.lower() for one in (s.Buffered, s.Drained, s.Disconnected, s.Replayed)},
    **{one: one.__name__.lower() for one in (s.Offer, s.Accept, s.Refuse, s.Ready, s.Ask, s.Stop)},
    **{one: one.__name__.lower() for one in (s.Hold, s.Moved, s.Cancel, s.Gone, s.Cancelled)},
    **{one: one.__name__.lower() for one in (s.Serving, s.Done)},
}


@dataclass(frozen=True, slots=True)
class Patience:
    """How long is waited, and how often; raises UsageError where it makes no sense."""

    answer_s: float = 1.0
    """For an answer, or for an action to be done, before it is asked for again."""
    tries: int = 10
    """How often it is asked for again before it is given up."""
    clients_s: float = 60.0
    """How long a target waits for clients to come."""

    def __post_init__(self) -> None:
        for name, value in (("answer_s", self.answer_s), ("clients_s", self.clients_s)):
            if not (math.isfinite(value) and value > 0):
                raise UsageError(f"{name} is {value:g}: write seconds above 0")
        if self.tries < 0:
            raise UsageError(f"tries is {self.tries}: write 0 or more")


@dataclass(frozen=True, slots=True)
class Ended:
    """A session that is over at its target: what it said last."""

    id: SessionId
    item: str
    answer: Message


@dataclass(frozen=True, slots=True)
class Owed:
    """A session that is over at its source, of which its target may not know."""

    id: SessionId
    target: str
    item: str
    answer: Message


@dataclass(frozen=True, slots=True)
class Mediator:
    """The state of one broker's mediator."""

    name: str
    patience: Patience = Patience()
    number: int = 0
    """Of the last session it began: after a restart, one that was not used yet."""
    phase: Phase = Phase.IDLE
    session: Session | None = None
    replayed: frozenset[str] = frozenset()
    """At the target: clients that have got the buffer."""
    deadline_s: float | None = None
    """When what is waited for is asked for again."""
    tries: int = 0
    owed: tuple[Owed, ...] = ()
    owed_s: float | None = None
    """When what is owed is said again."""
    ended: tuple[Ended, ...] = ()
    seen: Mapping[str, int] = field(default_factory=dict)
    """At the target: the highest number of a session by its source."""
    story: tuple[str, ...] = ()

    @property
    def due_s(self) -> float | None:
        """When the next Tick does something; None if only other events do."""
        return min((at for at in (self.deadline_s, self.owed_s) if at is not None), default=None)


Stepped = tuple[Mediator, tuple[Action, ...]]


def step(state: Mediator, event: Event, now_s: float) -> Stepped:
    """The state after an event and what is to be done; raises StoryError if it cannot happen.

    >>> begin = s.Begin("paris", "equities", frozenset({"c1"}))
    >>> london, (offer,) = step(Mediator("london"), begin, 0.0)
    >>> paris, actions = step(Mediator("paris"), s.Heard("london", offer.message), 0.0)
    >>> [type(one).__name__ for one in actions], paris.phase
    (['Buffer', 'Say'], <Phase.PREPARING: 'preparing'>)
    """
    if isinstance(event, s.Tick):
        return _tick(state, now_s)
    told = f"{now_s:g} s, {state.phase}: {event}"
    state = replace(state, story=(*state.story, told)[-TOLD:])
    if isinstance(event, s.Begin):
        return _begin(state, event, now_s)
    if isinstance(event, s.Connected | s.PeerDead):
        return _around(state, event, now_s)
    if isinstance(event, s.Heard):
        return _heard(state, event, now_s)
    if isinstance(event, s.Abort):
        return _go(state, "abort", now_s, reason=event.reason)
    return _local(state, event, now_s)


def _tick(state: Mediator, now_s: float) -> Stepped:
    state, actions = _remind(state, now_s)
    if state.deadline_s is None or now_s < state.deadline_s:
        return state, actions
    most = 0 if state.phase is Phase.SERVING else state.patience.tries
    word = "again" if state.tries < most else "gave up"
    told = f"{now_s:g} s, {state.phase}: {word}"
    state = replace(state, story=(*state.story, told)[-TOLD:], tries=state.tries + 1)
    after, more = _go(state, word, now_s)
    return after, (*actions, *more)


def _remind(state: Mediator, now_s: float) -> Stepped:
    """Say again what is owed, at a slow pace."""
    if state.owed_s is None or now_s < state.owed_s:
        return state, ()
    says = tuple(s.Say(one.target, one.answer) for one in state.owed)
    return replace(state, owed_s=now_s + state.patience.clients_s), says


def _begin(state: Mediator, event: s.Begin, now_s: float) -> Stepped:
    if state.phase is not Phase.IDLE:
        raise _impossible(state, "begin")
    if event.target == state.name:
        raise UsageError(f"{state.name} cannot move {event.item} to itself: name another broker")
    id = SessionId(state.name, state.number + 1)
    session = Session(id, event.target, event.item, event.clients)
    return _go(replace(state, number=id.number, session=session), "begin", now_s)


def _around(state: Mediator, event: s.Connected | s.PeerDead, now_s: float) -> Stepped:
    """What happens at any time and may have nothing to do with the session."""
    one = state.session
    if one is None:
        return state, ()
    if isinstance(event, s.Connected):
        mine = state.phase in TARGET and event.client in one.clients
        return _go(state, "connected", now_s, client=event.client) if mine else (state, ())
    peer = one.target if state.phase in SOURCE else one.id.source
    return _go(state, "peer dead", now_s) if event.peer == peer else (state, ())


def _local(
    state: Mediator, event: s.Buffered | s.Drained | s.Disconnected | s.Replayed, now_s: float
) -> Stepped:
    if state.session is None or event.id != state.session.id:
        if not _over(state, event.id):
            raise _impossible(state, f"{_WORDS[type(event)]} of {event.id}")
        return state, ()
    if isinstance(event, s.Replayed) and state.phase in TARGET:
        state = replace(state, replayed=state.replayed | {event.client})
    return _go(state, _WORDS[type(event)], now_s)


def _heard(state: Mediator, event: s.Heard, now_s: float) -> Stepped:
    message, one = event.message, state.session
    if one is None or message.id != one.id:
        return _elsewhere(state, event, now_s)
    peer = one.target if state.phase in SOURCE else one.id.source
    if event.sender != peer:
        raise _impossible(state, f"{_WORDS[type(message)]} from {event.sender}, not {peer}")
    if state.phase in (Phase.BUFFERING, Phase.STOPPING, Phase.MOVED):
        state = replace(state, tries=0)  # Who is heard is not silent.
    reason = message.reason if isinstance(message, s.Refuse) else "the target wants out"
    stragglers = message.stragglers if isinstance(message, s.Done) else None
    return _go(state, _WORDS[type(message)], now_s, reason=reason, stragglers=stragglers)


def _elsewhere(state: Mediator, event: s.Heard, now_s: float) -> Stepped:
    """A message of a session that this broker is not in."""
    match event.message:
        case s.Offer():
            return _offered(state, event, event.message, now_s)
        case s.Cancel(id=id):
            return _cancelled(state, id)
        case s.Moved(id=id):
            return state, tuple(s.Say(id.source, one.answer) for one in state.ended if one.id == id)
        case s.Hold() | s.Gone():
            return state, ()
        case s.Ask(id=id) | s.Stop(id=id):
            answers = [one.answer for one in state.owed if one.id == id] or [s.Gone(id)]
            return state, (s.Say(event.sender, answers[0]),)
        case message:
            return _answered(state, event.sender, message)


def _offered(state: Mediator, event: s.Heard, offer: s.Offer, now_s: float) -> Stepped:
    id = offer.id
    if id.number <= state.seen.get(id.source, 0):
        return state, tuple(s.Say(id.source, one.answer) for one in state.ended if one.id == id)
    state = replace(state, seen={**state.seen, id.source: id.number})
    busy = f"{state.name} is in a session of {state.session.item}" if state.session else ""
    if busy or event.objection:
        answer = s.Refuse(id, busy or event.objection)
        return _closed(state, Ended(id, offer.item, answer)), (s.Say(id.source, answer),)
    session = Session(id, state.name, offer.item, offer.clients)
    drops, state = _superseded(replace(state, session=session), offer.item)
    after, actions = _go(state, "offer", now_s)
    return after, (*drops, *actions)


def _superseded(state: Mediator, item: str) -> tuple[tuple[Action, ...], Mediator]:
    """An item that is offered again is not here: what an old session left of it goes now.

    A roll-back of that session that comes later must not touch the new buffer.
    """
    left = any(one.item == item and isinstance(one.answer, s.Done) for one in state.ended)
    ended = tuple(replace(one, item="") if one.item == item else one for one in state.ended)
    return (s.DropBuffer(item),) if left else (), replace(state, ended=ended)


def _cancelled(state: Mediator, id: SessionId) -> Stepped:
    """A source has rolled back: nothing of that session may be left here."""
    before = next((one for one in state.ended if one.id == id), None)
    seen = {**state.seen, id.source: max(id.number, state.seen.get(id.source, 0))}
    answer = s.Cancelled(id)
    item = before.item if before else ""
    state = _closed(replace(state, seen=seen), Ended(id, item, answer))
    kept = bool(item) and before is not None and isinstance(before.answer, s.Done)
    drop = (s.DropBuffer(item),) if kept else ()
    return state, (*drop, s.Say(id.source, answer))


def _answered(state: Mediator, sender: str, message: Message) -> Stepped:
    """A target's word on a session that is over at this source."""
    id = message.id
    if not _over(state, id):
        raise _impossible(state, f"{_WORDS[type(message)]} of {id}")
    one = next((one for one in state.owed if one.id == id), None)
    if one is None:
        return state, ()
    rolled_back = isinstance(one.answer, s.Cancel)
    if isinstance(message, s.Serving):
        return state, ()
    if isinstance(message, s.Accept | s.Ready) or (rolled_back and isinstance(message, s.Done)):
        return state, (s.Say(sender, one.answer),)
    owed = tuple(other for other in state.owed if other.id != id)
    state = replace(state, owed=owed, owed_s=state.owed_s if owed else None)
    return state, () if rolled_back else (s.Release(one.item),)


def _over(state: Mediator, id: SessionId) -> bool:
    """The session is known to this broker."""
    last = state.number if id.source == state.name else state.seen.get(id.source, 0)
    return id.number <= last


def _go(
    state: Mediator,
    word: str,
    now_s: float,
    *,
    client: str = "",
    reason: str = "",
    stragglers: frozenset[str] | None = None,
) -> Stepped:
    """Follow the table; a target whose clients all have the buffer is done at once."""
    arrow = TABLE.get((state.phase, word))
    if arrow is None:
        raise _impossible(state, word)
    if state.session is None:
        return state, ()
    missing = state.session.clients - state.replayed
    scene = Scene(state.session, missing, client, reason, stragglers)
    actions = tuple(make(scene) for make in arrow.does)
    after = _arrived(state, arrow, actions, word, now_s)
    if after.phase is Phase.SERVING and not missing:
        after, more = _go(after, "all replayed", now_s)
        actions += more
    return after, actions


def _arrived(
    state: Mediator, arrow: Arrow, actions: tuple[Action, ...], word: str, now_s: float
) -> Mediator:
    if arrow.to is Phase.IDLE and state.session is not None:
        return _idle(state, state.session, arrow, actions, now_s)
    if arrow.to is state.phase and word != "again" and word != "gave up":
        return state
    serving = arrow.to is Phase.SERVING
    wait_s = state.patience.clients_s if serving else state.patience.answer_s
    tries = state.tries if word == "again" else 0
    return replace(state, phase=arrow.to, deadline_s=now_s + wait_s, tries=tries)


def _idle(
    state: Mediator, one: Session, arrow: Arrow, actions: tuple[Action, ...], now_s: float
) -> Mediator:
    """Out of the session; what may still be asked of it is remembered."""
    if state.phase in TARGET:
        said = [action.message for action in actions if isinstance(action, s.Say)]
        state = _closed(state, *(Ended(one.id, one.item, message) for message in said))
    elif arrow.answer is not None:
        owed = Owed(one.id, one.target, one.item, arrow.answer(one.id))
        owed_s = now_s + state.patience.clients_s
        state = replace(state, owed=(*state.owed, owed)[-REMEMBERED:], owed_s=owed_s)
    return replace(
        state, phase=Phase.IDLE, session=None, replayed=frozenset(), deadline_s=None, tries=0
    )


def _closed(state: Mediator, *ended: Ended) -> Mediator:
    ids = {one.id for one in ended}
    kept = tuple(one for one in state.ended if one.id not in ids)
    return replace(state, ended=(*kept, *ended)[-REMEMBERED:])


def _impossible(state: Mediator, word: str) -> StoryError:
    what = f"{state.name} is {state.phase}: {word} cannot happen now. What led here:"
    return StoryError(what, state.story)
