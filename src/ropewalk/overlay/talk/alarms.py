"""When something has to be looked at again: at most one time for each thing."""

from collections.abc import Hashable, Iterator
from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

from ropewalk.overlay.parts import NEVER

K = TypeVar("K", bound=Hashable)
SLACK = 64
"""Times that do not count any more are thrown away when they are more than the others and this."""


class Alarms(Generic[K]):
    """Times by what they are for.

    >>> alarms = Alarms[str]()
    >>> alarms.set("b", 20), alarms.set("a", 10), alarms.set("b", 5), alarms.drop("a")
    (None, None, None, None)
    >>> alarms.wake_us, list(alarms.due(30)), alarms.wake_us == NEVER
    (5, ['b'], True)
    """

    def __init__(self) -> None:
        self._at: dict[K, int] = {}
        self._heap: list[tuple[int, int, K]] = []
        self._count = 0

    def __len__(self) -> int:
        return len(self._at)

    def set(self, what: K, at_us: int) -> None:
        """Another time for something; the one before does not count any more."""
        self._at[what] = at_us
        self._count += 1
        heappush(self._heap, (at_us, self._count, what))
        if len(self._heap) > 2 * len(self._at) + SLACK:
            self._heap = [one for one in self._heap if self._at.get(one[2]) == one[0]]
            heapify(self._heap)

    def get(self, what: K) -> int:
        """When something is looked at next."""
        return self._at.get(what, NEVER)

    def drop(self, what: K) -> None:
        """It need not be looked at."""
        self._at.pop(what, None)

    def due(self, now_us: int) -> Iterator[K]:
        """Take out what has to be looked at by now."""
        while self._heap and self._heap[0][0] <= now_us:
            at_us, _, what = heappop(self._heap)
            if self._at.get(what) == at_us:
                del self._at[what]
                yield what

    @property
    def wake_us(self) -> int:
        """The first time; it may be one that does not count any more."""
        return self._heap[0][0] if self._heap else NEVER
