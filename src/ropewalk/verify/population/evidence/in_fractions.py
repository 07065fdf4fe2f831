"""A proof in fractions, followed step by step on the whole net, in whole numbers."""

from collections.abc import Iterable, Mapping

from ropewalk.verify.population.net import Amounts, Net


def unmeetable(net: Net, demand: Amounts, proof: Iterable[Amounts]) -> bool:
    """Whether a proof shows that a demand cannot be met, were rules to happen in fractions."""
    if any(rule.moves for rule in net.rules):
        return False
    rules = set(range(len(net.rules)))
    spare = set(range(len(net.places)))  # places that may end with more than is demanded
    for weights in proof:
        if _signs(net, demand, rules, spare):
            return True
        weight = dict(weights)
        if min(weight.values(), default=0) < 0 or any(place in net.open for place in weight):
            return False
        exceeds = _sum(weight, demand) - _sum(weight, enumerate(net.start))
        change = {number: _sum(weight, net.rules[number].changes) for number in rules}
        if exceeds < 0 or any(one > 0 for one in change.values()):
            return False
        if exceeds > 0:
            return True
        # Nothing is left over: what lowers the sum cannot have happened, and tokens that count
        # are where the demand has them.
        rules -= {number for number, one in change.items() if one < 0}
        spare -= {place for place, count in weight.items() if count}
    return _signs(net, demand, rules, spare)


def _sum(weight: Mapping[int, int], amounts: Iterable[tuple[int, int]]) -> int:
    return sum(weight.get(place, 0) * count for place, count in amounts)


def _signs(net: Net, demand: Amounts, rules: set[int], spare: set[int]) -> bool:
    """Take away what cannot happen by signs; whether the demand is excluded by them."""
    marked = {place for place, count in enumerate(net.start) if count} | set(net.open)
    able = _able({n: ([p for p, _ in net.rules[n].needs], _after(net, n)) for n in rules}, marked)
    rules &= able
    spare &= marked
    ends = {place for place, _ in demand} | spare
    leading = _able({n: (_after(net, n), [p for p, _ in net.rules[n].needs]) for n in rules}, ends)
    rules &= leading
    return not {place for place, _ in demand} <= marked


def _after(net: Net, number: int) -> list[int]:
    """Places that hold something after a rule, whatever was there before."""
    rule = net.rules[number]
    after = dict(rule.needs)
    for place, change in rule.changes:
        after[place] = after.get(place, 0) + change
    return [place for place, count in after.items() if count > 0]


def _able(steps: Mapping[int, tuple[list[int], list[int]]], marked: set[int]) -> set[int]:
    """Steps that are enabled one after the other; what they mark is added."""
    waits: dict[int, list[int]] = {}
    missing: dict[int, int] = {}
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
