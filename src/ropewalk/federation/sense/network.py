"""Sense of the network: names, domains, brokers, links, bridges, underlay, places."""

import re
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from ropewalk.federation.facts import Federation
from ropewalk.federation.names import NAME_PATTERN, link_name, topic_fault
from ropewalk.federation.sense.fault import Fault, missing_brokers, unknown
from ropewalk.federation.yaml_text import Path

SCHEMES = {
    "nats": ("nats", "tls"),
    "mosquitto": ("mqtt", "mqtts"),
    "rabbitmq": ("amqp", "amqps"),
}
_IS_NAME = re.compile(NAME_PATTERN).match


def names(federation: Federation) -> Iterator[Fault]:
    """Names are such that files, failures and links can speak of them."""
    underlay_nodes = [("underlay", "nodes", name) for name in federation.underlay.nodes]
    sections = ("sites", "domains", "brokers", "risk_groups", "items", "protocols")
    named = [(section, name) for section in sections for name in getattr(federation, section)]
    for path in [("federation", federation.name), *named, *underlay_nodes]:
        if not _IS_NAME(path[-1]):
            message = f"{path[-1]!r} is no name: use letters, digits and _ . : @ - (not --)"
            yield Fault("F016", path, message)


def domains(federation: Federation) -> Iterator[Fault]:
    """Members exist, and each broker is in one domain, once."""
    home: dict[str, str] = {}
    for domain, members in federation.domains.items():
        for role, names in (("gateways", members.gateways), ("edges", members.edges)):
            path: Path = ("domains", domain, role)
            yield from missing_brokers(names, path, federation)
            for i, name in enumerate(names):
                if name in home:
                    message = f"broker {name!r} is already in domain {home[name]!r}: keep it in one"
                    yield Fault("F023", (*path, i), message)
                home[name] = domain


def brokers(federation: Federation) -> Iterator[Fault]:
    """A broker's site, node, take-over and address make sense."""
    nodes = federation.underlay.nodes
    for name, broker in federation.brokers.items():
        path: Path = ("brokers", name)
        if broker.site is not None and broker.site not in federation.sites:
            yield unknown("site", broker.site, federation.sites, (*path, "site"), "sites")
        if broker.node is not None and broker.node not in nodes:
            yield unknown("underlay node", broker.node, nodes, (*path, "node"), "underlay.nodes")
        if broker.url is not None:
            yield from _url(broker.url, broker.make, (*path, "url"))
        named = dict.fromkeys((*broker.takeover.publishers, *broker.takeover.subscribers))
        for other in named:
            if other == name:
                message = f"broker {name!r} cannot take over its own clients: name another broker"
                yield Fault("F031", (*path, "takeover"), message)
            elif other not in federation.brokers:
                yield unknown("broker", other, federation.brokers, (*path, "takeover"), "brokers")


def _url(url: str, make: str, path: Path) -> Iterator[Fault]:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        yield Fault("F018", path, f"not a URL ({error}): write {SCHEMES[make][0]}://HOST:PORT")
        return
    if parts.password is not None:
        message = "the URL holds a password: take it out and write credentials: env:NAME"
        yield Fault("F017", path, message)
    elif parts.scheme not in SCHEMES[make] or not host:
        schemes = " or ".join(f"{scheme}://HOST:PORT" for scheme in SCHEMES[make])
        yield Fault("F018", path, f"{url!r} is no address of a {make} broker: write {schemes}")


def links(federation: Federation) -> Iterator[Fault]:
    """A link joins two known, different brokers, once."""
    seen: dict[str, int] = {}
    for i, link in enumerate(federation.links):
        path: Path = ("links", i)
        a, b = link.between
        yield from missing_brokers(link.between, (*path, "between"), federation)
        if a == b:
            message = f"a link joins {a!r} to itself: name two brokers"
            yield Fault("F021", (*path, "between"), message)
        name = link_name(a, b)
        if name in seen:
            message = (
                f"the link {name} is written twice (the first is link {seen[name] + 1}): keep one"
            )
            yield Fault("F022", path, message)
        seen.setdefault(name, i)


