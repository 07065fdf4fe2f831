"""A RabbitMQ server's definitions from a federation: upstreams, policies, shovels and bindings.

With the original file only what has changed is written anew; users, queues, types of exchanges and
the user part of an address that stays the same are kept. What was written is read back, and what
does not come out as it was meant is told.
"""

import json
import re
from typing import Any

from ropewalk.export.rabbitmq_links import Link, drafted, federated, shorn, target_uris
from ropewalk.export.rabbitmq_shovels import put_binding, put_shovel
from ropewalk.federation.facts import Federation
from ropewalk.federation.readers.rabbitmq.naming import BUILT_IN
from ropewalk.federation.showing import label

Document = dict[str, Any]
SECTIONS = ("vhosts", "parameters", "policies", "queues", "exchanges", "bindings")
ACK = {0: "no-ack", 1: "on-confirm", 2: "on-confirm"}


def write_rabbitmq(
    federation: Federation, server: str, original: str | None = None
) -> tuple[str, list[str]]:
    """The definitions of a server, and what they cannot say or somebody has to add."""
    document: Document = json.loads(original) if original else {}
    for section in SECTIONS:
        document.setdefault(section, [])
    told: list[str] = []
    spaces = {
        name: one.space or "/"
        for name, one in federation.brokers.items()
        if one.make == "rabbitmq" and server in (one.server, name)
    }
    wanted = federated(federation, spaces, told)
    had = drafted(json.dumps(document), server) if original else []
    _vhosts(document, spaces)
    _federation(document, _of(had, "federation"), _of(wanted, "federation"), told)
    _shovels(document, _of(had, "shovel"), _of(wanted, "shovel"), told)
    _bindings(document, _of(had, "binding"), _of(wanted, "binding"))
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    _compare(wanted, drafted(text, server), told)
    return text, list(dict.fromkeys(told))


def _of(links: list[Link], kind: str) -> list[Link]:
    return [one for one in links if one.kind == kind]


def _compare(wanted: list[Link], found: list[Link], told: list[str]) -> None:
    """What does not come out as it was meant is told."""
    lost, extra = (set(wanted) - set(found)), (set(found) - set(wanted))
    exact = "cannot be written exactly: check it by hand"
    narrow = "is still there by a pattern or set that others need: narrow that"
    told += [f"{one} {exact}" for one in wanted if one in lost]
    told += [f"{one} {narrow}" for one in found if one in extra]


def _vhosts(document: Document, spaces: dict[str, str]) -> None:
    known = {one.get("name") for one in document["vhosts"]}
    document["vhosts"] += [{"name": one} for one in spaces.values() if one not in known]


def entry(document: Document, section: str, vhost: str, name: str, **more: str) -> Document | None:
    """An entry of a section, by virtual host and name."""
    asked = {"name": name, **more}
    for one in document[section]:
        if one.get("vhost", vhost) == vhost and all(one.get(k) == v for k, v in asked.items()):
            return one  # type: ignore[no-any-return]
    return None


def need_exchange(document: Document, vhost: str, name: str) -> None:
    """Declare an exchange that is not there; its type is topic, since no other is known."""
    if name not in BUILT_IN and entry(document, "exchanges", vhost, name) is None:
        made = {"name": name, "vhost": vhost, "type": "topic", "durable": True}
        rest = {"auto_delete": False, "internal": False, "arguments": {}}
        document["exchanges"].append({**made, **rest})


# --- federation -----------------------------------------------------------------------------


def _federation(document: Document, had: list[Link], wanted: list[Link], told: list[str]) -> None:
    """Write exchanges anew whose links have changed; the links of the others stay."""
    changed = [key for key in _exchanges([*had, *wanted]) if _at(had, key) != _at(wanted, key)]
    for key in changed:
        _exchange(document, key, _at(wanted, key), told)
    if changed:
        used = {(one.vhost, one.name) for one in wanted}
        gone = {(one.vhost, one.name) for one in had} - used
        document["parameters"] = [
            one
            for one in document["parameters"]
            if one.get("component") != "federation-upstream"
            or (one.get("vhost", "/"), one.get("name")) not in gone
        ]


def _exchanges(links: list[Link]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((one.vhost, one.local) for one in links))


def _at(links: list[Link], key: tuple[str, str]) -> list[Link]:
    return sorted((one for one in links if (one.vhost, one.local) == key), key=repr)


def _exchange(document: Document, key: tuple[str, str], links: list[Link], told: list[str]) -> None:
    vhost, exchange = key[0], shorn(key[1])
    if exchange is None:
        told.append(f"names that begin with {label(key[1])!r} are those of no exchange")
        return
    need_exchange(document, vhost, exchange)
    members = [_upstream(document, exchange, one, told) for one in links]
    definition = _policy_definition(document, vhost, exchange, members)
    _policy(document, vhost, exchange, definition, told)


