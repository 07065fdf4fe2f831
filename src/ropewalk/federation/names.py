"""Names of the trade: brokers, links, topics, failures, and how a text stands for them."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

LINK_MARK = "--"
"""Joins the two ends of a link: `lon-gw--par-gw`. No name may contain it."""

NAME_PATTERN = r"^[^\W_](?:[\w.:@]|-(?!-))*$"
"""Letters, digits and `_ . : @ -` after a first letter or digit; never `--`."""

_SPLIT = re.compile(r"\s*\+\s*")


def link_name(a: str, b: str) -> str:
    """The name of the link between two brokers, whichever way round they are given.

    >>> link_name("par-gw", "lon-gw")
    'lon-gw--par-gw'
    """
    return LINK_MARK.join(sorted((a, b)))


@dataclass(frozen=True, slots=True)
class Failure:
    """A set of brokers and links that are down together, and groups and sites that fail as one.

    >>> str(Failure.parse("par-gw--lon-gw + site:rome"))
    'lon-gw--par-gw + site:rome'
    """

    brokers: frozenset[str] = frozenset()
    links: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    sites: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, text: str) -> "Failure":
        """Read `none`, or parts joined by `+`: `broker`, `a--b`, `group:name`, `site:name`."""
        parts = [part for part in _SPLIT.split(text.strip()) if part != "none"]
        links = [part for part in parts if LINK_MARK in part]
        rest = [part for part in parts if LINK_MARK not in part]
        groups = [part for part in rest if part.startswith("group:")]
        sites = [part for part in rest if part.startswith("site:")]
        return cls(
            brokers=frozenset(rest) - {*groups, *sites},
            links=frozenset(link_name(*part.split(LINK_MARK, 1)) for part in links),
            groups=frozenset(part.removeprefix("group:") for part in groups),
            sites=frozenset(part.removeprefix("site:") for part in sites),
        )

    def __str__(self) -> str:
        parts = [*sorted(self.brokers), *sorted(self.links)]
        parts += [f"group:{name}" for name in sorted(self.groups)]
        parts += [f"site:{name}" for name in sorted(self.sites)]
        return " + ".join(parts) or "none"


def matching(pattern: str, names: Iterable[str]) -> list[str]:
    """Those names that a pattern with `*` stands for, in their order.

    >>> matching("2.0.*", ["2.0.0.1", "1.0.0.1"])
    ['2.0.0.1']
    """
    match = re.compile(".*".join(map(re.escape, pattern.split("*")))).fullmatch
    return [name for name in names if match(name)]


class BrokerPatterns:
    """Which brokers a pattern stands for: by name or, where no name matches, by address."""

    def __init__(self, addresses: Mapping[str, str | None]) -> None:
        self._names = addresses.keys()
        self._by_address = {address: name for name, address in addresses.items() if address}
        self._matched: dict[str, tuple[str, ...]] = {}

    def match(self, pattern: str) -> tuple[str, ...]:
        """The brokers' names; a pattern is looked up once, however many routes use it.

        >>> BrokerPatterns({"b1": "2.0.0.1", "b2": None}).match("2.0.*")
        ('b1',)
        """
        if pattern not in self._matched:
            self._matched[pattern] = self._look_up(pattern)
        return self._matched[pattern]

    def _look_up(self, pattern: str) -> tuple[str, ...]:
        if pattern in self._names:
            return (pattern,)
        if pattern in self._by_address:
            return (self._by_address[pattern],)
        if "*" not in pattern:
            return ()
        named = matching(pattern, self._names)
        return tuple(
            named or [self._by_address[one] for one in matching(pattern, self._by_address)]
        )


def topic_fault(topic: str) -> str | None:
    """What is wrong with a topic name or pattern, or None.

    `+` stands for one level and `#` for all that follow, as in MQTT.

    >>> topic_fault("prices/+/close"), topic_fault("prices/eq+")
    (None, "'+' must stand alone in its level: 'eq+'")
    """
    levels = topic.split("/")
    for level in levels:
        if level != "+" and "+" in level:
            return f"'+' must stand alone in its level: {level!r}"
        if level != "#" and "#" in level:
            return f"'#' must stand alone in its level: {level!r}"
    if "#" in levels[:-1]:
        return "'#' must be the last level"
    if "" in levels:
        return "a level is empty: write names between the '/' signs"
    return None
