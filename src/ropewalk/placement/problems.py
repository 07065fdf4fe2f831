"""What is to be placed: items, brokers, how items vary together, and what has to be respected."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from ropewalk.errors import UsageError
from ropewalk.placement.performance import Reals

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
NOWHERE = -1


@dataclass(frozen=True, slots=True)
class Spread:
    """The covariance of items' rates: matrix + loadings loadings' + diag(own).

    A matrix alone for few items; factors and what is left for many. Either part may be empty.
    """

    matrix: Reals
    """items x items, or 0 x 0."""
    loadings: Reals
    """items x factors; may have no columns."""
    own: Reals

    @classmethod
    def dense(cls, matrix: Reals) -> "Spread":
        """A covariance matrix as it is."""
        matrix = np.ascontiguousarray(matrix, np.float64)
        return cls(matrix, np.zeros((len(matrix), 0)), np.zeros(len(matrix)))

    @classmethod
    def factors(cls, loadings: Reals, own: Reals) -> "Spread":
        """Factors, and each item's own variance."""
        return cls(
            np.zeros((0, 0)),
            np.ascontiguousarray(loadings, np.float64),
            np.ascontiguousarray(own, np.float64),
        )

    @property
    def variance(self) -> Reals:
        """The variance of each item."""
        own: Reals = self.own + (self.loadings**2).sum(1)
        return own + self.matrix.diagonal() if len(self.matrix) else own

    def times(self, weights: Reals) -> Reals:
        """The covariance times a vector."""
        found = self.loadings @ (self.loadings.T @ weights) + self.own * weights
        return found + self.matrix @ weights if len(self.matrix) else found

    def of(self, weights: Reals) -> float:
        """The variance of a weighted sum of items."""
        return float(weights @ self.times(weights))

    def whole(self) -> Reals:
        """The matrix of all of it."""
        found: Reals = self.loadings @ self.loadings.T + np.diag(self.own)
        return found + self.matrix if len(self.matrix) else found


@dataclass(frozen=True, slots=True)
class Rules:
    """What a placement has to respect. A limit that is not there is infinite."""

    allowed: Flags
    """brokers x items."""
    today: Ints
    """Where each item is; NOWHERE if it is at no broker yet."""
    apart: tuple[tuple[int, ...], ...] = ()
    """Items of which no two may be on one broker."""
    most_moves: int | None = None
    least_margin: Reals = field(default_factory=lambda: np.zeros(0))
    """Of each broker: deviations between mean load and limit; -inf if there is no cap of risk."""
    most_service_s: Reals = field(default_factory=lambda: np.zeros(0))
    most_delay_s: Reals = field(default_factory=lambda: np.zeros(0))
    most_replication: Reals = field(default_factory=lambda: np.zeros(0))
    most_items: Reals = field(default_factory=lambda: np.zeros(0))
    most_bytes_s: Reals = field(default_factory=lambda: np.zeros(0))
    site: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    """The site of each broker, by number."""
    sites: tuple[str, ...] = ()
    most_items_at: Reals = field(default_factory=lambda: np.zeros(0))
    most_rate_at: Reals = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def none(cls, brokers: int, items: int) -> "Rules":
        """Nothing to respect."""
        return cls(np.ones((brokers, items), np.bool_), np.full(items, NOWHERE)).filled()

    def filled(self) -> "Rules":
        """With limits that were not given at infinity, and one site for all brokers if none is."""
        brokers = len(self.allowed)
        site = self.site if len(self.site) else np.zeros(brokers, np.int64)
        sites = self.sites or ("",) * (int(site.max(initial=0)) + 1)

        def given(values: Reals, default: float = np.inf, length: int = brokers) -> Reals:
            return values if len(values) else np.full(length, default)

        return replace(
            self,
            least_margin=given(self.least_margin, -np.inf),
            most_service_s=given(self.most_service_s),
            most_delay_s=given(self.most_delay_s),
            most_replication=given(self.most_replication),
            most_items=given(self.most_items),
            most_bytes_s=given(self.most_bytes_s),
            site=site,
            sites=sites,
            most_items_at=given(self.most_items_at, length=len(sites)),
            most_rate_at=given(self.most_rate_at, length=len(sites)),
        )


