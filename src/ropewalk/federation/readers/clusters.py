"""What NATS servers tell each other: every route of a cluster, every gateway between two.

A file names a few of its peers; the servers pass the names of all on. So routes join each two
servers of a cluster, and each server has a gateway of its own to every other cluster that gateways
lead to, also by way of a third, unless one of the two takes only those that its file names. Routes
and gateways carry all accounts.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, permutations

from ropewalk.federation.bridges import Bridge
from ropewalk.federation.readers.drafts import BrokerDraft

KEPT_TO_ITS_OWN = frozenset(("hub", "ignore_discovered_servers"))
"""Settings with which a leaf connection has the addresses of its file, and no others."""
Pair = tuple[int, int]
"""Two clusters, by their numbers."""


def with_gossip(bridges: Sequence[Bridge], brokers: dict[str, BrokerDraft]) -> Iterator[Bridge]:
    """Bridges as they come to be: those that are no NATS connections stay as they are."""
    routes = [one for one in bridges if one.kind == "route"]
    gateways = [one for one in bridges if one.kind == "gateway"]
    clusters = _clusters(routes, gateways, brokers)
    yield from (
        _wider(one, clusters, brokers) for one in bridges if one.kind not in ("route", "gateway")
    )
    for servers in clusters:
        yield from _mesh(servers, routes, brokers)
    yield from _gateways(gateways, clusters, brokers)


def _clusters(
    routes: Sequence[Bridge], gateways: Sequence[Bridge], brokers: dict[str, BrokerDraft]
) -> list[list[str]]:
    """Servers that routes join, whatever they call their cluster, and those without routes."""
    of: dict[str, list[str]] = {}
    for one in brokers.values():
        if one.make == "nats":
            of.setdefault(one.host, [one.host])

    def merge(one: str, other: str) -> None:
        a, b = of[brokers[one].host], of[brokers[other].host]
        if a is not b:
            a += b
            of.update(dict.fromkeys(b, a))

    for route in routes:
        merge(route.from_, route.to)
    for gateway in gateways:
        for other in gateway.addresses:
            # All addresses of a gateway are of the one cluster that it leads to.
            if of[brokers[gateway.from_].host] is not of[brokers[other].host]:
                merge(gateway.to, other)
    return list({id(servers): servers for servers in of.values()}.values())


def _spaces(server: str, brokers: dict[str, BrokerDraft]) -> dict[str, str]:
    """A server's brokers by their account."""
    return {one.space: one.name for one in brokers.values() if one.host == server}


def _mesh(
    servers: list[str], routes: Sequence[Bridge], brokers: dict[str, BrokerDraft]
) -> Iterator[Bridge]:
    """A route between each two servers for each account; one, though both may ask for it."""
    asked: dict[frozenset[str], Bridge] = {}
    for one in routes:
        asked.setdefault(frozenset((brokers[one.from_].host, brokers[one.to].host)), one)
    members = [one for pair, one in asked.items() if pair <= set(servers)]
    for a, b in combinations(servers, 2):
        if _server_name(a, brokers) == _server_name(b, brokers) != "":
            continue  # they refuse each other
        route = asked.get(frozenset((a, b))) or (
            replace(members[0], name="gossip") if members else None
        )
        if route is None:
            continue
        here, there = _spaces(a, brokers), _spaces(b, brokers)
        if brokers[route.from_].host == b:
            here, there = there, here
        for account in here.keys() & there.keys():
            yield replace(
                route,
                from_=here[account],
                to=there[account],
                direction="both",
                addresses=(),
                reached_at=route.reached_at[:1],
            )


def _gateways(
    gateways: Sequence[Bridge], clusters: list[list[str]], brokers: dict[str, BrokerDraft]
) -> Iterator[Bridge]:
    """Each server's own gateway to each cluster that its cluster is joined to, one way."""
    for (a, b), one in _joined(gateways, clusters, brokers).items():
        for server in clusters[a]:
            for account, name in _spaces(server, brokers).items():
                far = [_spaces(other, brokers).get(account) for other in clusters[b]]
                there = [other for other in far if other is not None]
                if there:
                    yield replace(
                        one,
                        from_=name,
                        to=there[0],
                        addresses=tuple(there[1:]),
                        reached_at=one.reached_at if len(one.reached_at) == len(there) else (),
                        direction="out",
                        choice="any",
                    )


def _joined(
    gateways: Sequence[Bridge], clusters: list[list[str]], brokers: dict[str, BrokerDraft]
) -> dict[Pair, Bridge]:
    """Clusters, by number, with a gateway from one to the other: asked for, or by gossip."""
    number = {server: i for i, servers in enumerate(clusters) for server in servers}
    asked: dict[Pair, Bridge] = {}
    for one in gateways:
        a, b = number[brokers[one.from_].host], number[brokers[one.to].host]
        if a != b:
            asked.setdefault((a, b), one)
    names = _names(asked, clusters, brokers)
    only = [
        [one.only for one in brokers.values() if one.host in servers and one.only is not None]
        for servers in clusters
    ]

    def willing(a: int, b: int) -> bool:
        return all(names[b] in one for one in only[a]) and all(names[a] in one for one in only[b])

    joined = {pair: one for pair, one in asked.items() if willing(*pair)}
    for group in _groups(joined):
        first = next(pair for pair in joined if pair[0] in group)
        for a, b in permutations(group, 2):
            if (a, b) not in joined and willing(a, b):
                near = joined.get((b, a)) or joined[first]
                joined[a, b] = replace(near, name=names[b], reached_at=())
    return joined


def _names(
    asked: dict[Pair, Bridge], clusters: list[list[str]], brokers: dict[str, BrokerDraft]
) -> list[str]:
    """What clusters call themselves, or else are called by those that have a gateway to them."""
    names = [
        next((one.cluster for one in brokers.values() if one.host in servers and one.cluster), "")
        for servers in clusters
    ]
    for (_, b), one in asked.items():
        names[b] = names[b] or one.name or ""
    return [name or servers[0] for name, servers in zip(names, clusters, strict=True)]


def _groups(pairs: Iterable[Pair]) -> list[list[int]]:
    """Clusters that are joined, if only by way of others."""
    of: dict[int, set[int]] = {}
    for a, b in pairs:
        both = of.get(a, {a}) | of.get(b, {b})
        of.update(dict.fromkeys(both, both))
    return [sorted(group) for group in {id(group): group for group in of.values()}.values()]


def _wider(one: Bridge, clusters: list[list[str]], brokers: dict[str, BrokerDraft]) -> Bridge:
    """A leaf node learns the other servers of the cluster that it is connected to."""
    if one.kind != "leaf" or not KEPT_TO_ITS_OWN.isdisjoint(one.written):
        return one
    far = brokers[one.to]
    peers = next((servers for servers in clusters if far.host in servers), [])
    named = [_spaces(server, brokers).get(far.space) for server in peers]
    known = {one.to, *one.addresses}
    more = [name for name in named if name is not None and name not in known]
    more = [name for name in more if not _unlisted(brokers[name])]
    if not more:
        return one
    return replace(one, addresses=(*one.addresses, *more), reached_at=())


def _unlisted(one: BrokerDraft) -> bool:
    """Whether leaf nodes do not hear of a server."""
    return one.nats is not None and one.nats.unlisted


def _server_name(server: str, brokers: dict[str, BrokerDraft]) -> str:
    """What a server calls itself, if it has a file."""
    facts = next((one.nats for one in brokers.values() if one.host == server), None)
    return facts.name if facts is not None else ""
