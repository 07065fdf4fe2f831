import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropewalk.errors import UsageError
from ropewalk.pipeline.rates.covariance import Covariance
from ropewalk.pipeline.rates.items import Items, Traffic, grouped, items_of

from .test_rates_covariance import random_counts

NAMES = [f"{first}/{second}" for first in "abc" for second in "wxyz"]


def covariance_from(seed: int) -> tuple[np.ndarray, Covariance, Traffic]:
    counts = random_counts(seed, 25, len(NAMES))
    rng = np.random.default_rng(seed)
    matrix = np.cov(counts, rowvar=False)
    made = Covariance(np.arange(len(NAMES)), 25, counts.mean(0), matrix)
    messages = counts.sum(0).astype(np.int64)
    traffic = Traffic(
        messages, messages * rng.integers(0, 5, len(NAMES)), rng.integers(0, 9, len(NAMES))
    )
    return counts, made, traffic


def summed(counts: np.ndarray, items: Items) -> np.ndarray:
    """The items' own counts: what their mean and covariance must be those of."""
    return np.stack([counts[:, items.of_topic == i].sum(1) for i in range(len(items.names))], 1)


@given(st.integers(0, 10**6), st.lists(st.integers(0, 4), min_size=12, max_size=12))
def test_items_have_the_mean_and_covariance_of_their_summed_counts(
    seed: int, chosen: list[int]
) -> None:
    counts, made, traffic = covariance_from(seed)
    groups = {
        f"item-{i}": [name for name, one in zip(NAMES, chosen, strict=True) if one == i]
        for i in range(1, 5)
    }
    items = items_of(made, traffic, NAMES, groups)
    own = summed(counts, items)
    assert np.allclose(items.mean, own.mean(0))
    assert np.allclose(items.matrix, np.cov(own, rowvar=False))
    assert np.isclose(items.mean.sum(), made.mean.sum())
    assert np.isclose(items.matrix.sum(), made.matrix.sum())
    assert len(items.names) == 4 + chosen.count(0)


def test_variances_alone_are_not_enough() -> None:
    """A control: adding the topics' variances misses how they vary together."""
    counts, made, traffic = covariance_from(3)
    items = items_of(made, traffic, NAMES, {"all": ["#"]})
    assert np.isclose(items.matrix[0, 0], counts.sum(1).var(ddof=1))
    assert not np.isclose(np.diag(made.matrix).sum(), counts.sum(1).var(ddof=1))


def test_grades_and_clients_are_weighted_by_messages() -> None:
    made = Covariance(np.arange(3), 2, np.ones(3), np.eye(3))
    traffic = Traffic(np.array([3, 1, 0]), np.array([6, 10, 0]), np.array([2, 10, 5]))
    items = items_of(made, traffic, ["a", "b", "c"], {"both": ["a", "b"]})
    assert items.names == ("both", "c")
    assert items.grade.tolist() == [4.0, 0.0]
    assert items.clients.tolist() == [(3 * 2 + 10) / 4, 0.0]


def test_names_and_patterns_choose_topics_and_the_rest_stay_alone() -> None:
    labels, of_topic = grouped(NAMES, {"first": ["a/+", "b/w"], "silent": ["nowhere/#"]})
    assert labels == ("first", "silent", "b/x", "b/y", "b/z", "c/w", "c/x", "c/y", "c/z")
    assert of_topic.tolist() == [0, 0, 0, 0, 0, 2, 3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({"one": ["a/#"], "two": ["+/w"]}, "topic a/w is in item one and in item two"),
        ({"c/x": ["a/w"]}, "item c/x has the name of a topic that is not in it"),
    ],
)
def test_items_that_clash_are_refused(groups: dict[str, list[str]], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        grouped(NAMES, groups)


def test_an_item_may_have_the_name_of_its_topic() -> None:
    assert grouped(["a", "b"], {"a": ["a", "b"]})[0] == ("a",)
