"""An export of definitions: its virtual hosts and what is in them, federation, and shovels."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ropewalk.federation.readers.drafts import BridgeDraft, Drafts
from ropewalk.federation.readers.rabbitmq.contents import (
    DEFAULT,
    Binding,
    Cluster,
    Exchange,
    Space,
)
from ropewalk.federation.readers.rabbitmq.federated import federate
from ropewalk.federation.readers.rabbitmq.leftovers import group, names, tell_sections
from ropewalk.federation.readers.rabbitmq.naming import (
    BUILT_IN,
    LINKS,
    VARIABLE,
    exchange_prefix,
    safe,
)
from ropewalk.federation.readers.rabbitmq.policies import read_policies, tell_idle
from ropewalk.federation.readers.rabbitmq.shovels import Shovel, mark, read_shovel, shovel
from ropewalk.federation.readers.rabbitmq.stand_ins import stand_in
from ropewalk.federation.readers.rabbitmq.upstreams import Upstreams
from ropewalk.federation.readers.view import View
from ropewalk.federation.showing import label
from ropewalk.federation.yaml_text import Parsed
from ropewalk.findings import Where


def read_rabbitmq(
    parsed: Parsed,
    file: str,
    host: str,
    drafts: Drafts,
    *,
    partial: bool = False,
    unread: bool = False,
    aliases: Iterable[str] = (),
) -> tuple[tuple[str, str], ...]:
    """Read an export of definitions, of a whole cluster or of one virtual host.

    If it is `partial`, as scripts are, clients declare more; if something is `unread`, there is
    more that uses what is here; `aliases` are names of its machines.
    The exchanges that stand for those of clients are given back, by virtual host and name.
    """
    if not is_map(parsed, file, drafts):
        return ()
    document = View(parsed, file, drafts)
    cluster = Cluster(file, host, drafts)
    vhost = only_vhost(document)
    tell_sections(document, drafts)
    _global(document, cluster)
    cluster.aliases = tuple(dict.fromkeys((*cluster.aliases, *aliases)))
    _vhosts(document, cluster, vhost)
    _exchanges(document, cluster, vhost)
    _queues(document, cluster, vhost)
    _bindings(document, cluster, vhost)
    upstreams = Upstreams(cluster, unread=unread)
    shovels = _parameters(document, cluster, vhost, upstreams)
    policies = read_policies(document, vhost, cluster)
    for one in policies:
        cluster.space(one.vhost, one.where)
    if not partial:
        _tell_unlisted(document, cluster, vhost)
    partial = partial or "exchanges" not in document.value
    assumed = tuple(stand_in(cluster, policies, upstreams)) if partial else ()
    _between(cluster)
    for each, source, dest in mark(cluster, shovels):
        shovel(cluster, each, source, dest)
    federate(cluster, policies, upstreams)
    tell_idle(policies, drafts)
    upstreams.tell_idle(policies)
    if not cluster.spaces:
        cluster.space(vhost, document.where)
    set_apart(cluster)
    cluster.draft_brokers()
    cluster.draft_topics()
    document.rest()
    return assumed


def take_in(cluster: Cluster, parsed: Parsed, file: str) -> None:
    """Know what an export beside a server's other files says of its virtual hosts, and tell none.

    So a static shovel's queue has what is bound to it, and listeners are those of all of them.
    """
    if not isinstance(parsed.value, dict):
        return
    other = Cluster(file, cluster.host, Drafts())
    document = View(parsed, file, other.drafts)
    vhost = only_vhost(document)
    _global(document, other)
    _vhosts(document, other, vhost)
    _exchanges(document, other, vhost)
    _queues(document, other, vhost)
    _bindings(document, other, vhost)
    for space in other.spaces.values():
        space.where = Where(cluster.file, 1)
    cluster.spaces, cluster.listed = other.spaces, other.listed
    cluster.name, cluster.aliases = other.name, other.aliases


def is_map(parsed: Parsed, file: str, drafts: Drafts) -> bool:
    """Whether it can be an export at all; if not, that is a fault."""
    if isinstance(parsed.value, dict):
        return True
    message = "no definitions: the file has to be a map with vhosts, exchanges and the like"
    drafts.fault(Where(file, 1), "C005", message)
    return False


def only_vhost(document: View) -> str:
    """The virtual host of entries that name none: of an export of one, its name."""
    for key in ("original_vhost_name", "vhost", "name"):
        value = document.take(key)
        if isinstance(value, str) and value:
            return value
    listed = document.value.get("vhosts")
    if isinstance(listed, list) and len(listed) == 1 and isinstance(listed[0], dict):
        name = listed[0].get("name")
        return name if isinstance(name, str) else DEFAULT
    return DEFAULT


def _global(document: View, cluster: Cluster) -> None:
    """The cluster's name: federation tells clusters apart by it, and addresses may use it."""
    keys = group("global_parameters", "name value")
    others: dict[str, Where] = {}
    for entry in document.maps("global_parameters"):
        keys.note(entry)
        if entry.text("name") == "cluster_name":
            cluster.called(entry.text("value"))
        else:
            others.setdefault(safe(entry.text("name")), entry.where)
    keys.tell(cluster.drafts)
    if others:
        what = f"{names(others)} in global_parameters"
        why = "it does not change where messages go"
        cluster.drafts.aside(next(iter(others.values())), what, why)


