"""Strong components, those in which fair paths may stay, and ways through graphs of numbers."""

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from random import Random

Graph = Mapping[int, Sequence[int]] | Sequence[Sequence[int]]
Pairs = Sequence[tuple[AbstractSet[int], AbstractSet[int]]]


def components(nodes: AbstractSet[int], graph: Graph) -> list[set[int]]:
    """Strong components of the graph between these nodes (Tarjan, without recursion)."""
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    found: list[set[int]] = []
    for root in nodes:
        if root in order:
            continue
        order[root] = low[root] = len(order)
        stack.append(root)
        on_stack.add(root)
        work = [(root, iter(graph[root]))]
        while work:
            node, rest = work[-1]
            for other in rest:
                if other not in nodes:
                    continue
                if other not in order:
                    order[other] = low[other] = len(order)
                    stack.append(other)
                    on_stack.add(other)
                    work.append((other, iter(graph[other])))
                    break
                if other in on_stack:
                    low[node] = min(low[node], order[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == order[node]:
                    one: set[int] = set()
                    while node not in one:
                        one.add(stack.pop())
                    on_stack -= one
                    found.append(one)
    return found


def fair_components(
    nodes: AbstractSet[int], graph: Graph, justice: Sequence[AbstractSet[int]], compassion: Pairs
) -> list[set[int]]:
    """Largest sets between whose nodes one can go for ever, all of them again and again, fairly.

    A component with a p and no q is no place to stay, but it may be one without its p's.
    """
    found: list[set[int]] = []
    waiting: list[AbstractSet[int]] = [nodes]
    while waiting:
        for one in components(waiting.pop(), graph):
            if len(one) == 1 and not one & set(graph[next(iter(one))]):
                continue
            if not all(one & goal for goal in justice):
                continue
            bad = {n for p, q in compassion if not one & q for n in one & p}
            if bad:
                waiting.append(one - bad)
            else:
                found.append(one)
    return found


def reaching(goals: Iterable[int], within: AbstractSet[int], graph: Graph) -> set[int]:
    """Goals, and nodes of `within` from which one is reached through `within`."""
    back: dict[int, list[int]] = {}
    for node in within:
        for other in graph[node]:
            back.setdefault(other, []).append(node)
    found = set(goals)
    waiting = list(found)
    while waiting:
        for node in back.get(waiting.pop(), ()):
            if node not in found:
                found.add(node)
                waiting.append(node)
    return found


def way(
    starts: Iterable[int], goals: Collection[int], within: AbstractSet[int], graph: Graph
) -> list[int]:
    """A shortest path from a start to a goal, both included; there must be one."""
    came: dict[int, int | None] = dict.fromkeys(starts)
    waiting = deque(came)
    while waiting:
        node = waiting.popleft()
        if node in goals:
            path: list[int] = []
            at: int | None = node
            while at is not None:
                path.append(at)
                at = came[at]
            return path[::-1]
        for other in graph[node]:
            if other in within and other not in came:
                came[other] = node
                waiting.append(other)
    raise LookupError("no way there")


def fair_loop(
    start: int,
    inside: AbstractSet[int],
    graph: Graph,
    justice: Sequence[AbstractSet[int]],
    compassion: Pairs,
    rng: Random | None = None,
) -> list[int]:
    """A loop from a node of a fair component, in it: first at random, then where it must pass."""
    path = [start]
    for _ in range(rng.randrange(8) if rng else 0):
        assert rng
        path.append(rng.choice([n for n in graph[path[-1]] if n in inside]))
    goals = [*justice, *(q for p, q in compassion if inside & p)]
    for goal in goals:
        if not goal & set(path):
            path += way([path[-1]], inside & goal, inside, graph)[1:]
    return path + way([n for n in graph[path[-1]] if n in inside], [start], inside, graph)[:-1]
