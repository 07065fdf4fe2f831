"""One end of a link: its state, what it waits for, and how well the link works.

States as in Jia 2014, figure 6-5: normal; waiting, while a flood is not acknowledged; failure,
until the link has passed its tests. Beside them: suspect, when it has been silent for some beats.
"""

from collections import OrderedDict
from enum import IntEnum
from typing import Protocol

from ropewalk.overlay.parts import NEVER
from ropewalk.overlay.settings import Settings
from ropewalk.overlay.words import Beat, Down, Frame, Item, Key

ASK_EVERY = 8
"""One beat of so many asks for the answer that measures the round trip."""
LOSS_WEIGHT, DELAY_WEIGHT, VARIATION_WEIGHT = 1 / 128, 1 / 8, 1 / 4
"""One lost beat must weigh far less than the marks lie apart, or a link flaps by chance alone."""
ENOUGH = 24
"""Beats before a link can count as slow."""
SLACK_US = 2_000
"""A round trip that is longer by less than this is not slow."""


class State(IntEnum):
    """Of an interface."""

    NORMAL = 0
    WAITING = 1
    FAILURE = 2


NORMAL, WAITING, FAILURE = State.NORMAL, State.WAITING, State.FAILURE
"""The same without looking them up: every word that comes asks for them."""


class Quality:
    """How well a link works: means that forget slowly, with two marks each."""

    __slots__ = ("best_us", "heard", "loss", "slow", "trip_us", "variation_us")

    def __init__(self) -> None:
        self.trip_us = self.variation_us = self.best_us = 0.0
        self.loss = 0.0
        self.heard = 0
        self.slow = False

    def beat(self, missed: int) -> None:
        """A beat has come, and so many before it have not."""
        self.heard += 1
        for _ in range(min(missed, ENOUGH)):
            self.loss += LOSS_WEIGHT * (1 - self.loss)
        self.loss -= LOSS_WEIGHT * self.loss

    def afresh(self) -> None:
        """Beats that an outage swallowed say nothing of the link as it is now."""
        self.loss, self.heard, self.slow = 0.0, 0, False

    def trip(self, us: int) -> None:
        """A round trip was measured (smoothed as TCP does, RFC 6298)."""
        if not self.best_us:
            self.trip_us, self.variation_us, self.best_us = us, us / 2, us
            return
        self.variation_us += VARIATION_WEIGHT * (abs(us - self.trip_us) - self.variation_us)
        self.trip_us += DELAY_WEIGHT * (us - self.trip_us)
        self.best_us = min(self.best_us, us)

    def judge(self, settings: Settings) -> bool:
        """Whether it has become slow, or is no longer; returns whether that has changed."""
        if self.heard < ENOUGH:
            return False
        share = 0.5 if self.slow else 1.0  # once slow it has to become clearly better
        late = self.trip_us - self.best_us > max(
            SLACK_US, share * (settings.slow_delay - 1) * self.best_us
        )
        slow = self.loss > share * settings.slow_loss or late
        changed, self.slow = slow != self.slow, slow
        return changed


