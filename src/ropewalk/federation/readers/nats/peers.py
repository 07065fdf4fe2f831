"""Routes inside a cluster, and gateways between clusters."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from ropewalk.federation.readers.drafts import Address, BridgeDraft
from ropewalk.federation.readers.nats import settings
from ropewalk.federation.readers.nats.addresses import (
    address,
    advertised,
    listens,
    tell_twice,
    user_of,
)
from ropewalk.federation.readers.nats.block import Block
from ropewalk.federation.readers.nats.syntax import Unset
from ropewalk.federation.showing import label
from ropewalk.findings import Where

_NOWHERE = Where("")


@dataclass(slots=True)
class Peers:
    """What `cluster` or `gateway` says; empty if there is none."""

    kind: Literal["route", "gateway"]
    where: Where = _NOWHERE
    name: str = ""
    listens: tuple[str, int] | None = None
    advertise: str = ""
    hidden: bool = False
    """Whether its name is a variable that is not set here."""
    routes: list[Address] = field(default_factory=list)
    gateways: list[tuple[str, list[Address], Where]] = field(default_factory=list)
    user: int = 0
    """Tells the user that routes log in as; 0 if they need not."""
    only: tuple[str, ...] | None = None
    """The clusters that it has gateways with; None: all that it hears of."""

    def drafts(self, at: str, space: str) -> list[BridgeDraft]:
        """Bridges of the broker that stands for the server's accounts."""
        routes = [
            BridgeDraft(
                at=at,
                far=(replace(one, space=space),),
                name="route",
                kind="route",
                where=one.where,
                direction="both",
                choice="any",
                lines={"addresses": one.where},
            )
            for one in self.routes
        ]
        gateways = [
            BridgeDraft(
                at=at,
                far=tuple(replace(one, space=space, cluster=name) for one in far),
                name=name,
                kind="gateway",
                where=where,
                direction="both",
                choice="any",
                lines={"addresses": far[0].where},
            )
            for name, far, where in self.gateways
        ]
        return routes + gateways


def read_cluster(top: Block) -> Peers:
    """What `cluster` says."""
    block = top.block("cluster", settings.CLUSTER)
    if block is None:
        return Peers("route")
    found = Peers("route", top.place("cluster"), block.name(), listens(block, None))
    found.advertise = advertised(block, "advertise")
    secure = isinstance(block.take("tls"), dict)
    routes = block.texts("routes", alone=False)
    tell_twice(routes, "route", top.drafts)
    for text, where in routes:
        made = address(text, where, top.drafts, kind="route", default=None, secure=secure)
        if made is not None:
            found.routes.append(made[0])
    if found.routes and found.listens is None and not _hidden(block):
        what = "the cluster has no port, so the server connects to none of its routes"
        top.drafts.warn(found.where, "C020", f"{what}: write listen: 0.0.0.0:6222 into it")
        found.routes.clear()
    if block.has("permissions"):
        what = "permissions of routes"
        top.drafts.aside(block.place("permissions"), what, "all subjects are taken to cross them")
        block.skip("permissions")
    found.hidden = _unset(block, "name")
    if (logins := block.block("authorization", settings.LOGINS)) is not None:
        found.user = user_of(name) if (name := logins.text("user")) else 0
    block.leave("tls", "authorization")
    block.rest()
    return found


def _hidden(block: Block) -> bool:
    """Whether a variable that is not set may say where the block listens."""
    return _unset(block, "listen") or _unset(block, "port")


def _unset(block: Block, name: str) -> bool:
    return isinstance(block.take(name), Unset)


def read_gateway(top: Block) -> Peers:
    """What `gateway` says; the own cluster's entry is passed over, as the server does."""
    block = top.block("gateway", settings.GATEWAY)
    if block is None:
        return Peers("gateway")
    found = Peers("gateway", top.place("gateway"), block.name(), listens(block, None))
    found.advertise = advertised(block, "advertise")
    secure = isinstance(block.take("tls"), dict)
    found.hidden = _unset(block, "name")
    hidden = _hidden(block) or found.hidden
    named: list[str] = []
    for one in block.blocks("gateways", settings.FAR_CLUSTER):
        named.append(one.text("name"))
        _far_cluster(one, found, secure)
    if block.flag("reject_unknown_cluster") and all(named):
        found.only = tuple(named)
    if block.value and not hidden and (not found.name or found.listens is None):
        missing = "port" if found.name else "name"
        what = f"the gateway has no {missing}, so the server does not start"
        advice = "write name: CLUSTER, listen: 0.0.0.0:7222"
        top.drafts.warn(found.where, "C020", f"{what}: {advice}")
    block.leave("tls")
    block.rest()
    return found


def _far_cluster(one: Block, found: Peers, secure: bool) -> None:
    name = one.text("name")
    secure = secure or isinstance(one.take("tls"), dict)
    far: list[Address] = []
    url = [(text, one.place("url"))] if (text := one.text("url")) else []
    listed = one.texts("urls", alone=False)
    tell_twice(listed, "gateway", one.drafts)
    urls: Sequence[tuple[str, Where]] = [*url, *listed]
    hidden = _unset(one, "url") or _unset(one, "urls")
    for text, where in urls:
        drafts = one.drafts
        made = address(text, where, drafts, kind="gateway", default=None, secure=secure)
        if made is not None:
            far.append(made[0])
    one.rest()
    if name == found.name and name:
        return
    if not name and not _unset(one, "name"):
        what = "this gateway has no name, so the server does not start"
        one.drafts.warn(one.where, "C020", f"{what}: write name: CLUSTER")
        return
    if not urls and not hidden:
        what = f"gateway {label(name)} has no URL, so the server does not start"
        one.drafts.warn(one.where, "C020", f"{what}: write url: nats://HOST:7222")
    known = next((entry for entry in found.gateways if entry[0] == name), None)
    if known is not None:
        what = f"gateway {label(name)} stands at {known[2]} as well, and only the last one counts"
        one.drafts.warn(one.where, "C020", f"{what}: write one entry with all urls: [ ... ]")
        found.gateways.remove(known)
    if far:
        found.gateways.append((name, far, one.where))
