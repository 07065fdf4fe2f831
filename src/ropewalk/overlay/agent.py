"""The managing agent beside a broker, as a pure state machine: events in, actions out.

It owns the parts and passes events on: `liveness` and `gazette` (who is alive, what is known),
`shipping` (parcels from link to link), `custody` (what this origin keeps), `arrivals` (what is
delivered here), `interests` (who wants what), and parts that talk by notes (`parts`).
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from ropewalk.overlay.arrivals import Arrivals
from ropewalk.overlay.chart import Chart
from ropewalk.overlay.custody import Custody
from ropewalk.overlay.deck import Deck
from ropewalk.overlay.epochs import Epochs
from ropewalk.overlay.events import (
    Action,
    Charted,
    Closed,
    Due,
    Event,
    Logged,
    Published,
    Received,
    Subscribed,
    Unsubscribed,
)
from ropewalk.overlay.front import Front
from ropewalk.overlay.gazette import Gazette
from ropewalk.overlay.hook import Messenger
from ropewalk.overlay.interests import Interests
from ropewalk.overlay.interface import Interface, State
from ropewalk.overlay.liveness import Liveness
from ropewalk.overlay.parts import NEVER, Part
from ropewalk.overlay.rules import Rules
from ropewalk.overlay.settings import Settings
from ropewalk.overlay.shipping import Shipping
from ropewalk.overlay.words import (
    CHART,
    INTEREST,
    LINKS,
    Beat,
    BeatAck,
    Flood,
    FloodAck,
    Frame,
    FrameAck,
    Item,
    Letter,
    Note,
    Receipt,
    Test,
    TestAck,
    Word,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """All that an agent is given at its start."""

    me: int
    chart: Chart
    rules: Rules
    settings: Settings = field(default_factory=Settings)
    incarnation: int = 1
    """Greater than at any start before."""
    deliver_local: bool = True
    """Whether clients of this broker get each other's messages from the agent; brokers that hand
    them on by themselves need not."""
    alternates: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Second paths to some destinations, as links."""
    messengers: dict[str, Messenger] = field(default_factory=dict)
    """Protocols on topics."""


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
        self.keeper = Custody(deck, self.shipping)
        self.keeper.alternates = dict(setup.alternates)
        self.arrivals = Arrivals(deck, self.shipping, setup.rules, self._arrived)
        self.shipping.arrived = self.arrivals.arrived
        self.interests = Interests(
            deck,
            self.gazette,
            setup.rules,
            publish=self.liveness.publish,
            note=self.shipping.note,
            reachable=self.reachable,
        )
        self.front = Front(
            deck,
            setup.rules,
            self.shipping,
            self.keeper,
            self.interests,
            when_safe=self._when_safe,
            messengers=setup.messengers,
            deliver_local=setup.deliver_local,
        )
        self.epochs = Epochs(deck, self.gazette, self.liveness, self.shipping, self.reachable)
        self.parts: list[Part] = []
        self.wake_us = NEVER
        self._unsafe: deque[tuple[int, Callable[[], None]]] = deque()
        """What follows when so many records are safe."""
        self._moved = False
        self._reach: tuple[Any, frozenset[int]] = (None, frozenset())

    # --- what others may ask ----------------------------------------------------------------

    @property
    def me(self) -> int:
        """This broker's number."""
        return self.deck.me

    @property
    def things(self) -> tuple[int, ...]:
        """What it holds for down: links by number, brokers as -1 - number; its colour."""
        chart, dead = self.deck.chart, self.gazette.dead
        links = (e for e in self.gazette.down if not dead.intersection(chart.link_ends[e]))
        return tuple(sorted([*links, *(-1 - b for b in dead)]))

    def reachable(self) -> frozenset[int]:
        """Brokers to which there is a way, this one included."""
        row = self.shipping.row()
        if self._reach[0] is not row:
            dead = self.gazette.dead
            members = self.deck.chart.members
            found = frozenset(
                b for b in members if row[b] != -1 and (b not in dead or b == self.me)
            )
            self._reach = (row, found)
        return self._reach[1]

    def custody(self) -> set[tuple[tuple[int, int, str, int], int]]:
        """What it keeps as an origin: letter and destination."""
        return {
            (entry.letter.id, lane.to)
            for lane in self.keeper.everywhere()
            for entry in lane.entries.values()
        }

    def memory(self) -> dict[str, int]:
        """How much each of its stores holds."""
        faces = self.liveness.faces.values()
        lanes = list(self.keeper.everywhere())
        return {
            "custody": sum(len(lane.entries) for lane in lanes),
            "longest lane": max((len(lane.entries) for lane in lanes), default=0),
            "in flight": max((len(lane.flying) for lane in lanes), default=0),
            "link": max((face.in_flight for face in faces), default=0),
            "held": self.arrivals.held,
            "items": len(self.gazette.items),
            "pending floods": sum(len(face.pending) for face in faces),
            "keys": len(self.front.keys),
            "values": len(self.front.values.letters) + len(self.front.seen.letters),
        }

    def state(self) -> list[object]:
        """Records that stand for everything a restart needs: what a log is cut down to."""
        items = [one for one in self.gazette.items.values() if one.kind == INTEREST]
        return [*items, *self.front.state(), *self.keeper.state(), *self.arrivals.state()]

    # --- events -----------------------------------------------------------------------------

    def start(self, now_us: int, *, settled: bool = False) -> list[Action]:
        """Begin; `settled`: all links are known to work and nothing has happened yet."""
        self.deck.now_us = now_us
        self._recover()
        self.liveness.start(settled=settled)
        if not settled:
            self.arrivals.start()
        if settled or not self.liveness.faces:
            self.front.synced = True
        return self._finish()

    def handle(self, event: Event, now_us: int) -> list[Action]:
        """What an event leads to."""
        self.deck.now_us = now_us
        _HANDLERS[type(event)](self, event)
        return self._finish()

    def handle_all(self, events: Iterable[Event], now_us: int) -> list[Action]:
        """The same for events that came together: their messages share frames."""
        self.deck.now_us = now_us
        for event in events:
            _HANDLERS[type(event)](self, event)
        return self._finish()

    def _finish(self) -> list[Action]:
        if self._moved:
            self._changed()
        if self.arrivals.ready:
            self.arrivals.hand_over()
        if self.shipping.parcels or self.shipping.notes:
            self.shipping.flush()
        self.wake_us = min(
            self.liveness.wake_us,
            self.keeper.wake_us,
            self.arrivals.wake_us,
            self.interests.wake_us,
        )
        for part in self.parts:
            if part.wake_us < self.wake_us:
                self.wake_us = part.wake_us
        deck = self.deck
        out = deck.out
        deck.out = []
        return out

    def _due(self, _event: Due) -> None:
        now = self.deck.now_us
        self.liveness.due(now - self.wake_us)
        if self.keeper.wake_us <= now:
            self.keeper.due()
        self.arrivals.due()
        self.interests.due()
        for part in self.parts:
            if part.wake_us <= now:
                part.due(now)
        self._moved = self._moved or self.shipping.state() != self.shipping.known

    def _closed(self, event: Closed) -> None:
        self.liveness.closed(event.link)
        self._moved = True

    def receive(self, link: int, word: Word, now_us: int) -> list[Action]:
        """`Received`, without the wrapping: most of what happens is this."""
        self.deck.now_us = now_us
        self._read(link, word)
        return self._finish()

    def _received(self, event: Received) -> None:
        self._read(event.link, event.word)

    def _read(self, link: int, word: Word) -> None:
        liveness = self.liveness
        face = liveness.faces.get(link)
        if face is None:
            return  # a link that is not on this chart, or not yet
        was_down = face.state is State.FAILURE
        if was_down or face.suspect:
            liveness.heard(face)
        face.heard_us = self.deck.now_us
        _WORDS[type(word)](self, face, word)
        if (face.state is State.FAILURE) is not was_down:
            self._moved = True

    # --- words ------------------------------------------------------------------------------

    def _beat(self, face: Interface, word: Beat) -> None:
        if word.epoch > self.deck.chart.epoch and self.epochs.seen(word.epoch):
            self._moved = True
        self.liveness.beat_came(face, word)
        if not self.front.synced and face.up and face.odd == 0:
            self.front.synced = True

    def _beat_ack(self, face: Interface, word: BeatAck) -> None:
        self.liveness.trip_measured(face, word)

    def _flood(self, face: Interface, word: Flood) -> None:
        self.liveness.flood_came(face, word.items)

    def _flood_ack(self, face: Interface, word: FloodAck) -> None:
        self.liveness.flood_acknowledged(face, word)

    def _test(self, face: Interface, word: Test) -> None:
        self.liveness.test_came(face, word)

    def _test_ack(self, face: Interface, word: TestAck) -> None:
        self.liveness.test_passed(face, word)

    def _frame(self, face: Interface, word: Frame) -> None:
        if word.epoch > self.deck.chart.epoch and self.epochs.seen(word.epoch):
            self._moved = True
        if word.items:
            self.liveness.flood_came(face, word.items)
            if self._moved:
                self._changed()  # What a message brings is known before it is routed.
        self.shipping.frame_came(face, word)

    def _frame_ack(self, face: Interface, word: FrameAck) -> None:
        face.acknowledged(word.session, word.got, word.extra)

    def _noted(self, note: Note) -> None:
        if isinstance(note.body, Receipt):
            self.keeper.receipt(note.sender, note.body)
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
        elif item.kind == CHART:
            self.epochs.consider()
        elif item.kind == LINKS:
            self._hear_of_links(item)
        self._moved = True

    def _hear_of_links(self, item: Item) -> None:
        """A broker that is held for dead and reads it is not dead.

        Nor does it wait for silence on a link of which the other end says that it is down.
        """
        if self.me in self.gazette.dead:
            self.liveness.contradict()
        if item.broker != self.me:
            for one in item.body.down:
                face = self.liveness.faces.get(one.link)
                if face is not None and face.peer == item.broker:
                    self.liveness.denied(face)

    def _changed(self) -> None:
        """What is down has changed, or may have."""
        self._moved = False
        before = self.shipping.known
        failed = self.shipping.refresh()
        if before != self.shipping.known:
            self.interests.changed()
            self.keeper.changed(failed=failed)
            for part in self.parts:
                part.changed(self.deck.now_us)

    # --- clients and charts -----------------------------------------------------------------

    def _published(self, event: Published) -> None:
        self.front.published(event)

    def _subscribed(self, event: Subscribed) -> None:
        self.front.subscribed(event)

    def _unsubscribed(self, event: Unsubscribed) -> None:
        self.front.unsubscribed(event)

    def _arrived(self, letter: Letter, late: bool) -> None:
        self.front.deliver(letter, late)

    def _charted(self, event: Charted) -> None:
        self._moved = self.epochs.charted(event.chart) or self._moved

    def _when_safe(self, count: int, then: Callable[[], None]) -> None:
        if count == 0 and not self._unsafe:
            then()
        else:
            self._unsafe.append((count, then))

    def _logged(self, event: Logged) -> None:
        while self._unsafe and self._unsafe[0][0] <= event.count:
            self._unsafe.popleft()[1]()
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
        self.front.synced = bool(items)
        self.keeper.recover(records)
        self.arrivals.recover(records)
        self.front.recover(records)
        for part in self.parts:
            part.recover(self.deck.now_us, records)

    # --- the parts' office ------------------------------------------------------------------

    @property
    def incarnation(self) -> int:
        """Of this agent."""
        return self.deck.incarnation

    def note(self, to: int, body: Any) -> None:
        """A part's note; it leaves when all that was written before it is safe."""
        self._when_safe(self.deck.written, lambda: self.shipping.note(to, body))

    def write(self, record: Any) -> None:
        """A part's record."""
        self.deck.write(record)

    def tell(self, what: str, *about: Any) -> None:
        """A part's word to people."""
        self.deck.tell(what, *about)


_HANDLERS: dict[type, Callable[[Agent, Any], None]] = {
    Received: Agent._received,
    Closed: Agent._closed,
    Published: Agent._published,
    Subscribed: Agent._subscribed,
    Unsubscribed: Agent._unsubscribed,
    Due: Agent._due,
    Logged: Agent._logged,
    Charted: Agent._charted,
}
_WORDS: dict[type, Callable[[Agent, Interface, Any], None]] = {
    Beat: Agent._beat,
    BeatAck: Agent._beat_ack,
    Flood: Agent._flood,
    FloodAck: Agent._flood_ack,
    Test: Agent._test,
    TestAck: Agent._test_ack,
    Frame: Agent._frame,
    FrameAck: Agent._frame_ack,
}
