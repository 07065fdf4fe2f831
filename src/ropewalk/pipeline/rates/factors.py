"""A short form of the covariance: C = F F' + diag(d) but for an error that is told.

Principal axes: the k largest eigenvectors of C with its diagonal replaced by that of F F', again
and again; each round can only lower the off-diagonal error (Harman and Jones 1966 call the
minimum minres). Products with C are products with the sparse grid, so the matrix itself is never
there; variances are reproduced exactly, and d is never negative.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, eigsh

from ropewalk.errors import UsageError
from ropewalk.pipeline.rates.gram import Products, blocks_of, centre, gram_block, products_of
from ropewalk.pipeline.rates.grid import Grid, Reals

TOLERANCE = 0.1
MOST = 32
ROUNDS = 12
SEED = 20150601
SMALL = 400
"""Up to this many topics the whole matrix is decomposed: quicker, and any number of factors."""


@dataclass(frozen=True, slots=True)
class Factors:
    """F (topics x factors), d, and how far F F' + diag(d) is from the covariance."""

    loadings: Reals
    own: Reals
    """What is left of each topic's variance: d."""
    error: float
    """Frobenius norm of the off-diagonal error, relative to that of the off-diagonal itself."""
    largest_error: float
    """The largest error of a pair, relative to the root of the product of its variances."""
    tolerance: float | None
    """What `error` had to reach; None where the number of factors was given."""

    @property
    def count(self) -> int:
        """How many factors."""
        return int(self.loadings.shape[1])

    @property
    def reached(self) -> bool:
        """Whether the tolerance was reached; a given number of factors has none to reach."""
        return self.tolerance is None or self.error <= self.tolerance

    def dense(self) -> Reals:
        """F F' + diag(d)."""
        whole: Reals = self.loadings @ self.loadings.T + np.diag(self.own)
        return whole


@dataclass(frozen=True, slots=True)
class Problem:
    """What a fit needs: products with the covariance, its diagonal, and its size off it."""

    topics: int
    variance: Reals
    times: Callable[[Reals], Reals]
    off_diagonal: float
    """The sum of squares off the diagonal."""


def factors_of(
    grid: Grid, *, count: int | None = None, tolerance: float = TOLERANCE, most: int = MOST
) -> Factors:
    """Factors of a grid's covariance: `count` of them, or as few as the tolerance needs.

    As few: doubled until the error is within the tolerance, then bisected. `most` are tried
    first: if these do not reach it, they are the result and `reached` is False.
    """
    if count is not None and count < 1:
        raise UsageError(f"{count} factors: write 1 or more")
    if not 0 < tolerance < 1:
        raise UsageError(f"tolerance {tolerance}: write a number between 0 and 1")
    products = products_of(grid)
    problem = _problem(grid, products)
    if count is not None:
        loadings, error = fit(problem, count)
    else:
        loadings, error = _fewest(problem, tolerance, most)
    return Factors(
        loadings,
        np.maximum(problem.variance - (loadings**2).sum(1), 0.0),
        error,
        _largest_error(grid, products, loadings),
        tolerance if count is None else None,
    )


def fit(problem: Problem, count: int) -> tuple[Reals, float]:
    """Loadings of a number of factors, and their relative off-diagonal error."""
    diagonal = np.zeros(problem.topics)
    best = np.zeros((problem.topics, 0)), 1.0 if problem.off_diagonal > 0 else 0.0
    for _ in range(ROUNDS):
        loadings = _axes(problem, diagonal, count)
        diagonal = (loadings**2).sum(1)
        loadings = _within(loadings, problem.variance)
        error = _error(problem, loadings)
        gained = best[1] - error
        best = (loadings, error) if gained > 0 else best
        if gained < 1e-3 * best[1]:
            break
    return best


