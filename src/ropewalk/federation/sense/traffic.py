"""Sense of the traffic: topics, scopes, items and hand-made routes."""

from collections.abc import Iterator

from ropewalk.federation.arrays import broker_of
from ropewalk.federation.facts import Federation, Topic
from ropewalk.federation.names import LINK_MARK, Failure, link_name, matching, topic_fault
from ropewalk.federation.sense.fault import Fault, unknown
from ropewalk.federation.yaml_text import Path


def topics(federation: Federation) -> Iterator[Fault]:
    """A topic has a proper name, a publisher, and clients at known brokers, each once."""
    known = federation.brokers
    for name, topic in federation.topics.items():
        path: Path = ("topics", name)
        if wrong := topic_fault(name):
            yield Fault("F025", path, f"topic {name!r}: {wrong}")
        if not topic.publishers:
            message = f"topic {name!r} has no publisher: write publishers: [BROKER]"
            yield Fault("F024", path, message)
        for role, attached in (
            ("publishers", topic.publishers),
            ("subscribers", topic.subscribers),
        ):
            for i, one in enumerate(attached):
                if broker_of(one) not in known:
                    yield unknown("broker", broker_of(one), known, (*path, role, i), "brokers")
            if len(set(attached)) < len(attached):
                message = f"topic {name!r} lists one of its {role} twice: keep one"
                yield Fault("F034", (*path, role), message)
        home = topic.contract.home
        if home is not None and home not in known:
            yield unknown("broker", home, known, (*path, "contract", "home"), "brokers")
        if topic.protocol is not None and topic.protocol not in federation.protocols:
            at = (*path, "protocol")
            yield unknown("protocol", topic.protocol, federation.protocols, at, "protocols")


def scopes(federation: Federation) -> Iterator[Fault]:
    """A topic that never leaves its domain has a publisher in every subscriber's domain."""
    domain = {
        name: key
        for key, members in federation.domains.items()
        for name in (*members.gateways, *members.edges)
    }
    for name, topic in federation.topics.items():
        if topic.scope == "domain":
            yield from _unfed(name, topic, domain)


def _unfed(name: str, topic: Topic, domain: dict[str, str]) -> Iterator[Fault]:
    # A broker outside all domains is a domain of its own, known by its own name.
    fed = {domain.get(broker_of(one), broker_of(one)) for one in topic.publishers}
    for i, one in enumerate(topic.subscribers):
        where = domain.get(broker_of(one), broker_of(one))
        if fed and where not in fed:
            message = (
                f"topic {name!r} never leaves its domain, and nobody publishes it where "
                f"{broker_of(one)!r} is: use scope: federation, or move the subscriber"
            )
            yield Fault("F026", ("topics", name, "subscribers", i), message)


def items(federation: Federation) -> Iterator[Fault]:
    """An item holds known topics; a topic is in one item at most."""
    holder: dict[str, str] = {}
    for item, names in federation.items.items():
        for i, name in enumerate(names):
            path: Path = ("items", item, i)
            if name not in federation.topics:
                yield unknown("topic", name, federation.topics, path, "topics")
            if name in holder:
                message = f"topic {name!r} is already in item {holder[name]!r}: keep it in one"
                yield Fault("F032", path, message)
            holder[name] = item


def routes(federation: Federation) -> Iterator[Fault]:
    """A hand-made route matches brokers, and its next hop is a neighbour."""
    if not federation.routes:
        return
    table = _Neighbours(federation)
    for i, route in enumerate(federation.routes):
        path: Path = ("routes", i)
        matched = {}
        for field, pattern in (("at", route.at), ("from", route.from_), ("to", route.to)):
            matched[field] = table.match(pattern)
            if not matched[field]:
                message = f"{field}: {pattern!r} matches no broker's name or address"
                yield Fault("F028", (*path, field), message)
        yield from table.bad_next(route.next, matched["at"], matched["to"], (*path, "next"))
        for j, colour in enumerate(route.colours):
            yield from _failure(colour, federation, (*path, "colours", j))


class _Neighbours:
    """Who is linked to whom, for the check of next hops; brokers go by name or address."""

    def __init__(self, federation: Federation) -> None:
        self.brokers = federation.brokers
        self.by_address = {b.address: n for n, b in federation.brokers.items() if b.address}
        self.linked: dict[str, set[str]] = {name: {name} for name in federation.brokers}
        for a, b in (link.between for link in federation.links):
            if a in self.linked and b in self.linked:
                self.linked[a].add(b)
                self.linked[b].add(a)

    def match(self, pattern: str) -> list[str]:
        if pattern in self.brokers:
            return [pattern]
        names = matching(pattern, self.brokers)
        return names or [self.by_address[a] for a in matching(pattern, self.by_address)]

    def bad_next(self, hop: str, at: list[str], to: list[str], path: Path) -> Iterator[Fault]:
        hops = to if hop == "*" else self.match(hop)
        if len(hops) != 1 and hop != "*":
            yield unknown("broker", hop, self.brokers, path, "brokers")
            return
        for broker in at:
            missing = [other for other in hops if other not in self.linked[broker]]
            if missing:
                lacks = f"{broker!r} has no link to {missing[0]!r}"
                message = f"next: {lacks}: add the link, or name a neighbour"
                yield Fault("F029", path, message)
                return


def _failure(text: str, federation: Federation, path: Path) -> Iterator[Fault]:
    failure = Failure.parse(text)
    linked = {link_name(*link.between) for link in federation.links}
    groups = {g for link in federation.links for g in link.risk_groups} | set(
        federation.risk_groups
    )
    for kind, names, known in (
        ("broker", failure.brokers, set(federation.brokers)),
        ("link", failure.links, linked),
        ("risk group", failure.groups, groups),
        ("site", failure.sites, set(federation.sites)),
    ):
        for name in sorted(names - known):
            hint = f"write BROKER, BROKER{LINK_MARK}BROKER, group:NAME, site:NAME or none"
            yield Fault(
                "F033", path, f"{text!r} names no failure, {kind} {name!r} is unknown: {hint}"
            )
