"""What has to be there before a rule with moves: tokens may have come from several places.

A place that others are emptied into may have got what is demanded from any of them, in every way
of sharing it out: each is a smallest demand of its own.
"""

from collections.abc import Iterator, Mapping

from ropewalk.verify.population.net import Rule

Demand = dict[int, int]


def demands_before(rule: Rule, demand: Mapping[int, int]) -> Iterator[Demand]:
    """The smallest demands from which a rule leads to what is demanded.

    >>> from ropewalk.verify.population.net import rule_of
    >>> join = rule_of("join", needs={2: 1}, moves={0: 1})
    >>> [sorted(one.items()) for one in demands_before(join, {1: 2})]
    [[(1, 2), (2, 1)], [(0, 1), (1, 1), (2, 1)], [(0, 2), (2, 1)]]
    """
    needs, changes = dict(rule.needs), dict(rule.changes)
    sources = rule.sources()
    fixed: Demand = dict(needs)
    shared: list[tuple[list[int], int]] = []
    for place in {*demand, *changes, *sources}:
        wanted = max(demand.get(place, 0) - changes.get(place, 0), 0)
        if place not in sources:
            if wanted:
                fixed[place] = max(fixed.get(place, 0), wanted)
            continue
        wanted -= sum(needs.get(source, 0) for source in sources[place])
        if wanted > 0 and not sources[place]:
            return
        if wanted > 0:
            shared.append((sorted(sources[place], reverse=True), wanted))
    yield from _shared_out(fixed, shared)


def _shared_out(fixed: Demand, shared: list[tuple[list[int], int]]) -> Iterator[Demand]:
    if not shared:
        yield fixed
        return
    (places, count), rest = shared[0], shared[1:]
    for parts in _ways(len(places), count):
        found = dict(fixed)
        for place, part in zip(places, parts, strict=True):
            if part:
                found[place] = found.get(place, 0) + part
        yield from _shared_out(found, rest)


def _ways(places: int, count: int) -> Iterator[tuple[int, ...]]:
    """All ways to share out tokens among places."""
    if places == 1:
        yield (count,)
        return
    for first in range(count, -1, -1):
        for rest in _ways(places - 1, count - first):
            yield (first, *rest)
