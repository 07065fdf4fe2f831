"""Publications in flight: how many there may be, and which have to be sent again."""

from collections import deque
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")

RESEND_S = 0.3
"""Silence after which a publication is sent again, under the same id."""
RETRY_S = 0.05
"""Pause after a refusal, or after nobody was there to answer."""


@dataclass(slots=True)
class Flight(Generic[T]):
    """One publication in flight."""

    item: T
    sent_s: float
    tries: int = 1


class Window(Generic[T]):
    """Numbered publications that wait for an answer, the one that was sent longest ago first.

    >>> window = Window[str](size=2)
    >>> window.open("a", 0.0), window.open("b", 0.1), window.room
    (0, 1, 0)
    >>> [number for number, _ in window.overdue(0.35)], window.close(0).tries, window.room
    ([0], 2, 1)
    """

    def __init__(self, *, size: int, resend_s: float = RESEND_S) -> None:
        self._size = size
        self._resend_s = resend_s
        self._next = 0
        self._flights: dict[int, Flight[T]] = {}
        self._refused: deque[tuple[float, int]] = deque()

    def __len__(self) -> int:
        return len(self._flights)

    @property
    def room(self) -> int:
        """How many more may be sent now."""
        return self._size - len(self._flights)

    def open(self, item: T, now_s: float) -> int:
        """Note what is being sent; its number."""
        number = self._next
        self._next += 1
        self._flights[number] = Flight(item, now_s)
        return number

    def close(self, number: int) -> Flight[T] | None:
        """An answer has come; None if it was not the first."""
        return self._flights.pop(number, None)

    def refuse(self, number: int, now_s: float) -> None:
        """Nobody took it this time: it is to be sent again soon."""
        if number in self._flights:
            self._refused.append((now_s + RETRY_S, number))

    def overdue(self, now_s: float) -> list[tuple[int, T]]:
        """What has to be sent again by now, lowest number first."""
        late: set[int] = set()
        while self._refused and self._refused[0][0] <= now_s:
            late.add(self._refused.popleft()[1])
        for number, flight in self._flights.items():
            if flight.sent_s + self._resend_s > now_s:
                break
            late.add(number)
        return self._resent(late & self._flights.keys(), now_s)

    def everything(self, now_s: float) -> list[tuple[int, T]]:
        """All that is in flight, to be sent again over a new connection, lowest number first."""
        self._refused.clear()
        return self._resent(set(self._flights), now_s)

    def clear(self) -> list[T]:
        """Give up waiting; what was waited for."""
        items = [flight.item for flight in self._flights.values()]
        self._flights.clear()
        return items

    def _resent(self, numbers: set[int], now_s: float) -> list[tuple[int, T]]:
        found: list[tuple[int, T]] = []
        for number in sorted(numbers):
            flight = self._flights.pop(number)
            flight.sent_s = now_s
            flight.tries += 1
            self._flights[number] = flight
            found.append((number, flight.item))
        return found
