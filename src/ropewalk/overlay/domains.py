"""Charts with domains: the overlay proper is among gateways, edges hang on the gateways of theirs.

Tables are made for gateways and the links between them only: with two gateways in a domain of 20
they are a hundredth of the tables of all brokers. The way to an edge follows from the way to one of
its gateways, its *target*: the first in the file that is not held for dead, can be reached, and
whose link to the edge is not known to be down.

No loops: the target depends on what is known, not on who asks. Brokers with the same knowledge
choose the same one, and follow one tree of shortest paths to it. Gateways of the edge's own domain
know more: which of its links are down. Who passes over a gateway for that says so in the parcel
(`avoid`), and all that carry it further hold that link for down as well. So a target changes only
when the parcel avoids one more link of its destination: at most once for each of its gateways.

What stays in the domain: word of links to edges, and of edges that are dead. What does not reach
edges: word of links between gateways. An edge sends everything to the first of its gateways whose
link is up. That is right as long as its gateways can reach each other, since then they reach the
same brokers; a gateway that cannot reach another of its domain tells its edges who is cut off.
One case is left: the overlay is in two parts, an edge has gateways in both, and so has an edge of
another domain that is attached to one of them only by now. Nobody tells the first edge which; what
it sends the wrong way stays in its custody until the overlay is whole again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from ropewalk.errors import UsageError
from ropewalk.federation.arrays import Graph
from ropewalk.federation.facts import Federation
from ropewalk.overlay.chart import (
    EVERYBODY,
    HERE,
    NONE,
    Away,
    Chart,
    Numbers,
    Roads,
    Row,
    Ways,
    detour,
)

GATEWAYS = -2
"""The scope of news that all gateways hear, and no edge."""
HOME = "home"
"""The part of a broker's news of its links that does not leave the domain."""


@dataclass(frozen=True, eq=False)
class DomainChart(Chart):
    """Where everything is, with tables of gateways alone."""

    whole: Graph = field(kw_only=True, repr=False)
    """All brokers and links; `tables` has the gateways and what is between them."""
    overlay: Chart = field(kw_only=True, repr=False)
    """Of the gateways, in numbers of its own."""
    gateway_number: tuple[int, ...] = field(kw_only=True, repr=False)
    """Of each broker of `overlay`, its number here."""
    overlay_link: tuple[int, ...] = field(kw_only=True, repr=False)
    """Of each link of `overlay`, its number here."""
    rank: Mapping[int, int] = field(kw_only=True, repr=False)
    """Of each gateway its place in its domain: of several the first is taken."""

    @property
    def graph(self) -> Graph:
        """The whole graph of this epoch."""
        return self.whole

    @cached_property
    def place(self) -> Mapping[int, int]:
        """Of each gateway its number in `overlay`."""
        return {number: i for i, number in enumerate(self.gateway_number)}

    @cached_property
    def link_place(self) -> Mapping[int, int]:
        """Of each link between gateways its number in `overlay`."""
        return {number: i for i, number in enumerate(self.overlay_link)}

    @cached_property
    def attached(self) -> Mapping[int, tuple[tuple[int, int], ...]]:
        """By edge: its gateways in order, each with the link to it."""
        found = {}
        for edge in self.members - self.place.keys():
            ports = ((gateway, link) for link, gateway in self.ports(edge).items())
            found[edge] = tuple(sorted(ports, key=lambda one: self.rank[one[0]]))
        return found

    @cached_property
    def gateways_of(self) -> Mapping[int, tuple[int, ...]]:
        """By domain: its gateways."""
        found: dict[int, tuple[int, ...]] = {}
        for gateway in self.gateway_number:
            domain = self.domain[gateway]
            found[domain] = (*found.get(domain, ()), gateway)
        return found

    def roads(self, at: int, *, slow_cost: int) -> Ways:
        """A broker's ways out."""
        if at in self.place:
            return GatewayRoads(self, at, slow_cost=slow_cost)
        return EdgeRoads(self, at)

    def standby(self, broker: int) -> Mapping[int, int]:
        """Other gateways of a gateway's domain, if that has edges, and the link or NONE."""
        return self._standby.get(broker, {})

    @cached_property
    def _standby(self) -> Mapping[int, Mapping[int, int]]:
        found: dict[int, dict[int, int]] = {}
        for domain in self._with_edges:
            for one in self.gateways_of[domain]:
                ports = {peer: link for link, peer in self.ports(one).items()}
                others = (other for other in self.gateways_of[domain] if other != one)
                found[one] = {other: ports.get(other, NONE) for other in others}
        return found

    def part(self, link: int) -> str:
        """In which part of its ends' news a link is told of."""
        return "" if link in self.link_place else HOME

    def parts(self, broker: int) -> dict[str, int]:
        """The parts of a broker's news of its links, and who hears each."""
        domain = self.domain[broker]
        if broker not in self.place:
            return {HOME: domain}
        return {"": GATEWAYS, HOME: domain} if domain in self._with_edges else {"": GATEWAYS}

    @cached_property
    def _with_edges(self) -> frozenset[int]:
        return frozenset(self.domain[edge] for edge in self.attached)

    def audience(self, broker: int) -> frozenset[int]:
        """The scopes of news that a broker hears."""
        heard = {EVERYBODY, self.domain[broker]}
        return frozenset(heard | {GATEWAYS} if broker in self.place else heard)

    def hangs(self, link: int, broker: int) -> bool:
        """Silence on a link to an edge says nothing of the gateway: others can judge that better.

        So all gateways hold the same gateways for dead, whatever their domains' edges say.
        """
        return link in self.link_place or broker not in self.place

    def concerned(self, broker: int) -> frozenset[int]:
        """Whom a broker need know all about: edges of other domains follow their gateways."""
        mine = self.domain[broker]
        return frozenset(b for b in self.members if b in self.place or self.domain[b] == mine)


