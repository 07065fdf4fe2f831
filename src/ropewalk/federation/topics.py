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
    levels = _Levels(topics if patterns else ())
    met = {
        pair
        for i in patterns
        for j in levels.meeting(topics[i])
        if i != j
        for pair in ((i, j), (j, i))
    }
    pairs = np.array(sorted(met), np.int32).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def meeting_across(ours: Sequence[str], theirs: Sequence[str]) -> tuple[Ints, Ints]:
    """Pairs of one of ours and one of theirs that have names in common, as numbers in each.

    >>> meeting_across(["a/+", "b"], ["a/x", "b", "c"])
    (array([0, 1], dtype=int32), array([0, 1], dtype=int32))
    """
    place = {topic: j for j, topic in enumerate(theirs)}
    met = {(i, place[topic]) for i, topic in enumerate(ours) if topic in place}
    if patterns := [i for i, topic in enumerate(ours) if is_pattern(topic)]:
        there = _Levels(theirs)
        met |= {(i, j) for i in patterns for j in there.meeting(ours[i])}
    if patterns := [j for j, topic in enumerate(theirs) if is_pattern(topic)]:
        here = _Levels(ours)
        met |= {(i, j) for j in patterns for i in here.meeting(theirs[j])}
    pairs = np.array(sorted(met), np.int32).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


class Patterns:
    """Patterns that are asked many times which of them meet a topic, in the order given.

    >>> list(Patterns(["b/#", "a/+", "#"]).meet("a/x"))
    ['a/x', 'a/x']
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        self._patterns = list(dict.fromkeys(patterns))
        self._levels = _Levels(self._patterns)

    def meet(self, topic: str) -> Iterator[str]:
        """What a topic has in common with each of the patterns that it meets."""
        met = self._levels.meeting(topic)
        found = (common(topic, self._patterns[i]) for i in met)
        return (one for one in found if one)

    def holding(self, name: str) -> Iterator[str]:
        """The patterns that stand for all of a name's names."""
        for i in self._levels.meeting(name):
            if common(self._patterns[i], name) == name:
                yield self._patterns[i]


def held(patterns: Iterable[str], topics: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each pattern with each topic, or narrower pattern, that it stands for.

    >>> list(held(["a/+"], ["a/x", "b", "a/#"]))
    [('a/+', 'a/x')]
    """
    levels = _Levels(topics)
    for pattern in patterns:
        for i in levels.meeting(pattern):
            if common(pattern, topics[i]) == topics[i]:
                yield pattern, topics[i]


class _Levels:
    """Topics by their levels, so that only those are looked at that meet a pattern."""

    def __init__(self, topics: Iterable[str]) -> None:
        self._first = _Level()
        for i, topic in enumerate(topics):
            at = self._first
            for level in topic.split("/"):
                at = at.below.setdefault(level, _Level())
                if level == "#":
                    break
            at.ends.append(i)

    def meeting(self, pattern: str) -> list[int]:
        """Numbers of the topics that have names in common with a pattern, in order.

        As in MQTT, a wildcard in front does not stand for names that begin with `$`.
        """
        found: list[int] = []
        first, *rest = pattern.split("/")
        begin, here = self._first, [self._first]
        if first in ("+", "#"):
            here = [below for name, below in begin.below.items() if name[:1] != "$"]
            if first == "#":
                return sorted(i for one in here for i in one.all())
            here = [one for one in here if one is not begin.below.get("#")]
            found += begin.ends_with("#")
        elif first[:1] == "$":
            here = [below for name, below in begin.below.items() if name == first]
        else:
            found += begin.ends_with("#")
            here = list(begin.on(first))
        for level in rest:
            if level == "#":
                found += (i for one in here for i in one.all())
                return sorted(found)
            found += (i for one in here for i in one.ends_with("#"))
            here = [below for one in here for below in one.on(level)]
        found += (i for one in here for i in (*one.ends, *one.ends_with("#")))
        return sorted(found)


class _Level:
    """What has the same levels up to here."""

    __slots__ = ("below", "ends")

    def __init__(self) -> None:
        self.below: dict[str, _Level] = {}
        self.ends: list[int] = []

    def ends_with(self, level: str) -> Sequence[int]:
        last = self.below.get(level)
        return last.ends if last is not None else ()

    def on(self, level: str) -> Iterator["_Level"]:
        """The next levels that a level meets, but for `#`."""
        if level == "+":
            yield from (one for name, one in self.below.items() if name != "#")
            return
        for name in (level, "+"):
            if name in self.below:
                yield self.below[name]

    def all(self) -> Iterator[int]:
        waiting = [self]
        for one in waiting:
            yield from one.ends
            waiting += one.below.values()
