"""Links and topics to bridges that make no loop and no copies, also while a broker is down.

Native brokers flood; on a tree a flood reaches everyone once. Each broker but the root holds one
connection towards the root, along the routes of the federation's links. Its backup addresses are
neighbours that lead to the root without the first and are not below it. Of brokers that lose the
same parent a later one may move below an earlier one, never the other way round: so whoever moves
where, what is joined stays a tree. NATS does not go back when the first answers again: there
backups are nearer to the root than the broker itself, and no sequence of failures closes a circle.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush

from ropewalk.federation.arrays import Graph, broker_of
from ropewalk.federation.bridges import Bridge, BridgeKind
from ropewalk.federation.facts import Federation

Parents = dict[int, int]


@dataclass(frozen=True, slots=True)
class Design:
    """A federation whose bridges do natively what its links do, and what is left to agents."""

    federation: Federation
    left: tuple[str, ...] = ()
    """What cannot be said natively, in sentences."""
    roots: tuple[str, ...] = ()


@dataclass(slots=True)
class _Plan:
    graph: Graph
    parent: Parents
    distances: dict[int, int]
    backups: dict[int, list[int]] = field(default_factory=dict)


def native_design(federation: Federation) -> Design:
    """The federation with bridges instead of links; one that has bridges only stays as it is."""
    if not federation.links:
        return Design(federation)
    graph = federation.graph
    left: list[str] = []
    bridges: list[Bridge] = []
    roots: list[str] = []
    for members in _components(graph):
        if len(members) < 2:
            continue
        root = min(members, key=lambda one: (_total(graph, one, members), one))
        roots.append(graph.names[root])
        plan = _Plan(graph, _towards(graph, root), _distances(graph, root))
        for child in sorted(plan.parent):
            plan.backups[child] = list(_backups(plan, root, child))
        reach = _longest(plan.parent)
        for child in sorted(plan.parent):
            bridges += _bridges(federation, plan, child, reach, left)
    if federation.bridges:
        left.append("the file's own bridges are kept beside those of the links: verify the result")
    kept = (*federation.bridges, *bridges)
    return Design(
        replace(federation, links=(), bridges=kept), tuple(dict.fromkeys(left)), tuple(roots)
    )


def _components(graph: Graph) -> list[list[int]]:
    seen: set[int] = set()
    found = []
    for start in range(graph.brokers):
        if start not in seen:
            members = sorted({start, *_towards(graph, start)})
            seen.update(members)
            found.append(members)
    return found


def _distances(graph: Graph, root: int, without: int = -1) -> dict[int, int]:
    """Costs of the shortest paths to a root, without one broker."""
    known: dict[int, int] = {}
    waiting = [(0, root)]
    while waiting:
        cost, at = heappop(waiting)
        if at in known or at == without:
            continue
        known[at] = cost
        if at != root and not graph.transit[at]:
            continue  # an edge of a domain carries nothing for others
        for k in range(int(graph.first[at]), int(graph.first[at + 1])):
            near = int(graph.neighbour[k])
            if near not in known:
                heappush(waiting, (cost + int(graph.cost[int(graph.link[k])]), near))
    return known


def _total(graph: Graph, root: int, members: Sequence[int]) -> tuple[int, int]:
    """How far all members are from a root: a root that carries no transit comes last."""
    distances = _distances(graph, root)
    return (0 if graph.transit[root] else 1, sum(distances.get(one, 0) for one in members))


def _towards(graph: Graph, root: int) -> Parents:
    """The next broker of each towards the root: the canonical route, as agents take it."""
    distances = _distances(graph, root)
    parents: Parents = {}
    for at, cost in distances.items():
        if at == root:
            continue
        for k in range(int(graph.first[at]), int(graph.first[at + 1])):
            near, step = int(graph.neighbour[k]), int(graph.cost[int(graph.link[k])])
            carries = near == root or bool(graph.transit[near])
            if carries and distances.get(near, cost) + step == cost:
                parents[at] = near
                break  # neighbours are in ascending order: the smallest number counts
    return parents


def _below(parent: Parents, top: int) -> set[int]:
    """A broker and all that hang on it."""
    children: dict[int, list[int]] = {}
    for child, one in parent.items():
        children.setdefault(one, []).append(child)
    found, waiting = {top}, [top]
    while waiting:
        for child in children.get(waiting.pop(), ()):
            found.add(child)
            waiting.append(child)
    return found


def _backups(plan: _Plan, root: int, child: int) -> Iterator[int]:
    """Neighbours that stand in for a broker's parent, the nearest to the root first."""
    graph, parent = plan.graph, plan.parent[child]
    orphans = sorted(one for one, of in plan.parent.items() if of == parent)
    under_parent = _below(plan.parent, parent)
    earlier: set[int] = set()
    for one in orphans:
        if one < child:
            earlier |= _below(plan.parent, one)
    distances = _distances(graph, root, without=parent) if parent != root else {}
    mine = _below(plan.parent, child)
    fits = [
        near
        for near in map(int, graph.neighbours(child))
        if near not in mine
        and near != parent
        and graph.transit[near]
        and (near not in under_parent or near in earlier)
    ]
    yield from sorted(fits, key=lambda one: (distances.get(one, 1 << 40), one))


