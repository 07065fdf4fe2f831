"""Topic names and patterns: which of them have names in common."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from ropewalk.federation.arrays import Ints


def is_pattern(topic: str) -> bool:
    """Whether a topic has wildcards.

    >>> is_pattern("prices/+/close"), is_pattern("prices/close")
    (True, False)
    """
    return any(level in ("+", "#") for level in topic.split("/"))


def common(one: str, other: str) -> str | None:
    """The pattern of all names that match both, or None if there are none.

    `#` also stands for nothing at all, as in MQTT: `prices/#` matches `prices`.

    >>> common("prices/#", "+/equity/+"), common("prices/+", "news/#")
    ('prices/equity/+', None)
    """
    a, b = one.split("/"), other.split("/")
    found: list[str] = []
    for i in range(max(len(a), len(b)) + 1):
        left = a[i] if i < len(a) else None
        right = b[i] if i < len(b) else None
        if left == "#" or right == "#":
            rest = b[i:] if left == "#" else a[i:]
            return "/".join([*found, *rest]) if found or rest else None
        if left is None or right is None:
            return "/".join(found) if left is right else None
        if left != right and "+" not in (left, right):
            return None
        found.append(right if left == "+" else left)
    return "/".join(found)


def meeting(topics: Sequence[str]) -> tuple[Ints, Ints]:
    """Pairs of different topics that have names in common, both ways round, as numbers."""
    patterns = [i for i, topic in enumerate(topics) if is_pattern(topic)]
    near = _by_first_level(topics) if patterns else {}
    met = {
        pair
        for i in patterns
        for j in _candidates(topics[i], near, len(topics))
        if i != j and common(topics[i], topics[j]) is not None
        for pair in ((i, j), (j, i))
    }
    pairs = np.array(sorted(met), np.int32).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def meeting_across(ours: Sequence[str], theirs: Sequence[str]) -> tuple[Ints, Ints]:
    """Pairs of one of ours and one of theirs that have names in common, as numbers in each.

    >>> meeting_across(["a/+", "b"], ["a/x", "b", "c"])
    (array([0, 1], dtype=int32), array([0, 1], dtype=int32))
    """
    here, there = _by_first_level(ours), _by_first_level(theirs)
    place = {topic: j for j, topic in enumerate(theirs)}
    met = {(i, place[topic]) for i, topic in enumerate(ours) if topic in place}
    for i, topic in enumerate(ours):
        if is_pattern(topic):
            near = _candidates(topic, there, len(theirs))
            met |= {(i, j) for j in near if common(topic, theirs[j]) is not None}
    for j, topic in enumerate(theirs):
        if is_pattern(topic):
            near = _candidates(topic, here, len(ours))
            met |= {(i, j) for i in near if common(topic, ours[i]) is not None}
    pairs = np.array(sorted(met), np.int32).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


class Patterns:
    """Patterns that are asked many times which of them meet a topic, in the order given.

    >>> list(Patterns(["b/#", "a/+", "#"]).meet("a/x"))
    ['a/x', 'a/x']
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        self._patterns = list(dict.fromkeys(patterns))
        self._near = _by_first_level(self._patterns)

    def meet(self, topic: str) -> Iterator[str]:
        """What a topic has in common with each of the patterns that it meets."""
        near = _candidates(topic, self._near, len(self._patterns))
        found = (common(topic, self._patterns[i]) for i in sorted(near))
        return (one for one in found if one)

    def holding(self, name: str) -> Iterator[str]:
        """The patterns that stand for all of a name's names."""
        for i in _candidates(name, self._near, len(self._patterns)):
            if common(self._patterns[i], name) == name:
                yield self._patterns[i]


def held(patterns: Iterable[str], topics: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each pattern with each topic, or narrower pattern, that it stands for.

    >>> list(held(["a/+"], ["a/x", "b", "a/#"]))
    [('a/+', 'a/x')]
    """
    near = _by_first_level(topics)
    for pattern in patterns:
        for i in _candidates(pattern, near, len(topics)):
            if common(pattern, topics[i]) == topics[i]:
                yield pattern, topics[i]


def _by_first_level(topics: Sequence[str]) -> dict[str, list[int]]:
    near: dict[str, list[int]] = {}
    for i, topic in enumerate(topics):
        near.setdefault(topic.split("/", 1)[0], []).append(i)
    return near


def _candidates(pattern: str, near: dict[str, list[int]], topics: int) -> Iterable[int]:
    """Topics that may meet a pattern: those of its first level, unless that is a wildcard."""
    first = pattern.split("/", 1)[0]
    if first in ("+", "#"):
        return range(topics)
    return [*near.get(first, ()), *near.get("+", ()), *near.get("#", ())]
