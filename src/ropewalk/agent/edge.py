"""The edge around the pure core: sockets, clock, log and trace on one side, events on the other.

Whatever happens in one turn of the event loop is handed to the core together, so that messages
share frames, records share a sync and acknowledgements share a write. Nothing here decides
anything: it carries out the core's actions.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, cast

from msgspec import MsgspecError

from ropewalk.agent.brokers.contract import Incoming, Lane, Local
from ropewalk.agent.clock import now_us
from ropewalk.agent.deliveries import Deliveries, Delivery, delivery_of
from ropewalk.agent.fragments import Desk, cut
from ropewalk.agent.refusals import Refusals
from ropewalk.agent.roles import Log, Sealer, Witness
from ropewalk.overlay import Agent
from ropewalk.overlay.events import (
    Accepted,
    AcceptedRun,
    Action,
    Burst,
    Closed,
    Confirmed,
    Deliver,
    Disconnect,
    Due,
    Event,
    Logged,
    Published,
    Received,
    Refused,
    Send,
    Subscribed,
    Tell,
    Unsubscribed,
    Write,
)
from ropewalk.overlay.parts import NEVER
from ropewalk.overlay.runs import weight
from ropewalk.overlay.wire import decode, encode
from ropewalk.overlay.words import Letter, Run

_topic = attrgetter("topic")
AT_ONCE = 512
"""Messages in one turn, roughly: heartbeats must not wait for long."""
COUNTED = ("published", "accepted", "refused", "dropped", "delivered", "words")


class Edge:
    """Drives one core; keeps `contract.Ears` and `contract.Hears`."""

    def __init__(
        self,
        core: Agent,
        *,
        seal: Sealer,
        log: Log,
        witness: Witness,
        tell: Callable[[str, tuple[Any, ...]], None],
    ) -> None:
        self.core, self._seal, self._log, self._witness, self._tell = core, seal, log, witness, tell
        self._loop = asyncio.get_running_loop()
        self._events: deque[Event] = deque()
        self._turning = False
        self._timer: asyncio.TimerHandle | None = None
        self._timer_us = NEVER
        self._late_us = 0
        self._desk = Desk()
        self._lanes: dict[int, Lane] = {}
        self._links: dict[str, int] = {}
        self.counts = dict.fromkeys(COUNTED, 0)
        self._refusals = Refusals(
            self.counts, tell=tell, later=self._loop.call_later, again=self._hand_again
        )
        self._more: dict[type, Callable[[Any], None]] = {
            Refused: self._refusals.refused,
            Confirmed: self._confirmed,
            Disconnect: lambda one: self._lanes[one.link].abort(),
            Tell: lambda one: tell(one.what, one.about),
        }
        self.mediate: Callable[[Sequence[Incoming]], Sequence[Incoming]] | None = None
        """What becomes of messages before they are taken; see `transform`."""

    def attach(self, local: Local, lanes: dict[str, tuple[int, Lane]]) -> None:
        """The connections: to the own broker, and by neighbour to theirs."""
        self._local = self._refusals.local = local
        self.deliveries = Deliveries(local, self._log.append, self._delivered)
        self._lanes = dict(lanes.values())
        self._links = {name: link for name, (link, _) in lanes.items()}
        self._peers = {link: name for name, link in self._links.items()}

    def begin(self, last: Iterable[Letter] = ()) -> None:
        """Start the core; what is in custody from before has been accepted.

        So have the `last` letters that the earlier life took into custody: a destination may have
        had one before it was safe here, and the agent was killed before it could write that down.
        """
        actions = self.core.start(self.now_us)
        lanes = self.core.keeper.everywhere()
        kept = {one.id: one for one in last}
        kept |= {one.id: one for lane in lanes for one in lane.letters()}
        self._witness.accepted(list(kept.values()), again=True)
        self._act(actions)

    def stop(self) -> None:
        """Take nothing more from clients."""
        self._refusals.stopping = True
        self._local.pause()

    def also(self, kind: type, act: Callable[[Any], None]) -> None:
        """Somebody else carries out a kind of action."""
        self._more[kind] = act

    @property
    def now_us(self) -> int:
        """This agent's clock."""
        return now_us()

    # --- turns ------------------------------------------------------------------------------

    def hand(self, event: Event) -> None:
        """Something happens to the core, with whatever else happens in this turn."""
        self._events.append(event)
        self._wake()

    def _wake(self) -> None:
        if not self._turning:
            self._turning = True
            self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        self._turning = False
        some = self._some()
        if self._events:
            self._wake()
        self._act(self.core.handle_all(some, self.now_us))
        if self._log.wants_compaction and self.deliveries.settled:
            self._log.compact(self.core.records())

    def _some(self) -> list[Event]:
        """Events for one turn: what publications are told is up to date for all of them.

        So nothing else follows a publication in the same turn. It might make room where one was
        refused, and the next of its topic would overtake it.
        """
        events, lines, some, brought = self._events, self._refusals.lines, list[Event](), 0
        publications = False
        while events and brought < AT_ONCE:
            event = events[0]
            brought += weight(event)
            if isinstance(event, Published | Burst):
                publications = True
                if lines and event.topic in lines:
                    events.popleft()
                    for one in (event,) if isinstance(event, Published) else event.each():
                        self._refusals.hold(one)
                    continue
            elif publications:
                break
            some.append(events.popleft())
        return some

    def taken_late_us(self) -> int:
        """How much later than it asked for this agent was woken, at most, since the last call."""
        late_us, self._late_us = self._late_us, 0
        return late_us

    def _due(self) -> None:
        now_us = self.now_us
        self._late_us = max(self._late_us, now_us - self._timer_us)
        self._timer, self._timer_us = None, NEVER
        if self.core.wake_us <= now_us:
            self._act(self.core.handle(Due(), now_us))
        else:
            self._set_timer()

    def _set_timer(self) -> None:
        wake_us = self.core.wake_us
        if wake_us < self._timer_us:
            if self._timer is not None:
                self._timer.cancel()
            self._timer_us = wake_us
            self._timer = self._loop.call_at(wake_us / 1e6, self._due)

    # --- carrying out -----------------------------------------------------------------------

    def _act(self, actions: list[Action]) -> None:
        words: dict[int, list[bytes]] = {}
        records: list[Any] = []
        deliveries: list[Delivery] = []
        accepted: list[Accepted | AcceptedRun] = []
        for action in actions:
            kind = type(action)
            if kind is Write:
                records.append(action.record)  # type: ignore[union-attr]
            elif kind is Accepted or kind is AcceptedRun:
                accepted.append(action)  # type: ignore[arg-type]
            elif kind is Deliver:
                deliveries.append(delivery_of(self.core, action))  # type: ignore[arg-type]
            elif kind is Send:
                pieces = words.setdefault(action.link, [])  # type: ignore[union-attr]
                pieces += self._sealed(action.link, action.word)  # type: ignore[union-attr]
            else:
                self._more.get(kind, self._left)(action)
        if accepted:
            self._saw(accepted)
        # Seen first: no log and no neighbour knows of what the trace lacks after a crash.
        self._witness.flush()
        if deliveries:
            self.deliveries.add(deliveries)
        if records:
            self.deliveries.behind(records)
        for link, some in words.items():
            self._lanes[link].send(some)
        if accepted:
            self._accepted(accepted)
        self._set_timer()

    def _left(self, action: Action) -> None:
        """An action that nobody here carries out."""
        self._tell("nobody here carries out", (type(action).__name__,))

    def _sealed(self, link: int, word: Any) -> list[bytes]:
        seal, peer = self._seal.seal, self._peers[link]
        return [seal(link, peer, piece) for piece in cut(encode(word))]

    def _saw(self, accepted: Sequence[Accepted | AcceptedRun]) -> None:
        """Publications are in custody; the broker itself has given them to its own clients."""
        for kind, some in groupby(accepted, type):
            if kind is Accepted:
                self._saw_letters([one.letter for one in cast("Iterator[Accepted]", some)])
            else:
                for one in cast("Iterator[AcceptedRun]", some):
                    self._saw_run(one.run)

    def _saw_letters(self, letters: Sequence[Letter]) -> None:
        self._witness.accepted(letters)
        here = {topic: self.core.interests.subscribers(topic) for topic in map(_topic, letters)}
        if any(here.values()):
            own = [Deliver(one, here[one.topic]) for one in letters if here[one.topic]]
            self._witness.delivered(own)

    def _saw_run(self, run: Run) -> None:
        self._witness.accepted_run(run)
        here = self.core.interests.subscribers(run.letter.topic)
        if here:
            self._witness.delivered([Deliver(one, here) for one in run.letters()])

    def _confirmed(self, action: Confirmed) -> None:
        """A subscription that every member of the federation knows of."""
        if action.by >= self.core.interests.members_for(action.pattern):
            self._witness.confirmed(action.subscriber, action.pattern)

    def _accepted(self, some: Sequence[Accepted | AcceptedRun]) -> None:
        tickets: list[Any] = []
        for one in some:
            if type(one) is Accepted:
                tickets.append(one.ticket)
            else:
                tickets += one.tickets  # type: ignore[union-attr]
        self._local.accept(tickets)
        self.counts["accepted"] += len(tickets)

    def _hand_again(self, messages: Sequence[Incoming]) -> None:
        """Publications that were refused once."""
        self._act(self.core.handle_all(messages, self.now_us))

    def _delivered(self, some: Sequence[Delivery]) -> None:
        self.counts["delivered"] += len(some)
        self._witness.delivered([one.action for one in some])
        self._witness.flush()

    def safe(self, count: int) -> None:
        """So many records of the log are safe."""
        safe = self.deliveries.safe(count)
        if safe:
            self.hand(Logged(safe))

    # --- the own broker (contract.Ears) -----------------------------------------------------

    def published(self, messages: Sequence[Incoming]) -> None:
        """Clients have published."""
        if self.mediate is not None:
            messages = self.mediate(messages)
        self._events += messages
        self.counts["published"] += len(messages)
        self._wake()

    def burst(self, some: Burst) -> None:
        """The same of messages of one topic that have nothing but a payload, and maybe a key."""
        if self.mediate is not None:
            self.published(some.each())
            return
        many = len(some.payloads)
        for at in range(0, many, AT_ONCE):
            part = slice(at, at + AT_ONCE)
            self._events.append(
                Burst(
                    *(some.topic, some.payloads[part], some.tickets[part], some.keys[part]),
                    some.producer,
                )
            )
        self.counts["published"] += many
        self._wake()

    def heard(self, words: Sequence[bytes]) -> None:
        """Neighbours have spoken."""
        self.counts["words"] += len(words)
        for data in words:
            opened = self._seal.open(data)
            if opened is None or opened.link not in self._lanes:
                continue
            word = self._desk.join(opened.link, opened.payload)
            if word is not None:
                self._hear(opened.link, word)

    def _hear(self, link: int, word: bytes) -> None:
        try:
            self._events.append(Received(link, decode(word)))
        except MsgspecError as error:
            self._tell("nonsense", (link, str(error)))
        self._wake()

    def subscribed(self, subscriber: str, pattern: str) -> None:
        """Clients want a pattern."""
        managing = self.core.managing
        stood = managing is not None and managing.carrying.expects(pattern)
        self._witness.subscribed(subscriber, pattern, stood=stood)
        self.deliveries.returned(pattern)
        self.hand(Subscribed(subscriber, pattern))

    def unsubscribed(self, subscriber: str, pattern: str) -> None:
        """They no longer do."""
        self._witness.unsubscribed(subscriber, pattern)
        self.deliveries.returned(pattern)
        self.hand(Unsubscribed(subscriber, pattern))

    def missing(self, patterns: frozenset[str]) -> None:
        """Clients that wanted these are not back yet."""
        self.deliveries.miss(patterns)

    def delivered(self, count: int) -> None:
        """The broker confirms."""
        self.deliveries.delivered(count)

    def up(self) -> None:
        """The broker is there."""
        self._tell("broker up", ())
        self.deliveries.broker_up()

    def down(self, why: str) -> None:
        """The broker is gone: neighbours' words no longer come, so no link works."""
        self._tell("broker down", (why,))
        self.deliveries.broker_down()
        for link in self._lanes:
            self._desk.forget(link)
            self.hand(Closed(link))

    # --- neighbours' brokers (contract.Hears) -----------------------------------------------

    def opened(self, neighbour: str) -> None:
        """A neighbour's broker can be reached."""
        self._tell("link open", (neighbour,))

    def closed(self, neighbour: str, why: str) -> None:
        """It cannot, or its agent does not listen."""
        self._tell("link closed", (neighbour, why))
        self.hand(Closed(self._links[neighbour]))
