"""Totally ordered topics in an agent: from origins to the home, from the home to its readers.

An origin keeps a letter for the topic's home until every reader has it. The home gives it its
number (`order.sequencer`) and sends it on in its own lanes; readers deliver by number
(`order.desk`). This glue moves letters and acknowledgements between the lanes and those two.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

from ropewalk.overlay.custody import Custody
from ropewalk.overlay.deck import Deck
from ropewalk.overlay.interests import Interests
from ropewalk.overlay.lane import HOME
from ropewalk.overlay.order.desk import Desk
from ropewalk.overlay.order.release import Release
from ropewalk.overlay.order.sequencer import Sequencer
from ropewalk.overlay.order.window import Window
from ropewalk.overlay.parts import NEVER, Office
from ropewalk.overlay.rules import Rules, matches
from ropewalk.overlay.shipping import Shipping
from ropewalk.overlay.words import Address, Letter, Receipt

AGAIN_US = 200_000
"""Until homes and readers say again what was not answered."""
EXTRAS = 512

Sender = tuple[int, int]
"""An origin and its incarnation."""


class Totals:
    """One agent's part in topics whose order is total."""

    def __init__(
        self,
        deck: Deck,
        rules: Rules,
        shipping: Shipping,
        custody: Custody,
        interests: Interests,
        office: Office,
        *,
        when_safe: Callable[[int, Callable[[], None]], None],
        deliver: Callable[[Letter, bool], None],
    ) -> None:
        self._deck, self._rules, self._shipping = deck, rules, shipping
        self._custody, self._interests = custody, interests
        self._when_safe, self._deliver = when_safe, deliver
        most = deck.settings.held
        self.sequencer = Sequencer(
            office, lambda: deck.chart.members, self._readers, most=most, again_us=AGAIN_US
        )
        self.desk = Desk(office, most=most, again_us=AGAIN_US)
        self.homes: dict[str, tuple[int, int]] = {}
        """By topic: who numbers it, since which term."""
        self.wake_us = NEVER
        self._came: dict[Sender, Window] = {}
        """At a home: what of an origin's lane every reader has."""
        self._places: dict[tuple[int, int, str, int], set[tuple[Sender, int]]] = {}
        """By letter: where in lanes it waits for its acknowledgement."""
        self._missing: dict[tuple[str, tuple[int, int]], tuple[Letter, set[int]]] = {}
        """By topic and place in the order: readers that have not acknowledged it."""
        self._dirty: set[Sender] = set()
        self._lanes: dict[int, Release] = {}
        """At a home, by origin: letters come in the order in which it took them."""
        self._waiting: list[Letter] = []
        self._again: list[Letter] = []
        """At a reader after a restart: what its clients may not have got."""

    @property
    def topics(self) -> list[str]:
        """The topics whose order is total."""
        return [name for name, rule in self._rules.named.items() if rule.order == "total"]

    def start(self) -> None:
        """The homes that the contracts name, in the first term; and what readers may have missed.

        A crash may have come after the log and before the clients: the last hop knows.
        """
        number = {name: b for b, name in enumerate(self._deck.chart.names)}
        for topic in self.topics:
            home = self._rules.of(topic).home
            self.appointed(topic, number.get(home or "", min(self._deck.chart.members)), 1)
            reader = self.desk.reader(topic)
            self._again += reader.recent() if reader is not None else []

    def appointed(self, topic: str, home: int, term: int) -> None:
        """Who numbers a topic from a term on: origins turn to that broker."""
        before, since = self.homes.get(topic, (home, 0))
        if term < since:
            return
        self.homes[topic] = (home, term)
        self.sequencer.appointed(self._deck.now_us, topic, home, term)
        self.desk.appointed(self._deck.now_us, topic, home, term)
        if home != before:
            self._redirect(topic, before, home)
        if term > since:
            self._start_over(topic)
        self._missing = {key: one for key, one in self._missing.items() if key[0] != topic}
        self._custody.take_out(lambda one: one.topic == topic and (one.order or (term,))[0] < term)

    def _redirect(self, topic: str, before: int, home: int) -> None:
        """What the old home did not get done goes to the new one."""
        rule = self._rules.of(topic)
        for letter in self._custody.take_out(
            lambda one: one.topic == topic and one.order is None, to=before, kind=HOME
        ):
            self._custody.send(letter, self._custody.lanes_to((home,), HOME), rule)

    def _start_over(self, topic: str) -> None:
        """What the last term did not get done comes again from its origins."""
        self._places = {id_: places for id_, places in self._places.items() if id_[2] != topic}
        self._waiting = [letter for letter in self._waiting if letter.topic != topic]
        self._lanes.clear()

    def home(self, topic: str) -> int | None:
        """Where letters of a topic go first; None if they need no number."""
        return self.homes[topic][0] if topic in self.homes else None

    # --- at the home ------------------------------------------------------------------------

    def to_home(self, letter: Letter, address: Address) -> None:
        """A letter from its origin; it is acknowledged when every reader has it."""
        sender = (address.origin, address.incarnation)
        came = self._came.get(sender)
        if came is None:
            came = self._open(sender, address.since)
        came.fill(address.base - 1)
        if came.got(address.number) or self.sequencer.finished(letter):
            self._settle(sender, address.number)
            return
        self._places.setdefault(letter.id, set()).add((sender, address.number))
        lane = self._lanes.get(address.origin)
        if lane is None:
            lane = self._lanes[address.origin] = Release(
                address.origin, HOME, self._deck.settings.held
            )
        self._waiting += lane.arrived(address.incarnation, address, letter)
        self._number()

    def _open(self, sender: Sender, since: int) -> Window:
        """An origin's next lane; those of incarnations that have nothing more to say are over."""
        origin = sender[0]
        for over in [one for one in self._came if one[0] == origin and one[1] < since]:
            del self._came[over]
            self._dirty.discard(over)
        return self._came.setdefault(sender, Window())

    def _number(self) -> None:
        """Give letters their numbers, in the order of their origins, while that is possible."""
        waiting, self._waiting = self._waiting, []
        stopped: set[str] = set()
        for letter in waiting:
            topic = letter.topic
            if topic in stopped or not self.sequencer.open(topic):
                stopped.add(topic)
                self._waiting.append(letter)
                continue
            numbered = self.sequencer.arrived(self._deck.now_us, letter)
            if numbered is not None:
                self._when_safe(self._deck.written, partial(self._send, numbered))

    def _send(self, letter: Letter) -> None:
        """A letter with its number, to everyone who reads the topic."""
        if letter.order is None or letter.order[0] < self.homes[letter.topic][1]:
            return  # of a term that ended before its record was safe
        audience = self.sequencer.audience(letter.topic)
        self._missing[(letter.topic, letter.order)] = (letter, set(audience))
        if audience:
            rule = replace(self._rules.of(letter.topic), order="none")
            # The sequencer's own records bring it back after a restart.
            lanes = self._custody.lanes_to(sorted(audience))
            self._custody.send(letter, lanes, rule, log=False)
        else:
            self._check((letter.topic, letter.order))

    def acknowledged(self, reader: int, letters: Iterable[Letter]) -> None:
        """A reader has some letters for good."""
        for letter in letters:
            key = (letter.topic, letter.order) if letter.order else None
            if key is not None and key in self._missing:
                self._missing[key][1].discard(reader)
                self._check(key)

    def _check(self, key: tuple[str, tuple[int, int]]) -> None:
        letter, missing = self._missing[key]
        if missing & self.sequencer.audience(letter.topic):
            return
        del self._missing[key]
        id = self.sequencer.done(*key)
        for sender, number in self._places.pop(id, ()) if id is not None else ():
            self._settle(sender, number)

    def _settle(self, sender: Sender, number: int) -> None:
        self._came.setdefault(sender, Window()).add(number)
        self._dirty.add(sender)
        self.wake_us = min(self.wake_us, self._deck.now_us + self._deck.settings.receipt_us)

    def due(self) -> None:
        """Tell origins what every reader has."""
        if self.wake_us > self._deck.now_us:
            return
        self.wake_us = NEVER
        for sender in sorted(self._dirty):
            came = self._came[sender]
            receipt = Receipt(HOME, sender[1], came.upto, came.extras(EXTRAS))
            self._shipping.note(sender[0], receipt)
        self._dirty.clear()

    # --- at readers -------------------------------------------------------------------------

    def arrived(self, letter: Letter, address: Address) -> bool:
        """A letter with its number; False if it must not be acknowledged."""
        self._take_ready()  # what a new term has released comes before it
        ready = self.desk.arrived(letter, address.incarnation)
        if ready is None:
            return False
        if ready:
            self._when_safe(self._deck.written, lambda: self._hand_over(ready))
        return True

    def _hand_over(self, letters: list[Letter]) -> None:
        for letter in letters:
            self._deliver(letter, False)

    def _given(self, letter: Letter) -> bool:
        """Deliver a letter again if somebody is there to take it."""
        if not self._interests.subscribers(letter.topic):
            return False
        self._deliver(letter, False)
        return True

    def wishes(self, pattern: str = "#") -> None:
        """Subscriptions of this broker's clients to a pattern have changed."""
        for topic in self.topics:
            if not matches(pattern, topic):
                continue
            if self._interests.subscribers(topic):
                self.desk.subscribed(self._deck.now_us, topic)
            else:
                self.desk.left(topic)

    def reads(self, pattern: str) -> bool:
        """Whether readers of all topics of a pattern have been told where they begin."""
        readers = (self.desk.reader(topic) for topic in self.topics if matches(pattern, topic))
        return all(reader is not None and reader.begun[0] > 0 for reader in readers)

    def _readers(self, topic: str) -> frozenset[int]:
        here = {self._deck.me} if self._interests.subscribers(topic) else set()
        return frozenset({*self._interests.destinations(topic), *here})

    # --- both -------------------------------------------------------------------------------

    def pump(self) -> None:
        """What homes and readers have got ready by notes and by time."""
        for letter in self.sequencer.take():
            self._when_safe(self._deck.written, partial(self._send, letter))
        if self._waiting:
            self._number()
        if self._again and self._interests.local:
            self._again = [one for one in self._again if not self._given(one)]
        self._take_ready()

    def _take_ready(self) -> None:
        ready = self.desk.take()
        if ready:
            self._when_safe(self._deck.written, lambda: self._hand_over(ready))

    @property
    def held(self) -> int:
        """At a home: letters that no reader, or not every reader has."""
        return len(self._places) + len(self._waiting) + len(self._missing)

    def changed(self) -> None:
        """Readers may be gone for good: what waits for them alone is done."""
        for key in list(self._missing):
            if key in self._missing:
                self._check(key)
