"""What of a net matters to its targets: places that are ever marked, rules that can help.

Both ways are by signs alone. Forwards: a rule can happen only if all it needs can be marked.
Backwards: a rule matters if it adds to a place that matters; then all that it needs matters.
What is left out changes no verdict, and it is most of a large net.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from ropewalk.verify.population.net import LOST, Amounts, Net, Rule


@dataclass(frozen=True, slots=True)
class Slice:
    """The part of a net that matters, and what its places and rules are called outside."""

    net: Net
    places: tuple[int, ...]
    """The whole net's number of each place."""
    rules: tuple[int, ...]
    never: frozenset[int]
    """Places of the whole net that are never marked."""
    targets: tuple[int, ...]
    """The whole net's number of each target."""


def sliced(net: Net) -> Slice:
    """The part of a net that matters; without targets if none can be reached by signs."""
    marked, possible = reach_of_signs(net, range(len(net.rules)))
    while starved := {one for one in possible if _starved(net.rules[one], marked)}:
        marked, possible = reach_of_signs(net, [one for one in possible if one not in starved])
    reachable = [i for i, t in enumerate(net.targets) if all(p in marked for p, _ in t)]
    matters, useful = _matters(net, [net.targets[i] for i in reachable], possible)
    places = _in_order(net, matters & marked, useful)
    number = {place: i for i, place in enumerate(places)}
    rules = _without_repetition(net, useful, number)
    inner = replace(
        net,
        places=tuple(net.places[p] for p in places),
        rules=tuple(rules.values()),
        start=tuple(net.start[p] for p in places),
        open=frozenset(number[p] for p in net.open if p in number),
        targets=tuple(_renamed(net.targets[i], number) for i in reachable),
        labels=(),
    )
    never = frozenset(range(len(net.places))) - marked
    return Slice(inner, places, tuple(rules), never, tuple(reachable))


def reach_of_signs(net: Net, rules: Iterable[int]) -> tuple[set[int], list[int]]:
    """Places that rules can mark, were tokens never used up, and which of the rules can happen."""
    marked = {p for p, count in enumerate(net.start) if count} | set(net.open)
    waits: dict[int, list[int]] = {}
    missing: dict[int, int] = {}
    todo, possible = list(marked), list[int]()

    def happens(number: int) -> None:
        possible.append(number)
        rule = net.rules[number]
        gained = [p for p, change in rule.changes if change > 0]
        gained += [to for place, to in rule.moves if to != LOST and place in marked]
        for place in gained:
            if place not in marked:
                marked.add(place)
                todo.append(place)

    movers: dict[int, list[tuple[int, int]]] = {}
    for number in rules:
        rule = net.rules[number]
        for place, to in rule.moves:
            if to != LOST:
                movers.setdefault(place, []).append((number, to))
        needs = [p for p, _ in rule.needs if p not in marked]
        missing[number] = len(needs)
        for place in needs:
            waits.setdefault(place, []).append(number)
    ready = [number for number, count in missing.items() if not count]
    happened = set[int]()
    while ready or todo:
        for number in ready:
            happened.add(number)
            happens(number)
        ready = []
        while todo:
            place = todo.pop()
            for number in waits.get(place, ()):
                missing[number] -= 1
                if not missing[number]:
                    ready.append(number)
            for number, to in movers.get(place, ()):
                if number in happened and to not in marked:
                    marked.add(to)
                    todo.append(to)
    return marked, sorted(possible)


def _matters(net: Net, targets: list[Amounts], possible: list[int]) -> tuple[set[int], list[int]]:
    """Places that matter to targets, and the rules that add to one of them."""
    adding: dict[int, list[int]] = {}
    for number in possible:
        rule = net.rules[number]
        for place, change in rule.changes:
            if change > 0:
                adding.setdefault(place, []).append(number)
        for _, to in rule.moves:
            adding.setdefault(to, []).append(number)
    matters = {p for target in targets for p, _ in target}
    todo, useful = list(matters), set[int]()

    def matter(place: int) -> None:
        if place not in matters:
            matters.add(place)
            todo.append(place)

    while todo:
        place = todo.pop()
        for number in adding.get(place, ()):
            rule = net.rules[number]
            for source, to in rule.moves:
                if to == place:
                    matter(source)
            if number not in useful:
                useful.add(number)
                for needed, _ in rule.needs:
                    matter(needed)
                for source in _taken_from(rule):
                    matter(source)
    return matters, sorted(useful)


def _taken_from(rule: Rule) -> list[int]:
    """Places of which a rule takes more than its needs say, and those that are moved there."""
    return [one for place, come in _short(rule) for one in (place, *come)]


def _starved(rule: Rule, marked: Collection[int]) -> bool:
    """Whether a rule takes tokens where there are never any, without saying that it needs them."""
    return any(not any(source in marked for source in come) for _, come in _short(rule))


def _short(rule: Rule) -> list[tuple[int, list[int]]]:
    """Places of which a rule takes more than it needs: what is moved there has to be enough."""
    if all(change > 0 or (place, -change) in rule.needs for place, change in rule.changes):
        return []
    needs, sources = dict(rule.needs), rule.sources()
    come = {place: sources.get(place, [place]) for place, change in rule.changes if change < 0}
    changes = dict(rule.changes)
    return [
        (place, some)
        for place, some in come.items()
        if changes[place] < -sum(needs.get(source, 0) for source in some)
    ]


def _in_order(net: Net, kept: Collection[int], useful: list[int]) -> tuple[int, ...]:
    """Places that most rules need first: two markings mostly differ there, and are told apart."""
    use = dict.fromkeys(kept, 0)
    for number in useful:
        for place, _ in net.rules[number].needs:
            if place in use:
                use[place] += 1
    return tuple(sorted(kept, key=lambda place: (-use[place], place)))


def _without_repetition(net: Net, useful: list[int], number: dict[int, int]) -> dict[int, Rule]:
    """Rules in terms of the places that are left; of those that do the same, the first."""
    found: dict[tuple[Amounts, Amounts, Amounts], int] = {}
    rules: dict[int, Rule] = {}
    for one in useful:
        rule = net.rules[one]
        moves = tuple(
            sorted(
                (number[place], number.get(to, LOST)) for place, to in rule.moves if place in number
            )
        )
        inner = replace(
            rule,
            needs=_renamed(rule.needs, number),
            changes=_renamed(rule.changes, number),
            moves=moves,
        )
        if found.setdefault((inner.needs, inner.changes, moves), one) == one:
            rules[one] = inner
    return rules


def _renamed(given: Amounts, number: dict[int, int]) -> Amounts:
    return tuple(sorted((number[p], count) for p, count in given if p in number))
