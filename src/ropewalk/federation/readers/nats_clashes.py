"""Connections of NATS servers that the files of the two ends show to be refused.

Each is told at its line, and is no bridge. What is not known (a file that is not here, a variable,
a password) refuses nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ropewalk.federation.bridges import Bridge
from ropewalk.federation.readers.drafts import (
    Address,
    BrokerDraft,
    Direction,
    Drafts,
    NatsFacts,
)
from ropewalk.federation.readers.nats.addresses import user_of
from ropewalk.federation.showing import label

BACK: Mapping[Direction, Direction] = {"in": "out", "out": "in", "both": "both"}
Side = tuple[BrokerDraft, NatsFacts]
Why = tuple[str, str] | None
"""What is wrong, and what to write; None if nothing is."""
Asked = Mapping[tuple[str, str, str, str], Address]
"""Addresses by who connects there, by what, and as what of several."""


def admitted(
    bridges: Sequence[Bridge], brokers: Mapping[str, BrokerDraft], drafts: Drafts
) -> Iterator[Bridge]:
    """Bridges, each without the addresses at which its server is refused."""
    asked: dict[tuple[str, str, str, str], Address] = {
        (one.at, one.kind, one.name, str(replace(at, space=""))): at
        for one in drafts.bridges
        for at in (one.far if not isinstance(one.far, str) else ())
        if at.make == "nats"
    }
    facts = {one.host: one.nats for one in brokers.values() if one.nats is not None}
    sides = {name: (one, facts[one.host]) for name, one in brokers.items() if one.host in facts}
    for one in bridges:
        kept = _kept(one, sides, asked, drafts) if one.reached_at else None
        if kept is None:
            yield one
        elif kept:
            left = _left(one, kept)
            yield _turned(left) if "hub" in left.written else left


def _kept(one: Bridge, sides: Mapping[str, Side], asked: Asked, drafts: Drafts) -> list[int]:
    """The addresses that are not refused, by number; the others are told."""
    kept = []
    for i, end in enumerate((one.to, *one.addresses)):
        at = asked.get((one.from_, one.kind, one.name or "", one.reached_at[i]))
        known = at is not None and one.from_ in sides and end in sides
        if known and one.kind != "leaf" and _is_namesake(sides[one.from_], sides[end]):
            continue  # told where it is called so
        why = _why_not(one, at, sides[one.from_], sides[end]) if at and known else None
        if at is None or why is None:
            kept.append(i)
            continue
        what = f"the {one.kind} to {sides[end][0].host} is refused, and nothing crosses it"
        drafts.warn(at.where, "C020", f"{what}: {why[0]}: {why[1]}")
    return kept


def _left(one: Bridge, kept: Sequence[int]) -> Bridge:
    """A bridge with some of its addresses."""
    ends = [(one.to, *one.addresses)[i] for i in kept]
    reached = tuple(one.reached_at[i] for i in kept)
    return replace(one, to=ends[0], addresses=tuple(ends[1:]), reached_at=reached)


def _why_not(one: Bridge, at: Address, near: Side, far: Side) -> Why:
    if one.kind == "leaf":
        return _of_leaf(at, near, far)
    return _of_route(at, near, far) if one.kind == "route" else _of_gateway(one, far)


def _is_namesake(near: Side, far: Side) -> bool:
    return bool(near[1].name) and near[1].name == far[1].name


def _of_route(at: Address, near: Side, far: Side) -> Why:
    ours, theirs = near[0].cluster, far[0].cluster
    if ours and theirs and ours != theirs:
        what = f"its cluster is called {label(theirs)}, and this one {label(ours)}"
        return what, "write one name into both files"
    wanted = far[1].route_user
    if wanted and at.user != wanted:
        return "its cluster asks for a login", "write its user and password into the URL"
    return None


def _of_gateway(one: Bridge, far: Side) -> Why:
    theirs = far[1].gateway
    if theirs is None and far[1].whole:
        return "its file has no gateway", "write one there, or correct the address"
    if theirs and one.name != theirs:
        what = f"it is called {label(theirs)}, and not {label(one.name or '')}"
        return what, "correct the name"
    return None


def _of_leaf(at: Address, near: Side, far: Side) -> Why:
    if near[0].cluster and near[0].cluster == far[0].cluster:
        what = f"the clusters of both are called {label(far[0].cluster)}"
        return f"{what} (remote leafnode has same cluster name)", "give each its own name"
    facts = far[1]
    if not facts.whole or not facts.asks or not at.user:
        return None
    if at.user == user_of("") and at.user not in (facts.logins or ()):
        return "it asks for a login", "write one of its users and the password into the URL"
    if facts.logins is not None and at.user not in facts.logins:
        return "it has no such user", "correct the login, or add the user there"
    return None


def _turned(one: Bridge) -> Bridge:
    """A leaf connection with `hub: true`, as if the other server had asked its holder for it."""
    return replace(
        one,
        from_=one.to,
        to=one.from_,
        addresses=(),
        reached_at=(),
        direction=BACK[one.direction],
        choice="first",
        # The addresses there are not those of the server that it is now taken to be held by.
        written={name: place for name, place in one.written.items() if name != "addresses"},
    )
