"""Destinations spread over the cores: kernels let go of the interpreter's lock while they run."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def slices(total: int, parts: int) -> Iterator[tuple[int, int]]:
    """`total` things in so many nearly equal runs; none of them empty.

    >>> list(slices(7, 3)), list(slices(1, 4))
    ([(0, 2), (2, 4), (4, 7)], [(0, 1)])
    """
    parts = max(1, min(parts, total))
    for i in range(parts):
        yield i * total // parts, (i + 1) * total // parts


def spread(work: Callable[[int, int], T], total: int, *, parts: int | None = None) -> list[T]:
    """The results of `work(start, stop)` over runs of `total` things, in their order."""
    runs = list(slices(total, parts or cores()))
    if len(runs) == 1:
        return [work(*runs[0])]
    with ThreadPoolExecutor(cores()) as pool:
        return list(pool.map(lambda run: work(*run), runs))
