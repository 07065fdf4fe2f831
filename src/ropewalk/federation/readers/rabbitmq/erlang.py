"""advanced.config and the old rabbitmq.config: static shovels of them, and where it listens."""

from ropewalk.federation.readers.drafts import Drafts
from ropewalk.federation.readers.rabbitmq.contents import DEFAULT, Binding, Cluster
from ropewalk.federation.readers.rabbitmq.definitions import set_apart
from ropewalk.federation.readers.rabbitmq.naming import safe
from ropewalk.federation.readers.rabbitmq.shovel_ends import ShovelEnd, from_address
from ropewalk.federation.readers.rabbitmq.shovels import Shovel, mark, shovel
from ropewalk.federation.readers.rabbitmq.terms import Term, TermFault, pairs, read_terms
from ropewalk.federation.readers.rabbitmq.uris import Uri, read_uri
from ropewalk.federation.showing import label
from ropewalk.findings import Where

_MODELLED = {"source", "sources", "destination", "destinations", "queue", "ack_mode"}
_ENDS = {"protocol", "uris", "broker", "brokers", "declarations", "queue"}
_FIELDS = {"publish_fields", "source_address", "target_address"}


def read_erlang(text: str, file: str, host: str, drafts: Drafts) -> None:
    """Read a configuration of Erlang terms: the static shovels, and the ports it listens at."""
    try:
        terms = read_terms(text)
    except TermFault as fault:
        drafts.fault(Where(file, fault.line), "C004", fault.message)
        return
    cluster = Cluster(file, host, drafts)
    cluster.listens = _listens(None)
    cluster.space(DEFAULT, Where(file, 1))
    shovels: list[Shovel] = []
    for application in (one for term in terms for one in term.items):
        name = application.items[0].text if application.items else ""
        settings = pairs(application.items[1]) if len(application.items) > 1 else {}
        if name == "rabbitmq_shovel":
            shovels += _shovels(cluster, settings.pop("shovels", None))
        elif name == "rabbit":
            cluster.listens = _listens(settings.pop("tcp_listeners", None))
        if settings:
            where = Where(file, application.line)
            keys = ", ".join(label(one) for one in list(settings)[:8])
            drafts.aside(where, f"{label(name)} ({keys})", "it does not change where messages go")
    for one, source, dest in mark(cluster, shovels):
        shovel(cluster, one, source, dest)
    set_apart(cluster)
    cluster.draft_brokers()
    cluster.draft_topics()


def _listens(term: Term | None) -> tuple[tuple[str, int], ...]:
    found = []
    for one in term.items if term else []:
        host, port = ("", one.text) if not one.items else (one.items[0].text, one.items[-1].text)
        if port.isdecimal() and 0 < int(port[:6]) < 65536:
            found.append(("" if host in ("0.0.0.0", "::") else host, int(port)))  # noqa: S104
    return tuple(found) if term else (("", 5672),)


def _shovels(cluster: Cluster, term: Term | None) -> list[Shovel]:
    found = []
    for one in term.items if term else []:
        if one.kind == "tuple" and len(one.items) > 1:
            made = _shovel(cluster, one.items[0].text, one.items[1], Where(cluster.file, one.line))
            found += [made] if made else []
    return found


def _shovel(cluster: Cluster, name: str, term: Term, where: Where) -> Shovel | None:
    settings = pairs(term)
    old = "sources" in settings
    source, dest = (
        pairs(settings.get(f"{side}s" if old else side)) for side in ("source", "destination")
    )
    first, second = _end(cluster, source, settings if old else source), _end(cluster, dest, {})
    fields = pairs(settings.get("publish_fields") or dest.get("publish_fields"))
    if "exchange" in fields or "routing_key" in fields:
        exchange, key = fields.get("exchange"), fields.get("routing_key")
        second = _published(second, exchange.text if exchange else None, key.text if key else None)
    if not first.uris or not second.uris or not (first.queue or first.exchange):
        message = f"shovel {label(name)} has no addresses or no queue: write source, destination"
        cluster.drafts.fault(where, "C005", message)
        return None
    _rest(cluster, name, where, [*settings], [*source, *dest])
    mode = settings.get("ack_mode")
    return Shovel(
        name=name,
        vhost=DEFAULT,
        where=where,
        source=first.guarded(),
        dest=second.guarded(),
        qos=0 if mode and mode.text == "no_ack" else 1,
    )


def _published(end: ShovelEnd, exchange: str | None, key: str | None) -> ShovelEnd:
    """Where messages are published: by the default exchange a key is a queue."""
    if exchange == "" and key:
        return ShovelEnd(end.uris, end.protocol, queue=key)
    return ShovelEnd(end.uris, end.protocol, exchange=exchange or "", key=key)


def _rest(cluster: Cluster, name: str, where: Where, keys: list[str], ends: list[str]) -> None:
    left = [label(one) for one in keys if one not in _MODELLED | _FIELDS]
    left += [label(one) for one in ends if one not in _ENDS | _FIELDS]
    if left:
        what = f"{', '.join(left)} of shovel {label(name)}"
        cluster.drafts.aside(where, what, "how it connects and what it adds to messages")


def _end(cluster: Cluster, end: dict[str, Term], holder: dict[str, Term]) -> ShovelEnd:
    """Addresses, and the queue; what declarations bind it to is taken for true."""
    terms = [end[key] for key in ("uris", "brokers", "broker") if key in end]
    uris = tuple(
        (one.text, Where(cluster.file, one.line))
        for term in terms
        for one in (term.items if term.kind == "list" else [term])
    )
    protocol = end["protocol"].text if "protocol" in end else "amqp091"
    address = end.get("source_address") or end.get("target_address")
    if protocol == "amqp10" and address:
        return from_address(ShovelEnd(uris, protocol), address.text)
    declared, bindings = _declared(cluster, end.get("declarations"))
    if _local(cluster, uris):
        cluster.spaces[DEFAULT].bindings += bindings
    if not holder:
        return ShovelEnd(uris, protocol)
    if len(bindings) == 1:
        return ShovelEnd(uris, protocol, exchange=bindings[0].source, key=bindings[0].key)
    queue = holder["queue"] if "queue" in holder else end.get("queue")
    return ShovelEnd(uris, protocol, queue=safe(queue.text if queue else "") or declared)


def _local(cluster: Cluster, uris: tuple[tuple[str, Where], ...]) -> bool:
    found = [read_uri(text) for text, _ in uris]
    return any(isinstance(one, Uri) and cluster.is_here(one) for one in found)


def _declared(cluster: Cluster, term: Term | None) -> tuple[str, list[Binding]]:
    """The queue that is declared last, and what queues are bound to."""
    queue, bindings = "", []
    for one in term.items if term else []:
        method = one.items[0].text if one.items else one.text
        fields = _fields(one)
        if method == "queue.declare":
            queue = fields.get("queue", "")
        elif method == "queue.bind" and fields.get("exchange"):
            to, where = fields.get("queue") or queue, Where(cluster.file, one.line)
            key = fields.get("routing_key", "")
            bindings.append(Binding(safe(fields["exchange"]), safe(to), False, safe(key), where))
    return safe(queue), bindings


def _fields(term: Term) -> dict[str, str]:
    """The fields of a method: in a list, or one by one."""
    found: dict[str, str] = {}
    for one in term.items[1:]:
        inner = one if one.kind == "list" else Term("list", one.line, items=[one])
        found.update((name, value.text) for name, value in pairs(inner).items())
    return found
