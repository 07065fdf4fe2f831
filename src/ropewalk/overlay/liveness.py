"""Who is alive: heartbeats, silence, link tests and floods (Jia 2014, 6.1.3 and 6.2).

Beyond the thesis: a link that is silent for some beats is suspect before it is dead; what this
agent itself slept through is no silence; a closed connection counts at once; news are items of
which the newest counts, so that several changes at once cannot be mixed up; neighbours that know
different items notice it by their beats, so that a lost flood is mended.
"""

from collections.abc import Callable

from ropewalk.overlay.deck import Deck
from ropewalk.overlay.events import Disconnect
from ropewalk.overlay.floods import Floods
from ropewalk.overlay.gazette import Gazette
from ropewalk.overlay.interface import ASK_EVERY, FAILURE, NORMAL, WAITING, Interface, Shipper
from ropewalk.overlay.parts import NEVER
from ropewalk.overlay.words import (
    INTEREST,
    LINKS,
    WHOLE,
    Beat,
    BeatAck,
    Down,
    Item,
    LinkStates,
    Test,
    TestAck,
)

MOST_EXTRA = 64
"""Frames beyond a gap that a beat tells; others are told by later ones."""
SESSION_BITS = 20
"""Sessions of one life: a session's number is new after every restart, and grows."""


