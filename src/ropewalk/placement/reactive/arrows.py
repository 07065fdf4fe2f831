"""The table of a session: in which phase what leads where, and what is to be done then.

    source: idle -> offered -> accepted -> draining -> disconnecting -> moved -> idle
    target: idle -> preparing -> buffering -> serving -> idle

Before the clients are disconnected every way out leads through `cancelling` at the source, which
alone decides: a target that has said Ready never drops its buffer by itself, because it cannot know
whether the clients are on their way. Once they are, there is no way back.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ropewalk.placement.reactive import session as s
from ropewalk.placement.reactive.session import Action, Message, Session, SessionId


class Phase(StrEnum):
    """Where a broker is in a session."""

    IDLE = "idle"
    OFFERED = "offered"
    ACCEPTED = "accepted"
    DRAINING = "draining"
    DISCONNECTING = "disconnecting"
    MOVED = "moved"
    CANCELLING = "cancelling"
    PREPARING = "preparing"
    BUFFERING = "buffering"
    STOPPING = "stopping"
    SERVING = "serving"


SOURCE = frozenset(
    {
        Phase.OFFERED,
        Phase.ACCEPTED,
        Phase.DRAINING,
        Phase.DISCONNECTING,
        Phase.MOVED,
        Phase.CANCELLING,
    }
)
TARGET = frozenset({Phase.PREPARING, Phase.BUFFERING, Phase.STOPPING, Phase.SERVING})


@dataclass(frozen=True, slots=True)
class Scene:
    """What an action is made from: the session, who came, and what the event brought."""

    session: Session
    missing: frozenset[str] = frozenset()
    """Clients that have not got the buffer."""
    client: str = ""
    reason: str = ""
    stragglers: frozenset[str] | None = None
    """Clients that the target says did not come."""


Maker = Callable[[Scene], Action]


@dataclass(frozen=True, slots=True)
class Arrow:
    """The next phase, what to do, and what to answer should the target ask later on."""

    to: Phase
    does: tuple[Maker, ...] = ()
    answer: Callable[[SessionId], Message] | None = field(default=None)


def _to_target(kind: Callable[[SessionId], Message]) -> Maker:
    return lambda scene: s.Say(scene.session.target, kind(scene.session.id))


def _to_source(kind: Callable[[SessionId], Message]) -> Maker:
    return lambda scene: s.Say(scene.session.id.source, kind(scene.session.id))


def offer(scene: Scene) -> Action:
    """Offer the item to the target."""
    one = scene.session
    return s.Say(one.target, s.Offer(one.id, one.item, one.clients))


def refuse(scene: Scene) -> Action:
    """Refuse the offer."""
    one = scene.session
    return s.Say(one.id.source, s.Refuse(one.id, scene.reason or "its buffer could not be set up"))


def done(scene: Scene) -> Action:
    """Tell the source that the item is served."""
    return s.Say(scene.session.id.source, s.Done(scene.session.id, scene.missing))


def buffer(scene: Scene) -> Action:
    """Buffer the item."""
    return s.Buffer(scene.session.id, scene.session.item)


def _report(text: str) -> Maker:
    def make(scene: Scene) -> Action:
        one = scene.session
        who = scene.stragglers if scene.stragglers is not None else scene.missing
        clients = ", ".join(sorted(who)) or "none"
        head = f"{one.item} from {one.id.source} to {one.target}: "
        return s.Report(head + text.format(reason=scene.reason, clients=clients))

    return make


accept, ready = _to_source(s.Accept), _to_source(s.Ready)
_ask, _stop, _cancelled = _to_source(s.Ask), _to_source(s.Stop), _to_source(s.Cancelled)
_serving = _to_source(s.Serving)
_hold, _moved, _cancel = _to_target(s.Hold), _to_target(s.Moved), _to_target(s.Cancel)


def _drain(scene: Scene) -> Action:
    return s.Drain(scene.session.id, scene.session.item)


def _resume(scene: Scene) -> Action:
    return s.Resume(scene.session.item)


def _disconnect(scene: Scene) -> Action:
    return s.Disconnect(scene.session.id, scene.session.clients)


def _forward(scene: Scene) -> Action:
    return s.Forward(scene.session.item, scene.session.target)


def _release(scene: Scene) -> Action:
    return s.Release(scene.session.item)


def _replay(scene: Scene) -> Action:
    return s.Replay(scene.session.id, scene.session.item, scene.client)


def _keep(scene: Scene) -> Action:
    return s.Keep(scene.session.item, scene.missing)


def _flush(scene: Scene) -> Action:
    return s.Flush(scene.session.item)


def _drop(scene: Scene) -> Action:
    return s.DropBuffer(scene.session.item)


_unwilling = _report("given up before any client was disconnected: {reason}")
_refused = _report("refused: {reason}")
_silent = _report("the target does not answer; nothing has moved")
_slow = _report("the queue did not drain in time; nothing has moved")
_ended_early = _report("the target ended the session by itself; nothing has moved")
_dead = _report("the target was declared dead; nothing has moved")
_late = _report("too late to give up, the clients are disconnected: it goes on ({reason})")
_stuck = _report("clients are still connected to the source, tried again")
_unheard = _report("the clients are disconnected, but the target does not answer")
_lost = _report("the target was declared dead after the clients were disconnected: see its mirrors")
_finished = _report("done; clients that did not come: {clients}")
_unsure = _report("the source is silent; the buffer stays, as clients may be on their way")
_alone = _report("the source is dead or knows nothing of this any more: serving who comes")
_stragglers = _report(
    "served, but these clients did not come and have it in durable queues: {clients}"
)
_unconfirmed = _report("rolled back; the target has not confirmed that it dropped its buffer")

P = Phase


def _before_draining(phase: Phase) -> dict[tuple[Phase, str], Arrow]:
    """What offered and accepted have in common."""
    return {
        (phase, "accept"): Arrow(P.ACCEPTED),
        (phase, "ready"): Arrow(P.DRAINING, (_drain,)),
        # Only a target that is ready asks: its Ready was lost.
        (phase, "ask"): Arrow(P.DRAINING, (_drain,)),
        (phase, "refuse"): Arrow(P.IDLE, (_refused,)),
        (phase, "stop"): Arrow(P.CANCELLING, (_cancel, _refused)),
        (phase, "done"): Arrow(P.CANCELLING, (_cancel, _ended_early)),
        (phase, "again"): Arrow(phase, (offer,)),
        (phase, "gave up"): Arrow(P.CANCELLING, (_cancel, _silent)),
        (phase, "abort"): Arrow(P.CANCELLING, (_cancel, _unwilling)),
        (phase, "peer dead"): Arrow(P.IDLE, (_dead,), answer=s.Cancel),
    }


def _holding(phase: Phase, asks: Maker) -> dict[tuple[Phase, str], Arrow]:
    """What buffering and stopping have in common: the source decides."""
    return {
        (phase, "offer"): Arrow(phase, (ready,)),
        (phase, "buffered"): Arrow(phase),
        (phase, "connected"): Arrow(phase, (_replay,)),
        (phase, "replayed"): Arrow(phase),
        (phase, "hold"): Arrow(phase),
        (phase, "moved"): Arrow(P.SERVING, (_serving,)),
        (phase, "gone"): Arrow(P.SERVING, (_alone,)),
        (phase, "cancel"): Arrow(P.IDLE, (_drop, _cancelled)),
        (phase, "again"): Arrow(phase, (asks,)),
        (phase, "gave up"): Arrow(phase, (asks, _unsure)),
        (phase, "abort"): Arrow(P.STOPPING, (_stop,)),
        (phase, "peer dead"): Arrow(P.SERVING, (_alone,)),
    }


TABLE: Mapping[tuple[Phase, str], Arrow] = {
    (P.IDLE, "begin"): Arrow(P.OFFERED, (offer,)),
    (P.IDLE, "abort"): Arrow(P.IDLE),
    **_before_draining(P.OFFERED),
    **_before_draining(P.ACCEPTED),
    (P.DRAINING, "accept"): Arrow(P.DRAINING),
    (P.DRAINING, "ready"): Arrow(P.DRAINING),
    (P.DRAINING, "ask"): Arrow(P.DRAINING, (_hold,)),
    (P.DRAINING, "drained"): Arrow(P.DISCONNECTING, (_disconnect,)),
    (P.DRAINING, "refuse"): Arrow(P.CANCELLING, (_resume, _cancel, _refused)),
    (P.DRAINING, "stop"): Arrow(P.CANCELLING, (_resume, _cancel, _refused)),
    (P.DRAINING, "done"): Arrow(P.CANCELLING, (_resume, _cancel, _ended_early)),
    (P.DRAINING, "again"): Arrow(P.DRAINING, (_drain,)),
    (P.DRAINING, "gave up"): Arrow(P.CANCELLING, (_resume, _cancel, _slow)),
    (P.DRAINING, "abort"): Arrow(P.CANCELLING, (_resume, _cancel, _unwilling)),
    (P.DRAINING, "peer dead"): Arrow(P.IDLE, (_resume, _dead), answer=s.Cancel),
    (P.DISCONNECTING, "accept"): Arrow(P.DISCONNECTING),
    (P.DISCONNECTING, "ready"): Arrow(P.DISCONNECTING),
    (P.DISCONNECTING, "ask"): Arrow(P.DISCONNECTING, (_hold,)),
    (P.DISCONNECTING, "stop"): Arrow(P.DISCONNECTING, (_hold,)),
    (P.DISCONNECTING, "done"): Arrow(P.DISCONNECTING),
    (P.DISCONNECTING, "drained"): Arrow(P.DISCONNECTING),
    (P.DISCONNECTING, "disconnected"): Arrow(P.MOVED, (_forward, _moved)),
    (P.DISCONNECTING, "again"): Arrow(P.DISCONNECTING, (_disconnect,)),
    (P.DISCONNECTING, "gave up"): Arrow(P.DISCONNECTING, (_disconnect, _stuck)),
    (P.DISCONNECTING, "abort"): Arrow(P.DISCONNECTING, (_late,)),
    (P.DISCONNECTING, "peer dead"): Arrow(P.DISCONNECTING, (_lost,)),
    (P.MOVED, "accept"): Arrow(P.MOVED),
    (P.MOVED, "ready"): Arrow(P.MOVED, (_moved,)),
    (P.MOVED, "ask"): Arrow(P.MOVED, (_moved,)),
    (P.MOVED, "stop"): Arrow(P.MOVED, (_moved,)),
    (P.MOVED, "serving"): Arrow(P.MOVED),
    (P.MOVED, "drained"): Arrow(P.MOVED),
    (P.MOVED, "disconnected"): Arrow(P.MOVED),
    (P.MOVED, "done"): Arrow(P.IDLE, (_release, _finished)),
    (P.MOVED, "again"): Arrow(P.MOVED, (_moved,)),
    (P.MOVED, "gave up"): Arrow(P.IDLE, (_unheard,), answer=s.Moved),
    (P.MOVED, "abort"): Arrow(P.MOVED, (_late,)),
    (P.MOVED, "peer dead"): Arrow(P.IDLE, (_lost,), answer=s.Moved),
    (P.CANCELLING, "accept"): Arrow(P.CANCELLING, (_cancel,)),
    (P.CANCELLING, "ready"): Arrow(P.CANCELLING, (_cancel,)),
    (P.CANCELLING, "ask"): Arrow(P.CANCELLING, (_cancel,)),
    (P.CANCELLING, "stop"): Arrow(P.CANCELLING, (_cancel,)),
    (P.CANCELLING, "done"): Arrow(P.CANCELLING, (_cancel,)),
    (P.CANCELLING, "drained"): Arrow(P.CANCELLING),
    (P.CANCELLING, "cancelled"): Arrow(P.IDLE),
    (P.CANCELLING, "refuse"): Arrow(P.IDLE),
    (P.CANCELLING, "again"): Arrow(P.CANCELLING, (_cancel,)),
    (P.CANCELLING, "gave up"): Arrow(P.IDLE, (_unconfirmed,), answer=s.Cancel),
    (P.CANCELLING, "abort"): Arrow(P.CANCELLING),
    (P.CANCELLING, "peer dead"): Arrow(P.IDLE, (_dead,), answer=s.Cancel),
    (P.IDLE, "offer"): Arrow(P.PREPARING, (buffer, accept)),
    (P.PREPARING, "offer"): Arrow(P.PREPARING, (accept,)),
    (P.PREPARING, "buffered"): Arrow(P.BUFFERING, (ready,)),
    (P.PREPARING, "connected"): Arrow(P.PREPARING, (_replay,)),
    (P.PREPARING, "replayed"): Arrow(P.PREPARING),
    (P.PREPARING, "cancel"): Arrow(P.IDLE, (_drop, _cancelled)),
    (P.PREPARING, "again"): Arrow(P.PREPARING, (buffer,)),
    (P.PREPARING, "gave up"): Arrow(P.IDLE, (_drop, refuse)),
    (P.PREPARING, "abort"): Arrow(P.IDLE, (_drop, refuse)),
    (P.PREPARING, "peer dead"): Arrow(P.SERVING, (_alone,)),
    **_holding(P.BUFFERING, _ask),
    **_holding(P.STOPPING, _stop),
    (P.STOPPING, "abort"): Arrow(P.STOPPING),
    (P.SERVING, "offer"): Arrow(P.SERVING),
    (P.SERVING, "buffered"): Arrow(P.SERVING),
    (P.SERVING, "hold"): Arrow(P.SERVING),
    (P.SERVING, "moved"): Arrow(P.SERVING, (_serving,)),
    (P.SERVING, "gone"): Arrow(P.SERVING),
    (P.SERVING, "connected"): Arrow(P.SERVING, (_replay,)),
    (P.SERVING, "replayed"): Arrow(P.SERVING),
    (P.SERVING, "all replayed"): Arrow(P.IDLE, (_flush, done)),
    (P.SERVING, "gave up"): Arrow(P.IDLE, (_keep, _flush, done, _stragglers)),
    (P.SERVING, "cancel"): Arrow(P.IDLE, (_drop, _cancelled)),
    (P.SERVING, "abort"): Arrow(P.SERVING, (_late,)),
    (P.SERVING, "peer dead"): Arrow(P.SERVING),
}
