"""Several files' drafts to one federation: addresses become brokers, topics of a name one topic."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from ropewalk.federation.bridges import Bridge, Prefixes
from ropewalk.federation.contracts import Contract, Delivery
from ropewalk.federation.facts import Broker, Client, Federation, Site, Topic
from ropewalk.federation.names import is_name, topic_fault
from ropewalk.federation.readers.assumed import apart, with_assumed
from ropewalk.federation.readers.clashes import tell_clashes
from ropewalk.federation.readers.clusters import with_gossip
from ropewalk.federation.readers.drafts import Address, BridgeDraft, BrokerDraft, Drafts, TopicDraft
from ropewalk.federation.readers.mapping import Mapping as Said
from ropewalk.federation.readers.nats_clashes import admitted
from ropewalk.federation.readers.whose import Directory, place_text, places
from ropewalk.federation.showing import label, shown

SCHEMES = {
    "nats": ("nats", "tls"),
    "mosquitto": ("mqtt", "mqtts"),
    "rabbitmq": ("amqp", "amqps"),
}
DELIVERIES: tuple[Delivery, ...] = ("best-effort", "at-least-once", "exactly-once")
"""What MQTT's qualities of service promise; who states none promises nothing."""
WITHIN = ("binding", "shovel")
"""What may lead from a broker to itself, from one exchange or queue to another."""
End = tuple[str | Address, str | None]


@dataclass(frozen=True, slots=True)
class Joined:
    """A federation, and which server each address of the files means."""

    federation: Federation
    meant: Mapping[tuple[str, str, int], str]
    """By file, host and port, as they are written there."""
    asked: Collection[tuple[str, int, str]]
    """Host, port and server's name of every address."""


def join(name: str, drafts: Drafts, said: Said | None = None) -> Joined:
    """All drafts as one federation; what does not fit together is noted in the drafts."""
    directory = Directory(drafts, said)
    for at, read in drafts.later:
        read(directory.make_of(at))
    _same_cluster(directory, drafts)
    _same_server(directory, drafts)
    bridges = [
        made
        for one in drafts.bridges
        for made in _bridge(one, directory, drafts)
        if made is not None
    ]
    tell_clashes(directory, drafts, said)
    topics = _topics(drafts.topics, directory, drafts)
    bridges = list(admitted(bridges, directory.brokers, drafts))
    bridges = list(with_gossip(bridges, directory.brokers))
    topics = with_assumed(topics, bridges)
    if not bridges and len(directory.brokers) > 1 and all(one.assumed for one in topics.values()):
        topics = apart(directory.brokers)
    sites = dict(said.sites) if said is not None else {}
    brokers = {one.name: _broker(one, directory, sites) for one in directory.brokers.values()}
    federation = Federation(
        name=name,
        sites={site: place for site, place in sites.items() if _used(site, brokers)},
        brokers=brokers or {"none_read": Broker()},
        bridges=tuple(bridges),
        topics=topics,
    )
    return Joined(federation, directory.meant, directory.asked)


def _same_cluster(directory: Directory, drafts: Drafts) -> None:
    """RabbitMQ tells clusters apart by their names only: copied definitions lose messages."""
    first: dict[str, BrokerDraft] = {}
    for one in directory.brokers.values():
        other = (
            first.setdefault(one.cluster, one) if one.make == "rabbitmq" and one.cluster else one
        )
        if other.host != one.host:
            what = f"cluster_name {shown(one.cluster)} is that of {other.host}, too ({other.where})"
            why = "federation takes them for one cluster and drops or splits messages"
            drafts.warn(one.where, "C020", f"{what}: {why}: give each cluster its own name")


def _same_server(directory: Directory, drafts: Drafts) -> None:
    """NATS servers that go by one server_name: each refuses the other's routes."""
    first: dict[str, BrokerDraft] = {}
    for one in directory.brokers.values():
        name = one.nats.name if one.nats is not None else ""
        other = first.setdefault(name, one) if name else one
        if other.host != one.host:
            what = f"server_name {shown(name)} is that of {other.host}, too ({other.where})"
            why = "NATS refuses routes between the two (duplicate server name)"
            drafts.warn(one.where, "C020", f"{what}: {why}: give each server its own name")


def _used(site: str, brokers: Mapping[str, Broker]) -> bool:
    return any(one.site == site for one in brokers.values())


def _broker(one: BrokerDraft, directory: Directory, sites: Mapping[str, Site]) -> Broker:
    shared = len(directory.spaces(one.host)) > 1 or one.name != one.host
    at = next((name for name in (one.name, one.host) if name in sites), None)
    return Broker(
        make=one.make,
        url=_url(one, directory),
        site=at,
        server=one.host if shared else None,
        space=one.space or None,
        cluster=one.cluster or None,
        # Virtual hosts and accounts of a server fail with it.
        risk_groups=tuple(dict.fromkeys((*one.risk_groups, *([one.host] if shared else [])))),
        written={"entry": place_text(one.where)},
    )


def _url(one: BrokerDraft, directory: Directory) -> str | None:
    known = directory.url(one)
    if known is None:
        return None
    host, port, secure = known
    host = host or "0.0.0.0"  # noqa: S104 - that is what a file without a host means
    if set(host) & set("@=/?# \t"):
        return None
    shown_host = f"[{host}]" if ":" in host else host
    return f"{SCHEMES[one.make][secure]}://{shown_host}:{port}" if port else None


