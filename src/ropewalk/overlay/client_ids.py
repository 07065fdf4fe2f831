"""Ids that clients gave their messages: the same one twice is one message."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator

from ropewalk.overlay.deck import Deck
from ropewalk.overlay.events import Accepted, Published
from ropewalk.overlay.lane import Kept, KeptRun
from ropewalk.overlay.words import Letter

ClientKey = tuple[str, str, str]
"""A client's own id of a message is its own: topic, producer, id."""


def key_of(message: Published | Letter) -> ClientKey | None:
    """What a message is known by; None if its client gave it no id."""
    return (message.topic, message.producer, message.key) if message.key else None


class ClientIds:
    """Ids of messages that were taken, and of those that are being taken."""

    def __init__(self, deck: Deck) -> None:
        self._deck = deck
        self._known: OrderedDict[ClientKey, Letter] = OrderedDict()
        self._taking: dict[ClientKey, list[Published]] = {}
        """Of messages that are not safe yet, or wait for their turn: those that repeat them."""

    def __len__(self) -> int:
        return len(self._known)

    def repeats(self, key: ClientKey, event: Published) -> bool:
        """Whether a message has come before; then it is answered as that was, or will be."""
        if key in self._taking:
            self._taking[key].append(event)
        elif key in self._known:
            self._deck.out.append(Accepted(event.ticket, self._known[key]))
        else:
            return False
        return True

    def taking(self, key: ClientKey) -> None:
        """A message is on its way to the log, or waits for its turn."""
        self._taking.setdefault(key, [])

    def given_up(self, key: ClientKey) -> Iterable[Published]:
        """A message is not taken after all; returns those that repeated it."""
        return self._taking.pop(key, ())

    def taken(self, key: ClientKey, letter: Letter) -> Iterable[Published]:
        """Know an id from now on; returns those that repeated it."""
        self._known[key] = letter
        if len(self._known) > self._deck.settings.streams:
            self._known.popitem(last=False)
        return self._taking.pop(key, ())

    def recover(self, record: object) -> None:
        """Ids from before a restart."""
        if isinstance(record, Kept):
            self._recall(record.letter)
        elif isinstance(record, KeptRun) and record.run.keys:
            for letter in record.run.letters():
                self._recall(letter)

    def _recall(self, letter: Letter) -> None:
        key = key_of(letter)
        if key is not None:
            self.taken(key, letter)

    def state(self) -> Iterator[Kept]:
        """Records that stand for all ids."""
        yield from (Kept(letter, (), "none") for letter in self._known.values())
