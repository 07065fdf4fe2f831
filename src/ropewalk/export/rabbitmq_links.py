"""Links of a RabbitMQ server in one form, whether a federation or definitions have them."""

from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, urlsplit

from ropewalk.federation.bridges import Bridge
from ropewalk.federation.facts import Federation
from ropewalk.federation.readers.drafts import BridgeDraft, Drafts
from ropewalk.federation.readers.json_text import parse_json
from ropewalk.federation.readers.rabbitmq import read_rabbitmq
from ropewalk.federation.readers.rabbitmq.naming import MQTT, unfit
from ropewalk.federation.readers.rabbitmq.uris import BadUri, read_uri
from ropewalk.federation.showing import label

KINDS = ("federation", "shovel", "binding")
PORT, TLS_PORT = 5672, 5671


@dataclass(frozen=True, slots=True)
class Target:
    """Where a link goes; no host: a virtual host of the server itself."""

    host: str
    port: int
    vhost: str
    secure: bool = False

    def uri(self) -> str:
        """Its address, without user and password."""
        vhost = quote(self.vhost, safe="")
        if not self.host:
            return f"amqp:///{vhost}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'amqps' if self.secure else 'amqp'}://{host}:{self.port}/{vhost}"


@dataclass(frozen=True, slots=True)
class Link:
    """A federated exchange's link, a part of a shovel, or a binding of exchanges."""

    kind: str
    vhost: str
    name: str
    direction: str
    local: str
    remote: str
    patterns: tuple[str, ...]
    max_hops: int | None
    qos: int
    targets: tuple[Target, ...]

    def __str__(self) -> str:
        return f"{self.kind} {label(self.name)} of virtual host {label(self.vhost)}"

    @property
    def exchanges(self) -> list[tuple[str, str]]:
        """Virtual hosts of the server and the prefixes of exchanges there."""
        found = [(self.vhost, self.local)]
        return found + [(one.vhost, self.remote) for one in self.targets if not one.host]


def shorn(prefix: str) -> str | None:
    """The exchange whose topics begin so; None if that is none.

    >>> shorn("orders/"), shorn(""), shorn("orders"), shorn("Shop%2BPaid/")
    ('orders', 'amq.topic', None, 'Shop+Paid')
    """
    if not prefix:
        return MQTT
    return unfit(prefix[:-1].split("/")[0]) or None if prefix.endswith("/") else None


# --- from definitions -----------------------------------------------------------------------


def drafted(text: str, server: str) -> list[Link]:
    """The links that an export of definitions makes."""
    drafts = Drafts()
    read_rabbitmq(parse_json(text), server, server, drafts)
    spaces = {one.name: one.space or "/" for one in drafts.brokers}
    return [_from_draft(one, spaces) for one in drafts.bridges]


def _from_draft(one: BridgeDraft, spaces: dict[str, str]) -> Link:
    if isinstance(one.far, str):
        targets = [Target("", 0, spaces[one.far])]
    else:
        targets = [Target(a.host, a.port, a.space or "/", a.secure) for a in one.far]
    return Link(
        one.kind,
        spaces[one.at],
        one.name,
        one.direction,
        one.local,
        one.remote,
        one.patterns,
        one.max_hops,
        one.qos,
        tuple(targets),
    )


# --- from a federation ----------------------------------------------------------------------


def federated(federation: Federation, spaces: dict[str, str], told: list[str]) -> list[Link]:
    """The links that a federation wants of a server; what cannot be is told."""
    return [
        part
        for one in federation.bridges
        if one.from_ in spaces and _can_be(one, federation, told)
        for part in _parts(_from_bridge(one, federation, spaces, told))
    ]