class Liveness(Floods):
    """The interfaces of one agent and what it knows by them."""

    def __init__(self, deck: Deck, gazette: Gazette, on_news: Callable[[Item], None]) -> None:
        super().__init__(deck, gazette, on_news)
        self.shipper: Shipper | None = None
        self.away: Callable[[], tuple[int, ...]] = tuple
        """Gateways that are out of reach, as far as edges need to know."""
        self.announce_us = NEVER
        """When the links that have not passed their test by then are announced as down."""
        self.whole_us = NEVER
        """When everything has been said that counts in this life."""
        self.stalled_us = 0
        self.knows = True
        """Whether this agent knows who subscribes; its beats say so."""
        self._assumed = False
        self._sessions = 0
        self.false_alarms = self.deaths = self.pauses = 0
        """Links held for silent that were not; held for down; times without a beat for so long that
        a detector that knows nothing but the time would have held one for down."""

    def reckon_wake(self) -> None:
        """When it wants to be looked at: what is heard meanwhile can only put that off."""
        faces = (face.wake_us for face in self.faces.values())
        self.wake_us = min([self.announce_us, self.whole_us, *faces])

    def start(self, *, settled: bool) -> None:
        """Open an interface for every link; `settled`: they are known to work."""
        self._assumed = settled
        self.open_all()
        for face in self.faces.values():
            if settled:
                face.state, face.heard_us, face.normal_us = NORMAL, self._deck.now_us, 0
        if not settled:
            self.announce_us = self._deck.now_us + self._deck.settings.dead_us
            self.whole_us = self._deck.now_us + self._deck.settings.whole_us
        self.reckon_wake()

    def open_all(self) -> list[Interface]:
        """An interface for every link of the chart; returns those of links that are gone."""
        chart, deck = self._deck.chart, self._deck
        ports = chart.ports(deck.me)
        gone = [self.faces.pop(link) for link in list(self.faces) if link not in ports]
        # A link may come back on a later chart, and its other end may not have seen it go.
        for link, peer in ports.items():
            if link not in self.faces:
                face = Interface(link, peer, chart.audience(peer), deck.settings)
                face.next_beat_us = deck.now_us
                self._new_session(face)
                self.faces[link] = face
        self.reckon_wake()
        return gone

    def due(self, late_us: int) -> None:
        """Beats to send, floods to send again, links that have been silent for too long.

        `late_us` is how much later this agent was woken than it asked for: who sleeps hears
        nothing, so that time is no silence.
        """
        now = self._deck.now_us
        if late_us > self._deck.settings.beat_us // 2:
            self.stalled_us = late_us
            for face in self.faces.values():
                face.heard_us = min(now, face.heard_us + late_us)
                face.test_us = min(now, face.test_us + late_us)
        for face in list(self.faces.values()):
            if face.again_us <= now:
                self._flood_again(face)
            if face.vouched:
                continue
            if face.silent_at_us <= now:
                self._silent(face)
            if face.next_beat_us <= now:
                self._beat(face)
        self.stalled_us = 0
        if self.announce_us <= now:
            self.announce()
        if self.whole_us <= now:
            self.whole_us = NEVER
            self.publish(self._gazette.whole())
        self.reckon_wake()

    def _beat(self, face: Interface) -> None:
        deck = self._deck
        face.beats += 1
        face.next_beat_us = deck.now_us + face.every_us
        deck.send(
            face.link,
            Beat(
                deck.incarnation,
                face.beats,
                deck.now_us,
                face.every_us,
                self.stalled_us,
                self._gazette.digest(face.scopes),
                deck.chart.epoch,
                face.state is FAILURE,
                face.beats % ASK_EVERY == 1,
                face.peer_session,
                face.got,
                tuple(sorted(face.extra)[:MOST_EXTRA]) if face.extra else (),
                self.knows,
            ),
        )
        self.stalled_us = 0
        if face.state is FAILURE:
            if deck.now_us - face.heard_us < face.dead_us:
                self._test(face)
        elif face.sent and self.shipper is not None:
            self.shipper.overdue(face)

    def _silent(self, face: Interface) -> None:
        if not face.suspect:
            face.suspect = True
            if self.shipper is not None:
                self.shipper.suspected(face)
        if face.silent_at_us <= self._deck.now_us:
            self.fail(face)

    def fail(self, face: Interface) -> None:
        """A link is down: say so, and abort what it may hold back."""
        if face.state is FAILURE:
            return
        deck, settings = self._deck, self._deck.settings
        hasty = deck.now_us - face.failed_us < settings.calm_us
        face.needs = min(2 * face.needs, settings.most_tests) if hasty else settings.tests
        face.failed_us = deck.now_us
        face.state, face.suspect, face.passed, face.peer_back = FAILURE, False, 0, False
        face.lost = Down(face.link, *self._gazette.stamp(face.peer, face.link))
        face.again_us = NEVER
        self.deaths += 1
        deck.out.append(Disconnect(face.link))
        deck.tell("link down", face.link)
        self.announce()
        if self.shipper is not None:
            self.shipper.lost(face)

    def denied(self, face: Interface) -> None:
        """The other end holds the link for down: it works both ways or not at all.

        Not right after a recovery: the two ends pass their tests at different times, and to begin
        anew here would spoil the other end's. Nobody uses the link before both have passed.
        """
        settings = self._deck.settings
        patience = settings.dead_us if face.agreed else settings.agree_us
        if face.up and self._deck.now_us - face.normal_us > patience:
            self.fail(face)

    def closed(self, link: int) -> None:
        """The connection was closed: no need to wait for silence."""
        face = self.faces.get(link)
        if face is not None:
            self.fail(face)

    def heard(self, face: Interface) -> None:
        """Anything at all came over a link that was suspect, or down."""
        face.heard_us = self._deck.now_us
        if face.suspect:
            face.suspect = False
            self.false_alarms += 1
        if face.state is FAILURE and not face.passed and face.tested == face.test_number:
            self._test(face)

    def _test(self, face: Interface) -> None:
        """Ask whether the link works both ways; one test at a time, and all in a row."""
        deck = self._deck
        if face.tested != face.test_number:
            patience = max(deck.settings.dead_us, int(2 * face.quality.trip_us))
            if deck.now_us - face.test_us < patience:
                return
            face.passed = 0
        face.test_number += 1
        face.test_us = deck.now_us
        deck.send(face.link, Test(deck.incarnation, face.test_number))

    def test_came(self, face: Interface, word: Test) -> None:
        """Answer a link test."""
        self._deck.send(face.link, TestAck(word.incarnation, word.number))

    def test_passed(self, face: Interface, word: TestAck) -> None:
        """One test of several in a row has been passed."""
        if word.incarnation != self._deck.incarnation or word.number != face.test_number:
            return
        face.tested = word.number
        if face.state is not FAILURE:
            return
        face.passed += 1
        self._consider(face)

    def _consider(self, face: Interface) -> None:
        """Use a link again that has passed its tests.

        If the other end was down as well and is up again, it has tested the link both ways: a few
        tests are enough here. Or else one end might give up before the other is through, again and
        again.
        """
        needs = self._deck.settings.tests if face.peer_back else face.needs
        if face.passed >= needs:
            self._recover(face)

    def _recover(self, face: Interface) -> None:
        deck = self._deck
        face.state = WAITING if face.pending else NORMAL
        face.suspect, face.passed, face.normal_us = False, 0, deck.now_us
        face.agreed = not face.peer_down
        self._new_session(face)
        face.quality.afresh()
        face.peer_beat = 0
        face.suspect_us, face.dead_us = deck.settings.suspect_us, deck.settings.dead_us
        deck.tell("link up", face.link)
        if face.pending:
            self._send_floods(face, face.pending.values())
        if self.announce_us == NEVER or all(one.up for one in self.faces.values()):
            self.announce()

    def announce(self) -> None:
        """Say what is wrong with this broker's links, if that is new."""
        self.announce_us = NEVER
        deck = self._deck
        for part, scope in deck.chart.parts(deck.me).items():
            states = self._states(part)
            known = self._gazette.items.get((LINKS, deck.me, part))
            if known is None and self._assumed and states == LinkStates():
                continue  # It goes without saying.
            if known is None or known.incarnation != deck.incarnation or known.body != states:
                self.publish(self._gazette.announce(LINKS, part, states, scope))

    def contradict(self) -> None:
        """Others hold this broker for dead, or know newer of it than it says: say it again."""
        for part, scope in self._deck.chart.parts(self._deck.me).items():
            self.publish(self._gazette.announce(LINKS, part, self._states(part), scope))

    def _states(self, part: str) -> LinkStates:
        chart = self._deck.chart
        faces = [face for face in self.faces.values() if chart.part(face.link) == part]
        down = tuple(face.lost for face in faces if face.state is FAILURE)
        slow = tuple(face.link for face in faces if face.quality.slow)
        return LinkStates(down, slow, self.away() if part else ())

    def _of_myself(self, item: Item) -> None:
        """What others say of this broker: newer than all it said, or what it no longer wants."""
        before = self._deck.incarnation
        if self._gazette.jump(item):
            if self._deck.incarnation != before:
                for face in self.faces.values():
                    self._new_session(face)
            self.again_of_myself()
            return
        mine = item.incarnation == before and item.kind == INTEREST
        if mine and item.body and item.key not in self._gazette.items:
            self.publish(self._gazette.announce(INTEREST, item.name, False, item.domain))

    def _new_session(self, face: Interface) -> None:
        """Frames count from 1 again; the neighbour takes those of the highest session only."""
        self._sessions += 1
        face.session = (self._deck.incarnation << SESSION_BITS) + self._sessions
        face.frame_number = 0
        if face.sent and self.shipper is not None:
            self.shipper.lost(face)

    def again_of_myself(self) -> None:
        """Say everything of this broker again, past what others know of it."""
        mine = sorted(self._gazette.of(self._deck.me), key=lambda one: (one.kind, one.number))
        for item in mine:  # `WHOLE` comes last: it takes away what was not said again
            if item.kind == WHOLE:
                self.publish(self._gazette.whole())
            elif item.kind != LINKS:
                self.publish(self._gazette.announce(item.kind, item.name, item.body, item.domain))
        self.contradict()

    def beat_came(self, face: Interface, beat: Beat) -> None:
        """A regular heartbeat."""
        deck = self._deck
        restarted = face.peer_incarnation not in (0, beat.incarnation)
        if face.beat_us and deck.now_us - face.beat_us > deck.settings.dead_us:
            self.pauses += 1
        face.beat_us = deck.now_us
        face.beat_came(beat)
        face.acknowledged(beat.session, beat.got, beat.extra)
        if beat.ask:
            deck.send(face.link, BeatAck(beat.number, beat.sent_us))
        if restarted and face.up:
            self.fail(face)  # It has forgotten what was on its way: start afresh.
        elif beat.down:
            self.denied(face)
        elif face.peer_back and face.state is FAILURE:
            self._consider(face)
        self._compare(face, beat)
        face.adapt(deck.settings)
        if face.quality.judge(deck.settings) and face.up:
            deck.tell("link slow" if face.quality.slow else "link fast again", face.link)
            self.announce()

    def agrees(self, face: Interface, beat: Beat) -> bool:
        """Whether a neighbour knows who subscribes, and this agent knows the same.

        Two that have lost their disks agree on nothing: one of them must know. In the first life
        there is nothing to know yet, and after a while nobody knows better.
        """
        first = self._deck.incarnation == 1 or self.whole_us == NEVER
        return face.up and face.odd == 0 and (beat.knows or first)

    def trip_measured(self, face: Interface, word: BeatAck) -> None:
        """The answer to a beat: how long the way there and back takes."""
        if not self.stalled_us:
            face.quality.trip(max(1, self._deck.now_us - word.sent_us))
