"""The nearest correlation matrix, where a covariance is not positive semi-definite.

Alternating projections with Dykstra's correction (Higham 2002): onto matrices without negative
eigenvalues, and onto those with ones on the diagonal. Variances stay as they are.
"""

from dataclasses import dataclass

import numpy as np

from ropewalk.placement.performance import Reals

ROUNDS = 1000
TOLERANCE = 1e-9
SMALL = 1e-8
"""An eigenvalue of a correlation matrix above minus this is taken for zero."""


@dataclass(frozen=True, slots=True)
class Repair:
    """A covariance that is one, and how far it is from the one that was given."""

    matrix: Reals
    least_eigenvalue: float
    """Of the matrix that was given."""
    largest_change: float
    """Of a correlation."""
    changed: bool

    @property
    def text(self) -> str:
        """What was done, in a sentence."""
        if not self.changed:
            return "the covariance is positive semi-definite"
        return (
            f"the covariance is not positive semi-definite (least eigenvalue"
            f" {self.least_eigenvalue:.4g}): the nearest one is taken, correlations change by up to"
            f" {self.largest_change:.3g}"
        )


def repaired(covariance: Reals) -> Repair:
    """The nearest covariance matrix with the same variances."""
    covariance = (covariance + covariance.T) / 2
    least = float(np.linalg.eigvalsh(covariance)[0])
    deviation = np.sqrt(np.maximum(covariance.diagonal(), 0.0))
    scale = np.where(deviation > 0, deviation, 1.0)
    given = covariance / np.outer(scale, scale)
    np.fill_diagonal(given, 1.0)
    impossible = bool(covariance[deviation == 0].any())  # what does not vary is in no covariance
    if not impossible and float(np.linalg.eigvalsh(given)[0]) >= -SMALL:
        return Repair(covariance, least, 0.0, changed=False)
    given[deviation == 0], given[:, deviation == 0] = 0.0, 0.0
    np.fill_diagonal(given, 1.0)
    nearest = nearest_correlation(given)
    change = float(np.abs(nearest - given).max())
    return Repair(nearest * np.outer(deviation, deviation), least, change, changed=True)


def is_covariance(matrix: Reals) -> bool:
    """Whether a symmetric matrix is positive semi-definite, but for rounding."""
    if not len(matrix):
        return True
    shift = SMALL * max(float(np.abs(matrix.diagonal()).max()), 1e-300) * len(matrix)
    try:
        np.linalg.cholesky(matrix + shift * np.eye(len(matrix)))
    except np.linalg.LinAlgError:
        return False
    return True


def nearest_correlation(given: Reals, rounds: int = ROUNDS) -> Reals:
    """The correlation matrix nearest to a symmetric one, in the sum of squares.

    >>> given = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]])
    >>> nearest_correlation(given).round(4)[0].tolist()  # Higham 2002, 4
    [1.0, 0.7607, 0.1573]
    """
    near, correction = given.copy(), np.zeros_like(given)
    for _ in range(rounds):
        wanted = near - correction
        inside = _without_negative(wanted)
        correction = inside - wanted
        last, near = near, inside.copy()
        np.fill_diagonal(near, 1.0)
        if np.abs(near - last).max() < TOLERANCE:
            break
    inside = _without_negative(near)
    scale = np.sqrt(inside.diagonal())
    found: Reals = inside / np.outer(scale, scale)
    return (found + found.T) / 2


def _without_negative(matrix: Reals) -> Reals:
    values, vectors = np.linalg.eigh(matrix)
    found: Reals = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return found
