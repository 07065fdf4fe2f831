"""Messages walked hop by hop through a failure, each broker by its own rule: slow and simple."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, product
from random import Random

from ropewalk.federation.facts import Broker, Domain, Federation, Link
from ropewalk.routing.rivals.scheme import Failures, Repair

INF = 10**12


def random_graph(rng: Random, *, edges: bool = True, most: int = 9) -> Federation:
    """A small federation: sparse or dense, of equal or different costs, some without transit."""
    names = [f"b{i}" for i in range(rng.randint(3, most))]
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    chosen = rng.sample(pairs, rng.randint(len(names) - 1, min(len(pairs), 2 * len(names) + 2)))
    costs = rng.choice([(1,), (1, 2, 3), (1, 5, 20)])
    members = rng.sample(names, len(names))
    split = rng.randint(1, len(names)) if edges and rng.random() < 0.5 else len(names)
    return Federation(
        name="random",
        brokers={name: Broker() for name in names},
        domains={"d": Domain(gateways=tuple(members[:split]), edges=tuple(members[split:]))},
        links=tuple(Link(between=pair, cost=rng.choice(costs)) for pair in chosen),
    )


@dataclass(frozen=True)
class Table:
    """Distances and canonical next hops by Bellman and Ford; hop[to][at] is -1 for none."""

    distance: list[list[int]]
    hop: list[list[int]]


def table_of(
    brokers: int, ways: dict[tuple[int, int], int], carries: Callable[[int], bool]
) -> Table:
    distance = [[0 if u == to else INF for u in range(brokers)] for to in range(brokers)]
    hop = [[-1] * brokers for _ in range(brokers)]
    for to in range(brokers):
        row = distance[to]
        for _ in range(brokers):
            for (u, v), cost in ways.items():
                if (v == to or carries(v)) and u != to:
                    row[u] = min(row[u], row[v] + cost)
        for u in range(brokers):
            fits = [
                v
                for (w, v), cost in sorted(ways.items())
                if w == u and (v == to or carries(v)) and row[v] + cost == row[u] < INF
            ]
            hop[to][u] = fits[0] if fits and u != to else -1
    return Table(distance, hop)


@dataclass(frozen=True)
class World:
    """A federation, and what of it is down."""

    federation: Federation
    link: int = -1
    broker: int = -1

    @cached_property
    def n(self) -> int:
        return self.federation.graph.brokers

    @cached_property
    def cost(self) -> dict[tuple[int, int], int]:
        graph = self.federation.graph
        ends = zip(graph.ends.tolist(), graph.cost.tolist(), strict=True)
        return {way: c for (a, b), c in ends for way in ((a, b), (b, a))}

    @cached_property
    def ends(self) -> list[tuple[int, int]]:
        return [(a, b) for a, b in self.federation.graph.ends.tolist()]

    def carries(self, u: int) -> bool:
        return bool(self.federation.graph.transit[u])

    def down(self, u: int, v: int) -> bool:
        cut = self.ends[self.link] if self.link >= 0 else (-1, -1)
        return self.broker in (u, v) or (u, v) in (cut, cut[::-1])

    @cached_property
    def base(self) -> Table:
        return table_of(self.n, self.cost, self.carries)

    @cached_property
    def after(self) -> Table:
        return table_of(
            self.n, {w: c for w, c in self.cost.items() if not self.down(*w)}, self.carries
        )

    def failures(self, kind: Failures) -> Iterator["World"]:
        for i in range(len(self.ends) if kind == "links" else self.n):
            world = replace(self, link=i) if kind == "links" else replace(self, broker=i)
            for name in ("base", "cost", "n", "ends"):  # what a failure does not change
                vars(world)[name] = getattr(self, name)
            yield world

    def broken_at(self, source: int, to: int) -> int:
        """The broker on the old path whose next hop is gone, or -1."""
        at = source
        while at != to and self.base.hop[to][at] >= 0:
            if self.down(at, self.base.hop[to][at]):
                return at
            at = self.base.hop[to][at]
        return -1

    def cases(self) -> Iterator[tuple[int, int, int]]:
        """Pairs whose path uses what failed and that are still connected, and who has to repair."""
        for source, to in product(range(self.n), repeat=2):
            if source == to or self.broker in (source, to):
                continue
            at = self.broken_at(source, to)
            if at >= 0 and self.after.distance[to][source] < INF:
                yield source, to, at

    def walk(self, path: list[int], to: int, hop: Callable[[int], int]) -> bool:
        """Add hops to a path until `to`; False if it meets the failure, an end, or goes round."""
        for _ in range(4 * self.n):
            at = path[-1]
            if at == to:
                return True
            nxt = hop(at)
            if nxt < 0 or (at, nxt) not in self.cost or self.down(at, nxt):
                return False
            path.append(nxt)
        return False

    def length(self, path: list[int]) -> int:
        return sum(self.cost[way] for way in pairwise(path))

    def transits(self, path: list[int]) -> bool:
        """Whether only brokers that may carry transit lie on the way."""
        return all(self.carries(u) for u in path[1:-1])


Rule = Callable[[World, Repair, list[int], int], bool]
"""Takes a path that ends where its next hop is gone on to its destination, if it can."""


def plainly(world: World, repair: Repair, path: list[int], to: int, mend: Rule) -> bool:
    """By the old tables; whoever finds its next hop gone mends it by the rule."""
    for _ in range(4 * world.n):
        at = path[-1]
        if at == to:
            return True
        nxt = world.base.hop[to][at]
        if nxt < 0:
            return False
        if world.down(at, nxt):
            return bool(repair.choice[to, at] >= 0) and mend(world, repair, path, to)
        path.append(nxt)
    return False


def faults(federation: Federation, kind: Failures, repair: Repair, mend: Rule) -> list[str]:
    """Cases where what a repair claims is not what walking gives."""
    found = []
    for world in World(federation).failures(kind):
        for source, to, at in world.cases():
            if repair.cost[to, at] >= INF:
                continue
            path = [source]
            arrived = plainly(world, repair, path, to, mend)
            claim = world.base.distance[to][source] - world.base.distance[to][at]
            claim += int(repair.cost[to, at])
            if not arrived or world.length(path) != claim or not world.transits(path):
                found.append(f"{path} for {source}-{to}, link {world.link} broker {world.broker}")
    return found


def stretches(
    federation: Federation, kind: Failures, repair: Repair, mend: Rule
) -> tuple[int, list[float]]:
    """How many cases there are, and the stretch of each that arrives."""
    cases, found = 0, []
    for world in World(federation).failures(kind):
        for source, to, _ in world.cases():
            cases += 1
            path = [source]
            if plainly(world, repair, path, to, mend):
                found.append(world.length(path) / world.after.distance[to][source])
    return cases, found