class Interface:
    """This broker's end of one link."""

    __slots__ = (
        "again_us",
        "agreed",
        "backoff_us",
        "beat_us",
        "beats",
        "dead_us",
        "every_us",
        "extra",
        "failed_us",
        "frame_number",
        "got",
        "heard_us",
        "in_flight",
        "link",
        "lost",
        "needs",
        "next_beat_us",
        "normal_us",
        "odd",
        "passed",
        "peer",
        "peer_back",
        "peer_beat",
        "peer_down",
        "peer_every_us",
        "peer_incarnation",
        "peer_session",
        "pending",
        "quality",
        "scopes",
        "sent",
        "session",
        "state",
        "suspect",
        "suspect_us",
        "test_number",
        "test_us",
        "tested",
        "vouched",
    )

    def __init__(self, link: int, peer: int, scopes: frozenset[int], settings: Settings) -> None:
        self.link, self.peer = link, peer
        self.scopes = scopes
        """Of the news that the peer hears."""
        self.state = FAILURE
        self.suspect = False
        self.vouched = False
        """The driver says that nothing is wrong with the link: no beats, no silence."""
        self.heard_us = self.normal_us = self.failed_us = -NEVER
        self.beat_us = 0
        """When the last beat came."""
        self.peer_down = self.peer_back = False
        """The peer holds the link for down, by its last beat; it did since this end does, and no
        longer."""
        self.agreed = True
        """The peer held the link for up at some time since this end does."""
        self.lost = Down(link, 0, 0)
        self.next_beat_us = 0
        self.every_us = self.peer_every_us = settings.beat_us
        self.suspect_us, self.dead_us = settings.suspect_us, settings.dead_us
        self.beats = self.peer_beat = self.peer_incarnation = 0
        self.odd = 0
        """Beats in a row whose sender knew other items than this broker."""
        self.pending: dict[Key, Item] = {}
        """The list of floods that wait for their acknowledgement."""
        self.again_us, self.backoff_us = NEVER, settings.flood_again_us
        self.test_number = self.passed = 0
        self.test_us = -NEVER
        self.tested = 0
        """The number of the test that was acknowledged last."""
        self.needs = settings.tests
        self.quality = Quality()
        self.session = self.frame_number = 0
        self.sent: OrderedDict[int, tuple[Frame, int, int]] = OrderedDict()
        """Frames that the neighbour has not acknowledged, when they were sent, and how many
        messages are in them."""
        self.in_flight = 0
        """Messages in all of them."""
        self.peer_session = self.got = 0
        self.extra: set[int] = set()

    @property
    def up(self) -> bool:
        """Whether this end holds the link for usable."""
        return self.state is not FAILURE

    @property
    def silent_at_us(self) -> int:
        """When silence means something next."""
        if self.vouched or self.state is FAILURE:
            return NEVER
        return self.heard_us + (self.dead_us if self.suspect else self.suspect_us)

    @property
    def wake_us(self) -> int:
        """When it wants to be looked at."""
        if self.vouched:
            return self.again_us
        return min(self.next_beat_us, self.silent_at_us, self.again_us)

    def adapt(self, settings: Settings) -> None:
        """Beat as often as the round trip lets expect, and be as patient as that allows."""
        if not settings.adaptive or not self.quality.best_us:
            return
        wanted = self.quality.trip_us / 2 + 4 * self.quality.variation_us
        self.every_us = int(min(max(wanted, settings.least_beat_us), settings.most_beat_us))
        spread = int(4 * self.quality.variation_us)
        ratio = max(self.peer_every_us, settings.least_beat_us) / settings.beat_us
        self.suspect_us = int(settings.suspect_us * ratio) + spread
        self.dead_us = int(settings.dead_us * ratio) + 2 * spread

    def beat_came(self, beat: Beat) -> None:
        """Count what a beat says of the link itself."""
        if (
            self.state is not FAILURE
            and beat.incarnation == self.peer_incarnation
            and 0 < self.peer_beat < beat.number
        ):
            missed = beat.number - self.peer_beat - 1
            # A sender that stood still has left beats out; the link did not lose them.
            self.quality.beat(0 if beat.stall_us else missed)
        self.peer_beat = beat.number
        self.peer_incarnation, self.peer_every_us = beat.incarnation, beat.every_us
        self.peer_back = not beat.down and (self.peer_back or self.peer_down)
        self.peer_down = beat.down
        self.agreed = self.agreed or not beat.down

    def frame_came(self, session: int, number: int) -> bool:
        """Whether a frame is one that has not come before."""
        if session != self.peer_session:
            if session < self.peer_session:
                return False
            self.peer_session, self.got = session, 0
            self.extra.clear()
        if number <= self.got or number in self.extra:
            return False
        self.extra.add(number)
        while self.got + 1 in self.extra:
            self.got += 1
            self.extra.remove(self.got)
        return True

    def acknowledged(self, session: int, got: int, extra: tuple[int, ...]) -> None:
        """The neighbour has these frames: nobody need keep them."""
        if session != self.session:
            return
        sent = self.sent
        while sent:
            number = next(iter(sent))
            if number > got:
                break
            self.in_flight -= sent.pop(number)[2]
        for number in extra:
            if number in sent:
                self.in_flight -= sent.pop(number)[2]


class Shipper(Protocol):
    """Who must know that a link has changed; see `shipping`."""

    def suspected(self, face: Interface) -> None:
        """A link has fallen silent."""

    def lost(self, face: Interface) -> None:
        """A link is down."""

    def overdue(self, face: Interface) -> None:
        """Frames on a link may have waited too long for their acknowledgement."""
