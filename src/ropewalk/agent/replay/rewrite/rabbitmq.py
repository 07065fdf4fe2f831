"""RabbitMQ's definitions for the lab: one user who may do everything, addresses of the lab."""

import base64
import hashlib
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from ropewalk.agent.lab.ports import HOST
from ropewalk.agent.replay.cast import Actor, Link, Script
from ropewalk.agent.replay.doors import Doors, files_of
from ropewalk.agent.replay.rewrite.notes import Notes
from ropewalk.errors import LabError

USER = "guest"
DEFAULT_VHOST = "/"
PORTS = {"amqp": 5672, "amqps": 5671}
URIS = ("uri", "src-uri", "dest-uri")
PLUGINS = (
    "rabbitmq_management",
    "rabbitmq_federation",
    "rabbitmq_federation_management",
    "rabbitmq_shovel",
    "rabbitmq_shovel_management",
)
AMQP_1_0 = "rabbitmq_amqp1_0"
MQTT = "rabbitmq_mqtt"
_KEPT = frozenset(
    ("vhosts", "parameters", "global_parameters", "policies", "queues", "exchanges", "bindings")
)
_LABELS = frozenset(
    (
        *("rabbit_version", "rabbitmq_version", "product_name", "product_version"),
        *("rabbitmq_definition_format", "original_cluster_name", "explanation", "metadata"),
    )
)
_OWN = "federation: "
"""What begins the names of exchanges and queues that federation itself has made."""
_PLAIN = frozenset(("topic", "fanout", "direct", "headers"))
_DELAYED = "x-delayed-message"
_LOGINS = "in the lab everybody is one user who may do everything"


def rewrite_rabbitmq(actor: Actor, doors: Doors) -> Script:
    """A RabbitMQ server's definitions as the lab loads them; LabError if they are no JSON map."""
    try:
        given = json.loads(actor.text)
    except ValueError as error:
        raise LabError(f"{actor.name}: {actor.file} is no JSON: {error}") from None
    if not isinstance(given, dict):
        raise LabError(f"{actor.name}: {actor.file} is no JSON map: export the definitions again")
    writer = _Writer(actor, doors)
    made = writer.definitions(given)
    return Script(
        text=json.dumps(made, indent=1),
        left_out=writer.notes.told(),
        links=tuple(writer.links),
        exchanges=exchanges_of(made),
    )


def plugins_for(text: str, *, mqtt: bool = False) -> str:
    """The file of enabled plug-ins that definitions need, and bridges of Mosquitto."""
    wanted = (*PLUGINS, AMQP_1_0) if "amqp10" in text else PLUGINS
    wanted = (*wanted, MQTT) if mqtt else wanted
    return f"[{','.join(wanted)}].\n"


def of_mqtt(port: int) -> dict[str, str]:
    """Settings of the plug-in for MQTT: everybody is the lab's user."""
    return {
        "listeners.tcp.1": f"{HOST}:{port}",
        "allow_anonymous": "true",
        "default_user": USER,
        "default_pass": USER,
    }


def exchanges_of(definitions: dict[str, Any]) -> dict[str, dict[str, str]]:
    """The types of the exchanges that definitions have, by virtual host."""
    found: dict[str, dict[str, str]] = {}
    for one in _maps(definitions, "exchanges"):
        if not one.get("internal"):
            vhost = str(one.get("vhost", DEFAULT_VHOST))
            found.setdefault(vhost, {})[str(one.get("name", ""))] = str(one.get("type", "direct"))
    return found


