"""What was acknowledged and what was confirmed: the two counts of a connection's life."""

from collections.abc import Iterable

from ropewalk.agent.brokers.rabbitmq.frames import Confirm, ack


class Acks:
    """Which deliveries of a channel are settled; as few acknowledgements as will do.

    >>> acks = Acks(1)
    >>> len(acks.settle([1, 2, 3])), len(acks.settle([5, 6])), len(acks.settle([4, 5]))
    (1, 2, 1)
    """

    def __init__(self, channel: int) -> None:
        self._channel = channel
        self._next = 1
        self._ahead: set[int] = set()

    def settle(self, tags: Iterable[int]) -> list[bytes]:
        """Frames that acknowledge these: one for all up to the first gap, one for each after it."""
        frames: list[bytes] = []
        upto = 0
        for tag in sorted(tags):
            if tag == self._next:
                upto = tag
                self._advance()
            elif tag > self._next and tag not in self._ahead:
                self._ahead.add(tag)
                frames.append(ack(self._channel, tag, False))
        if upto:
            frames.append(ack(self._channel, upto, True))
        return frames

    def _advance(self) -> None:
        self._next += 1
        while self._next in self._ahead:
            self._ahead.remove(self._next)
            self._next += 1


class Confirms:
    """How many of the first publications the broker has confirmed."""

    def __init__(self) -> None:
        self._given = self._tag = 0
        self.first = 0
        """All up to this one are confirmed."""
        self._ahead: set[int] = set()
        self._waiting: dict[int, tuple[int, bytes]] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def sent(self, frames: bytes) -> None:
        """Another publication is on its way."""
        self._given += 1
        self._wait(self._given, frames)

    def skipped(self) -> None:
        """Another one cannot be published at all: nothing is waited for."""
        self._given += 1
        self._done(self._given)

    def again(self, denied: Iterable[tuple[int, bytes]]) -> None:
        """Publications that the broker denied are on their way once more."""
        for place, frames in denied:
            self._wait(place, frames)

    def heard(self, confirm: Confirm) -> list[tuple[int, bytes]]:
        """What the broker denies, to be given `again`."""
        settled = [
            self._waiting.pop(tag)
            for tag in (self._upto(confirm.tag) if confirm.multiple else (confirm.tag,))
            if tag in self._waiting
        ]
        if not confirm.taken:
            return settled
        for place, _ in settled:
            self._done(place)
        return []

    def _upto(self, tag: int) -> list[int]:
        """Tags that wait, up to this one; they lie in order."""
        found: list[int] = []
        for one in self._waiting:
            if one > tag:
                break
            found.append(one)
        return found

    def _wait(self, place: int, frames: bytes) -> None:
        self._tag += 1
        self._waiting[self._tag] = (place, frames)

    def _done(self, place: int) -> None:
        if place != self.first + 1:
            self._ahead.add(place)
            return
        self.first = place
        while self.first + 1 in self._ahead:
            self.first += 1
            self._ahead.remove(self.first)
