"""Which letters clients have got: handed over when they move, so that none comes twice.

The lanes are per destination: the target's numbers tell nothing about what the source delivered. So
the source says it by letter ids: of each stream (origin, incarnation, topic) the numbers that were
delivered, as ranges. In fifo order a stream is one range; letters without order make gaps while
they overtake each other, at most as many as a destination holds back.

It is exact as long as it stays within its bounds. Beyond them ranges or streams are forgotten, the
lowest first, and `exact` is false: what is forgotten may come twice, and nothing is lost by it.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence

from ropewalk.overlay.words import Wire

LetterId = tuple[int, int, str, int]
"""Origin, incarnation, topic, number: `Letter.id`."""
StreamId = tuple[int, int, str]
Range = tuple[int, int]
"""First and last number, both within."""

MOST_RANGES = 8_192
MOST_STREAMS = 65_536


class Frontier(Wire, frozen=True, tag="council.frontier"):
    """The letters of some streams that were delivered; a value that can be sent.

    >>> some = Frontier.of([(1, 1, "a", 1), (1, 1, "a", 2), (1, 1, "a", 5)])
    >>> some.streams
    (((1, 1, 'a'), ((1, 2), (5, 5))),)
    >>> some.covers((1, 1, "a", 5)), some.covers((1, 1, "a", 3))
    (True, False)
    """

    streams: tuple[tuple[StreamId, tuple[Range, ...]], ...] = ()
    """Sorted, as are the ranges of each; ranges neither touch nor overlap."""
    exact: bool = True

    @classmethod
    def of(cls, letters: Iterable[LetterId]) -> "Frontier":
        """The frontier of exactly these letters."""
        book = Delivered()
        for id in letters:
            book.add(id)
        return book.frontier()

    def covers(self, id: LetterId) -> bool:
        """The letter was delivered."""
        at = bisect_left(self.streams, id[:3], key=lambda one: one[0])
        mine = at < len(self.streams) and self.streams[at][0] == id[:3]
        return mine and _within(self.streams[at][1], id[3])

    def join(self, other: "Frontier") -> "Frontier":
        """What one of both covers."""
        book = Delivered()
        book.join(self)
        book.join(other)
        return book.frontier()


class Delivered:
    """The same, kept up to date: what this agent has given to the clients of an item."""

    def __init__(self, *, most_ranges: int = MOST_RANGES, most_streams: int = MOST_STREAMS) -> None:
        self.exact = True
        self._streams: dict[StreamId, list[Range]] = {}
        self._most = most_ranges, most_streams

    def add(self, id: LetterId) -> None:
        """A letter was delivered."""
        self._put(id[:3], (id[3], id[3]))

    def covers(self, id: LetterId) -> bool:
        """It was delivered."""
        return _within(self._streams.get(id[:3], ()), id[3])

    def join(self, other: Frontier) -> None:
        """Take over what another agent delivered."""
        self.exact &= other.exact
        for stream, ranges in other.streams:
            for one in ranges:
                self._put(stream, one)

    def frontier(self, wanted: Callable[[str], bool] = lambda _: True) -> Frontier:
        """As a value; only topics that are wanted."""
        found = ((stream, tuple(ranges)) for stream, ranges in self._streams.items())
        return Frontier(tuple(sorted(one for one in found if wanted(one[0][2]))), self.exact)

    def count(self, wanted: Callable[[str], bool]) -> int:
        """How many letters of topics that are wanted."""
        some = (ranges for stream, ranges in self._streams.items() if wanted(stream[2]))
        return sum(last - first + 1 for ranges in some for first, last in ranges)

    def _put(self, stream: StreamId, new: Range) -> None:
        ranges = self._streams.get(stream)
        if ranges is None:
            ranges = self._streams[stream] = []
            self._shed_stream()
        _merge(ranges, new)
        if len(ranges) > self._most[0]:
            del ranges[0]
            self.exact = False

    def _shed_stream(self) -> None:
        if len(self._streams) > self._most[1]:
            # The oldest in the book: most likely of an incarnation that is long gone.
            del self._streams[next(iter(self._streams))]
            self.exact = False


def _within(ranges: Sequence[Range], number: int) -> bool:
    at = bisect_right(ranges, number, key=lambda one: one[0]) - 1
    return at >= 0 and number <= ranges[at][1]


def _merge(ranges: list[Range], new: Range) -> None:
    """Put a range among sorted ones that neither touch nor overlap, and keep them so."""
    if ranges and new[0] == ranges[-1][1] + 1:  # In order: the common case.
        ranges[-1] = ranges[-1][0], new[1]
        return
    first, last = new
    left = bisect_left(ranges, first - 1, key=lambda one: one[1])
    right = bisect_right(ranges, last + 1, key=lambda one: one[0])
    if left < right:
        first, last = min(first, ranges[left][0]), max(last, ranges[right - 1][1])
    ranges[left:right] = [(first, last)]
