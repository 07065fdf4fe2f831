"""The managing agent beside a broker, as a pure state machine: events in, actions out.

It owns the parts and passes events on: `liveness` and `gazette` (who is alive, what is known),
`shipping` (parcels from link to link), `custody` (what this origin keeps), `arrivals` (what is
delivered here), `interests` (who wants what), and parts that talk by notes (`parts`).
"""

from collections.abc import Callable, Iterable
from itertools import groupby
from typing import TYPE_CHECKING, Any, cast

from ropewalk.overlay.arrivals import Arrivals
from ropewalk.overlay.custody import Custody
from ropewalk.overlay.deck import Deck
from ropewalk.overlay.epochs import Epochs
from ropewalk.overlay.events import (
    Action,
    Burst,
    Charted,
    Closed,
    Due,
    Event,
    Happened,
    Logged,
    MoveItem,
    Proposed,
    Published,
    Received,
    Subscribed,
    Unsubscribed,
)
from ropewalk.overlay.front import Front
from ropewalk.overlay.gazette import Gazette
from ropewalk.overlay.interests import Interests
from ropewalk.overlay.interface import FAILURE, Interface
from ropewalk.overlay.lane import Entry
from ropewalk.overlay.liveness import Liveness
from ropewalk.overlay.logbook import Logbook
from ropewalk.overlay.parts import NEVER, Part
from ropewalk.overlay.setup import Setup
from ropewalk.overlay.shipping import Shipping, View
from ropewalk.overlay.standby import Standby
from ropewalk.overlay.talk.talking import Talking
from ropewalk.overlay.totals import Totals
from ropewalk.overlay.view import LetterId, custody_of, memory_of, records_of, things_of
from ropewalk.overlay.words import (
    INTEREST,
    LINKS,
    Beat,
    BeatAck,
    Flood,
    FloodAck,
    Frame,
    FrameAck,
    Item,
    Note,
    Receipt,
    Test,
    TestAck,
    Word,
)

if TYPE_CHECKING:
    from ropewalk.overlay.managing import Managing

__all__ = ["Agent", "Setup"]


