"""Random federations for the laws: small, but of every section and with awkward names."""

from typing import Any

from hypothesis import strategies as st

from ropewalk.federation.facts import (
    Attachment,
    Bridge,
    Broker,
    Client,
    Contract,
    Domain,
    Federation,
    Histogram,
    Jitter,
    Link,
    Performance,
    Prefixes,
    Regions,
    Requirements,
    RiskGroup,
    Route,
    Site,
    Survive,
    Takeover,
    Topic,
    Underlay,
    UnderlayLink,
    UnderlayNode,
)
from ropewalk.federation.limits import Limits, Placement, PlacementLimits, SiteLimits
from ropewalk.federation.names import topic_fault
from ropewalk.federation.topics import common

AWKWARD = ["no", "on", "null", "1", "1e3", "0x1f", "1_000", "true", "é", "a.b", "a@b", "2.0.0.1"]
names = st.one_of(
    st.sampled_from(AWKWARD), st.from_regex(r"\A[a-z0-9][a-z0-9_.@]{0,6}(-[a-z0-9])?\Z")
)
texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
topic_names = texts.filter(lambda text: topic_fault(text) is None)
floats = st.floats(0, 1e9, allow_nan=False, allow_subnormal=False)
chances = st.floats(0, 1, allow_nan=False)
planes = st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))


@st.composite
def federations(draw: st.DrawFn) -> Federation:
    """A federation that makes sense."""
    brokers = draw(st.lists(names, min_size=2, max_size=6, unique=True))
    some = st.lists(st.sampled_from(brokers), unique=True, max_size=3).map(tuple)
    pairs = [(a, b) for i, a in enumerate(brokers) for b in brokers[i + 1 :]]
    linked = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=6))
    nodes = draw(st.lists(names, min_size=2, max_size=4, unique=True))
    sites = draw(st.lists(names, max_size=3, unique=True))
    topics = draw(st.lists(topic_names, max_size=4, unique=True))
    attached: st.SearchStrategy[tuple[Attachment, ...]] = st.lists(
        st.one_of(
            st.sampled_from(brokers),
            st.builds(Client, broker=st.sampled_from(brokers), client=texts),
        ),
        min_size=1,
        max_size=3,
        unique=True,
    ).map(tuple)
    located = {name: draw(st.sampled_from([None, *sites])) for name in brokers}
    joined, lone = _split(topics, draw(st.integers(0, len(topics))))
    items = {"everything": joined} if joined else {}
    return Federation(
        name=draw(names),
        sites={name: Site(xy=draw(st.none() | planes)) for name in sites},
        domains=draw(
            st.sampled_from([{}, {"d": Domain(gateways=(brokers[0],), edges=(brokers[1],))}])
        ),
        brokers={
            name: Broker(
                site=located[name],
                make="mosquitto",
                url=draw(st.sampled_from([None, "mqtt://127.0.0.1:1883", "mqtts://h:1"])),
                credentials=draw(st.sampled_from([None, "env:X", "file:/etc/key"])),
                address=draw(st.sampled_from([None, f"address of {name}"])),
                takeover=Takeover(
                    publishers=tuple(one for one in draw(some) if one != name),
                    subscribers=tuple(one for one in draw(some) if one != name),
                ),
                capacity=draw(
                    st.none()
                    | st.builds(Performance, receive_us=floats, filter_us=floats, send_us=floats)
                ),
                fails=draw(chances),
                xy=draw(st.none() | planes),
                node=draw(st.none() | st.sampled_from(nodes)),
            )
            for name in brokers
        },
        links=tuple(
            Link(
                between=pair,
                latency_ms=draw(st.none() | floats),
                cost=draw(st.integers(1, 100)),
                loss=draw(chances),
                risk_groups=draw(st.sampled_from([(), ("duct",)])),
                **draw(spreads()),
            )
            for pair in linked
        ),
        bridges=draw(
            st.lists(
                st.builds(
                    Bridge,
                    from_=st.just(brokers[0]),
                    to=st.just(brokers[1]),
                    patterns=st.lists(topic_names, min_size=1, max_size=2).map(tuple),
                    direction=st.sampled_from(["in", "out", "both"]),
                    prefixes=st.builds(Prefixes, local=st.text(max_size=3).filter(_encodable)),
                    max_hops=st.none() | st.integers(1, 9),
                    name=st.none() | st.sampled_from(["up", "to-b"]),
                    kind=st.sampled_from(["bridge", "federation", "leaf", "gateway"]),
                    except_=st.sampled_from([(), ("a/#",)]),
                    choice=st.sampled_from(["first", "next", "any"]),
                    echoes=st.booleans(),
                    written=st.sampled_from([{}, {"entry": "m.conf:3", "max_hops": "m.conf:4"}]),
                ),
                max_size=2,
            ).map(tuple)
        ),
        underlay=Underlay(
            nodes={name: UnderlayNode(xy=draw(st.none() | planes)) for name in nodes},
            links=(UnderlayLink(between=(nodes[0], nodes[1]), length_km=draw(st.none() | floats)),),
        ),
        risk_groups=draw(st.sampled_from([{}, {"duct": RiskGroup(about="a: b # c")}])),
        topics={
            name: Topic(
                publishers=draw(attached),
                subscribers=draw(attached),
                contract=draw(
                    st.builds(
                        Contract,
                        delivery=st.sampled_from(["best-effort", "exactly-once"]),
                        order=st.sampled_from(["fifo", "total"]),
                        within_ms=st.none() | st.floats(0.1, 1e6),
                        probability=st.floats(0.01, 1),
                        priority=st.integers(0, 9),
                        paths=st.integers(1, 2),
                        retained=st.booleans(),
                        idempotent=st.booleans(),
                    )
                ),
            )
            for name in topics
        },
        items=items,
        placement=draw(placements(located, sites, [*items, *lone])),
        routes=tuple(
            Route(at=a, to=b, next="*", colours=draw(st.sampled_from([(), ("none", a)])))
            for a, b in linked
        ),
        protocols={"p": draw(texts)},
        requirements=Requirements(
            survive=Survive(links=draw(st.integers(0, 3))),
            regions=draw(st.none() | st.builds(Regions, radius_km=st.floats(0.1, 1e4))),
        ),
    )


