"""Towards the broker's own clients: what they publish, what they get, what they subscribe to."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ropewalk.overlay.custody import Custody
from ropewalk.overlay.deck import Deck
from ropewalk.overlay.events import Accepted, Deliver, Published, Refused, Subscribed, Unsubscribed
from ropewalk.overlay.hook import Messenger, NoMessenger
from ropewalk.overlay.interests import Interests
from ropewalk.overlay.lane import DATA, FREE, HOME, LOCAL, Kept, Taken
from ropewalk.overlay.retained import Value, Values
from ropewalk.overlay.rules import Rule, Rules
from ropewalk.overlay.shipping import Shipping
from ropewalk.overlay.words import Address, Item, Letter, Parcel

if TYPE_CHECKING:
    from ropewalk.overlay.carrying import Carrying
    from ropewalk.overlay.totals import Totals

NO_MESSENGER = NoMessenger()
UNORDERED = Rule(
    custody=True,
    exactly_once=False,
    at_most_once=False,
    order="none",
    priority=0,
    local=False,
    home=None,
    paths=1,
    retained=True,
)
"""For a last value that is sent to somebody who came later."""

ClientKey = tuple[str, str, str]
"""A client's own id of a message is its own: topic, producer, id."""


def _key(message: Published | Letter) -> ClientKey:
    return message.topic, message.producer, message.key


