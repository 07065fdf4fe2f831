"""Accounts of a NATS server: who uses them, and what they import from each other."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ropewalk.federation.readers.drafts import BridgeDraft, Drafts
from ropewalk.federation.readers.nats import settings
from ropewalk.federation.readers.nats.addresses import user_of
from ropewalk.federation.readers.nats.block import Block, unique
from ropewalk.federation.readers.nats.cycles import Taken, cycles
from ropewalk.federation.readers.nats.leaf import GLOBAL
from ropewalk.federation.readers.nats.refused import is_subject
from ropewalk.federation.readers.nats.subjects import Renaming, prefixed, renamed, within
from ropewalk.federation.showing import label, shown
from ropewalk.findings import Where

SYSTEM = "$SYS"
_NAMES = ("user", "username", "nkey")
"""What tells a user of a list."""
_LIMITS = {"permissions", "permission", "authorization", "default_permissions"}
_PLACEHOLDER = re.compile(r"\{\{[^}]*\}\}|\$\d+")
_SINGLE = ("user", "username", "token")
"""Of `authorization`: a login that is the only one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """A subject that an account offers, and to whom if not to all."""

    account: str
    kind: str
    subject: str
    to: frozenset[str] | None
    where: Where


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """A subject that an account takes from another, or (a service) sends to it."""

    importer: str
    exporter: str
    kind: str
    renaming: Renaming
    where: Where

    def draft(self, names: dict[str, str]) -> BridgeDraft:
        """Inside the server: it knows both ends by their drafts' names."""
        return BridgeDraft(
            at=names[self.importer],
            far=names[self.exporter],
            name=f"{self.kind}_{label(self.exporter) or 'global'}",
            kind="import",
            where=self.where,
            patterns=(self.renaming.pattern,),
            direction="in" if self.kind == "stream" else "out",
            local=self.renaming.local,
            remote=self.renaming.remote,
        )


@dataclass(slots=True)
class Accounts:
    """What is known of a server's accounts; the global one has the empty name."""

    places: dict[str, Where] = field(default_factory=dict)
    with_users: list[str] = field(default_factory=list)
    users: dict[int, str] = field(default_factory=dict)
    """Accounts by what tells their users; names are not kept."""
    imports: list[Import] = field(default_factory=list)
    taken: list[Taken] = field(default_factory=list)
    """Imports as they are written."""
    system: str = SYSTEM
    elsewhere: bool = False
    """Whether accounts may be kept elsewhere: by an operator, or in a file that is not here."""
    global_used: bool = True
    asks: bool = False
    """Whether nobody gets in without a login, apart from a no_auth_user."""
    opaque: bool = False
    """Whether a login may be a token, or somebody else decides: users do not tell."""

    def known(self, account: str) -> bool:
        """Whether the server has such an account, as far as can be told."""
        return not account or self.elsewhere or account in self.places or account == self.system

    def is_system(self, account: str) -> bool:
        """Whether an account is the server's own."""
        return account == self.system


def read_accounts(top: Block, *, complete: bool) -> Accounts:
    """What `accounts`, `system_account` and `authorization` say."""
    found = Accounts(system=top.text("system_account") or SYSTEM)
    operators = any(top.has(one) for one in ("operator", "resolver", "trusted_keys"))
    found.elsewhere = operators or not complete
    top.leave("operator", "resolver", "trusted_keys", "resolver_preload")
    exports: list[Export] = []
    importing: list[tuple[str, Block]] = []
    raw = top.take("accounts")
    if isinstance(raw, list):
        found.places = dict(top.texts("accounts", alone=False))
    elif (block := top.block("accounts", {})) is not None:
        for name, account in block.named(settings.ACCOUNT):
            _account(name, account, found, exports, importing)
    for export in exports:
        _importers(export, found, top.drafts)
    for name, one in importing:
        _import(name, one, found, exports)
    _tell_circles(found, top.drafts)
    found.imports.sort(key=lambda one: (one.where.file, one.where.line))
    _global(top, found)
    _system(top, found)
    return found


def _account(
    name: str,
    account: Block,
    found: Accounts,
    exports: list[Export],
    importing: list[tuple[str, Block]],
) -> None:
    if name == GLOBAL:
        what = "$G is the global account and cannot be defined: give it another name"
        account.drafts.fault(account.where, "C005", what)
        return
    found.places[name] = account.where
    if account.has("users"):
        users = account.take("users")
        _tell_limits(users, account, "users")
        if not isinstance(users, list) and not isinstance(users, str):
            account.wrong("users", "a list of maps: [ {...} ]")
        if users:
            found.with_users.append(name)
        _join(found, users, name, account, "users")
        account.leave("users")
    for one in account.blocks("exports", settings.EXPORT):
        _export(name, one, exports)
    importing += [(name, one) for one in account.blocks("imports", settings.IMPORT)]
    account.rest()


