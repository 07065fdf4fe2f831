"""All that an agent knows of others: items, of which the newest of each broker counts.

What it holds for down follows from the items alone, so two agents with the same items have the same
colour. A link is up only if both ends say so. A broker that says nothing newer than what its
neighbour last knew of it when it fell silent is held for dead (broker first, then link).
"""

from collections.abc import Iterator
from zlib import crc32

from ropewalk.overlay.chart import Away
from ropewalk.overlay.complaints import Complaints
from ropewalk.overlay.deck import Deck
from ropewalk.overlay.serial import following, newer
from ropewalk.overlay.words import INTEREST, LINKS, WHOLE, Item, Key

FORGET_US = 60_000_000
"""How long the end of an interest is remembered."""
ODD, PRIME = 0x9E3779B97F4A7C15, (1 << 61) - 1
PRINT = 4
"""Bytes that stand for a name in what a broker still wants."""


class Gazette:
    """The items of all brokers."""

    def __init__(self, deck: Deck) -> None:
        self._deck = deck
        self.items: dict[Key, Item] = {}
        self.number = 0
        """Of this broker's last item: one row of numbers for all of them (Jia 2014, 6.1.2)."""
        self._whole: dict[int, tuple[int, int, frozenset[bytes]]] = {}
        """Of each broker: the stamp of its last `WHOLE`, and the names that it wanted then."""
        self._by_broker: dict[int, set[Key]] = {}
        self._ended: dict[Key, int] = {}
        """Interests that have ended, and when: not in the digests, and forgotten after a while."""
        self._digests: dict[int, int] = {}
        self.down: frozenset[int] = frozenset()
        """Links that one of their ends holds for down."""
        self.dead: frozenset[int] = frozenset()
        """Brokers that are held for dead."""
        self.slow: frozenset[int] = frozenset()
        self.away: Away = frozenset()
        """Which gateways of this edge cannot reach which others."""
        self._complaints = Complaints(self.stamp)

    def digest(self, scopes: frozenset[int]) -> int:
        """Stands for all items that go to a broker that hears these scopes."""
        found = 0
        for scope in scopes:
            found ^= self._digests.get(scope, 0)
        return found

    def announce(self, kind: int, name: str, body: object, domain: int = -1) -> Item:
        """A new fact of this broker."""
        self.number = following(self.number)
        deck = self._deck
        item = Item(kind, deck.me, name, deck.incarnation, self.number, body, domain)
        self.take(item)
        return item

    def whole(self) -> Item:
        """What this broker wants now: what it wanted in earlier lives no longer counts."""
        wanted = (one.name for one in self.of(self._deck.me) if one.kind == INTEREST and one.body)
        return self.announce(WHOLE, "", b"".join(sorted(map(_short, wanted))))

    def is_news(self, item: Item) -> bool:
        """Whether an item is newer than what is known."""
        if self._is_over(item):
            return False
        known = self.items.get(item.key)
        if known is None:
            return not _is_end(item)  # the end of what nobody here knew is no news
        return newer(item.incarnation, item.number, known.incarnation, known.number)

    def take(self, item: Item) -> list[Item]:
        """Put in what is news; returns what a broker said in an earlier life and no longer does."""
        self._put(item)
        return self._forget(item) if item.kind == WHOLE else []

    def of(self, broker: int) -> Iterator[Item]:
        """All items of a broker."""
        return (self.items[key] for key in self._by_broker.get(broker, ()))

    def within(self, scopes: frozenset[int]) -> list[Item]:
        """All items that go to a broker that hears these scopes."""
        return [one for one in self.items.values() if one.domain in scopes]

    def stamp(self, broker: int, link: int) -> tuple[int, int]:
        """Of the last that is known of a broker's links, in the part that this link is in."""
        item = self.items.get((LINKS, broker, self._deck.chart.part(link)))
        return (item.incarnation, item.number) if item else (0, 0)

    def jump(self, item: Item) -> bool:
        """This broker hears of itself what is newer than all that it has said: go past it."""
        deck = self._deck
        if not newer(item.incarnation, item.number, deck.incarnation, self.number):
            return False
        if item.incarnation > deck.incarnation:
            deck.incarnation = item.incarnation + 1
        else:
            self.number = item.number
        return True

    def expire(self) -> None:
        """Forget interests that ended long ago: clients that come and go must not fill memory.

        An agent that was cut off meanwhile may still know one; its broker contradicts.
        """
        before_us = self._deck.now_us - FORGET_US
        while self._ended:
            key, us = next(iter(self._ended.items()))
            if us > before_us:
                return
            del self._ended[key]
            item = self.items.pop(key)
            self._by_broker[item.broker].discard(key)

    def _put(self, item: Item) -> None:
        key = item.key
        before, digests = self.items.get(key), self._digests
        if before is not None:
            digests[before.domain] ^= _print(before)
        digests[item.domain] = digests.get(item.domain, 0) ^ _print(item)
        self.items[key] = item
        self._ended.pop(key, None)
        if _is_end(item):
            self._ended[key] = self._deck.now_us
        if before is None:
            self._by_broker.setdefault(item.broker, set()).add(key)
        if item.kind == LINKS:
            self._complaints.put(self._deck.chart, item)
            self._read()

    def _forget(self, whole: Item) -> list[Item]:
        broker, names = whole.broker, whole.body
        wanted = frozenset(names[i : i + PRINT] for i in range(0, len(names), PRINT))
        self._whole[broker] = (whole.incarnation, whole.number, wanted)
        old = [one for one in self.of(broker) if self._is_over(one)]
        for item in old:
            del self.items[item.key]
            self._ended.pop(item.key, None)
            self._by_broker[broker].discard(item.key)
            self._digests[item.domain] = self._digests.get(item.domain, 0) ^ _print(item)
            if item.kind == LINKS:
                self._complaints.drop(self._deck.chart, item)
                self._read()
        return old

    def _is_over(self, item: Item) -> bool:
        """Whether its broker has said since that it has no more to do with it."""
        if item.broker not in self._whole:
            return False
        incarnation, number, wanted = self._whole[item.broker]
        if item.kind != INTEREST:
            return item.incarnation < incarnation
        before = newer(incarnation, number, item.incarnation, item.number)
        return before and _short(item.name) not in wanted

    def reckon(self) -> None:
        """What is down, dead, slow and away by a chart that has become another."""
        self._complaints.again(self._deck.chart)
        self._read()

    def _read(self) -> None:
        told = self._complaints
        self.down, self.dead, self.slow, self.away = told.down, told.dead, told.slow, told.away


def _is_end(item: Item) -> bool:
    """Whether it says that a broker no longer wants something."""
    return item.kind == INTEREST and not item.body


def _short(name: str) -> bytes:
    """Stands for a name; where two have the same, one is remembered for longer than need be."""
    return crc32(name.encode()).to_bytes(PRINT)


def _print(item: Item) -> int:
    """A number that stands for an item's stamp, the same in every process."""
    if _is_end(item):
        return 0
    text = f"{item.kind} {item.broker} {item.name} {item.incarnation} {item.number}"
    # A sum of CRCs alone is no digest: two brokers that go from number 1 to 2 would cancel out.
    return crc32(text.encode()) * ODD % PRIME
