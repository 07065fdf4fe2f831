"""Sense of the traffic: topics, scopes, items and hand-made routes."""

from collections.abc import Iterator

from ropewalk.federation.arrays import broker_of
from ropewalk.federation.facts import Federation, Route, Topic
from ropewalk.federation.names import (
    LINK_MARK,
    BrokerPatterns,
    Failure,
    link_name,
    topic_fault,
)
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
    """A hand-made route matches brokers, its next hop is a neighbour, its failures exist."""
    if not federation.routes:
        return
    hops, failures = _Hops(federation), _Failures(federation)
    for i, route in enumerate(federation.routes):
        path: Path = ("routes", i)
        for field, pattern in (("at", route.at), ("from", route.from_), ("to", route.to)):
            if not hops.patterns.match(pattern):
                message = f"{field}: {pattern!r} matches no broker's name or address: correct it"
                yield Fault("F028", (*path, field), message)
        yield from hops.faults(route, (*path, "next"))
        for j, colour in enumerate(route.colours):
            yield from failures.faults(colour, (*path, "colours", j))


class _Hops:
    """Who is linked to whom, for the check of next hops."""

    def __init__(self, federation: Federation) -> None:
        self.brokers = federation.brokers
        self.patterns = BrokerPatterns({name: b.address for name, b in self.brokers.items()})
        self.linked: dict[str, set[str]] = {name: {name} for name in self.brokers}
        for a, b in (link.between for link in federation.links):
            if a in self.linked and b in self.linked:
                self.linked[a].add(b)
                self.linked[b].add(a)

    def faults(self, route: Route, path: Path) -> Iterator[Fault]:
        straight = route.next == "*"
        hops = self.patterns.match(route.to if straight else route.next)
        if len(hops) != 1 and not straight:
            yield unknown("broker", route.next, self.brokers, path, "brokers")
            return
        for broker in self.patterns.match(route.at):
            missing = next((one for one in hops if one not in self.linked[broker]), None)
            if missing is not None:
                lacks = f"{broker!r} has no link to {missing!r}"
                yield Fault("F029", path, f"next: {lacks}: add the link, or name a neighbour")
                return


class _Failures:
    """What can fail, by kind, for the check of colours."""

    def __init__(self, federation: Federation) -> None:
        groups = {group for link in federation.links for group in link.risk_groups}
        groups.update(group for one in federation.brokers.values() for group in one.risk_groups)
        self.known = {
            "brokers": set(federation.brokers),
            "links": {link_name(*link.between) for link in federation.links},
            "groups": groups | set(federation.risk_groups),
            "sites": set(federation.sites),
        }

    def faults(self, text: str, path: Path) -> Iterator[Fault]:
        failure = Failure.parse(text)
        for kind, known in self.known.items():
            for name in sorted(getattr(failure, kind) - known):
                forms = f"BROKER, BROKER{LINK_MARK}BROKER, group:NAME, site:NAME or none"
                message = f"colour {text!r}: {name!r} is not among the {kind}: write {forms}"
                yield Fault("F033", path, message)
