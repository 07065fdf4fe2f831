"""Sets of messages that come before each other: strongly connected sets of a graph of steps."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Message = tuple[int, int, int]
"""Topic, producer, pseq."""


@dataclass(frozen=True, slots=True)
class Edge:
    """A consumer's step from one message to its next, and the two rows that show it."""

    source: Message
    target: Message
    rows: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Cycle:
    """A strongly connected set, and the rows of a shortest cycle through its smallest message."""

    smallest: Message
    size: int
    rows: list[Any]


def cycles(edges: Iterable[Edge]) -> Iterator[Cycle]:
    """One for each strongly connected set of two or more messages.

    >>> ab, ba = Edge((1, 1, 1), (1, 1, 2), ("a", "b")), Edge((1, 1, 2), (1, 1, 1), ("b", "a"))
    >>> list(cycles([ab, ba, Edge((1, 1, 2), (1, 1, 3), ("b", "c"))]))
    [Cycle(smallest=(1, 1, 1), size=2, rows=['a', 'b', 'b', 'a'])]
    """
    after: dict[Message, dict[Message, Edge]] = {}
    for edge in edges:
        after.setdefault(edge.source, {})[edge.target] = edge
        after.setdefault(edge.target, {})
    for component in strong_components(after):
        if len(component) > 1:
            smallest = min(component)
            yield Cycle(smallest, len(component), _shortest(smallest, component, after))


def strong_components(after: Mapping[Message, Iterable[Message]]) -> Iterator[set[Message]]:
    """Tarjan's strongly connected components, without recursion."""
    number: dict[Message, int] = {}
    low: dict[Message, int] = {}
    open_: dict[Message, None] = {}
    for root in after:
        if root in number:
            continue
        number[root] = low[root] = len(number)
        open_[root] = None
        path = [(root, iter(after[root]))]
        while path:
            message, ahead = path[-1]
            following = next(ahead, None)
            if following is None:
                path.pop()
                if path:
                    above = path[-1][0]
                    low[above] = min(low[above], low[message])
                if low[message] == number[message]:
                    yield set(_closed(open_, message))
            elif following not in number:
                number[following] = low[following] = len(number)
                open_[following] = None
                path.append((following, iter(after[following])))
            elif following in open_:
                low[message] = min(low[message], number[following])


def _closed(open_: dict[Message, None], message: Message) -> Iterator[Message]:
    """Takes out all that was opened since a message, and the message."""
    while True:
        last, _ = open_.popitem()
        yield last
        if last == message:
            return


def _shortest(
    start: Message, inside: set[Message], after: Mapping[Message, Mapping[Message, Edge]]
) -> list[Any]:
    """The rows of the steps of a shortest cycle through a message."""
    came_by: dict[Message, Edge] = {}
    ahead = deque([start])
    while start not in came_by:
        for target, edge in after[ahead.popleft()].items():
            if target in inside and target not in came_by:
                came_by[target] = edge
                ahead.append(target)
    steps = [came_by[start]]
    while steps[-1].source != start:
        steps.append(came_by[steps[-1].source])
    return [row for edge in reversed(steps) for row in edge.rows]