def _vhosts(document: View, cluster: Cluster, vhost: str) -> None:
    listed = document.maps("vhosts")
    cluster.listed = bool(listed)
    others = group(
        "vhosts",
        "name",
        "limits metadata description tags default_queue_type tracing cluster_state protected_"
        "from_deletion",
    )
    for entry in listed:
        cluster.space(entry.text("name", vhost), entry.where)
        others.note(entry)
    others.tell(cluster.drafts, "limits and words for people")


def _tell_unlisted(document: View, cluster: Cluster, vhost: str) -> None:
    """Virtual hosts that only entries name: RabbitMQ refuses these entries, or all of the file."""
    listed = {one.text("name", vhost) for one in document.maps("vhosts")}
    for one in cluster.spaces.values():
        if listed and one.vhost not in {*listed, DEFAULT}:
            message = (
                f"virtual host {label(one.vhost)} is not listed here, so RabbitMQ takes nothing "
                "for it unless it is there already: add it to vhosts"
            )
            cluster.drafts.warn(one.where, "C020", message)


def _exchanges(document: View, cluster: Cluster, vhost: str) -> None:
    others = group(
        "exchanges",
        "name vhost type internal",
        "durable auto_delete arguments policy user_who_performed_action",
    )
    for entry in _declared(document, "exchanges", cluster):
        space, name = _place(entry, cluster, vhost), _name(entry, cluster)
        others.note(entry)
        kind = entry.text("type", "topic")
        inner: Any = entry.value.get("arguments")
        if kind == "x-delayed-message" and isinstance(inner, dict):
            kind = str(inner.get("x-delayed-type", "topic"))
        if name:
            internal = entry.flag("internal")
            space.exchanges.setdefault(name, Exchange(name, kind, entry.where, internal))
    why = "what a broker does inside itself, also to messages that no binding takes"
    others.tell(cluster.drafts, why)


def _queues(document: View, cluster: Cluster, vhost: str) -> None:
    others = group("queues", "name vhost", "durable auto_delete arguments type exclusive policy")
    for entry in _declared(document, "queues", cluster):
        space, name = _place(entry, cluster, vhost), _name(entry, cluster)
        others.note(entry)
        if name:
            space.queues.setdefault(name, entry.where)
    why = "what a broker does inside itself, also where it sends what is refused or too old"
    others.tell(cluster.drafts, why)


def _bindings(document: View, cluster: Cluster, vhost: str) -> None:
    others = group(
        "bindings",
        "source vhost destination destination_type routing_key",
        "arguments properties_key",
    )
    for entry in document.maps("bindings"):
        if entry.text("source").startswith(LINKS) or entry.text("destination").startswith(LINKS):
            continue
        space = _place(entry, cluster, vhost)
        others.note(entry)
        to, kind = safe(entry.text("destination")), entry.text("destination_type", "queue")
        source = safe(entry.text("source"))
        key = safe(entry.text("routing_key"))
        if any(VARIABLE.search(one) for one in (source, to, key)):
            message = "a variable stands for a part of this binding: fill it in"
            cluster.drafts.fault(entry.where, "C006", message)
        if kind not in ("queue", "exchange"):
            message = "destination_type is neither queue nor exchange: write one of them"
            cluster.drafts.fault(entry.place("destination_type"), "C005", message)
        if not source and kind == "queue":
            continue  # the default exchange: every queue is bound there by its own name
        one = Binding(source, to, kind == "exchange", key, entry.where)
        if space.pattern(one) is None:
            why = "topics cannot have its +, #, *, % or control character: it is not followed"
            cluster.drafts.aside(entry.where, f"a binding with the key {label(key)}", why)
        cluster.tell_wider(space.exchange(source).kind, key, entry.place("routing_key"))
        space.bindings.append(one)
    others.tell(cluster.drafts, "headers that are asked for: all are taken")


