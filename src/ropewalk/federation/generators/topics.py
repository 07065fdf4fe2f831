"""Random topics on any federation: n topics, one publisher and s subscribers each."""

from dataclasses import replace

import numpy as np

from ropewalk.errors import UsageError
from ropewalk.federation.facts import Federation, Topic
from ropewalk.federation.generators.build import bounded


def with_topics(federation: Federation, *, topics: int, subscribers: int, seed: int) -> Federation:
    """The federation with random topics added to those it has.

    A topic's subscribers are different brokers, none of them the publisher (Jia 2014, table 5-5
    counts 5 paths per topic). Raises UsageError where there are too few brokers.
    """
    names = tuple(federation.brokers)
    bounded("subscribers", subscribers, 0, len(names) - 1)
    rng = np.random.default_rng(seed)
    chosen = _distinct(rng, len(names), topics, subscribers + 1)
    width = len(str(topics))
    made = {
        f"topic/{i + 1:0{width}}": Topic(
            publishers=(names[row[0]],), subscribers=tuple(names[b] for b in sorted(row[1:]))
        )
        for i, row in enumerate(chosen.tolist())
    }
    if taken := made.keys() & federation.topics.keys():
        raise UsageError(f"topic {min(taken)!r} is there already: generate on a federation without")
    return replace(federation, topics={**federation.topics, **made})


def _distinct(
    rng: np.random.Generator, brokers: int, rows: int, columns: int
) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """Rows of different broker numbers, every such row as likely as any other."""
    if columns * columns > brokers:
        chosen = [rng.choice(brokers, columns, replace=False) for _ in range(rows)]
        return np.array(chosen).reshape(rows, columns)
    drawn = rng.integers(0, brokers, size=(rows, columns))
    while True:  # redraw whole rows that repeat a broker: few do when there are many brokers
        ordered = np.sort(drawn, axis=1)
        repeats = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
        if not len(repeats):
            return drawn
        drawn[repeats] = rng.integers(0, brokers, size=(len(repeats), columns))
