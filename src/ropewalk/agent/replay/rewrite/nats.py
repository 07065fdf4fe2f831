"""NATS' files for the lab: its own ports, no TLS, a made-up login for every account."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import SplitResult, urlsplit

from ropewalk.agent.lab.ports import HOST
from ropewalk.agent.replay.cast import Actor, Link, Script
from ropewalk.agent.replay.doors import Doors, files_of
from ropewalk.agent.replay.rewrite.nats_logins import GLOBAL, known, login_at, logins
from ropewalk.agent.replay.rewrite.nats_read import NatsFile
from ropewalk.agent.replay.rewrite.nats_text import Tree, dump, inside, lowered, maps, texts
from ropewalk.agent.replay.rewrite.notes import Notes, table

USES = ("client", "leaf", "http", "cluster", "gateway")
DEFAULTS = {"leaf": 7422, "cluster": 6222, "gateway": 7222}

_PORTS = "the lab has its own ports"
_SECRETS = "in the lab every account has one user of the lab's, without TLS"
_STREAMS = "the lab has no streams: what is counted are plain messages"
_OTHER = "the lab does not have it"
_WHY = table(
    (
        _PORTS,
        "port host net addr listen client_advertise advertise cluster_advertise http https"
        " http_port https_port monitor_port http_base_path websocket ws mqtt",
    ),
    (
        _SECRETS,
        "tls authorization operator operators roots root resolver resolver_tls resolver_preload"
        " resolver_pinned_accounts trusted trusted_keys no_auth_user nkey nkeys credentials creds"
        " cred users user password username allow_non_tls ocsp ocsp_cache auth_callout token",
    ),
    (_STREAMS, "jetstream store_dir storedir stores default_js_domain"),
)
_KEPT = {
    "": table(
        (
            "routing",
            "max_payload max_control_line max_pending write_deadline mappings maps system_account"
            " system no_system_account cluster gateway leafnodes leaf accounts"
            " disable_sublist_cache no_fast_producer_stall",
        )
    ),
    "account": table(("routing", "imports exports mappings maps default_permissions")),
    "cluster": table(
        ("routing", "name no_advertise pool_size accounts compression permissions routes")
    ),
    "gateway": table(("routing", "name reject_unknown reject_unknown_cluster gateways")),
    "leafnodes": table(
        (
            "routing",
            "no_advertise isolate_leafnode_interest isolate compression min_version remotes",
        )
    ),
    "remote": table(
        (
            "routing",
            "account local hub deny_imports deny_import deny_exports deny_export no_randomize"
            " dont_randomize compression disabled request_isolation isolate"
            " isolate_leafnode_interest ignore_discovered_servers",
        )
    ),
}
"""What decides which way messages go, by the block it is in."""


def rewrite_nats(
    actor: Actor, servers: Mapping[str, NatsFile], doors: Doors, *, secret: str
) -> Script:
    """A NATS server's configuration as the lab runs it; `servers`: those of all servers."""
    trees = {name: lowered(one.tree) for name, one in servers.items()}
    writer = _Writer(actor, trees, doors, secret)
    made = writer.server()
    return Script(
        text=dump(made),
        left_out=(*servers[actor.name].told, *writer.notes.told()),
        links=tuple(writer.links),
    )


def server_name(name: str) -> str:
    """A name that a server can have: it must not hold white space."""
    return "_".join(name.split())


