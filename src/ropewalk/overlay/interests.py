"""Who wants what: local and remote subscriptions (Wang 2015, 3.1).

Other agents hear of a pattern when the first client of this broker subscribes to it, and when the
last one leaves: of the variety of subscriptions, not of their number. A subscription is confirmed
when every origin that can be reached has said that it knows; who comes back later adds itself.
"""

from collections.abc import Callable, Iterable
from typing import Any

from ropewalk.overlay.deck import Deck
from ropewalk.overlay.events import Confirmed
from ropewalk.overlay.gazette import Gazette
from ropewalk.overlay.parts import NEVER
from ropewalk.overlay.rules import Rules, matches
from ropewalk.overlay.words import INTEREST, Item, Note, Wire

ASK_AGAIN_US = 200_000
KEPT = 65_536


class Heed(Wire, frozen=True, tag="sh"):
    """A note: the sender knows that the receiver wants a pattern."""

    pattern: str
    incarnation: int
    number: int


class Ask(Wire, frozen=True, tag="sa"):
    """A note: does the receiver know that the sender wants a pattern?"""

    pattern: str
    incarnation: int
    number: int


class Absent(Wire, frozen=True, tag="sg"):
    """A note: an edge of the sender's domain cannot be reached, so it knows of no pattern.

    Other domains do not hear that an edge is dead: they are told when they ask it something.
    """

    pattern: str
    broker: int


