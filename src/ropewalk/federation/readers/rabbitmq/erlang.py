"""advanced.config and the old rabbitmq.config: static shovels of them, and where it listens."""

from dataclasses import replace

from ropewalk.federation.readers.drafts import Drafts
from ropewalk.federation.readers.rabbitmq.contents import DEFAULT, Cluster
from ropewalk.federation.readers.rabbitmq.declared import Declared, declared
from ropewalk.federation.readers.rabbitmq.definitions import set_apart, take_in
from ropewalk.federation.readers.rabbitmq.leftovers import names, why_not
from ropewalk.federation.readers.rabbitmq.naming import VARIABLE, safe
from ropewalk.federation.readers.rabbitmq.shovel_ends import ShovelEnd, from_address
from ropewalk.federation.readers.rabbitmq.shovels import Shovel, ends_after, mark, shovel
from ropewalk.federation.readers.rabbitmq.terms import Term, TermFault, pairs, read_terms
from ropewalk.federation.readers.rabbitmq.uris import Uri, read_uri
from ropewalk.federation.showing import label
from ropewalk.federation.yaml_text import Parsed
from ropewalk.findings import Where

_MODELLED = {"source", "sources", "destination", "destinations", "queue", "ack_mode"}
_ENDS = {"protocol", "uris", "broker", "brokers", "declarations", "queue", "delete_after"}
_FIELDS = {"publish_fields", "source_address", "target_address"}
_LOCAL = {"dest_exchange", "dest_routing_key"}
"""Where the local protocol publishes; it has no publish_fields."""
_OLD_FEDERATION = {
    *("exchanges", "upstreams", "upstream_sets", "connections", "upstream", "upstream_set"),
    *("policies", "queues"),
}
_NO_FEDERATION = (
    "federation that is set here counts up to RabbitMQ 2.8 at most: later ones fetch nothing by "
    "it: write upstreams and policies, and read them in definitions.json"
)


def read_erlang(
    text: str, file: str, host: str, drafts: Drafts, beside: tuple[Parsed, str] | None = None
) -> None:
    """Read a configuration of Erlang terms: the static shovels, and the ports it listens at.

    `beside` are the same server's definitions, and their file.
    """
    try:
        terms = read_terms(text)
    except TermFault as fault:
        drafts.fault(Where(file, fault.line), fault.code, fault.message)
        return
    cluster = Cluster(file, host, drafts)
    # Beside a rabbitmq.conf, that says where it listens.
    known = any(one.host == host and one.listens for one in drafts.brokers)
    cluster.listens = () if known else _USUAL
    if beside is not None:
        take_in(cluster, *beside)
    if not cluster.spaces:
        cluster.space(DEFAULT, Where(file, 1))
    shovels: list[Shovel] = []
    for application in (one for term in terms for one in term.items):
        name = application.items[0].text if application.items else ""
        settings = pairs(application.items[1]) if len(application.items) > 1 else {}
        if name == "rabbitmq_shovel":
            defaults = pairs(settings.pop("defaults", None))
            shovels += _shovels(cluster, settings.pop("shovels", None), defaults)
        elif name == "rabbit":
            _listen(cluster, settings)
            if beside is not None:
                cluster.has_nodes(_nodes(settings.get("cluster_nodes")))
        if beside is not None:
            settings.pop("load_definitions", None)
        _tell_rest(cluster, Where(file, application.line), name, settings)
    for one, source, dest in mark(cluster, shovels):
        shovel(cluster, one, source, dest)
    set_apart(cluster)
    cluster.draft_brokers()
    cluster.draft_topics()


def _tell_rest(cluster: Cluster, where: Where, name: str, settings: dict[str, Term]) -> None:
    """What is not modelled, in one note for each reason."""
    if name == "rabbitmq_federation" and settings.keys() & _OLD_FEDERATION:
        cluster.drafts.warn(where, "C020", _NO_FEDERATION)
        return
    by_reason: dict[str, list[str]] = {}
    for key in settings:
        by_reason.setdefault(why_not(name, key), []).append(key)
    for why, keys in by_reason.items():
        cluster.drafts.aside(where, f"{label(name)} ({names(keys)})", why)


