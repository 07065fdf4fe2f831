"""News to all neighbours: floods, acknowledged, sent again and mended (Jia 2014, 6.1.3)."""

from collections.abc import Callable, Iterable

from ropewalk.overlay.deck import Deck
from ropewalk.overlay.gazette import Gazette
from ropewalk.overlay.interface import FAILURE, NORMAL, WAITING, Interface
from ropewalk.overlay.parts import NEVER
from ropewalk.overlay.words import Beat, Flood, FloodAck, Item, Key

AT_ONCE = 256
"""Items in one flood: all that a neighbour lacks may be many."""
MOST_BACKOFF = 16
ODD_BEATS = 4
"""Beats with another digest before everything is flooded to a neighbour."""


class Floods:
    """What an agent has to tell its neighbours; the part of `Liveness` that spreads news."""

    def __init__(self, deck: Deck, gazette: Gazette, on_news: Callable[[Item], None]) -> None:
        self._deck, self._gazette, self._on_news = deck, gazette, on_news
        self.faces: dict[int, Interface] = {}
        self.wake_us = NEVER

    def _of_myself(self, item: Item) -> None:
        """What others say of this broker."""
        raise NotImplementedError

    def publish(self, item: Item) -> None:
        """An item of this broker: everybody has to hear of it."""
        self._on_news(item)
        self.spread(item, None)

    def spread(self, item: Item, source: Interface | None) -> None:
        """Flood an item over all links but the one it came over."""
        key, word, send = item.key, Flood((item,)), self._deck.send
        for face in self.faces.values():
            if face is not source and item.domain in face.scopes:
                face.pending[key] = item
                send(face.link, word)
                self._wait(face)

    def _wait(self, face: Interface) -> None:
        if face.state is FAILURE:
            return
        face.state = WAITING
        if face.again_us == NEVER:
            settings = self._deck.settings
            face.backoff_us = max(settings.flood_again_us, int(2 * face.quality.trip_us))
            face.again_us = self._deck.now_us + face.backoff_us
            self.wake_us = min(self.wake_us, face.again_us)

    def _flood_again(self, face: Interface) -> None:
        if not face.pending:
            face.again_us = NEVER
            return
        self._send_floods(face, face.pending.values())
        most = MOST_BACKOFF * self._deck.settings.flood_again_us
        face.backoff_us = min(2 * face.backoff_us, most)
        face.again_us = self._deck.now_us + face.backoff_us

    def _send_floods(self, face: Interface, items: Iterable[Item]) -> None:
        some = list(items)
        for start in range(0, len(some), AT_ONCE):
            self._deck.send(face.link, Flood(tuple(some[start : start + AT_ONCE])))
        self._wait(face)

    def flood_came(self, face: Interface, items: Iterable[Item], *, answer: bool = True) -> None:
        """News, or what is known already: it is acknowledged in either case.

        Unless it crosses the same on its way there: each stands for the other's acknowledgement
        (as in RFC 2328, 13.5). If one of them is lost, the other comes again and is acknowledged.
        """
        stamps, pending, gazette, me = [], face.pending, self._gazette, self._deck.me
        for item in items:
            key, incarnation, number = item.key, item.incarnation, item.number
            waits, known = pending.get(key), gazette.items.get(key)
            if waits is not None and waits.number == number and waits.incarnation == incarnation:
                # The neighbour has it, or it would not say so; it will find the same of this one.
                self._settled(face, key)
            else:
                stamps.append((key, incarnation, number))
            if known is not None and known.number == number and known.incarnation == incarnation:
                continue  # Most of what comes has come another way before.
            if item.broker == me:
                self._of_myself(item)
            elif gazette.is_news(item):
                self._on_news(item)
                self.spread(item, face)
            else:
                self._correct(face, item, key)
        if answer and stamps:
            self._deck.send(face.link, FloodAck(tuple(stamps)))

    def _correct(self, face: Interface, item: Item, key: Key) -> None:
        """A neighbour that says what is out of date is told what is newer."""
        known = self._gazette.items.get(key)
        if known is None or key in face.pending:
            return
        if (known.incarnation, known.number) != (item.incarnation, item.number):
            face.pending[key] = known
            self._deck.send(face.link, Flood((known,)))
            self._wait(face)

    def flood_acknowledged(self, face: Interface, word: FloodAck) -> None:
        """Strike off the list what has come."""
        for key, incarnation, number in word.stamps:
            waits = face.pending.get(key)
            if waits is not None and (waits.incarnation, waits.number) == (incarnation, number):
                self._settled(face, key)

    def _settled(self, face: Interface, key: Key) -> None:
        del face.pending[key]
        if not face.pending:
            face.again_us = NEVER
            if face.state is WAITING:
                face.state = NORMAL

    def _compare(self, face: Interface, beat: Beat) -> None:
        same = beat.digest == self._gazette.digest(face.scopes)
        face.odd = 0 if same else face.odd + 1
        if face.odd > ODD_BEATS and not face.pending:
            face.odd = 1  # still not the same
            items = self._gazette.within(face.scopes)
            face.pending.update({one.key: one for one in items})
            self._send_floods(face, items)