def _join(found: Accounts, users: object, account: str, block: Block, key: str) -> None:
    """Users of a list; the server does not load a file that has one of them twice, or no name."""
    for one in users if isinstance(users, list) else []:
        if isinstance(one, dict) and not {str(key).lower() for key in one} & set(_NAMES):
            what = "a user has no name, so the server refuses the file"
            block.drafts.fault(block.place(key), "C005", f"{what}: write {{user: NAME}}")
    for user in _users(users):
        if user in found.users:
            what = "one of these users is here or in another list as well"
            block.drafts.fault(block.place(key), "C005", f"{what}: give each a name of its own")
        found.users[user] = account


def _tell_limits(users: object, block: Block, key: str) -> None:
    """Users' permissions hold for leaf nodes that log in as them, too."""
    keys = {
        str(name).lower()
        for one in (users if isinstance(users, list) else [])
        if isinstance(one, dict)
        for name in one
    }
    if keys & _LIMITS:
        why = "what they forbid is taken to cross, though leaf nodes of these users do not get it"
        block.drafts.aside(block.place(key), "permissions of users", why)


def _users(listed: object) -> Iterator[int]:
    """What tells the users of a list, as far as they have names."""
    for one in listed if isinstance(listed, list) else []:
        for key, name in one.items() if isinstance(one, dict) else ():
            if str(key).lower() in _NAMES and isinstance(name, str):
                yield user_of(name)


def _export(name: str, one: Block, exports: list[Export]) -> None:
    kind = "stream" if one.has("stream") else "service"
    subject = one.text(kind)
    if one.has("stream") and one.has("service"):
        what = "an export is of a stream or of a service, and the server refuses both"
        one.drafts.fault(one.where, "C005", f"{what}: write two exports")
    allowed = frozenset(text for text, _ in one.texts("accounts", alone=False))
    limited = one.has("accounts") and not one.has("account_token_position")
    if subject:
        to = allowed if limited and allowed else None  # an empty list is no limit
        exports.append(Export(account=name, kind=kind, subject=subject, to=to, where=one.where))
    one.skip("stream", "service", "response_type", "threshold", "latency")
    one.rest()


def _importers(export: Export, found: Accounts, drafts: Drafts) -> None:
    """The server does not load a file with an export to an account that there is not."""
    for name in sorted(export.to or ()):
        if not found.elsewhere and name not in found.places:
            what = f"the {export.kind} export is for account {label(name)}, which there is not"
            drafts.fault(export.where, "C005", f"{what}: add it to accounts {{ }}")


def _import(name: str, one: Block, found: Accounts, exports: list[Export]) -> None:
    drafts = one.drafts
    kind = "stream" if one.has("stream") else "service"
    source = one.block(kind, settings.SOURCE)
    before, to = one.text("prefix"), one.text("to")
    one.skip("stream", "service")
    one.rest()
    if source is None:
        return
    exporter, subject = source.text("account"), source.text("subject")
    source.rest()
    if not exporter or not subject:
        if not found.elsewhere:
            what = f"this {kind} import names no account or no subject"
            drafts.fault(one.where, "C005", f"{what}: write {{account: A, subject: s}}")
        return
    if not _allowed(name, kind, exporter, subject, one, found, exports):
        return
    taken = Taken(
        importer=name,
        exporter=exporter,
        kind=kind,
        here=to or (f"{before}.{subject}" if before and kind == "stream" else subject),
        there=subject,
        where=one.where,
    )
    if not _takes(taken, one.drafts, found):
        return
    if kind == "stream" and before and to:
        what = (
            "with a prefix and a to the server refuses this import or passes over its to, by chance"
        )
        drafts.warn(one.where, "C020", f"{what}: remove one of them")
    how = (
        prefixed(subject, before)
        if before and kind == "stream"
        else renamed(to or subject, subject)
    )
    if found.is_system(exporter):
        drafts.aside(one.where, f"{kind} import of {label(exporter)}", "it is the system account")
    elif how is None:
        what = f"{kind} import of {shown(subject)}"
        why = "its names here and there have no end in common, so beginnings cannot say it"
        drafts.aside(one.where, what, why)
    elif exporter != name:
        exporter = "" if exporter == GLOBAL else exporter
        found.imports.append(
            Import(importer=name, exporter=exporter, kind=kind, renaming=how, where=one.where)
        )


