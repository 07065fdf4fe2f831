"""What statistics must be: numbers, of one size, symmetric. Each fault is told with its topic."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from ropewalk.errors import UsageError
from ropewalk.pipeline.rates.grid import Numbers, Reals

ROWS = 512
"""Rows of the matrix that are looked at at once: it may be larger than the memory."""

UNEQUAL = 1e-6
"""How far two sides of the matrix may differ, relative to the deviations of their topics."""

Where = Callable[[int], str]
"""The place of a topic's row, as it is told."""


@contextmanager
def reading(path: Path, next_step: str) -> Iterator[None]:
    """What goes wrong inside is told of the file: decoders fail in many ways on damaged files."""
    try:
        yield
    except UsageError:
        raise
    except FileNotFoundError:
        raise UsageError(f"{path}: is missing: {next_step}") from None
    except OSError as error:
        why = error.strerror or "it is damaged"
        raise UsageError(f"{path}: cannot be read: {why}: {next_step}") from None
    except Exception:
        raise UsageError(
            f"{path}: cannot be read: it is damaged or of another kind: {next_step}"
        ) from None


def check_sizes(path: Path, values: Numbers, shape: tuple[int, ...], next_step: str) -> None:
    """Raise UsageError if an array has another shape."""
    if values.shape != shape:
        found, wanted = (" x ".join(map(str, one)) for one in (values.shape, shape))
        raise UsageError(
            f"{path}: has {found or 'one'} numbers, not {wanted} as there are topics: {next_step}"
        )


def check_values(
    path: Path, what: str, values: Numbers, names: Sequence[str], next_step: str
) -> None:
    """Raise UsageError for a value per topic that is no number, or negative."""
    if len(bad := np.flatnonzero(~(np.isfinite(values) & (values >= 0)))):
        value = float(values[bad[0]])
        why = "is negative" if value < 0 and np.isfinite(value) else "is no number to place by"
        raise UsageError(
            f"{path}: topic {names[bad[0]]}: its {what}, {value:g}, {why}: {next_step}"
        )


def check_distinct(path: Path, names: Sequence[str], next_step: str) -> None:
    """Raise UsageError if a topic is there twice, or none is."""
    if not names:
        raise UsageError(f"{path}: has no topic: {next_step}")
    met: set[str] = set()
    for name in names:
        if name in met:
            raise UsageError(f"{path}: topic {name} is there twice: {next_step}")
        met.add(name)


def check_matrix(where: Where, matrix: Numbers, names: Sequence[str], next_step: str) -> None:
    """Raise UsageError for entries that are no numbers, negative variances, unequal sides."""
    for first in range(0, len(names), ROWS):
        _check_finite(where, matrix, first, names, next_step)
    variance = np.array(matrix.diagonal(), np.float64)
    if len(bad := np.flatnonzero(variance < 0)):
        at = int(bad[0])
        raise UsageError(
            f"{where(at)}: topic {names[at]}: its variance, {variance[at]:g}, is negative: "
            f"{next_step}"
        )
    for first in range(0, len(names), ROWS):
        _check_symmetric(where, matrix, np.sqrt(variance), first, names, next_step)


def _check_symmetric(
    where: Where,
    matrix: Numbers,
    deviation: Reals,
    first: int,
    names: Sequence[str],
    next_step: str,
) -> None:
    rows = slice(first, first + ROWS)
    upper = np.array(matrix[rows, first:], np.float64)
    lower = np.array(matrix[first:, rows], np.float64).T
    unequal = np.abs(upper - lower) > UNEQUAL * np.outer(deviation[rows], deviation[first:])
    if len(bad := np.argwhere(unequal)):
        at = int(bad[0][0]), int(bad[0][1])
        one, other = names[first + at[0]], names[first + at[1]]
        raise UsageError(
            f"{where(first + at[0])}: not symmetric: {one} with {other} is {upper[at]:.9g}, "
            f"{other} with {one} is {lower[at]:.9g}: {next_step}"
        )


def _check_finite(
    where: Where, matrix: Numbers, first: int, names: Sequence[str], next_step: str
) -> None:
    rows = np.asarray(matrix[first : first + ROWS])
    if len(bad := np.argwhere(~np.isfinite(rows))):
        row, column = int(bad[0][0]) + first, int(bad[0][1])
        raise UsageError(
            f"{where(row)}: topic {names[row]}: its covariance with {names[column]} is "
            f"{rows[tuple(bad[0])]}: {next_step}"
        )
