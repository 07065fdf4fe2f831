"""What has to wait until it is in the log: acceptances, notes, deliveries of numbered letters.

All such things happen in the order in which they were asked for. A `Logbook` is also the office
that the agent's parts work from (`parts.Office`).
"""

from collections import deque
from collections.abc import Callable
from typing import Any

from ropewalk.overlay.deck import Deck


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
        self.waiting: deque[tuple[int, Callable[[], None]]] = deque()

    def when_safe(self, count: int, then: Callable[[], None]) -> None:
        """Do something when so many records are safe; now, if they are."""
        if count <= self._safe and not self.waiting:
            then()
        else:
            self.waiting.append((count, then))

    def logged(self, count: int) -> None:
        """So many records are safe."""
        self._safe = count
        self.work_off()

    def work_off(self) -> None:
        """Do what may be done now."""
        waiting, safe = self.waiting, self._safe
        while waiting and waiting[0][0] <= safe:
            waiting.popleft()[1]()

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
