"""Letters at their destination: each once, in the order that its contract asks for.

Only here are messages de-duplicated. What was delivered goes into the log, and only then into a
receipt; so what an origin may forget is safe. Between delivering and logging a crash may come: the
letter is delivered again then, under the same id, and the last hop drops it where the contract says
exactly once.
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from ropewalk.overlay.deck import Deck
from ropewalk.overlay.lane import DATA, FORWARDED, FREE, HOME
from ropewalk.overlay.order.batch import urgent_first
from ropewalk.overlay.order.release import Came, Release
from ropewalk.overlay.parts import NEVER
from ropewalk.overlay.rules import Rules
from ropewalk.overlay.runs import parcels_of
from ropewalk.overlay.shipping import Shipping
from ropewalk.overlay.words import Address, Letter, Run

if TYPE_CHECKING:
    from ropewalk.overlay.totals import Totals

CAREFUL = 5
"""Dead times for which a message without custody may be on its way."""
RECENT = 4_096
"""Letters without custody that are remembered by origin, so that none is delivered twice."""

Place = tuple[int, str, int]
"""Of a letter among its origin's: incarnation, topic, number."""


class Arrivals:
    """The receiving side of all lanes to this agent."""

    def __init__(self, deck: Deck, shipping: Shipping, rules: Rules) -> None:
        self._deck, self._shipping, self._rules = deck, shipping, rules
        self.lanes: dict[tuple[int, int], Release] = {}
        """By origin and kind."""
        self.totals: Totals | None = None
        self.deliver: Callable[[Letter, bool], None] = lambda _letter, _late: None
        """Takes what is ready; the flag is for last values that somebody comes late for."""
        self.forwarded: Callable[[Letter], None] = lambda _letter: None
        """For letters of readers that have moved here."""
        self._recent: dict[int, tuple[set[Place], deque[Place]]] = {}
        self._streams: OrderedDict[tuple[int, int, str], int] = OrderedDict()
        self._dirty: set[tuple[int, int]] = set()
        self.ready: list[Letter] = []
        self._late: set[tuple[int, int, str, int]] = set()
        self._unsafe: deque[tuple[int, tuple[int, int], Came]] = deque()
        self.wake_us = NEVER
        """When receipts are due."""
        self.doubles = 0
        self.careful_until_us = 0
        """Until then an earlier life of this agent may have delivered what comes."""

    def start(self) -> None:
        """What is on its way now without custody may have been delivered before a restart."""
        self.careful_until_us = self._deck.now_us + CAREFUL * self._deck.settings.dead_us

    def remind(self) -> None:
        """Give all origins a receipt: they may have given up sending for a while."""
        if self.lanes:
            self._dirty.update(self.lanes)
            self.wake_us = min(self.wake_us, self._deck.now_us + self._deck.settings.receipt_us)

    def arrived(self, letter: Letter, address: Address) -> None:
        """A letter for this broker."""
        if address.lane == FREE:
            self._without_custody(letter)
        elif address.lane == HOME:
            if self.totals is not None:
                self.totals.to_home(letter, address)
        elif address.lane == FORWARDED:
            for one in self._in_lane(letter, address):
                self.forwarded(one)
        elif letter.order is None or self.totals is None:
            self.ready += self._in_lane(letter, address)
        elif self.totals.arrived(letter, address):
            self._in_lane(letter, address)

    def run_arrived(self, run: Run) -> None:
        """Letters for this broker: in one step if they are the next of their lane."""
        to = run.to
        lane = self.lanes.get((to.origin, to.lane))
        plain = to.lane == DATA and run.letter.order is None and not to.late
        if plain and lane is not None and lane.in_turn(to.incarnation, to, len(run.payloads)):
            self.ready += run.letters()
            self._note(to)
            return
        for parcel in parcels_of(run):
            self.arrived(parcel.letter, parcel.to[0])

    def _in_lane(self, letter: Letter, address: Address) -> list[Letter]:
        key = (address.origin, address.lane)
        lane = self.lanes.get(key)
        if lane is None:
            lane = self.lanes[key] = Release(*key, self._deck.settings.held)
        freed = lane.arrived(address.incarnation, address, letter)
        if not freed:
            self.doubles += 1
        elif address.late:
            self._late.add(letter.id)
        self._note(address)
        return freed

    def _note(self, address: Address) -> None:
        """A receipt is due for a lane."""
        self._dirty.add((address.origin, address.lane))
        if self.wake_us == NEVER:
            self.wake_us = self._deck.now_us + self._deck.settings.receipt_us

    def _without_custody(self, letter: Letter) -> None:
        """At most once: a doubled or late one is dropped, or one from before a restart."""
        rule = self._rules.of(letter.topic)
        if rule.at_most_once and self._deck.now_us < self.careful_until_us:
            return
        if rule.order != "none":
            stream = (letter.origin, letter.incarnation, letter.topic)
            if letter.number <= self._streams.get(stream, 0):
                self.doubles += 1
                return
            self._streams[stream] = letter.number
            self._streams.move_to_end(stream)
            if len(self._streams) > self._deck.settings.streams:
                self._streams.popitem(last=False)
        elif self._seen_before(letter):
            self.doubles += 1
            return
        self.ready.append(letter)

    def _seen_before(self, letter: Letter) -> bool:
        seen, order = self._recent.setdefault(letter.origin, (set(), deque()))
        place = (letter.incarnation, letter.topic, letter.number)
        if place in seen:
            return True
        seen.add(place)
        order.append(place)
        if len(order) > RECENT:
            seen.discard(order.popleft())
        return False

    def hand_over(self) -> None:
        """Deliver what has become ready, the urgent first where the contract says so."""
        ready, self.ready = self.ready, []
        rules, late = self._rules, self._late
        if len(ready) > 1 and rules.any_by_priority:
            ready = urgent_first(ready, lambda topic: rules.of(topic).order == "priority")
        for letter in ready:
            self.deliver(letter, bool(late) and letter.id in late)
        late.clear()

    def settled(self, origin: int, kind: int, marks: Iterable[tuple[int, int]]) -> bool:
        """Whether all up to these numbers of an origin's incarnations has been delivered."""
        lane = self.lanes.get((origin, kind))
        if lane is None:
            return not any(number for _, number in marks)
        return all(
            not number
            or incarnation < lane.since
            or (incarnation in lane.incarnations and lane.upto(incarnation) >= number)
            for incarnation, number in marks
        )

    # --- receipts ---------------------------------------------------------------------------

    def due(self) -> None:
        """Log what has come; its receipt follows when that is safe."""
        if self.wake_us > self._deck.now_us:
            return
        self.wake_us = NEVER
        for key in sorted(self._dirty):
            lane = self.lanes[key]
            for came in lane.news():
                self._unsafe.append((self._deck.write(came), key, came))
            self._say(key)
        self._dirty.clear()

    def logged(self, count: int) -> None:
        """Records are safe: tell the origins."""
        told: set[tuple[int, int]] = set()
        while self._unsafe and self._unsafe[0][0] <= count:
            _, key, came = self._unsafe.popleft()
            self.lanes[key].confirmed(came)
            told.add(key)
        for key in sorted(told):
            self._say(key)

    def _say(self, key: tuple[int, int]) -> None:
        for receipt in self.lanes[key].receipts():
            self._shipping.note(key[0], receipt)

    # --- restart ----------------------------------------------------------------------------

    def recover(self, records: Iterable[object]) -> None:
        """What had come before a restart."""
        for record in records:
            if isinstance(record, Came):
                key = (record.origin, record.lane)
                lane = self.lanes.get(key)
                if lane is None:
                    lane = self.lanes[key] = Release(*key, self._deck.settings.held)
                lane.restore(record)

    def state(self) -> list[Came]:
        """Records that stand for all that has come."""
        return [came for lane in self.lanes.values() for came in lane.state()]

    @property
    def held(self) -> int:
        """Letters that wait for one before them."""
        return sum(lane.held for lane in self.lanes.values())
