"""How often something happened in a series of windows, and how well that is known.

Windows near each other in time are alike, so n of them tell less than n independent ones. How much
less is estimated by batch means (Schmeiser 1982: 10 to 30 batches, whatever n is): the series is
cut into 10 batches of consecutive windows, few and long, so that they have little to do with each
other; with s_b the sum of x - mean over batch b,

    Var(mean) = B / (B - 1) * sum(s_b^2) / n^2        n_eff = Var(x) / Var(mean), at most n

The interval is Wilson's for n_eff windows, with Student's quantile of B - 1 degrees in place of the
normal one; it always holds Wilson's for n. Where the thing happened never or always, its own
series does not tell how it clusters: n_eff is then that of the values behind it.
"""

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtrit

from ropewalk.errors import UsageError

BATCHES = 10
LEVEL = 0.95

Bools = npt.NDArray[np.bool_]
Reals = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Share:
    """A share of windows, its interval, and how many independent windows it is as good as."""

    windows: int
    happened: int
    low: float
    high: float
    effective_windows: float
    level: float

    @property
    def share(self) -> float:
        """What part of the windows it was."""
        return self.happened / self.windows


def share_of(happened: Bools, values: Reals | None = None, *, level: float = LEVEL) -> Share:
    """The share of a series in order of time; `values` are what it is read from.

    Raises UsageError for no windows, or a level that is none.
    """
    if not len(happened):
        raise UsageError("no windows, so no share of them: take another peak rule")
    if not 0 < level < 1:
        raise UsageError(f"level {level}: write a number between 0 and 1, as 0.95")
    windows, times = len(happened), int(np.count_nonzero(happened))
    mixed = 0 < times < windows
    series: Any = happened if mixed or values is None else values
    effective = effective_windows(series.astype(np.float64))
    low, high = wilson(times / windows, effective, _student(min(BATCHES, windows), level))
    return Share(windows, times, low, high, effective, level)


def naive_share_of(happened: Bools, *, level: float = LEVEL) -> Share:
    """The same as if windows were independent: too narrow where they are not."""
    windows, times = len(happened), int(np.count_nonzero(happened))
    low, high = wilson(times / windows, windows, float(ndtri((1 + level) / 2)))
    return Share(windows, times, low, high, windows, level)


def effective_windows(series: Reals, batches: int = BATCHES) -> float:
    """How many independent windows the mean of a series is as good as; all if it never varies.

    >>> effective_windows(np.tile([0.0, 1.0], 50))
    100.0
    >>> effective_windows(np.repeat([0.0, 1.0], 50))
    9.0
    """
    windows = len(series)
    batches = min(batches, windows)
    apart = series - series.mean()
    spread = float((apart**2).mean())
    if batches < 2 or spread <= 1e-24 * float((series**2).mean()):
        return float(windows)
    starts = np.arange(batches) * windows // batches
    sums = np.add.reduceat(apart, starts)
    of_mean = batches / (batches - 1) * float((sums**2).sum()) / windows**2
    return round(min(spread / of_mean, windows), 9) if of_mean > 0 else float(windows)


def wilson(share: float, windows: float, quantile: float) -> tuple[float, float]:
    """Wilson's interval: the shares that lie within so many of their own deviations.

    >>> low, high = wilson(0.1, 100, 1.96)
    >>> round(low, 4), round(high, 4)
    (0.0552, 0.1744)
    """
    weight = quantile**2 / windows
    centre = (share + weight / 2) / (1 + weight)
    half = sqrt(weight * share * (1 - share) + weight**2 / 4) / (1 + weight)
    low = 0.0 if share == 0 else max(centre - half, 0.0)
    high = 1.0 if share == 1 else min(centre + half, 1.0)
    return low, high


def _student(batches: int, level: float) -> float:
    """Student's quantile for so many batches; the normal one where there is one batch only."""
    upper = (1 + level) / 2
    return float(stdtrit(batches - 1, upper) if batches > 1 else ndtri(upper))