# --- where it listens ---------------------------------------------------------------------------

_USUAL = (("", 5672),)


def _listen(cluster: Cluster, settings: dict[str, Term]) -> None:
    """Without `tcp_listeners` there is what was there before; the cluster's name is there, too."""
    name = settings.pop("cluster_name", None)
    if name is not None and name.text:
        cluster.called(name.text)
    plain = settings.pop("tcp_listeners", None)
    tcp = _places(plain) if plain else cluster.listens
    tls = _places(settings.pop("ssl_listeners", None))
    cluster.listens, cluster.secure = (*tcp, *tls), bool(plain and tls and not tcp)


def _nodes(term: Term | None) -> list[str]:
    """Names of nodes: a list of them, or such a list and their kind."""
    listed = term.items[0] if term and term.kind == "tuple" and term.items else term
    return [one.text for one in listed.items] if listed else []


def _places(term: Term | None) -> tuple[tuple[str, int], ...]:
    found = []
    for one in term.items if term else []:
        host, port = ("", one.text) if not one.items else (one.items[0].text, one.items[-1].text)
        if port.isdecimal() and 0 < int(port[:6]) < 65536:
            found.append(("" if host in ("0.0.0.0", "::") else host, int(port)))  # noqa: S104
    return tuple(found)


# --- shovels --------------------------------------------------------------------------------------


def _shovels(cluster: Cluster, term: Term | None, defaults: dict[str, Term]) -> list[Shovel]:
    found: list[Shovel] = []
    first: dict[str, int] = {}
    for one in term.items if term else []:
        if one.kind == "tuple" and len(one.items) > 1:
            where, settings = Where(cluster.file, one.line), {**defaults, **pairs(one.items[1])}
            name = one.items[0].text
            if name in first:
                message = f"shovel {label(name)} is there twice (line {first[name]}), with which "
                message += "the plug-in does not start: give one of them another name"
                cluster.drafts.warn(where, "C020", message)
            first.setdefault(name, one.line)
            made = _shovel(cluster, name, settings, where)
            found += [made] if made else []
    return found


def _shovel(cluster: Cluster, name: str, settings: dict[str, Term], where: Where) -> Shovel | None:
    old = "sources" in settings
    source, dest = (
        pairs(settings.get(f"{side}s" if old else side)) for side in ("source", "destination")
    )
    first = _source(cluster, name, source, settings if old else source)
    second, made = _end(cluster, dest)
    _declare(cluster, second, made)
    second = _destination(second, settings, dest)
    _properties(cluster, name, settings.get("publish_properties") or dest.get("publish_properties"))
    if second.protocol == "local":
        _fields_of_local(cluster, name, dest.get("publish_fields"))
    if not first.uris or not second.uris or not (first.queue or first.exchange):
        message = f"shovel {label(name)} has no addresses or no queue: write source, destination"
        cluster.drafts.fault(where, "C005", message)
        return None
    if any(VARIABLE.search(end.queue or end.exchange) for end in (first, second)):
        message = f"a variable stands for an end of shovel {label(name)}: fill it in"
        cluster.drafts.fault(where, "C006", message)
    ends = [*source, *(one for one in dest if second.protocol != "local" or one not in _LOCAL)]
    _rest(cluster, name, where, [*settings], ends)
    mode, after = settings.get("ack_mode"), source.get("delete_after")
    return Shovel(
        name=name,
        vhost=DEFAULT,
        where=where,
        source=first.guarded(),
        dest=second.guarded(),
        qos=0 if mode and mode.text == "no_ack" else 1,
        ends=after is not None and (after.kind == "number" or ends_after(after.text)),
    )


def _destination(end: ShovelEnd, settings: dict[str, Term], dest: dict[str, Term]) -> ShovelEnd:
    """Where messages are published; what is not said stays as it was."""
    fields = pairs(settings.get("publish_fields") or dest.get("publish_fields"))
    exchange, key = fields.get("exchange"), fields.get("routing_key")
    if end.protocol == "local":
        exchange, key = dest.get("dest_exchange"), dest.get("dest_routing_key")
    if exchange is None and key is None:
        return end
    return _published(end, exchange.text if exchange else None, key.text if key else None)


