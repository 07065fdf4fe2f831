"""A run in single steps, without those that it does not need.

Forwards in exact numbers, to see that it covers a target and how many tokens it has to start with;
then backwards: a step is left out if what is demanded after it was there before it.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby

from ropewalk.verify.population.engine.demands import Demand, demand_before
from ropewalk.verify.population.net import LOST, Amounts, Net, Rule
from ropewalk.verify.population.run import Run


def shortened(net: Net, steps: Sequence[int]) -> Run | None:
    """A run of those steps that are needed to cover a target; None if they do not cover one."""
    moved = {place for rule in net.rules for place, _ in rule.moves} & net.open
    for more in (0, 1, 2, 4, 8, 16, 64) if moved else (0,):
        start = [count + more * (place in moved) for place, count in enumerate(net.start)]
        for target in net.targets:
            walk = _Walk(net, list(start), net.open - moved)
            if all(walk.step(step) for step in steps) and walk.have(target):
                return walk.needed(target)
    return None


class _Walk:
    """A run in exact numbers, forwards, then backwards; it starts with what it needs."""

    def __init__(self, net: Net, marking: list[int], free: frozenset[int]) -> None:
        self._net, self._marking, self._free = net, marking, free
        self._done: list[int] = []
        self._moved: list[list[int]] = []

    def have(self, demand: Amounts) -> bool:
        """Whether there is enough, or there may have been more from the start."""
        for place, count in demand:
            if self._marking[place] < count:
                if place not in self._free:
                    return False
                self._marking[place] = count
        return True

    def step(self, number: int) -> bool:
        """Go on by a rule; False if it cannot happen."""
        rule, marking = self._net.rules[number], self._marking
        if not self.have(rule.needs):
            return False
        if rule.moves:
            self._moved.append([marking[place] for place, _ in rule.moves])
            for place, _ in rule.moves:
                marking[place] = 0
            for (_, to), count in zip(rule.moves, self._moved[-1], strict=True):
                if to != LOST:
                    marking[to] += count
        for place, change in rule.changes:
            marking[place] += change
        self._done.append(number)
        return all(marking[place] >= 0 for place, _ in rule.changes)

    def _undo(self, rule: Rule) -> None:
        marking = self._marking
        for place, change in rule.changes:
            marking[place] -= change
        if rule.moves:
            counts = self._moved.pop()
            for (_, to), count in zip(rule.moves, counts, strict=True):
                if to != LOST:
                    marking[to] -= count
            for (place, _), count in zip(rule.moves, counts, strict=True):
                marking[place] += count

    def needed(self, target: Amounts) -> Run:
        """The steps that are needed, and the least start that they need."""
        demand, kept = dict(target), list[int]()
        for number in reversed(self._done):
            rule = self._net.rules[number]
            self._undo(rule)
            if any(count > self._marking[place] for place, count in demand.items()):
                demand = self._before(rule, demand)
                kept.append(number)
        start = {place: count for place, count in enumerate(self._net.start) if count}
        for place in self._net.open:
            if demand.get(place, 0) > start.get(place, 0):
                start[place] = demand[place]
        return Run(start, in_a_row(reversed(kept)))

    def _before(self, rule: Rule, demand: Demand) -> Demand:
        """What has to be there before a rule: of what is there, as much as is demanded after it."""
        before = dict(demand)
        needs, changes, sources = dict(rule.needs), dict(rule.changes), rule.sources()
        if not sources:
            demand_before(before, needs, changes)
            return before
        for place in sources:
            before[place] = 0
        for place, need in needs.items():
            before[place] = max(before.get(place, 0), need)
        for place in {*changes, *sources}:
            wanted = demand.get(place, 0) - changes.get(place, 0)
            if place not in sources:
                before[place] = max(wanted, needs.get(place, 0), 0)
                continue
            wanted -= sum(before.get(source, 0) for source in sources[place])
            for source in sources[place]:
                more = min(max(wanted, 0), self._marking[source] - before.get(source, 0))
                before[source] = before.get(source, 0) + more
                wanted -= more
        return before


def in_a_row(steps: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """Steps with how often each is made in a row.

    >>> in_a_row([3, 3, 1])
    ((3, 2), (1, 1))
    """
    return tuple((step, len(list(some))) for step, some in groupby(steps))
