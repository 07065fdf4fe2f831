"""What a NATS server's configuration means: its accounts as brokers, and whom they connect to."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ropewalk.federation.readers.drafts import (
    BridgeDraft,
    BrokerDraft,
    Drafts,
    NatsFacts,
    TopicDraft,
)
from ropewalk.federation.readers.nats import settings
from ropewalk.federation.readers.nats.accounts import Accounts, read_accounts
from ropewalk.federation.readers.nats.addresses import CLIENT_PORT, advertised, listens, user_of
from ropewalk.federation.readers.nats.block import Block, unique
from ropewalk.federation.readers.nats.leaf import Leafs, number_logins, read_leafs
from ropewalk.federation.readers.nats.peers import Peers, read_cluster, read_gateway
from ropewalk.federation.readers.nats.refused import is_size
from ropewalk.federation.readers.nats.settings import WHY
from ropewalk.federation.readers.nats.syntax import NatsText, Unset
from ropewalk.federation.readers.whose import as_name, is_here
from ropewalk.federation.showing import label
from ropewalk.findings import Where

_ODD_DOMAIN = re.compile(r"[.*>]")


@dataclass(slots=True)
class Server:
    """A server's own facts."""

    host: str
    where: Where
    listens: list[tuple[str, int]] = field(default_factory=list)
    aliases: list[str] = field(default_factory=list)
    cluster: str = ""
    only: tuple[str, ...] | None = None
    secure: bool = False
    facts: NatsFacts | None = None


def read_server(text: NatsText, host: str, drafts: Drafts) -> None:
    """Draft a server: an account is a broker, a route, gateway, leaf or import a bridge."""
    top = Block(text, drafts, settings.TOP, (), text.value)
    server = _server(top, host)
    cluster, gateway = read_cluster(top), read_gateway(top)
    leafs = read_leafs(top)
    accounts = read_accounts(top, complete=text.complete)
    _take_in(server, cluster, gateway, leafs)
    server.facts = _facts(top, server, gateway, leafs, accounts, route_user=cluster.user)
    _compare(top, cluster, gateway, leafs, accounts)
    _door(top, "mqtt", server)
    _door(top, "websocket", server)
    _missing(top, gateway, leafs, accounts)
    _domain(top)
    top.rest()
    spaces = _spaces(accounts, leafs)
    names = draft_names(host, spaces)
    users = _users(accounts, leafs)
    for space in spaces:
        drafts.brokers.append(_draft(server, names[space], space, accounts, users))
    made = [*_peer_bridges(cluster, gateway, names), *_leaf_bridges(leafs, names, accounts)]
    made += [one.draft(names) for one in accounts.imports if one.importer in names]
    drafts.bridges += made
    open_to_peers = cluster.listens or gateway.listens or leafs.listens
    if made or open_to_peers:
        ends = tuple((names[space], None) for space in spaces)
        drafts.topics.append(
            TopicDraft(
                name="#", where=server.where, publishers=ends, subscribers=ends, assumed=True
            )
        )


def draft_names(host: str, spaces: list[str]) -> dict[str, str]:
    """What the brokers of a server's accounts are called, each by a name of its own."""
    names: dict[str, str] = {}
    for space in spaces:
        plain = as_name(space)
        name = f"{plain}@{host}" if space else host
        while name in names.values():
            plain += "_"
            name = f"{plain}@{host}"
        names[space] = name
    return names


def _server(top: Block, host: str) -> Server:
    server = Server(host=host, where=Where(top.where.file, 1))
    server.listens = [listens(top, CLIENT_PORT) or ("", CLIENT_PORT)]
    if top.has("listen") and (top.has("port") or top.has("host")):
        what = "listen and port or host are both here, and which of them counts is left to chance"
        top.drafts.warn(top.place("listen"), "C020", f"{what}: keep listen alone")
    if name := top.name("server_name"):
        server.aliases.append(name)
        place = top.place("server_name")
        server.where = place if place.file == server.where.file else server.where
    if where := advertised(top, "client_advertise"):
        server.aliases.append(where)
    server.secure = isinstance(top.take("tls"), dict)
    top.leave("tls")
    return server


