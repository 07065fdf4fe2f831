"""Items: what is placed on brokers as one, where each is today and where it may be.

An item is one of the file's `items`, or a topic that is in none of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ropewalk.federation.arrays import broker_of
from ropewalk.federation.limits import SITE_MARK
from ropewalk.federation.topics import held, is_pattern

if TYPE_CHECKING:
    from ropewalk.federation.facts import Federation, Topic


@dataclass(frozen=True, slots=True)
class Lookup:
    """What is asked for item by item, put together once."""

    topics: dict[str, tuple[str, ...]]
    """Topics of each item."""
    holder: dict[str, str]
    """The item that a topic is in; without topics that are items of their own."""
    number: dict[str, int]
    """The place of each broker in the file."""
    domain: dict[str, frozenset[str]]
    """The brokers of each broker's domain; one outside all domains stands alone."""
    site: dict[str, frozenset[str]]
    """The brokers of each site."""


def lookup_of(federation: "Federation") -> Lookup:
    """Items, domains and sites of a federation; names that it does not have are passed over."""
    holder = _holders(federation)
    topics: dict[str, list[str]] = {item: [] for item in federation.items}
    for topic in federation.topics:
        topics.setdefault(holder.get(topic, topic), []).append(topic)
    domain = {name: frozenset((name,)) for name in federation.brokers}
    for one in federation.domains.values():
        members = federation.brokers.keys() & {*one.gateways, *one.edges}
        domain.update(dict.fromkeys(members, frozenset(members)))
    site: dict[str, set[str]] = {name: set() for name in federation.sites}
    for name, broker in federation.brokers.items():
        if broker.site in site:
            site[broker.site].add(name)
    return Lookup(
        topics={item: tuple(names) for item, names in topics.items()},
        holder=holder,
        number={name: i for i, name in enumerate(federation.brokers)},
        domain=domain,
        site={name: frozenset(brokers) for name, brokers in site.items()},
    )


def _holders(federation: "Federation") -> dict[str, str]:
    """The item of each topic: the one that names it, else the first with a pattern for it."""
    holder: dict[str, str] = {}
    for item, names in federation.items.items():
        for name in names:
            if name in federation.topics:
                holder.setdefault(name, item)
    patterns = [name for name in holder if is_pattern(name)]
    by_pattern = held(patterns, list(federation.topics)) if patterns else ()
    for pattern, topic in by_pattern:
        holder.setdefault(topic, holder[pattern])
    return holder


def items_of(federation: "Federation") -> dict[str, tuple[str, ...]]:
    """Topics of each item: those it names and those that match a pattern in it.

    >>> from ropewalk.federation import loads
    >>> text = '''{federation: f, brokers: {a: }, items: {prices: [p/#]},
    ...   topics: {p/#: {publishers: [a]}, p/x: {publishers: [a]}, q: {publishers: [a]}}}'''
    >>> items_of(loads(text))
    {'prices': ('p/#', 'p/x'), 'q': ('q',)}
    """
    return federation.lookup.topics


def place_of(federation: "Federation", item: str) -> str | None:
    """The broker that an item is on today, or None where that is not one broker.

    It is what `placement.at` says, else the one home of its topics, else the one broker of all
    their publishers. Raises KeyError for what is no item.

    >>> from ropewalk.federation import loads
    >>> text = '''{federation: f, brokers: {a: , b: }, placement: {at: {s: b}}, topics: {
    ...   p: {publishers: [a]}, q: {publishers: [a, b]},
    ...   r: {publishers: [a, b], contract: {home: b}}, s: {publishers: [a]}}}'''
    >>> [place_of(loads(text), item) for item in "pqrs"]
    ['a', None, 'b', 'b']
    """
    if item in federation.placement.at:
        return federation.placement.at[item]
    found = candidates(federation, item)
    return found[0] if len(found) == 1 else None


def candidates(federation: "Federation", item: str) -> tuple[str, ...]:
    """The brokers that an item may be on today by its topics: their homes, else publishers'."""
    topics = [federation.topics[name] for name in federation.lookup.topics[item]]
    homes = dict.fromkeys(one.contract.home for one in topics if one.contract.home is not None)
    return tuple(homes or dict.fromkeys(broker_of(p) for one in topics for p in one.publishers))


def brokers_for(federation: "Federation", item: str) -> tuple[str, ...]:
    """The brokers that an item may be on, in the file's order; none where nothing is left.

    By `placement.only` and, for topics that never leave their domain, by the domains of their
    publishers. Raises KeyError for what is no item.

    >>> from ropewalk.federation import loads
    >>> text = '''{federation: f, sites: {s: }, brokers: {a: , b: , c: {site: s}},
    ...   domains: {d: {gateways: [a, b]}}, placement: {only: {p: [b, "site:s"]}},
    ...   topics: {p: {publishers: [a]}, q: {publishers: [a], scope: domain}}}'''
    >>> brokers_for(loads(text), "p"), brokers_for(loads(text), "q")
    (('b', 'c'), ('a', 'b'))
    """
    limits = [inside_domain(federation, item), inside_only(federation, item)]
    given = [one for one in limits if one is not None]
    if not given:
        return tuple(federation.brokers)
    return tuple(sorted(frozenset.intersection(*given), key=federation.lookup.number.__getitem__))


def inside_only(federation: "Federation", item: str) -> frozenset[str] | None:
    """The brokers that `placement.only` leaves an item; None if it does not speak of it."""
    names = federation.placement.only.get(item)
    if names is None:
        return None
    sites = (name.removeprefix(SITE_MARK) for name in names if name.startswith(SITE_MARK))
    of_sites = (federation.lookup.site.get(site, frozenset()) for site in sites)
    return frozenset(federation.lookup.number.keys() & set(names)).union(*of_sites)


def inside_domain(federation: "Federation", item: str) -> frozenset[str] | None:
    """The brokers that topics of scope domain leave an item; None if it has no such topic."""
    topics = (federation.topics[name] for name in federation.lookup.topics[item])
    local = [one for one in topics if one.scope == "domain" and one.publishers]
    reached = (frozenset(_reached(federation, one)) for one in local)
    return frozenset.intersection(*reached) if local else None


def _reached(federation: "Federation", topic: "Topic") -> Iterator[str]:
    for one in topic.publishers:
        yield from federation.lookup.domain.get(broker_of(one), ())
