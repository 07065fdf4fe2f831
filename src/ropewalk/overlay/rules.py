"""What each topic promises: the federation file's contracts, looked up by name or pattern."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ropewalk.federation.facts import Contract, Federation, Topic
from ropewalk.federation.topics import is_pattern

LEAST = Topic(contract=Contract())
"""Of a topic that the file does not speak of."""
KEPT = 65_536


def matches(pattern: str, topic: str) -> bool:
    """Whether a pattern stands for a topic: + for one level, # for all that follow.

    >>> matches("prices/#", "prices"), matches("prices/+", "prices/a/b"), matches("#", "a/b")
    (True, False, True)
    """
    if pattern == topic:
        return True
    wanted, levels = pattern.split("/"), topic.split("/")
    for i, level in enumerate(wanted):
        if level == "#":
            return True
        if i >= len(levels) or (level != "+" and level != levels[i]):
            return False
    return len(wanted) == len(levels)


@dataclass(frozen=True, slots=True)
class Rule:
    """What one topic promises."""

    custody: bool
    """The origin keeps it until every destination has it."""
    exactly_once: bool
    at_most_once: bool
    order: str
    priority: int
    local: bool
    """It does not leave its domain."""
    home: str | None
    paths: int
    retained: bool
    protocol: str | None = None
    """What its messages follow."""


def rule_of(topic: Topic) -> Rule:
    """The rule that a topic's contract stands for."""
    contract = topic.contract
    return Rule(
        # A home numbers what it keeps, so a total order cannot do with less.
        custody=contract.delivery in ("at-least-once", "exactly-once") or contract.order == "total",
        exactly_once=contract.delivery == "exactly-once",
        at_most_once=contract.delivery == "at-most-once",
        order=contract.order,
        priority=contract.priority,
        local=topic.scope == "domain",
        home=contract.home,
        paths=contract.paths,
        retained=contract.retained,
        protocol=topic.protocol,
    )


@dataclass(slots=True)
class Rules:
    """The rules of all topics; of several patterns that fit, the first in the file counts."""

    named: Mapping[str, Rule]
    patterns: tuple[tuple[str, Rule], ...]
    least: Rule = field(default_factory=lambda: rule_of(LEAST))
    _known: dict[str, Rule] = field(default_factory=dict)
    any_by_priority: bool = field(init=False)
    """Whether there is a topic of which the urgent go first."""

    def __post_init__(self) -> None:
        every = (self.least, *self.named.values(), *(rule for _, rule in self.patterns))
        self.any_by_priority = any(rule.order == "priority" for rule in every)

    def of(self, topic: str) -> Rule:
        """The rule of a topic."""
        found = self._known.get(topic)
        if found is None:
            found = self.named.get(topic) or self._by_pattern(topic)
            if len(self._known) >= KEPT:
                self._known.clear()
            self._known[topic] = found
        return found

    def local(self, pattern: str) -> bool:
        """Whether a subscription to a pattern concerns topics of one domain only."""
        if not is_pattern(pattern):
            return self.of(pattern).local
        rule = dict(self.patterns).get(pattern)
        return rule.local if rule else False

    def _by_pattern(self, topic: str) -> Rule:
        return next((rule for one, rule in self.patterns if matches(one, topic)), self.least)


def rules_of(federation: Federation) -> Rules:
    """The rules of a federation's topics.

    >>> from ropewalk import generate
    >>> rules_of(generate("three-broker")).of("anything").custody
    True
    """
    rules = {name: rule_of(topic) for name, topic in federation.topics.items()}
    named = {name: rule for name, rule in rules.items() if not is_pattern(name)}
    patterns = tuple((name, rule) for name, rule in rules.items() if is_pattern(name))
    return Rules(named, patterns)


UNORDERED = Rule(
    custody=True,
    exactly_once=False,
    at_most_once=False,
    order="none",
    priority=0,
    local=False,
    home=None,
    paths=1,
    retained=True,
)
"""For a last value that is sent to somebody who came later."""
