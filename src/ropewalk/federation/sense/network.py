"""Sense of the network: names, domains, brokers, links and bridges."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from urllib.parse import urlsplit

from ropewalk.federation.facts import Broker, Federation, Histogram
from ropewalk.federation.names import is_name, link_name, topic_fault
from ropewalk.federation.sense.fault import Fault, unknown, unknown_brokers
from ropewalk.federation.showing import shown
from ropewalk.federation.yaml_text import Path

SCHEMES = {
    "nats": ("nats", "tls", "ws", "wss"),
    "mosquitto": ("mqtt", "mqtts", "ws", "wss"),
    "rabbitmq": ("amqp", "amqps"),
}


def names(federation: Federation) -> Iterator[Fault]:
    """Names are such that files, failures and links can speak of them."""
    sections = ("sites", "domains", "brokers", "risk_groups", "items", "protocols")
    paths: list[Path] = [("federation",)]
    paths += [(section, name) for section in sections for name in getattr(federation, section)]
    paths += [("underlay", "nodes", name) for name in federation.underlay.nodes]
    for path in paths:
        name = str(path[-1]) if len(path) > 1 else federation.name
        if not is_name(name):
            yield Fault(
                code="F016", path=path, what=f"{shown(name)} is no name", advice=_GOOD_NAMES
            )


_GOOD_NAMES = "use letters, digits and _ . @ -, starting with a letter or digit, without --"


def domains(federation: Federation) -> Iterator[Fault]:
    """Members exist, and each broker is in one domain, once."""
    home: dict[str, str] = {}
    for domain, members in federation.domains.items():
        for role, names in (("gateways", members.gateways), ("edges", members.edges)):
            path: Path = ("domains", domain, role)
            yield from unknown_brokers(names, path, federation)
            for i, name in enumerate(names):
                if name in home:
                    what = f"broker {shown(name)} is already in domain {shown(home[name])}"
                    yield Fault(code="F023", path=(*path, i), what=what, advice="keep it in one")
                home[name] = domain


def brokers(federation: Federation) -> Iterator[Fault]:
    """A broker's site, node, URL, take-over and address make sense."""
    sites, nodes = federation.sites, federation.underlay.nodes
    addressed: dict[str, str] = {}
    for name, broker in federation.brokers.items():
        path: Path = ("brokers", name)
        if broker.site is not None and broker.site not in sites:
            yield unknown("site", broker.site, sites, (*path, "site"), "sites")
        if broker.node is not None and broker.node not in nodes:
            yield unknown("underlay node", broker.node, nodes, (*path, "node"), "underlay.nodes")
        if broker.url is not None:
            yield from _url(broker.url, broker.make, (*path, "url"))
        yield from _takeover(name, broker, federation)
        if broker.address is not None:
            other = addressed.setdefault(broker.address, name)
            if other != name or (broker.address in federation.brokers and broker.address != name):
                what = f"address {shown(broker.address)} is another broker's name or address"
                advice = "give it one of its own"
                yield Fault(code="F035", path=(*path, "address"), what=what, advice=advice)


def _takeover(name: str, broker: Broker, federation: Federation) -> Iterator[Fault]:
    for role in ("publishers", "subscribers"):
        for i, other in enumerate(getattr(broker.takeover, role)):
            # In the file the two roles share one list, unless they are written apart.
            path: Path = ("brokers", name, "takeover", role, i)
            if other == name:
                what = "it cannot take over its own clients"
                yield Fault(code="F031", path=path, what=what, advice="name another broker")
            elif other not in federation.brokers:
                yield unknown("broker", other, federation.brokers, path, "brokers")


def _url(url: str, make: str, path: Path) -> Iterator[Fault]:
    """A URL that names a host and nothing else; it may hold a secret, so it is never repeated."""
    forms = " or ".join(f"{scheme}://HOST:PORT" for scheme in SCHEMES[make][:2])
    if "@" in url or "=" in url:
        yield _secret_in("url", path)
        return
    try:
        parts = urlsplit(url)
        good = parts.scheme in SCHEMES[make] and bool(parts.hostname) and parts.port != 0
        good = good and not parts.query and not parts.fragment and not set(url) & set(" \t\r\n")
    except ValueError:
        good = False
    if not good:
        what = f"url is no address of a {make} broker"
        yield Fault(code="F018", path=path, what=what, advice=f"write {forms}")


