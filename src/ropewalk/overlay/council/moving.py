"""Sessions that move an item between two live brokers, over notes.

The mediator (`placement.reactive.mediation`) decides; this part carries its messages, writes where
it stands, and orders its actions from the agent (`act`), which tells the events (`happened`).

No letter is lost and none comes twice, if the agent keeps five rules:

0. It does what is ordered when the records written before are safe, as it does with notes.
1. What the target buffers is in its custody: acknowledged to the origin only when its log has it.
2. From `Drained` on the source gives the clients of the item nothing new. What still comes to it is
   sent on after `Forward`, or given to them after `Resume`.
3. `delivered(item)` is then all that they have got. It goes with the session: the source writes it
   before it disconnects anybody, and says it with Moved.
4. The target orders `Skip` before any `Replay`: what the frontier covers is left out of the buffer,
   of what is sent on and of what comes live, as is what the target has given to clients itself.

A client that comes before the target knows the frontier waits for it. Only if the source is dead
or knows nothing any more is it served without; then some letters may come twice, and that is told.

After a restart a session that has disconnected nobody is rolled back. One that has goes on; a
target that buffers asks to be let out, and goes on if its source says so.
"""

import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ropewalk.errors import StoryError
from ropewalk.overlay.council.handover import Frontier
from ropewalk.overlay.council.sittings import (
    Names,
    as_mediator,
    as_message,
    as_move,
    as_sitting,
)
from ropewalk.overlay.council.words import Move, Sitting
from ropewalk.overlay.parts import NEVER, Office
from ropewalk.placement.reactive import session as s
from ropewalk.placement.reactive.arrows import SOURCE, Phase
from ropewalk.placement.reactive.mediation import Mediator, Patience, step

US = 1_000_000


@dataclass(frozen=True, slots=True)
class Skip:
    """Clients of the item that come have got these letters: leave them out."""

    item: str
    frontier: Frontier


Order = s.Action | Skip
"""What the agent has to do; each may be ordered twice, the second time changes nothing."""

_ROLLED_BACK = (Phase.OFFERED, Phase.ACCEPTED, Phase.DRAINING, Phase.PREPARING, Phase.BUFFERING)


