"""What has to wait until it is in the log: acceptances, notes, deliveries of numbered letters.

All such things happen in the order in which they were asked for. A `Logbook` is also the office
that the agent's parts work from (`parts.Office`).
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from ropewalk.overlay.deck import Deck


class Each(Struct, frozen=True, gc=False):
    """Things whose records are one behind the other, and what follows for those that are safe."""

    some: Sequence[Any]
    then: Callable[[Sequence[Any]], None]


class Logbook:
    """What follows when records are safe."""

    def __init__(
        self,
        deck: Deck,
        send: Callable[[int, Any], None],
        reachable: Callable[[], frozenset[int]],
    ) -> None:
        self._deck, self._send, self.reachable = deck, send, reachable
        self._safe = 0
        self.waiting: deque[tuple[int, Callable[[], None] | Each]] = deque()

    def when_safe(self, count: int, then: Callable[[], None]) -> None:
        """Do something when so many records are safe; now, if they are."""
        if count <= self._safe and not self.waiting:
            then()
        else:
            self.waiting.append((count, then))

    def when_each_safe(
        self, first: int, some: Sequence[Any], then: Callable[[Sequence[Any]], None]
    ) -> None:
        """Do something with things when their records, the `first` and those behind it, are safe.

        With all of them at once, or with as many as are safe by then.
        """
        self.waiting.append((first, Each(some, then)))

    def logged(self, count: int) -> None:
        """So many records are safe."""
        self._safe = count
        self.work_off()

    def work_off(self) -> None:
        """Do what may be done now."""
        waiting, safe = self.waiting, self._safe
        while waiting and waiting[0][0] <= safe:
            count, then = waiting.popleft()
            if type(then) is Each:
                ready = safe - count + 1
                if ready < len(then.some):
                    waiting.appendleft((safe + 1, Each(then.some[ready:], then.then)))
                then.then(then.some[:ready])
            else:
                then()  # type: ignore[operator]

    # The parts' office.

    @property
    def me(self) -> int:
        """This broker."""
        return self._deck.me

    @property
    def incarnation(self) -> int:
        """Of its agent."""
        return self._deck.incarnation

    def note(self, to: int, body: Any) -> None:
        """A part's note; it leaves when all that was written before it is safe.

        Not at once: a note of a part to itself must not interrupt it.
        """
        self.waiting.append((self._deck.written, lambda: self._send(to, body)))

    def write(self, record: Any) -> None:
        """A part's record."""
        self._deck.write(record)

    def tell(self, what: str, *about: Any) -> None:
        """A part's word to people."""
        self._deck.tell(what, *about)