def _declared(document: View, section: str, cluster: Cluster) -> list[View]:
    """Exchanges or queues, without those that links of downstream clusters have made."""
    entries = document.maps(section)
    made = [one for one in entries if one.text("name").startswith(LINKS)]
    if made:
        why = "links of clusters that fetch from here made them, with their bindings"
        cluster.drafts.aside(made[0].where, f"{len(made)} {section} of federation links", why)
    return [one for one in entries if one not in made]


def _place(entry: View, cluster: Cluster, vhost: str) -> Space:
    return cluster.space(entry.text("vhost", vhost), entry.where)


def _name(entry: View, cluster: Cluster) -> str:
    name = entry.text("name")
    if not entry.has("name"):
        cluster.drafts.fault(entry.where, "C005", "it has no name: write one")
    elif VARIABLE.search(name):
        cluster.drafts.fault(entry.where, "C006", "a variable stands for its name: fill it in")
    return safe(name)


def _parameters(document: View, cluster: Cluster, vhost: str, upstreams: Upstreams) -> list[Shovel]:
    shovels: list[Shovel] = []
    others: dict[str, list[Where]] = {}
    keys = group("parameters", "vhost component name value")
    for entry in document.maps("parameters"):
        keys.note(entry)
        space, name = entry.text("vhost", vhost), _name(entry, cluster)
        component = entry.text("component")
        cluster.space(space, entry.where)
        if component == "federation-upstream":
            upstreams.add(space, name, entry)
        elif component == "federation-upstream-set":
            upstreams.add_set(space, name, entry)
        elif component == "shovel":
            one = read_shovel(cluster, space, name, entry)
            shovels += [one] if one else []
        else:
            others.setdefault(component, []).append(entry.where)
    keys.tell(cluster.drafts)
    for component, places in others.items():
        what = f"{len(places)} of component {label(component)} in parameters"
        why = _COMPONENTS.get(component, "it is neither federation nor a shovel")
        cluster.drafts.aside(places[0], what, why)
    return shovels


_COMPONENTS = {
    "federation": "what old releases called a node and its user by",
    "operator_policy": "limits; RabbitMQ takes nothing of federation from them",
    "vhost-limits": "limits",
}
"""Components of parameters that are not modelled, and why."""


def _between(cluster: Cluster) -> None:
    """Bindings from one exchange to another."""
    for space in cluster.spaces.values():
        for one in space.bindings:
            pattern = space.pattern(one)
            if one.to_exchange and pattern is not None:
                space.active.setdefault(one.source)
                space.active.setdefault(one.destination)
                cluster.drafts.bridges.append(_binding(space, one, pattern))


def _binding(space: Space, one: Binding, pattern: str) -> BridgeDraft:
    return BridgeDraft(
        at=space.draft,
        far=space.draft,
        name=f"{one.source} to {one.destination}",
        kind="binding",
        where=one.where,
        patterns=(pattern,),
        direction="out",
        qos=1,
        local=exchange_prefix(one.source),
        remote=exchange_prefix(one.destination),
    )


def set_apart(cluster: Cluster) -> None:
    """Topics of amq.topic have no prefix: what is of other exchanges is none of them."""
    by_draft = {one.draft: one for one in cluster.spaces.values()}
    for i, one in enumerate(cluster.drafts.bridges):
        space = by_draft.get(one.at)
        if space is None or (one.local and one.remote):
            continue
        names = [name for name in space.active if name and name != "amq.topic"]
        names = [name for name in names if name in space.exchanges or name in BUILT_IN]
        excepts = [f"{exchange_prefix(name)}#" for name in names]
        excepts += ["queue/#"] if space.filled or space.drained else []
        if "#" in one.patterns and excepts:
            cluster.drafts.bridges[i] = replace(one, excepts=tuple(excepts))
