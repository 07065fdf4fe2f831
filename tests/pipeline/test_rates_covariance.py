from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropewalk.errors import UsageError
from ropewalk.pipeline.rates.covariance import (
    Covariance,
    covariance_of,
    dealt,
    load_covariance,
)
from ropewalk.pipeline.rates.gram import blocks_of, centre, finish, gram_block, products_of
from ropewalk.pipeline.rates.grid import Grid, Numbers, Reals, grid_of, width_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def random_counts(seed: int, windows: int, topics: int, most: float = 3.0) -> Reals:
    """Correlated and heavy-tailed: a common load times a rate per topic."""
    rng = np.random.default_rng(seed)
    rates = np.minimum(rng.pareto(1.0, topics), 50) * most / 10
    shared = np.exp(rng.normal(0, 0.5, (windows, 2))) @ rng.dirichlet([1, 1], topics).T
    return rng.poisson(rates * shared).astype(np.float64)


def grid_from(counts: Reals) -> Grid:
    """The grid of dense counts; ids of topics are their columns."""
    windows, topics = np.nonzero(np.ones_like(counts))
    return grid_of(topics, windows, counts.ravel().astype(np.int64), len(counts))


def whole_by_blocks(grid: Grid, busy: float, precision: str = "float64") -> Numbers:
    products = products_of(grid, busy)
    matrix = np.full((len(grid.topics), len(grid.topics)), np.nan, precision)
    for first, end in blocks_of(len(grid.topics)):
        finish(gram_block(products, first, end), first, grid.mean, grid.windows, matrix)
    return matrix


def relative_error(matrix: Numbers, truth: Reals) -> float:
    deviation = np.sqrt(np.diag(truth))
    scale = np.outer(deviation, deviation)
    varies = scale > 0
    return float((np.abs(matrix - truth)[varies] / scale[varies]).max(initial=0))


@given(
    st.integers(0, 10**6), st.integers(2, 40), st.integers(1, 30), st.sampled_from([0.0, 0.25, 2])
)
def test_means_and_covariances_are_those_of_numpy(
    seed: int, windows: int, topics: int, busy: float
) -> None:
    counts = random_counts(seed, windows, topics)
    grid = grid_from(counts)
    ordered = counts[:, grid.topics]
    truth = np.cov(ordered, rowvar=False).reshape(topics, topics)
    assert np.allclose(grid.mean, ordered.mean(0))
    assert np.allclose(grid.variance, np.diag(truth))
    assert np.allclose(whole_by_blocks(grid, busy), truth, atol=1e-12)
    assert (np.diff(grid.sums) <= 0).all()


@pytest.mark.parametrize("busy", [0.0, 0.25, 2])
@pytest.mark.parametrize("factor", [1, 40, 3_000, 200_000])
def test_blocks_of_every_width_are_exact(busy: float, factor: int) -> None:
    counts = random_counts(1, 90, 600) * factor
    grid = grid_from(counts)
    ordered = counts[:, grid.topics].astype(np.int64)
    exact = ordered.T @ ordered
    products = products_of(grid, busy)
    widths = set()
    for first, end in blocks_of(600):
        block = gram_block(products, first, end)
        widths.add(block.dtype.name)
        upper = np.triu(np.ones(block.shape, bool))
        assert (block[upper] == exact[first:end, first:][upper]).all()
        assert np.allclose(
            np.triu(centre(block, first, grid.mean, 90)),
            np.triu(np.cov(ordered, rowvar=False)[first:end, first:]),
            atol=1e-10 * factor**2,
        )
    assert len(widths) > 1 or factor > 40
    assert (products.dense.shape[1] > 0) == (busy < 2)


def test_a_type_too_narrow_would_give_other_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    """A control: the width that the inequality gives is needed."""
    grid = grid_from(random_counts(1, 90, 40) * 40)
    monkeypatch.setattr("ropewalk.pipeline.rates.gram.width_for", lambda _: "uint8")
    truth = grid.matrix.T @ grid.matrix
    assert (gram_block(products_of(grid, 2), 0, 40) != truth.toarray()).any()


