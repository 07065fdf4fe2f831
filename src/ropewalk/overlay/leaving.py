"""The source's part in moving an item: it stops giving to clients, and sends on what still comes.

From `drained` on clients of the item get nothing more here. What comes for them is kept in the log
until it is known whether they go (`Forward`) or stay (`Resume`).
"""

from collections.abc import Mapping

from ropewalk.overlay.berths import Berth, Emptied, Held, Quay, SentOn
from ropewalk.overlay.council.handover import Delivered
from ropewalk.overlay.council.moving import Moving
from ropewalk.overlay.custody import Custody
from ropewalk.overlay.deck import Deck
from ropewalk.overlay.draining import Draining
from ropewalk.overlay.events import Deliver
from ropewalk.overlay.interests import Interests
from ropewalk.overlay.lane import FORWARDED
from ropewalk.overlay.rules import Rules, matches
from ropewalk.overlay.words import Letter
from ropewalk.placement.reactive import session as s

OWN = "~item "
"""Begins the names under which an agent itself subscribes to an item's topics."""
SEND_ON_US = 60_000_000
"""So long a source sends on what comes after the target has taken over."""


class Leaving:
    """Items that leave a broker; `carrying` adds those that come."""

    def __init__(
        self,
        deck: Deck,
        rules: Rules,
        interests: Interests,
        custody: Custody,
        items: Mapping[str, tuple[str, ...]],
    ) -> None:
        self._deck, self._rules, self._interests, self._custody = deck, rules, interests, custody
        self.items = items
        self.moving: Moving | None = None
        self.draining: Draining | None = None
        self.delivered = Delivered()
        """What clients of this broker have got of items' topics."""
        self.quays: dict[str, Quay] = {}
        self.berths: dict[str, Berth] = {}
        self._ready: dict[str, set[str]] = {}
        """By item: patterns that every reachable origin knows to be wanted here."""
        self._of: dict[str, tuple[str, ...]] = {}

    def items_of(self, topic: str) -> tuple[str, ...]:
        """The items that a topic belongs to."""
        found = self._of.get(topic)
        if found is None:
            some = (i for i, names in self.items.items() if any(matches(n, topic) for n in names))
            found = self._of[topic] = tuple(some)
            if len(self._of) > self._deck.settings.streams:
                self._of.clear()
        return found

    def clients_of(self, item: str) -> tuple[str, ...]:
        """Clients here that subscribe to topics of an item."""
        local, names = self._interests.local, self.items.get(item, ())
        found = (one for pattern in names for one in local.get(pattern, ()))
        return tuple(sorted({one for one in found if not one.startswith(OWN)}))

    def count(self, item: str) -> int:
        """How many letters of an item clients here have got; falls when old ones are forgotten."""
        return self.delivered.count(lambda topic: item in self.items_of(topic))

    def wanted_by(self, item: str) -> frozenset[int]:
        """Other brokers that want all topics of an item."""
        remote = self._interests.remote
        some = [frozenset(remote.get(topic, ())) for topic in self.items.get(item, ())]
        return frozenset.intersection(*some) if some else frozenset()

    def _session_clients(self) -> frozenset[str]:
        one = self.moving.state.session if self.moving is not None else None
        return one.clients if one is not None else frozenset()

    def _in_session(self, item: str) -> bool:
        one = self.moving.state.session if self.moving is not None else None
        return one is not None and one.item == item

    def _watch(self, item: str) -> None:
        for pattern in self.items.get(item, ()):
            if OWN + item not in self._interests.local.get(pattern, ()):
                self._interests.subscribe(OWN + item, pattern)

    def _leave(self, item: str) -> None:
        self._ready.pop(item, None)
        for pattern in self.items.get(item, ()):
            self._interests.unsubscribe(OWN + item, pattern)

    def _deliver(self, letter: Letter, to: tuple[str, ...]) -> None:
        self.delivered.add(letter.id)
        once = self._rules.of(letter.topic).exactly_once
        self._deck.out.append(Deliver(letter, to, False, once))

    def _send_on(self, letter: Letter, to: int) -> None:
        rule = self._rules.of(letter.topic)
        self._custody.send(letter, self._custody.lanes_to((to,), FORWARDED), rule)

    def _at_source(self, item: str, letter: Letter, left: tuple[str, ...]) -> tuple[str, ...]:
        quay = self.quays.get(item)
        if quay is None or not quay.frozen:
            return left
        if quay.to >= 0:
            if self._deck.now_us < quay.until_us:
                self._send_on(letter, quay.to)
        else:
            held = Held(item, letter, tuple(sorted(quay.clients)))
            self._deck.write(held)
            quay.late.append(held)
        return tuple(one for one in left if one not in quay.clients)

    def _drain(self, id: s.SessionId, item: str) -> None:
        one = self.moving.state.session if self.moving is not None else None
        if one is None or one.id != id or (item in self.quays and self.quays[item].frozen):
            self.drained(id, item)
        elif self.draining is not None:
            target = self._deck.chart.names.index(one.target)
            self.draining.begin(id, item, target, tuple(self.items.get(item, ())))

    def drained(self, id: s.SessionId, item: str) -> None:
        """Clients have got all that the target does not get: from now on nothing more."""
        if not self._in_session(item):
            return
        quay = self.quays.setdefault(item, Quay())
        if not quay.frozen:
            quay.clients, quay.frozen, quay.to = self._session_clients(), True, -1
            self._watch(item)
            self._turn_round(item, quay)
        if self.moving is not None:
            self.moving.happened(self._deck.now_us, s.Drained(id))

    def _turn_round(self, item: str, quay: Quay) -> None:
        """What came for clients that leave again, and waits for what only their old source has."""
        berth = self.berths.pop(item, None)
        if berth is None:
            return
        self._deck.write(Emptied(item, leaving=False))
        berth.close()
        for letter in berth.waiting:
            self._at_source(item, letter, tuple(quay.clients))

    def _resume(self, item: str) -> None:
        if self.draining is not None:
            self.draining.cancel(item)
        quay = self.quays.pop(item, None)
        if quay is None:
            return
        for one in quay.late:
            wanting = set(self._interests.subscribers(one.letter.topic)) or set(one.clients)
            to = tuple(client for client in one.clients if client in wanting)
            if to:
                self._deliver(one.letter, to)
        self._deck.write(Emptied(item, leaving=True))
        self._leave(item)

    def _forward(self, item: str, to: int) -> None:
        quay = self.quays.setdefault(item, Quay())
        late, quay.late, quay.frozen = quay.late, [], True
        quay.clients = quay.clients or self._session_clients()
        self._watch(item)
        if quay.to < 0:
            quay.to = to
            for one in late:
                self._send_on(one.letter, to)
            self._deck.write(Emptied(item, leaving=True))
            self._deck.write(SentOn(item, to))

    def _release(self, item: str) -> None:
        quay = self.quays.get(item)
        if quay is not None:
            quay.until_us = min(quay.until_us, self._deck.now_us + SEND_ON_US)
            quay.clients = frozenset()
        self._leave(item)

    def _sent_on_before(self, one: SentOn) -> None:
        self.quays.pop(one.item, None)
        if one.to >= 0:
            self.berths.pop(one.item, None)
            until_us = self._deck.now_us + SEND_ON_US
            self.quays[one.item] = Quay(frozen=True, to=one.to, until_us=until_us)
