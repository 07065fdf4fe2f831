"""Leaf nodes: connections to a hub for one account each, and what may not cross them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from ropewalk.federation.bridges import Choice
from ropewalk.federation.readers.drafts import Address, BridgeDraft, Drafts
from ropewalk.federation.readers.nats import settings
from ropewalk.federation.readers.nats.addresses import (
    CLIENT_PORT,
    LEAF_PORT,
    Url,
    address,
    advertised,
    listens,
    tell_twice,
    user_of,
)
from ropewalk.federation.readers.nats.block import Block, unique
from ropewalk.federation.readers.nats.subjects import denied
from ropewalk.federation.showing import shown
from ropewalk.findings import Where

GLOBAL = "$G"
TURNING = ("hub", "ignore_discovered_servers")


@dataclass(slots=True, kw_only=True)
class Remote:
    """A connection to a hub."""

    where: Where
    account: str
    account_where: Where
    far: list[Address]
    choice: Choice
    not_out: list[str]
    not_in: list[str]
    user: int = field(repr=False)
    """Tells logins apart."""
    turned: dict[str, Where]
    """Settings with their places that say who is the hub, and whom it learns of."""

    def drafts(self, at: str, taken: set[tuple[str, str]]) -> list[BridgeDraft]:
        """One bridge, or one for each direction where they carry different topics."""
        one = BridgeDraft(
            at=at,
            far=tuple(self.far),
            name=self._name(at, taken),
            kind="leaf",
            where=self.where,
            direction="both",
            excepts=tuple(self.not_out),
            choice=self.choice,
            lines={"addresses": self.far[0].where, **self.turned},
        )
        if self.not_out == self.not_in:
            return [one]
        ways = [
            replace(one, direction="out"),
            replace(one, direction="in", excepts=tuple(self.not_in)),
        ]
        return [way for way in ways if "#" not in way.excepts]

    def _name(self, at: str, taken: set[tuple[str, str]]) -> str:
        names = [self.far[0].host, *(f"{self.far[0].host}_{i}" for i in range(2, 10_000))]
        name = next(one for one in names if (at, one) not in taken)
        taken.add((at, name))
        return name


@dataclass(slots=True)
class Leafs:
    """What `leafnodes` says; empty if there is none."""

    drafts: Drafts
    listens: tuple[str, int] | None = None
    advertise: str = ""
    remotes: list[Remote] = field(default_factory=list)
    logins: list[tuple[str, Where]] = field(default_factory=list)
    """Accounts that connections from leaf nodes may be bound to, with their places."""
    unnamed: str | None = None
    """The account of those that do not log in, if it is said here."""
    keyed: bool = False
    """Whether a key of its own is asked for here."""
    unlisted: bool = False
    """Whether leaf nodes do not hear of this server from others."""
    known: dict[int, Where] = field(default_factory=dict, repr=False)
    """Remotes, by what the server tells them by."""
    named: dict[int, str] | None = None
    """Accounts of users who log in here as leaf nodes, if these have logins of their own."""


def read_leafs(top: Block) -> Leafs:
    """What `leafnodes` says; without a port the server listens to no leaf nodes."""
    found = Leafs(top.drafts)
    block = top.block("leafnodes", settings.LEAFNODES)
    if block is None:
        return found
    found.listens = listens(block, None)
    found.advertise = advertised(block, "advertise")
    found.unlisted = block.flag("no_advertise")
    _logins(block, found)
    for one in block.blocks("remotes", settings.REMOTE):
        _remote(one, found)
    if block.has("tls"):
        block.leave("tls")
    block.rest()
    silent = found.listens is None and not any(block.has(one) for one in ("port", "listen"))
    if silent and not found.remotes and not block.has("remotes"):
        what = "leafnodes has no port, so the server listens to none: 7422 is no default"
        top.drafts.warn(top.place("leafnodes"), "C020", f"{what}; write port: {LEAF_PORT} into it")
    return found


def _logins(block: Block, found: Leafs) -> None:
    logins = block.block("authorization", settings.LEAF_LOGINS)
    if logins is None:
        return
    block.drafts.aside(block.place("authorization"), "authorization", "who may log in")
    if account := logins.text("account"):
        found.logins.append((_space(account), logins.place("account")))
        found.unnamed = _space(account)
    if name := logins.text("user"):
        found.named = {user_of(name): _space(account)}
    for user in logins.blocks("users", settings.LEAF_LOGIN):
        account = user.text("account")
        found.logins.append((_space(account), user.where))
        found.named = {**(found.named or {}), user_of(user.text("user")): _space(account)}
        user.skip("password", "proxy_required")
        user.rest()
    found.keyed = logins.has("nkey")
    logins.skip("password", "timeout", "nkey", "proxy_required")
    logins.rest()


def _space(account: str) -> str:
    return "" if account == GLOBAL else account


def _remote(one: Block, found: Leafs) -> None:
    """A remote; who logs in with what is told without its value."""
    listed = one.texts("url")
    far, urls = _far(one, listed)
    ordered = one.flag("no_randomize")
    account = _space(one.text("account"))
    _tell_alike(one, [text for text, _ in listed], account, found)
    user = hash((one.text("credentials"), one.text("nkey"), *sorted({url.user for url in urls})))
    if not any(url.login for url in urls) and not one.has("credentials") and not one.has("nkey"):
        far = [replace(at, user=user_of("")) for at in far]
    one.leave("credentials")
    if one.has("nkey") or any(url.login for url in urls):
        why = "the account at the hub depends on the user it logs in as"
        one.drafts.aside(one.where, "login at the hub", why)
    remote = Remote(
        where=one.where,
        account=account,
        account_where=one.place("account"),
        far=far,
        choice="next" if ordered else "any",
        not_out=_denied(one, "deny_exports"),
        not_in=_denied(one, "deny_imports"),
        user=user,
        turned={name: one.place(name) for name in TURNING if one.flag(name)},
    )
    if one.flag("disabled"):
        one.drafts.aside(one.where, "remote that is disabled", "it does not connect")
        remote.far = []
    one.rest()
    if len(remote.far) > 1 and "hub" in remote.turned:
        why = "the first that is not refused is taken for the one it stays with"
        one.drafts.aside(one.place("url"), "further URLs of a remote with hub: true", why)
    elif len(remote.far) > 1 and not ordered:
        what = "the first of these URLs is picked at random, and not in the order they are written"
        advice = "write no_randomize: true for their order"
        one.drafts.note(one.place("url"), "C020", f"{what}: {advice}")
    found.remotes.append(remote)


def _tell_alike(one: Block, urls: Sequence[str], account: str, found: Leafs) -> None:
    """A remote that is there already, by its URLs, account and credentials."""
    if one.take("url") in (None, []):
        what = "this remote has no URL, so it connects to nothing"
        one.drafts.warn(one.where, "C020", f"{what}: write url: nats-leaf://HOST:{LEAF_PORT}")
        return
    told = hash((*urls, account, one.text("credentials")))
    if told in found.known and urls:
        what = f"this remote stands at {found.known[told]} as well (duplicate remote)"
        one.drafts.fault(one.where, "C005", f"{what}: remove one of them")
    found.known.setdefault(told, one.where)


def number_logins(remotes: Iterable[Remote]) -> None:
    """Tell those apart that log in at one host and port as others, none of them by name."""
    users: dict[tuple[str, int], list[int]] = {}
    for one in remotes:
        for at in one.far[:1]:
            known = users.setdefault((at.host, at.port), [])
            known += [one.user] if one.user not in known else []
            one.far = [replace(each, login=known.index(one.user)) for each in one.far]


def _far(one: Block, listed: Sequence[tuple[str, Where]]) -> tuple[list[Address], list[Url]]:
    secure = isinstance(one.take("tls"), dict)
    one.leave("tls")
    tell_twice(listed, "leafnode", one.drafts)
    made = [
        pair
        for text, where in listed
        if (
            pair := address(
                text, where, one.drafts, kind="leafnode", default=LEAF_PORT, secure=secure
            )
        )
    ]
    far = list({(at.host, at.port): at for at, _ in made}.values())
    for at in far:
        if at.port == CLIENT_PORT:
            what = f"{at.port} is the port for clients: the server there refuses leaf nodes on it"
            one.drafts.warn(
                at.where, "C020", f"{what}; write the port of its leafnodes, {LEAF_PORT}"
            )
    if len({url.scheme in ("ws", "wss") for _, url in made}) > 1:
        what = "WebSocket URLs and others are mixed, so the server does not start"
        one.drafts.warn(one.place("url"), "C020", f"{what}: write two remotes")
    return far, [url for _, url in made]


def _denied(one: Block, name: str) -> list[str]:
    found: list[str] = []
    for subject, where in one.subjects(name):
        pattern = denied(subject)
        if pattern is None:
            one.drafts.aside(where, f"{name} {shown(subject)}", "no topic has such a name")
        else:
            found.append(pattern)
    return _in_order(found)


def _in_order(patterns: Sequence[str]) -> list[str]:
    return sorted(unique(patterns))
