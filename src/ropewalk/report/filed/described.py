"""What was described: sizes, brokers, links, bridges, topics and contracts, sites, requirements."""

from collections import Counter
from collections.abc import Collection

from ropewalk.federation.contracts import Contract
from ropewalk.federation.facts import Attachment, Broker, Federation, Topic
from ropewalk.report.filed.blocks import Block, Entries, Figure, Figures, Section, table
from ropewalk.report.filed.graph import drawn
from ropewalk.report.filed.words import count, figure, plain
from ropewalk.report.tables import summary_of

FEW = 6
MAKES = {"nats": "NATS", "mosquitto": "Mosquitto", "rabbitmq": "RabbitMQ"}


def described(federation: Federation, weak: Collection[str] = ()) -> Section:
    """The federation as it was described; `weak` are failures that cut pairs off."""
    sizes = summary_of(federation)
    keys = ("brokers", "links", "bridges", "topics", "pairs")
    figures = tuple(Figure(key, count(sizes[key])) for key in keys)
    blocks: list[Block] = [Figures(figures)]
    if picture := drawn(federation, weak):
        blocks.append(picture)
    blocks += [_brokers(federation), *_between(federation), *_topics(federation)]
    blocks += _grounds(federation)
    makes = Counter(one.make for one in federation.brokers.values())
    told = ", ".join(f"{number:,} {MAKES[make]}" for make, number in sorted(makes.items()))
    sites = f" at {len(federation.sites)} sites" if federation.sites else ""
    says = f"{told}{sites}."
    # Pairs are those that were verified: they are told where that is.
    glance = tuple(one for one in figures if one.value != "0" and one.label != "pairs")
    data = {
        **sizes,
        "makes": dict(makes),
        "sites": list(federation.sites),
        "requirements": dict(_requirements(federation)),
        "contracts": {name: contract_words(one) for name, one in federation.topics.items()},
    }
    return Section("described", federation.name, "told", says, tuple(blocks), (), (), glance, data)


def _brokers(federation: Federation) -> Block:
    degree = Counter(end for one in federation.links for end in one.between)
    rows = [
        (name, one.make, one.site or "-", _capacity(one), count(degree[name]))
        for name, one in federation.brokers.items()
    ]
    head = ("broker", "make", "site", "us: receive, filter, send", "links")
    return table("Brokers", head, rows, words=(0, 1, 2, 3))


def _capacity(broker: Broker) -> str:
    one = broker.capacity
    if one is None:
        return "-"
    return ", ".join(f"{cost:.4g}" for cost in (one.receive_us, one.filter_us, one.send_us))


def _between(federation: Federation) -> list[Block]:
    found: list[Block] = []
    if federation.links:
        latency = federation.graph.latency_ms.tolist()
        rows = [
            (" - ".join(one.between), figure(ms), figure(one.cost), plain(one.risk_groups or "-"))
            for one, ms in zip(federation.links, latency, strict=True)
        ]
        head = ("link", "latency, ms", "cost", "risk groups")
        found.append(table("Links", head, rows, words=(0, 3)))
    if federation.bridges:
        rows = [
            (f"{one.from_} to {one.to}", one.kind, one.direction, plain(one.patterns))
            for one in federation.bridges
        ]
        head = ("bridge", "kind", "direction", "topics")
        found.append(table("Bridges of the brokers' own", head, rows, words=(0, 1, 2, 3)))
    return found


def _topics(federation: Federation) -> list[Block]:
    if not federation.topics:
        return []
    rows = [
        (name, _attached(one.publishers), _attached(one.subscribers), contract_words(one))
        for name, one in federation.topics.items()
    ]
    head = ("topic", "publishers", "subscribers", "contract")
    return [table("Topics and what they promise", head, rows, words=(0, 1, 2, 3))]


def _attached(clients: tuple[Attachment, ...]) -> str:
    names = [one if isinstance(one, str) else f"{one.client} at {one.broker}" for one in clients]
    more = f" and {len(names) - FEW} more" if len(names) > FEW else ""
    return (", ".join(names[:FEW]) or "nobody") + more


def contract_words(topic: Topic) -> str:
    """A contract in a few words; what it leaves open goes without saying."""
    one: Contract = topic.contract
    parts = [one.delivery, f"order {one.order}"]
    if one.within_ms is not None:
        parts.append(f"within {one.within_ms:g} ms with probability {one.probability:g}")
    if one.priority:
        parts.append(f"priority {one.priority}")
    if one.home is not None:
        parts.append(f"home {one.home}")
    parts += ["over two paths"] * (one.paths > 1) + ["retained"] * one.retained
    parts += ["inside its domain"] * (topic.scope == "domain")
    parts += [f"protocol {topic.protocol}"] if topic.protocol else []
    return ", ".join(parts)


def _requirements(federation: Federation) -> list[tuple[str, str]]:
    wanted = federation.requirements
    found = []
    if wanted.survive.links:
        found.append(("links that may be down at once", str(wanted.survive.links)))
    if wanted.survive.brokers:
        found.append(("brokers that may be down at once", str(wanted.survive.brokers)))
    if wanted.regions is not None:
        found.append(("radius of a disaster", f"{wanted.regions.radius_km:g} km"))
    return found


def _grounds(federation: Federation) -> list[Block]:
    """Sites, and what is required."""
    found: list[Block] = []
    if federation.sites:
        counts = Counter(one.site for one in federation.brokers.values())
        rows = [
            (name, ", ".join(f"{x:g}" for x in one.at or one.xy or ()) or "-", str(counts[name]))
            for name, one in federation.sites.items()
        ]
        found.append(table("Sites", ("site", "place", "brokers"), rows, words=(0, 1)))
    required = _requirements(federation)
    nothing = (("nothing", "the file states no requirements"),)
    return [*found, Entries("What is required", tuple(required) or nothing)]
