"""A nats.conf for one server of a federation, and what cannot be said in one.

What others have in their files too is not repeated: routes and gateways that servers learn from
each other arise by themselves.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from ropewalk.export.nats_imports import subjects_of, with_imports
from ropewalk.export.nats_text import dump
from ropewalk.federation.bridges import Bridge
from ropewalk.federation.facts import Broker, Federation
from ropewalk.federation.readers.nats import settings
from ropewalk.federation.readers.nats.addresses import url_of
from ropewalk.federation.readers.nats.syntax import NatsText, Unset, parse_nats

PORTS = {"route": 6222, "gateway": 7222, "leaf": 7422}
NOBODY = "$2a$11$replace-this-by-what-nats-server-passwd-prints"  # a hash that nothing matches
_CANNOT = "NATS has routes, gateways, leaf nodes and imports only"
Tree = dict[str, Any]


def write_nats(
    federation: Federation,
    server: str,
    original: str | None,
    *,
    parts: Mapping[str, str] = MappingProxyType({}),
) -> tuple[str, list[str]]:
    """A server's configuration, and sentences on what it cannot say.

    What `original` says and a federation has no room for is kept by its values, with those of the
    files that it includes, as far as they are in `parts`.
    """
    writer = _Writer(federation, server, parts)
    tree = writer.opened(original) if original is not None else {}
    writer.write(tree, new=original is None)
    return dump(tree), list(dict.fromkeys(writer.tells))


@dataclass(slots=True)
class _Remote:
    """A leaf connection's ways of one name."""

    out: Bridge | None = None
    into: Bridge | None = None

    @property
    def any(self) -> Bridge:
        one = self.out or self.into
        if one is None:
            raise LookupError
        return one


