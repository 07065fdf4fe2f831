"""Servers of a document: which brokers they are, where, and what their topics are spelled like."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import unquote

from ropewalk.federation.facts import Make
from ropewalk.federation.readers.asyncapi.left_out import ANY, LeftOut, text, texts
from ropewalk.federation.readers.asyncapi.references import References
from ropewalk.federation.readers.asyncapi.templates import filled, holes, too_many
from ropewalk.federation.readers.drafts import Address, Drafts
from ropewalk.federation.readers.view import View
from ropewalk.federation.showing import label, may_hold_secret, shown
from ropewalk.findings import Where

Style = Literal["mqtt", "amqp", "amqp1", "nats"]


@dataclass(frozen=True, slots=True)
class Protocol:
    """What speaks it, and at which port where none is written."""

    style: Style
    make: Make
    """The make that is at home in it: others may listen for it as well."""
    port: int
    secure: bool = False


PROTOCOLS: dict[str, Protocol] = {
    "mqtt": Protocol("mqtt", "mosquitto", 1883),
    "mqtt5": Protocol("mqtt", "mosquitto", 1883),
    "mqtts": Protocol("mqtt", "mosquitto", 8883, True),
    "secure-mqtt": Protocol("mqtt", "mosquitto", 8883, True),
    "amqp": Protocol("amqp", "rabbitmq", 5672),
    "amqps": Protocol("amqp", "rabbitmq", 5671, True),
    "amqp1": Protocol("amqp1", "rabbitmq", 5672),
    "nats": Protocol("nats", "nats", 4222),
    "rabbitmq": Protocol("amqp", "rabbitmq", 5672),
}
SECURE_PORTS = {one.make: one.port for one in PROTOCOLS.values() if one.secure}
TLS = ("wss", "ssl", "tls")
"""Schemes of addresses that speak of the transport alone."""
HINTS = {
    "url": "it is version 2's: write host",
    "host": "it is version 3's: write url",
    "port": "write it behind the host's name, as HOST:PORT",
    "scheme": "write protocol",
}
MOST = 8
"""An address with variables becomes at most this many."""
WEB = {"ws": 80, "wss": 443}
"""WebSockets that carry a protocol, and their ports."""

_PARTS = re.compile(
    r"(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://)?(?:(?P<user>[^/?#]*)@)?"
    r"(?P<host>\[[0-9A-Fa-f:.%]+\]|[^:/?#@\[\]]*)(?::(?P<port>[^/?#@]*))?"
    r"(?P<path>/[^?#]*)?(?P<more>[?#].*)?",
    re.DOTALL,
)
_FILLED_IN = re.compile(r"\$\{|\{\{")
"""What a template or an environment fills in, not the document's variables."""
_HOST = re.compile(r"[\w.-]+|[0-9A-Fa-f:.%]+")


@dataclass(frozen=True, slots=True)
class Server:
    """A server as a document describes it; without a protocol it is no broker that is known."""

    protocol: Protocol | None = None
    addresses: tuple[Address, ...] = ()
    will: tuple[str, Where] | None = None
    """What the broker publishes for the application when that is lost."""

    @property
    def style(self) -> Style | None:
        """How names of topics are written there; None if it is left out."""
        return self.protocol.style if self.protocol and self.addresses else None