@st.composite
def spreads(draw: st.DrawFn) -> dict[str, Any]:
    """What a link says of how its latencies spread: nothing, jitter, or a histogram."""
    kind = draw(st.sampled_from(["", "jitter", "histogram"]))
    if kind == "jitter":
        return {kind: Jitter(shape="normal", sd_ms=draw(st.floats(1e-3, 1e3)))}
    if not kind:
        return {}
    edges = sorted(draw(st.sets(st.floats(0, 1e4), min_size=2, max_size=4)))
    counts = draw(st.lists(st.integers(1, 9), min_size=len(edges) - 1, max_size=len(edges) - 1))
    error = draw(st.floats(0, 10))
    return {kind: Histogram(edges_ms=tuple(edges), counts=tuple(counts), error_ms=error)}


def limits() -> st.SearchStrategy[Limits]:
    """Limits of a broker, some of them."""
    return st.builds(Limits, **_LIMITS)


above_zero = st.floats(1e-6, 1e12)
_LIMITS: dict[str, st.SearchStrategy[object]] = {
    "risk": st.none() | st.floats(1e-9, 0.999),
    "utilisation": st.none() | st.floats(1e-3, 1),
    **{
        name: st.none() | above_zero
        for name in ("delay_us", "service_us", "replication", "volume_bytes_s")
    },
    "items": st.none() | st.integers(0, 10**6),
}


def _split(topics: list[str], at: int) -> tuple[tuple[str, ...], list[str]]:
    """The topics of an item, and those that are in none: not matched by a pattern in it."""
    joined = topics[:at]
    lone = (one for one in topics[at:] if all(common(other, one) != one for other in joined))
    return tuple(joined), list(lone)


@st.composite
def placements(
    draw: st.DrawFn, located: dict[str, str | None], sites: list[str], items: list[str]
) -> Placement:
    """A placement section that does not contradict itself; pinned items are placed apart."""
    brokers = list(located)
    rooms = [*brokers, *(f"site:{site}" for site in located.values() if site)]
    some: st.SearchStrategy[list[str]] = st.just([])
    if items:
        some = st.lists(st.sampled_from(items), unique=True, max_size=len(brokers))
    at = {item: draw(st.sampled_from(brokers)) for item in draw(some)}
    pinned = [item for item in at if draw(st.booleans())]
    group = draw(some)
    taken = {at[item] if item in pinned else item for item in group}
    return Placement(
        at=at,
        pinned=tuple(pinned),
        only={
            item: (*draw(st.lists(st.sampled_from(rooms), max_size=2)), at.get(item, brokers[0]))
            for item in draw(some)
        },
        apart=(tuple(group),) if len(taken) == len(group) > 1 else (),
        limits=draw(st.builds(PlacementLimits, **_LIMITS, moves=st.none() | st.integers(0, 10**6))),
        brokers={
            draw(st.sampled_from(brokers)): draw(limits()) for _ in range(draw(st.integers(0, 2)))
        },
        sites={
            name: draw(
                st.builds(
                    SiteLimits,
                    items=st.none() | st.integers(0, 99),
                    rate_msgs_s=st.none() | above_zero,
                )
            )
            for name in sites
            if draw(st.booleans())
        },
    )


def _encodable(text: str) -> bool:
    return not any("\ud800" <= one <= "\udfff" for one in text)