@dataclass(slots=True)
class _Writer:
    federation: Federation
    server: str
    parts: Mapping[str, str]
    tells: list[str] = field(default_factory=list)

    @property
    def mine(self) -> dict[str, Broker]:
        return {
            name: one
            for name, one in self.federation.brokers.items()
            if (one.server or name) == self.server
        }

    # --- what was there ---------------------------------------------------------------------

    def opened(self, original: str) -> Tree:
        """The original's values, without variables: their values stand where they were used."""
        text: NatsText = parse_nats(original, self.server, include=self.parts.get)
        if text.included:
            self.tells.append("what the original includes stands in this file itself")
        if any(one.code == "C006" for one in text.findings):
            self.tells.append("files that the original includes are not a part of this one")
        if "#" in original or "//" in original.replace("://", ""):
            self.tells.append("the original's comments are not kept")
        return _plain(text.value, text) if isinstance(text.value, dict) else {}

    # --- the whole --------------------------------------------------------------------------

    def write(self, tree: Tree, *, new: bool) -> None:
        if new:
            tree["server_name"] = self.server
        self._listen(tree)
        held = [one for one in self.federation.bridges if one.from_ in self.mine]
        self._cluster(tree, [one for one in held if one.kind == "route"])
        self._gateway(tree, [one for one in held if one.kind == "gateway"])
        self._leafs(tree, [one for one in held if one.kind == "leaf"])
        self._accounts(tree, [one for one in held if one.kind == "import"], new=new)
        for one in held:
            if one.kind not in ("route", "gateway", "leaf", "import"):
                self.tells.append(f"{_called(one)} is of kind {one.kind}: {_CANNOT}")
            elif one.max_hops is not None:
                self.tells.append(f"{_called(one)}: NATS has no limit of {one.max_hops} hops")

    def _listen(self, tree: Tree) -> None:
        url = next((one.url for one in self.mine.values() if one.url), None)
        if url is None or any(_get(tree, settings.TOP, one) for one in ("listen", "port")):
            return
        parts = urlsplit(url)
        host = parts.hostname or ""
        host = host if host.replace(".", "").isdecimal() else "0.0.0.0"  # noqa: S104 - a DNS name
        tree["listen"] = f"{host}:{parts.port or 4222}"

    def _reached(self, kind: str) -> int | None:
        """The port that others connect to, None if nobody does."""
        for one in self.federation.bridges:
            ends = (one.to, *one.addresses)
            if one.kind != kind or one.from_ in self.mine:
                continue
            for i, end in enumerate(ends):
                if end in self.mine:
                    at = one.reached_at[i] if i < len(one.reached_at) else ""
                    return int(at.rpartition(":")[2] or PORTS[kind])
        return None

    def _urls(self, one: Bridge, known: dict[tuple[str, int], str]) -> list[str]:
        """URLs of a bridge's far ends; where the original has one it is kept with its user."""
        made = []
        for i, end in enumerate((one.to, *one.addresses)):
            place = one.reached_at[i] if i < len(one.reached_at) else self._place(end, one.kind)
            host, _, port = place.rpartition(":")
            secure = (self.federation.brokers[end].url or "").startswith("tls:")
            url = f"{'tls' if secure else 'nats'}://{place}"
            made.append(known.get((host.strip("[]"), int(port)), url))
        return list(dict.fromkeys(made))

    def _place(self, end: str, kind: str) -> str:
        url = self.federation.brokers[end].url
        host = urlsplit(url).hostname if url else None
        if not host or host == "0.0.0.0":  # noqa: S104 - it says nothing of where it is
            host = self.federation.brokers[end].server or end
            self.tells.append(f"{end} has no url: {host} is taken for its host")
        host = f"[{host}]" if ":" in host else host
        return f"{host}:{PORTS[kind]}"

    # --- routes and gateways ----------------------------------------------------------------

    def _cluster(self, tree: Tree, routes: Sequence[Bridge]) -> None:
        name = next((one.cluster for one in self.mine.values() if one.cluster), None)
        asked = [one for one in routes if one.name != "gossip"]
        port = self._reached("route")
        block = _block(tree, settings.TOP, "cluster")
        if not asked and port is None and not block:
            return
        known = _known(_get(block, settings.CLUSTER, "routes"))
        urls = list(dict.fromkeys(url for one in asked for url in self._urls(one, known)))
        own = [one for one in known.values() if self._leads_here(one)]
        if name is not None:
            _set(block, settings.CLUSTER, "name", name)
        if not _get(block, settings.CLUSTER, "listen") and not _get(
            block, settings.CLUSTER, "port"
        ):
            block["listen"] = f"0.0.0.0:{port or PORTS['route']}"
        kept = [one for one in known.values() if one in urls or one in own]
        kept += [one for one in urls if one not in kept]
        old = _get(block, settings.CLUSTER, "routes")
        unset = [one for one in old if isinstance(one, Unset)] if isinstance(old, list) else []
        if (kept or known) and not isinstance(old, Unset):
            _set(block, settings.CLUSTER, "routes", [*kept, *unset])
        _set(tree, settings.TOP, "cluster", block)

    def _leads_here(self, url: str) -> bool:
        """Whether a route of the original is the server's own, or comes about anyway."""
        at = url_of(url)
        if at is None:
            return True
        hosts = {self.server, *(_host(one.url) for one in self.mine.values())}
        return at.host in hosts or at.host.partition(".")[0] in hosts or at.host == "localhost"

    def _gateway(self, tree: Tree, gateways: Sequence[Bridge]) -> None:
        block = _block(tree, settings.TOP, "gateway")
        port = self._reached("gateway")
        if not gateways and port is None and not block:
            return
        name = next((one.cluster for one in self.mine.values() if one.cluster), self.server)
        _set(block, settings.GATEWAY, "name", name)
        if not _get(block, settings.GATEWAY, "listen") and not _get(
            block, settings.GATEWAY, "port"
        ):
            block["listen"] = f"0.0.0.0:{port or PORTS['gateway']}"
        old = [one for one in _get(block, settings.GATEWAY, "gateways") or [] if _is(one)]
        wanted: dict[str, Tree] = {}
        for one in gateways:
            far = one.name or self.federation.brokers[one.to].cluster or one.to
            before: Tree = next(
                (e for e in old if _get(e, settings.FAR_CLUSTER, "name") == far), {}
            )
            if far not in wanted:
                wanted[far] = self._far(one, far, before)
        kept = [one for one in old if _get(one, settings.FAR_CLUSTER, "name") == name]
        kept += [one for one in old if one not in kept and not _known(_gateway_urls(one))]
        if wanted or old:
            _set(block, settings.GATEWAY, "gateways", [*kept, *wanted.values()])
        _set(tree, settings.TOP, "gateway", block)

    def _far(self, one: Bridge, far: str, before: Tree) -> Tree:
        """A far cluster; of servers that its servers tell anyway one URL is enough."""
        known = _known(_gateway_urls(before))
        urls = list(known.values()) if known else self._urls(one, known)
        entry = {key: value for key, value in before.items() if key.lower() not in ("url", "urls")}
        return {"name": far, **entry, "urls": urls}

    # --- leaf nodes -------------------------------------------------------------------------

    def _leafs(self, tree: Tree, leafs: Sequence[Bridge]) -> None:
        block = _block(tree, settings.TOP, "leafnodes")
        port = self._reached("leaf")
        if not leafs and port is None and not block:
            return
        silent = not any(_get(block, settings.LEAFNODES, one) for one in ("listen", "port"))
        if port is not None and silent:
            block["listen"] = f"0.0.0.0:{port}"
        old = [one for one in _get(block, settings.LEAFNODES, "remotes") or [] if _is(one)]
        remotes = [self._remote(one, old) for one in self._grouped(leafs)]
        system = _get(tree, settings.TOP, "system_account") or "$SYS"
        kept = [one for one in old if _unread(one, system)]
        if remotes or old:
            _set(block, settings.LEAFNODES, "remotes", [*remotes, *kept])
        _set(tree, settings.TOP, "leafnodes", block)

    def _grouped(self, leafs: Sequence[Bridge]) -> Iterator[_Remote]:
        found: dict[tuple[str, str | None, str], _Remote] = {}
        for one in leafs:
            remote = found.setdefault((one.from_, one.name, one.to), _Remote())
            if one.direction in ("out", "both"):
                self._once(remote.out, one)
                remote.out = one
            if one.direction in ("in", "both"):
                self._once(remote.into, one)
                remote.into = one
        return iter(found.values())

    def _once(self, before: Bridge | None, one: Bridge) -> None:
        if before is not None:
            what = "a leaf node has one set of patterns for each direction"
            self.tells.append(f"{_called(one)} stands for several: {what}, so the last is written")

    def _remote(self, remote: _Remote, old: Sequence[Tree]) -> Tree:
        one = remote.any
        self._unsaid(remote)
        space = self.mine[one.from_].space
        before = self._before(one, space, old)
        known = _known(_many(_get(before, settings.REMOTE, "url")))
        urls = self._urls(one, known)
        listed = [url for url in urls if url in known.values()] if known else urls
        entry = dict(before)
        _drop(entry, settings.REMOTE, "url", "account", "deny_exports", "deny_imports")
        _drop(entry, settings.REMOTE, "no_randomize")
        made: Tree = {"urls": listed or urls}
        if space:
            made["account"] = space
        for name, way in (("deny_exports", remote.out), ("deny_imports", remote.into)):
            subjects = [">"] if way is None else list(_subjects(way.except_))
            if subjects:
                made[name] = subjects
        if one.choice == "next" or (len(made["urls"]) > 1 and one.choice == "first"):
            made["no_randomize"] = True
        return {**made, **entry}

    def _before(self, one: Bridge, space: str | None, old: Sequence[Tree]) -> Tree:
        """The original's remote with an address in common."""
        places = set(one.reached_at) or {self._place(one.to, "leaf")}
        for entry in old:
            known = _known(_many(_get(entry, settings.REMOTE, "url")))
            account = _get(entry, settings.REMOTE, "account") or ""
            same = (account if account != "$G" else "") == (space or "")
            if same and any(f"{host}:{port}" in places for host, port in known):
                return entry
        return {}

    def _unsaid(self, remote: _Remote) -> None:
        one = remote.any
        name = _called(one)
        if one.choice == "first" and one.addresses:
            what = "it stays with the address that it has, and does not return to the first"
            self.tells.append(f"{name}: {what}")
        for way in (remote.out, remote.into):
            if way is not None and way.patterns != ("#",):
                self.tells.append(
                    f"{name}: a leaf node carries all that is not denied: {way.patterns}"
                )
            if way is not None and (way.prefixes.local or way.prefixes.remote):
                self.tells.append(f"{name}: a leaf node does not rename topics")
        if self.federation.brokers[one.to].space or "$" in self.server:
            self.tells.append(f"{name}: add the login of a user of that account at {one.to}")

    # --- accounts ---------------------------------------------------------------------------

    def _accounts(self, tree: Tree, imports: Sequence[Bridge], *, new: bool) -> None:
        spaces = {name: one.space for name, one in self.mine.items()}
        accounts = _block(tree, settings.TOP, "accounts")
        for space in spaces.values():
            if space and space not in accounts and not _get(tree, settings.TOP, "operator"):
                users = [{"user": f"{space}-user", "password": NOBODY}]
                accounts[space] = {"users": users}
                self.tells.append(
                    f"account {space} has one user that cannot log in: set its password"
                )
        if new and accounts and None in spaces.values():
            users = [{"user": "user", "password": NOBODY}]
            tree["authorization"] = {"users": users}
            self.tells.append(
                "the global account has one user that cannot log in: set its password"
            )
        self.tells += with_imports(accounts, imports, spaces)
        if accounts:
            _set(tree, settings.TOP, "accounts", accounts)