class Servers:
    """Servers read, each once, by the place where it is described."""

    def __init__(self, references: References, left: LeftOut, drafts: Drafts, version: int) -> None:
        self._references, self._left, self._drafts = references, left, drafts
        self._key = "host" if version > 2 else "url"
        self._known: dict[tuple[str, tuple[str | int, ...]], Server] = {}

    def read(self, name: str, view: View) -> Server:
        """The server that stands there; what is not understood is told."""
        place = (view.file, view.path)
        if place not in self._known:
            self._known[place] = self._read(name, view)
        return self._known[place]

    def _read(self, name: str, view: View) -> Server:
        read = (self._key, "pathname", "protocol", "variables", "bindings")
        self._left.rest(view, read, (*ANY, "protocolVersion", "security"), HINTS)
        mqtt = self._mqtt(view)
        known = (("mqtt", "lastWill"), ("mqtt", "lastWill.topic"))
        self._left.bindings(view, self._references, known)
        protocol = self._protocol(name, view)
        variables = self._variables(view)
        if protocol is None:
            return Server()
        addresses: list[Address] = []
        for written in self._written(view, variables):
            one = self._address(written, protocol, name, view)
            if one is None:  # what is wrong with it is mostly wrong with every value of a variable
                break
            addresses.append(one)
        return Server(protocol, self._brokers(addresses), mqtt)

    def _brokers(self, addresses: list[Address]) -> tuple[Address, ...]:
        """One address for each host: its ports, as with and without TLS, are one broker's."""
        found: dict[tuple[str, str], Address] = {}
        for one in addresses:
            first = found.setdefault((one.host.lower(), one.space), one)
            if first != one:
                why = f"taken for one broker with that at {first.port}"
                self._drafts.aside(one.where, f"port {one.port} of {one.host}", why)
        return tuple(found.values())

    def _protocol(self, name: str, view: View) -> Protocol | None:
        written = text(view, "protocol", self._drafts)
        if written is None:
            if not view.has("protocol"):
                what = f"server {label(name)} has no protocol: write mqtt, amqp or nats"
                self._drafts.fault(view.where, "C005", what)
            return None
        found = PROTOCOLS.get(written.strip().lstrip(":").lower())  # also a Ruby symbol
        if found is None:
            why = f"server {label(name)} is left out: only MQTT, AMQP and NATS are known here"
            self._drafts.aside(view.place("protocol"), f"protocol {shown(written)}", why)
        elif found.style == "amqp" and str(view.value.get("protocolVersion", "")).startswith("1"):
            return PROTOCOLS["amqp1"]
        return found

    def _mqtt(self, view: View) -> tuple[str, Where] | None:
        bindings = self._references.at(view, "bindings")
        will = self._references.at(self._references.at(bindings, "mqtt"), "lastWill")
        topic = text(will, "topic", self._drafts) if will is not None else None
        return None if will is None or not topic else (topic, will.place("topic"))

    def _variables(self, view: View) -> dict[str, tuple[str, ...]]:
        """What each variable may be: its default first, then its other values."""
        section = self._references.at(view, "variables")
        found: dict[str, tuple[str, ...]] = {}
        for name, _, one in self._references.entries(section):
            default = text(one, "default", self._drafts)
            values = texts(one, "enum", self._drafts)
            self._left.rest(one, ("default", "enum"), (*ANY, "examples"))
            first = () if default is None else (default,)
            found[name] = tuple(dict.fromkeys((*first, *values)))
        return found

    def _written(self, view: View, variables: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
        """The address with its variables filled in, user and password left out before."""
        address = text(view, self._key, self._drafts)
        if address is None:
            if not view.has(self._key):
                example = "HOST or HOST:PORT" if self._key == "host" else "PROTOCOL://HOST:PORT"
                what = f"a server without {self._key}: write {self._key}: {example}"
                self._drafts.fault(view.where, "C005", what)
            return ()
        path = text(view, "pathname", self._drafts) if self._key == "host" else None
        bare = self._without_user(address.strip(), view)
        template = bare if path is None else f"{bare}/{path.removeprefix('/')}"
        for name in variables:
            if name not in holes(f"{address}{path}"):
                why = f"the address has no {{{label(name)}}} in it"
                self._drafts.aside(view.place("variables", name), f"variable {label(name)}", why)
        if found := _FILLED_IN.search(template):
            why = "something else fills it in: write the address that it stands for"
            what = f"{found[0]}...{'}' * found[0].count('{')} in {self._key}"
            self._drafts.aside(view.place(self._key), what, why)
            return ()
        if unknown := [one for one in holes(template) if not variables.get(one)]:
            what = f"{{{label(unknown[0])}}} of {self._key}"
            why = f"no value for it: give variables.{label(unknown[0])} a default"
            self._drafts.aside(view.place(self._key), what, why)
            return ()
        while many := too_many(template, variables, MOST):
            why = "only its default, or its first value, is read: there are too many of them"
            self._drafts.aside(view.place("variables", many), f"values of {label(many)}", why)
            variables = {**variables, many: variables[many][:1]}
        return filled(template, variables)

    def _without_user(self, address: str, view: View) -> str:
        scheme, mark, rest = address.rpartition("://")
        user, at, host = rest.rpartition("@")
        if at and "/" not in user:
            what = "user and password of an address"
            self._drafts.aside(view.place(self._key), what, "they do not say which broker it is")
        else:
            host = rest
        return scheme + mark + host

    def _address(self, written: str, protocol: Protocol, name: str, view: View) -> Address | None:
        where = view.place(self._key)
        first, comma, _ = written.partition(",")
        if comma:
            why = "a client is at one of them at a time: only the first is read"
            self._drafts.aside(where, "further hosts of an address", why)
        parts = _PARTS.fullmatch(first)
        host = parts["host"].strip("[]") if parts else ""
        if parts is None or not host or not _HOST.fullmatch(host) or may_hold_secret(host):
            wanted = "HOST or HOST:PORT" if self._key == "host" else "PROTOCOL://HOST:PORT"
            # What may hold a password is not shown.
            text = self._key if "@" in first else f"{self._key} {shown(first)}"
            what = f"{text} has no host that can be read: write {wanted}"
            self._drafts.fault(where, "C005", what)
            return None
        self._tell_more(parts, where)
        scheme = (parts["scheme"] or "").lower()
        secure = _is_secure(scheme, protocol)
        usual = SECURE_PORTS.get(protocol.make, protocol.port) if secure else protocol.port
        port = self._port(parts["port"], WEB.get(scheme, usual), where, hidden="@" in first)
        if port is None:
            return None
        return Address(
            host=host,
            port=port,
            where=where,
            make=protocol.make,
            space=self._space(parts["path"] or "", protocol, view),
            secure=secure or port == SECURE_PORTS.get(protocol.make),
            server=name,
            web=_is_web(scheme, parts["path"] or "", protocol),
        )

    def _tell_more(self, parts: "re.Match[str]", where: Where) -> None:
        if parts["scheme"] and self._key == "host":
            what = "host has a protocol in it: write it without, and the protocol in `protocol`"
            self._drafts.warn(where, "C020", what)
        if parts["more"]:
            why = "it does not say which broker it is"
            self._drafts.aside(where, "the query of an address", why)

    def _port(self, written: str | None, usual: int, where: Where, *, hidden: bool) -> int | None:
        """The port; with an @ after it, it may be the first part of a password."""
        if not written:
            return usual
        good = written.isascii() and written.isdecimal() and len(written) < 6
        port = int(written) if good else 0
        if not 0 < port < 65536:
            text = f"{self._key} has no port" if hidden else f"{shown(written)} is no port"
            what = f"{text}: write a number from 1 to 65535"
            what += ", and %2F for a / in a password" if hidden else ""
            self._drafts.fault(where, "C005", what)
            return None
        return port

    def _space(self, path: str, protocol: Protocol, view: View) -> str:
        """RabbitMQ's virtual host; `/` and none are its default one."""
        space = unquote(path.removeprefix("/"))
        if protocol.make == "rabbitmq":
            return "" if space == "/" else space
        if space:
            key = "pathname" if view.has("pathname") else self._key
            why = "it does not say which broker it is"
            self._drafts.aside(view.place(key), "the path of an address", why)
        return ""


def _is_secure(scheme: str, protocol: Protocol) -> bool:
    """Whether an address is one for TLS, by its protocol or its own scheme."""
    known = PROTOCOLS.get(scheme)
    own = known is not None and known.make == protocol.make and known.secure
    return protocol.secure or own or scheme in TLS


def _is_web(scheme: str, path: str, protocol: Protocol) -> bool:
    """Whether an address is for WebSockets: MQTT itself has no paths."""
    return scheme in WEB or (not scheme and protocol.style == "mqtt" and bool(path.strip("/")))