def _secret_in(field: str, path: Path) -> Fault:
    what = f"{field} holds a user, token or password"
    return Fault(code="F017", path=path, what=what, advice="write credentials: env:NAME instead")


def links(federation: Federation) -> Iterator[Fault]:
    """A link joins two known, different brokers, once."""
    seen: dict[str, int] = {}
    for i, link in enumerate(federation.links):
        path: Path = ("links", i)
        a, b = link.between
        yield from unknown_brokers(link.between, (*path, "between"), federation)
        name = link_name(a, b)
        if a == b:
            what = f"it joins {shown(a)} to itself"
            yield Fault(code="F021", path=(*path, "between"), what=what, advice="name two brokers")
        elif name in seen:
            what = f"{name} is link {seen[name] + 1} already"
            yield Fault(code="F022", path=path, what=what, advice="keep one of the two")
        seen.setdefault(name, i)


def latencies(federation: Federation) -> Iterator[Fault]:
    """How latencies spread is said once, by numbers that make a distribution."""
    for i, link in enumerate(federation.links):
        path: Path = ("links", i)
        if link.histogram is not None:
            yield from histogram_faults(link.histogram, (*path, "histogram"))
            if link.jitter is not None:
                what = "jitter and histogram both say how latencies spread"
                yield Fault(code="F045", path=path, what=what, advice="keep one of them")
        elif link.jitter is not None and link.jitter.shape == "lognormal" and not link.latency_ms:
            what = "a lognormal jitter needs a mean above 0"
            advice = "write latency_ms: NUMBER beside it"
            yield Fault(code="F045", path=(*path, "jitter"), what=what, advice=advice)


def histogram_faults(given: Histogram, path: Path) -> Iterator[Fault]:
    """Bins that fit, rise and hold something."""
    edges, counts = given.edges_ms, given.counts
    if len(edges) != len(counts) + 1:
        what = f"{len(edges)} edges_ms and {len(counts)} counts do not fit"
        advice = f"write {len(counts) + 1} edges_ms, one more than there are counts"
        yield Fault(code="F045", path=path, what=what, advice=advice)
    for j, (low, high) in enumerate(pairwise(edges)):
        if low >= high:
            what = f"edges_ms[{j + 1}] is {high:g} after {low:g}"
            advice = "write them in rising order"
            yield Fault(code="F045", path=(*path, "edges_ms", j + 1), what=what, advice=advice)
    if not any(counts):
        what = "histogram has counted nothing"
        yield Fault(code="F045", path=(*path, "counts"), what=what, advice="leave it out")


def bridges(federation: Federation) -> Iterator[Fault]:
    """A bridge joins two known, different brokers, by patterns that can match."""
    for i, bridge in enumerate(federation.bridges):
        path: Path = ("bridges", i)
        for field, name in (("from", bridge.from_), ("to", bridge.to)):
            if name not in federation.brokers:
                yield unknown("broker", name, federation.brokers, (*path, field), "brokers")
        if bridge.from_ == bridge.to and bridge.kind not in ("binding", "shovel"):
            what = f"it joins {shown(bridge.to)} to itself"
            yield Fault(code="F021", path=path, what=what, advice="name two brokers")
        for j, pattern in enumerate(bridge.patterns):
            if advice := topic_fault(pattern):
                what = f"{shown(pattern)} is no pattern"
                yield Fault(code="F025", path=(*path, "patterns", j), what=what, advice=advice)
        for j, address in enumerate(bridge.addresses):
            at: Path = (*path, "addresses", j)
            if address in federation.brokers:
                continue
            if "@" in address or "=" in address:
                yield _secret_in("addresses", at)
            elif ":" not in address:
                missing = unknown("broker", address, federation.brokers, at, "brokers")
                yield replace(missing, advice="write a broker's name, or HOST:PORT")