def _fewest(problem: Problem, tolerance: float, most: int) -> tuple[Reals, float]:
    most = min(most, problem.topics)
    tried = {most: fit(problem, most)}
    if tried[most][1] > tolerance:
        return tried[most]
    low, high = 0, 1
    while high < most:
        tried[high] = fit(problem, high)
        if tried[high][1] <= tolerance:
            break
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        tried[middle] = fit(problem, middle)
        low, high = (low, middle) if tried[middle][1] <= tolerance else (middle, high)
    return tried[high]


def _problem(grid: Grid, products: Products) -> Problem:
    matrix, mean, windows = grid.matrix, grid.mean, grid.windows
    across = matrix.T.tocsr()

    def times(vectors: Reals) -> Reals:
        joined: Reals = across @ (matrix @ vectors)
        flat = mean @ vectors
        joined -= windows * (np.outer(mean, flat) if vectors.ndim > 1 else mean * flat)
        return joined / (windows - 1)

    off = 0.0
    for first, end in blocks_of(len(grid.topics)):
        block = centre(gram_block(products, first, end), first, mean, windows)
        off += 2 * float((np.triu(block, 1) ** 2).sum())
    return Problem(len(grid.topics), np.maximum(grid.variance, 0.0), times, off)


def _axes(problem: Problem, diagonal: Reals, count: int) -> Reals:
    """The largest eigenvectors, times the roots of their values, with another diagonal."""
    change = diagonal - problem.variance
    count = min(count, problem.topics)
    if problem.topics <= SMALL or count >= problem.topics // 2:
        whole = problem.times(np.eye(problem.topics)) + np.diag(change)
        chosen = [problem.topics - count, problem.topics - 1]
        values, vectors = eigh((whole + whole.T) / 2, subset_by_index=chosen)
    else:
        values, vectors = _lanczos(problem, change, count)
    order = np.argsort(-values)
    vectors = vectors[:, order] * np.sqrt(np.maximum(values[order], 0.0))
    signs: Any = np.sign(vectors[np.abs(vectors).argmax(0), np.arange(count)])
    return vectors * np.where(signs == 0, 1.0, signs)  # type: ignore[no-any-return]


def _lanczos(problem: Problem, change: Reals, count: int) -> tuple[Reals, Reals]:
    operator = LinearOperator(
        (problem.topics, problem.topics),
        matvec=lambda v: problem.times(v.ravel()) + change * v.ravel(),
        dtype=np.float64,
    )
    start = np.random.default_rng(SEED).normal(size=problem.topics)
    values, vectors = eigsh(operator, count, which="LA", v0=start, tol=1e-6)
    return values, vectors


def _within(loadings: Reals, variance: Reals) -> Reals:
    """Loadings that give no topic more than its variance: d must not be negative."""
    given = (loadings**2).sum(1)
    over = given > variance
    scale = np.ones(len(given))
    scale[over] = np.sqrt(variance[over] / given[over])
    return loadings * scale[:, None]


def _error(problem: Problem, loadings: Reals) -> float:
    """The relative off-diagonal error, from products with the loadings only."""
    if problem.off_diagonal <= 0:
        return 0.0
    given = (loadings**2).sum(1)
    meeting = float((loadings * problem.times(loadings)).sum() - problem.variance @ given)
    own = float(((loadings.T @ loadings) ** 2).sum() - (given**2).sum())
    left = max(problem.off_diagonal - 2 * meeting + own, 0.0)
    return float(np.sqrt(left / problem.off_diagonal))


def _largest_error(grid: Grid, products: Products, loadings: Reals) -> float:
    """The largest error of a pair of topics that vary, relative to their deviations."""
    mean = grid.mean
    deviation = np.sqrt(np.maximum(grid.variance, 0.0))
    scale = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 0)
    largest = 0.0
    for first, end in blocks_of(len(grid.topics)):
        block = centre(gram_block(products, first, end), first, mean, grid.windows)
        block -= loadings[first:end] @ loadings[first:].T
        block *= scale[first:end, None] * scale[None, first:]
        largest = max(largest, float(np.abs(np.triu(block, 1)).max(initial=0.0)))
    return largest