class Agent:
    """One broker's managing agent."""

    def __init__(self, setup: Setup, records: Iterable[object] = ()) -> None:
        self.setup, self._records = setup, list(records)
        deck = self.deck = Deck(setup.me, setup.chart, setup.settings, setup.incarnation)
        self.gazette = Gazette(deck)
        self.liveness = Liveness(deck, self.gazette, self._news)
        self.shipping = Shipping(deck, self.gazette, self.liveness)
        self.liveness.shipper = self.shipping
        self.shipping.noted = self._noted
        self.book = Logbook(deck, self.shipping.note, self.reachable)
        self.keeper = Custody(deck, self.shipping)
        self.keeper.alternates = dict(setup.alternates)
        self.arrivals = Arrivals(deck, self.shipping, setup.rules)
        self.shipping.arrived = self.arrivals.arrived
        self.shipping.run_arrived = self.arrivals.run_arrived
        self.standby = Standby(deck, self.gazette, self.liveness, self.shipping, self.arrivals)
        self.interests = Interests(
            deck,
            self.gazette,
            setup.rules,
            publish=self.liveness.publish,
            note=self.shipping.note,
            reachable=self.reachable,
        )
        self.shipping.stranded = self.interests.stranded
        self.talking = Talking(deck, setup.protocols)
        self.front = Front(
            *(deck, setup.rules, self.shipping, self.keeper, self.interests),
            book=self.book,
            talking=self.talking,
            deliver_local=setup.deliver_local,
        )
        self.arrivals.deliver = self.front.deliver
        self.totals = Totals(
            *(deck, setup.rules, self.shipping, self.keeper, self.interests, self.book),
            when_safe=self.book.when_safe,
            deliver=self.front.deliver,
        )
        self.front.totals = self.arrivals.totals = self.totals
        self.interests.also = self.totals.reads
        self.epochs = Epochs(
            deck, self.gazette, self.liveness, self.shipping, self.keeper, self.reachable
        )
        self.parts: list[Part] = [self.talking] if self.talking.takes_part(self._records) else []
        if self.totals.topics:
            self.parts += [self.totals.sequencer, self.totals.desk]
        self.managing: Managing | None = None
        if setup.council is not None:
            from ropewalk.overlay import managing  # with the planner's modules, which take 1 s

            self.managing = managing.Managing(deck, self, setup)
            self.parts += self.managing.parts
        self.wake_us = NEVER
        self._moved = False
        self._acted: View | None = None
        """What was down when the parts were last told of a change."""
        self._reach: tuple[Any, frozenset[int]] = (None, frozenset())

    @property
    def me(self) -> int:
        """This broker's number."""
        return self.deck.me

    @property
    def things(self) -> tuple[int, ...]:
        """What it holds for down: links by number, brokers as -1 - number; its colour."""
        return things_of(self)

    def reachable(self) -> frozenset[int]:
        """Brokers to which there is a way, this one included."""
        row = self.shipping.row()
        if self._reach[0] is not row:
            dead, me = self.gazette.dead, self.me
            members = self.deck.chart.members
            found = frozenset(b for b in members if row[b] != -1 and (b not in dead or b == me))
            self._reach = (row, found)
        return self._reach[1]

    def custody(self) -> set[tuple[LetterId, int]]:
        """What it keeps as an origin: letter and destination."""
        return custody_of(self)

    def memory(self) -> dict[str, int]:
        """How much each of its stores holds."""
        return memory_of(self)

    def records(self) -> list[object]:
        """All that a restart needs: what a log is cut down to."""
        return records_of(self)

    # --- events -----------------------------------------------------------------------------

    def start(self, now_us: int, *, settled: bool = False) -> list[Action]:
        """Begin; `settled`: all links are known to work and nothing has happened yet."""
        self.deck.now_us = now_us
        self._recover()
        self.liveness.start(settled=settled)
        if not settled:
            self.arrivals.start()
        self.front.begin([face.peer for face in self.liveness.faces.values()], settled=settled)
        self.liveness.knows = self.front.in_touch
        return self._finish()

    def handle(self, event: Event, now_us: int) -> list[Action]:
        """What an event leads to."""
        self.deck.now_us = now_us
        _HANDLERS[type(event)](self, event)
        return self._finish()

    def handle_all(self, events: Iterable[Event], now_us: int) -> list[Action]:
        """The same for events that came together: their messages share frames."""
        self.deck.now_us = now_us
        for kind, some in groupby(events, type):
            if kind is Published:
                self.front.published(cast("Iterable[Published]", some))
            else:
                for event in some:
                    _HANDLERS[kind](self, event)
        return self._finish()

    def _finish(self) -> list[Action]:
        if self._moved:
            self._changed()
        if self.book.waiting:
            self.book.work_off()
        if self.totals.homes:
            self.totals.pump()
        if self.arrivals.ready:
            self.arrivals.hand_over()
        if self.epochs.leaving and not self.keeper.keeps:
            self.epochs.drained()
        if self.shipping.parcels or self.shipping.notes:
            self.shipping.flush()
        self.wake_us = min(
            self.liveness.wake_us,
            self.keeper.wake_us,
            self.arrivals.wake_us,
            self.interests.wake_us,
            self.totals.wake_us,
        )
        for part in self.parts:
            if part.wake_us < self.wake_us:
                self.wake_us = part.wake_us
        deck = self.deck
        out, deck.out = deck.out, []
        return out

    def _due(self, _event: Due) -> None:
        now = self.deck.now_us
        self.liveness.due(now - self.wake_us)
        if self.keeper.wake_us <= now:
            self.keeper.due()
        self.gazette.expire()
        self.arrivals.due()
        self.interests.due()
        self.totals.due()
        for part in self.parts:
            if part.wake_us <= now:
                part.due(now)
        self._moved = self._moved or self.shipping.state() != self.shipping.known

    def _closed(self, event: Closed) -> None:
        self.liveness.closed(event.link)
        self._moved = True

    def receive(self, link: int, word: Word, now_us: int) -> list[Action]:
        """`Received`, without the wrapping: most of what happens is this."""
        deck = self.deck
        deck.now_us = now_us
        self._read(link, word)
        if self._moved or type(word) not in _QUIET:
            return self._finish()
        if self.liveness.wake_us < self.wake_us:
            self.wake_us = self.liveness.wake_us
        out, deck.out = deck.out, []
        return out

    def _read(self, link: int, word: Word) -> None:
        liveness = self.liveness
        face = liveness.faces.get(link)
        if face is None:
            return  # a link that is not on this chart, or not yet
        was_down = face.state is FAILURE
        if was_down or face.suspect:
            liveness.heard(face)
        face.heard_us = self.deck.now_us
        _WORDS[type(word)](self, face, word)
        if (face.state is FAILURE) is not was_down:
            self._moved = True

    # --- words ------------------------------------------------------------------------------

    def _beat(self, face: Interface, word: Beat) -> None:
        if word.epoch > self.deck.chart.epoch and self.epochs.seen(word.epoch):
            self._moved = True
        self.liveness.beat_came(face, word)
        if not self.liveness.knows and self.liveness.agrees(face, word):
            self.front.agreed(face.peer)
            self.liveness.knows = self.front.in_touch

    def _frame(self, face: Interface, word: Frame) -> None:
        if word.epoch > self.deck.chart.epoch and self.epochs.seen(word.epoch):
            self._moved = True
        if word.items:
            self.liveness.flood_came(face, word.items)
            if self._moved:
                self._changed()  # What a message brings is known before it is routed.
        self.shipping.frame_came(face, word)

    def _noted(self, note: Note) -> None:
        if isinstance(note.body, Receipt):
            gone = self.keeper.receipt(note.sender, note.body)
            if gone and self.totals.homes:
                # None of a run: those that a home has numbered are kept one by one.
                given = [one.letter for _, one in gone if isinstance(one, Entry)]
                self.totals.acknowledged(note.sender, given)
        elif not self.interests.noted(note.sender, note.body):
            for part in self.parts:
                if part.heard(self.deck.now_us, note.sender, note.body):
                    break

    # --- news -------------------------------------------------------------------------------

    def _news(self, item: Item) -> None:
        """An item that is newer than what was known, from others or from here."""
        mine = item.broker == self.me
        gone = [] if mine else self.gazette.take(item)
        for old in gone:
            if old.kind == INTEREST:
                self.interests.forget(old)
        if item.kind == INTEREST:
            if not mine:
                self.front.wanted(item)
        elif item.kind == LINKS:
            self._hear_of_links(item)
        self._moved = True

    def _hear_of_links(self, item: Item) -> None:
        """A broker that is held for dead and reads it is not dead.

        Nor does it wait for silence on a link of which the other end says that it is down.
        """
        if item.broker == self.me:
            return
        if self.me in self.gazette.dead:
            self.liveness.contradict()
        for one in item.body.down:
            face = self.liveness.faces.get(one.link)
            if face is not None and face.peer == item.broker:
                self.liveness.denied(face)

    def _changed(self) -> None:
        """What is down has changed, or may have."""
        self._moved = False
        self.epochs.consider()
        before = None if self.shipping.known is None else self._acted
        self.shipping.refresh()
        now = self._acted = self.shipping.known or self.shipping.state()
        if before != now:
            failed = before is None or not (now[0] <= before[0] and now[1] <= before[1])
            self.interests.changed()
            self.keeper.changed(failed=failed)
            self.totals.changed()
            self.standby.changed(before)
            for part in self.parts:
                part.changed(self.deck.now_us)

    def _subscribed(self, event: Subscribed) -> None:
        self.front.subscribed(event)
        self.totals.wishes(event.pattern)

    def _unsubscribed(self, event: Unsubscribed) -> None:
        self.front.unsubscribed(event)
        self.totals.wishes(event.pattern)

    def _charted(self, event: Charted) -> None:
        self._moved = self.epochs.charted(event.chart) or self._moved
        self.front.leaving = self.epochs.leaving > 0

    def _logged(self, event: Logged) -> None:
        self.book.logged(event.count)
        self.arrivals.logged(event.count)

    # --- restart ----------------------------------------------------------------------------

    def _recover(self) -> None:
        """Go on from the records of the log."""
        records, self._records = self._records, []
        items = [one for one in records if isinstance(one, Item)]
        for item in items:
            if item.broker != self.me and self.gazette.is_news(item):
                for old in self.gazette.take(item):
                    self.interests.forget(old)
                self.interests.heard(item)
        self.front.synced = self.front.synced_home = bool(items)
        self.keeper.recover(records)
        self.arrivals.recover(records)
        self.front.recover(records)
        for part in self.parts:
            part.recover(self.deck.now_us, records)
        self.totals.start()