def _take_in(server: Server, cluster: Peers, gateway: Peers, leafs: Leafs) -> None:
    """What other blocks say of where the server is, and of its cluster."""
    server.cluster, server.only = cluster.name or gateway.name, gateway.only
    for one in (cluster, gateway, leafs):
        server.listens += [one.listens] if one.listens is not None else []
        server.aliases += [one.advertise] if one.advertise else []


def _facts(
    top: Block,
    server: Server,
    gateway: Peers,
    leafs: Leafs,
    accounts: Accounts,
    *,
    route_user: int,
) -> NatsFacts:
    """What decides whether another server is let in."""
    own = leafs.named is not None or leafs.keyed
    known = leafs.named or {} if own else accounts.users
    opaque = not own and (accounts.opaque or _by_certificate(top))
    return NatsFacts(
        whole=not accounts.elsewhere,
        name=next(iter(server.aliases), "") if top.has("server_name") else "",
        gateway=gateway.name if gateway.where.file else None,
        route_user=route_user,
        asks=own or accounts.asks,
        logins=None if opaque else frozenset(known),
        unlisted=leafs.unlisted,
    )


def _by_certificate(top: Block) -> bool:
    """Whether a certificate may stand for a user."""
    return "verify_and_map" in f"{top.take('tls')}{top.take('leafnodes')}".lower()


def _door(top: Block, name: str, server: Server) -> None:
    """Where MQTT or WebSocket clients come in: other brokers' bridges and leaf nodes may, too."""
    block = top.block(name, settings.DOOR)
    if block is None:
        return
    found = listens(block, None)
    if found is not None:
        server.listens.append(found)
        if name == "websocket" and not block.has("tls") and block.take("no_tls") in (None, False):
            what = "websocket has no tls, so the server does not start"
            top.drafts.warn(top.place(name), "C020", f"{what}: write tls {{ }}, or no_tls: true")
    block.leave("no_tls")
    block.rest()


def _domain(top: Block) -> None:
    """JetStream's domain keeps streams of leaf nodes apart; it is worth its own note."""
    if isinstance(top.take("jetstream"), dict):
        block = top.block("jetstream", settings.JETSTREAM)
        domain = block.text("domain") if block is not None else ""
        if block is not None:
            _sizes(block)
            block.skip(*settings.JETSTREAM.values())
            block.rest()
        if _ODD_DOMAIN.search(domain):
            what = f"the domain {label(domain)} has a dot or wildcard, so the server does not start"
            top.drafts.warn(top.place("jetstream"), "C020", f"{what}: write - instead")
        what = f"jetstream in domain {label(domain)}" if domain else "jetstream"
        top.drafts.aside(top.place("jetstream"), what, WHY["jetstream"])
    else:
        if _said_of_jetstream(top) is None:
            top.wrong("jetstream", "enabled or disabled, true or false, or a map")
        top.leave("jetstream")


def _sizes(jetstream: Block) -> None:
    for name in ("max_mem", "max_file"):
        value = jetstream.take(name)
        if isinstance(value, str) and not isinstance(value, Unset) and not is_size(value):
            jetstream.wrong(name, "a size such as 10G (with K, M, G or T)")


def _said_of_jetstream(top: Block) -> bool | None:
    """Whether JetStream is on; None if the server refuses what stands there."""
    said = top.take("jetstream")
    if isinstance(said, dict):
        return next((one for key, one in said.items() if key.lower().startswith("enable")), True)
    if isinstance(said, Unset):
        return True
    words = {"enabled": True, "enable": True, "disabled": False, "disable": False}
    if isinstance(said, str):
        return words.get(said.lower())
    return said if isinstance(said, bool) else (None if top.has("jetstream") else False)


def _missing(top: Block, gateway: Peers, leafs: Leafs, accounts: Accounts) -> None:
    """What must stand beside other settings, though nats-server -t does not ask for it."""
    if accounts.elsewhere:
        return
    if gateway.name and leafs.listens is not None and not top.has("system_account"):
        what = "leafnodes beside a gateway need a system account, so the server does not start"
        advice = "write system_account: NAME, and the account"
        top.drafts.warn(gateway.where, "C020", f"{what}: {advice}")
    alone = not any(top.has(one) for one in ("cluster", "gateway", "leafnodes"))
    if alone and top.has("mqtt") and _said_of_jetstream(top) is False:
        what = "mqtt needs JetStream in a server that stands alone, so it does not start"
        top.drafts.warn(top.place("mqtt"), "C020", f"{what}: write jetstream {{ }}")


