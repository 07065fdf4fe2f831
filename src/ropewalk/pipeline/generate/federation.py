"""The federation file of a generated trace, and its protocol."""

from pathlib import Path
from typing import Any

from ropewalk.federation.dump import dump_plain
from ropewalk.pipeline.generate.plan import MS, PROTOCOL, PROTOCOL_TEXT, SITES, TOPIC_KINDS
from ropewalk.pipeline.generate.world import World


def write_federation(world: World, folder: Path) -> None:
    """Write `federation.yaml` and `protocols/order-entry.yaml`."""
    text = dump_plain(federation_of(world))
    (folder / "federation.yaml").write_text(text, encoding="utf-8")
    (folder / "protocols").mkdir()
    (folder / "protocols" / f"{PROTOCOL}.yaml").write_text(PROTOCOL_TEXT, encoding="utf-8")


def federation_of(world: World) -> dict[str, Any]:
    """The sections of the federation file."""
    brokers = world.brokers
    return {
        "federation": f"generated-{world.size.seed}",
        "sites": {site: {"at": list(SITES[site])} for site in brokers.sites},
        "brokers": {
            name: {"site": site} for name, site in zip(brokers.names, brokers.sites, strict=True)
        },
        "links": [
            {"between": [brokers.names[a], brokers.names[b]], "latency_ms": 4.0}
            for a, b in brokers.links
        ],
        "topics": {name: _topic(world, number) for number, name in enumerate(world.topics.names)},
        "protocols": {PROTOCOL: f"protocols/{PROTOCOL}.yaml"},
    }


def _topic(world: World, number: int) -> dict[str, Any]:
    topics, streams, routes, names = world.topics, world.streams, world.routes, world.brokers.names
    kind = TOPIC_KINDS[topics.kind[number]]
    contract: dict[str, Any] = {"delivery": kind.delivery, "order": kind.order}
    if topics.within_ns[number]:
        contract["within_ms"] = float(topics.within_ns[number] / MS)
    if kind.order == "total":
        contract["home"] = names[topics.home[number]]
    first, end = (streams.topic.searchsorted(one) for one in (number, number + 1))
    found: dict[str, Any] = {
        "publishers": [
            {"broker": names[streams.node[one]], "client": world.producers[streams.producer[one]]}
            for one in range(first, end)
        ],
        "subscribers": [
            {"broker": names[world.clients.node[one, 0]], "client": world.clients.names[one]}
            for one in routes.client[routes.first[number] : routes.first[number + 1]].tolist()
        ],
        "contract": contract,
    }
    return found | ({"protocol": PROTOCOL} if kind.protocol else {})