def _upstream(document: Document, exchange: str, link: Link, told: list[str]) -> Document:
    """Its parameter, and how a set refers to it with what differs there."""
    value: Document = {
        "uri": target_uris(document, link, told),
        "max-hops": link.max_hops or 1,
        "ack-mode": ACK[link.qos],
    }
    theirs = shorn(link.remote)
    if theirs is None:
        told.append(f"{link}: names that begin with {label(link.remote)!r} are of no exchange")
    elif theirs != exchange:
        value["exchange"] = theirs
    found = entry(document, "parameters", link.vhost, link.name, component="federation-upstream")
    if found is None:
        made = {"value": value, "vhost": link.vhost, "component": "federation-upstream"}
        document["parameters"].append({**made, "name": link.name})
        return {"upstream": link.name}
    defaults = {"max-hops": 1, "ack-mode": "on-confirm", **found["value"]}
    differs = {k: v for k, v in value.items() if defaults.get(k) != v}
    if "exchange" in defaults and "exchange" not in value:
        differs["exchange"] = exchange
    return {"upstream": link.name, **differs}


def _policy_definition(
    document: Document, vhost: str, exchange: str, members: list[Document]
) -> Document:
    """The federation keys of a policy; several upstreams, or other settings, make a set."""
    document["parameters"] = [
        one
        for one in document["parameters"]
        if (one.get("component"), one.get("vhost"), one.get("name"))
        != ("federation-upstream-set", vhost, exchange)
    ]
    if not members:
        return {}
    if len(members) == 1 and len(members[0]) == 1:
        return {"federation-upstream": members[0]["upstream"]}
    made = {"value": members, "vhost": vhost, "component": "federation-upstream-set"}
    document["parameters"].append({**made, "name": exchange})
    return {"federation-upstream-set": exchange}


def _policy(
    document: Document, vhost: str, exchange: str, definition: Document, told: list[str]
) -> None:
    """A policy for this exchange alone that holds before all others, with what they said."""
    pattern = f"^{re.escape(exchange)}$"
    rivals = sorted(_rivals(document, vhost, exchange), key=lambda one: -one.get("priority", 0))
    held = rivals[0] if rivals else None
    kept = dict(held.get("definition", {})) if held else {}
    for key in ("federation-upstream", "federation-upstream-set", "federation-upstream-pattern"):
        kept.pop(key, None)
    if held and held.get("pattern") == pattern and held.get("apply-to") == "exchanges":
        held["definition"] = {**kept, **definition}
        if not held["definition"]:
            document["policies"].remove(held)
        return
    if not definition:
        if held:
            name = label(str(held.get("name")))
            told.append(f"policy {name} federates {label(exchange)}: change its pattern by hand")
        return
    document["policies"].append(
        {
            "vhost": vhost,
            "name": f"federate-{exchange}",
            "pattern": pattern,
            "apply-to": "exchanges",
            "definition": {**kept, **definition},
            "priority": held.get("priority", 0) + 1 if held else 0,
        }
    )


def _rivals(document: Document, vhost: str, exchange: str) -> list[Document]:
    found = []
    for one in document["policies"]:
        applies = one.get("apply-to", "all") in ("all", "exchanges")
        if applies and one.get("vhost", vhost) == vhost:
            try:
                if re.search(one.get("pattern", ""), exchange):
                    found.append(one)
            except re.error:
                continue
    return found


# --- shovels and bindings -------------------------------------------------------------------


def _shovels(document: Document, had: list[Link], wanted: list[Link], told: list[str]) -> None:
    """Shovels are compared by name: the parts of one stay or are written together."""
    for name in dict.fromkeys(one.name for one in [*had, *wanted]):
        before = sorted((one for one in had if one.name == name), key=repr)
        after = sorted((one for one in wanted if one.name == name), key=repr)
        if before != after:
            put_shovel(document, name, after, told)
            for one in after:
                for vhost, prefix in one.exchanges:
                    exchange = shorn(prefix)
                    if exchange and not prefix.startswith("queue/"):
                        need_exchange(document, vhost, exchange)


def _bindings(document: Document, had: list[Link], wanted: list[Link]) -> None:
    for one in had:
        if one not in wanted:
            put_binding(document, one, there=False)
    for one in wanted:
        if one not in had:
            for vhost, prefix in one.exchanges:
                exchange = shorn(prefix)
                if exchange:
                    need_exchange(document, vhost, exchange)
            put_binding(document, one, there=True)
