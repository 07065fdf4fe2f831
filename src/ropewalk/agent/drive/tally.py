"""What was sent and what came, number by number, and the verdict on each pair of clients.

Everything is kept in flat arrays (32 bytes per arrival) and judged at the end, so that a message
costs well under a microsecond while it is being counted.
"""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropewalk.agent.drive.payload import Records

Longs = NDArray[np.int64]
Bools = NDArray[np.bool_]

_SENT, _FIRST, _AGAIN = 0, 1, 2
SHOWN = 10
"""So many ranges of numbers are given as a witness."""
OUTAGE_MS = 100.0
"""A longer time without a message is an outage."""


class Sent:
    """What became of each number of one publisher's stream; the first is 0."""

    def __init__(self) -> None:
        self._state = bytearray()
        self.acknowledged = 0

    def __len__(self) -> int:
        return len(self._state)

    def add(self, count: int = 1) -> int:
        """Note publications; the number of the first of them."""
        first = len(self._state)
        self._state += bytes(count)
        return first

    def acknowledge(self, number: int, tries: int = 1) -> None:
        """A publication was acknowledged after so many tries."""
        if self._state[number] == _SENT:
            self.acknowledged += 1
            self._state[number] = _FIRST if tries == 1 else _AGAIN

    @property
    def certain(self) -> Bools:
        """Which numbers were acknowledged: those have to come."""
        return np.not_equal(self._states(), _SENT)

    @property
    def in_turn(self) -> Bools:
        """Which numbers were surely sent in order.

        A publication that was sent again comes after those that were sent meanwhile. Where nobody
        acknowledges nothing is sent again.
        """
        states = self._states()
        return np.equal(states, _FIRST if self.acknowledged else _SENT)

    @property
    def resent(self) -> int:
        """How many were acknowledged only after they had been sent again."""
        return int(np.count_nonzero(self._states() == _AGAIN))

    def _states(self) -> NDArray[np.uint8]:
        return np.frombuffer(bytes(self._state), np.uint8)


class Heard:
    """What came to one subscriber, in the order in which it came."""

    def __init__(self) -> None:
        self._streams, self._numbers = array("q"), array("q")
        self._sent_ns, self._came_ns = array("q"), array("q")
        self._folded = 0
        self._seen: dict[int, Bools] = {}
        self.probed: set[int] = set()
        """Streams of which a probe has come."""
        self.last_ns = 0

    def __len__(self) -> int:
        return len(self._streams)

    def add(self, stream: int, number: int, sent_ns: int, came_ns: int) -> None:
        """Note one arrival."""
        if number < 0:
            self.probed.add(stream)
            return
        self._streams.append(stream)
        self._numbers.append(number)
        self._sent_ns.append(sent_ns)
        self._came_ns.append(came_ns)
        self.last_ns = came_ns

    def add_many(self, some: Records, came_ns: int) -> None:
        """Note many at once."""
        probes = some["number"] < 0
        if probes.any():
            self.probed.update(some["stream"][probes].tolist())
            some = some[~probes]
        self._streams.frombytes(some["stream"].astype(np.int64).tobytes())
        self._numbers.frombytes(some["number"].astype(np.int64).tobytes())
        self._sent_ns.frombytes(some["sent_ns"].astype(np.int64).tobytes())
        self._came_ns.frombytes(np.full(len(some), came_ns, np.int64).tobytes())
        self.last_ns = came_ns

    def missing(self, stream: int, sent: Sent) -> int:
        """How many acknowledged publications of a stream have not come yet."""
        self._fold()
        certain = sent.certain
        seen = _sized(self._seen.get(stream, np.zeros(0, np.bool_)), len(certain))
        return int(np.count_nonzero(certain & ~seen))

    def _fold(self) -> None:
        """Mark what came since the last time."""
        streams = np.array(self._streams[self._folded :], np.int64)
        numbers = np.array(self._numbers[self._folded :], np.int64)
        self._folded += len(streams)
        for stream in np.unique(streams).tolist():
            new = numbers[streams == stream]
            seen = self._seen.get(stream, np.zeros(0, np.bool_))
            if new.max() >= len(seen):
                seen = _sized(seen, max(1024, 2 * int(new.max())))
            seen[new] = True
            self._seen[stream] = seen

    def of(self, stream: int) -> "Arrivals":
        """What came of one stream."""
        mine = np.flatnonzero(np.array(self._streams, np.int64) == stream)
        return Arrivals(
            np.array(self._numbers, np.int64)[mine],
            np.array(self._sent_ns, np.int64)[mine],
            np.array(self._came_ns, np.int64)[mine],
        )

    def keys(self, streams: Iterable[int]) -> list[tuple[int, int]]:
        """First arrivals of some streams as (stream, number), in order."""
        wanted = frozenset(streams)
        both = zip(self._streams, self._numbers, strict=True)
        return list(dict.fromkeys(key for key in both if key[0] in wanted))