def bridges(federation: Federation) -> Iterator[Fault]:
    """A bridge joins two known, different brokers, by patterns that can match."""
    for i, bridge in enumerate(federation.bridges):
        path: Path = ("bridges", i)
        for field, name in (("from", bridge.from_), ("to", bridge.to)):
            if name not in federation.brokers:
                yield unknown("broker", name, federation.brokers, (*path, field), "brokers")
        if bridge.from_ == bridge.to:
            message = f"a bridge joins {bridge.to!r} to itself: name two brokers"
            yield Fault("F021", path, message)
        for j, pattern in enumerate(bridge.patterns):
            if wrong := topic_fault(pattern):
                yield Fault("F025", (*path, "patterns", j), f"pattern {pattern!r}: {wrong}")
        for j, address in enumerate(bridge.addresses):
            if ":" not in address and address not in federation.brokers:
                path_of = (*path, "addresses", j)
                yield unknown("broker", address, federation.brokers, path_of, "brokers")


def underlay(federation: Federation) -> Iterator[Fault]:
    """Underlay links join known nodes; a link's `via` follows them."""
    nodes = federation.underlay.nodes
    joined = set()
    for i, link in enumerate(federation.underlay.links):
        for j, name in enumerate(link.between):
            if name not in nodes:
                path: Path = ("underlay", "links", i, "between", j)
                yield unknown("underlay node", name, nodes, path, "underlay.nodes")
        if link.between[0] == link.between[1]:
            message = f"an underlay link joins {link.between[0]!r} to itself: name two nodes"
            yield Fault("F021", ("underlay", "links", i), message)
        joined.add(link_name(*link.between))
    for i, routed in enumerate(federation.links):
        for j, name in enumerate(routed.via):
            if name not in nodes:
                path = ("links", i, "via", j)
                yield unknown("underlay node", name, nodes, path, "underlay.nodes")
        for a, b in zip(routed.via, routed.via[1:], strict=False):
            if a in nodes and b in nodes and link_name(a, b) not in joined:
                message = f"via goes from {a!r} to {b!r}, which no underlay link joins: add it"
                yield Fault("F030", ("links", i, "via"), message)
        yield from _via_ends(federation, i)


def _via_ends(federation: Federation, index: int) -> Iterator[Fault]:
    link = federation.links[index]
    for end, node in zip(
        link.between, (link.via[0], link.via[-1]) if link.via else (), strict=False
    ):
        broker = federation.brokers.get(end)
        if broker is not None and broker.node is not None and broker.node != node:
            message = f"via must end at {broker.node!r}, the node of broker {end!r}, not {node!r}"
            yield Fault("F030", ("links", index, "via"), message)


def positions(federation: Federation) -> Iterator[Fault]:
    """A place is given once, and all of a federation on the globe or all on a plane."""
    first: tuple[str, Path] | None = None
    sections: list[tuple[Path, Mapping[str, object]]] = [
        (("sites",), federation.sites),
        (("brokers",), federation.brokers),
        (("underlay", "nodes"), federation.underlay.nodes),
    ]
    for section, places in sections:
        for name, place in places.items():
            given = [kind for kind in ("at", "xy") if getattr(place, kind) is not None]
            path = (*section, name)
            if len(given) == 2:
                message = f"{name!r} has both at (degrees) and xy (km on a plane): keep one"
                yield Fault("F027", path, message)
            elif given and first is None:
                first = (given[0], path)
            elif given and first is not None and given[0] != first[0]:
                other = f"{first[1][-1]!r} by {first[0]}"
                message = f"{name!r} is placed by {given[0]} but {other}: use one kind throughout"
                yield Fault("F027", path, message)
                return


def risk_groups(federation: Federation) -> Iterator[Fault]:
    """Where risk groups are declared, every group that is named is declared."""
    declared = federation.risk_groups
    if not declared:
        return
    named: list[tuple[Path, tuple[str, ...]]] = [
        (("links", i), link.risk_groups) for i, link in enumerate(federation.links)
    ]
    named += [(("brokers", name), one.risk_groups) for name, one in federation.brokers.items()]
    nodes, cables = federation.underlay.nodes, federation.underlay.links
    named += [(("underlay", "nodes", name), node.risk_groups) for name, node in nodes.items()]
    named += [(("underlay", "links", i), link.risk_groups) for i, link in enumerate(cables)]
    for path, groups in named:
        for i, group in enumerate(groups):
            if group not in declared:
                at = (*path, "risk_groups", i)
                yield unknown("risk group", group, declared, at, "risk_groups")
