"""The smallest style that keeps all rules: that there is one at all, and that none is smaller.

The paper proves its schemas consistent by the initialization theorem: some state satisfies them.
The empty style does, but says little. So the style is asked to live: facts are given that must be
among its own, such as an event that a consumer is given. The search adds facts until no rule is
broken. A breach can only be mended by more facts of the kinds that the rule names (`mends`), so
every style with the facts so far that keeps the rule has one of them: trying each is trying all.
Sizes are tried in ascending order, so what is found first is smallest, and that nothing was found
below it is the proof that there is nothing.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product

from ropewalk.verify.contracts.breach import Breach, Broken
from ropewalk.verify.contracts.facts import SORTS, Fact, style_of_facts
from ropewalk.verify.contracts.rules import RULES, StyleRule

LIVING: tuple[Fact, ...] = (("receive", "k", "1", "e", "t"),)
"""Somebody is given something."""


@dataclass(frozen=True, slots=True)
class Smallest:
    """What the search has found, and how many styles it has looked at for that."""

    facts: frozenset[Fact] | None
    """None if there is no such style of at most so many facts."""
    looked_at: int

    def text(self) -> str:
        """The facts, one to a line, in the order of their kinds."""
        order = list(SORTS)
        facts = sorted(self.facts or (), key=lambda fact: (order.index(fact[0]), fact))
        return "\n".join(" ".join(fact) for fact in facts)


def smallest(
    must: Iterable[Fact] = LIVING, *, most: int, rules: Iterable[StyleRule] | None = None
) -> Smallest:
    """The smallest style with these facts that keeps the rules, if it has at most so many.

    >>> len(smallest(most=12).facts)
    11
    """
    start = frozenset(must)
    search = _Search(tuple(RULES.values() if rules is None else rules))
    for size in range(len(start), most + 1):
        search.tried.clear()
        found = search.within(start, size)
        if found is not None:
            return Smallest(found, search.looked_at)
    return Smallest(None, search.looked_at)


class _Search:
    """Facts added to facts; sets that have been tried are not tried again."""

    def __init__(self, rules: tuple[StyleRule, ...]) -> None:
        self.rules, self.looked_at = rules, 0
        self.tried: set[frozenset[Fact]] = set()
        self._needs: dict[frozenset[Fact], tuple[int, tuple[Fact, ...]]] = {}
        self._said: dict[tuple[str, frozenset[Fact]], Broken] = {}

    def within(self, facts: frozenset[Fact], size: int) -> frozenset[Fact] | None:
        """A style of at most so many facts that has these and keeps the rules."""
        least, candidates = self._need(facts)
        if not least:
            return facts
        if len(facts) + least > size:
            return None
        for more in candidates:
            further = facts | {more}
            if further not in self.tried:
                self.tried.add(further)
                found = self.within(further, size)
                if found is not None:
                    return found
        return None

    def _need(self, facts: frozenset[Fact]) -> tuple[int, tuple[Fact, ...]]:
        """How many more facts it takes at least, and of which one has to be there."""
        if facts not in self._needs:
            self.looked_at += 1
            broken = [(rule, found) for rule in self.rules if (found := self._found(rule, facts))]
            ways = [
                tuple(_candidates(facts, rule, breach))
                for rule, found in broken
                for breach in found.breaches
            ]
            self._needs[facts] = (_apart(ways), min(ways, key=len, default=()))
        return self._needs[facts]

    def _found(self, rule: StyleRule, facts: frozenset[Fact]) -> Broken:
        """What a rule says; it goes by some kinds of facts only, and is asked once for those."""
        read = frozenset(fact for fact in facts if fact[0] in rule.reads)
        if (rule.code, read) not in self._said:
            self._said[rule.code, read] = rule.breaches(style_of_facts(sorted(read)))
        return self._said[rule.code, read]


def _apart(ways: list[tuple[Fact, ...]]) -> int:
    """Breaches of which no fact could mend two: each takes a fact of its own."""
    taken: set[Fact] = set()
    many = 0
    for way in sorted(ways, key=len):
        if taken.isdisjoint(way):
            taken.update(way)
            many += 1
    return many


def _candidates(facts: frozenset[Fact], rule: StyleRule, breach: Breach) -> Iterator[Fact]:
    """Facts that could mend a breach, over the names there are and new ones.

    New names are all alike, so one of each sort will do, and two where a fact speaks of two.
    """
    names = _names(facts)
    for kind, places in rule.mends.items():
        sorts = SORTS[kind]
        choices = [[*names.get(sort, ()), *_new(names, sort, sorts.count(sort))] for sort in sorts]
        for place in places:
            choices[place] = [name for name in choices[place] if name in breach.names]
        yield from ((kind, *chosen) for chosen in product(*choices) if (kind, *chosen) not in facts)


def _names(facts: frozenset[Fact]) -> dict[str, list[str]]:
    names: dict[str, set[str]] = {}
    for kind, *of in facts:
        for sort, name in zip(SORTS[kind], of, strict=True):
            names.setdefault(sort, set()).add(name)
    return {sort: sorted(some) for sort, some in names.items()}


def _new(names: dict[str, list[str]], sort: str, many: int) -> list[str]:
    """Names that no fact speaks of; sequences are numbers, and one is enough."""
    if sort == "number":
        return [] if names.get(sort) else ["1"]
    known = names.get(sort, ())
    free = (f"{sort[0]}{i}" for i in range(len(known) + many) if f"{sort[0]}{i}" not in known)
    return [name for name, _ in zip(free, range(many), strict=False)]
