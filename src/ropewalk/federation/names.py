"""Names of the trade: brokers, links, topics, failures, and how a text stands for them."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from unicodedata import category

LINK_MARK = "--"
"""Joins the two ends of a link: `lon-gw--par-gw`. No name may contain it."""

NOTHING = "none"
"""The failure of nothing. No broker may be called so."""

NAME_PATTERN = (
    r"^(?!.*--)(?!none$)"
    r"[^\x00-/:-@\[-`{-\x7f\s]"
    r"[^\x00-,/:-?\[-^`{-\x7f\s]*$(?<!-)"
)
"""No white space and of ASCII's marks only `_ . @ -`, the first a letter or digit (or anything
that is not ASCII). Written so that editors' JSON Schema checkers understand it as well."""

_SPLIT = re.compile(r"\s*\+\s*")
_NAME = re.compile(NAME_PATTERN)


def is_name(text: str) -> bool:
    """Whether a text can be a name.

    >>> is_name("lon-gw.1"), is_name("lon--gw"), is_name("site:lon"), is_name("none")
    (True, False, False, False)
    """
    return _NAME.fullmatch(text) is not None and len(text) <= 200


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
        """Read `none`, or parts joined by `+`: `broker`, `a--b`, `group:name`, `site:name`.

        Raises ValueError for a text that is none of these.
        """
        parts = _SPLIT.split(text.strip())
        if parts == [NOTHING]:
            return cls()
        found: dict[str, set[str]] = {"broker": set(), "link": set(), "group": set(), "site": set()}
        for part in parts:
            kind, name = _kind_of(part)
            found[kind].add(name)
        return cls(*(frozenset(names) for names in found.values()))

    def __str__(self) -> str:
        parts = [*sorted(self.brokers), *sorted(self.links)]
        parts += [f"group:{name}" for name in sorted(self.groups)]
        parts += [f"site:{name}" for name in sorted(self.sites)]
        return " + ".join(parts) or NOTHING


def _kind_of(part: str) -> tuple[str, str]:
    a, mark, b = part.partition(LINK_MARK)
    if mark and is_name(a) and is_name(b):
        return "link", link_name(a, b)
    kind, colon, name = part.partition(":")
    if colon and kind in ("group", "site") and is_name(name):
        return kind, name
    if is_name(part):
        return "broker", part
    raise ValueError(f"{part!r} is no failure")


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
            self._matched[pattern] = tuple(self._look_up(pattern))
        return self._matched[pattern]

    def _look_up(self, pattern: str) -> list[str]:
        if pattern in self._names:
            return [pattern]
        if "*" not in pattern:
            return [self._by_address[pattern]] if pattern in self._by_address else []
        addresses = matching(pattern, self._by_address)
        return matching(pattern, self._names) or [self._by_address[one] for one in addresses]


def topic_fault(topic: str) -> str | None:
    """What to write instead of a topic name or pattern that cannot be one, or None.

    `+` stands for one level and `#` for all that follow, as in MQTT; levels may be empty there.

    >>> topic_fault("prices/+/close"), topic_fault("prices/eq+")
    (None, "'+' stands alone in its level, not as in 'eq+'")
    """
    levels = topic.split("/")
    if not topic or any(category(one) in ("Cc", "Cs") for one in topic):
        return "write a text without control characters"
    for level in levels:
        for wildcard in "+#":
            if wildcard in level and level != wildcard:
                return f"{wildcard!r} stands alone in its level, not as in {level!r}"
        if not {"*", ">"}.isdisjoint(level.split(".")):
            return "wildcards are + for one level and # for all that follow, with / between levels"
    if "#" in levels[:-1]:
        return "'#' must be the last level"
    return None
