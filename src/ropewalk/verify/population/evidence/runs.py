"""A run, replayed on the whole net in exact numbers."""

from ropewalk.verify.population.net import LOST, Net, Rule
from ropewalk.verify.population.run import Run, Step


class RefusedRunError(ValueError):
    """A run that the net does not allow, or that ends on no target."""


def replayed(net: Net, run: Run) -> dict[int, int]:
    """The marking at the end; raises RefusedRunError.

    >>> from ropewalk.verify.population.net import Net, rule_of
    >>> go = rule_of("go", takes={0: 1}, gives={1: 1})
    >>> net = Net(("a", "b"), (go,), (2, 0), frozenset(), (((1, 2),),))
    >>> replayed(net, Run({0: 2}, ((0, 2),)))
    {0: 0, 1: 2}
    >>> replayed(net, Run({0: 3}, ((0, 2),)))
    Traceback (most recent call last):
    ...
    ropewalk.verify.population.evidence.runs.RefusedRunError: a starts with 3 instead of 2
    """
    tokens = {place: count for place, count in run.start.items() if count}
    for place, count in enumerate(net.start):
        given = tokens.get(place, 0)
        if given < count or (given > count and place not in net.open):
            raise RefusedRunError(f"{net.places[place]} starts with {given} instead of {count}")
    _follow(net, run.steps, tokens)
    if not any(all(tokens.get(p, 0) >= c for p, c in target) for target in net.targets):
        raise RefusedRunError("no target is covered at its end")
    return tokens


def _follow(net: Net, steps: tuple[Step, ...], tokens: dict[int, int]) -> None:
    """Make every step, and those in a row at once: what they need and change adds up."""
    known: dict[int, tuple[dict[int, int], dict[int, int]]] = {}
    for one, times in steps:
        if times < 1:
            raise RefusedRunError(f"something happens {times} times")
        if not isinstance(one, int):
            need, change = _added_up(net, one, known)
            for place, count in need.items():
                # each time, what the times before it have changed is already gone
                count -= min((times - 1) * change.get(place, 0), 0)
                if tokens.get(place, 0) < count:
                    raise RefusedRunError(f"{count} tokens are needed in {net.places[place]}")
            for place, count in change.items():
                tokens[place] = tokens.get(place, 0) + times * count
            continue
        for _ in range(times):
            _happen(net, net.rules[one], tokens)


def _added_up(
    net: Net, steps: tuple[Step, ...], known: dict[int, tuple[dict[int, int], dict[int, int]]]
) -> tuple[dict[int, int], dict[int, int]]:
    """What steps without moves need at their start, and what they change, all together."""
    if id(steps) in known:
        return known[id(steps)]
    need, change = dict[int, int](), dict[int, int]()
    for one, times in steps:
        if times < 1:
            raise RefusedRunError(f"something happens {times} times")
        if isinstance(one, int):
            rule = net.rules[one]
            if rule.moves:
                raise RefusedRunError(f"{rule.name} moves tokens: its times do not add up")
            needs, changes = dict(rule.needs), dict(rule.changes)
            for place, count in changes.items():
                needs[place] = max(needs.get(place, 0), -count)  # what is taken has to be there
        else:
            needs, changes = _added_up(net, one, known)
        for place, count in needs.items():
            lowest = change.get(place, 0) + min((times - 1) * changes.get(place, 0), 0)
            need[place] = max(need.get(place, 0), count - lowest)
        for place, count in changes.items():
            change[place] = change.get(place, 0) + times * count
    known[id(steps)] = need, change
    return need, change


def _happen(net: Net, rule: Rule, tokens: dict[int, int]) -> None:
    for place, need in rule.needs:
        if tokens.get(place, 0) < need:
            raise RefusedRunError(f"{rule.name} needs {need} in {net.places[place]}")
    taken = [(to, tokens.pop(place, 0)) for place, to in rule.moves]
    for to, count in taken:
        if to != LOST:
            tokens[to] = tokens.get(to, 0) + count
    for place, change in rule.changes:
        tokens[place] = tokens.get(place, 0) + change
        if tokens[place] < 0:
            raise RefusedRunError(f"{rule.name} takes more than there is in {net.places[place]}")