def in_domains(federation: Federation, before: Chart | None = None) -> bool:
    """Whether a federation's chart has tables of gateways only.

    It does if there are edges, each of which has links to gateways of its domain and no others, and
    no routes were made by hand: those may speak of edges. Who hears what news follows from it, so
    it stays as it was `before`: agents of one federation have charts of one kind.
    """
    fits = not federation.routes and not _crossing(federation.graph)
    if isinstance(before, DomainChart):
        if not fits:
            told = "edges may have links to gateways of their domain only, and no routes by hand"
            raise UsageError(f"this epoch does not go on from the one before: {told}")
        return True
    return before is None and fits and not federation.graph.transit.all()


def _crossing(graph: Graph) -> bool:
    """Whether an edge has a link to anything but a gateway of its domain."""
    a, b = graph.ends[:, 0], graph.ends[:, 1]
    to_edges = ~(graph.transit[a] & graph.transit[b])
    proper = (graph.transit[a] | graph.transit[b]) & (graph.domain[a] == graph.domain[b])
    return bool((to_edges & ~proper).any())


def domain_chart(
    federation: Federation, numbers: Numbers, epoch: int, overlay: Chart
) -> DomainChart:
    """The chart of a federation with edges; `overlay` is that of its gateways alone."""
    graph, own = federation.graph, federation.graph.transit
    between = (own[a] and own[b] for a, b in graph.ends.tolist())
    number = dict(zip(graph.names, numbers.broker_number, strict=True))
    ranks = (enumerate(one.gateways) for one in federation.domains.values())
    return DomainChart(
        epoch,
        numbers.names,
        numbers.link_ends,
        overlay.tables,
        numbers.broker_number,
        numbers.link_number,
        whole=graph,
        overlay=overlay,
        gateway_number=tuple(b for b, gate in zip(numbers.broker_number, own, strict=True) if gate),
        overlay_link=tuple(e for e, gate in zip(numbers.link_number, between, strict=True) if gate),
        rank={number[name]: place for some in ranks for place, name in some},
    )


def gateways_alone(federation: Federation) -> Federation:
    """The overlay proper: brokers that carry transit, and the links between them."""
    graph = federation.graph
    kept = {name for name, gate in zip(graph.names, graph.transit.tolist(), strict=True) if gate}
    return replace(
        federation,
        brokers={name: one for name, one in federation.brokers.items() if name in kept},
        links=tuple(one for one in federation.links if kept.issuperset(one.between)),
        domains={},
        topics={},
        items={},
        bridges=(),
        routes=(),
    )


class LazyRow:
    """A row whose entries are found when they are asked for."""

    __slots__ = ("_found", "_size")

    def __init__(self, size: int, at: int) -> None:
        self._size, self._found = size, {at: HERE}

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, to: int) -> int:
        found = self._found.get(to)
        if found is None:
            found = self._found[to] = self.find(to)
        return found

    def find(self, to: int) -> int:
        """The next link to a destination."""
        raise NotImplementedError


