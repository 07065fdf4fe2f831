"""A proof in fractions, followed step by step on the whole net, in whole numbers."""

from collections.abc import Iterable, Mapping

from ropewalk.verify.population.net import LOST, Amounts, Net, Rule

Name = tuple[int, int]
"""A rule, and which of its moves; 0 for all the rest of it."""
Steps = dict[Name, tuple[list[int], list[int]]]
"""What has to be marked, and what is marked then."""


def unmeetable(net: Net, demand: Amounts, proof: Iterable[Amounts]) -> bool:
    """Whether a proof shows that a demand cannot be met, were rules to happen in fractions."""
    rules = set(range(len(net.rules)))
    spare = set(range(len(net.places)))  # places that may end with more than is demanded
    for weights in proof:
        if _signs(net, demand, rules, spare):
            return True
        weight = dict(weights)
        if min(weight.values(), default=0) < 0 or any(place in net.open for place in weight):
            return False
        exceeds = _sum(weight, demand) - _sum(weight, enumerate(net.start))
        change = {number: _change(weight, net.rules[number]) for number in rules}
        if exceeds < 0 or any(one > 0 for one in change.values()):
            return False
        if exceeds > 0:
            return True
        # Nothing is left over: what lowers the sum cannot have happened, and tokens that count
        # are where the demand has them.
        rules -= {number for number, one in change.items() if one < 0}
        spare -= {place for place, count in weight.items() if count}
    return _signs(net, demand, rules, spare)


def _change(weight: Mapping[int, int], rule: Rule) -> float:
    """What a rule changes a weighted sum by, at most: it may move more than it needs."""
    needs, total = dict(rule.needs), _sum(weight, rule.changes)
    for place, to in rule.moves:
        by = weight.get(to, 0) - weight.get(place, 0)
        if by > 0:
            return float("inf")
        total += by * needs.get(place, 0)
    return total


def _sum(weight: Mapping[int, int], amounts: Iterable[tuple[int, int]]) -> int:
    return sum(weight.get(place, 0) * count for place, count in amounts)


def _signs(net: Net, demand: Amounts, rules: set[int], spare: set[int]) -> bool:
    """Take away what cannot happen by signs; whether the demand is excluded by them."""
    marked = {place for place, count in enumerate(net.start) if count} | set(net.open)
    forwards: Steps = {(n, 0): (_needed(net, n), _after(net, n)) for n in rules}
    for n in rules:
        for k, (place, to) in enumerate(net.rules[n].moves, start=1):
            if to != LOST:
                forwards[n, k] = [*_needed(net, n), place], [to]
    rules &= {n for n, k in _able(forwards, marked) if k == 0}
    spare &= marked
    ends = {place for place, _ in demand} | spare
    backwards: Steps = {}
    for n in rules:
        moved = {place for pair in net.rules[n].moves for place in pair}
        after = [place for place in _after(net, n) if place not in moved]
        backwards[n, 0] = after, [*_needed(net, n), *(place for place, _ in net.rules[n].moves)]
    rules &= {n for n, _ in _able(backwards, ends)}
    return not {place for place, _ in demand} <= marked


def _needed(net: Net, number: int) -> list[int]:
    return [place for place, _ in net.rules[number].needs]


def _after(net: Net, number: int) -> list[int]:
    """Places that hold something after a rule, whatever was there before."""
    rule = net.rules[number]
    after = dict(rule.needs)
    for place, change in rule.changes:
        after[place] = after.get(place, 0) + change
    return [place for place, count in after.items() if count > 0]


def _able(steps: Steps, marked: set[int]) -> set[Name]:
    """Steps that are enabled one after the other; what they mark is added."""
    waits: dict[int, list[Name]] = {}
    missing: dict[Name, int] = {}
    for number, (before, _) in steps.items():
        missing[number] = len(before)
        for place in before:
            waits.setdefault(place, []).append(number)
    able = [number for number, count in missing.items() if not count]
    todo = list(marked)
    at = 0
    while todo or at < len(able):
        while at < len(able):
            new = [place for place in steps[able[at]][1] if place not in marked]
            at += 1
            marked.update(new)
            todo += new
        while todo:
            for number in waits.get(todo.pop(), ()):
                missing[number] -= 1
                if not missing[number]:
                    able.append(number)
    return set(able)