def _compare(top: Block, cluster: Peers, gateway: Peers, leafs: Leafs, accounts: Accounts) -> None:
    """Settings that are good alone and not together."""
    drafts = top.drafts
    if gateway.name and cluster.name and gateway.name != cluster.name:
        what = f"gateway {label(gateway.name)} and cluster {label(cluster.name)} differ in name"
        drafts.warn(gateway.where, "C020", f"{what}, so the server does not start: use one name")
    named = cluster.name or gateway.name or cluster.hidden or gateway.hidden
    if cluster.routes and not named:
        what = "the cluster has no name, so its servers agree on one by chance"
        drafts.warn(cluster.where, "C020", f"{what}: write name: NAME into cluster {{ }}")
    # On one machine another port is another server.
    near = {one.host for one in cluster.routes if not is_here(one.host)}
    for leaf in leafs.remotes:
        if near & {one.host for one in leaf.far}:
            what = (
                "this leaf node connects to its own cluster: the server finds a loop and drops it"
            )
            drafts.warn(leaf.where, "C020", f"{what}; remove it, or connect to another cluster")
        if not accounts.known(leaf.account):
            what = f"there is no account {label(leaf.account)}, so the server does not start"
            advice = "add it to accounts { }, though nats-server -t accepts it as it is"
            drafts.warn(leaf.account_where, "C020", f"{what}: {advice}")
    for account, where in leafs.logins:
        if account and not accounts.known(account):
            what = f"there is no account {label(account)}, so the server does not start"
            drafts.warn(where, "C020", f"{what}: add it to accounts {{ }}")


def _spaces(accounts: Accounts, leafs: Leafs) -> list[str]:
    """The server's accounts that take part; the global one is the empty name."""
    bound = [one.account for one in leafs.remotes] + [one for one, _ in leafs.logins]
    joined = [end for one in accounts.imports for end in (one.importer, one.exporter)]
    part = unique([*accounts.with_users, *bound, *joined])
    if accounts.global_used or "" in part or not part:
        part = unique(["", *part])
    return [one for one in part if not accounts.is_system(one)]


def _users(accounts: Accounts, leafs: Leafs) -> dict[int, str]:
    """Accounts by those who log in as leaf nodes, or do not log in."""
    if leafs.named is not None:
        return leafs.named
    unnamed = {} if leafs.unnamed is None else {user_of(""): leafs.unnamed}
    return {**unnamed, **accounts.users}


def _draft(
    server: Server, name: str, space: str, accounts: Accounts, users: Mapping[int, str]
) -> BrokerDraft:
    return BrokerDraft(
        name=name,
        make="nats",
        where=_in_own_file(accounts.places.get(space), server),
        host=server.host,
        space=space,
        listens=tuple(dict.fromkeys(one for one in server.listens if one[1])),
        aliases=tuple(unique(one for one in server.aliases if one)),
        cluster=server.cluster,
        only=server.only,
        secure=server.secure,
        users=frozenset(user for user, account in users.items() if account == space),
        elsewhere=accounts.elsewhere and not accounts.places,
        nats=server.facts,
    )


def _in_own_file(place: Where | None, server: Server) -> Where:
    """Where an account is written; servers may share an included file, so it says nothing."""
    return place if place is not None and place.file == server.where.file else server.where


def _peer_bridges(cluster: Peers, gateway: Peers, names: dict[str, str]) -> list[BridgeDraft]:
    """Routes and gateways carry all accounts: one stands for them."""
    if not names:
        return []
    space, at = next(iter(names.items()))
    return cluster.drafts(at, space) + gateway.drafts(at, space)


def _leaf_bridges(leafs: Leafs, names: dict[str, str], accounts: Accounts) -> list[BridgeDraft]:
    made: list[BridgeDraft] = []
    taken: set[tuple[str, str]] = set()
    number_logins(one for one in leafs.remotes if not accounts.is_system(one.account))
    for leaf in leafs.remotes:
        if accounts.is_system(leaf.account):
            leafs.drafts.aside(leaf.where, "leaf node of the system account", "no topics of yours")
        elif leaf.far and leaf.account in names:
            made += leaf.drafts(names[leaf.account], taken)
    return made
