"""Which numbers of a lane have come: all up to one, and some beyond it.

>>> window = Window()
>>> [window.add(number) for number in (1, 3, 3, 2)]
[True, True, False, True]
>>> window.upto, window.extras()
(3, ())
"""

from collections.abc import Iterable

from msgspec import Struct


class Window(Struct):
    """A set of numbers from 1 on that has few gaps."""

    upto: int = 0
    beyond: set[int] = set()

    def got(self, number: int) -> bool:
        """Whether a number is in it."""
        return number <= self.upto or number in self.beyond

    def add(self, number: int) -> bool:
        """Put a number in; False if it was there."""
        if number == self.upto + 1:
            self.upto = number
            if self.beyond:
                self._close_up()
            return True
        if self.got(number):
            return False
        self.beyond.add(number)
        return True

    def fill(self, upto: int) -> None:
        """Put in all numbers up to this one."""
        if upto > self.upto:
            self.upto = upto
            self.beyond = {number for number in self.beyond if number > upto}
            self._close_up()

    def join(self, upto: int, extras: Iterable[int]) -> None:
        """Put in what another window holds."""
        self.fill(upto)
        for number in extras:
            self.add(number)

    def extras(self, most: int | None = None) -> tuple[int, ...]:
        """The numbers beyond `upto`, the lowest first; at most so many."""
        return tuple(sorted(self.beyond)[:most])

    def _close_up(self) -> None:
        while self.upto + 1 in self.beyond:
            self.upto += 1
            self.beyond.remove(self.upto)