# --- trees -----------------------------------------------------------------------------------


def _plain(value: Any, text: NatsText) -> Any:
    """Values without those that only variables stand for; nothing is shared."""
    if isinstance(value, dict):
        return {
            str(key): _plain(one, text)
            for key, one in value.items()
            if (id(value), key) not in text.used
        }
    if isinstance(value, list):
        return [_plain(one, text) for one in value]
    return value


def _get(tree: Tree, names: settings.Names, name: str) -> Any:
    return next((one for key, one in tree.items() if names.get(key.lower()) == name), None)


def _set(tree: Tree, names: settings.Names, name: str, value: Any) -> None:
    key = next((key for key in tree if names.get(key.lower()) == name), name)
    tree[key] = value


def _drop(tree: Tree, names: settings.Names, *dropped: str) -> None:
    for key in [key for key in tree if names.get(key.lower()) in dropped]:
        del tree[key]


def _block(tree: Tree, names: settings.Names, name: str) -> Tree:
    found = _get(tree, names, name)
    if isinstance(found, list):  # accounts may be a list of names
        return {one: {} for one in found if isinstance(one, str)}
    return found if isinstance(found, dict) else {}


def _unread(remote: Tree, system: Any) -> bool:
    """Whether a remote of the original is none of the federation's: it stays."""
    disabled = _get(remote, settings.REMOTE, "disabled") is True
    if disabled or _get(remote, settings.REMOTE, "account") == system:
        return True
    return not _known(_many(_get(remote, settings.REMOTE, "url")))


def _is(one: Any) -> bool:
    return isinstance(one, dict)


def _many(value: Any) -> list[str]:
    found = value if isinstance(value, list) else [value]
    return [one for one in found if isinstance(one, str) and not isinstance(one, Unset)]


def _gateway_urls(entry: Tree) -> list[str]:
    found = _many(_get(entry, settings.FAR_CLUSTER, "url"))
    return found + _many(_get(entry, settings.FAR_CLUSTER, "urls"))


def _known(urls: Any) -> dict[tuple[str, int], str]:
    """The original's URLs by host and port."""
    found: dict[tuple[str, int], str] = {}
    for text in _many(urls):
        at = url_of(text)
        if at is not None:
            found.setdefault((at.host, at.port or PORTS["leaf"]), text)
    return found


def _subjects(patterns: Sequence[str]) -> Iterator[str]:
    for one in patterns:
        yield from subjects_of(one)


def _host(url: str | None) -> str:
    return (urlsplit(url).hostname if url else None) or ""


def _called(one: Bridge) -> str:
    return f"{one.name or one.kind} of {one.from_}"
