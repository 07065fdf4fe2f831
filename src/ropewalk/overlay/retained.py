"""Last values: who subscribes later gets what was published last, once.

An origin keeps the last letter of each of its topics that is to be retained, and sends it to
brokers that begin to want it. A destination keeps the last one it was given, for clients of its
own that come later still. Of several origins' values the one published last counts.
"""

from collections import OrderedDict
from collections.abc import Iterator

from ropewalk.overlay.rules import matches
from ropewalk.overlay.words import Letter, Wire

Age = tuple[int, int, int, int]


class Value(Wire, frozen=True, tag="rv"):
    """A record: the last value of a topic of this origin."""

    letter: Letter


def age(letter: Letter) -> Age:
    """What `later` goes by."""
    return letter.sent_us, letter.origin, letter.incarnation, letter.number


def later(age: Age, than: Age) -> bool:
    """Which of two letters of a topic counts: by their numbers; of two origins, by their clocks."""
    return age[2:] > than[2:] if age[1] == than[1] else age > than


class Values:
    """The last letters by topic, so many at most; the oldest go first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.letters: OrderedDict[str, Letter] = OrderedDict()
        self._given: OrderedDict[tuple[str, str], Age] = OrderedDict()

    def put(self, letter: Letter) -> bool:
        """Remember a letter unless a later one is known; an empty one clears the topic."""
        known = self.letters.get(letter.topic)
        if known is not None and not later(age(letter), age(known)):
            return known.id == letter.id
        self.letters[letter.topic] = letter
        self.letters.move_to_end(letter.topic)
        if len(self.letters) > self._most:
            self.letters.popitem(last=False)
        return True

    def matching(self, pattern: str) -> list[Letter]:
        """The last values of topics that a pattern stands for."""
        return [
            letter
            for topic, letter in self.letters.items()
            if letter.payload and matches(pattern, topic)
        ]

    def give(self, subscriber: str, letter: Letter) -> bool:
        """Whether a subscriber has not been given this or a later value of the topic."""
        key = (subscriber, letter.topic)
        given = self._given.get(key)
        if given is not None and not later(age(letter), given):
            return False
        self._given[key] = age(letter)
        if len(self._given) > 4 * self._most:
            self._given.popitem(last=False)
        return True

    def state(self) -> Iterator[Value]:
        """Records that stand for all values."""
        return (Value(letter) for letter in self.letters.values())