class Front:
    """The side of an agent that its broker's clients see."""

    def __init__(
        self,
        deck: Deck,
        rules: Rules,
        shipping: Shipping,
        custody: Custody,
        interests: Interests,
        *,
        when_safe: Callable[[int, Callable[[], None]], None],
        messengers: dict[str, Messenger],
        deliver_local: bool,
    ) -> None:
        self._deck, self._rules, self._shipping = deck, rules, shipping
        self._custody, self._interests, self._when_safe = custody, interests, when_safe
        self._messengers, self._deliver_local = messengers, deliver_local
        most = deck.settings.streams
        self.values, self.seen = Values(most), Values(most)
        """Last values: of this origin's own topics, and of what was delivered here."""
        self.totals: Totals | None = None
        self.carrying: Carrying | None = None
        self.leaving = False
        """Nothing more is taken: this broker is not part of the next epoch."""
        self.synced = False
        """Whether it is known here who subscribes."""
        self.synced_home = False
        """The same of topics of the domain: only neighbours in it know who wants them."""
        self.numbers: OrderedDict[str, int] = OrderedDict()
        self._used = 0
        """Topics whose number is no longer remembered have used none above this."""
        self.keys: OrderedDict[ClientKey, Letter] = OrderedDict()
        """Ids that clients gave their messages: the same one twice is one message."""
        self._taking: dict[ClientKey, list[int]] = {}
        """Of messages that are not safe yet: the tickets of those that repeat them."""

    # --- knowing who subscribes -------------------------------------------------------------

    def begin(self, peers: Sequence[int], *, settled: bool) -> None:
        """At the start: where nobody can know better, what is known is all."""
        domain, me = self._deck.chart.domain, self._deck.me
        self.synced |= settled or not peers
        self.synced_home |= settled or all(domain[one] != domain[me] for one in peers)

    @property
    def in_touch(self) -> bool:
        """Whether there is nothing more to wait for."""
        return self.synced and self.synced_home

    def agreed(self, peer: int) -> None:
        """A neighbour knows what this broker knows."""
        domain = self._deck.chart.domain
        self.synced = True
        self.synced_home |= domain[peer] == domain[self._deck.me]

    # --- publishing -------------------------------------------------------------------------

    def published(self, event: Published) -> None:
        """Take a publication, or say why not."""
        if event.key and self._known_before(event):
            return
        rule = self._rules.of(event.topic)
        home = self.totals.home(event.topic) if self.totals is not None else None
        kind = HOME if home is not None else LOCAL if rule.local else DATA
        destinations = (home,) if home is not None else self._interests.destinations(event.topic)
        messenger = self._messengers.get(event.topic, NO_MESSENGER)
        stamp, why = messenger.stamp(event.payload, event.producer)
        why = why or self._objection(rule, destinations, kind)
        if why:
            self._deck.out.append(Refused(event.ticket, why))
            return
        letter = self._letter(event, rule, stamp)
        if rule.custody:
            self._into_custody(event, letter, rule, destinations, kind)
        else:
            self._pass_on(letter, destinations)
            self._accepted(event.ticket, letter, None)

    def _known_before(self, event: Published) -> bool:
        key = _key(event)
        if key in self._taking:
            self._taking[key].append(event.ticket)
        elif key in self.keys:
            self._deck.out.append(Accepted(event.ticket, self.keys[key]))
        else:
            return False
        return True

    def _objection(self, rule: Rule, destinations: tuple[int, ...], kind: int) -> str | None:
        if self.leaving:
            return f"{self._deck.name(self._deck.me)} leaves the federation"
        if not (self.synced_home if rule.local else self.synced):
            return "who subscribes is not known here yet"
        if kind == HOME and rule.local and not self._is_near(destinations[0]):
            return f"its home {self._deck.name(destinations[0])} is outside the topic's domain"
        return self._custody.objection(destinations, kind) if rule.custody else None

    def _is_near(self, broker: int) -> bool:
        chart = self._deck.chart
        return chart.domain_of(broker) == chart.domain[self._deck.me]

    def _letter(self, event: Published, rule: Rule, stamp: Any) -> Letter:
        return Letter(
            self._deck.me,
            self._deck.incarnation,
            event.topic,
            self._next(event.topic),
            event.payload,
            self._deck.now_us,
            rule.priority if event.priority is None else event.priority,
            event.producer,
            event.key,
            event.retain or rule.retained,
            stamp,
            None,
            self._deck.chart.domain[self._deck.me] if rule.local else -1,
        )

    def _next(self, topic: str) -> int:
        numbers = self.numbers
        number = numbers[topic] = numbers.get(topic, self._used) + 1
        numbers.move_to_end(topic)
        if len(numbers) > self._deck.settings.streams:
            self._used = max(self._used, numbers.popitem(last=False)[1])
        return number

    def _into_custody(
        self,
        event: Published,
        letter: Letter,
        rule: Rule,
        destinations: tuple[int, ...],
        kind: int,
    ) -> None:
        taken, count = None, 0
        if event.key:
            self._taking[_key(event)] = []
        if destinations:
            taken = self._custody.keep(letter, destinations, rule, kind=kind)
            count = taken.count
        elif event.key:
            count = self._deck.write(Kept(letter, (), rule.order))
        if taken is not None and not rule.exactly_once:
            # Sent before it is safe: if it is lost with this agent, nobody was told that it is.
            self._custody.release(taken)
            taken = None
        local = kind != HOME
        self._when_safe(count, lambda: self._accepted(event.ticket, letter, taken, local=local))

    def _accepted(
        self, ticket: int, letter: Letter, taken: Taken | None, *, local: bool = True
    ) -> None:
        self._remember(letter)
        again = self._taking.pop(_key(letter), ()) if letter.key else ()
        if letter.retain and self.values.put(letter):
            self._deck.write(Value(letter))
        self._deck.out += [Accepted(one, letter) for one in (ticket, *again)]
        if taken is not None:
            self._custody.release(taken)
        if self._deliver_local and local:
            self.deliver(letter, late=False)

    def _remember(self, letter: Letter) -> None:
        if letter.key:
            self.keys[_key(letter)] = letter
            if len(self.keys) > self._deck.settings.streams:
                self.keys.popitem(last=False)

    def _pass_on(self, letter: Letter, destinations: tuple[int, ...]) -> None:
        """Without custody: sent once, and forgotten."""
        me, number, incarnation = self._deck.me, letter.number, self._deck.incarnation
        addresses = tuple(
            Address(to, FREE, number, number, origin=me, incarnation=incarnation)
            for to in destinations
        )
        if addresses:
            self._shipping.forward((Parcel(letter, addresses),))

    # --- delivering -------------------------------------------------------------------------

    def deliver(self, letter: Letter, late: bool) -> None:
        """A letter that is in order and not a double."""
        messenger = self._messengers.get(letter.topic, NO_MESSENGER)
        for one in messenger.arrived(letter):
            self._hand_over(one, late)

    def _hand_over(self, letter: Letter, late: bool) -> None:
        subscribers = self._interests.subscribers(letter.topic)
        if self.carrying is not None:
            subscribers = self.carrying.sift(letter, subscribers)
        if letter.retain:
            newest = self.seen.put(letter)
            given = [one for one in subscribers if self.seen.give(one, letter)]
            if late:
                subscribers = tuple(given) if newest else ()
        if subscribers:
            once = self._rules.of(letter.topic).exactly_once
            self._deck.out.append(Deliver(letter, subscribers, late, once))

    # --- subscribing ------------------------------------------------------------------------

    def subscribed(self, event: Subscribed) -> None:
        """A client subscribes; last values that are known here it gets at once."""
        self._interests.subscribe(event.subscriber, event.pattern)
        for letter in self.seen.matching(event.pattern):
            if self.seen.give(event.subscriber, letter):
                self._deck.out.append(Deliver(letter, (event.subscriber,), True))
        if self.carrying is not None:
            self.carrying.subscribed(event)

    def unsubscribed(self, event: Unsubscribed) -> None:
        """A client no longer subscribes."""
        self._interests.unsubscribe(event.subscriber, event.pattern)

    def wanted(self, item: Item) -> None:
        """Another broker wants something: it may rely on that once it is in the log."""
        new = self._interests.heard(item)
        count = self._deck.write(item)
        if item.body:
            self._when_safe(count, lambda: self._interests.heed(item))
        if new and self.carrying is not None:
            self.carrying.on_interest()
        if new:
            for letter in self.values.matching(item.name):
                self._send_late(letter, item.broker)

    def _send_late(self, letter: Letter, to: int) -> None:
        if letter.domain >= 0 and not self._is_near(to):
            return
        kind = DATA if letter.domain < 0 else LOCAL
        taken = self._custody.keep(letter, (to,), UNORDERED, kind=kind, late=True)
        self._custody.release(taken)

    # --- restart ----------------------------------------------------------------------------

    def recover(self, records: Iterable[object]) -> None:
        """Last values and clients' ids from before a restart."""
        for record in records:
            if isinstance(record, Value):
                self.values.put(record.letter)
            elif isinstance(record, Kept):
                self._remember(record.letter)

    def state(self) -> Iterator[object]:
        """Records that stand for values and ids."""
        yield from self.values.state()
        yield from (Kept(letter, (), "none") for letter in self.keys.values())