def _takes(taken: Taken, drafts: Drafts, found: Accounts) -> bool:
    """Whether an import of a service has a name here that is good, and none of those before it."""
    same = (taken.importer, taken.exporter, taken.here)
    others = [
        (one.importer, one.exporter, one.here) for one in found.taken if one.kind == "service"
    ]
    what = ""
    if taken.kind == "service" and not is_subject(_PLACEHOLDER.sub("*", taken.here)):
        what = f"to has {label(taken.here)}, which is no subject: write levels with a dot between"
    elif taken.kind == "service" and same in others:
        what = f"two services of {label(taken.exporter)} have the same name here"
        what = f"{what} ({label(taken.here)}), which the server refuses: write another to"
    if what:
        drafts.fault(taken.where, "C005", what)
    else:
        found.taken.append(taken)
    return not what


def _tell_circles(found: Accounts, drafts: Drafts) -> None:
    for one, way in cycles(found.taken):
        what = f"this import closes a circle of imports: {' > '.join(map(label, way))}"
        why = "the server refuses the file (import forms a cycle)"
        drafts.fault(one.where, "C005", f"{what}: {why}: remove one of them")


def _allowed(
    name: str,
    kind: str,
    exporter: str,
    subject: str,
    one: Block,
    found: Accounts,
    exports: list[Export],
) -> bool:
    """Whether the server accepts an import; it does not load a file with one it does not."""
    if found.elsewhere or found.is_system(exporter) or exporter == GLOBAL:
        return True
    if exporter not in found.places:
        what = f"the {kind} import is of account {label(exporter)}, which there is not"
        one.drafts.fault(one.where, "C005", f"{what}: add it to accounts {{ }}")
        return False
    offered = [
        export
        for export in exports
        if (export.account, export.kind) == (exporter, kind) and within(subject, export.subject)
    ]
    if any(export.to is None or name in export.to for export in offered):
        return True
    what = f"{label(exporter)} exports no {kind} {shown(subject)} to {label(name)}"
    one.drafts.fault(one.where, "C005", f"{what}: add it to the exports of {label(exporter)}")
    return False


def _global(top: Block, found: Accounts) -> None:
    """Whether clients can be in the global account: not if all users are in others."""
    raw = top.take("authorization")
    logins = raw if isinstance(raw, dict) else {}
    own = {key.lower() for key, value in logins.items() if value} & {
        *("user", "username", "token", "users", "password", "pass")
    }
    if "auth_callout" in {key.lower() for key in logins}:
        found.opaque = True
        # A service says which account a client is in: it may be any.
        found.with_users = unique([*found.with_users, *found.places])
    listed = next((value for key, value in logins.items() if key.lower() == "users"), None)
    _join(found, listed, "", top, "authorization")
    _tell_limits([logins, *(listed if isinstance(listed, list) else [])], top, "authorization")
    single = next((key for key in logins if key.lower() in _SINGLE and logins[key]), "")
    if single and found.users:
        what = f"{single} of authorization stands beside lists of users, which the server refuses"
        advice = "move it into one of the lists"
        top.drafts.fault(top.place("authorization"), "C005", f"{what}: {advice}")
    _no_auth_user(top, found)
    found.users.update(dict.fromkeys(_users([logins]), ""))
    named = [one for one in found.with_users if not found.is_system(one)]
    found.global_used = bool(own) or not named
    found.asks = bool(own or named)
    found.opaque |= "token" in own
    if raw is not None and not isinstance(raw, dict | str):
        top.wrong("authorization", "a map")
    elif isinstance(raw, dict) and (block := top.block("authorization", settings.LOGINS)):
        block.skip(*settings.LOGINS.values())
        block.rest()
    top.leave("authorization")


def _no_auth_user(top: Block, found: Accounts) -> None:
    """It is one of a list of users; who logs in by `authorization` alone is none of these."""
    user = top.text("no_auth_user")
    if user and user_of(user) not in found.users and not found.elsewhere:
        what = "no_auth_user is none of the users in the lists of this file"
        advice = "so the server does not start: add it to users: [ ... ], or correct it"
        top.drafts.warn(top.place("no_auth_user"), "C020", f"{what}, {advice}")
    elif user and user_of(user) in found.users:
        found.users[user_of("")] = found.users[user_of(user)]
    top.leave("no_auth_user")


def _system(top: Block, found: Accounts) -> None:
    if not top.has("system_account"):
        return
    top.drafts.aside(top.place("system_account"), "system_account", "it carries no topics of yours")
    if found.system not in found.places and not found.elsewhere and found.system != SYSTEM:
        what = f"there is no account {label(found.system)} for the system, so it does not start"
        top.drafts.warn(top.place("system_account"), "C020", f"{what}: add it to accounts {{ }}")