class GatewayRow(LazyRow):
    """A gateway's next links: by its tables to gateways, by targets to edges."""

    __slots__ = ("_chart", "_dead", "_down", "_links", "_near")

    def __init__(
        self,
        roads: "GatewayRoads",
        links: list[int],
        down: frozenset[int],
        dead: frozenset[int],
    ) -> None:
        super().__init__(len(roads.chart.names), roads.at)
        self._chart, self._near = roads.chart, roads.near
        self._links, self._down, self._dead = links, down, dead

    def find(self, to: int) -> int:
        """The next link to a destination; a detour if others may not know what is down."""
        chart, down = self._chart, self._down
        place = chart.place.get(to)
        if place is not None:
            return self._numbered(self._links[place])
        near = self._near.get(to, NONE)
        if near >= 0 and near not in down:
            return near
        attached = chart.attached.get(to, ())
        link = self._numbered(self._towards(attached))
        return detour(link) if link >= 0 and any(e in down for _, e in attached) else link

    def _towards(self, attached: Iterable[tuple[int, int]]) -> int:
        """The way to the target; one that is held for dead only if there is no other."""
        last = NONE
        for gateway, link in attached:
            way = self._links[self._chart.place[gateway]]
            if link in self._down or way == NONE:
                continue
            if gateway not in self._dead:
                return way
            last = way if last == NONE else last
        return last

    def _numbered(self, link: int) -> int:
        return self._chart.overlay_link[link] if link >= 0 else link


class GatewayRoads:
    """A gateway's ways out."""

    planes = 1

    def __init__(self, chart: DomainChart, at: int, *, slow_cost: int) -> None:
        self.chart, self.at = chart, at
        self._roads = Roads(chart.overlay, chart.place[at], slow_cost=slow_cost)
        ports = chart.ports(at).items()
        self.near = {peer: link for link, peer in ports if peer not in chart.place}
        """The links to edges."""

    def plane(self, _origin: int) -> int:
        """There is one row for all origins."""
        return 0

    def row(
        self,
        links: Iterable[int],
        brokers: Iterable[int],
        slow: Iterable[int] = (),
        _away: Away = frozenset(),
        _plane: int = 0,
    ) -> Row:
        """The next link to every destination with these links and brokers down."""
        down, dead = frozenset(links), frozenset(brokers)
        link, place = self.chart.link_place.get, self.chart.place.get
        row = self._roads.row(
            [e for e in map(link, down) if e is not None],
            [b for b in map(place, dead) if b is not None],
            [e for e in map(link, slow) if e is not None],
        )
        return GatewayRow(self, row, down, dead)


class EdgeRow(LazyRow):
    """An edge's next links: the first of its own gateways that will do."""

    __slots__ = ("_away", "_chart", "_down", "_up")

    def __init__(
        self, chart: DomainChart, at: int, down: frozenset[int], slow: frozenset[int], away: Away
    ) -> None:
        super().__init__(len(chart.names), at)
        self._chart, self._down, self._away = chart, down, away
        up = [(gateway, link) for gateway, link in chart.attached[at] if link not in down]
        self._up = sorted(up, key=lambda one: one[1] in slow)

    def find(self, to: int) -> int:
        """The link to a destination or to the first gateway that can reach it."""
        targets = self._targets(to)
        for gateway, link in self._up:
            if gateway in targets:
                return link
        for gateway, link in self._up:
            if any((gateway, target) not in self._away for target in targets):
                return link
        return NONE

    def _targets(self, to: int) -> set[int]:
        if to in self._chart.place:
            return {to}
        attached = self._chart.attached.get(to, ())
        return {gateway for gateway, link in attached if link not in self._down}


class EdgeRoads:
    """An edge's ways out."""

    planes = 1

    def __init__(self, chart: DomainChart, at: int) -> None:
        self.chart, self.at = chart, at

    def plane(self, _origin: int) -> int:
        """There is one row for all origins."""
        return 0

    def row(
        self,
        links: Iterable[int],
        _brokers: Iterable[int],
        slow: Iterable[int] = (),
        away: Away = frozenset(),
        _plane: int = 0,
    ) -> Row:
        """The next link to every destination with these links down."""
        return EdgeRow(self.chart, self.at, frozenset(links), frozenset(slow), away)