def _can_be(bridge: Bridge, federation: Federation, told: list[str]) -> bool:
    what = f"the {bridge.kind} from {label(bridge.from_)} to {label(bridge.to)}"
    to = federation.brokers.get(bridge.to)
    if bridge.kind not in KINDS:
        told.append(f"{what}: RabbitMQ has none of this kind: make it a federation or a shovel")
        return False
    if to is not None and to.make != "rabbitmq":
        told.append(f"{what}: RabbitMQ's links reach RabbitMQ alone: put a bridge at the other end")
        return False
    if bridge.kind == "federation" and bridge.direction != "in":
        told.append(f"{what}: an exchange only fetches: write it at the other end, direction in")
        return False
    if bridge.direction == "both":
        told.append(f"{what}: a shovel goes one way: make two of it")
        return False
    if bridge.except_ and bridge.prefixes.local and bridge.prefixes.remote:
        told.append(f"{what}: what it excepts cannot be written: it carries that as well")
    if bridge.kind == "federation" and bridge.patterns != ("#",):
        told.append(f"{what}: it carries what is bound for at its own end, not fixed patterns")
    if bridge.kind == "federation" and bridge.max_hops is None:
        hops = len(federation.brokers)
        told.append(f"{what}: RabbitMQ wants a limit: max-hops is {hops}, the number of brokers")
    return True


def _parts(link: Link) -> list[Link]:
    """Bindings have one key each, no name, and lose nothing on the way."""
    if link.kind != "binding":
        return [link]
    name = f"{shorn(link.local)} to {shorn(link.remote)}"
    return [replace(link, name=name, qos=1, patterns=(one,)) for one in link.patterns]


def _from_bridge(
    bridge: Bridge, federation: Federation, spaces: dict[str, str], told: list[str]
) -> Link:
    hops = bridge.max_hops or len(federation.brokers)
    return Link(
        bridge.kind,
        spaces[bridge.from_],
        bridge.name or bridge.to,
        bridge.direction,
        bridge.prefixes.local,
        bridge.prefixes.remote,
        ("#",) if bridge.kind == "federation" else bridge.patterns,
        hops if bridge.kind == "federation" else None,
        min(bridge.qos, 1),
        tuple(_targets(bridge, federation, spaces, told)),
    )


def _targets(
    bridge: Bridge, federation: Federation, spaces: dict[str, str], told: list[str]
) -> list[Target]:
    if bridge.to in spaces:
        return [Target("", 0, spaces[bridge.to])]
    first = federation.brokers.get(bridge.to)
    vhost = first.space or "/" if first else "/"
    found = []
    for i, name in enumerate((bridge.to, *bridge.addresses)):
        broker = federation.brokers.get(name)
        space = broker.space or "/" if broker else vhost
        url = broker.url if broker and broker.url else ""
        place = bridge.reached_at[i] if i < len(bridge.reached_at) else ""
        if not place and not url and broker:
            told.append(f"{label(name)} has no url: its name is taken for its host")
        found.append(_target(place or url or name, space, url.startswith("amqps:")))
    return list(dict.fromkeys(found))


def _target(text: str, vhost: str, secure: bool) -> Target:
    """HOST:PORT, or an address, as a target."""
    parts = urlsplit(text if "://" in text else f"//{text}")
    try:
        port = parts.port
    except ValueError:
        port = None
    secure = secure or port == TLS_PORT
    return Target(parts.hostname or "", port or (TLS_PORT if secure else PORT), vhost, secure)


# --- addresses ------------------------------------------------------------------------------


def target_uris(document: dict[str, Any], link: Link, told: list[str]) -> str | list[str]:
    """Addresses as definitions have them; one that stands there already keeps its user part."""
    written = _written(document)
    found = []
    for one in link.targets:
        uri = one.uri()
        known = written.get((one.host.lower(), one.port, one.vhost))
        if known is None and one.host:
            told.append(f"{link}: add user and password to {uri}")
        found.append(known if known and one.host else uri)
    return found[0] if len(found) == 1 else found


def _written(document: dict[str, Any]) -> dict[tuple[str, int, str], str]:
    """Every address of the parameters by its host, port and virtual host."""
    found: dict[tuple[str, int, str], str] = {}
    for one in document["parameters"]:
        value, ours = one.get("value"), str(one.get("vhost", "/"))
        for member in value if isinstance(value, list) else [value]:
            for key in ("uri", "src-uri", "dest-uri"):
                for text in _texts(member, key):
                    uri = read_uri(text)
                    if not isinstance(uri, BadUri):
                        vhost = uri.vhost or (ours if key == "uri" else "/")
                        found.setdefault((uri.host.lower(), uri.port, vhost), text)
    return found


def _texts(member: Any, key: str) -> list[str]:
    value = member.get(key) if isinstance(member, dict) else None
    return [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str)]
