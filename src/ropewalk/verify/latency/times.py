"""How long a thing takes, in slots of time: rounded up for one bound, rounded down for the other.

What takes longer than it does can only arrive later, so times rounded up give a probability that is
too low, and times rounded down one that is too high: the truth lies between them. What is constant
is kept apart in whole nanoseconds and never rounded. What lies beyond the last slot is late anyway,
so cutting it off costs nothing.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import log, log1p, sqrt

import numpy as np
import numpy.typing as npt

from ropewalk.federation.facts import Link

Reals = npt.NDArray[np.float64]
NS = 1_000_000
"""Nanoseconds in a millisecond."""
TINY = 1e-10
"""Tails of curves that are less than this are put where the bound stays a bound."""
ONE: Reals = np.ones(1)


@dataclass(frozen=True, slots=True)
class Grid:
    """Slots of time from 0 on; the last one that matters is number `last`."""

    slot_ns: int
    last: int

    @property
    def end_ns(self) -> int:
        """Where the slot after the last one begins: nothing in time lies beyond it."""
        return self.slot_ns * (self.last + 1)


@dataclass(frozen=True, slots=True)
class Retry:
    """When something lost is sent again, and how often at most (None: while there is time)."""

    after_ns: int
    most: int | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Times:
    """A constant, and the probability of each slot beside it: `late` rounded up, `early` down.

    They need not sum up to 1: the rest is lost, or later than the last slot.
    """

    base_ns: int
    late: Reals
    early: Reals

    @property
    def exact(self) -> bool:
        """Whether nothing had to be rounded."""
        return self.late is self.early

    def mean_ms(self, grid: Grid) -> float:
        """The mean; what is lost or late counts as the bound, so that it is at least this."""
        both = (_mean(self.late, grid.last) + _mean(self.early, grid.last)) / 2
        return (self.base_ns + both * grid.slot_ns) / NS


AT_ONCE = Times(0, ONE, ONE)
"""What takes no time."""


def _mean(mass: Reals, last: int) -> float:
    return float(mass @ np.arange(len(mass))) + (1 - float(mass.sum())) * last


def after(first: Times, second: Times, last: int) -> Times:
    """One thing after the other, up to the last slot."""
    base = first.base_ns + second.base_ns
    late = joined(first.late, second.late, last)
    if first.exact and second.exact:
        return Times(base, late, late)
    return Times(base, late, joined(first.early, second.early, last))


def joined(a: Reals, b: Reals, last: int) -> Reals:
    """The distribution of a sum, up to the last slot."""
    if len(a) == 1:
        a, b = b, a
    return a * b[0] if len(b) == 1 else np.convolve(a, b)[: last + 1]


def waiting(service_ns: float, utilisation: float, grid: Grid) -> Times:
    """A message in a broker: its own work, and what it waits behind others'.

    The wait is that of random arrivals and work of random length (M/M/1): none with probability
    1 - utilisation, else exponential. So the mean of both is T / (1 - utilisation), as placement
    has it. A broker at its capacity never gets to it.
    """
    base = round(service_ns)
    if utilisation >= 1:
        nothing = np.zeros(1)
        return Times(base, nothing, nothing)
    if utilisation <= 0 or service_ns <= 0:
        return Times(base, ONE, ONE)
    pace = (1 - utilisation) / service_ns

    def by(t: Reals) -> Reals:
        return np.where(t >= 0, 1 - utilisation * np.exp(-pace * np.maximum(t, 0)), 0.0)

    return Times(base, *_trimmed(*_rounded(by, grid, ONE, 0)))


def crossing(link: Link, latency_ns: int, retry: Retry, grid: Grid) -> Times:
    """A message over a link: its latency, after as many losses as it takes."""
    turns = np.array(list(_turns(link.loss, retry, grid)))
    if link.histogram is not None:
        return Times(0, *_counted(link, turns, retry.after_ns, grid))
    if link.jitter is not None:
        by = _spread(link, latency_ns)
        return Times(0, *_trimmed(*_rounded(by, grid, turns, retry.after_ns)))
    at = np.arange(len(turns)) * retry.after_ns
    late = _put(-(-at // grid.slot_ns), turns, grid.last)
    if not (at % grid.slot_ns).any():
        return Times(latency_ns, late, late)
    return Times(latency_ns, late, _put(at // grid.slot_ns, turns, grid.last))


def _turns(loss: float, retry: Retry, grid: Grid) -> Iterator[float]:
    """The probability that a message gets through at its first, second, ... try, while in time."""
    missed, turn = 1.0, 0
    while True:
        yield missed * (1 - loss)
        missed, turn = missed * loss, turn + 1
        spent = retry.most is not None and turn > retry.most
        if spent or missed < TINY**3 or turn * retry.after_ns >= grid.end_ns:
            return


def _spread(link: Link, latency_ns: int) -> Callable[[Reals], Reals]:
    """The probability that a latency is at most so many nanoseconds."""
    from scipy.special import ndtr  # late: who asks for no latencies waits for nothing

    assert link.jitter is not None  # noqa: S101
    sd = link.jitter.sd_ms * NS
    if link.jitter.shape == "normal":
        return lambda t: np.where(t >= 0, ndtr((t - latency_ns) / sd), 0.0)
    spread = sqrt(log1p((sd / max(latency_ns, 1)) ** 2))
    middle = log(max(latency_ns, 1)) - spread**2 / 2
    return lambda t: np.where(t > 0, ndtr((np.log(np.maximum(t, 1e-9)) - middle) / spread), 0.0)


def _rounded(
    by: Callable[[Reals], Reals], grid: Grid, turns: Reals, after_ns: int
) -> tuple[Reals, Reals]:
    """Slots of a distribution that has no steps but where it begins, tried several times."""
    ends = np.arange(grid.last + 2, dtype=np.float64) * grid.slot_ns
    total = np.zeros(grid.last + 2)
    for turn, chance in enumerate(turns):
        total += chance * by(ends - turn * after_ns)
    mass = np.diff(total, prepend=0.0)
    early = mass[1:].copy()
    early[0] += mass[0]
    return mass[:-1], early


def _counted(link: Link, turns: Reals, after_ns: int, grid: Grid) -> tuple[Reals, Reals]:
    """Slots of a histogram: all of a bin at its end, or all of it at its start."""
    given = link.histogram
    assert given is not None  # noqa: S101
    edges = np.array([round(one * NS) for one in given.edges_ms], np.int64)
    share = np.array(given.counts) / sum(given.counts)
    error = round(given.error_ms * NS)
    late, early = np.zeros(grid.last + 1), np.zeros(grid.last + 1)
    for turn, chance in enumerate(turns):
        ends = edges[1:] + error + turn * after_ns
        starts = np.maximum(edges[:-1] - error, 0) + turn * after_ns
        late += _put(-(-ends // grid.slot_ns), chance * share, grid.last)
        early += _put(starts // grid.slot_ns, chance * share, grid.last)
    return late, early


def _put(slots: npt.NDArray[np.int64], mass: Reals, last: int) -> Reals:
    kept = slots <= last
    return np.bincount(slots[kept], mass[kept], minlength=last + 1).astype(np.float64)


def _trimmed(late: Reals, early: Reals) -> tuple[Reals, Reals]:
    """The same with short tails cut: of `late` later or dropped, of `early` earlier."""
    start, stop = _body(late)
    late = late.copy()
    late[start] += late[:start].sum()
    late[:start], late = 0.0, late[:stop]
    start, stop = _body(early)
    early = early.copy()
    early[0] += early[1:start].sum()
    early[1:start] = 0.0
    early[stop - 1] += early[stop:].sum()
    return late, early[:stop]


def _body(mass: Reals) -> tuple[int, int]:
    """The slots that are left when the tails on both sides are gone."""
    total = np.cumsum(mass)
    start = min(int(np.searchsorted(total, TINY)), len(mass) - 1)
    stop = int(np.searchsorted(total, total[-1] - TINY)) + 1
    return start, max(min(stop, len(mass)), start + 1)
