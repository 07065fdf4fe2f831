"""Random federations, and what becomes of their messages, message by message: slow and simple."""

from collections import Counter
from dataclasses import dataclass
from random import Random

import networkx as nx

from ropewalk.federation.arrays import broker_of
from ropewalk.federation.facts import Broker, Domain, Federation, Link, Route, Takeover, Topic
from ropewalk.verify.verdicts import Verdict


def random_federation(rng: Random, *, routes: int = 6) -> Federation:
    """Up to ten brokers, often disconnected, with routes that were not thought through."""
    names = [f"b{i}" for i in range(rng.randint(3, 10))]
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    chosen = rng.sample(pairs, rng.randint(len(names) - 2, min(len(pairs), 2 * len(names))))
    uniform = rng.random() < 0.5
    links = tuple(
        Link(between=pair, cost=1 if uniform else rng.choice([1, 2, 3])) for pair in chosen
    )
    return Federation(
        name="random",
        brokers={name: Broker(takeover=_takeover(rng, name, names)) for name in names},
        links=links,
        domains=_domains(rng, names),
        topics={f"t{i}": _topic(rng, names) for i in range(rng.randint(1, 5))},
        routes=tuple(random_route(rng, names, links) for _ in range(rng.randint(0, routes))),
    )


def _takeover(rng: Random, name: str, names: list[str]) -> Takeover:
    def some() -> tuple[str, ...]:
        return tuple(one for one in rng.sample(names, rng.randint(0, 2)) if one != name)

    return Takeover(publishers=some(), subscribers=some())


def _domains(rng: Random, names: list[str]) -> dict[str, Domain]:
    if rng.random() < 0.6:
        return {}
    members = rng.sample(names, rng.randint(2, len(names) - 1))
    gateways = rng.randint(1, len(members))
    return {"d": Domain(gateways=tuple(members[:gateways]), edges=tuple(members[gateways:]))}


def _topic(rng: Random, names: list[str]) -> Topic:
    return Topic(
        publishers=tuple(rng.sample(names, rng.randint(1, 2))),
        subscribers=tuple(rng.sample(names, rng.randint(0, 3))),
        scope="domain" if rng.random() < 0.2 else "federation",
    )


def random_route(rng: Random, names: list[str], links: tuple[Link, ...]) -> Route:
    """An entry that sends messages over any link, for any or one source, destination, failure."""
    at, hop = rng.sample(rng.choice(links).between, 2)
    failures = ["none", rng.choice(names), "--".join(sorted(rng.choice(links).between))]
    return Route(
        at=at,
        from_=rng.choice(["*", "*", rng.choice(names)]),
        to=rng.choice(["*", rng.choice(names)]),
        next=hop,
        colours=(rng.choice(failures),) if rng.random() < 0.3 else (),
    )


@dataclass(frozen=True)
class Oracle:
    """A federation in one failure, which it knows by name."""

    federation: Federation
    down_links: frozenset[str]
    down_brokers: frozenset[str]
    failure: str
    most_hops: int = 1000

    def fates(self) -> tuple[Counter[Verdict], int]:
        """How many pairs have each fate, and how many lack a client's broker."""
        found: Counter[Verdict] = Counter()
        stranded = 0
        for topic in self.federation.topics.values():
            for publisher in topic.publishers:
                for subscriber in topic.subscribers:
                    source, to = broker_of(publisher), broker_of(subscriber)
                    local = topic.scope == "domain"
                    if local and self.domain(source) != self.domain(to):
                        continue
                    now_at = self.home(source, self.federation.brokers[source].takeover.publishers)
                    now_to = self.home(to, self.federation.brokers[to].takeover.subscribers)
                    if now_at is None or now_to is None:
                        stranded += 1
                    else:
                        found[self.fate(now_at, now_to, local=local)] += 1
        return found, stranded

    def fate(self, source: str, to: str, *, local: bool = False) -> Verdict:
        if source == to:
            return Verdict.DELIVERED
        distance = self.distances(to)
        cut = source not in distance
        path = [source]
        while path[-1] != to:
            hop = self.hop(path[-1], source, to, distance)
            if hop is None or (hop != to and hop in self.edges()):
                return Verdict.CUT if cut else Verdict.BLACK_HOLE
            if hop in path:
                return Verdict.UTURN if path[-2:-1] == [hop] else Verdict.LOOP
            path.append(hop)
        if len(path) - 1 > self.most_hops:
            return Verdict.TOO_LONG
        leaves = any(self.domain(one) != self.domain(to) for one in path)
        return Verdict.LEAK if local and leaves else Verdict.DELIVERED

    def hop(self, at: str, source: str, to: str, distance: dict[str, int]) -> str | None:
        for route in self.federation.routes:
            fits = route.at in (at, "*") and route.from_ in (source, "*") and route.to in (to, "*")
            meant = not route.colours or self.failure in route.colours
            if fits and meant and self.graph().has_edge(at, route.next):
                return route.next
        ways = [
            (distance[near] + cost["weight"], list(self.federation.brokers).index(near), near)
            for near, cost in self.graph()[at].items()
            if near in distance and (near == to or near not in self.edges())
        ]
        return min(ways)[2] if ways else None

    def graph(self) -> "nx.Graph[str]":
        graph: nx.Graph[str] = nx.Graph()
        graph.add_nodes_from(self.federation.brokers.keys() - self.down_brokers)
        for link in self.federation.links:
            up = "--".join(sorted(link.between)) not in self.down_links
            if up and not self.down_brokers.intersection(link.between):
                graph.add_edge(*link.between, weight=link.cost)
        return graph

    def distances(self, to: str) -> dict[str, int]:
        """By networkx, on a graph in which nothing goes on from an edge but what starts there."""
        ways: nx.DiGraph[str] = nx.DiGraph()
        ways.add_node(to)
        for a, b, cost in self.graph().edges(data="weight"):
            for tail, head in ((a, b), (b, a)):
                if head == to or head not in self.edges():
                    ways.add_edge(head, tail, weight=cost)
        return dict(nx.single_source_dijkstra_path_length(ways, to))

    def edges(self) -> set[str]:
        return {one for domain in self.federation.domains.values() for one in domain.edges}

    def domain(self, broker: str) -> str:
        return next(
            (
                f"domain {name}"
                for name, one in self.federation.domains.items()
                if broker in (*one.gateways, *one.edges)
            ),
            broker,
        )

    def home(self, broker: str, takers: tuple[str, ...]) -> str | None:
        if broker not in self.down_brokers:
            return broker
        return next((one for one in takers if one not in self.down_brokers), None)
