"""Shovels and bindings of exchanges, as definitions have them."""

from dataclasses import replace
from typing import Any

from ropewalk.export.rabbitmq_links import Link, Target, shorn, target_uris
from ropewalk.federation.readers.rabbitmq.naming import unfit
from ropewalk.federation.showing import label
from ropewalk.federation.spelling import pattern_to_amqp, to_amqp
from ropewalk.federation.topics import is_pattern

Document = dict[str, Any]
SETTINGS = ("reconnect-delay", "src-prefetch-count", "prefetch-count", "dest-add-forward-headers")


def put_shovel(document: Document, name: str, links: list[Link], told: list[str]) -> None:
    """Write a shovel anew, or remove it; how it connects stays as it was."""
    old: Document = {}
    kept = []
    for one in document["parameters"]:
        if one.get("component") == "shovel" and one.get("name") == name:
            old = one
        else:
            kept.append(one)
    document["parameters"] = kept
    if not links:
        return
    if len(links) > 1:
        told.append(f"shovel {label(name)} has {len(links)} parts: one shovel is written for each")
    for i, link in enumerate(links):
        value = _value({**document, "parameters": [*kept, old]}, link, told)
        value.update({k: v for k, v in old.get("value", {}).items() if k in SETTINGS})
        title = name if not i else f"{name}-{i + 1}"
        made = {"value": value, "vhost": old.get("vhost", link.vhost), "component": "shovel"}
        document["parameters"].append({**made, "name": title})


def _value(document: Document, link: Link, told: list[str]) -> Document:
    here = replace(link, targets=(Target("", 0, link.vhost),))
    source, dest = (here, link) if link.direction == "out" else (link, here)
    ours, theirs = link.local, link.remote
    first, second = (ours, theirs) if link.direction == "out" else (theirs, ours)
    if len(link.patterns) > 1:
        told.append(f"{link}: a shovel takes one binding key: only its first pattern is written")
    return {
        "ack-mode": "no-ack" if link.qos == 0 else "on-confirm",
        "src-delete-after": "never",
        "src-protocol": "amqp091",
        "src-uri": target_uris(document, source, told),
        **_source(first, link.patterns[0]),
        "dest-protocol": "amqp091",
        "dest-uri": target_uris(document, dest, told),
        **_dest(first, second, link.patterns[0]),
    }


def _source(prefix: str, pattern: str) -> Document:
    if prefix.startswith("queue/"):
        return {"src-queue": _queue(prefix)}
    exchange, head = shorn(prefix) or "", prefix.partition("/")[2]
    return {"src-exchange": exchange, "src-exchange-key": pattern_to_amqp(head + pattern)}


def _queue(prefix: str) -> str:
    return unfit(prefix.removeprefix("queue/").removesuffix("/"))


def _dest(first: str, second: str, pattern: str) -> Document:
    """A name that begins otherwise there is a fixed routing key, if it is one name."""
    if second.startswith("queue/"):
        return {"dest-queue": _queue(second)}
    found: Document = {"dest-exchange": shorn(second) or ""}
    head = second.partition("/")[2]
    if head != first.partition("/")[2] and not is_pattern(pattern):
        found["dest-exchange-key"] = to_amqp(head + pattern)
    elif head:
        found["dest-exchange-key"] = to_amqp(head.removesuffix("/"))
    return found


def put_binding(document: Document, link: Link, *, there: bool) -> None:
    """Add a binding from exchange to exchange, or remove it."""
    source, dest = shorn(link.local), shorn(link.remote)
    kinds = {
        one.get("name"): one.get("type")
        for one in document["exchanges"]
        if one.get("vhost", link.vhost) == link.vhost
    }
    for pattern in link.patterns:
        key = "" if kinds.get(source) == "fanout" else pattern_to_amqp(pattern)
        made = {
            "source": source,
            "vhost": link.vhost,
            "destination": dest,
            "destination_type": "exchange",
            "routing_key": key,
        }
        if there:
            document["bindings"].append({**made, "arguments": {}})
        else:
            document["bindings"] = [
                one
                for one in document["bindings"]
                if any(
                    one.get(k, link.vhost if k == "vhost" else None) != v for k, v in made.items()
                )
            ]