@pytest.mark.parametrize(("precision", "bound"), [("float32", 1e-6), ("float64", 1e-12)])
def test_spark_makes_the_same_matrix(spark: "SparkSession", precision: Any, bound: float) -> None:
    counts = random_counts(4, 120, 700)
    grid = grid_from(counts)
    found = covariance_of(spark, grid, precision=precision, tasks=3)
    truth = np.cov(counts[:, grid.topics], rowvar=False)
    assert relative_error(found.dense(), truth) < bound
    assert found.matrix.dtype == precision
    assert (found.dense() == found.dense().T).all()
    assert np.linalg.eigvalsh(found.dense().astype(np.float64)).min() > -1e-5 * truth.max()
    assert found.windows == 120
    assert np.allclose(found.variance, np.diag(truth))
    assert (found.block(slice(3, 5), [0, 600]) == found.dense()[3:5][:, [0, 600]]).all()


def test_without_zero_windows_the_mean_is_another() -> None:
    """A control: windows without messages are zeros, not missing."""
    counts = random_counts(2, 30, 5, most=0.5)
    counts[10:20] = 0
    right = grid_from(counts)
    assert len(right.starts) - 1 <= 30
    present = counts[counts.sum(1) > 0]
    dropped = grid_from(present)
    assert right.windows == 30
    assert np.allclose(right.mean, counts.mean(0)[right.topics])
    assert not np.allclose(dropped.mean, right.mean)
    assert not np.allclose(dropped.variance, right.variance)


def test_blocks_are_dealt_to_each_task_once_and_evenly() -> None:
    blocks = blocks_of(10_000)
    hands = [dealt(blocks, task, 8) for task in range(8)]
    assert sorted(block for hand in hands for block in hand) == blocks
    areas = [sum((end - first) * (10_000 - first) for first, end in hand) for hand in hands]
    assert max(areas) < 1.15 * min(areas)


def test_a_covariance_is_saved_and_loaded(tmp_path: Path) -> None:
    grid = grid_from(random_counts(6, 50, 20))
    made = Covariance(grid.topics, 50, grid.mean, whole_by_blocks(grid, 2), {"peak": "all"})
    made.save(tmp_path / "rates")
    made.save(tmp_path / "rates")
    found = load_covariance(tmp_path / "rates")
    assert (found.dense() == made.dense()).all()
    assert (found.topics == made.topics).all()
    assert (found.mean == made.mean).all()
    assert (found.windows, found.about) == (50, {"peak": "all"})
    assert isinstance(found.matrix, np.memmap)
    assert [one.name for one in tmp_path.iterdir()] == ["rates"]


def test_a_save_that_fails_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid = grid_from(random_counts(6, 50, 20))
    made = Covariance(grid.topics, 50, grid.mean, whole_by_blocks(grid, 2))
    made.save(tmp_path / "rates")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(UsageError, match="No space left"):
        made.save(tmp_path / "rates")
    assert load_covariance(tmp_path / "rates").windows == 50
    assert [one.name for one in tmp_path.iterdir()] == ["rates"]


def test_folders_that_are_not_ours_are_refused(tmp_path: Path) -> None:
    made = Covariance(np.array([1]), 2, np.ones(1), np.ones((1, 1)))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    for path, message in [
        (tmp_path / "mine", "other files"),
        (tmp_path / "mine" / "letter.txt", "a file is there"),
        (tmp_path / "no" / "rates", "there is no folder"),
    ]:
        with pytest.raises(UsageError, match=message):
            made.save(path)
    with pytest.raises(UsageError, match="is missing"):
        load_covariance(tmp_path / "mine")


def test_bad_options_are_refused(spark: "SparkSession") -> None:
    grid = grid_from(random_counts(6, 5, 2))
    with pytest.raises(UsageError, match="write float32 or float64"):
        covariance_of(spark, grid, precision="float16")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="a covariance needs two"):
        grid_of(np.array([1]), np.array([1]), np.array([1]), 1)


@pytest.mark.parametrize(
    ("largest", "width"),
    [
        (255, "uint8"),
        (256, "uint16"),
        (65_536, "uint32"),
        (2.0**32 - 1, "uint32"),
        (2.0**32, "int64"),
    ],
)
def test_the_narrowest_type_holds_the_largest(largest: float, width: str) -> None:
    assert width_for(largest) == width