PER_BROKER = (
    "least_margin",
    "most_service_s",
    "most_delay_s",
    "most_replication",
    "most_items",
    "most_bytes_s",
)


@dataclass(frozen=True, slots=True)
class Problem:
    """Items to be placed on brokers. Work and limits are in one unit: shares of a second."""

    items: tuple[str, ...]
    brokers: tuple[str, ...]
    rate_msgs_s: Reals
    spread: Spread
    work_s: Reals
    """brokers x items: what one message costs."""
    limit: Reals
    """Of each broker: how much work a second may bring, its capacity times the part to be used."""
    replication: Reals
    bytes_each: Reals
    rules: Rules

    @property
    def load(self) -> Reals:
        """Mean work per second: brokers x items."""
        return self.work_s * self.rate_msgs_s

    @property
    def movable(self) -> Flags:
        """Items that may be on more than one broker."""
        found: Flags = self.rules.allowed.sum(0) > 1
        return found


def alike(problem: Problem) -> Ints:
    """A number for each broker; those that are the same in every way have the same."""
    rules = problem.rules
    row = np.column_stack(
        [problem.limit, problem.work_s, rules.allowed, rules.site]
        + [getattr(rules, name) for name in PER_BROKER]
    )
    kind: Ints = np.unique(row, axis=0, return_inverse=True)[1].ravel()
    return kind


def problem(
    rate_msgs_s: Reals,
    spread: Spread,
    limit: Reals,
    *,
    work_s: Reals | None = None,
    items: Sequence[str] = (),
    brokers: Sequence[str] = (),
    replication: Reals | None = None,
    bytes_each: Reals | None = None,
    rules: Rules | None = None,
) -> Problem:
    """A problem of arrays, checked; without `work_s` limits are rates of messages.

    Raises UsageError for sizes that do not fit, numbers that are none, and limits of zero.
    """
    rate, limit = np.asarray(rate_msgs_s, np.float64), np.asarray(limit, np.float64)
    count, width = len(rate), len(limit)
    items = tuple(items) or tuple(f"item {i + 1}" for i in range(count))
    brokers = tuple(brokers) or tuple(f"broker {b + 1}" for b in range(width))
    work = np.ones((width, count)) if work_s is None else np.asarray(work_s, np.float64)
    found = Problem(
        items,
        brokers,
        rate,
        spread,
        np.ascontiguousarray(work),
        limit,
        np.ones(count) if replication is None else np.asarray(replication, np.float64),
        np.zeros(count) if bytes_each is None else np.asarray(bytes_each, np.float64),
        (rules or Rules.none(width, count)).filled(),
    )
    _check(found)
    return found