class _Writer:
    def __init__(self, actor: Actor, doors: Doors) -> None:
        self.actor, self.doors = actor, doors
        self.notes = Notes(actor.name)
        self.links: list[Link] = []

    def definitions(self, given: dict[str, Any]) -> dict[str, Any]:
        made = {key: self._placed(given, key) for key in given if key in _KEPT}
        given = {**given, **made}
        for key in sorted(given.keys() - _KEPT - _LABELS):
            login = key in ("users", "permissions", "topic_permissions")
            self.notes.add(key, _LOGINS if login else "the lab does not know it")
        made["vhosts"] = list(self._vhosts(given))
        names = [one["name"] for one in made["vhosts"]]
        made |= {"users": [_user()], "permissions": [_rights(one) for one in names]}
        for key in ("exchanges", "queues", "bindings"):
            made[key] = [one for one in _maps(given, key) if not self._is_own(one)]
        made["exchanges"] = [self._exchange(one) for one in made["exchanges"]]
        made["exchanges"] += [_topic(*one) for one in self.actor.assumed]
        made["parameters"] = list(self._parameters(given))
        self._federations(made)
        return made

    def _placed(self, given: dict[str, Any], key: str) -> list[dict[str, Any]]:
        """Entries with their virtual host: the export of a single one does not write it."""
        if key in ("vhosts", "global_parameters"):
            return _maps(given, key)
        spaces = [one or DEFAULT_VHOST for one in self.actor.spaces.values()]
        home = spaces[0] if len(spaces) == 1 else DEFAULT_VHOST
        return [{"vhost": home, **one} for one in _maps(given, key)]

    def _vhosts(self, given: dict[str, Any]) -> Iterator[dict[str, str]]:
        """Those that are named anywhere: a virtual host's own export does not list itself."""
        listed = [str(one.get("name")) for one in _maps(given, "vhosts") if one.get("name")]
        used = [
            str(one["vhost"])
            for key in ("exchanges", "queues", "bindings", "policies", "parameters")
            for one in _maps(given, key)
            if "vhost" in one
        ]
        spaces = [one or DEFAULT_VHOST for one in self.actor.spaces.values()]
        for name in dict.fromkeys((DEFAULT_VHOST, *listed, *used, *spaces)):
            yield {"name": name}

    def _is_own(self, one: dict[str, Any]) -> bool:
        names = (str(one.get(key, "")) for key in ("name", "source", "destination"))
        own = any(name.startswith(_OWN) for name in names)
        if own:
            self.notes.add("exchanges, queues and bindings 'federation: ...'", "it is made anew")
        return own

    def _exchange(self, one: dict[str, Any]) -> dict[str, Any]:
        if one.get("type") != _DELAYED:
            return one
        arguments = dict(one.get("arguments") or {})
        kind = arguments.pop("x-delayed-type", "direct")
        self.notes.add(f"exchange {one.get('name')!r}", f"it is a plain {kind} one, without delay")
        return {**one, "type": kind, "arguments": arguments}

    def _parameters(self, given: dict[str, Any]) -> Iterator[dict[str, Any]]:
        for one in _maps(given, "parameters"):
            kind, value = str(one.get("component", "")), one.get("value")
            if kind == "federation-upstream-set":
                yield one
            elif kind in ("federation-upstream", "shovel") and isinstance(value, dict):
                yield {**one, "value": self._value(str(one.get("name")), kind, value)}
            else:
                self.notes.add(f"parameters of {kind}", "the lab does not have it")

    def _value(self, name: str, kind: str, value: dict[str, Any]) -> dict[str, Any]:
        made = dict(value)
        ends: dict[str, list[tuple[str, int]]] = {}
        for key in URIS:
            if key in value:
                uris = value[key] if isinstance(value[key], list) else [value[key]]
                doors = [self._uri(str(one)) for one in uris]
                made[key] = [uri for uri, _, _ in doors]
                ends[key] = [(server, port) for _, server, port in doors if server is not None]
        if all(ends.values()):
            self._shovel(name, ends) if kind == "shovel" else self._upstream(name, ends)
        return made

    def _upstream(self, name: str, ends: dict[str, list[tuple[str, int]]]) -> None:
        self._link(name, "upstream", [one for end in ends.values() for one in end])

    def _shovel(self, name: str, ends: dict[str, list[tuple[str, int]]]) -> None:
        """It runs when both its ends are there; the one that is not its own server counts."""
        away = [one for end in ends.values() for one in end if one[0] != self.actor.name]
        self._link(name, "shovel", away or [one for end in ends.values() for one in end])

    def _link(self, name: str, kind: str, to: list[tuple[str, int]]) -> None:
        servers, ports = tuple(one for one, _ in to), tuple(port for _, port in to)
        self.links.append(
            Link(server=self.actor.name, name=name, kind=kind, to=servers, ports=ports)
        )

    def _uri(self, uri: str) -> tuple[str, str | None, int]:
        """An address of the lab with the virtual host as written, and who is there."""
        try:
            parts = urlsplit(uri)
            host, port = parts.hostname or "", parts.port or PORTS.get(parts.scheme, 5672)
        except ValueError:
            self.notes.add("an address", "it cannot be read, so that it leads nowhere")
            return f"amqp://{USER}:{USER}@{HOST}:{self.doors.closed}", None, self.doors.closed
        if not host and parts.scheme in PORTS:  # this server itself, without a connection
            server: str | None = self.actor.name
            port = self.doors.ports[self.actor.name]["client"]
            return f"amqp://{parts.path}", server, port
        if parts.username or parts.query or parts.scheme == "amqps":
            self.notes.add("logins, TLS and options of addresses", _LOGINS)
        server, door = self.doors.door(files_of(self.actor), host, port, "client")
        if server is None:
            self.notes.add(f"address {host}:{port}", "no server of the replay is known by it")
        return f"amqp://{USER}:{USER}@{HOST}:{door}{parts.path}", server, door

    def _federations(self, made: dict[str, Any]) -> None:
        """Keep only links to upstreams that a policy uses: others are not begun."""
        policies = [one.get("definition") for one in _maps(made, "policies")]
        used = [one for one in policies if isinstance(one, dict)]
        names = {str(one["federation-upstream"]) for one in used if "federation-upstream" in one}
        sets = {
            str(one["federation-upstream-set"]) for one in used if "federation-upstream-set" in one
        }
        for one in _maps(made, "parameters"):
            if one.get("component") == "federation-upstream-set" and one.get("name") in sets:
                names |= {str(each.get("upstream")) for each in one.get("value") or []}
        everything = "all" in sets or any("federation-upstream-pattern" in one for one in used)
        self.links = [
            one for one in self.links if one.kind == "shovel" or everything or one.name in names
        ]


def _maps(given: dict[str, Any], key: str) -> list[dict[str, Any]]:
    found = given.get(key)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _user() -> dict[str, str]:
    """The lab's user, with a password that is no secret: it listens on the loopback alone."""
    salt = b"lab0"
    made = salt + hashlib.sha256(salt + USER.encode()).digest()
    return {
        "name": USER,
        "password_hash": base64.b64encode(made).decode(),
        "hashing_algorithm": "rabbit_password_hashing_sha256",
        "tags": "administrator",
    }


def _topic(vhost: str, name: str) -> dict[str, Any]:
    """An exchange as clients would declare it."""
    kind = {"name": name, "vhost": vhost, "type": "topic", "durable": True}
    return {**kind, "auto_delete": False, "internal": False, "arguments": {}}


def _rights(vhost: str) -> dict[str, str]:
    return {"user": USER, "vhost": vhost, "configure": ".*", "write": ".*", "read": ".*"}
