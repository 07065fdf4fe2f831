"""Nets: places that hold tokens, and rules that take, move and add them; what is bad in them.

A rule may happen where its `needs` are met. Then, at once, all tokens of a place that `moves`
names go to another place, or are lost (transfer and reset arcs); after that `changes` are added.
Nets like these are monotone: more tokens never hinder, so "can at least these tokens be reached?"
(coverability) can be decided for any number of tokens at the start.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

Amounts = tuple[tuple[int, int], ...]
"""Places with their amounts, in the order of the places; the rest has none."""

LOST = -1
"""Where tokens go that a rule resets."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: what it needs, which places it empties into which, what it adds and takes."""

    name: str
    needs: Amounts
    changes: Amounts
    moves: tuple[tuple[int, int], ...] = ()
    """Pairs (place, where all its tokens go), in the order of the places; nothing twice."""
    line: int = 0

    def sources(self) -> dict[int, list[int]]:
        """For each place that a move touches: the places whose tokens are in it afterwards."""
        found: dict[int, list[int]] = {}
        for place, to in self.moves:
            found.setdefault(place, [])
            if to != LOST:
                found.setdefault(to, [])
        gone = {place for place, _ in self.moves}
        for place in found:
            if place not in gone:
                found[place].append(place)
        for place, to in self.moves:
            if to != LOST:
                found[to].append(place)
        return found


@dataclass(frozen=True, slots=True)
class Net:
    """Places, rules, where it starts and what is bad.

    It starts with `start`; places of `open` may have any number more. Bad is every marking that
    has at least the amounts of one of `targets`.
    """

    places: tuple[str, ...]
    rules: tuple[Rule, ...]
    start: tuple[int, ...]
    open: frozenset[int]
    targets: tuple[Amounts, ...]
    name: str = ""
    labels: tuple[str, ...] = field(default=())
    """What each target is called, if they have names."""

    @property
    def moving(self) -> bool:
        """Whether any rule has transfer or reset arcs."""
        return any(rule.moves for rule in self.rules)


def amounts(given: Mapping[int, int] | Iterable[tuple[int, int]]) -> Amounts:
    """Amounts in order, without zeros.

    >>> amounts({3: 1, 0: 2, 5: 0})
    ((0, 2), (3, 1))
    """
    pairs = given.items() if isinstance(given, Mapping) else given
    return tuple(sorted((place, count) for place, count in pairs if count))


def rule_of(
    name: str,
    *,
    takes: Mapping[int, int] | None = None,
    gives: Mapping[int, int] | None = None,
    needs: Mapping[int, int] | None = None,
    moves: Mapping[int, int] | None = None,
    line: int = 0,
) -> Rule:
    """A rule that takes tokens before it moves what is left, and gives tokens after that.

    `needs` are tokens that have to be there and are not taken.

    >>> rule_of("shout", takes={0: 1}, gives={2: 1}, moves={1: 3, 0: 3})
    Rule(name='shout', needs=((0, 1),), changes=((2, 1), (3, -1)), moves=((0, 3), (1, 3)), line=0)
    """
    takes, gives, moved = takes or {}, gives or {}, moves or {}
    asked, changed = dict(takes), dict(gives)
    for place, count in (needs or {}).items():
        asked[place] = max(asked.get(place, 0), count)
    for place, count in takes.items():
        where = moved.get(place, place)  # what was taken is missing where the rest has gone
        if where != LOST:
            changed[where] = changed.get(where, 0) - count
    pairs = tuple(sorted((place, to) for place, to in moved.items() if place != to))
    return Rule(name, amounts(asked), amounts(changed), pairs, line)


def fired(rule: Rule, marking: Mapping[int, int]) -> dict[int, int] | None:
    """The marking after a rule, in exact numbers; None where it cannot happen.

    >>> shout = rule_of("shout", takes={0: 1}, gives={2: 1}, moves={1: 3, 0: 3})
    >>> fired(shout, {0: 3, 1: 4})
    {0: 0, 1: 0, 3: 6, 2: 1}
    """
    if any(marking.get(place, 0) < count for place, count in rule.needs):
        return None
    after = dict(marking)
    for place, _ in rule.moves:
        after[place] = 0
    for place, to in rule.moves:
        if to != LOST:
            after[to] = after.get(to, 0) + marking.get(place, 0)
    for place, change in rule.changes:
        after[place] = after.get(place, 0) + change
        if after[place] < 0:
            return None
    return after


def covers(marking: Mapping[int, int], target: Amounts) -> bool:
    """Whether a marking has at least these amounts."""
    return all(marking.get(place, 0) >= count for place, count in target)