def _check(problem: Problem) -> None:
    count, width = len(problem.items), len(problem.brokers)
    if not count or not width:
        raise UsageError("nothing to place: there is no " + ("item" if not count else "broker"))
    check_spread(problem.items, problem.spread)
    for what, found, wanted in (
        ("rates", problem.rate_msgs_s.shape, (count,)),
        ("limits", problem.limit.shape, (width,)),
        ("work of a message", problem.work_s.shape, (width, count)),
        ("brokers allowed", problem.rules.allowed.shape, (width, count)),
        ("today's places", problem.rules.today.shape, (count,)),
        ("copies of a message", problem.replication.shape, (count,)),
        ("bytes of a message", problem.bytes_each.shape, (count,)),
        ("sites", problem.rules.site.shape, (width,)),
        ("most_items_at", problem.rules.most_items_at.shape, (len(problem.rules.sites),)),
        ("most_rate_at", problem.rules.most_rate_at.shape, (len(problem.rules.sites),)),
        *((name, getattr(problem.rules, name).shape, (width,)) for name in PER_BROKER),
    ):
        if found != wanted:
            raise UsageError(f"{what}: {_size(found)} numbers, {_size(wanted)} are needed")
    for name, rate in zip(problem.items, problem.rate_msgs_s, strict=True):
        if not (np.isfinite(rate) and rate >= 0):
            raise UsageError(f"item {name}: its rate is {rate}: give a number, 0 or more")
    for name, limit in zip(problem.brokers, problem.limit, strict=True):
        if not (np.isfinite(limit) and limit > 0):
            raise UsageError(
                f"broker {name}: its capacity is {limit:g}: nothing can be placed there;"
                " give it a capacity above 0, or leave it out"
            )
    for what, values in (("copies", problem.replication), ("bytes", problem.bytes_each)):
        if (wrong := ~(np.isfinite(values) & (values >= 0))).any():
            name = problem.items[int(wrong.argmax())]
            raise UsageError(f"item {name}: {what} of a message are no number, or below 0")
    if (wrong := ~(np.isfinite(problem.work_s) & (problem.work_s >= 0))).any():
        b, i = divmod(int(wrong.argmax()), count)
        raise UsageError(
            f"item {problem.items[i]} on broker {problem.brokers[b]}: the work of a message is"
            f" {problem.work_s[b, i]}: give a number, 0 or more"
        )
    today = problem.rules.today
    if (wrong := (today < NOWHERE) | (today >= width)).any():
        i = int(wrong.argmax())
        raise UsageError(f"item {problem.items[i]}: it is at broker {today[i]}, of {width}")
    if (nowhere := ~problem.rules.allowed.any(0)).any():
        name = problem.items[int(nowhere.argmax())]
        raise UsageError(f"item {name}: no broker is allowed for it: allow one in `only`")


def check_spread(items: Sequence[str], spread: Spread) -> None:
    """Refuse a covariance that cannot be one; raises UsageError, which names the items."""
    count = len(items)
    if len(spread.matrix):
        check_matrix(items, spread.matrix)
    for what, part in (("factors", spread.loadings), ("own variances", spread.own)):
        if len(part) != count:
            raise UsageError(f"{what}: of {len(part)} items, there are {count}")
        if not np.isfinite(part).all():
            name = items[int(np.argwhere(~np.isfinite(part))[0][0])]
            raise UsageError(f"item {name}: its {what} are no numbers")
    if (spread.own < 0).any():
        name = items[int((spread.own < 0).argmax())]
        raise UsageError(f"item {name}: its own variance is below 0")


def check_matrix(items: Sequence[str], matrix: Reals) -> None:
    """Refuse a matrix that is no covariance of these items: size, NaN, symmetry, variances."""
    count = len(items)
    if matrix.shape != (count, count):
        raise UsageError(f"covariance: {_size(matrix.shape)}, of {count} items it is square")
    if not np.isfinite(matrix).all():
        a, b = divmod(int((~np.isfinite(matrix)).argmax()), count)
        raise UsageError(f"covariance of {items[a]} and {items[b]}: {matrix[a, b]} is no number")
    if (matrix.diagonal() < 0).any():
        name = items[int((matrix.diagonal() < 0).argmax())]
        raise UsageError(f"item {name}: its variance is below 0")
    scale = np.sqrt(np.outer(matrix.diagonal(), matrix.diagonal()))
    apart = np.abs(matrix - matrix.T)
    if (apart > 1e-6 * scale + 1e-12 * np.abs(matrix).max(initial=0.0)).any():
        a, b = divmod(int((apart - 1e-6 * scale).argmax()), count)
        raise UsageError(
            f"covariance is not symmetric: of {items[a]} and {items[b]} it is {matrix[a, b]:g},"
            f" of {items[b]} and {items[a]} {matrix[b, a]:g}"
        )


def _size(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))