class Moving:
    """One agent's mediator."""

    def __init__(
        self,
        office: Office,
        names: Sequence[str],
        *,
        act: Callable[[int, Order], None],
        delivered: Callable[[str], Frontier],
        on_end: Callable[[int, str, bool], None] = lambda _now_us, _item, _moved: None,
        objection: Callable[[str], str] = lambda _item: "",
        patience: Patience | None = None,
    ) -> None:
        """`on_end` is told at the source when a session is over, and whether the item has moved.

        `objection` says why an item is not welcome here; empty if it is.
        """
        self.office, self.names = office, Names.of(names)
        self._act, self._delivered, self._on_end = act, delivered, on_end
        self._objection = objection
        self.state = Mediator(names[office.me], patience or Patience())
        self.wake_us = NEVER
        self._frontiers: dict[s.SessionId, Frontier] = {}
        self._wishes: deque[s.Begin] = deque()
        self._events: deque[s.Event] = deque()
        self._early: list[s.Replay] = []
        self._written: Sitting | None = None
        self._restarted = self._running = False

    def know(self, names: Sequence[str]) -> None:
        """The brokers by number, those that have joined included."""
        if len(names) > len(self.names.names):
            self.names = Names.of(names)

    def begin(self, now_us: int, item: str, to: int, clients: Iterable[str]) -> None:
        """Move an item with its clients, as soon as no other session is on."""
        here = self.state.session
        if any(one.item == item for one in self._wishes) or (here and here.item == item):
            return
        self._wishes.append(s.Begin(self.names.names[to], item, frozenset(clients)))
        self._feed(now_us)

    def happened(self, now_us: int, event: s.Event) -> None:
        """Something that was ordered is done, or a client has connected."""
        self._feed(now_us, event)

    def dead(self, now_us: int, broker: int) -> None:
        """The council has decided that a broker is dead."""
        self._feed(now_us, s.PeerDead(self.names.names[broker]))

    # The part.

    def recover(self, now_us: int, records: Iterable[Any]) -> None:
        """Begin; with what was written before."""
        for one in records:
            if isinstance(one, Sitting):
                self._written = one
        if self._written is not None:
            self.state, self._frontiers = as_mediator(
                self.names, self.state.name, self.state.patience, self._written, now_us / US
            )
            self._restarted = True
            self.wake_us = now_us

    def records(self) -> tuple[Sitting, ...]:
        """What has to be in the log for this part, should it be written anew."""
        return (self._written,) if self._written is not None else ()

    def heard(self, now_us: int, sender: int, body: Any) -> bool:
        """A note; False if it is not for this part."""
        if not isinstance(body, Move):
            return False
        try:
            message = as_message(self.names, body)
            if isinstance(message, s.Moved) and body.frontier is not None:
                self._frontiers.setdefault(message.id, body.frontier)
            why = self._objection(message.item) if isinstance(message, s.Offer) else ""
            self._feed(now_us, s.Heard(self.names.names[sender], message, why))
        except (KeyError, IndexError, StoryError) as error:
            # Another agent's mistake must not stop this one.
            self.office.tell("a session's message makes no sense", sender, str(error))
        return True

    def due(self, now_us: int) -> None:
        """The time has come."""
        self._feed(now_us, s.Tick())

    def changed(self, now_us: int) -> None:
        """Whom one cannot reach may live: only the council says who is dead."""

    # One event after the other, also where an action leads to the next at once.

    def _feed(self, now_us: int, event: s.Event | None = None) -> None:
        if event is not None:
            self._events.append(event)
        if self._running:
            return
        self._running = True
        try:
            self._resume(now_us)
            while self._events or self._next_wish():
                self._step(now_us, self._events.popleft())
        finally:
            self._running = False
            due_s = self.state.due_s
            self.wake_us = NEVER if due_s is None else math.ceil(due_s * US) + 1

    def _next_wish(self) -> bool:
        if self._wishes and self.state.phase is Phase.IDLE:
            self._events.append(self._wishes.popleft())
        return bool(self._events)

    def _step(self, now_us: int, event: s.Event) -> None:
        before = self.state
        if isinstance(event, s.Begin) and before.phase is not Phase.IDLE:
            self._wishes.append(event)
            return
        self.state, actions = step(before, event, now_us / US)
        one = self.state.session
        if self.state.phase is Phase.DISCONNECTING and one and one.id not in self._frontiers:
            self._frontiers[one.id] = self._delivered(one.item)
        self._write()
        self._order(now_us, actions)
        if before.phase in SOURCE and self.state.phase is Phase.IDLE and before.session:
            self._on_end(now_us, before.session.item, before.phase is Phase.MOVED)

    def _write(self) -> None:
        """Before anything of it is said."""
        one = self.state.session
        used = {owed.id for owed in self.state.owed} | ({one.id} if one else set())
        self._frontiers = {id: found for id, found in self._frontiers.items() if id in used}
        sitting = as_sitting(self.names, self.state, self._frontiers)
        if sitting != self._written:
            self._written = sitting
            self.office.write(sitting)

    def _order(self, now_us: int, actions: Iterable[s.Action]) -> None:
        replays = [one for one in actions if isinstance(one, s.Replay)]
        others = [one for one in actions if not isinstance(one, s.Replay)]
        self._early += replays
        if self.state.phase is Phase.SERVING or any(isinstance(o, s.Flush) for o in others):
            self._serve(now_us)
        elif self.state.session is None:
            self._early = []
        for one in others:
            if isinstance(one, s.Say):
                move = as_move(self.names, one.message, self._frontiers)
                self.office.note(self.names.numbers[one.to], move)
            else:
                self._act(now_us, one)

    def _serve(self, now_us: int) -> None:
        """Clients have what they got at the source, and get the rest."""
        one, (early, self._early) = self.state.session, (self._early, [])
        if one is not None and (frontier := self._frontiers.get(one.id)):
            self._act(now_us, Skip(one.item, frontier))
        elif early:
            what = "served without knowing what the source delivered: some may come twice"
            self.office.tell(what, *(replay.item for replay in early[:1]))
        for replay in early:
            self._act(now_us, replay)

    def _resume(self, now_us: int) -> None:
        """Once after a restart: roll back, or go on."""
        one, phase = self.state.session, self.state.phase
        if not self._restarted:
            return
        self._restarted = False
        if one is None:
            return
        if phase in (Phase.BUFFERING, Phase.STOPPING, Phase.SERVING):
            self._act(now_us, s.Buffer(one.id, one.item))
        if phase is Phase.MOVED:
            self._act(now_us, s.Forward(one.item, one.target))
        if phase is Phase.SERVING:
            self._serve(now_us)
        if phase in _ROLLED_BACK:
            self._events.appendleft(s.Abort("the agent was restarted"))