def _properties(cluster: Cluster, name: str, term: Term | None) -> None:
    """An exchange is a field and no property: so it is in many examples, and nothing starts."""
    found = [one for one in ("exchange", "routing_key") if one in pairs(term)]
    if term is not None and found:
        message = (
            f"{' and '.join(found)} in publish_properties of shovel {label(name)}: RabbitMQ does "
            "not start with that: write publish_fields"
        )
        cluster.drafts.warn(Where(cluster.file, term.line), "C020", message)


def _fields_of_local(cluster: Cluster, name: str, term: Term | None) -> None:
    if term is not None and term.items:
        message = (
            f"publish_fields of shovel {label(name)} do nothing with the local protocol: write "
            "dest_exchange and dest_routing_key"
        )
        cluster.drafts.warn(Where(cluster.file, term.line), "C020", message)


def _published(end: ShovelEnd, exchange: str | None, key: str | None) -> ShovelEnd:
    """Where messages are published: by the default exchange a key is a queue."""
    if exchange == "" and key:
        return ShovelEnd(end.uris, end.protocol, queue=key)
    return ShovelEnd(end.uris, end.protocol, exchange=exchange or "", key=key)


def _rest(cluster: Cluster, name: str, where: Where, keys: list[str], ends: list[str]) -> None:
    left = [label(one) for one in keys if one not in _MODELLED | _FIELDS]
    left += [label(one) for one in ends if one not in _ENDS | _FIELDS]
    if left:
        what = f"{', '.join(dict.fromkeys(left))} of shovel {label(name)}"
        cluster.drafts.aside(where, what, "how it connects and what it adds to messages")


def _source(
    cluster: Cluster, name: str, end: dict[str, Term], holder: dict[str, Term]
) -> ShovelEnd:
    """The queue that a shovel takes from; one without a name gets that of the shovel."""
    found, made = _end(cluster, end)
    if found.queue or found.exchange:
        return found
    term = holder.get("queue") or end.get("queue")
    queue = safe(term.text) if term and term.text else made.queue
    made = made.named(queue or safe(name))
    if _declare(cluster, found, made):
        return replace(found, queue=queue or safe(name)) if queue or made.bindings else found
    if len(made.bindings) == 1:
        return replace(found, exchange=made.bindings[0].source, key=made.bindings[0].key)
    return replace(found, queue=queue or (safe(name) if made.bindings else ""))


def _end(cluster: Cluster, end: dict[str, Term]) -> tuple[ShovelEnd, Declared]:
    """An end's addresses, and what it declares there before it begins."""
    terms = [end[key] for key in ("uris", "brokers", "broker") if key in end]
    uris = tuple(
        (_uri(one), Where(cluster.file, one.line))
        for term in terms
        for one in (term.items if term.kind == "list" else [term])
    )
    protocol = end["protocol"].text if "protocol" in end else "amqp091"
    if protocol == "local" and not uris:
        uris = tuple(("amqp://", Where(cluster.file, one.line)) for one in [*end.values()][:1])
    found, address = ShovelEnd(uris, protocol), end.get("source_address", end.get("target_address"))
    if protocol == "amqp10":
        return from_address(found, address.text) if address else found, Declared()
    return found, declared(cluster, end.get("declarations"))


def _uri(term: Term) -> str:
    """An address as it is written; one that is encrypted is a pair."""
    encrypted = term.kind == "tuple" and term.items and term.items[0].text == "encrypted"
    return "encrypted:" if encrypted else term.text


def _declare(cluster: Cluster, end: ShovelEnd, made: Declared) -> bool:
    """Whether an end is this cluster; if so, what it declares is there."""
    local = end.protocol == "local"
    found = [read_uri(text) for text, _ in end.uris]
    for one in found:
        if isinstance(one, Uri) and (local or cluster.is_here(one)) and one.vhost != "":
            space = cluster.space(one.vhost or DEFAULT, end.uris[0][1])
            space.bindings += made.bindings
            for exchange in made.exchanges:
                space.exchanges.setdefault(exchange.name, exchange)
            for binding in made.bindings:
                kind = space.exchange(binding.source).kind
                cluster.tell_wider(kind, binding.key, binding.where)
            return True
    return False