class _Writer:
    def __init__(self, actor: Actor, trees: Mapping[str, Tree], doors: Doors, secret: str) -> None:
        self.actor, self.tree = actor, trees[actor.name]
        self.hubs = {name: known(one) for name, one in trees.items()}
        self.doors, self.secret = doors, secret
        self.ports = doors.ports[actor.name]
        self.who = self.hubs[actor.name]
        self.notes = Notes(actor.name)
        self.links: list[Link] = []

    def server(self) -> dict[str, Any]:
        made = self._kept(self.tree, "")
        made |= {"server_name": server_name(self.actor.name), "host": HOST}
        made |= {"port": self.ports["client"], "http": f"{HOST}:{self.ports['http']}"}
        for block, one in (
            ("cluster", self._cluster()),
            ("gateway", self._gateway()),
            ("leafnodes", self._leafnodes()),
        ):
            made.pop({"leafnodes": "leaf"}.get(block, block), None)
            made.pop(block, None)
            if one:
                made[block] = one
        made["authorization"] = {"users": list(logins(self.who, GLOBAL, self.secret))}
        made["accounts"] = self._accounts()
        return made

    def _kept(self, tree: Tree, block: str) -> dict[str, Any]:
        """The settings of a block that the lab has too; the servers are told."""
        label = f"{block}." if block else ""
        for key in tree:
            if key not in _KEPT[block] and key not in ("server_name", "url", "urls"):
                self.notes.add(f"{label}{key}", _WHY.get(key, _OTHER))
        return {key: value for key, value in tree.items() if key in _KEPT[block]}

    # --- accounts ---

    def _accounts(self) -> dict[str, Any]:
        made = {}
        for name in self._names():
            given = self.who.accounts.get(name, {})
            made[name] = self._kept(given, "account")
            made[name]["users"] = list(logins(self.who, name, self.secret))
        return made

    def _names(self) -> list[str]:
        """Accounts that are written, or used although only an operator's files define them."""
        named = [
            *self.who.accounts,
            *texts(self.tree, "system_account", "system"),
            *self.actor.spaces.values(),
            *_remotes_accounts(self.tree),
            *self.who.users.values(),
            self.who.leaves,
        ]
        return [one for one in dict.fromkeys(named) if one and one != GLOBAL]

    # --- ports of its own, and connections to servers ---

    def _listens(self, block: Tree, use: str) -> dict[str, Any]:
        """Its port of a use: one that is not asked for is not opened by NATS either."""
        asked = "port" in block or "listen" in block
        return {"host": HOST, "port": self.ports[use]} if asked else {}

    def _cluster(self) -> dict[str, Any]:
        given = inside(self.tree, "cluster")
        made = self._kept(given, "cluster") | self._listens(given, "cluster")
        rights = inside(given, "authorization")
        if granted := next(
            (rights[one] for one in ("permissions", "default_permissions") if one in rights), None
        ):
            made.setdefault("permissions", granted)
        if "routes" in made:
            made["routes"] = [self._route(one) for one in texts(given, "routes")]
        return made

    def _route(self, written: str) -> str:
        server, port = self._door(_split(written), "cluster")
        if server and server != self.actor.name:
            self._link("route", server, (server,), (port,))
        return f"nats-route://{HOST}:{port}"

    def _gateway(self) -> dict[str, Any]:
        given = inside(self.tree, "gateway")
        made = self._kept(given, "gateway") | self._listens(given, "gateway")
        if "gateways" in made:
            own = str(given.get("name", ""))
            made["gateways"] = [self._far(one, own) for one in maps(given["gateways"])]
        return made

    def _far(self, given: Tree, own: str) -> dict[str, Any]:
        name = str(given.get("name", ""))
        doors = [self._door(_split(one), "gateway") for one in texts(given, "url", "urls")]
        servers = tuple(server for server, _ in doors if server)
        if servers and name != own:
            self._link("gateway", name, servers, tuple(port for one, port in doors if one))
        return {"name": name, "urls": [f"nats://{HOST}:{port}" for _, port in doors]}

    def _leafnodes(self) -> dict[str, Any]:
        given = inside(self.tree, "leafnodes", "leaf")
        made = self._kept(given, "leafnodes") | self._listens(given, "leaf")
        if "remotes" in made:
            made["remotes"] = [self._remote(one) for one in maps(given["remotes"])]
        return made

    def _remote(self, given: Tree) -> dict[str, Any]:
        made = self._kept(given, "remote")
        own = next(iter(texts(given, "account", "local")), "")
        with_secret = any(one in given for one in ("credentials", "creds", "nkey", "seed"))
        urls, to = [], []
        for written in texts(given, "url", "urls"):
            address = _split(written)
            server, port = self._door(address, "leaf")
            urls.append(
                f"nats-leaf://{self._login(address, server, own, with_secret)}{HOST}:{port}"
            )
            to += [(server, port)] if server else []
        if to and not given.get("disabled"):
            servers, ports = tuple(one for one, _ in to), tuple(port for _, port in to)
            self._link("leaf", own or GLOBAL, servers, ports)
        return {**made, "urls": urls}

    def _login(self, address: SplitResult, server: str | None, own: str, with_secret: bool) -> str:
        if server is None or server not in self.hubs:
            return ""
        account, user = login_at(self.hubs[server], address, own, with_secret=with_secret)
        if with_secret:
            self.notes.add(f"leafnodes.remote to {server}", f"logs in to account {account} there")
        return f"{user}:{self.secret}@"

    def _door(self, address: SplitResult, use: str) -> tuple[str | None, int]:
        host, port = address.hostname or "", _port(address) or DEFAULTS[use]
        server, door = self.doors.door(files_of(self.actor), host, port, use)
        if server is None:
            self.notes.add(f"address {host}:{port}", "no server of the replay is known by it")
        return server, door

    def _link(self, kind: str, name: str, to: tuple[str, ...], ports: tuple[int, ...]) -> None:
        self.links.append(Link(server=self.actor.name, name=name, kind=kind, to=to, ports=ports))


def _remotes_accounts(tree: Tree) -> list[str]:
    remotes = maps(inside(tree, "leafnodes", "leaf").get("remotes"))
    return [account for one in remotes for account in texts(one, "account", "local")]


def _split(written: str) -> SplitResult:
    """An address as NATS writes it, with or without a scheme."""
    try:
        return urlsplit(written if "://" in written else f"nats://{written}")
    except ValueError:
        return urlsplit("nats://")


def _port(address: SplitResult) -> int | None:
    try:
        return address.port
    except ValueError:
        return None
