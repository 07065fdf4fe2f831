"""Who may log in to a NATS server of the lab: a made-up user for every account.

Users that a file limits to some subjects keep these limits under a made-up name, so that a leaf
node that logs in as one of them stays as limited.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, unquote

from ropewalk.agent.replay.rewrite.nats_text import Tree, inside, lowered, maps

GLOBAL = "$G"
SYSTEM = "$SYS"
_LIMITS = ("permissions", "permission", "authorization")
_FULL = {"publish": ">", "subscribe": ">"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """The accounts and users of a server's file; names of users stay in here."""

    accounts: dict[str, dict[str, Any]]
    """By name, as written."""
    users: dict[str, str] = field(repr=False)
    """The account of each user who may be named in an address."""
    limits: dict[tuple[str, str], Any] = field(repr=False)
    """What users are limited to, by account and user."""
    anonymous: str = GLOBAL
    """The account of leaf nodes that name nobody."""
    leaves: str = ""
    """The account of all leaf nodes, if the file says so."""

    def account_of(self, address: SplitResult, own: str, secret: bool) -> str:
        """The account that a leaf node logs in to: by its address, or with a secret of a file."""
        user = unquote(address.username or "")
        if user in self.users:
            return self.users[user]
        if self.leaves:
            return self.leaves
        if secret:  # the file's content is nobody's business: most likely it is the same account
            return own if own in self.accounts else GLOBAL
        return self.anonymous if not user else GLOBAL


def known(tree: Tree) -> Known:
    """What a server's file says of accounts and users."""
    users: dict[str, str] = {}
    limits: dict[tuple[str, str], Any] = {}
    accounts = _accounts(tree.get("accounts"))
    accounts |= {name: {} for name in _accounts(tree.get("resolver_preload"))}
    leaf = inside(inside(tree, "leafnodes", "leaf"), "authorization")
    rows = [(GLOBAL, one) for one in maps(inside(tree, "authorization").get("users"))]
    rows += [(name, user) for name, one in accounts.items() for user in maps(one.get("users"))]
    for account, user in rows:
        name = str(user.get("user") or user.get("username") or "")
        users[name] = account
        if granted := next((user[key] for key in _LIMITS if key in user), None):
            limits[account, name] = granted
    for user in (leaf, *maps(leaf.get("users"))):
        if "user" in user or "username" in user:
            name = str(user.get("user") or user.get("username"))
            users[name] = str(user.get("account") or GLOBAL)
    return Known(
        accounts=accounts,
        users={name: account for name, account in users.items() if name},
        limits=limits,
        anonymous=users.get(str(tree.get("no_auth_user", "")), GLOBAL),
        leaves="" if "users" in leaf else str(leaf.get("account") or ""),
    )


def _accounts(written: Any) -> dict[str, dict[str, Any]]:
    """Accounts by name: names keep their capitals, and a list of names will do too."""
    if isinstance(written, Mapping):
        return {str(name): lowered(one) for name, one in written.items()}
    return {str(name): {} for name in written} if isinstance(written, list | tuple) else {}


def login_of(account: str, user: str = "") -> str:
    """The made-up user of an account, or of one of its users with limits of its own."""
    made = hashlib.sha256(f"{account}\n{user}".encode()).hexdigest()
    return f"replay-{made[:12]}"


def logins(who: Known, account: str, secret: str) -> Iterator[dict[str, Any]]:
    """The users of an account in the lab."""
    yield {"user": login_of(account), "password": secret, "permissions": _FULL}
    for (at, user), granted in who.limits.items():
        if at == account:
            yield {"user": login_of(account, user), "password": secret, "permissions": granted}


def login_at(who: Known, address: SplitResult, own: str, *, with_secret: bool) -> tuple[str, str]:
    """The account and made-up user of a leaf node's login at a server."""
    account, user = who.account_of(address, own, with_secret), unquote(address.username or "")
    limited = (account, user) in who.limits
    return account, login_of(account, user if limited else "")
