import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropewalk.errors import UsageError
from ropewalk.pipeline.rates import factors as module
from ropewalk.pipeline.rates.factors import Factors, factors_of
from ropewalk.pipeline.rates.grid import Reals

from .test_rates_covariance import grid_from, random_counts


def driven_counts(seed: int, windows: int, topics: int, drivers: int) -> Reals:
    """Counts whose covariance has `drivers` strong factors."""
    rng = np.random.default_rng(seed)
    loads = np.exp(rng.normal(0, 1, (windows, drivers)))
    return rng.poisson(200 * loads @ rng.dirichlet([0.3] * drivers, topics).T).astype(np.float64)


def off_diagonal(matrix: Reals) -> Reals:
    return matrix - np.diag(np.diag(matrix))


def errors_by_hand(found: Factors, truth: Reals) -> tuple[float, float]:
    wrong = off_diagonal(found.dense() - truth)
    deviation = np.sqrt(np.diag(truth))
    scale = np.outer(deviation, deviation)
    relative = np.abs(wrong)[scale > 0] / scale[scale > 0]
    size = np.linalg.norm(off_diagonal(truth))
    return float(np.linalg.norm(wrong) / size) if size else 0.0, float(relative.max(initial=0))


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(2, 25), st.integers(1, 6))
def test_variances_are_exact_and_errors_are_what_they_are_said_to_be(
    seed: int, topics: int, count: int
) -> None:
    counts = random_counts(seed, 40, topics)
    grid = grid_from(counts)
    truth = np.cov(counts[:, grid.topics], rowvar=False)
    found = factors_of(grid, count=count)
    assert np.allclose(np.diag(found.dense()), np.diag(truth))
    assert (found.own >= 0).all()
    error, largest = errors_by_hand(found, truth)
    assert np.isclose(found.error, error, atol=1e-5)
    assert np.isclose(found.largest_error, largest, atol=1e-9)
    smallest = np.linalg.eigvalsh(found.dense()).min()
    assert smallest > -1e-9 * max(truth.max(), 1.0)


def test_as_few_factors_are_taken_as_the_tolerance_needs() -> None:
    grid = grid_from(driven_counts(5, 300, 60, 3))
    found = factors_of(grid, tolerance=0.05)
    assert found.reached
    assert found.count == 3
    assert factors_of(grid, count=2).error > 0.05 >= found.error


def test_what_cannot_be_reached_is_said() -> None:
    rng = np.random.default_rng(3)
    noise = grid_from(rng.poisson(3, (100, 80)).astype(np.float64))
    found = factors_of(noise, tolerance=0.05, most=4)
    assert (found.count, found.reached) == (4, False)
    assert found.error > 0.5


def test_the_operator_and_the_whole_matrix_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    grid = grid_from(driven_counts(8, 200, 90, 4))
    whole = factors_of(grid, count=4)
    monkeypatch.setattr(module, "SMALL", 10)
    by_operator = factors_of(grid, count=4)
    assert np.isclose(whole.error, by_operator.error, atol=1e-5)
    assert np.allclose(whole.dense(), by_operator.dense(), atol=1e-3 * whole.dense().max())
    assert (factors_of(grid, count=4).loadings == by_operator.loadings).all()


def test_principal_axes_are_better_than_principal_components() -> None:
    """A control: eigenvectors of C itself, once, fit the diagonal instead of the pairs."""
    counts = driven_counts(2, 200, 40, 3) // 40
    grid = grid_from(counts)
    truth = np.cov(counts[:, grid.topics], rowvar=False)
    values, vectors = np.linalg.eigh(truth)
    plain = (vectors[:, -3:] * values[-3:]) @ vectors[:, -3:].T
    worse = np.linalg.norm(off_diagonal(plain - truth)) / np.linalg.norm(off_diagonal(truth))
    assert factors_of(grid, count=3).error < 0.9 * worse


def test_topics_that_never_vary_have_no_loadings() -> None:
    counts = driven_counts(1, 50, 6, 2)
    counts[:, 2] = 4
    counts[:, 3] = 0
    found = factors_of(grid_from(counts), count=2)
    flat = found.own + (found.loadings**2).sum(1) < 1e-9
    assert flat.sum() == 2
    assert np.isfinite(found.largest_error)


def test_one_topic_has_nothing_to_explain() -> None:
    found = factors_of(grid_from(np.array([[1.0], [3.0]])))
    assert (found.error, found.reached) == (0.0, True)
    assert np.allclose(found.dense(), [[2.0]])


@pytest.mark.parametrize("options", [{"count": 0}, {"tolerance": 0.0}, {"tolerance": 1.0}])
def test_bad_options_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="write"):
        factors_of(grid_from(random_counts(1, 4, 3)), **options)  # type: ignore[arg-type]
