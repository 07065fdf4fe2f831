"""Topics put together into items: what is placed on brokers as one.

With A the 0/1 matrix of topics x items, an item's mean is A' mean and their covariance A' C A:
exactly what the sums of the topics' counts have.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from ropewalk.errors import UsageError
from ropewalk.federation.topics import common, is_pattern
from ropewalk.pipeline.rates.covariance import Covariance
from ropewalk.pipeline.rates.grid import Numbers, Reals, sums_by
from ropewalk.pipeline.rates.tally import Longs

Groups = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Items:
    """Items: their mean messages per window and covariance, and what a message costs."""

    names: tuple[str, ...]
    of_topic: Longs
    """The item of each topic, by place."""
    mean: Reals
    matrix: Numbers
    grade: Reals
    """Deliveries of a message, on average over the messages; 0 without messages."""
    clients: Reals
    """Clients of a message's topic, on average over the messages; 0 without messages."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """What the topics of a covariance carried in the whole trace, in its order."""

    messages: Longs
    deliveries: Longs
    clients: Longs


def items_of(
    covariance: Covariance, traffic: Traffic, names: Sequence[str], groups: Groups
) -> Items:
    """Put topics together; `names` are those of the covariance's topics, in its order.

    A group holds names and patterns. Topics of no group are items of their own. Raises UsageError
    if a topic is in two groups, or an item's name is that of a topic outside of it.
    """
    labels, of_topic = grouped(names, groups)
    kind = covariance.matrix.dtype
    ones = np.ones(len(names), kind)
    joins = csr_array((ones, (of_topic, np.arange(len(names)))), shape=(len(labels), len(names)))
    half = joins @ covariance.matrix
    messages = sums_by(of_topic, traffic.messages, len(labels))
    return Items(
        labels,
        of_topic,
        sums_by(of_topic, covariance.mean, len(labels)),
        (joins @ half.T).astype(kind, copy=False),
        _over(sums_by(of_topic, traffic.deliveries, len(labels)), messages),
        _over(sums_by(of_topic, traffic.clients * traffic.messages, len(labels)), messages),
    )


def grouped(names: Sequence[str], groups: Groups) -> tuple[tuple[str, ...], Longs]:
    """Names of items, and the item of each topic.

    >>> labels, of_topic = grouped(["a/x", "b", "a/y"], {"all-a": ["a/+"]})
    >>> labels, of_topic.tolist()
    (('all-a', 'b'), [0, 1, 0])
    """
    owner: dict[str, str] = {}
    for item, members in groups.items():
        for name in _members(members, names):
            if owner.setdefault(name, item) != item:
                raise UsageError(
                    f"topic {name} is in item {owner[name]} and in item {item}: leave it in one"
                )
    labels = list(groups)
    for name in names:
        if name not in owner:
            if name in groups:
                raise UsageError(
                    f"item {name} has the name of a topic that is not in it: rename the item, or "
                    "put the topic there"
                )
            owner[name] = name
            labels.append(name)
    place = {label: number for number, label in enumerate(labels)}
    return tuple(labels), np.array([place[owner[name]] for name in names], np.int64)


def _members(members: Sequence[str], names: Sequence[str]) -> set[str]:
    """The topics that names and patterns stand for."""
    patterns = [member for member in members if is_pattern(member)]
    matched = (name for name in names if any(common(one, name) == name for one in patterns))
    return set(matched) | (set(members) & set(names))


def _over(above: Reals, below: Reals) -> Reals:
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)