def _longest(parent: Parents) -> int:
    """The longest way through the tree, in links: what a message may have to cross."""
    depth: dict[int, int] = {}

    def depth_of(one: int) -> int:
        way = []
        while one in parent and one not in depth:
            way.append(one)
            one = parent[one]
        at = depth.get(one, 0)
        for step in reversed(way):
            at += 1
            depth[step] = at
        return at

    deepest: dict[int, list[int]] = {}
    for one in parent:
        depth_of(one)
    height: dict[int, int] = {}
    for one in sorted(parent, key=lambda each: -depth[each]):
        top = parent[one]
        deepest.setdefault(top, []).append(height.get(one, 0) + 1)
        height[top] = max(height.get(top, 0), height.get(one, 0) + 1)
    return max((sum(sorted(ways)[-2:]) for ways in deepest.values()), default=1)


def _bridges(
    federation: Federation, plan: _Plan, child: int, reach: int, left: list[str]
) -> Iterator[Bridge]:
    """The connection of a broker towards the root, in its make's own terms."""
    names = plan.graph.names
    here, there = names[child], names[plan.parent[child]]
    backups = tuple(names[one] for one in plan.backups[child])
    makes = {federation.brokers[one].make for one in (here, there)}
    alike = [
        one for one in backups if federation.brokers[one].make == federation.brokers[there].make
    ]
    if makes == {"rabbitmq"}:
        if backups:
            left.append(
                f"{here}: RabbitMQ takes any of several addresses, so {', '.join(backups)} cannot "
                f"stand in for {there}: an agent can"
            )
        for near, far in ((here, there), (there, here)):
            yield Bridge(
                from_=near,
                to=far,
                name=f"from-{far}",
                kind="federation",
                direction="in",
                max_hops=reach,
                qos=1,
                choice="any",
            )
        return
    if makes == {"nats"}:
        order = plan.distances
        nearer = [
            names[one]
            for one in plan.backups[child]
            if (order[one], one) < (order[child], child) and names[one] in alike
        ]
        yield Bridge(
            from_=here,
            to=there,
            name=f"to-{there}",
            kind="leaf",
            direction="both",
            addresses=tuple(nearer),
            choice="next",
        )
        return
    if "mosquitto" not in makes:
        left.append(
            f"{here} to {there}: NATS and RabbitMQ have no bridge to each other: an agent carries"
        )
        return
    if federation.brokers[here].make != "mosquitto":
        here, there, alike = there, here, []
        if backups:
            left.append(
                f"{there}: the connection is {here}'s (Mosquitto), so it has no other address"
            )
    kind: BridgeKind = "bridge"
    yield Bridge(
        from_=here,
        to=there,
        name=f"to-{there}",
        kind=kind,
        direction="both",
        qos=1,
        patterns=_patterns(federation),
        addresses=tuple(alike),
        choice="first",
    )


def _patterns(federation: Federation) -> tuple[str, ...]:
    """Topics that leave their broker."""
    wanted = [
        name
        for name, one in federation.topics.items()
        if one.scope == "federation"
        and len({broker_of(end) for end in (*one.publishers, *one.subscribers)}) > 1
    ]
    return tuple(wanted) or ("#",)
