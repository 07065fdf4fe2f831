"""Addresses as NATS writes them: URLs and HOST:PORT, read without the user that they may hold."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import unquote

from ropewalk.federation.readers.drafts import Address, Drafts
from ropewalk.federation.readers.nats.block import Block
from ropewalk.federation.readers.nats.refused import is_filled_in, is_url
from ropewalk.federation.readers.nats.syntax import Unset
from ropewalk.findings import Where

_URL = re.compile(r"\s*([A-Za-z][\w+.-]*)://([^/?#]*)")
_LISTEN = re.compile(r"(?:\[([^\]]*)\]|([^:\[\]]*)):([+-]?\d+)\Z", re.ASCII)
_ODD = re.compile(r"[\s|\\^`]|(?<!\$)\{")
LEAF_PORT = 7422
CLIENT_PORT = 4222


@dataclass(frozen=True, slots=True, kw_only=True)
class Url:
    """An address of a peer."""

    scheme: str
    host: str
    port: int | None
    login: bool
    """Whether it holds a user; which one is never kept."""
    user: int = field(default=0, repr=False)
    """Tells logins apart."""
    name: int = field(default=0, repr=False)
    """Tells the user's name."""


def url_of(text: str) -> Url | None:
    """A URL's parts, or None if it is none that the server can connect to.

    >>> url_of("nats-leaf://me:secret@hub.example.net:7422")
    Url(scheme='nats-leaf', host='hub.example.net', port=7422, login=True)
    """
    found = _URL.match(text)
    if found is None:
        return None
    login, _, place = found[2].rpartition("@")
    at = _LISTEN.match(place)
    if at is not None:
        host, port = at[1] or at[2] or "", int(at[3]) if len(at[3]) < 7 else 0
    else:
        host, port = place.removeprefix("[").removesuffix("]"), None
        if ":" in host and not place.startswith("["):
            return None
    if not host or _ODD.search(host) or (port is not None and not 0 < port < 65536):
        return None
    name = user_of(unquote(login.partition(":")[0])) if login else 0
    scheme, user = found[1].lower(), hash(login)
    return Url(scheme=scheme, host=host, port=port, login=bool(login), user=user, name=name)


def user_of(name: str) -> int:
    """What tells a user's name without keeping it; the empty name is of those that have none."""
    return hash(("user", name))


def address(
    text: str, where: Where, drafts: Drafts, *, kind: str, default: int | None, secure: bool
) -> tuple[Address, Url] | None:
    """Where a peer is; what the server makes of a bad URL is told."""
    if not is_url(text):
        what = f"the server refuses this file for this {kind} URL: write nats://HOST:PORT"
        if not is_filled_in(text):
            what = f"this {kind} URL is a template, which the server refuses: fill it in first"
        drafts.fault(where, "C005", what)
        return None
    url = url_of(text)
    if "$" in (text if url is None else url.host):
        what = "a variable stands for a whole value alone, so its name is taken for the host"
        drafts.warn(where, "C020", f"{what}: write the host, or the whole URL as a variable")
        return None
    if url is None:
        what = f"this {kind} URL has no scheme, host or port that can be read"
        drafts.warn(where, "C020", f"{what}: it never connects; write nats://HOST:PORT")
        return None
    if url.port is None and default is None:
        what = f"the {kind} URL of {url.host} has no port, so it never connects"
        port = 6222 if kind == "route" else 7222
        drafts.warn(where, "C020", f"{what}: write nats://{url.host}:{port}")
        return None
    port = url.port or default or 0
    made = Address(
        host=url.host,
        port=port,
        where=where,
        make="nats",
        secure=secure or url.scheme in ("tls", "wss"),
        peer="websocket" if url.scheme in ("ws", "wss") else kind,
        user=url.name,
    )
    return made, url


def tell_twice(listed: Iterable[tuple[str, Where]], kind: str, drafts: Drafts) -> None:
    """The server refuses a list that has one URL twice."""
    seen: set[str] = set()
    for text, where in listed:
        if text in seen:
            what = f"this {kind} URL stands in its list twice, which the server refuses"
            drafts.fault(where, "C005", f"{what}: remove one of them")
        seen.add(text)


def listens(block: Block, default: int | None) -> tuple[str, int] | None:
    """Where a block says that it listens; None where it does not, as the server then does not."""
    found = block.take("listen")
    host, port = block.text("host"), block.number("port")
    if isinstance(found, int) and not isinstance(found, bool):
        port = found
    elif isinstance(found, Unset):
        return None
    elif isinstance(found, str):
        at = _LISTEN.match(found)
        if at is None:
            block.wrong("listen", "a port or HOST:PORT")
            return None
        host, port = at[1] or at[2] or "", int(at[3][:7])
    elif found is not None:
        block.wrong("listen", "a port or HOST:PORT")
    port = default if port is None or port == 0 else port
    if port is None:
        return None
    if not -2 < port < 65536:
        what = "there is no such port, so the server does not start"
        place = block.place("listen" if found is not None else "port")
        block.drafts.warn(place, "C020", f"{what}: write one from 1 to 65535")
        return None
    return ("" if host in ("0.0.0.0", "::") else host, max(port, 0))  # noqa: S104 - all of them


def advertised(block: Block, name: str) -> str:
    """The host of an address that is passed on to others, or empty."""
    text = block.text(name)
    if "$" in text:
        what = f"{name} passes on the variable's name: it stands for a whole value alone"
        block.drafts.warn(
            block.place(name), "C020", f"{what}: write HOST:PORT, or all as a variable"
        )
        return ""
    return text.rpartition(":")[0].strip("[]") or text