def _bridge(one: BridgeDraft, directory: Directory, drafts: Drafts) -> Iterable[Bridge | None]:
    holder = directory.brokers.get(one.at)
    if holder is None:
        return
    if isinstance(one.far, str):
        ends: tuple[str, ...] = (one.far,)
    else:
        ends = tuple(directory.broker(far, holder) for far in one.far)
        _tell_private(one, ends, directory, drafts)
    # An address of several that is the holder's own is no backup.
    if one.kind not in WITHIN:
        kept = [i for i, end in enumerate(ends) if end != one.at]
    else:
        kept = list(range(len(ends)))
    if not kept:
        if one.kind not in ("route", "gateway"):  # a server's own address is passed over there
            what = f"{shown(one.name)} leads back to {one.at}, which holds it"
            drafts.warn(one.where, "C020", f"{what}: correct its address, or name it in --map")
        return
    patterns = _good(one.patterns, one, drafts)
    if not patterns or one.at not in directory.brokers:
        return
    named = [ends[i] for i in kept]
    yield Bridge(
        from_=one.at,
        to=named[0],
        name=one.name or None,
        kind=one.kind,
        patterns=patterns,
        except_=_good(one.excepts, one, drafts),
        direction=one.direction,
        qos=one.qos,
        prefixes=Prefixes(local=one.local, remote=one.remote),
        max_hops=one.max_hops,
        addresses=tuple(named[1:]),
        reached_at=() if isinstance(one.far, str) else tuple(_reached(one.far[i]) for i in kept),
        choice=one.choice,
        echoes=one.echoes,
        written=places(one.lines, one.where),
    )


def _tell_private(
    one: BridgeDraft, ends: Iterable[str], directory: Directory, drafts: Drafts
) -> None:
    """Mosquitto's way to say that it is a bridge is no MQTT that RabbitMQ knows."""
    far = next((end for end in ends if directory.brokers[end].make == "rabbitmq"), None)
    if one.private and far is not None:
        what = f"{far} is RabbitMQ, which refuses connection {label(one.name)} (seen with 3.10.8)"
        what += " as one that says it is a bridge: write try_private false"
        drafts.warn(one.lines.get("connection", one.where), "C020", what)


def _reached(far: Address) -> str:
    host = f"[{far.host}]" if ":" in far.host else far.host
    return f"{host}:{far.port}"


def _good(patterns: Iterable[str], one: BridgeDraft, drafts: Drafts) -> tuple[str, ...]:
    found = []
    for pattern in patterns:
        if advice := topic_fault(pattern):
            drafts.fault(one.where, "C005", f"{shown(pattern)} is no topic pattern: {advice}")
        else:
            found.append(pattern)
    return tuple(found)


def _topics(given: Iterable[TopicDraft], directory: Directory, drafts: Drafts) -> dict[str, Topic]:
    """Topics by name; who publishes or is served in several files is listed once."""
    topics: dict[str, Topic] = {}
    stated: dict[str, list[TopicDraft]] = {}
    for one in given:
        if advice := topic_fault(one.name):
            drafts.fault(one.where, "C005", f"{shown(one.name)} is no topic: {advice}")
            continue
        _tell_several(one, directory, drafts)
        stated.setdefault(one.name, []).append(one)
        publishers = _ends(one.publishers, directory, named=not one.assumed)
        subscribers = _ends(one.subscribers, directory, named=not one.assumed)
        known = topics.get(one.name)
        if known is None:
            topics[one.name] = Topic(
                publishers=publishers,
                subscribers=subscribers,
                assumed=one.assumed,
                written={"entry": place_text(one.where)},
            )
            continue
        if known.assumed and not one.assumed:  # what is stated counts, not what is only likely
            known = replace(known, publishers=(), subscribers=(), assumed=False)
            known = replace(known, written={"entry": place_text(one.where)})
        elif one.assumed and not known.assumed:
            continue
        topics[one.name] = replace(
            known,
            publishers=tuple(dict.fromkeys((*known.publishers, *publishers))),
            subscribers=tuple(dict.fromkeys((*known.subscribers, *subscribers))),
        )
    return {
        name: replace(topic, contract=_promised(stated[name])) for name, topic in topics.items()
    }


def _promised(stated: Iterable[TopicDraft]) -> Contract:
    """What those who state a topic promise: of MQTT's two ends the lower one counts."""
    all_stated = list(stated)
    sides = ([one.sent_qos for one in all_stated], [one.received_qos for one in all_stated])
    known = [[qos for qos in side if qos is not None] for side in sides]
    return Contract(delivery=DELIVERIES[min((max(side) for side in known if side), default=0)])


def _tell_several(one: TopicDraft, directory: Directory, drafts: Drafts) -> None:
    """Servers of an AsyncAPI document are often its environments: nothing in it says so."""
    found: dict[str, dict[str, Address]] = {}
    for end, _ in (*one.publishers, *one.subscribers):
        if isinstance(end, Address) and end.server:
            found.setdefault(end.make, {}).setdefault(directory.broker(end, None), end)
    for brokers in found.values():
        if len(brokers) > 1:
            # One server of a document may be several, by its variables.
            servers = list(dict.fromkeys(end.server for end in brokers.values()))
            named = servers if len(servers) == len(brokers) else list(brokers)
            names = " and ".join(map(label, named[:3]))
            what = f"servers {names} are read as in use at once, and what is sent at one is wanted "
            what += "at the others: if the application uses one of them, as environments, say in "
            what += "--map that they are one broker, or read a copy of the document with one"
            drafts.warn(list(brokers.values())[1].where, "C012", what)


def _ends(ends: Iterable[End], directory: Directory, *, named: bool) -> tuple[str | Client, ...]:
    found: dict[str | Client, None] = {}
    for end, client in ends:
        name = end if isinstance(end, str) else directory.broker(end, None)
        if name in directory.brokers:
            known = named and client is not None and is_name(client)
            found[Client(broker=name, client=str(client)) if known else name] = None
    return tuple(found)