def _sized(some: Bools, size: int) -> Bools:
    """Some marks cut or filled up with False to a size."""
    return some[:size] if len(some) >= size else np.pad(some, (0, size - len(some)))


@dataclass(frozen=True, slots=True)
class Arrivals:
    """What came of one stream to one subscriber, in order."""

    numbers: Longs
    sent_ns: Longs
    came_ns: Longs

    def firsts(self) -> "Arrivals":
        """Without what had come before."""
        _, index = np.unique(self.numbers, return_index=True)
        index.sort()
        return Arrivals(self.numbers[index], self.sent_ns[index], self.came_ns[index])


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The verdict on one publisher's stream at one subscriber."""

    sent: int
    acknowledged: int
    resent: int
    """Acknowledged only after they had been sent again."""
    received: int
    """Different numbers that came."""
    lost: int
    """Acknowledged, and never came."""
    lost_numbers: tuple[tuple[int, int], ...]
    """The first few ranges of those."""
    uncertain: int
    """Never acknowledged."""
    uncertain_lost: int
    """Never acknowledged, and never came: nobody has promised anything."""
    doubled: int
    """Arrivals of a number that had come before."""
    disordered: int
    """First arrivals after that of a higher number, both surely sent in order."""
    longest_gap_ms: float
    gap_at_s: float
    """When that gap began, after the start of the run."""
    quiet_p999_ms: float | None
    """Of times between two messages before anything was broken: what this machine does alone."""
    quiet_longest_ms: float | None
    """The longest of these."""
    outages: tuple[tuple[float, float], ...]
    """Times without a message of over 100 ms: when each began, in s, and how long it was, in ms."""
    p50_ms: float | None
    p99_ms: float | None
    p999_ms: float | None
    slowest_ms: float | None
    """The longest that a message was on its way: at least as long as any time without a way."""

    def as_dict(self) -> dict[str, Any]:
        """For the JSON document."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Span:
    """The time that is judged, on the clock of the arrivals."""

    start_ns: int
    until_ns: int
    """The last publication: from then on no gap is anybody's fault."""
    after_ns: int = 0
    """Only gaps that end after this one count."""
    uneven: bool = False
    """Publications are not evenly spread: a gap begins when the message that ends it was sent."""
    complete: bool = False
    """All that was sent has come: nothing was to be had at the end."""


def judge(sent: Sent, heard: Arrivals, span: Span) -> Figures:
    """Hold what came of a stream against what was sent of it."""
    first = heard.firsts()
    certain = sent.certain
    seen = np.zeros(len(certain), np.bool_)
    seen[first.numbers] = True
    lost = np.flatnonzero(certain & ~seen)
    span = replace(span, complete=len(first.numbers) == len(sent))
    due_ns = first.sent_ns if span.uneven else None
    gap_ns, begin_ns = longest_gap(first.came_ns, span, due_ns)
    quiet = _quiet(first.came_ns, span)
    ways_ns = first.came_ns - first.sent_ns
    latency = percentiles_ms(ways_ns)
    return Figures(
        sent=len(sent),
        acknowledged=sent.acknowledged,
        resent=sent.resent,
        received=len(first.numbers),
        lost=len(lost),
        lost_numbers=ranges(lost)[:SHOWN],
        uncertain=len(sent) - sent.acknowledged,
        uncertain_lost=int(np.count_nonzero(~certain & ~seen)),
        doubled=len(heard.numbers) - len(first.numbers),
        disordered=disordered(first.numbers[sent.in_turn[first.numbers]]),
        longest_gap_ms=round(gap_ns / 1e6, 3),
        gap_at_s=round((begin_ns - span.start_ns) / 1e9, 3),
        quiet_p999_ms=percentiles_ms(quiet)[2],
        quiet_longest_ms=round(float(quiet.max()) / 1e6, 3) if len(quiet) else None,
        outages=outages(first.came_ns, span, due_ns),
        p50_ms=latency[0],
        p99_ms=latency[1],
        p999_ms=latency[2],
        slowest_ms=round(float(ways_ns.max()) / 1e6, 3) if len(ways_ns) else None,
    )


