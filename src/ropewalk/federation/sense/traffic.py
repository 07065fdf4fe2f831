"""Sense of the traffic: topics, scopes, items and hand-made routes."""

from collections.abc import Iterator

from ropewalk.federation.arrays import broker_of
from ropewalk.federation.facts import Federation, Route, Topic
from ropewalk.federation.names import LINK_MARK, BrokerPatterns, Failure, link_name, topic_fault
from ropewalk.federation.sense.fault import Fault, unknown
from ropewalk.federation.sense.ground import grouped
from ropewalk.federation.showing import shown
from ropewalk.federation.yaml_text import Path


def topics(federation: Federation) -> Iterator[Fault]:
    """A topic has a proper name, a publisher, and clients at known brokers, each once."""
    known, protocols = federation.brokers, federation.protocols
    for name, topic in federation.topics.items():
        path: Path = ("topics", name)
        if advice := topic_fault(name):
            yield Fault(code="F025", path=path, what="it is no topic or pattern", advice=advice)
        brought = federation.bridges and topic.subscribers  # by a bridge, under another name
        elsewhere = topic.written and topic.subscribers  # whoever publishes it has another document
        if not topic.publishers and not brought and not elsewhere:
            advice = "write publishers: [BROKER]"
            yield Fault(code="F024", path=path, what="it has no publisher", advice=advice)
        for role in ("publishers", "subscribers"):
            attached = getattr(topic, role)
            for i, one in enumerate(attached):
                if broker_of(one) not in known:
                    yield unknown("broker", broker_of(one), known, (*path, role, i), "brokers")
            if len(set(attached)) < len(attached):
                again = next(i for i, one in enumerate(attached) if one in attached[:i])
                what = f"one of its {role} is listed twice"
                yield Fault(code="F034", path=(*path, role, again), what=what, advice="keep one")
        home = topic.contract.home
        if home is not None and home not in known:
            yield unknown("broker", home, known, (*path, "contract", "home"), "brokers")
        if topic.protocol is not None and topic.protocol not in protocols:
            yield unknown("protocol", topic.protocol, protocols, (*path, "protocol"), "protocols")


def scopes(federation: Federation) -> Iterator[Fault]:
    """A topic that never leaves its domain has a publisher in every subscriber's domain."""
    # A broker outside all domains is a domain of its own, known by its own name.
    domain = {name: name for name in federation.brokers}
    for key, one in federation.domains.items():
        members = dict.fromkeys((*one.gateways, *one.edges), f"domain {key}")
        if not members.keys() <= federation.brokers.keys():
            return  # a member that is not there is told already, and may be the one that counts
        domain.update(members)
    for name, topic in federation.topics.items():
        if topic.scope == "domain":
            yield from _unfed(name, topic, domain)


def _unfed(name: str, topic: Topic, domain: dict[str, str]) -> Iterator[Fault]:
    fed = [domain.get(broker_of(one)) for one in topic.publishers]
    if not fed or None in fed:
        return  # nobody publishes, or someone at a broker that is not there: that is told already
    for i, one in enumerate(topic.subscribers):
        if domain.get(broker_of(one)) not in (None, *fed):
            broker = shown(broker_of(one))
            what = f"it never leaves its domain, and nobody publishes it where {broker} is"
            advice = "use scope: federation, or move the subscriber"
            at: Path = ("topics", name, "subscribers", i)
            yield Fault(code="F026", path=at, what=what, advice=advice)


def items(federation: Federation) -> Iterator[Fault]:
    """An item holds known topics; a topic is in one item at most."""
    holder: dict[str, str] = {}
    for item, names in federation.items.items():
        for i, name in enumerate(names):
            path: Path = ("items", item, i)
            if name not in federation.topics:
                yield unknown("topic", name, federation.topics, path, "topics")
            elif name in holder:
                what = f"topic {shown(name)} is already in item {shown(holder[name])}"
                yield Fault(code="F032", path=path, what=what, advice="keep it in one")
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
                what = f"{field}: {shown(pattern)} matches no broker's name or address"
                advice = "correct it; * stands for any part"
                yield Fault(code="F028", path=(*path, field), what=what, advice=advice)
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
        self.gaps: dict[tuple[str, str], tuple[str, str] | None] = {}

    def faults(self, route: Route, path: Path) -> Iterator[Fault]:
        straight = route.next == "*"
        to = route.to if straight else route.next
        found = len(self.patterns.match(to))
        if not found and not straight:
            yield unknown("broker", route.next, self.brokers, path, "brokers")
        elif found > 1 and not straight:
            what, advice = f"next: {shown(to)} stands for {found} brokers", "name one of them, or *"
            yield Fault(code="F029", path=path, what=what, advice=advice)
        elif gap := self.gap(route.at, to):
            what = f"next: {shown(gap[0])} has no link to {shown(gap[1])}"
            advice = "add the link, or name a neighbour"
            yield Fault(code="F029", path=path, what=what, advice=advice)

    def gap(self, at: str, to: str) -> tuple[str, str] | None:
        """A broker that `at` stands for and one that `to` stands for, without a link."""
        if (at, to) not in self.gaps:
            pairs = ((a, b) for a in self.patterns.match(at) for b in self.patterns.match(to))
            self.gaps[at, to] = next((pair for pair in pairs if not self.joined(*pair)), None)
        return self.gaps[at, to]

    def joined(self, a: str, b: str) -> bool:
        return b in self.linked[a]


class _Failures:
    """What can fail, by kind, for the check of colours."""

    def __init__(self, federation: Federation) -> None:
        named = {group for _, groups in grouped(federation) for group in groups}
        self.known = {
            "brokers": set(federation.brokers),
            "links": {link_name(*link.between) for link in federation.links},
            "groups": named | set(federation.risk_groups),
            "sites": set(federation.sites),
        }

    def faults(self, text: str, path: Path) -> Iterator[Fault]:
        advice = (
            f"write none, BROKER, BROKER{LINK_MARK}BROKER, group:NAME or site:NAME, joined by +"
        )
        try:
            failure = Failure.parse(text)
        except ValueError:
            what = f"colour {shown(text)} is no failure"
            yield Fault(code="F033", path=path, what=what, advice=advice)
            return
        for kind, known in self.known.items():
            for name in sorted(getattr(failure, kind) - known):
                what = f"colour {shown(text)}: {shown(name)} is not among the {kind}"
                section = "risk_groups" if kind == "groups" else kind
                yield Fault(code="F033", path=path, what=what, advice=advice, section=section)