_HANDLERS: dict[type, Callable[[Agent, Any], None]] = {
    Received: lambda agent, event: agent._read(event.link, event.word),
    Closed: Agent._closed,
    Published: lambda agent, event: agent.front.published((event,)),
    Burst: lambda agent, event: agent.front.burst(event),
    Subscribed: Agent._subscribed,
    Unsubscribed: Agent._unsubscribed,
    Due: Agent._due,
    Logged: Agent._logged,
    Charted: Agent._charted,
    Proposed: lambda agent, event: agent.managing.proposed(event) if agent.managing else None,
    MoveItem: lambda agent, event: agent.managing.move(event) if agent.managing else None,
    Happened: lambda agent, event: agent.managing.happened(event) if agent.managing else None,
}
_QUIET = frozenset({Flood, FloodAck, BeatAck})
"""Words that concern nothing but liveness, unless they bring news."""
_WORDS: dict[type, Callable[[Agent, Interface, Any], None]] = {
    Beat: Agent._beat,
    BeatAck: lambda agent, face, word: agent.liveness.trip_measured(face, word),
    Flood: lambda agent, face, word: agent.liveness.flood_came(face, word.items),
    FloodAck: lambda agent, face, word: agent.liveness.flood_acknowledged(face, word),
    Test: lambda agent, face, word: agent.liveness.test_came(face, word),
    TestAck: lambda agent, face, word: agent.liveness.test_passed(face, word),
    Frame: Agent._frame,
    FrameAck: lambda _, face, word: face.acknowledged(word.session, word.got, word.extra),
}