def disordered(numbers: Longs) -> int:
    """How many come after a higher one.

    >>> disordered(np.array([0, 2, 1, 3]))
    1
    """
    return int(np.count_nonzero(numbers < np.maximum.accumulate(numbers)))


def longest_gap(came_ns: Longs, span: Span, due_ns: Longs | None = None) -> tuple[int, int]:
    """The longest time without a first arrival, and when it began.

    From the start to the last publication: what stays away for good is a gap as well. With
    `due_ns`, when each that came was published, a gap begins no earlier than that of its end.
    """
    begins, ends = _gaps(came_ns, span, due_ns)
    gaps = np.where(ends >= span.after_ns, ends - begins, 0)
    longest = int(gaps.argmax())
    return int(gaps[longest]), int(begins[longest])


def outages(
    came_ns: Longs, span: Span, due_ns: Longs | None = None
) -> tuple[tuple[float, float], ...]:
    """When each outage began, in seconds after the start, and its length in milliseconds.

    >>> outages(np.array([0, 5, 305, 310]) * 10**6, Span(0, 320 * 10**6))
    ((0.005, 300.0),)
    """
    begins, ends = _gaps(came_ns, span, due_ns)
    gaps_ms = (ends - begins) / 1e6
    return tuple(
        (round((int(begins[i]) - span.start_ns) / 1e9, 3), round(float(gaps_ms[i]), 3))
        for i in np.flatnonzero(gaps_ms > OUTAGE_MS).tolist()
    )


def _gaps(came_ns: Longs, span: Span, due_ns: Longs | None) -> tuple[Longs, Longs]:
    """When times without an arrival begin and end."""
    edges = np.concatenate(([span.start_ns], came_ns, [max(span.until_ns, span.start_ns)]))
    edges = np.maximum.accumulate(edges)
    begins, ends = edges[:-1], edges[1:]
    if due_ns is not None:
        last_ns = span.until_ns if span.complete else begins[-1]
        begins = np.minimum(np.maximum(begins, np.concatenate((due_ns, [last_ns]))), ends)
    return begins, ends


def _quiet(came_ns: Longs, span: Span) -> Longs:
    """Times between messages before anything was broken; all of them if nothing was."""
    before = span.after_ns if span.after_ns > span.start_ns else span.until_ns
    quiet: Longs = np.diff(came_ns[(came_ns >= span.start_ns) & (came_ns < before)])
    return quiet


def percentiles_ms(latency_ns: Longs) -> tuple[float | None, float | None, float | None]:
    """The median, p99 and p99.9 in milliseconds; None of nothing."""
    if not len(latency_ns):
        return None, None, None
    p50, p99, p999 = np.percentile(latency_ns, (50, 99, 99.9)) / 1e6
    return round(float(p50), 3), round(float(p99), 3), round(float(p999), 3)


def ranges(numbers: Longs) -> tuple[tuple[int, int], ...]:
    """Numbers in order as ranges, both ends included.

    >>> ranges(np.array([3, 4, 5, 9]))
    ((3, 5), (9, 9))
    """
    parts = np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1)
    return tuple((int(part[0]), int(part[-1])) for part in parts if len(part))


def disagreement(
    one: list[tuple[int, int]], other: list[tuple[int, int]]
) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Two messages that two readers got in different order; None if there are none."""
    place = {key: i for i, key in enumerate(other)}
    shared = [key for key in one if key in place]
    for before, after in pairwise(shared):
        if place[before] > place[after]:
            return before, after
    return None