class Interests:
    """The subscription tables of one agent."""

    def __init__(
        self,
        deck: Deck,
        gazette: Gazette,
        rules: Rules,
        *,
        publish: Callable[[Item], None],
        note: Callable[[int, object], None],
        reachable: Callable[[], frozenset[int]],
    ) -> None:
        self._deck, self._gazette, self._rules = deck, gazette, rules
        self._publish, self._note, self._reachable = publish, note, reachable
        self.local: dict[str, dict[str, None]] = {}
        """Subscribers of this broker by pattern."""
        self.remote: dict[str, set[int]] = {}
        """Brokers that want a pattern."""
        self._known_by: dict[str, set[int]] = {}
        self._absent: dict[str, set[int]] = {}
        """Edges of other domains that are out of reach, as their gateways say."""
        self._told: dict[tuple[str, str], frozenset[int]] = {}
        """By subscriber and pattern: the origins that a confirmation named."""
        self._waiting: set[tuple[str, str]] = set()
        self._to: dict[str, tuple[int, ...]] = {}
        self._here: dict[str, tuple[str, ...]] = {}
        self.also: Callable[[str], bool] = lambda _pattern: True
        """What else a confirmation waits for: readers of a total order must know where to begin."""
        self.own: Callable[[str, str], bool] = lambda _subscriber, _pattern: False
        """Told what is confirmed first: whether the agent itself subscribed (`carrying`)."""
        self.wake_us = NEVER

    # --- looking up -------------------------------------------------------------------------

    def destinations(self, topic: str) -> tuple[int, ...]:
        """The brokers that a topic's messages go to; of a local topic, those of the domain."""
        found = self._to.get(topic)
        if found is None:
            wanted = {b for one, some in self.remote.items() if matches(one, topic) for b in some}
            chart = self._deck.chart
            wanted -= chart.gone
            if self._rules.of(topic).local:
                wanted &= self._members_of(chart.domain[self._deck.me])
            found = self._to[topic] = tuple(sorted(wanted))
            _bound(self._to)
        return found

    def subscribers(self, topic: str) -> tuple[str, ...]:
        """The clients of this broker that a topic's messages are for."""
        found = self._here.get(topic)
        if found is None:
            some = (subs for one, subs in self.local.items() if matches(one, topic))
            every = dict.fromkeys(one for subscribers in some for one in subscribers)
            found = self._here[topic] = tuple(every)
            _bound(self._here)
        return found

    # --- local ------------------------------------------------------------------------------

    def subscribe(self, subscriber: str, pattern: str) -> None:
        """A client of this broker wants a pattern."""
        new = pattern not in self.local
        self.local.setdefault(pattern, {})[subscriber] = None
        self._here.clear()
        if new:
            self._known_by[pattern] = set()
            self._absent.pop(pattern, None)
            self._publish(self._gazette.announce(INTEREST, pattern, True, self._domain(pattern)))
        self._waiting.add((subscriber, pattern))
        self._check(pattern)

    def unsubscribe(self, subscriber: str, pattern: str) -> None:
        """It no longer does."""
        some = self.local.get(pattern, {})
        some.pop(subscriber, None)
        self._here.clear()
        self._told.pop((subscriber, pattern), None)
        self._waiting.discard((subscriber, pattern))
        if not some and pattern in self.local:
            del self.local[pattern]
            self._known_by.pop(pattern, None)
            self._publish(self._gazette.announce(INTEREST, pattern, False, self._domain(pattern)))

    def _domain(self, pattern: str) -> int:
        chart = self._deck.chart
        return chart.domain[self._deck.me] if self._rules.local(pattern) else -1

    # --- remote -----------------------------------------------------------------------------

    def heard(self, item: Item) -> bool:
        """Another broker wants a pattern, or no longer does; returns whether it newly wants it."""
        brokers = self.remote.setdefault(item.name, set())
        new = bool(item.body) and item.broker not in brokers
        (brokers.add if item.body else brokers.discard)(item.broker)
        if not brokers:
            del self.remote[item.name]
        self._to.clear()
        return new

    def forget(self, item: Item) -> None:
        """What a broker wanted in an earlier life."""
        brokers = self.remote.get(item.name, set())
        brokers.discard(item.broker)
        if not brokers:
            self.remote.pop(item.name, None)
        self._to.clear()

    def heed(self, item: Item) -> None:
        """Tell a broker that its wish is known here; one that has left gets nothing from here."""
        if item.broker in self._deck.chart.gone:
            return
        self._note(item.broker, Heed(item.name, item.incarnation, item.number))

    def noted(self, sender: int, body: object) -> bool:
        """A note about subscriptions."""
        if isinstance(body, Heed):
            mine = self._gazette.items.get((INTEREST, self._deck.me, body.pattern))
            known = self._known_by.get(body.pattern)
            if mine is not None and known is not None and _same(mine, body):
                known.add(sender)
                self._check(body.pattern)
            return True
        if isinstance(body, Absent):
            self._absent.setdefault(body.pattern, set()).add(body.broker)
            self._check(body.pattern)
            return True
        if isinstance(body, Ask):
            known_item = self._gazette.items.get((INTEREST, sender, body.pattern))
            if known_item is not None and _same(known_item, body):
                self.heed(known_item)
            return True
        return False

    def stranded(self, note: Note) -> None:
        """Somebody asks an edge of this domain that cannot be reached: say so in its stead."""
        chart, me = self._deck.chart, self._deck.me
        near = chart.domain_of(note.to) == chart.domain[me]
        if isinstance(note.body, Ask) and note.sender != me and near:
            self._note(note.sender, Absent(note.body.pattern, note.to))

    # --- confirming -------------------------------------------------------------------------

    def _check(self, pattern: str) -> None:
        """Tell subscribers whom every reachable origin knows of, and those whom more know of."""
        known, missing = self._known_by.get(pattern, set()), self._missing(pattern)
        by = frozenset(known | {self._deck.me})
        waits = bool(missing) or not self.also(pattern)
        for subscriber in tuple(self.local.get(pattern, ())):
            one = (subscriber, pattern)
            if one in self._waiting:
                if waits:
                    continue
                self._waiting.discard(one)
            elif by <= self._told.get(one, frozenset()):
                continue
            self._told[one] = by
            if self.own(subscriber, pattern):
                continue
            self._deck.out.append(Confirmed(subscriber, pattern, by))
        if waits:
            self.wake_us = min(self.wake_us, self._deck.now_us + ASK_AGAIN_US)

    def _missing(self, pattern: str) -> frozenset[int]:
        """Reachable origins that have not said that they know."""
        needed = self.members_for(pattern) & self._reachable() - self._absent.get(pattern, set())
        return needed - self._known_by.get(pattern, set()) - {self._deck.me}

    def members_for(self, pattern: str) -> frozenset[int]:
        """Brokers whose messages a subscription may bring."""
        chart = self._deck.chart
        if not self._rules.local(pattern):
            return chart.members
        return self._members_of(chart.domain[self._deck.me])

    def _members_of(self, domain: int) -> frozenset[int]:
        chart = self._deck.chart
        return frozenset(b for b in chart.members if chart.domain[b] == domain)

    def changed(self) -> None:
        """Others have become reachable or unreachable."""
        self._to.clear()
        for pattern in self.local:
            self._check(pattern)

    def due(self) -> None:
        """Ask those again that have not said that they know."""
        if self.wake_us > self._deck.now_us:
            return
        self.wake_us = NEVER
        for pattern in list(self.local):
            mine = self._gazette.items.get((INTEREST, self._deck.me, pattern))
            if mine is not None:
                for to in sorted(self._missing(pattern)):
                    self._note(to, Ask(pattern, mine.incarnation, mine.number))
            self._check(pattern)

    def recover(self, items: Iterable[Item]) -> None:
        """What others wanted before a restart."""
        for item in items:
            self.heard(item)


def _bound(known: dict[str, Any]) -> None:
    """Forget the oldest answer when there are too many."""
    if len(known) > KEPT:
        del known[next(iter(known))]


def _same(item: Item, note: Heed | Ask) -> bool:
    return (item.incarnation, item.number) == (note.incarnation, note.number)
