"""Circles of NATS leaf nodes: servers do not let messages go round, they refuse a connection.

Which one depends on the order in which the servers start, so the same files work on one day and
leave a site cut off on another. A server finds a circle when a hub tells it of itself: by leaf
connections and routes, and through a gateway between two hubs of its own. What goes round through
a gateway beside a leaf connection goes round for ever, and is found as a loop. Several leaf
connections from one cluster to one other are no circle either: these bring copies, or none, but for
servers with `hub: true` and a leaf node without a cluster's name (as played with nats-server 2.15).
"""

from collections.abc import Collection, Iterator, Sequence

from ropewalk.federation.facts import Federation
from ropewalk.findings import Finding
from ropewalk.verify.arcs import connections_of, far_ends

Edges = dict[str, list[tuple[str, int]]]
"""For each broker those that it is joined to, by the number of a bridge."""


def circles(federation: Federation) -> dict[int, list[tuple[str, int]]]:
    """Leaf connections that close a circle, by number: the way round, as (broker, bridge) steps."""
    cells = _cells(federation)
    joined: Edges = {}
    part: dict[str, str] = {}
    upwards: set[tuple[str, str]] = set()
    found: dict[int, list[tuple[str, int]]] = {}
    numbers = connections_of(federation)
    bridges = list(enumerate(federation.bridges))
    routes_first = sorted(bridges, key=lambda one: one[1].kind != "route")
    for i, bridge in routes_first:
        ends = far_ends(bridge, federation.brokers)
        if bridge.kind not in ("leaf", "route") or numbers[i] != i or not ends:
            continue
        a, b = bridge.from_, ends[0]
        up = _root(cells, a), _root(cells, b)
        if bridge.kind == "leaf" and up in upwards and _is_nameless(federation, i):
            found[i] = _way(joined, b, a)
        elif bridge.kind == "leaf" and up not in upwards:
            upwards.add(up)
            if _root(part, up[0]) == _root(part, up[1]):
                found[i] = _way(joined, b, a)
            part[_root(part, up[0])] = _root(part, up[1])
        joined.setdefault(a, []).append((b, i))
        joined.setdefault(b, []).append((a, i))
    return found | _through_gateways(federation, found, cells)


def _is_nameless(federation: Federation, number: int) -> bool:
    """Whether a server with `hub: true` does not learn where its leaf node's messages are from."""
    bridge = federation.bridges[number]
    return "hub" in bridge.written and not federation.brokers[bridge.from_].cluster


def _through_gateways(
    federation: Federation, found: Collection[int], cells: dict[str, str]
) -> dict[int, list[tuple[str, int]]]:
    """Leaf connections of a server to hubs of several clusters that gateways join."""
    ups: dict[str, list[int]] = {}
    steps: list[tuple[str, str, int]] = []
    connections = connections_of(federation)
    for i, bridge in enumerate(federation.bridges):
        first = connections[i] == i and i not in found
        if bridge.kind not in ("leaf", "route", "gateway") or not first:
            continue
        ends = far_ends(bridge, federation.brokers)
        if bridge.kind == "leaf" and ends:
            ups.setdefault(bridge.from_, []).append(i)
        for end in ends if bridge.kind == "gateway" else ends[:1]:
            steps += [(bridge.from_, end, i), (end, bridge.from_, i)]
    cells = {broker: _root(cells, broker) for broker in federation.brokers}
    made: dict[int, list[tuple[str, int]]] = {}
    if any(one.kind == "gateway" for one in federation.bridges):
        for broker, numbers in ups.items():
            for k, number in enumerate(numbers[1:], 1):
                start = far_ends(federation.bridges[number], federation.brokers)[0]
                joined = _outside(steps, broker, numbers[:k], cells)
                way = _way(joined, start, broker)
                if any(federation.bridges[i].kind == "gateway" for _, i in way if i >= 0):
                    made[number] = way
    return made


def _outside(
    steps: Sequence[tuple[str, str, int]], broker: str, back: Collection[int], cells: dict[str, str]
) -> Edges:
    """How brokers are joined outside a broker's cluster, and the connections back to it."""
    own = cells[broker]
    joined: Edges = {}
    for near, far, number in steps:
        if cells[near] == own or (cells[far] == own and number not in back):
            continue
        joined.setdefault(near, []).append((far, number))
    return joined


def _cells(federation: Federation) -> dict[str, str]:
    """Servers that routes join, by one that stands for all of them (see `_root`)."""
    part: dict[str, str] = {}
    for one in federation.bridges:
        if one.kind == "route":
            part[_root(part, one.from_)] = _root(part, one.to)
    return part


def circle_findings(federation: Federation) -> Iterator[Finding]:
    """A finding for each connection that closes a circle."""
    for number, way in circles(federation).items():
        bridge = federation.bridges[number]
        names = [bridge.from_, *(broker for broker, _ in way)]
        others = [i for _, i in way if i >= 0 and federation.bridges[i].kind == "leaf"]
        places = "".join(
            f"; leaf {federation.bridges[i].name or i + 1} at {federation.where('bridges', i)}"
            for i in others
        )
        yield Finding(
            "V018",
            f"leaf {bridge.name or number + 1} of {bridge.from_} closes a circle: "
            f"{' > '.join(names)}{places}",
            federation.where("bridges", number),
            "error",
            {"path": names, "bridges": [number, *others]},
        )


def _root(part: dict[str, str], one: str) -> str:
    while part.get(one, one) != one:
        one = part[one]
    return one


def _way(joined: Edges, start: str, goal: str) -> list[tuple[str, int]]:
    """Brokers from one to another, each with the bridge that leads to it (-1: the start).

    Empty if there is no way.
    """
    came: dict[str, tuple[str, int]] = {start: ("", -1)}
    waiting = [start]
    for one in waiting:
        for near, number in joined.get(one, ()):
            if near not in came:
                came[near] = (one, number)
                waiting.append(near)
    way: list[tuple[str, int]] = []
    at = goal if goal in came else ""
    while at:
        before, number = came[at]
        way.append((at, number))
        at = before
    return way[::-1]
