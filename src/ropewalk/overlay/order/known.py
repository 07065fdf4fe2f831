"""Which letters of a topic are known, in little memory: each stream's last number and its gaps.

An origin numbers its letters of a topic 1, 2, 3 ... and they mostly come in that order, so a stream
takes one number and a few gaps (letters that were given up, or overtaken).
"""

from collections.abc import Iterable

from ropewalk.overlay.order.notes import Stream
from ropewalk.overlay.words import Letter

MOST_GAPS = 8_192
"""Of a stream; more than an origin's window, so that only letters given up are forgotten."""


class Known:
    """A set of letter ids of one topic.

    >>> known = Known()
    >>> known.learn(Letter(1, 1, "t", 2, b""))
    >>> [known.knows(Letter(1, 1, "t", number, b"")) for number in (1, 2, 3)]
    [False, True, False]
    """

    def __init__(self, streams: Iterable[Stream] = ()) -> None:
        self._last: dict[tuple[int, int], int] = {}
        self._gaps: dict[tuple[int, int], set[int]] = {}
        self._since: dict[int, int] = {}
        self.join(streams)

    def knows(self, letter: Letter) -> bool:
        """Whether a letter is in it."""
        if letter.incarnation < self._since.get(letter.origin, 0):
            return True
        stream = (letter.origin, letter.incarnation)
        return letter.number <= self._last.get(stream, 0) and letter.number not in self._gaps.get(
            stream, ()
        )

    def learn(self, letter: Letter) -> None:
        """Put a letter in."""
        self._learn((letter.origin, letter.incarnation), letter.number)

    def close(self, origin: int, since: int) -> None:
        """Incarnations of an origin below this one say nothing more: forget them, know them all."""
        self._since[origin] = max(since, self._since.get(origin, 0))
        for stream in [one for one in self._last if one[0] == origin and one[1] < since]:
            del self._last[stream]
            self._gaps.pop(stream, None)

    def streams(self) -> tuple[Stream, ...]:
        """All of it, for a note or a record."""
        return tuple(
            (origin, incarnation, last, tuple(sorted(self._gaps.get((origin, incarnation), ()))))
            for (origin, incarnation), last in self._last.items()
        )

    def join(self, streams: Iterable[Stream]) -> None:
        """Put in all that another one knows."""
        for origin, incarnation, last, gaps in streams:
            self._join((origin, incarnation), last, gaps)

    def _learn(self, stream: tuple[int, int], number: int) -> None:
        last = self._last.get(stream, 0)
        if number > last + 1:
            self._open_gaps(stream, range(max(last + 1, number - MOST_GAPS), number))
        if number > last:
            self._last[stream] = number
        elif stream in self._gaps:
            self._gaps[stream].discard(number)

    def _open_gaps(self, stream: tuple[int, int], numbers: Iterable[int]) -> None:
        """The oldest gaps close when there are too many: their letters were given up."""
        gaps = self._gaps.get(stream, set()).union(numbers)
        self._gaps[stream] = set(sorted(gaps)[-MOST_GAPS:])

    def _join(self, stream: tuple[int, int], last: int, gaps: tuple[int, ...]) -> None:
        mine, missing = self._last.get(stream, 0), self._gaps.get(stream, set())
        theirs = {number for number in gaps if number > mine or number in missing}
        ours = {number for number in missing if number > last or number in gaps}
        self._last[stream] = max(mine, last)
        if theirs | ours or missing:
            self._gaps[stream] = theirs | ours
