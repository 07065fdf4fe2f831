"""What a message costs one broker: costs, intervals, and what its figures cannot tell apart.

Intervals are percentiles of a bootstrap over windows: they need no law of the noise, and hold
where a cost is near zero. The bootstrap is seeded.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ropewalk.federation.arrays import Floats
from ropewalk.pipeline.calibrate.solve import robust, settled

COSTS = ("receive_us", "filter_us", "send_us")
DRIVERS = ("messages", "filters", "copies")
"""What makes each cost."""

FEWEST = 10
"""Windows, below which nothing is said."""
APART = 0.02
"""What of a column's size must be its own, not a mixture of the others, to tell its cost."""
TOGETHER = 0.05
REPLICATES = 499
LEVEL = 0.95
NEAR = 1e-3
"""An interval needs no more."""
ROOM = 2_000_000
"""Numbers of a table of draws by windows."""


@dataclass(frozen=True, eq=False, slots=True)
class Observations:
    """Windows of one broker: what a message cost on average, and what it met.

    `messages` is how many messages a window had: its precision grows with them.
    """

    filters: Floats
    replication: Floats
    service_us: Floats
    messages: Floats

    def usable(self) -> "Observations":
        """Those that are complete and make sense."""
        each = (self.filters, self.replication, self.service_us, self.messages)
        good = np.all([np.isfinite(one) & (one >= 0) for one in each], axis=0) & (self.messages > 0)
        return Observations(*(np.asarray(one[good], np.float64) for one in each))


@dataclass(frozen=True, slots=True)
class Fit:
    """Costs with their intervals; None where nothing can be said, for the reasons in `notes`."""

    windows: int
    unusable: int
    outliers: int = 0
    filters: float = 0.0
    replication: float = 0.0
    """What a message met on average, over all messages."""
    costs: tuple[float, float, float] | None = None
    low: tuple[float, float, float] | None = None
    high: tuple[float, float, float] | None = None
    service_us: tuple[float, float, float] | None = None
    """A message's service time at that average: low, best, high."""
    unseparated: tuple[str, ...] = ()
    """Costs that are part of others, since they never came apart."""
    notes: tuple[str, ...] = ()


def fit(seen: Observations, *, seed: int = 1, replicates: int = REPLICATES) -> Fit:
    """The costs of one broker."""
    good = seen.usable()
    windows, unusable = len(good.messages), len(seen.messages) - len(good.messages)
    if windows < FEWEST:
        told = f"{windows} usable windows ({unusable} others): at least {FEWEST} are needed"
        return Fit(windows, unusable, notes=(told,))
    columns = np.column_stack((np.ones(windows), good.filters, good.replication))
    kept, notes = _separable(columns, good.messages)
    # A mean over more messages is more precise; so scaled, all rows are equally precise.
    precision = np.sqrt(good.messages / good.messages.mean())
    own, answers = columns[:, kept] * precision[:, None], good.service_us * precision
    best = robust(own, answers)
    drawn = _bootstrap(own, answers, best.costs, best.deviation, seed, replicates)
    mean = np.average(columns, axis=0, weights=good.messages)
    service = drawn @ mean[kept]
    low, high = _between(drawn)
    return Fit(
        windows,
        unusable,
        int((best.counted == 0).sum()),
        float(mean[1]),
        float(mean[2]),
        _placed(best.costs, kept),
        _placed(low, kept),
        _placed(high, kept),
        (float(_between(service)[0]), float(best.costs @ mean[kept]), float(_between(service)[1])),
        tuple(name for i, name in enumerate(COSTS) if i not in kept),
        tuple(notes),
    )


def _separable(columns: Floats, weights: Floats) -> tuple[list[int], list[str]]:
    """The columns whose costs can be told apart, and for the others why not."""
    kept, notes = [0, 1, 2], []
    for one in (1, 2):
        column, others = columns[:, one], [i for i in kept if i != one]
        root = np.sqrt(weights)
        size = float(np.linalg.norm(column * root))
        if size == 0:
            kept.remove(one)
            notes.append(f"{COSTS[one]} cannot be told: there were no {DRIVERS[one]}; it is 0 here")
            continue
        mixture, *_ = np.linalg.lstsq(columns[:, others] * root[:, None], column * root)
        rest = float(np.linalg.norm((column - columns[:, others] @ mixture) * root))
        if rest / size >= APART:
            continue
        parts = np.abs(mixture) * np.linalg.norm(columns[:, others] * root[:, None], axis=0) / size
        with_ = [COSTS[i] for i, part in zip(others, parts, strict=True) if part > TOGETHER]
        kept.remove(one)
        notes.append(_inseparable(one, others, mixture, with_))
    return kept, notes


def _inseparable(one: int, others: list[int], mixture: Any, with_: list[str]) -> str:
    about = " + ".join(
        f"{share:.4g}" + (f" x {DRIVERS[i]}" if i else "")
        for i, share in zip(others, mixture, strict=True)
        if COSTS[i] in with_
    )
    joined = " and ".join(with_) or COSTS[0]
    return (
        f"{COSTS[one]} cannot be told from {joined}: {DRIVERS[one]} per message were always about "
        f"{about}; it is counted in there, and 0 here: vary them"
    )


def _bootstrap(
    columns: Floats, answers: Floats, costs: Floats, deviation: float, seed: int, replicates: int
) -> Floats:
    """Costs for so many draws of windows with replacement, a few draws at a time."""
    rng = np.random.default_rng(seed)
    windows, found = len(answers), []
    chance = np.full(windows, 1 / windows)
    step = max(1, ROOM // windows)
    for start in range(0, replicates, step):
        times = rng.multinomial(windows, chance, size=min(step, replicates - start)).astype(float)
        found.append(settled(columns, answers, times, costs, deviation, near=NEAR))
    return np.concatenate(found)


def _between(values: Floats) -> Any:
    return np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)


def _placed(costs: Floats, kept: list[int]) -> tuple[float, float, float]:
    placed = np.zeros(3)
    placed[kept] = costs
    return float(placed[0]), float(placed[1]), float(placed[2])
